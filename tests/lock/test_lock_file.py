"""The lock file: written in one form, read strictly, and applied to its spec."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from support.fit_facts import facts_35b
from support.locks import COMMIT, SHA, file_of, image_of, lock_of
from support.specs import MINIMAL, load, spec_text

from olares_apps.engines.files import stored_files
from olares_apps.lock.apply import apply_lock, exact_files
from olares_apps.lock.errors import Contradiction, LockBroken
from olares_apps.lock.file import dump_lock, load_lock, lock_path, parse_lock, write_lock
from olares_apps.lock.model import Lock

PATH = PurePath("demo.lock.yaml")
EXACT = 17_200_123_456


def test_a_lock_comes_back_as_it_was_written():
    lock = lock_of(file_of(gguf=facts_35b().to_dict()), images=[image_of()])
    assert parse_lock(dump_lock(lock), PATH) == lock
    assert lock.facts() == facts_35b()


@settings(max_examples=40, deadline=None)
@given(
    licence=st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1),
    size=st.integers(0, 2**50),
    others=st.dictionaries(
        st.from_regex(r"[a-zA-Z0-9_.-]{1,20}\.gguf", fullmatch=True), st.integers(0, 2**50)
    ),
)
def test_any_values_survive_the_round_trip(licence, size, others):
    lock = lock_of(file_of(licence=licence, others=others, size=size))
    assert parse_lock(dump_lock(lock), PATH) == lock


def test_the_text_has_a_fixed_order_and_no_aliases():
    text = dump_lock(lock_of(file_of(), file_of(role="extra", file="b.gguf"), images=[image_of()]))
    lines = [
        line.split(":")[0].strip(" -") for line in text.splitlines() if not line.startswith("#")
    ]
    assert lines[:8] == ["schema", "files", "role", "repo", "file", "requested", "commit", "gated"]
    assert "&" not in text


def test_a_lock_is_written_beside_its_spec_only_when_it_changed(tmp_path: Path):
    spec = tmp_path / "demo.yaml"
    assert load_lock(spec) is None
    assert write_lock(spec, lock_of(file_of()))
    assert lock_path(spec) == tmp_path / "demo.lock.yaml"
    assert not write_lock(spec, lock_of(file_of()))
    assert load_lock(spec) == lock_of(file_of())
    assert [path.name for path in tmp_path.iterdir()] == ["demo.lock.yaml"]


def test_what_a_killed_writer_left_is_cleared_and_a_living_one_is_not(tmp_path: Path):
    spec = tmp_path / "demo.yaml"
    dead, alive = (tmp_path / f".demo.lock.yaml.{name}" for name in ("dead1234", "alive567"))
    other = tmp_path / ".other.lock.yaml.dead1234"
    for path in (dead, alive, other):
        path.write_text("half")
    hours_ago = time.time() - 7200
    for path in (dead, other):
        os.utime(path, (hours_ago, hours_ago))
    assert write_lock(spec, lock_of(file_of()))
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [alive.name, other.name, "demo.lock.yaml"]


_WRITER = """
import sys
from pathlib import Path
from support.locks import file_of, lock_of
from olares_apps.lock.file import write_lock
spec, number = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
while True:
    for size in range(1, 200):
        write_lock(spec, lock_of(file_of(size=number * 1000 + size)))
