"""The answers of a source as a device decodes them (Olares contract 2.2 to 2.5, 2.7).

One decoder serves the publisher, which refuses to publish what a device would not take, the
device simulator and the tests. It reports faults as data: what is wrong, where, and how much
of the source a device loses by it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from olares_apps.market import gojson
from olares_apps.market.answer_types import CATALOG, HASH, INFO, LISTING, TAXONOMY, envelope
from olares_apps.market.faults import Fault, Loss
from olares_apps.market.gojson import Struct

__all__ = [
    "APP_OBJECTS",
    "APP_OBJECT_LISTS",
    "APP_TEXTS",
    "APP_TEXT_LISTS",
    "APP_TEXT_OR_MAP",
    "COLUMNS",
    "Catalog",
    "Detail",
    "Details",
    "HashAnswer",
    "Info",
    "Listing",
    "decode_applications",
    "decode_catalog",
    "decode_details",
    "decode_hash",
    "decode_info",
    "decode_taxonomy",
]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HashAnswer:
    """``/hash``, decoded."""

    hash: str = ""
    last_updated: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Info:
    """``/info``, decoded: ``ids`` are the apps that count, ``data`` the typed ``data`` block."""

    version: str = ""
    hash: str = ""
    ids: tuple[str, ...] = ()
    data: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Detail:
    """One detail as a device stores it; ``fields`` holds only what had the right type."""

    id: str
    name: str
    version: str
    cfg_type: str
    fields: Json


@dataclass(frozen=True, slots=True)
class Details:
    """One batch of details: the rows a device would write, and the ids the source denied."""

    apps: Mapping[str, Detail] = field(default_factory=dict)
    not_found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """``/api/v2/catalog``, decoded; times in ms."""

    source_id: str = ""
    taxonomy_time: int = 0
    apps_time: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of ``/api/v2/applications``, decoded."""

    items: tuple[Json, ...] = ()
    removed: tuple[Any, ...] = ()
    has_more: bool = False
    total: int = 0


def decode_hash(body: bytes) -> tuple[HashAnswer, list[Fault]]:
    """Decode ``/hash``; every fault stops this source's cycle."""
    value, faults = _decode(body, HASH, "/hash")
    return HashAnswer(value["hash"], value["last_updated"], value["version"]), faults


def decode_info(body: bytes) -> tuple[Info, list[Fault]]:
    """Decode ``/info``: one wrong scalar anywhere loses the source, a wrong entry one app."""
    value, faults = _decode(body, INFO, "/info")
    faults += [
        Fault(f"/info: {name}", "is missing or empty", Loss.SOURCE)
        for name in ("version", "hash")
        if not value[name] and not any(fault.where == f"/info: {name}" for fault in faults)
    ]
    ids = []
    for key, entry in value["data"]["apps"].items():
        found = entry.get("id") if isinstance(entry, dict) else None
        if _is_text(found) and found == key:
            ids.append(key)
            continue
        shown = found if isinstance(found, str) else type(entry).__name__
        fault = f"has the id {shown}: key must equal id, the entry is skipped"
        faults.append(Fault(f"/info: data.apps.{key}", fault, Loss.APP, key))
    return Info(value["version"], value["hash"], tuple(ids), value["data"]), faults


APP_TEXTS: Final = frozenset(
    "id name cfgType chartName icon appID version versionName apiVersion promoteVideo subCategory "
    "developer target submitter doc website featuredImage sourceCode modelSize namespace "
    "lastCommitHash updated_at title description requiredMemory requiredDisk requiredCPU "
    "requiredGPU limitedMemory limitedDisk limitedCPU limitedGPU".split()
)
APP_TEXT_LISTS: Final = frozenset(
    "categories supportArch locale promoteImage screenshots tags appLabels".split()
)
APP_OBJECT_LISTS: Final = frozenset(
    "entrances ports envs license legal subCharts versionHistory".split()
)
APP_OBJECTS: Final = frozenset(
    "permission middleware options i18n tailscale supportClient price".split()
)
APP_TEXT_OR_MAP: Final = frozenset(("fullDescription", "upgradeDescription"))
_RULES: Final[tuple[tuple[frozenset[str], str, Callable[[Any], bool]], ...]] = (
    (APP_TEXTS, "a string", lambda value: _is_text(value)),
    (APP_TEXT_LISTS, "a list of strings", lambda value: isinstance(value, list)),
    (APP_OBJECTS, "an object", lambda value: isinstance(value, dict)),
    (
        APP_OBJECT_LISTS,
        "a list of objects",
        lambda value: isinstance(value, list) and all(isinstance(item, dict) for item in value),
    ),
    (
        APP_TEXT_OR_MAP,
        "a string or an object of strings",
        lambda value: (
            _is_text(value)
            or (isinstance(value, dict) and all(_is_text(item) for item in value.values()))
        ),
    ),
    (frozenset(("onlyAdmin",)), "true or false", lambda value: isinstance(value, bool)),
    (frozenset(("rating",)), "a number", lambda value: isinstance(value, gojson.Number)),
)
# A device's columns, in characters (contract 2.4): one longer value aborts the whole batch.
COLUMNS: Final = {"id": 32, "name": 100, "version": 16, "cfgType": 32, "apiVersion": 32}
_HIDING_LABELS: Final = frozenset(("suspend", "remove"))


