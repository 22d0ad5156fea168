"""Lines of chart files, looked up only when a finding needs one."""

from pathlib import PurePosixPath

from olares_apps.errors import SpecError
from olares_apps.spec.positions import Positions

__all__ = ["line_of_path", "line_of_piece", "line_of_text"]

_MAX_BYTES = 2**20


def line_of_path(text: str, path: tuple[str | int, ...]) -> int | None:
    """Return the line of the deepest existing part of a path in YAML text, None when unknown."""
    if not path or len(text) > _MAX_BYTES:
        return None
    try:
        return Positions(text, PurePosixPath("chart")).nearest(path).line
    except (SpecError, RecursionError):
        names = [step for step in path if isinstance(step, str)]
        return line_of_text(text, f"{names[-1]}:") if names else None


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