"""


def test_writers_killed_at_any_moment_leave_a_whole_lock(tmp_path: Path):
    spec = tmp_path / "demo.yaml"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(4):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, str(spec), str(number)],
                env=environment,
                stdout=subprocess.PIPE,
            )
            for number in (1, 2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        time.sleep(0.15)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
        found = load_lock(spec)
        assert found is None or len(found.files) == 1
    assert load_lock(spec) is not None


def changed(old: str, new: str, **more: Any) -> str:
    """Return the text of a good lock with one change, as a hand or a merge makes it."""
    text = dump_lock(lock_of(file_of(**more), images=[image_of()]))
    assert old in text
    return text.replace(old, new)


GGUF = facts_35b().to_dict()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the file is empty"),
        ("schema: 2\n", 1, "schema: is 2, this version reads 1"),
        ("files: []\n", 1, "schema: is missing, this version reads 1"),
        ("- a\n", 1, "a list where a mapping must be"),
        ("{", 2, "not YAML"),
        ("schema: 1\n<<<<<<< HEAD\nfiles: []\n=======\n", 3, "not YAML"),
        ("schema: 1\nschema: 1\n", 2, "duplicate key 'schema'"),
        ("schema: 1\nfiles: [{}]\n", 2, "files.0.role"),
        ("schema: 1\nsurprise: 1\n", 2, "surprise"),
        (changed(COMMIT, "main"), 8, "files.0.commit"),
        (changed("size: 1\n", "size: -1\n"), 17, "files.0.parts.0.size"),
        (changed("size: 1\n", f"size: {2**62}\n"), 17, "files.0.parts.0.size"),
        (changed("arch:", "arc:", gguf=GGUF), 19, "unknown header fact"),
        (changed("block_count: 41", "block_count: 9999", gguf=GGUF), 19, "make no sense"),
        (changed("n_embd: 2048", f"n_embd: {2**62}", gguf=GGUF), 19, "n_embd"),
        (changed("n_embd: 2048", "n_embd: -1", gguf=GGUF), 19, "n_embd cannot be -1"),
        (changed("token_embd_bytes: ", "token_embd_bytes: 99", gguf=GGUF), 19, "make no sense"),
        (changed("weight_bytes: ", "weight_bytes: 1", gguf=GGUF), 19, "make no sense"),
        (changed("architecture: amd64", r'architecture: "amd\x1b[2J"'), 28, "architecture"),
        (changed("'13.0'", "'thirteen'"), 31, "images.0.platforms.0.cuda"),
        (changed("'13.0'", "13.0"), 31, "images.0.platforms.0.cuda"),
    ],
)
def test_a_lock_that_cannot_be_read_says_where(text, line, message):
    with pytest.raises(LockBroken) as caught:
        parse_lock(text, PATH)
    problem = caught.value.problems[0]
    assert (str(problem.file), problem.line) == ("demo.lock.yaml", line)
    assert message in str(problem)
    assert "lock --upgrade" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("lock", "kind"),
    [
        (lambda: lock_of(file_of(), file_of(size=2)), "file"),
        (lambda: lock_of(images=[image_of(), image_of(cuda=None)]), "image"),
    ],
)
def test_a_fact_that_stands_there_twice_is_refused(lock, kind):
    with pytest.raises(ValidationError, match=f"the {kind} .* stands there twice"):
        lock()


def test_a_commit_that_looks_like_a_number_stays_text():
    commit = "12e4" + "0" * 36
    text = changed(COMMIT, f"'{commit}'")
    assert parse_lock(dump_lock(parse_lock(text, PATH)), PATH).files[0].commit == commit


def test_the_spec_gets_exact_size_digest_and_commit():
    spec = load(MINIMAL).spec
    applied = apply_lock(spec, lock_of(file_of(size=EXACT)))
    assert applied.target is not None
    assert (applied.target.size, applied.target.sha256) == (EXACT, SHA)
    assert applied.target.revision == COMMIT
    assert spec.target is not None
    assert spec.target.revision == "main"


def test_facts_of_another_revision_are_not_used():
    spec = load(spec_text(("      quant:", "      revision: dev\n      quant:"))).spec
    assert apply_lock(spec, lock_of(file_of(size=EXACT))) == spec


def test_no_lock_changes_nothing():
    spec = load(MINIMAL).spec
    assert apply_lock(spec, None) is spec
    assert apply_lock(spec, Lock()) is spec


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("size_gb: 17.2", "size_gb: 16.0", "model.files.0.size_gb"),
        ("size_gb: 17.2", "size: 17200000000", "model.files.0.size"),
        ("size_gb: 17.2", f"sha256: {'b' * 64}", "model.files.0.sha256"),
    ],
)
def test_a_spec_that_states_something_else_is_refused(old, new, field):
    spec = load(spec_text((old, new))).spec
    with pytest.raises(Contradiction) as caught:
        apply_lock(spec, lock_of(file_of(size=EXACT)))
    assert caught.value.field == field


def test_the_parts_of_a_split_model_each_get_their_size_and_digest():
    names = [f"Demo-{number:05}-of-00003.gguf" for number in (1, 2, 3)]
    spec = load(spec_text(("Demo-35B-UD-Q3_K_XL.gguf", names[0]), ("17.2", "0.6"))).spec
    parts = [(name, 10**8 * (index + 1), str(index) * 64) for index, name in enumerate(names)]
    lock = lock_of(file_of(file=names[0], parts=parts))
    files = exact_files(stored_files(apply_lock(spec, lock).model.files), lock)
    assert [(item.size, item.sha256) for item in files] == [part[1:] for part in parts]
    assert [item.about for item in files] == [6 * 10**8, 0, 0]
