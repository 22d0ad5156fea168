"""Boards of the leaderboard as one picture: a bar for each row, its length the speed."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final
from xml.sax.saxutils import escape

from olares_apps.bench.leaderboard import Board, Entry

__all__ = ["svg"]

_WIDTH, _MARGIN, _BAR_LEFT, _BAR, _ROW, _HEAD = 860, 16, 280, 430, 40, 56
_COLOUR, _OTHER = "#3f51b5", "#9fa8da"
_CHARACTERS: Final = 110


def svg(boards: Sequence[Board]) -> str:
    """Return an SVG document, the same for the same boards.

    A row that ran under other conditions than the first has a paler bar and says which.
    """
    heights = [_HEAD + _ROW * len(board.entries) for board in boards]
    height = sum(heights) + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13" role="img">',
        "<title>Measured speeds, tokens per second</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    top = 0
    for board, tall in zip(boards, heights, strict=True):
        lines += _board(board, top)
        top += tall
    return "\n".join([*lines, "</svg>"]) + "\n"


def _board(board: Board, top: int) -> list[str]:
    scale = _BAR / max(float(entry.row.tps) for entry in board.entries)
    note = "" if board.comparable else " (rows ran under different conditions)"
    lines = [
        f'<text x="{_MARGIN}" y="{top + 34}" font-size="14" font-weight="bold">'
        f"{_text(board.title + note)}</text>"
    ]
    for index, entry in enumerate(board.entries):
        lines += _row(entry, top + _HEAD + index * _ROW, scale)
    return lines


def _row(entry: Entry, y: int, scale: float) -> list[str]:
    width = max(float(Decimal(entry.row.tps)) * scale, 1.0)
    lead = "" if entry.lead is None else f" (first is +{entry.lead} %)"
    ctx = "unknown" if entry.row.ctx is None else f"{entry.row.ctx} tokens of"
    below = f"{ctx} context, {entry.row.model_file or 'unknown file'}"
    if entry.differs:
        below = "unlike the first: " + ", ".join(entry.differs)
    return [
        f'<text x="{_MARGIN}" y="{y + 13}">{entry.place}. {_text(entry.row.title)}</text>',
        f'<text x="{_MARGIN}" y="{y + 29}" font-size="11" fill="#555555">{_text(below)}</text>',
        f'<rect x="{_BAR_LEFT}" y="{y + 2}" width="{width:.1f}" height="14" '
        f'fill="{_OTHER if entry.differs else _COLOUR}"/>',
        f'<text x="{_BAR_LEFT + width + 8:.1f}" y="{y + 14}">{entry.row.tps}{lead}</text>',
    ]


def _text(text: str) -> str:
    kept = "".join(letter for letter in text if letter.isprintable())
    return escape(kept if len(kept) <= _CHARACTERS else kept[: _CHARACTERS - 3].rstrip() + "...")
