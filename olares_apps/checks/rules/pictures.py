"""Icons and screenshots, judged by their headers; only those whose bytes are at hand."""

import re
import struct
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_text, dig

__all__ = ["image_size", "rules"]

rules = RuleBook(Group.DATA, "Olares documentation; beclab/apps#539")

_PROMOTE: Final = (1440, 900)
_PROMOTE_BYTES: Final = 8 * 2**20
_ICON: Final = (256, 256)
_ICON_BYTES: Final = 512 * 1024
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def image_size(data: bytes) -> tuple[str, int, int] | None:
    """Return format, width and height of a PNG, JPEG or WEBP image; None for anything else."""
    if data.startswith(_PNG) and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return "PNG", width, height
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp(data)
    if data[:2] == b"\xff\xd8":
        return _jpeg(data)
    return None


def _webp(data: bytes) -> tuple[str, int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        return "WEBP", width, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return "WEBP", (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return "WEBP", width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[str, int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return "JPEG", width, height
        if length < 2:
            return None
        at += 2 + length
    return None


@rules.error("promo-image-size", "Screenshots of another size are refused, not scaled.")
def _promote(context: ChartContext) -> Iterator[Found]:
    for index, url in enumerate(context.list_at("spec", "promoteImage")):
        data = context.pictures.get(as_text(url))
        if data is None:
            continue
        found = image_size(data)
        wanted = f"{_PROMOTE[0]}x{_PROMOTE[1]}"
        if found is None:
            message = f"promoteImage[{index}] is no PNG, JPEG or WEBP image"
        elif found[1:] != _PROMOTE:
            message = f"promoteImage[{index}] is {found[1]}x{found[2]}, expected {wanted}"
        elif len(data) > _PROMOTE_BYTES:
            message = f"promoteImage[{index}] has {len(data)} bytes, limit {_PROMOTE_BYTES}"
        else:
            continue
        yield context.in_manifest(
            message, "spec", "promoteImage", index, hint=f"make it exactly {wanted} pixels"
        )


@rules.warning("icon-image", "Icons are PNG or WEBP of 256 x 256 pixels, at most 512 KB.")
def _icon(context: ChartContext) -> Iterator[Found]:
    data = context.pictures.get(as_text(dig(context.manifest, "metadata", "icon")))
    if data is None:
        return
    found = image_size(data)
    if found is None or found[0] == "JPEG":
        message = "the icon is no PNG or WEBP image"
    elif found[1:] != _ICON:
        message = f"the icon is {found[1]}x{found[2]}, expected {_ICON[0]}x{_ICON[1]}"
    elif len(data) > _ICON_BYTES:
        message = f"the icon has {len(data)} bytes, limit {_ICON_BYTES}"
    else:
        return
    yield context.in_manifest(
        message, "metadata", "icon", hint="make it a square PNG of 256 x 256 pixels"
    )


@rules.warning(
    "icon-short-commit",
    "A CDN that serves from a repository refuses shortened commits, so the icon is a 404.",
    "firgavin/yomi-olares",
)
def _short_commit(context: ChartContext) -> Iterator[Found]:
    for path in (("metadata", "icon"), ("entrances", 0, "icon")):
        found = re.search(r"@([0-9a-f]{7,12})/", as_text(dig(context.manifest, *path)))
        if found:
            yield context.in_manifest(
                f"the icon's address holds the shortened commit @{found[1]}",
                *path,
                hint="write the whole commit, or a tag",
            )
