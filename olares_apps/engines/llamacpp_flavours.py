"""The flavours of llama.cpp's server: its main line and the forks that charts use.

What a flavour accepts is in its flag tables; here is what no table holds: which tables are
its own, and where its images keep the server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from olares_apps.engines.flags.tables import build_of_image
from olares_apps.errors import RenderError

__all__ = ["FLAVOURS", "Flavour", "binary_of", "build_of", "flavour_of"]


@dataclass(frozen=True, slots=True)
class Flavour:
    """One flavour: its flag tables, the one to take for an unknown image first.

    ``binary`` is the server in its images; ``binaries`` are places that differ, by table.
    """

    name: str
    tables: tuple[str, ...]
    binary: str = "/app/llama-server"
    binaries: Mapping[str, str] | None = None


FLAVOURS: Final[Mapping[str, Flavour]] = {
    item.name: item
    for item in (
        Flavour("mainline", ()),
        Flavour(
            "buun",
            ("buun", "buun-dflash"),
            binaries={"buun-dflash": "/usr/local/bin/llama-server"},
        ),
        Flavour("beellama", ("beellama", "beellama-0.3")),
        Flavour("atomic", ("atomic",), binary="llama-server"),
    )
}


@cache
def _by_table() -> Mapping[str, Flavour]:
    return {table: flavour for flavour in FLAVOURS.values() for table in flavour.tables}


def build_of(stated: str | None, image: str, flavour: str | None) -> str:
    """Return the name to look the flag table up by.

    The stated build, else the image; for an image that names no build, the first table of the
    flavour.
    """
    if stated:
        return stated
    tables = FLAVOURS[flavour].tables if flavour else ()
    return tables[0] if tables and build_of_image("llamacpp", image) is None else image


def flavour_of(build: str, chosen: str | None) -> Flavour:
    """Return the flavour of a build or image, ``chosen`` where the name does not tell.

    Raises RenderError when the name tells another flavour than the chosen one.
    """
    found = build_of_image("llamacpp", build)
    told = _by_table().get(found.name) if found else None
    if chosen is None:
        return told or FLAVOURS["mainline"]
    if told and told.name != chosen:
        raise RenderError(
            f"engine.flavour is {chosen}, but {build} is a build of {told.name}",
            hint=f"remove engine.flavour, or write {told.name}",
        )
    return FLAVOURS[chosen]


def binary_of(flavour: Flavour, build: str) -> str:
    """Return where the images of a flavour's build keep the server."""
    found = build_of_image("llamacpp", build)
    places = flavour.binaries or {}
    return places.get(found.name, flavour.binary) if found else flavour.binary
