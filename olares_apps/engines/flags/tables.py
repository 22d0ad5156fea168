"""Finding the flag table of a build: shipped tables, aliases, image tags, the nearest build."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from olares_apps.engines.flags.files import apply_hints, build_number, load_table
from olares_apps.engines.flags.model import FlagTable

__all__ = [
    "BuildName",
    "TableMatch",
    "build_of_image",
    "builds_with",
    "find_table",
    "known_builds",
    "load_build",
]

ENGINES = ("llamacpp", "lucebox", "vllm")
_BESIDES = frozenset(("aliases.json", "hints.json", "builds.json"))


@dataclass(frozen=True, slots=True)
class BuildName:
    """A build as tables are named, and whether the given name means exactly that build."""

    name: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class TableMatch:
    """The table for a build, or the nearest one.

    ``table`` is None only for an engine without tables. ``exact`` tells that the table was
    made from this build, or from one with the same options. ``build`` is the build that the
    request names (``b9261`` for the tag ``master-ad27757``), None when it names none that is
    known; ``build_exact`` is false when the image was built near that build, not from it.
    ``nearest`` is the name of ``table``.
    """

    engine: str
    requested: str
    table: FlagTable | None
    exact: bool
    build: str | None
    build_exact: bool
    nearest: str | None


def _text(engine: str, name: str) -> str:
    return (files(__package__) / "data" / engine / name).read_text(encoding="utf-8")


@cache
def known_builds(engine: str) -> tuple[str, ...]:
    """Return the builds of an engine that have a table: mainline in order, then forks."""
    if engine not in ENGINES:
        return ()
    names = [
        item.name.removesuffix(".json")
        for item in (files(__package__) / "data" / engine).iterdir()
        if item.name.endswith(".json") and item.name not in _BESIDES
    ]
    numbers = {name: build_number(engine, name) for name in names}
    return tuple(sorted(names, key=lambda name: (numbers[name] is None, numbers[name] or 0, name)))


@cache
def load_build(engine: str, build: str) -> FlagTable:
    """Return the table of a build in ``known_builds``; it is read once."""
    table = load_table(_text(engine, f"{build}.json"), lambda base: _text(engine, f"{base}.json"))
    return apply_hints(table, _text(engine, "hints.json"))


@cache
def _aliases(engine: str) -> Mapping[str, Any]:
    aliases: Mapping[str, Any] = json.loads(_text(engine, "aliases.json"))
    return aliases


def build_of_image(engine: str, image: str) -> BuildName | None:
    """Return the build that an image reference, a tag or a build name stands for.

    ``ghcr.io/ggml-org/llama.cpp:server-cuda-b9600`` is ``b9600``, ``master-ad27757`` is
    ``b9261`` (commits that are known have their build number), ``v0.22.1-x86_64-cu129`` is
    ``0.22.1``; images of known forks give the fork. None when nothing is recognised.
    """
    if engine not in ENGINES:
        return None
    name = image.split("@", 1)[0]
    repository, colon, tag = (
        name.rpartition(":") if ":" in name.rsplit("/", 1)[-1] else ("", "", "")
    )
    if not colon:
        repository, tag = (name, "") if "/" in name else ("", name)
    for rule in _aliases(engine)["images"]:
        if repository.endswith(rule["repository"]) and re.search(rule.get("tag", ""), tag):
            if "build" in rule:
                return BuildName(rule["build"], rule.get("exact", True))
            break
    return _build_of_tag(engine, tag)


def _build_of_tag(engine: str, tag: str) -> BuildName | None:
    if not tag:
        return None
    if tag in known_builds(engine):
        return BuildName(tag)
    if engine == "vllm":
        found = re.match(r"v?(\d+\.\d+\.\d+)(?:\.post\d+)?(?:$|[-_+])", tag)
        return BuildName(found[1]) if found else None
    if found := re.search(r"(?:^|[-_])(b\d{4,6})(?=$|[-_])", tag):
        return BuildName(found[1])
    if found := re.search(r"(?:^|[-_])([0-9a-f]{7,40})$", tag):
        build = _aliases(engine)["commits"].get(found[1][:7])
        return BuildName(build) if build else None
    return None


def find_table(engine: str, build: str) -> TableMatch:
    """Return the table for a build name, an image tag or an image reference.

    Without an exact table the nearest build's one is given with ``exact`` false; for a name
    that stands for no build, the newest mainline one.
    """
    found = build_of_image(engine, build)
    name, sure = (found.name, found.exact) if found else (None, False)
    nearest, same = _nearest(engine, name)
    return TableMatch(
        engine=engine,
        requested=build,
        table=load_build(engine, nearest) if nearest else None,
        exact=same and sure,
        build=name,
        build_exact=sure,
        nearest=nearest,
    )


@cache
def _nearest(engine: str, build: str | None) -> tuple[str | None, bool]:
    """Return the name of the table to use for a build, and whether it has the same options."""
    names = known_builds(engine)
    if not names or build in names:
        return build if names else None, bool(names)
    mainline = {name: n for name in names if (n := build_number(engine, name)) is not None}
    number = build_number(engine, build)
    if number is None:
        return max(mainline, key=lambda name: mainline[name], default=names[0]), False
    for name in mainline:
        if _covers(load_build(engine, name), number):
            return name, True
    return min(mainline, key=lambda name: (abs(mainline[name] - number), mainline[name])), False


def _covers(table: FlagTable, number: int) -> bool:
    if table.covers is None:
        return False
    first, last = (build_number(table.engine, build) or -1 for build in table.covers)
    return first <= number <= last


def builds_with(engine: str, names: Sequence[str], value: str | None = None) -> list[str]:
    """Return the builds whose table has one of these flags, with this value where it is given."""
    found = []
    for build in known_builds(engine):
        flag = load_build(engine, build).first(names)
        if flag is None or flag.removed is not None:
            continue
        if value is None or value in flag.values:
            found.append(build)
    return found
