"""A canvas of palette indices: rounded boxes and round strokes, with smooth edges.

Shapes are convex pieces cut by scan lines, four to a pixel row, so the cost follows the outline
and not the area. All arithmetic that decides a pixel ends in whole numbers.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import inf, sqrt
from typing import Final

from olares_apps.pictures.png import write_png

__all__ = ["Canvas", "Colour", "Mask"]

Colour = tuple[int, int, int]
Mask = list[tuple[int, bytes]]
"""Per row: the first pixel that is drawn, and from there how much of each, 0 to 16."""
Point = tuple[float, float]
_CUTS: Final = 4
# Steps between two colours at an edge: enough to look smooth, few enough for a palette.
_STEPS: Final = 16
# Digits kept of a coordinate: a last bit that differs between machines never decides a pixel.
_DIGITS: Final = 6


class Canvas:
    """A picture under construction; coordinates are pixels from the upper left corner."""

    def __init__(self, width: int, height: int, ground: Colour) -> None:
        self.width, self.height = width, height
        self._colours = [ground]
        self._palette = {ground: 0}
        self._blends: dict[Colour, dict[int, _Blend]] = {}
        self._rows = [bytearray(width) for _ in range(height)]

    def box(self, x: float, y: float, w: float, h: float, colour: Colour, r: float = 0) -> None:
        """Fill a box with corners of radius ``r``."""
        if all(value == int(value) for value in (x, y, w, h)):
            self.stamp(_box(int(w), int(h), r), int(x), int(y), colour)
        else:
            self.fill(x, y, w, h, colour, r)

    def fill(self, x: float, y: float, w: float, h: float, colour: Colour, r: float) -> None:
        """Fill a box that need not begin or end with a pixel."""
        for row in self._span(y, y + h):
            cuts = []
            for cut in range(_CUTS):
                line = row + (cut + 0.5) / _CUTS
                if not y <= line < y + h:
                    continue
                over = max(y + r - line, line - (y + h - r), 0.0)
                inset = r - sqrt(max(r * r - over * over, 0.0))
                cuts.append([(x + inset, x + w - inset)])
            self._paint(row, cuts, colour)

    def strokes(self, lines: Iterable[Sequence[Point]], width: float, colour: Colour) -> None:
        """Draw lines through points, round at ends and corners, as one shape."""
        radius = width / 2
        pieces = [_Piece(a, b, radius) for line in lines for a, b in pairwise(line) if a != b]
        if not pieces:
            return
        for row in self._span(min(p.top for p in pieces), max(p.bottom for p in pieces)):
            near = [piece for piece in pieces if piece.top < row + 1 and piece.bottom > row]
            heights = [row + (cut + 0.5) / _CUTS for cut in range(_CUTS)] if near else []
            self._paint(row, [_joined([p.cut(y) for p in near]) for y in heights], colour)

    def mask(self) -> "Mask":
        """Return where something was drawn, as steps from 0 to 16, cut to what is not zero.

        For a canvas on which white was drawn on black.
        """
        amounts = bytes(colour[0] * _STEPS // 255 for colour in self._colours).ljust(256, b"\0")
        rows = []
        for row in self._rows:
            steps = row.translate(amounts)
            first = len(steps) - len(steps.lstrip(b"\0"))
            rows.append((first, bytes(steps.strip(b"\0"))))
        return rows

    def stamp(self, mask: "Mask", x: int, y: int, colour: Colour) -> None:
        """Draw a mask in a colour, its upper left corner at (x, y)."""
        self._index(colour)
        blends = self._blends.setdefault(colour, {})
        for number, (first, steps) in enumerate(mask, start=y):
            if not steps or not 0 <= number < self.height:
                continue
            start, end = max(x + first, 0), min(x + first + len(steps), self.width)
            if start >= end:
                continue
            pixels, steps = self._rows[number], steps[start - x - first : end - x - first]
            under = pixels[start]
            if pixels.count(under, start, end) == end - start:
                if under not in blends:
                    blends[under] = _Blend(self, under, colour)
                pixels[start:end] = blends[under].over(steps)
                continue
            for pixel, step in enumerate(steps, start):
                if step:
                    pixels[pixel] = self.mixed(pixels[pixel], colour, step)

    def png(self) -> bytes:
        """Return the finished file."""
        return write_png(self.width, [bytes(row) for row in self._rows], self._colours)

    def _span(self, top: float, bottom: float) -> range:
        return range(max(int(top), 0), min(int(bottom) + 1, self.height))

    def _paint(self, row: int, cuts: Sequence[Sequence[Point]], colour: Colour) -> None:
        """Blend one row: ``cuts`` are the spans of its scan lines.

        ``edges`` adds up the covered part of single pixels, ``steps`` is where whole pixels
        begin and end to be covered, in scan lines.
        """
        edges: dict[int, float] = {}
        steps: dict[int, int] = {}
        for left, right in chain.from_iterable(cuts):
            start = round(min(max(left, 0.0), self.width), _DIGITS)
            end = round(min(max(right, 0.0), self.width), _DIGITS)
            first, last = int(start), int(end)
            if first == last:
                edges[first] = edges.get(first, 0.0) + end - start
                continue
            edges[first] = edges.get(first, 0.0) + first + 1 - start
            edges[last] = edges.get(last, 0.0) + end - last
            steps[first + 1] = steps.get(first + 1, 0) + 1
            steps[last] = steps.get(last, 0) - 1
        pixels, full = self._rows[row], self._index(colour)
        covered = 0
        marks = sorted({*steps, *edges, *(x + 1 for x in edges)})
        for x, after in pairwise([*marks, self.width]):
            covered += steps.get(x, 0)
            amount = covered + edges.get(x, 0.0)
            step = round(min(amount / _CUTS, 1.0) * _STEPS)
            if step == _STEPS:
                pixels[x:after] = bytes([full]) * (after - x)
            elif step:
                for pixel in range(x, after):
                    pixels[pixel] = self.mixed(pixels[pixel], colour, step)

    def mixed(self, under: int, colour: Colour, step: int) -> int:
        """Return the palette index of a colour laid over another, ``step`` of 16."""
        below = self._colours[under]
        r, g, b = (
            (u * (_STEPS - step) + c * step + _STEPS // 2) // _STEPS
            for u, c in zip(below, colour, strict=True)
        )
        return self._index((r, g, b))

    def _index(self, colour: Colour) -> int:
        if colour not in self._palette:
            self._palette[colour] = len(self._colours)
            self._colours.append(colour)
        return self._palette[colour]


@lru_cache(maxsize=64)
def _box(width: int, height: int, radius: float) -> Mask:
    canvas = Canvas(width, height, (0, 0, 0))
    canvas.fill(0, 0, width, height, (255, 255, 255), radius)
    return canvas.mask()


class _Blend:
    """What a colour makes of one palette index, per step; new colours come as they are met."""

    __slots__ = ("_canvas", "_colour", "_known", "_table", "_under")

    def __init__(self, canvas: Canvas, under: int, colour: Colour) -> None:
        self._canvas, self._under, self._colour = canvas, under, colour
        self._table = bytearray((under,)) * 256
        self._known = {0}

    def over(self, steps: bytes) -> bytes:
        """Return the palette indices of a row of steps."""
        if not self._known.issuperset(steps):
            for step in dict.fromkeys(steps):
                if step not in self._known:
                    self._known.add(step)
                    self._table[step] = self._canvas.mixed(self._under, self._colour, step)
        return steps.translate(self._table)


class _Piece:
    """A straight piece of a stroke: the round-ended bar around two points."""

    __slots__ = ("_ends", "_radius", "_sides", "bottom", "top")

    def __init__(self, a: Point, b: Point, radius: float) -> None:
        self._ends, self._radius = (a, b), radius
        self.top, self.bottom = min(a[1], b[1]) - radius, max(a[1], b[1]) + radius
        dx, dy = b[0] - a[0], b[1] - a[1]
        length = sqrt(dx * dx + dy * dy)  # unlike hypot, exact to the last bit everywhere
        nx, ny = -dy / length * radius, dx / length * radius
        # The sides of the bar that are not level: upper end, lower end, x there, x per y.
        self._sides = []
        for (x0, y0), (x1, y1) in (
            ((a[0] + nx, a[1] + ny), (b[0] + nx, b[1] + ny)),
            ((a[0] - nx, a[1] - ny), (b[0] - nx, b[1] - ny)),
        ):
            if y0 != y1:
                if y0 > y1:
                    x0, y0, x1, y1 = x1, y1, x0, y0
                self._sides.append((y0, y1, x0, (x1 - x0) / (y1 - y0)))

    def cut(self, y: float) -> Point | None:
        """Return where the scan line at ``y`` meets it, or None."""
        left, right = inf, -inf
        for x, centre in self._ends:
            over = y - centre
            half = self._radius * self._radius - over * over
            if half >= 0:
                half = sqrt(half)
                left, right = min(left, x - half), max(right, x + half)
        for top, bottom, x, slope in self._sides:
            if top <= y <= bottom:
                at = x + (y - top) * slope
                left, right = min(left, at), max(right, at)
        return (left, right) if left < right else None


def _joined(found: Iterable[Point | None]) -> list[Point]:
    """Return spans without overlaps, so that no pixel is covered twice."""
    joined: list[Point] = []
    for left, right in sorted(span for span in found if span):
        if joined and left <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(right, joined[-1][1]))
        else:
            joined.append((left, right))
    return joined
