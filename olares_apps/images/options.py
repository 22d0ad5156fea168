"""The CMake options that a build knows, as data extracted from its source."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from olares_apps.engines.flags.files import build_number
from olares_apps.engines.flags.tables import known_builds, load_build

__all__ = ["OptionTable", "option_table"]


@dataclass(frozen=True, slots=True)
class OptionTable:
    """The options of one build: names, and retired names with what replaced them.

    ``build`` is the build that the table was read from; ``exact`` is false when that is the
    nearest one with a table, not the one asked for.
    """

    build: str
    names: frozenset[str]
    retired: Mapping[str, str | None]
    exact: bool


def option_table(engine: str, build: str) -> OptionTable | None:
    """Return the options of a build, or of the nearest build with a table.

    ``build`` is a build of the main line such as ``b9261`` or a fork with a flag table. None
    for an engine without tables and for any other build.
    """
    tables = _tables(engine)
    number, is_mainline = build_number(engine, build), True
    if number is None and build in known_builds(engine):
        # A fork has the options of the main line that it grew from, and perhaps some more.
        number, is_mainline = build_number(engine, load_build(engine, build).upstream), False
    if number is None or not tables:
        return None
    # Of two neighbours with the same options, every build between them has these options too.
    older = [item for item in tables if item.number <= number]
    newer = [item for item in tables if item.number >= number]
    between = bool(older and newer and older[-1].names == newer[0].names)
    nearest = min(tables, key=lambda item: abs(item.number - number))
    return OptionTable(nearest.build, nearest.names, nearest.retired, is_mainline and between)


@dataclass(frozen=True, slots=True)
class _Build:
    build: str
    number: int
    names: frozenset[str]
    retired: Mapping[str, str | None]


@cache
def _tables(engine: str) -> tuple[_Build, ...]:
    source = files(__package__) / "data" / f"{engine}.json"
    if not source.is_file():
        return ()
    rows: list[dict[str, Any]] = json.loads(source.read_text(encoding="utf-8"))["builds"]
    names: frozenset[str] = frozenset()
    found: list[_Build] = []
    for row in rows:
        names = (names - frozenset(row["remove"])) | frozenset(row["add"])
        number = build_number(engine, row["build"])
        if number is None:
            raise ValueError(f"{source}: {row['build']} has no number")
        found.append(_Build(row["build"], number, names, row["retired"]))
    return tuple(found)
