"""The two pictures of an app: an icon, and the picture that links to its page show.

One look for all: the ground says the family of the model, large letters abbreviate it, a label
gives its size, and a bar shows how much of the card's memory it takes. Sizes follow the Olares
contract 5.6: an icon has 256x256 pixels and at most 512 KB, a promote image 1440x900 and 8 MB.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final

from olares_apps.pictures.canvas import Canvas, Colour
from olares_apps.pictures.letters import measure, writable, write

__all__ = ["DESIGN", "ICON_SIZE", "SHARE_SIZE", "Subject", "draw_icon", "draw_share"]

DESIGN: Final = 1
"""Raised when the same subject is drawn in another way: share pictures are then drawn again."""
ICON_SIZE: Final = (256, 256)
SHARE_SIZE: Final = (1440, 900)

# (ground, bar): white on each ground has a contrast of at least 5.5.
_SHADES: Final[Sequence[tuple[Colour, Colour]]] = (
    ((76, 58, 178), (189, 178, 255)),
    ((15, 98, 128), (120, 214, 240)),
    ((20, 104, 78), (120, 228, 180)),
    ((138, 52, 98), (255, 168, 214)),
    ((150, 58, 36), (255, 184, 150)),
    ((44, 76, 160), (152, 190, 255)),
    ((104, 48, 140), (222, 170, 255)),
    ((86, 92, 26), (222, 226, 120)),
    ((122, 74, 14), (250, 204, 120)),
    ((36, 94, 104), (140, 226, 230)),
)
_WHITE: Final = (255, 255, 255)
_SIZE: Final = re.compile(r"\b(?:E|\d+x)?\d+(?:\.\d+)?[BM](?:-A\d+(?:\.\d+)?B)?\b", re.I)


@dataclass(frozen=True, slots=True)
class Subject:
    """What the pictures show: ``share`` is the app's part of the card's memory, 0 to 1.

    ``lines`` are (label, figure) pairs for the large picture, ``market`` the line below them.
    """

    model: str
    title: str
    share: float | None = None
    lines: tuple[tuple[str, str], ...] = ()
    market: str = ""

    @property
    def family(self) -> str:
        """Return the model's first word without digits: ``qwen`` for ``Qwen3.6 35B-A3B``."""
        found = re.search(r"[A-Z]{2,}", writable(self.model) or writable(self.title))
        return found[0] if found else "AI"

    @property
    def size(self) -> str:
        """Return the label that says how large the model is, empty when its name does not."""
        found = _SIZE.search(self.model)
        return found[0].upper() if found else ""

    @property
    def shades(self) -> tuple[Colour, Colour]:
        """Return the colours of the family."""
        return _SHADES[sha256(self.family.encode()).digest()[0] % len(_SHADES)]


def draw_icon(subject: Subject) -> bytes:
    """Return the icon as PNG, 256x256."""
    ground, _ = subject.shades
    canvas = Canvas(*ICON_SIZE, ground)
    _emblem(canvas, subject, 0, 0, ICON_SIZE[0])
    return canvas.png()


@lru_cache(maxsize=32)  # a publisher that lost a race makes its pages again
def draw_share(subject: Subject) -> bytes:
    """Return the picture for links as PNG, 1440x900."""
    ground, bar = subject.shades
    dark = _mix(ground, (0, 0, 0), 0.55)
    canvas = Canvas(*SHARE_SIZE, dark)
    canvas.box(96, 96, 256, 256, ground, 44)
    _emblem(canvas, subject, 96, 96, 256)
    for number, line in enumerate(_wrapped(subject.title, 66, 912)):
        write(
            canvas, line, 432, 134 + number * 112, min(66.0, _fitting(line, 66, 912)), 9.5, _WHITE
        )
    top = 452
    for number, (label, figure) in enumerate(subject.lines):
        x = 96 + number * 424
        write(canvas, label, x, top, 22, 3.2, bar)
        write(canvas, figure, x, top + 56, min(58.0, _fitting(figure, 58, 376)), 7.5, _WHITE)
    if subject.share is not None:
        canvas.box(96, 672, 1248, 44, _mix(ground, (0, 0, 0), 0.2), 22)
        canvas.box(96, 672, max(1248 * min(subject.share, 1.0), 44), 44, bar, 22)
    if subject.market:
        write(
            canvas, subject.market, 96, 788, min(28.0, _fitting(subject.market, 28, 1248)), 3.6, bar
        )
    return canvas.png()


def _emblem(canvas: Canvas, subject: Subject, x: float, y: float, side: float) -> None:
    ground, bar = subject.shades
    unit = side / 256
    mark = subject.family[:2]
    height = min(92.0, _fitting(mark, 92, 184))
    left = 36 if subject.size else (256 - measure(mark, height)) / 2
    write(canvas, mark, x + left * unit, y + 42 * unit, height * unit, 17 * unit, _WHITE)
    if subject.size:
        height = min(34.0, _fitting(subject.size, 34, 184))
        write(canvas, subject.size, x + 36 * unit, y + 166 * unit, height * unit, 6 * unit, _WHITE)
    if subject.share is not None:
        full = 184 * unit
        canvas.box(
            x + 36 * unit, y + 214 * unit, full, 14 * unit, _mix(ground, (0, 0, 0), 0.35), 7 * unit
        )
        canvas.box(
            x + 36 * unit,
            y + 214 * unit,
            max(full * min(subject.share, 1.0), 14 * unit),
            14 * unit,
            bar,
            7 * unit,
        )


def _fitting(text: str, height: float, width: float) -> float:
    """Return the height at which a text is as wide as ``width`` at most."""
    return height * width / max(measure(text, height), 1.0)


def _wrapped(text: str, height: float, width: float) -> list[str]:
    """Return at most two lines of a title."""
    found: list[str] = []
    for word in writable(text).split():
        if found and measure(f"{found[-1]} {word}", height) <= width:
            found[-1] = f"{found[-1]} {word}"
        else:
            found.append(word)
    return found[:2]


def _mix(colour: Colour, other: Colour, part: float) -> Colour:
    r, g, b = (round(c * (1 - part) + o * part) for c, o in zip(colour, other, strict=True))
    return r, g, b
