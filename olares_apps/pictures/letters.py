"""Letters as strokes: capitals, digits and the signs that names of models use.

Drawn for this project. A glyph stands on a field 10 units high; its path is a list of pen
moves: ``M`` begins a line, ``L`` draws straight, ``Q`` bends towards its first point. Lower case
is written with capitals, accents are dropped, and what has no glyph is left out.
"""

import unicodedata
from functools import cache, lru_cache
from typing import Final

from olares_apps.pictures.canvas import Canvas, Colour, Mask

__all__ = ["measure", "writable", "write"]

Point = tuple[float, float]
_BEND: Final = 6  # straight pieces of a bend
_GAP: Final = 2.6  # between glyphs, in units
_SPACE: Final = 4.0
_LONGEST: Final = 64

# Glyph: (width in units, path).
_GLYPHS: Final[dict[str, tuple[float, str]]] = {
    "A": (7, "M0 10 L3.5 0 L7 10 M1.3 6.6 L5.7 6.6"),
    "B": (6, "M0 0 L3.4 0 Q5.6 0 5.6 2.4 Q5.6 4.7 3.4 4.7 L0 4.7 M3.4 4.7 Q6 4.7 6 7.3 "
     "Q6 10 3.4 10 L0 10 L0 0"),
    "C": (6.4, "M6.4 2 Q5.6 0 3.4 0 Q0 0 0 4 L0 6 Q0 10 3.4 10 Q5.6 10 6.4 8"),
    "D": (6.4, "M0 0 L2.8 0 Q6.4 0 6.4 4 L6.4 6 Q6.4 10 2.8 10 L0 10 L0 0"),
    "E": (5.2, "M5.2 0 L0 0 L0 10 L5.2 10 M0 4.8 L4.4 4.8"),
    "F": (5.2, "M5.2 0 L0 0 L0 10 M0 4.9 L4.4 4.9"),
    "G": (6.6, "M6.4 2 Q5.6 0 3.4 0 Q0 0 0 4 L0 6 Q0 10 3.4 10 Q6.6 10 6.6 6.6 L6.6 5.6 L3.8 5.6"),
    "H": (6.2, "M0 0 L0 10 M6.2 0 L6.2 10 M0 4.9 L6.2 4.9"),
    "I": (0.4, "M0.2 0 L0.2 10"),
    "J": (4.6, "M4.6 0 L4.6 7 Q4.6 10 2.2 10 Q0 10 0 7.6"),
    "K": (6, "M0 0 L0 10 M5.8 0 L0 5.8 M2.2 3.8 L6 10"),
    "L": (5, "M0 0 L0 10 L5 10"),
    "M": (7.6, "M0 10 L0 0 L3.8 6 L7.6 0 L7.6 10"),
    "N": (6.4, "M0 10 L0 0 L6.4 10 L6.4 0"),
    "O": (7, "M3.5 0 Q7 0 7 4 L7 6 Q7 10 3.5 10 Q0 10 0 6 L0 4 Q0 0 3.5 0"),
    "P": (6, "M0 10 L0 0 L3.2 0 Q6 0 6 2.8 Q6 5.6 3.2 5.6 L0 5.6"),
    "Q": (7, "M3.5 0 Q7 0 7 4 L7 6 Q7 10 3.5 10 Q0 10 0 6 L0 4 Q0 0 3.5 0 M4.4 7.2 L7.2 10.6"),
    "R": (6, "M0 10 L0 0 L3.2 0 Q6 0 6 2.7 Q6 5.4 3.2 5.4 L0 5.4 M3.2 5.4 L6 10"),
    "S": (5.8, "M5.6 1.8 Q4.9 0 2.9 0 Q0.2 0 0.2 2.4 Q0.2 4.6 2.9 4.9 Q5.8 5.2 5.8 7.5 "
     "Q5.8 10 2.9 10 Q0.6 10 0 8"),
    "T": (6, "M0 0 L6 0 M3 0 L3 10"),
    "U": (6.4, "M0 0 L0 6.4 Q0 10 3.2 10 Q6.4 10 6.4 6.4 L6.4 0"),
    "V": (6.8, "M0 0 L3.4 10 L6.8 0"),
    "W": (9.4, "M0 0 L2.4 10 L4.7 2 L7 10 L9.4 0"),
    "X": (6.4, "M0 0 L6.4 10 M6.4 0 L0 10"),
    "Y": (6.4, "M0 0 L3.2 5 L6.4 0 M3.2 5 L3.2 10"),
    "Z": (5.8, "M0 0 L5.8 0 L0 10 L5.8 10"),
    "0": (6, "M3 0 Q6 0 6 4 L6 6 Q6 10 3 10 Q0 10 0 6 L0 4 Q0 0 3 0"),
    "1": (3, "M0 2 L3 0 L3 10"),
    "2": (5.8, "M0.2 2.6 Q0.4 0 3 0 Q5.6 0 5.6 2.6 Q5.6 4.2 4.2 5.6 L0 10 L5.8 10"),
    "3": (5.8, "M0.2 1.8 Q0.9 0 2.9 0 Q5.4 0 5.4 2.4 Q5.4 4.7 2.6 4.7 Q5.8 4.7 5.8 7.4 "
     "Q5.8 10 2.9 10 Q0.6 10 0 8"),
    "4": (6.2, "M4.4 10 L4.4 0 L0 7 L6.2 7"),
    "5": (5.8, "M5.2 0 L0.8 0 L0.4 4.6 Q1.5 3.8 2.9 3.8 Q5.8 3.8 5.8 6.9 Q5.8 10 2.8 10 "
     "Q0.6 10 0 8.2"),
    "6": (5.8, "M5.2 1.5 Q4.6 0 3 0 Q0 0 0 5 L0 6.9 Q0 10 2.9 10 Q5.8 10 5.8 6.9 "
     "Q5.8 4 2.9 4 Q0.6 4 0 6.2"),
    "7": (5.6, "M0 0 L5.6 0 L1.8 10"),
    "8": (6, "M3 0 Q5.6 0 5.6 2.4 Q5.6 4.7 3 4.7 Q0.4 4.7 0.4 2.4 Q0.4 0 3 0 "
     "M3 4.7 Q6 4.7 6 7.3 Q6 10 3 10 Q0 10 0 7.3 Q0 4.7 3 4.7"),
    "9": (5.8, "M0.6 8.5 Q1.2 10 2.8 10 Q5.8 10 5.8 5 L5.8 3.1 Q5.8 0 2.9 0 Q0 0 0 3.1 "
     "Q0 6 2.9 6 Q5.2 6 5.8 3.8"),
    ".": (0.5, "M0.2 9.8 L0.3 9.8"),
    ",": (0.8, "M0.5 9.6 L0 11.2"),
    ":": (0.5, "M0.2 3.6 L0.3 3.6 M0.2 8.6 L0.3 8.6"),
    "-": (3.4, "M0 5.4 L3.4 5.4"),
    "+": (5, "M0 5.2 L5 5.2 M2.5 2.7 L2.5 7.7"),
    "_": (5, "M0 10.6 L5 10.6"),
    "/": (4, "M0 10.6 L4 -0.6"),
    "%": (7.4, "M1.3 0 Q2.6 0 2.6 1.6 Q2.6 3.2 1.3 3.2 Q0 3.2 0 1.6 Q0 0 1.3 0 M6.4 0 L1 10 "
     "M6.1 6.8 Q7.4 6.8 7.4 8.4 Q7.4 10 6.1 10 Q4.8 10 4.8 8.4 Q4.8 6.8 6.1 6.8"),
    "(": (2, "M2 -0.6 Q0 2 0 5 Q0 8 2 10.6"),
    ")": (2, "M0 -0.6 Q2 2 2 5 Q2 8 0 10.6"),
}  # fmt: skip


