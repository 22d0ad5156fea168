"""An old archive under a new version: only the fields that carry the version change.

The text is edited in place and read again, so everything else stays byte for byte. A chart is
not rendered anew: its spec may have moved on, or be gone.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from olares_apps.errors import ArchiveError
from olares_apps.render.archive import Archive, pack, unpack
from olares_apps.render.chart import ChartTree

__all__ = ["repack"]

# File: the places that carry the version. The second of each names it for people and follows
# only where it had the version's text before.
_PLACES: Final = {
    "Chart.yaml": ("version", "appVersion"),
    "OlaresManifest.yaml": ("metadata.version", "spec.versionName"),
}


def repack(data: bytes, app: str, generation: str, version: str) -> Archive:
    """Return the archive with ``version`` in the places that carry it.

    Raises ArchiveError when the archive cannot be read or a place cannot be found in it.
    """
    unpacked = unpack(data, name=f"archive of {app}")
    files = dict(unpacked.files)
    for name, (exact, label) in _PLACES.items():
        if name not in files:
            raise ArchiveError(f"the archive of {app} holds no {name}")
        before = _parse(files[name], app, name)
        old = _at(before, exact)
        text = _edited(files[name].decode(), exact, version, app, name)
        if _at(before, label) == old:
            text = _edited(text, label, version, app, name)
        files[name] = text.encode()
        _compare(before, _parse(files[name], app, name), (exact, label), version, app, name)
    return pack(ChartTree(app=app, version=version, generation=generation, files=files))


def _edited(text: str, place: str, version: str, app: str, name: str) -> str:
    """Replace the scalar at a place one or two levels deep; quotes and layout around it stay."""
    block, _, key = place.rpartition(".")
    pattern = rf'^{re.escape(key)}:[ ]+["\']?[^\s"\'#]+["\']?[ ]*$'
    start, end = 0, len(text)
    if block:
        head = re.search(rf"^{re.escape(block)}:[ ]*$", text, re.M)
        if head is None:
            raise ArchiveError(f"{name} of {app} has no block {block}")
        following = re.compile(r"^[^\s#]", re.M).search(text, head.end())
        start, end = head.end(), following.start() if following else len(text)
        pattern = pattern.replace("^", r"^(?:[ ]+)", 1)
    found = list(re.compile(pattern, re.M).finditer(text, start, end))
    indents = [len(match[0]) - len(match[0].lstrip()) for match in found]
    if not found:
        raise ArchiveError(f"{name} of {app} does not have {place} on a line of its own")
    line = found[indents.index(min(indents))]
    return text[: line.start()] + " " * min(indents) + f'{key}: "{version}"' + text[line.end() :]


def _compare(
    before: Any, after: Any, places: tuple[str, str], version: str, app: str, name: str
) -> None:
    expected, old = before, _at(before, places[0])
    for place in places:
        if _at(before, place) == old:
            expected = _with(expected, place, version)
    if after != expected:
        raise ArchiveError(f"the version in {name} of {app} cannot be replaced safely")


def _parse(data: bytes, app: str, name: str) -> Any:
    import yaml

    try:
        return yaml.load(data, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ArchiveError(f"{name} of {app} cannot be read: {error}") from error


def _at(value: Any, place: str) -> Any:
    for key in place.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _with(value: Mapping[str, Any], place: str, new: str) -> dict[str, Any]:
    key, _, rest = place.partition(".")
    return {**value, key: _with(value[key], rest, new) if rest else new}
