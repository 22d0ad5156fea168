"""The download script, run for real: every shell, every transport, against a faulty hub."""

import hashlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from support.flaky_hub import (
    HTML_PAGE,
    Answer,
    FlakyHub,
    drop,
    file_url_path,
    html_page,
    lfs_pointer,
    redirect,
    refuse,
    truncate,
)

SCRIPT = Path(__file__).parents[2] / "templates" / "scripts" / "download.sh"
SHELLS = {
    "dash": ("dash",),
    "bash": ("bash", "--posix"),
    "busybox-ash": ("busybox", "sh"),
}
TRANSPORTS = ("curl", "gnu-wget", "busybox-wget")
TOKEN = "hf_secretTokenOfTheTests"
REPO, COMMIT = "example-org/Demo-GGUF", "0123456789abcdef0123456789abcdef01234567"
# What the script may use; `sync` is optional for it, flock decides about the kind of lock.
TOOLS = (
    *("awk", "cat", "chmod", "date", "df", "grep", "head", "id", "mkdir", "mktemp", "mv", "rm"),
    *("sed", "sha256sum", "sleep", "stat", "sync", "tail", "touch", "tr"),
)


def gguf(size: int, seed: int = 1) -> bytes:
    return b"GGUF" + random.Random(seed).randbytes(size - 4)


MODEL = gguf(300_000)
HALFWAY = 6 * 16 * 1024
"""A multiple of every transport's write buffer, so that a killed one has written all it got."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of MODEL_FILES."""

    path: str = "demo.gguf"
    stored: str = "demo/demo.gguf"
    size: int | None = None
    sha256: str | None = None
    repo: str = REPO
    revision: str = COMMIT

    @property
    def url_path(self) -> str:
        return file_url_path(self.repo, self.path, self.revision)

    @property
    def line(self) -> str:
        size = "-" if self.size is None else str(self.size)
        fields = (self.repo, self.revision, self.path, self.stored, size, self.sha256 or "-")
        return "|".join(fields)


def row_of(content: bytes, **fields: str) -> Row:
    digest = hashlib.sha256(content).hexdigest()
    return replace(Row(size=len(content), sha256=digest), **fields)  # type: ignore[arg-type]


LOCKED = row_of(MODEL)
UNKNOWN = Row()
OTHER = gguf(len(MODEL), seed=7)
"""Another content of the same size."""


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("ERROR:")]


class Downloader:
    """Runs the script with one shell and one transport, and nothing else on its PATH."""

    def __init__(
        self, shell: str, transport: str, root: Path, *, flock: bool = True, script: Path = SCRIPT
    ) -> None:
        self.transport = transport
        self.models = root / "models"
        self.temporary = root / "tmp"
        self.temporary.mkdir()
        self._bin = root / "bin"
        self._bin.mkdir()
        busybox = shell == "busybox-ash"
        for tool in TOOLS:
            self._link(tool, "busybox" if busybox else tool)
        if flock and not busybox:
            self._link("flock", "flock")
        command = {"curl": "curl", "gnu-wget": "wget", "busybox-wget": "wget"}.get(transport)
        if command:
            self._link(command, "busybox" if transport == "busybox-wget" else command)
        program, *arguments = SHELLS[shell]
        self.argv = [found(program), *arguments, str(script)]

    def _link(self, name: str, program: str) -> None:
        (self._bin / name).symlink_to(found(program))

    def start(self, hub: FlakyHub, *rows: Row | str, **env: str) -> subprocess.Popen[str]:
        lines = [row if isinstance(row, str) else row.line for row in rows]
        environment = {
            "PATH": str(self._bin),
            "TMPDIR": str(self.temporary),
            "MODEL_DIR": str(self.models),
            "HF_ENDPOINT": hub.url,
            "MODEL_FILES": "\n".join(lines),
            "DOWNLOAD_ATTEMPTS": "4",
            "DOWNLOAD_RETRY_SECONDS": "0",
            "DOWNLOAD_HOLD_SECONDS": "0",
            "HOME": str(self.temporary),
            **env,
        }
        return subprocess.Popen(
            self.argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, hub: FlakyHub, *rows: Row | str, **env: str) -> Outcome:
        return finished(self.start(hub, *rows, **env))

    def stored(self, row: Row) -> Path:
        return self.models / row.stored

    def part(self, row: Row) -> Path:
        return self.models / f"{row.stored}.part"

    def marker(self, row: Row) -> Path:
        return self.models / f"{row.stored}.ok"

    def put(self, row: Row, content: bytes) -> None:
        self.stored(row).parent.mkdir(parents=True, exist_ok=True)
        self.stored(row).write_bytes(content)

    def leftovers(self) -> set[str]:
        """Names in the model folder that neither are a file nor belong to it for good."""
        endings = (".part", ".info", ".new", ".lock.d")
        return {path.name for path in self.models.rglob("*") if path.name.endswith(endings)}


def finished(process: subprocess.Popen[str]) -> Outcome:
    out, err = process.communicate(timeout=30)
    return Outcome(process.returncode, out, err)


@cache
def found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return str(path)


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.02)


