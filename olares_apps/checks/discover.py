"""Finding the charts that a path means: one of its own, or all that lie below it."""

import os
from pathlib import Path
from typing import Final

from olares_apps.errors import UsageError

__all__ = ["ARCHIVE_ENDINGS", "find_charts"]

ARCHIVE_ENDINGS: Final = (".tgz", ".tar.gz")
"""Ends of the names of packed charts."""
_MARKS: Final = frozenset({"chart.yaml", "olaresmanifest.yaml"})
_NOT_CHARTS: Final = frozenset({"i18n", "node_modules", "__pycache__"})
_MOST_ENTRIES: Final = 100_000


def find_charts(path: Path) -> list[Path]:
    """Return the charts that ``path`` names, in order.

    A file, or a folder that holds Chart.yaml or OlaresManifest.yaml, is one chart. Any other
    folder stands for every chart folder and every archive below it; hidden folders and links
    to folders are not entered, and nothing inside a chart is a chart. A folder without any is
    returned itself: reading it says what is wrong.

    Raises UsageError for a folder with more than 100,000 entries, or one that cannot be read.
    """
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    seen = 0
    stack = [path]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if folder == path:
                raise UsageError(f"{path} cannot be read: {error.strerror}") from error
            continue
        seen += len(listed)
        if seen > _MOST_ENTRIES:
            raise UsageError(
                f"{path} holds more than {_MOST_ENTRIES} entries",
                hint="name the folder that holds the charts",
            )
        if any(entry.name.lower() in _MARKS for entry in listed):
            found.append(folder)
            continue
        below = []
        for entry in listed:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _NOT_CHARTS:
                    below.append(folder / entry.name)
            elif entry.name.endswith(ARCHIVE_ENDINGS) and entry.is_file():
                found.append(folder / entry.name)
        stack += reversed(below)
    return sorted(found) or [path]
