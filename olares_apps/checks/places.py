"""Lines of chart files, looked up only when a finding needs one."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from olares_apps.errors import SpecError
from olares_apps.spec.positions import Positions

__all__ = [
    "line_below",
    "line_of_kind",
    "line_of_open_action",
    "line_of_path",
    "line_of_piece",
    "line_of_text",
]

_MAX_BYTES = 2**20


def line_of_path(text: str, path: tuple[str | int, ...]) -> int | None:
    """Return the line of the deepest existing part of a path in YAML text, None when unknown."""
    if not path or len(text) > _MAX_BYTES:
        return None
    try:
        return Positions(text, PurePosixPath("chart")).nearest(path).line
    except (SpecError, RecursionError):
        return _line_of_keys(text, [step for step in path if isinstance(step, str)])


def _line_of_keys(text: str, names: Sequence[str]) -> int | None:
    """Return the line of the deepest key that is found below the ones before it.

    For text that is no YAML, such as a manifest that is a template.
    """
    found = None
    lines = text.splitlines()
    start = 0
    for name in names:
        key = re.compile(rf"[\s{{,-]*[\"']?{re.escape(name)}[\"']?\s*:")
        at = next((n for n in range(start, len(lines)) if key.match(lines[n])), None)
        if at is None:
            break
        found, start = at + 1, at + 1
    return found


def line_of_piece(text: str, path: tuple[str | int, ...], piece: str) -> int | None:
    """Return the line on which ``piece`` first stands inside the value at ``path``."""
    if len(text) <= _MAX_BYTES:
        try:
            found = Positions(text, PurePosixPath("chart")).inside(path, piece)
        except (SpecError, RecursionError):
            found = None
        if found:
            return found.line
    return line_of_text(text, piece)


def line_of_text(text: str, *pieces: str, near: int = 1) -> int | None:
    """Return the line that holds all ``pieces``, the one nearest to line ``near``."""
    lines = [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if all(piece in line for piece in pieces)
    ]
    return min(lines, key=lambda number: abs(number - near), default=None)


def line_below(text: str, *pieces: str, start: int = 1) -> int | None:
    """Return the line of the last piece, each looked for from the line of the one before it.

    Pieces that are not there are passed over; None when the first one is not there.
    """
    lines = text.splitlines()
    at: int | None = None
    for piece in pieces:
        first = start - 1 if at is None else at
        found = next((n for n in range(first, len(lines)) if piece in lines[n]), None)
        if found is None and at is None:
            return None
        at = at if found is None else found
    return None if at is None else at + 1


def line_of_kind(text: str, kind: str, index: int) -> int | None:
    """Return the line on which the object number ``index`` of a kind says so, from 0."""
    lines = [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if re.match(rf"\s*[\"']?kind[\"']?\s*:\s*[\"']?{re.escape(kind)}[\"']?\s*(?:#.*)?$", line)
    ]
    return lines[min(index, len(lines) - 1)] if lines else None


def line_of_open_action(text: str) -> int | None:
    """Return the line of the first ``{{`` of a template that no ``}}`` closes, None for none.

    Braces inside the quotes of an action are text.
    """
    at = text.find("{{")
    while at >= 0:
        end = _end_of_action(text, at + 2)
        if end is None:
            return text.count("\n", 0, at) + 1
        at = text.find("{{", end)
    return None


def _end_of_action(text: str, start: int) -> int | None:
    """Return where an action ends, None when another one or the text's end comes first."""
    if re.match(r"-?\s*/\*", text[start : start + 40]):
        end = text.find("}}", text.find("*/", start))
        return end + 2 if end >= 0 else None
    for found in _IN_ACTION.finditer(text, start):
        if found[0] == "}}":
            return found.end()
        if found[0] == "{{":
            return None
    return None


_IN_ACTION = re.compile(r'"(?:\\.|[^"\\\n])*"|`[^`]*`|\{\{|\}\}')
