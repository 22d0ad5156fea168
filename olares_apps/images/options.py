"""What a build can be asked for: its CMake options and programs, extracted from its source."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from olares_apps.engines.flags.files import build_number
from olares_apps.engines.flags.tables import known_builds, load_build

__all__ = ["OptionTable", "option_table"]


@dataclass(frozen=True, slots=True)
class OptionTable:
    """The options of one build: names, and retired names with what replaced them.

    ``texts`` are the options that are no switches, ``refused`` the retired ones that stop the
    build. ``programs`` are the targets that make a program, ``number`` counts the commits up to
    this one. ``build`` is the build that the table was read from; ``exact`` is false when that is
    the nearest one with a table, not the one asked for.
    """

    build: str
    number: int
    names: frozenset[str]
    texts: frozenset[str]
    retired: Mapping[str, str | None]
    refused: frozenset[str]
    programs: frozenset[str]
    exact: bool = True


def option_table(engine: str, build: str) -> OptionTable | None:
    """Return the options of a build, or of the nearest build with a table.

    ``build`` is a build of the main line such as ``b9261`` or a fork with a flag table. None
    for an engine without tables and for any other build.
    """
    tables = _tables(engine)
    if build in tables:
        return tables[build]
    number, is_mainline = build_number(engine, build), True
    if number is None and build in known_builds(engine):
        # A fork has the options of the main line that it grew from, and perhaps some more.
        number, is_mainline = build_number(engine, load_build(engine, build).upstream), False
    mainline = [table for name, table in tables.items() if build_number(engine, name) is not None]
    if number is None or not mainline:
        return None
    # Of two neighbours with the same options, every build between them has these options too.
    older = [item for item in mainline if item.number <= number]
    newer = [item for item in mainline if item.number >= number]
    between = bool(older and newer and _offer(older[-1]) == _offer(newer[0]))
    nearest = min(mainline, key=lambda item: abs(item.number - number))
    return replace(nearest, exact=is_mainline and between)


def _offer(table: OptionTable) -> tuple[frozenset[str], frozenset[str]]:
    return table.names, table.programs


@cache
def _tables(engine: str) -> Mapping[str, OptionTable]:
    source = files(__package__) / "data" / f"{engine}.json"
    if not source.is_file():
        return {}
    rows: list[dict[str, Any]] = json.loads(source.read_text(encoding="utf-8"))["builds"]
    names: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    found: dict[str, OptionTable] = {}
    for row in rows:
        names = (names - frozenset(row["remove"])) | frozenset(row["add"])
        programs = (programs - frozenset(row["remove_programs"])) | frozenset(row["add_programs"])
        number = row.get("number") or build_number(engine, row["build"])
        if number is None:
            raise ValueError(f"{source}: {row['build']} has no number")
        found[row["build"]] = OptionTable(
            build=row["build"],
            number=number,
            names=names,
            texts=frozenset(row["texts"]),
            retired=row["retired"],
            refused=frozenset(row["refused"]),
            programs=programs,
        )
    return found
