"""Strict reading of olapps.toml, with a line for what is wrong."""

import re
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath
from typing import Final

from pydantic import ValidationError

from olares_apps.errors import Problem, WorkspaceError
from olares_apps.spec.config import WorkspaceConfig
from olares_apps.spec.positions import FieldPath, Spot
from olares_apps.spec.translate import problems_of

__all__ = ["config_fault", "read_config"]

_HEADER: Final = re.compile(r"\s*\[\[?([^\]]+)\]\]?\s*(?:#.*)?")
_ENTRY: Final = re.compile(r"""\s*([\w."'-]+)\s*=\s*(.*?)\s*""")
_PLACE: Final = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)")


def read_config(data: bytes, path: PurePath) -> WorkspaceConfig:
    """Return the configuration that an olapps.toml holds.

    Raises WorkspaceError that names the line of everything that is wrong.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _refused(Problem("the file is not UTF-8", path, line)) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refused(_syntax(str(error), path)) from None
    try:
        return WorkspaceConfig.model_validate(values)
    except ValidationError as error:
        found = problems_of(error, values, _TomlPlaces(text), path, WorkspaceConfig)
        raise _refused(*found) from None


def config_fault(
    data: bytes, path: PurePath, field: tuple[str, ...], message: str, *, hint: str | None = None
) -> WorkspaceError:
    """Return the refusal of a field that reads well but means nothing, with its line.

    ``data`` is the content of the file that :func:`read_config` took.
    """
    spot = _TomlPlaces(data.decode("utf-8-sig", "replace")).nearest(field)
    return WorkspaceError(str(Problem(message, path, spot.line, spot.column)), hint=hint)


def _refused(*problems: Problem) -> WorkspaceError:
    return WorkspaceError("\n".join(map(str, problems)))


def _syntax(said: str, path: PurePath) -> Problem:
    found = _PLACE.fullmatch(said)
    if not found:
        return Problem(f"the file is not TOML: {said}", path)
    place = int(found["line"]), int(found["column"])
    return Problem(f"the file is not TOML here: {found['what']}", path, *place)


class _TomlPlaces:
    """Lines of a TOML file by key; a key inside an inline table gets its table's line.

    The standard reader keeps no places, and a message needs no more than the line.
    """

    form = "TOML"

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _spots(self) -> dict[tuple[str, ...], tuple[Spot, Spot]]:
        return {path: spots for path, *spots in self._scan()}  # type: ignore[misc]

    def _scan(self) -> Iterator[tuple[tuple[str, ...], Spot, Spot]]:
        table: tuple[str, ...] = ()
        for number, line in enumerate(self._text.splitlines(), start=1):
            header, entry = _HEADER.fullmatch(line), _ENTRY.fullmatch(line)
            if header:
                table = _split(header[1])
                spot = Spot(number, line.index("[") + 1, line.strip())
                yield table, spot, spot
            elif entry:
                key = Spot(number, entry.start(1) + 1, entry[1])
                yield (*table, *_split(entry[1])), key, Spot(number, entry.start(2) + 1, entry[2])

    def value(self, path: FieldPath) -> Spot | None:
        """Return where a value stands, None when no line of its own holds it."""
        found = self._spots.get(tuple(map(str, path)))
        return found[1] if found else None

    def key(self, path: FieldPath) -> Spot | None:
        """Return where a key stands, None when no line of its own holds it."""
        found = self._spots.get(tuple(map(str, path)))
        return found[0] if found else None

    def nearest(self, path: FieldPath) -> Spot:
        """Return the line of the deepest part of a path that exists."""
        for end in range(len(path), 0, -1):
            spot = self.key(path[:end])
            if spot:
                return spot
        return Spot(1, 1, "")


def _split(key: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in key.split("."))