def decode_details(body: bytes, asked: Iterable[str]) -> tuple[Details, list[Fault]]:
    """Decode one batch of details for the ids that were ``asked``.

    A wrong type is dropped, an entry without a version is skipped, and one over-long value or
    NUL loses the batch: its neighbours are then missing from the result too.
    """
    where = "/applications/info"
    try:
        value, repeated = gojson.parse(body)
    except ValueError as error:
        return Details(), [Fault(where, f"is not JSON: {error}", Loss.BATCH)]
    faults = [Fault(where, f"holds the key '{key}' twice", Loss.FIELD) for key in repeated]
    apps = value.get("apps") if isinstance(value, dict) else None
    if not isinstance(apps, dict):
        fault = f"apps is {type(apps).__name__}, expected an object keyed by id"
        return Details(), [*faults, Fault(where, fault, Loss.BATCH)]
    denied = value.get("not_found") or []
    not_found = tuple(i for i in denied if _is_text(i)) if isinstance(denied, list) else ()
    rows: dict[str, Detail] = {}
    for key, entry in apps.items():
        row, found = _row(key, entry)
        faults += found
        if row is not None:
            rows[key] = row
    if any(fault.loss is Loss.BATCH for fault in faults):
        rows = {}
    faults += [
        Fault(f"{where}: {key}", "is neither in apps nor in not_found", Loss.APP, key)
        for key in asked
        if key not in apps and key not in not_found
    ]
    return Details(rows, not_found), faults


def _row(key: str, entry: Any) -> tuple[Detail | None, list[Fault]]:
    where = f"detail {key}"

    def fault(message: str, loss: Loss, name: str = "") -> Fault:
        return Fault(f"{where}: {name}" if name else where, message, loss, key)

    if not isinstance(entry, dict):
        return None, [fault("is no object and is skipped", Loss.APP)]
    faults: list[Fault] = []
    kept: Json = {}
    for name, value in entry.items():
        kept[name], problem = _field(name, value)
        if problem:
            faults.append(fault(problem, Loss.FIELD, name))
    hidden = [label for label in kept.get("appLabels") or [] if label.lower() in _HIDING_LABELS]
    if hidden:
        return None, [*faults, fault(f"carries the label {hidden[0]} and is skipped", Loss.APP)]
    if not kept.get("version"):
        return None, [
            *faults,
            fault("is missing, empty or no string: skipped", Loss.APP, "version"),
        ]
    if not kept.get("name"):
        faults.append(fault("is missing: the chart's address breaks", Loss.APP, "name"))
    if kept.get("id", key) != key:
        faults.append(fault(f"is {kept['id']}, listed as {key}", Loss.APP, "id"))
    for name, limit in COLUMNS.items():
        if len(str(kept.get(name) or "")) > limit:
            size = len(kept[name])
            faults.append(fault(f"has {size} characters, limit {limit}", Loss.BATCH, name))
    if _holds_nul(entry):
        faults.append(fault("holds a NUL character", Loss.BATCH))
    row = Detail(key, kept.get("name") or key, kept["version"], kept.get("cfgType") or "app", kept)
    return row, faults


def _field(name: str, value: Any) -> tuple[Any, str]:
    """Return what a device keeps of a field, and why it is less than what was sent.

    Fields that a device does not know are kept here and ignored there.
    """
    if value is None:
        return None, ""
    for names, expected, good in _RULES:
        if name in names and not good(value):
            return None, f"is dropped: {_name_of(value)}, expected {expected}"
    if name in APP_TEXT_LISTS and not all(_is_text(item) for item in value):
        kept = [item if _is_text(item) else "" for item in value]
        return kept, "holds what is no string; a device reads it as empty"
    return value, ""


def decode_catalog(body: bytes) -> tuple[Catalog, list[Fault]]:
    """Decode ``/api/v2/catalog``; a device of 1.12.7 or later drops the source on any fault."""
    value, faults = _decode(body, envelope(CATALOG), "/v2/catalog")
    data = value["data"]
    if not data["apps_filter_digest"]:
        faults.append(Fault("/v2/catalog: apps_filter_digest", "is empty", Loss.SOURCE))
    times = data["taxonomy_last_modify_time"], data["apps_last_modify_time"]
    return Catalog(data["source_id"], *times, data["apps_filter_digest"]), faults


def decode_taxonomy(body: bytes) -> tuple[Json, list[Fault]]:
    """Decode ``/api/v2/taxonomy`` and return its typed data."""
    value, faults = _decode(body, envelope(TAXONOMY), "/v2/taxonomy")
    return value["data"], faults


def decode_applications(body: bytes) -> tuple[Listing, list[Fault]]:
    """Decode one page of ``/api/v2/applications``."""
    value, faults = _decode(body, envelope(LISTING), "/v2/applications")
    data = value["data"]
    listing = Listing(tuple(data["items"]), tuple(data["removed"]), data["has_more"], data["total"])
    return listing, faults


def _decode(body: bytes, kind: Struct, where: str) -> tuple[Json, list[Fault]]:
    try:
        value, repeated = gojson.parse(body)
    except ValueError as error:
        empty, _ = gojson.decode(None, kind)
        return empty, [Fault(where, f"is not JSON: {error}", Loss.SOURCE)]
    decoded, wrong = gojson.decode(value, kind)
    faults = [Fault(f"{where}: {path}", message, Loss.SOURCE) for path, message in wrong]
    faults += [Fault(where, f"holds the key '{key}' twice", Loss.FIELD) for key in repeated]
    return decoded, faults


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, gojson.Number)


def _name_of(value: Any) -> str:
    names = {dict: "object", list: "list", bool: "boolean", str: "string"}
    return "number" if isinstance(value, gojson.Number) else names.get(type(value), "null")


def _holds_nul(value: Any) -> bool:
    match value:
        case str():
            return "\0" in value
        case dict():
            return any("\0" in key or _holds_nul(item) for key, item in value.items())
        case list():
            return any(_holds_nul(item) for item in value)
        case _:
            return False
