"""The Worker makes the same answers for devices from a revision as the publisher, to the byte."""

import json
import subprocess
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.market import NEW, OLD, START
from support.worker import FOLDER, environment, require_worker, run_tool

from olares_apps.market import canonical
from olares_apps.market.catalogue import ANY, NONE
from olares_apps.market.entries import AppEntry, ArchiveEntry, Card, FileEntry
from olares_apps.market.prepare import FILES, prepare
from olares_apps.market.records import Revision, Source
from olares_apps.spec.types import app_id

Make = Callable[[Revision], dict[str, str]]

_ENTRY = """
export { answersOf, filesAnswer, hashOf } from "./src/documents";
export { setNames, view } from "./src/catalogue";
export { canonical } from "./src/json";
export { encode, sha256 } from "./src/bytes";
"""

# Names that an object of JavaScript has anyway, that stand for something in a pattern, that the
# front page uses itself, and that sort otherwise by UTF-16 unit than by code point.
_ODD = [
    "All",
    "__proto__",
    "constructor",
    "toString",
    "$&",
    "{}",
    "AI",
    "Ai",
    "\uffe5",
    "\U0001f600",
]
_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
_labels = st.sampled_from(_ODD) | _texts
_digests = st.integers(0, 15).map(lambda number: f"{number:x}" * 64)
_moments = st.integers(0, START // 10**6 + 10**6) | st.just(START // 10**6)
_versions = st.builds(lambda *numbers: ".".join(map(str, numbers)), *[st.integers(0, 11)] * 3)

_cards = st.builds(
    Card,
    description=_texts,
    icon=_texts,
    categories=st.lists(_labels, max_size=3).map(tuple),
    featured_image=_texts,
    labels=st.lists(_texts, max_size=2).map(tuple),
)
_archives = st.builds(
    ArchiveEntry,
    version=_versions,
    sha256=_digests,
    size=st.integers(0, 10**6),
    tar_sha256=_digests,
    content=_digests,
    detail=_digests,
    published=_moments,
    card=_cards,
)
_files = st.builds(FileEntry, sha256=_digests, size=st.integers(1, 9), type=st.just("image/png"))


@st.composite
def _apps(draw: st.DrawFn) -> dict[str, AppEntry]:
    apps = {}
    for name in draw(st.lists(st.from_regex(r"[a-z][a-z0-9]{0,4}", fullmatch=True), max_size=14)):
        current = draw(st.dictionaries(st.sampled_from([OLD, NEW]), _archives, max_size=2))
        apps[name] = AppEntry(
            id=app_id(name),
            title=draw(_labels),
            state="live" if current else "removed",
            greatest="11.11.11",
            modified=draw(_moments),
            ledger=draw(_digests),
            current=current,
            icon=draw(st.none() | _files),
        )
    return apps


_revisions = st.builds(
    Revision,
    parent=st.none(),
    created=st.integers(0, 2 * START),
    source=st.builds(Source, id=_labels, label=_labels, icon=_texts, modified=_moments),
    apps=_apps(),
)


@pytest.fixture(scope="module")
def worker_answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Yield a function that has the Worker's code make the answers of a revision."""
    require_worker()
    folder = tmp_path_factory.mktemp("answers")
    bundle = folder / "documents.mjs"
    entry = folder / "entry.ts"
    entry.write_text(_ENTRY.replace("./src", str(FOLDER / "src")))
    done = run_tool(
        "node_modules/esbuild/bin/esbuild", str(entry), "--bundle", "--format=esm",
        f"--outfile={bundle}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    process = subprocess.Popen(
        ["node", "test/answers.mjs", str(bundle)],
        cwd=FOLDER,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdin
    assert process.stdout

    def make(revision: Revision) -> dict[str, str]:
        assert process.stdin
        assert process.stdout
        process.stdin.write(revision.encode().decode() + "\n")
        process.stdin.flush()
        answers: dict[str, str] = json.loads(process.stdout.readline())
        return answers

    with process:
        yield make
        process.stdin.close()


@given(revision=_revisions)
def test_any_revision_has_one_set_of_answers(worker_answers: Make, revision: Revision) -> None:
    prepared = prepare(revision)
    made = worker_answers(revision)
    assert made.pop("hash") == prepared.revision.hash
    assert made == {path: data.decode() for path, data in prepared.answers.items()}


def test_every_set_and_answer_is_made(worker_answers: Make) -> None:
    made = worker_answers(Revision(parent=None, created=START))
    sets = {path.partition("/")[0] for path in made}
    assert sets == {OLD, NEW, ANY, NONE, FILES, "hash"}
    assert len(made) == 1 + 1 + 3 * 6 + 3
    assert (
        canonical.digest(made[FILES].encode())
        == prepare(Revision(parent=None, created=START)).revision.answers[FILES]
    )