def assert_complete(downloader: Downloader, row: Row, content: bytes, outcome: Outcome) -> None:
    assert (outcome.code, outcome.err) == (0, ""), outcome
    assert downloader.stored(row).read_bytes() == content
    assert downloader.stored(row).stat().st_mode & 0o777 == 0o644
    assert downloader.stored(row).parent.stat().st_mode & 0o777 == 0o755
    assert downloader.marker(row).read_text().splitlines() == [
        f"repo={row.repo}",
        f"revision={row.revision}",
        f"path={row.path}",
        f"size={len(content)}",
        f"sha256={row.sha256 or '-'}",
    ]
    assert downloader.leftovers() == set()
    assert list(downloader.temporary.iterdir()) == []


def assert_refused(downloader: Downloader, row: Row, outcome: Outcome, code: int) -> str:
    """One ERROR line, the code, and nothing under the final name; gives back the line."""
    assert outcome.code == code, outcome
    assert outcome.err.splitlines() == outcome.errors, outcome
    assert len(outcome.errors) == 1, outcome
    assert not downloader.stored(row).exists()
    assert not downloader.marker(row).exists()
    return outcome.errors[0]


@pytest.fixture
def hub() -> Iterator[FlakyHub]:
    with FlakyHub() as hub:
        hub.serve_file(REPO, "demo.gguf", MODEL, COMMIT)
        yield hub


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def everywhere(shell: str, transport: str, tmp_path: Path) -> Downloader:
    """Every shell with every transport."""
    return Downloader(shell, transport, tmp_path)


@pytest.fixture(params=zip(SHELLS, ("gnu-wget", "curl", "busybox-wget"), strict=True), ids="-".join)
def across(request: pytest.FixtureRequest, tmp_path: Path) -> Downloader:
    """Every shell once and every transport once."""
    shell, transport = request.param
    return Downloader(shell, transport, tmp_path)


@pytest.fixture
def each(transport: str, tmp_path: Path) -> Downloader:
    """Every transport, in dash."""
    return Downloader("dash", transport, tmp_path)


@pytest.fixture
def one(tmp_path: Path) -> Downloader:
    return Downloader("dash", "curl", tmp_path)


# ---- the file itself


def test_the_script_is_plain_text_that_no_template_engine_touches() -> None:
    text = SCRIPT.read_text(encoding="ascii")
    assert "{{" not in text
    assert "}}" not in text
    assert "\t" not in text
    assert "\r" not in text
    assert text.startswith("#!/bin/sh\n")
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


# ---- the good way


def test_a_file_is_downloaded_verified_and_marked(hub: FlakyHub, everywhere: Downloader) -> None:
    outcome = everywhere.run(hub, LOCKED)
    assert_complete(everywhere, LOCKED, MODEL, outcome)
    assert f"with {everywhere.transport}" in outcome.out
    assert len(hub.gets()) == 1


def test_a_complete_file_is_not_asked_for_again(hub: FlakyHub, across: Downloader) -> None:
    across.run(hub, LOCKED)
    outcome = across.run(hub, LOCKED)
    assert_complete(across, LOCKED, MODEL, outcome)
    assert len(hub.requests) == 1


def test_all_parts_of_a_split_model_are_downloaded(hub: FlakyHub, one: Downloader) -> None:
    parts = {f"demo-0000{part}-of-00003.gguf": gguf(5_000 + part, part) for part in (1, 2, 3)}
    rows = [row_of(content, path=name, stored=f"demo/{name}") for name, content in parts.items()]
    for name, content in parts.items():
        hub.serve_file(REPO, name, content, COMMIT)
    outcome = one.run(hub, *rows)
    for row, content in zip(rows, parts.values(), strict=True):
        assert_complete(one, row, content, outcome)
    assert "all 3 file(s) are complete" in outcome.out


def test_odd_names_are_encoded_and_stored_as_they_are(
    hub: FlakyHub, everywhere: Downloader
) -> None:
    names = (
        "sub folder/Modell ü 模型 #1 100%25 ?x=1&y.gguf",
        'it\'s "quoted" $HOME `id` $(id) back\\slash;*[a].gguf',
    )
    rows = [row_of(MODEL, path=name, stored=name) for name in names]
    for name in names:
        hub.serve_file(REPO, name, MODEL, COMMIT)
    outcome = everywhere.run(hub, *rows)
    for row in rows:
        assert_complete(everywhere, row, MODEL, outcome)
    assert [request.path for request in hub.requests] == [row.url_path for row in rows]


def test_a_revision_with_a_slash_is_one_part_of_the_url(hub: FlakyHub, one: Downloader) -> None:
    hub.serve_file(REPO, "demo.gguf", MODEL, "refs/pr/1")
    row = row_of(MODEL, revision="refs/pr/1")
    assert_complete(one, row, MODEL, one.run(hub, row))
    assert "/resolve/refs%2Fpr%2F1/demo.gguf" in hub.requests[0].raw_path


def test_size_and_sha256_may_be_unknown(hub: FlakyHub, each: Downloader) -> None:
    assert_complete(each, UNKNOWN, MODEL, each.run(hub, UNKNOWN))
    assert_complete(each, UNKNOWN, MODEL, each.run(hub, UNKNOWN))
    assert len(hub.requests) == 1


def test_an_empty_file_of_known_size_needs_no_request(hub: FlakyHub, one: Downloader) -> None:
    row = row_of(b"", path="empty.txt", stored="demo/empty.txt")
    assert_complete(one, row, b"", one.run(hub, row))


