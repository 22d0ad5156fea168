"""Regular expressions in the syntax and with the guarantees of Go's regexp (RE2).

Python's ``re`` knows other constructs than Go, and some patterns make it run for years. Here a
pattern becomes a program that runs all alternatives side by side, so the time is bounded by
pattern times text (Thompson's construction with captures, after Pike).
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from olares_apps.helm.calls import CallFailed

__all__ = ["WORD_CHARACTERS", "CharacterTest", "Op", "Regex"]

_MAX_WORK = 2_000_000
CharacterTest = Callable[[str], bool]
WORD_CHARACTERS = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")


class Op(NamedTuple):
    """One instruction: ``test`` a character, ``save`` a place, ``split``, ``jump``, ``match``."""

    kind: str
    test: CharacterTest | None = None
    first: int = 0
    second: int = 0


class Regex:
    """A compiled pattern; groups are counted from 1, group 0 is the whole match."""

    def __init__(self, program: list[Op], groups: int, names: dict[str, int]) -> None:
        self.program, self.groups, self.names = program, groups, names

    def search(self, text: str, start: int = 0) -> list[int] | None:
        """Return begin and end of every group of the leftmost match, -1 for an unused one.

        Raises :class:`CallFailed` when pattern and text are too large together.
        """
        if len(self.program) * (len(text) - start + 1) > _MAX_WORK:
            raise CallFailed("the regular expression and its text are too large")
        current: list[tuple[int, list[int]]] = []
        found: list[int] | None = None
        empty = [-1] * (2 * self.groups + 2)
        for position in range(start, len(text) + 1):
            seen: set[int] = set()
            if found is None:
                self._follow(0, position, text, empty, current, seen={pc for pc, _ in current})
            elif not current:
                break
            following: list[tuple[int, list[int]]] = []
            for pc, saved in current:
                op = self.program[pc]
                if op.kind == "match":
                    found = saved
                    break
                if position < len(text) and op.test is not None and op.test(text[position]):
                    self._follow(pc + 1, position + 1, text, saved, following, seen)
            current = following
        return found

    def _follow(
        self,
        pc: int,
        position: int,
        text: str,
        saved: list[int],
        threads: list[tuple[int, list[int]]],
        seen: set[int],
    ) -> None:
        """Add the instructions that are reached without a character, the preferred one first."""
        waiting = [(pc, saved)]
        while waiting:
            pc, saved = waiting.pop()
            if pc in seen:
                continue
            seen.add(pc)
            op = self.program[pc]
            match op.kind:
                case "jump":
                    waiting.append((op.first, saved))
                case "split":
                    waiting.append((op.second, saved))
                    waiting.append((op.first, saved))
                case "save":
                    saved = saved.copy()
                    saved[op.first] = position
                    waiting.append((pc + 1, saved))
                case "test" | "match":
                    threads.append((pc, saved))
                case _:
                    if _holds(op.kind, text, position):
                        waiting.append((pc + 1, saved))

    def finditer(self, text: str, limit: int = -1) -> Iterator[list[int]]:
        """Yield the matches that follow each other, at most ``limit`` if that is not negative."""
        position, previous, count = 0, -1, 0
        while position <= len(text) and count != limit:
            found = self.search(text, position)
            if found is None:
                return
            begin, end = found[0], found[1]
            if end > begin or begin != previous:
                count += 1
                yield found
            previous = end
            position = end if end > begin else end + 1

    def replace(self, text: str, expand: Callable[[list[int]], str]) -> str:
        """Return the text with every match replaced."""
        parts, last = [], 0
        for found in self.finditer(text):
            parts += [text[last : found[0]], expand(found)]
            last = found[1]
        return "".join([*parts, text[last:]])

    def expand(self, template: str, text: str, found: list[int]) -> str:
        """Return Go's replacement text with ``$1``, ``${1}`` and ``${name}`` filled in."""

        def fill(match: re.Match[str]) -> str:
            if match[0] == "$$":
                return "$"
            name = match[1] or match[2]
            index = int(name) if name.isdigit() else self.names.get(name, -1)
            if not 0 <= index <= self.groups or found[2 * index] < 0:
                return ""
            return text[found[2 * index] : found[2 * index + 1]]

        return re.sub(r"\$\$|\$\{(\w+)\}|\$(\w+)", fill, template)


def _is_word(text: str, position: int) -> bool:
    return 0 <= position < len(text) and text[position] in WORD_CHARACTERS


def _holds(assertion: str, text: str, position: int) -> bool:
    match assertion:
        case "begin":
            return position == 0
        case "end":
            return position == len(text)
        case "line_begin":
            return position == 0 or text[position - 1] == "\n"
        case "line_end":
            return position == len(text) or text[position] == "\n"
    at_edge = _is_word(text, position - 1) != _is_word(text, position)
    return at_edge == (assertion == "word")