def writable(text: str) -> str:
    """Return the part of a text that has glyphs, in capitals, with single spaces.

    What is too long to be read in a picture is cut off.
    """
    plain = unicodedata.normalize("NFKD", text[:_LONGEST]).upper()
    return " ".join("".join(c for c in plain if c in _GLYPHS or c == " ").split())


def measure(text: str, height: float) -> float:
    """Return how wide a text is when its capitals are ``height`` pixels high."""
    widths = [_SPACE if c == " " else _GLYPHS[c][0] for c in writable(text)]
    return (sum(widths) + _GAP * max(len(widths) - 1, 0)) * height / 10


def write(
    canvas: Canvas, text: str, x: float, y: float, height: float, pen: float, colour: Colour
) -> None:
    """Write a text whose capitals' upper left corner is at (x, y), with a pen ``pen`` wide."""
    scale = height / 10
    for char in writable(text):
        if char != " ":
            mask, margin = _mask(char, round(height, 1), pen)
            canvas.stamp(mask, round(x) - margin, round(y) - margin, colour)
        x += ((_SPACE if char == " " else _GLYPHS[char][0]) + _GAP) * scale


@lru_cache(maxsize=1024)
def _mask(char: str, height: float, pen: float) -> tuple[Mask, int]:
    """Return a glyph drawn once, and how far it reaches above and left of its corner."""
    scale, margin = height / 10, int(pen / 2 + height / 8) + 1
    wide, high = (int(size * scale) + 2 * margin + 1 for size in (_GLYPHS[char][0], 10))
    canvas = Canvas(wide, high, (0, 0, 0))
    lines = [
        [(margin + px * scale, margin + py * scale) for px, py in line] for line in _lines(char)
    ]
    canvas.strokes(lines, pen, (255, 255, 255))
    return canvas.mask(), margin


@cache
def _lines(char: str) -> tuple[tuple[Point, ...], ...]:
    found: list[list[Point]] = []
    for move in (
        _GLYPHS[char][1].replace("M", "|M").replace("L", "|L").replace("Q", "|Q").split("|")
    ):
        if not move:
            continue
        numbers = [float(part) for part in move[1:].split()]
        if move[0] == "M":
            found.append([(numbers[0], numbers[1])])
        elif move[0] == "L":
            found[-1].append((numbers[0], numbers[1]))
        else:
            found[-1] += _bend(found[-1][-1], (numbers[0], numbers[1]), (numbers[2], numbers[3]))
    return tuple(tuple(line) for line in found)


def _bend(start: Point, towards: Point, end: Point) -> list[Point]:
    points = []
    for step in range(1, _BEND + 1):
        t = step / _BEND
        a, b, c = (1 - t) * (1 - t), 2 * t * (1 - t), t * t
        points.append(
            (
                a * start[0] + b * towards[0] + c * end[0],
                a * start[1] + b * towards[1] + c * end[1],
            )
        )
    return points