def test_a_file_that_should_be_html_is_accepted(hub: FlakyHub, one: Downloader) -> None:
    hub.serve_file(REPO, "page.txt", HTML_PAGE, COMMIT)
    row = row_of(HTML_PAGE, path="page.txt", stored="demo/page.txt")
    assert_complete(one, row, HTML_PAGE, one.run(hub, row))


def test_progress_names_file_share_amount_and_speed(hub: FlakyHub, one: Downloader) -> None:
    content = gguf(6 * 1024 * 1024)
    hub.serve_file(REPO, "demo.gguf", content, COMMIT)
    row = row_of(content)
    hub.script(row.url_path, Answer(bytes_per_second=4 * 1024 * 1024))
    outcome = one.run(hub, row)
    assert_complete(one, row, content, outcome)
    lines = [line for line in outcome.out.splitlines() if line.endswith("MiB/s")]
    assert lines, outcome
    assert all(line.startswith("demo/demo.gguf: ") and "/6 MiB, " in line for line in lines)


# ---- connections that break


def test_resume_continues_where_the_connection_broke(hub: FlakyHub, everywhere: Downloader) -> None:
    hub.script(LOCKED.url_path, truncate(100_000), drop(50_000))
    outcome = everywhere.run(hub, LOCKED)
    assert_complete(everywhere, LOCKED, MODEL, outcome)
    first, second, third = [request.range for request in hub.gets()]
    assert (first, second) == (None, "bytes=100000-")
    # After a reset the last bytes may not have reached the script.
    assert third is not None
    assert 100_000 <= int(third.removeprefix("bytes=").removesuffix("-")) <= 150_000


def test_an_end_without_a_length_is_not_taken_for_complete(hub: FlakyHub, each: Downloader) -> None:
    hub.script(LOCKED.url_path, truncate(100_000, announce_length=False))
    assert_complete(each, LOCKED, MODEL, each.run(hub, LOCKED))
    assert [request.range for request in hub.gets()] == [None, "bytes=100000-"]


def test_a_server_without_ranges_restarts_from_zero(hub: FlakyHub, across: Downloader) -> None:
    whole = Answer(honour_range=False)
    hub.script(LOCKED.url_path, replace(whole, cut_after=100_000), then=whole)
    assert_complete(across, LOCKED, MODEL, across.run(hub, LOCKED))


def test_a_server_without_ranges_that_keeps_breaking_is_given_up(
    hub: FlakyHub, each: Downloader
) -> None:
    hub.script(LOCKED.url_path, then=Answer(honour_range=False, cut_after=100_000))
    outcome = each.run(hub, LOCKED)
    assert "gave up after 4 tries" in assert_refused(each, LOCKED, outcome, 19)


def test_tries_are_counted_only_while_nothing_new_arrives(hub: FlakyHub, each: Downloader) -> None:
    hub.script(LOCKED.url_path, then=Answer(cut_after=40_000))
    assert_complete(each, LOCKED, MODEL, each.run(hub, LOCKED, DOWNLOAD_ATTEMPTS="2"))
    assert len(hub.gets()) == 8


@pytest.mark.parametrize(("shell", "transport"), [("dash", "curl"), ("busybox-ash", "gnu-wget")])
def test_a_stalled_transfer_is_ended_and_continued(
    hub: FlakyHub, tmp_path: Path, shell: str, transport: str
) -> None:
    downloader = Downloader(shell, transport, tmp_path)
    hub.script(LOCKED.url_path, Answer(stall_after=HALFWAY))
    outcome = downloader.run(hub, LOCKED, DOWNLOAD_STALL_SECONDS="1")
    assert_complete(downloader, LOCKED, MODEL, outcome)
    assert "no data for 1 s" in outcome.out
    assert hub.gets()[1].range == f"bytes={HALFWAY}-"


def test_a_server_error_is_tried_again(hub: FlakyHub, each: Downloader) -> None:
    statuses = (500, 502, 408)
    hub.script(LOCKED.url_path, refuse(500), drop(1_000), refuse(502), refuse(408))
    outcome = each.run(hub, LOCKED)
    assert_complete(each, LOCKED, MODEL, outcome)
    assert all(f"(HTTP {status})" in outcome.out for status in statuses)


def test_retry_after_is_honoured(hub: FlakyHub, one: Downloader) -> None:
    hub.script(LOCKED.url_path, refuse(429, retry_after="1"))
    outcome = one.run(hub, LOCKED)
    assert_complete(one, LOCKED, MODEL, outcome)
    assert "(HTTP 429), next in 1 s" in outcome.out


def test_a_network_failure_is_not_held_because_the_next_start_may_succeed(
    hub: FlakyHub, each: Downloader
) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))  # taken, but nobody listens
        endpoint = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        outcome = each.run(hub, LOCKED, HF_ENDPOINT=endpoint, DOWNLOAD_HOLD_SECONDS="900")
    line = assert_refused(each, LOCKED, outcome, 19)
    assert "refused" in line or "connect" in line.lower()


# ---- content that is wrong


