"""Workspaces for tests, and the command line as a user meets it."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.specs import CONFIG, build_file_tree, spec_text

from olares_apps.cli.app import run

OLAPPS = str(Path(sys.executable).with_name("olapps"))
DEMO, SECOND = "demoqwenone", "demosecond"
SECOND_SPEC = spec_text(
    (f"app: {DEMO}", f"app: {SECOND}"),
    ("title: Demo Qwen One", "title: Demo Second"),
    ("alias: demo-qwen", "alias: demo-second"),
)
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"


@dataclass(frozen=True)
class Outcome:
    """What one run of the command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return stdout as JSON."""
        return json.loads(self.out)


def olapps(*arguments: object, cwd: Path) -> Outcome:
    """Run the command in this process; a traceback fails the test by itself."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    outcome = Outcome(code, out.getvalue(), err.getvalue())
    assert "Traceback" not in outcome.err
    return outcome


def good(*arguments: object, cwd: Path) -> Outcome:
    """Run the command and insist on success."""
    outcome = olapps(*arguments, cwd=cwd)
    assert outcome.code == 0, outcome
    return outcome


def process(
    *arguments: object, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the installed command as a process of its own."""
    return subprocess.run(
        [OLAPPS, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
    )


def build_workspace(
    root: Path, *changes: tuple[str, str], files: Mapping[str, str | bytes] | None = None
) -> Path:
    """Make a workspace with one small spec, changed piece by piece; ``files`` add to it."""
    tree = {"olapps.toml": CONFIG, "apps/demo.yaml": spec_text(*changes)}
    return build_file_tree(root, {**tree, **(files or {})})


def edit(path: Path, *changes: tuple[str, str]) -> None:
    """Replace pieces of a file; every piece must occur exactly once."""
    path.write_text(spec_text(*changes, base=path.read_text()))


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file and folder below a root: its time, and its bytes if it is a file."""
    return {
        path.relative_to(root).as_posix(): (
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(root.rglob("*"))
    }


@contextlib.contextmanager
def untouched(*roots: Path) -> Iterator[None]:
    """Fail when anything below the roots is other after the block than before."""
    before = [snapshot(root) for root in roots]
    yield
    assert [snapshot(root) for root in roots] == before
