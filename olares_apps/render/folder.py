"""A chart tree on disk: compare it, write it, show the difference.

Files that a former render left and the new one no longer has are removed, so a folder
never holds two charts mixed. Only a folder that already is a chart is touched that way.
"""

import difflib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from olares_apps.errors import RenderError
from olares_apps.render.chart import ChartTree

__all__ = ["Change", "chart_version", "compare", "unified_diff", "write", "write_file"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file that differs between a folder and a rendered tree."""

    path: str
    kind: Literal["added", "changed", "removed"]
    before: bytes
    after: bytes


def compare(folder: Path, tree: ChartTree) -> list[Change]:
    """Return how ``folder`` differs from ``tree``, ordered by path.

    Raises RenderError when the folder holds something that is not a chart, or when something
    stands where a file or folder of the chart has to be, so that nothing is half written.
    """
    _check_way(folder, tree)
    present = dict(_files(folder))
    if present and "Chart.yaml" not in present:
        raise RenderError(
            f"{folder} is not empty and holds no chart",
            hint="choose another output folder; olapps does not mix its files with others",
        )
    changes = []
    for path in sorted(present.keys() | tree.files.keys()):
        before, after = present.get(path), tree.files.get(path)
        if before is None:
            changes.append(Change(path, "added", b"", after or b""))
        elif after is None:
            changes.append(Change(path, "removed", before, b""))
        elif before != after:
            changes.append(Change(path, "changed", before, after))
    return changes


def write(folder: Path, tree: ChartTree) -> list[Change]:
    """Make ``folder`` hold exactly ``tree`` and return what changed.

    A new folder appears at once, and in one that exists Chart.yaml is written last: so its
    version says that the chart is whole. Raises RenderError as `compare` does, OSError when the
    folder cannot be written.
    """
    changes = compare(folder, tree)
    if changes and not folder.exists():
        _create(folder, tree)
        return changes
    for change in sorted(changes, key=lambda change: change.path == "Chart.yaml"):
        path = folder / change.path
        if change.kind == "removed":
            path.unlink()
            _remove_empty(path.parent, folder)
        else:
            write_file(path, change.after)
    return changes


def chart_version(folder: Path) -> str | None:
    """Return the version of the chart in ``folder``, or None when there is none."""
    try:
        text = (folder / "Chart.yaml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    found = re.search(r'^version: "([^"]+)"$', text, re.MULTILINE)
    return found[1] if found else None


def _create(folder: Path, tree: ChartTree) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{folder.name}.*.part"):
        shutil.rmtree(left)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    work.chmod(0o755)
    try:
        for path, data in tree.files.items():
            write_file(work / path, data)
        work.rename(folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def write_file(path: Path, data: bytes) -> None:
    """Replace one file at once: a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def unified_diff(prefix: str, change: Change) -> str:
    """Return a unified diff of one change, paths under ``prefix``."""
    before, after = (
        data.decode("utf-8", "replace").splitlines(keepends=True)
        for data in (change.before, change.after)
    )
    lines = difflib.unified_diff(
        before,
        after,
        "/dev/null" if change.kind == "added" else f"a/{prefix}/{change.path}",
        "/dev/null" if change.kind == "removed" else f"b/{prefix}/{change.path}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _check_way(folder: Path, tree: ChartTree) -> None:
    files = [folder / path for path in tree.files]
    folders = {parent for file in files for parent in file.parents}
    blocked = [path for path in folders if path.exists() and not path.is_dir()]
    blocked += [path for path in files if path.is_dir()]
    if blocked:
        kind = "folder" if blocked[0].is_dir() else "file"
        raise RenderError(
            f"{blocked[0]} is a {kind} and in the way of the chart",
            hint="move it, or choose another output folder",
        )


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        return
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _remove_empty(folder: Path, top: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