def test_a_part_of_a_changed_file_is_not_continued(hub: FlakyHub, across: Downloader) -> None:
    old = gguf(300_000, seed=2)
    hub.script(UNKNOWN.url_path, Answer(body=old, cut_after=100_000))
    assert_complete(across, UNKNOWN, MODEL, across.run(hub, UNKNOWN))
    old_etag = f'"{hashlib.sha256(old).hexdigest()[:32]}"'
    assert hub.gets()[1].headers["if-range"] == old_etag


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_a_part_that_nothing_identifies_is_thrown_away(
    hub: FlakyHub, each: Downloader, etag: str
) -> None:
    hub.script(UNKNOWN.url_path, Answer(etag=etag, cut_after=100_000))
    assert_complete(each, UNKNOWN, MODEL, each.run(hub, UNKNOWN))
    assert [request.range for request in hub.gets()] == [None, None]


def test_a_part_of_another_source_is_not_continued(hub: FlakyHub, one: Downloader) -> None:
    other = Row(repo="example-org/Other-GGUF")
    hub.serve_file(other.repo, other.path, gguf(300_000, seed=3), COMMIT)
    hub.script(other.url_path, drop(100_000), then=refuse(503))
    assert one.run(hub, other).code == 19
    assert_complete(one, LOCKED, MODEL, one.run(hub, LOCKED))
    assert [request.range for request in hub.gets(LOCKED.url_path)] == [None]


def test_wrong_content_of_the_right_size_is_downloaded_once_more(
    hub: FlakyHub, each: Downloader
) -> None:
    hub.script(LOCKED.url_path, Answer(body=OTHER))
    outcome = each.run(hub, LOCKED)
    assert_complete(each, LOCKED, MODEL, outcome)
    assert "downloading it again from zero" in outcome.out
    assert len(hub.gets()) == 2


def test_wrong_content_twice_ends_with_both_digests(hub: FlakyHub, across: Downloader) -> None:
    wrong = OTHER
    hub.script(LOCKED.url_path, then=Answer(body=wrong))
    line = assert_refused(across, LOCKED, across.run(hub, LOCKED), 15)
    assert hashlib.sha256(wrong).hexdigest() in line
    assert str(LOCKED.sha256) in line


@pytest.mark.parametrize("length", [1_000, 400_000])
def test_a_file_of_another_size_ends_with_both_sizes(
    hub: FlakyHub, each: Downloader, length: int
) -> None:
    hub.script(LOCKED.url_path, then=Answer(body=gguf(length)))
    line = assert_refused(each, LOCKED, each.run(hub, LOCKED), 15)
    assert f"{length} bytes" in line


@pytest.mark.parametrize("row", [LOCKED, UNKNOWN])
def test_an_html_page_is_named(hub: FlakyHub, each: Downloader, row: Row) -> None:
    hub.script(row.url_path, then=html_page())
    assert "HTML page" in assert_refused(each, row, each.run(hub, row), 13)


def test_a_git_lfs_pointer_is_named(hub: FlakyHub, across: Downloader) -> None:
    pointer = lfs_pointer(MODEL)
    hub.script(LOCKED.url_path, then=Answer(body=pointer))
    assert "git-lfs pointer" in assert_refused(across, LOCKED, across.run(hub, LOCKED), 14)
    locked_pointer = row_of(pointer)
    assert_refused(across, locked_pointer, across.run(hub, locked_pointer), 14)


def test_a_gguf_without_its_magic_is_refused_even_when_its_digest_is_right(
    hub: FlakyHub, each: Downloader
) -> None:
    content = b"vers" + MODEL[4:]
    hub.serve_file(REPO, "demo.gguf", content, COMMIT)
    row = row_of(content)
    assert "not a GGUF file" in assert_refused(each, row, each.run(hub, row), 16)


def test_a_part_beyond_the_end_of_the_file_is_thrown_away(
    hub: FlakyHub, across: Downloader
) -> None:
    """A stale part: the server answers 416, with the size unknown to the script."""
    old = gguf(400_000, seed=5)
    etag = '"same"'
    hub.script(UNKNOWN.url_path, Answer(body=old, cut_after=350_000, etag=etag))
    hub.script(UNKNOWN.url_path, Answer(body=old, cut_after=350_000, etag=etag), Answer(etag=etag))
    assert_complete(across, UNKNOWN, MODEL, across.run(hub, UNKNOWN))
    assert [request.range for request in hub.gets()] == [None, "bytes=350000-", None]


def test_a_part_that_is_already_complete_is_kept(hub: FlakyHub, one: Downloader) -> None:
    hub.script(LOCKED.url_path, drop(200_000), then=refuse(503))
    assert one.run(hub, LOCKED).code == 19
    one.part(LOCKED).write_bytes(MODEL)
    before = len(hub.requests)
    assert_complete(one, LOCKED, MODEL, one.run(hub, LOCKED))
    assert len(hub.requests) == before


# ---- answers that a restart cannot cure


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_repository_without_a_token_says_what_to_do(
    hub: FlakyHub, across: Downloader, status: int
) -> None:
    hub.script(LOCKED.url_path, then=refuse(status, x_error_code="GatedRepo"))
    line = assert_refused(across, LOCKED, across.run(hub, LOCKED), 10)
    assert f"{hub.url}/{REPO}" in line
    assert "set HF_TOKEN" in line
    assert len(hub.gets()) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_without_access_is_told_from_a_missing_one(
    hub: FlakyHub, each: Downloader, status: int
) -> None:
    hub.script(LOCKED.url_path, then=refuse(status))
    outcome = each.run(hub, LOCKED, HF_TOKEN=TOKEN)
    code = 3 if each.transport == "busybox-wget" else 11
    line = assert_refused(each, LOCKED, outcome, code)
    assert ("curl" if code == 3 else "its account has no access") in line
    assert TOKEN not in outcome.out + outcome.err


def test_a_missing_file_is_named_with_its_revision(hub: FlakyHub, across: Downloader) -> None:
    row = row_of(MODEL, path="Demo.GGUF")
    line = assert_refused(across, row, across.run(hub, row), 12)
    assert "'Demo.GGUF'" in line
    assert COMMIT in line
    assert len(hub.gets()) == 1


def test_another_refusal_names_its_status(hub: FlakyHub, one: Downloader) -> None:
    hub.script(LOCKED.url_path, then=refuse(451))
    assert "HTTP 451" in assert_refused(one, LOCKED, one.run(hub, LOCKED), 20)


def test_a_renamed_repository_that_is_gated_is_told_from_a_broken_link(
    hub: FlakyHub, each: Downloader
) -> None:
    moved = file_url_path("example-org/New-GGUF", "demo.gguf", COMMIT)
    hub.script(LOCKED.url_path, then=redirect(moved, 307))
    hub.script(moved, then=refuse(401))
    assert_refused(each, LOCKED, each.run(hub, LOCKED), 10)


def test_a_permanent_error_is_held_after_its_line_and_a_signal_ends_the_hold(
    hub: FlakyHub, across: Downloader
) -> None:
    row = row_of(MODEL, path="gone.gguf")
    process = across.start(hub, row, DOWNLOAD_HOLD_SECONDS="25")
    assert process.stderr is not None
    assert process.stderr.readline().startswith("ERROR:")
    hold = b"\0".join((b"sleep", b"25", b""))
    eventually(lambda: hold in {line for line, _ in processes_of(process.pid)})
    process.terminate()
    outcome = finished(process)
    assert (outcome.code, outcome.err) == (143, "")
    assert "ends in 25 s" in outcome.out


# ---- redirects and the token


def test_the_token_reaches_the_hub_and_not_the_place_it_redirects_to(
    hub: FlakyHub, each: Downloader
) -> None:
    with FlakyHub() as storage:
        storage.serve("/signed/object", MODEL)
        storage.script("/signed/object", drop(100_000))
        hub.script(LOCKED.url_path, then=redirect(f"{storage.url}/signed/object?signature=abc"))
        outcome = each.run(hub, LOCKED, HF_TOKEN=f"{TOKEN}\n")
        assert_complete(each, LOCKED, MODEL, outcome)
        seen = [request.headers.get("authorization") for request in storage.requests]
        assert seen == [None, None]
        assert (storage.gets()[1].range or "").startswith("bytes=")
    expected = None if each.transport == "busybox-wget" else f"Bearer {TOKEN}"
    assert {request.headers.get("authorization") for request in hub.requests} == {expected}


def test_the_token_follows_a_redirect_inside_the_hub(hub: FlakyHub, each: Downloader) -> None:
    moved = file_url_path("example-org/New-GGUF", "demo.gguf", COMMIT)
    hub.serve(moved, MODEL)
    hub.script(LOCKED.url_path, then=redirect(moved, 307))
    assert_complete(each, LOCKED, MODEL, each.run(hub, LOCKED, HF_TOKEN=TOKEN))
    expected = None if each.transport == "busybox-wget" else f"Bearer {TOKEN}"
    assert {request.headers.get("authorization") for request in hub.requests} == {expected}


def test_an_expired_signature_behind_a_redirect_is_asked_for_again(
    hub: FlakyHub, each: Downloader
) -> None:
    with FlakyHub() as storage:
        storage.serve("/object", MODEL)
        storage.script("/object", drop(100_000), refuse(403))
        hub.script(LOCKED.url_path, then=redirect(f"{storage.url}/object"))
        assert_complete(each, LOCKED, MODEL, each.run(hub, LOCKED, HF_TOKEN=TOKEN))
        assert len(storage.gets()) == 3


def test_the_token_is_in_no_argument_no_output_and_no_file_of_the_model_folder(
    hub: FlakyHub, across: Downloader
) -> None:
    hub.script(
        LOCKED.url_path, Answer(bytes_per_second=400_000, cut_after=100_000), then=refuse(401)
    )
    process = across.start(hub, LOCKED, HF_TOKEN=TOKEN)
    command_lines: set[bytes] = set()
    while process.poll() is None:
        command_lines |= {line for line, _ in processes_of(process.pid)}
    outcome = finished(process)
    transport = across.transport.rpartition("-")[2].encode()
    assert any(transport in line and b"demo.gguf" in line for line in command_lines)
    assert not any(TOKEN.encode() in line for line in command_lines)
    assert TOKEN not in outcome.out + outcome.err
    files = [path for path in across.models.rglob("*") if path.is_file()]
    assert files
    assert not any(TOKEN.encode() in path.read_bytes() for path in files)
    assert list(across.temporary.iterdir()) == []


def processes_of(session: int) -> Iterator[tuple[bytes, bytes]]:
    """Command line and environment of every process of a session."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if os.getsid(int(folder.name)) == session:
                    yield (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
            except OSError:
                continue


def test_the_token_is_not_in_the_environment_of_the_transport(
    hub: FlakyHub, one: Downloader
) -> None:
    hub.script(LOCKED.url_path, Answer(stall_after=HALFWAY))
    process = one.start(hub, LOCKED, HF_TOKEN=TOKEN)
    eventually(lambda: len(hub.gets()) == 1)
    transports = [env for line, env in processes_of(process.pid) if line.startswith(b"curl\0")]
    process.terminate()
    finished(process)
    assert len(transports) == 1
    assert TOKEN.encode() not in transports[0]


def test_the_token_file_is_readable_for_its_owner_only(hub: FlakyHub, each: Downloader) -> None:
    hub.script(LOCKED.url_path, Answer(stall_after=1_000))
    process = each.start(hub, LOCKED, HF_TOKEN=TOKEN)
    eventually(lambda: len(hub.gets()) == 1)
    files = list(each.temporary.rglob("auth"))
    modes = {path.stat().st_mode & 0o777 for path in files}
    process.terminate()
    assert finished(process).code == 143
    assert modes == (set() if each.transport == "busybox-wget" else {0o600})
    assert list(each.temporary.iterdir()) == []


def test_a_token_that_is_not_one_is_refused_unprinted(hub: FlakyHub, one: Downloader) -> None:
    outcome = one.run(hub, LOCKED, HF_TOKEN="hf_töken")
    assert "HF_TOKEN" in assert_refused(one, LOCKED, outcome, 2)
    assert "ken" not in outcome.err.replace("HF_TOKEN", "").replace("token", "")


# ---- markers and files that are already there


def test_a_half_file_without_a_marker_is_downloaded_again(
    hub: FlakyHub, across: Downloader
) -> None:
    across.put(LOCKED, MODEL[:150_000])
    outcome = across.run(hub, LOCKED)
    assert_complete(across, LOCKED, MODEL, outcome)
    assert "150000 bytes" in outcome.out


def test_a_half_file_with_a_marker_is_downloaded_again(hub: FlakyHub, across: Downloader) -> None:
    across.run(hub, LOCKED)
    across.stored(LOCKED).write_bytes(MODEL[:150_000])
    assert_complete(across, LOCKED, MODEL, across.run(hub, LOCKED))
    assert len(hub.gets()) == 2


def test_a_complete_file_without_a_marker_is_verified_and_adopted(
    hub: FlakyHub, one: Downloader
) -> None:
    one.put(LOCKED, MODEL)
    assert_complete(one, LOCKED, MODEL, one.run(hub, LOCKED))
    assert hub.requests == []


def test_a_file_without_a_marker_and_without_a_digest_is_not_trusted(
    hub: FlakyHub, one: Downloader
) -> None:
    row = replace(LOCKED, sha256=None)
    one.put(row, OTHER)
    assert_complete(one, row, MODEL, one.run(hub, row))


def test_another_content_of_the_right_size_without_a_marker_is_replaced(
    hub: FlakyHub, one: Downloader
) -> None:
    one.put(LOCKED, OTHER)
    assert_complete(one, LOCKED, MODEL, one.run(hub, LOCKED))


@pytest.mark.parametrize(
    "other",
    [
        row_of(OTHER, repo="example-org/Other"),
        row_of(OTHER, revision="main"),
        row_of(OTHER, path="other.gguf"),
    ],
    ids=lambda row: row.url_path,
)
def test_a_file_marked_for_another_source_is_replaced(
    hub: FlakyHub, one: Downloader, other: Row
) -> None:
    hub.serve_file(other.repo, other.path, OTHER, other.revision)
    assert_complete(one, other, OTHER, one.run(hub, other))
    assert_complete(one, LOCKED, MODEL, one.run(hub, LOCKED))


def test_a_marked_file_of_another_size_than_now_expected_is_replaced(
    hub: FlakyHub, one: Downloader
) -> None:
    one.run(hub, UNKNOWN)
    longer = gguf(310_000)
    hub.serve_file(REPO, "demo.gguf", longer, COMMIT)
    row = replace(UNKNOWN, size=len(longer))
    assert_complete(one, row, longer, one.run(hub, row))


def test_a_marker_with_a_digest_serves_a_row_without_one(hub: FlakyHub, one: Downloader) -> None:
    one.run(hub, LOCKED)
    outcome = one.run(hub, UNKNOWN)
    assert outcome.code == 0
    assert len(hub.requests) == 1
    assert f"sha256={LOCKED.sha256}" in one.marker(LOCKED).read_text()


# ---- interruption and company


def test_a_killed_run_is_completed_by_the_next(hub: FlakyHub, across: Downloader) -> None:
    """As when the container is killed: everything in it dies at once."""
    hub.script(LOCKED.url_path, Answer(stall_after=HALFWAY))
    process = across.start(hub, LOCKED)
    eventually(lambda: size_of(across.part(LOCKED)) == HALFWAY)
    os.killpg(process.pid, signal.SIGKILL)
    finished(process)
    outcome = across.run(hub, LOCKED, DOWNLOAD_STALE_SECONDS="1")
    assert (outcome.code, outcome.err) == (0, ""), outcome
    assert across.stored(LOCKED).read_bytes() == MODEL
    assert across.leftovers() == set()
    assert [request.range for request in hub.gets()] == [None, f"bytes={HALFWAY}-"]


def test_a_transfer_that_outlives_its_killed_script_is_not_disturbed(
    hub: FlakyHub, one: Downloader
) -> None:
    hub.script(LOCKED.url_path, Answer(bytes_per_second=600_000))
    process = one.start(hub, LOCKED)
    eventually(lambda: size_of(one.part(LOCKED)) > 0)
    process.kill()
    outcome = one.run(hub, LOCKED)
    finished(process)
    assert (outcome.code, outcome.err) == (0, ""), outcome
    assert one.stored(LOCKED).read_bytes() == MODEL
    assert len(hub.gets()) == 1


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def test_a_terminated_run_stops_its_transfer_and_leaves_no_lock(
    hub: FlakyHub, across: Downloader
) -> None:
    hub.script(LOCKED.url_path, Answer(stall_after=HALFWAY))
    process = across.start(hub, LOCKED)
    eventually(lambda: size_of(across.part(LOCKED)) == HALFWAY)
    process.terminate()
    outcome = finished(process)
    assert (outcome.code, outcome.err) == (143, "")
    assert list(across.temporary.iterdir()) == []
    assert "demo.gguf.lock.d" not in across.leftovers()
    assert_complete(across, LOCKED, MODEL, across.run(hub, LOCKED))


@pytest.mark.parametrize("kind", ["flock", "busybox"])
def test_of_two_runs_at_once_one_downloads_and_the_other_waits(
    hub: FlakyHub, tmp_path: Path, kind: str
) -> None:
    shell = "busybox-ash" if kind == "busybox" else "dash"
    downloader = Downloader(shell, "curl", tmp_path, flock=kind == "flock")
    hub.script(LOCKED.url_path, Answer(bytes_per_second=400_000))
    processes = [downloader.start(hub, LOCKED) for _ in range(3)]
    outcomes = [finished(process) for process in processes]
    for outcome in outcomes:
        assert_complete(downloader, LOCKED, MODEL, outcome)
    assert len(hub.gets()) == 1
    assert any("another run downloads it" in outcome.out for outcome in outcomes)


def test_the_lock_of_a_dead_run_is_taken_over_by_exactly_one(hub: FlakyHub, tmp_path: Path) -> None:
    downloader = Downloader("dash", "curl", tmp_path, flock=False)
    lock = downloader.models / "demo" / "demo.gguf.lock.d"
    lock.mkdir(parents=True)
    (lock / "pulse").write_text("1000:1:1700000000:1700000001\n")
    hub.script(LOCKED.url_path, Answer(bytes_per_second=400_000))
    processes = [downloader.start(hub, LOCKED, DOWNLOAD_STALE_SECONDS="2") for _ in range(2)]
    for outcome in [finished(process) for process in processes]:
        assert_complete(downloader, LOCKED, MODEL, outcome)
    assert len(hub.gets()) == 1


def test_a_run_that_lost_its_lock_leaves_it_to_the_new_owner(hub: FlakyHub, tmp_path: Path) -> None:
    downloader = Downloader("dash", "curl", tmp_path, flock=False)
    pulse = downloader.models / "demo" / "demo.gguf.lock.d" / "pulse"
    hub.script(LOCKED.url_path, Answer(stall_after=HALFWAY))
    process = downloader.start(hub, LOCKED)
    eventually(pulse.exists)
    first = pulse.read_text()
    eventually(lambda: pulse.exists() and pulse.read_text() != first)
    pulse.write_text("1000:1:1700000000:1700000001\n")
    process.terminate()
    assert finished(process).code == 143
    assert pulse.read_text() == "1000:1:1700000000:1700000001\n"


# ---- disk and folder


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not allow mounts")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_too_little_space_is_told_before_the_first_request(
    hub: FlakyHub, across: Downloader
) -> None:
    row = replace(LOCKED, size=3 * 1024 * 1024)
    with small_disk(across.models, "size=2m,mode=755"):
        line = assert_refused(across, row, across.run(hub, row), 17)
    assert "3 MiB are needed, 2 MiB are free" in line
    assert hub.requests == []


def test_the_space_of_what_is_there_counts(hub: FlakyHub, one: Downloader) -> None:
    content = gguf(1_500_000)
    hub.serve_file(REPO, "demo.gguf", content, COMMIT)
    row = row_of(content)
    hub.script(row.url_path, drop(1_200_000), then=refuse(404))
    with small_disk(one.models, "size=2m,mode=755"):
        assert one.run(hub, row).code == 12
        hub.script(row.url_path)
        assert_complete(one, row, content, one.run(hub, row))
        one.stored(row).write_bytes(content[:1_400_000])
        assert_complete(one, row, content, one.run(hub, row))


def test_a_disk_that_fills_up_midway_leaves_nothing_under_the_final_name(
    hub: FlakyHub, across: Downloader
) -> None:
    hub.serve_file(REPO, "demo.gguf", gguf(3 * 1024 * 1024), COMMIT)
    with small_disk(across.models, "size=2m,mode=755"):
        line = assert_refused(across, UNKNOWN, across.run(hub, UNKNOWN), 17)
        assert size_of(across.part(UNKNOWN)) > 1024 * 1024
    assert "is full" in line


def test_a_read_only_folder_is_named(hub: FlakyHub, across: Downloader) -> None:
    with small_disk(across.models, "ro,size=1m,mode=755"):
        line = assert_refused(across, LOCKED, across.run(hub, LOCKED), 18)
    assert str(across.models) in line
    assert hub.requests == []


def test_a_complete_file_in_a_read_only_folder_is_enough(hub: FlakyHub, one: Downloader) -> None:
    with small_disk(one.models, "size=1m,mode=755"):
        one.run(hub, LOCKED)
        subprocess.run(["mount", "-o", "remount,ro", str(one.models)], check=True)
        assert_complete(one, LOCKED, MODEL, one.run(hub, LOCKED))


def test_a_folder_in_place_of_the_file_is_named(hub: FlakyHub, one: Downloader) -> None:
    one.stored(LOCKED).mkdir(parents=True)
    outcome = one.run(hub, LOCKED)
    assert outcome.code == 18
    assert "is a folder" in outcome.errors[0]


# ---- input and tools

GOOD = LOCKED.line


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("", "MODEL_FILES is empty"),
        ("\n\r\n", "MODEL_FILES is empty"),
        (f"{GOOD}|more", "row 1: it has more than 6 fields"),
        (f"{GOOD}\n{REPO}|main|b.gguf|b.gguf|5", "row 2: the sha256 is neither"),
        (f"{GOOD}\n{GOOD}", "row 2: the stored path occurs twice"),
        (f"{REPO}|main|a.gguf|../a.gguf|-|-", "row 1: the stored path must be relative"),
        (f"{REPO}|main|a.gguf|/etc/a.gguf|-|-", "row 1: the stored path must be relative"),
        (f"{REPO}|main|a.gguf||-|-", "row 1: the stored path must be relative"),
        (f"{REPO}|main|a.gguf|a.part|-|-", "row 1: the stored path has a reserved ending"),
        (f"{REPO}|main|../../x/a.gguf|a.gguf|-|-", "row 1: a path has an empty, . or .. part"),
        (f"{REPO}|main||a.gguf|-|-", "row 1: a path has an empty, . or .. part"),
        (f"{REPO}||a.gguf|a.gguf|-|-", "row 1: the revision is not"),
        ("org/na me|main|a.gguf|a.gguf|-|-", "row 1: the repository is not"),
        (f"{REPO}|main|a.gguf|a.gguf|1.5G|-", "row 1: the size is neither"),
        (f"{REPO}|main|a.gguf|a.gguf|010|-", "row 1: the size is neither"),
        (f"{REPO}|main|a.gguf|a.gguf|-|{'a' * 63}", "row 1: the sha256 is neither"),
        (f"{REPO}|main|a.gguf|a.gguf|-|{'a' * 63}G", "row 1: the sha256 is neither"),
        (f"{REPO}|main|a.gguf|a.gguf|-|4abcde", "row 1: the sha256 is neither"),
    ],
)
def test_a_malformed_row_is_named_before_anything_is_fetched(
    hub: FlakyHub, one: Downloader, rows: str, complaint: str
) -> None:
    outcome = one.run(hub, rows)
    assert complaint in assert_refused(one, LOCKED, outcome, 2)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HF_ENDPOINT", "huggingface.co"),
        ("MODEL_DIR", "models"),
        ("DOWNLOAD_ATTEMPTS", "many"),
        ("DOWNLOAD_STALL_SECONDS", "08"),
    ],
)
def test_a_malformed_setting_is_named(
    hub: FlakyHub, shell: str, tmp_path: Path, variable: str, value: str
) -> None:
    downloader = Downloader(shell, "curl", tmp_path)
    outcome = downloader.run(hub, LOCKED, **{variable: value})
    line = assert_refused(downloader, LOCKED, outcome, 2)
    assert variable.split("_")[0] in line
    assert line.endswith(f"got: {value}")


def test_lines_with_crlf_and_blank_lines_are_read(hub: FlakyHub, across: Downloader) -> None:
    outcome = across.run(hub, f"\r\n{GOOD}\r\n\r\n", HF_ENDPOINT=f"{hub.url}//")
    assert_complete(across, LOCKED, MODEL, outcome)


def test_an_image_without_curl_and_wget_is_named(hub: FlakyHub, shell: str, tmp_path: Path) -> None:
    downloader = Downloader(shell, "none", tmp_path)
    line = assert_refused(downloader, LOCKED, downloader.run(hub, LOCKED), 3)
    assert "neither curl nor wget" in line


def test_an_image_without_sha256sum_is_named(hub: FlakyHub, one: Downloader) -> None:
    (one.temporary.parent / "bin" / "sha256sum").unlink()
    assert "sha256sum" in assert_refused(one, LOCKED, one.run(hub, LOCKED), 3)


def test_a_plain_user_needs_only_the_model_folder_and_a_temporary_one(hub: FlakyHub) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can run a program as somebody else")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        script = root / SCRIPT.name
        shutil.copyfile(SCRIPT, script)
        downloader = Downloader("dash", "curl", root, script=script)
        downloader.models.mkdir()
        for own in (downloader.models, downloader.temporary):
            os.chown(own, 1000, 1000)
        downloader.argv[:0] = [found("setpriv"), "--reuid=1000", "--regid=1000", "--clear-groups"]
        assert_complete(downloader, LOCKED, MODEL, downloader.run(hub, LOCKED))
        assert downloader.stored(LOCKED).stat().st_uid == 1000
        assert script.stat().st_uid == 0
