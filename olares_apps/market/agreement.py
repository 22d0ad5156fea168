"""Do the prepared answers of a revision agree with each other and with a device's decoder?

The publisher asks this before it moves the head, so no device ever sees an answer that would
lose it the source. Any fault stops the publish, also one that a device would only ignore:
what the publisher sends on purpose, a device is meant to take.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from olares_apps.market import conformance, wire
from olares_apps.market.catalogue import ANY, NONE, View, set_names, view
from olares_apps.market.documents import RANKED
from olares_apps.market.entries import archive_name
from olares_apps.market.faults import Fault, Loss
from olares_apps.market.front_page import ALL
from olares_apps.market.prepare import Prepared
from olares_apps.spec.types import app_id

__all__ = ["NINE_DIGITS", "faults_of"]

Json = dict[str, Any]
NINE_DIGITS: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}Z", re.ASCII)
_STAMPS: Final = ("updated_at", "createdAt", "last_updated")
# Any release does: the answers of a set are the same for all of its releases.
_VERSION: Final = "1.12.6"


def faults_of(prepared: Prepared, details: Mapping[str, bytes]) -> list[Fault]:
    """Return what is wrong with the answers of a revision, as they would go over the wire.

    ``details`` holds the detail documents that this publish adds, by digest; those of other
    apps passed when they were published and cannot have changed.
    """
    revision = prepared.revision
    faults: list[Fault] = []
    for name in set_names(revision.generations):
        seen = view(revision, name)
        answers = {
            path.partition("/")[2]: body
            for path, body in prepared.answers.items()
            if path.startswith(f"{name}/")
        }
        digest = None if name == ANY else _check_v1(seen, answers, faults)
        _check_v2(seen, answers, digest, faults)
        if name not in (ANY, NONE):
            faults += _check_details(seen, details)
    return faults


def _check_v1(seen: View, answers: Mapping[str, bytes], faults: list[Fault]) -> str:
    change, found = conformance.decode_hash(_versioned(answers["hash.json"]))
    faults += found
    info, found = conformance.decode_info(_versioned(answers["info.json"]))
    faults += found
    if change.hash != info.hash:
        faults.append(Fault("/hash", f"is {change.hash}, /info says {info.hash}", Loss.SOURCE))
    offered = {offer.app.id: offer for offer in seen.offers}
    if set(info.ids) != offered.keys():
        faults.append(Fault("/info: data.apps", "does not list what is on offer", Loss.APP))
    for key, offer in offered.items():
        if key != app_id(offer.name):
            fault = f"is {key}, devices expect {app_id(offer.name)}"
            faults.append(Fault(f"id of {offer.name}", fault, Loss.APP, key))
    faults += _check_front_page(seen, info.data)
    raw = json.loads(answers["info.json"])
    faults += [
        Fault(f"/info: {path}", f"is '{text}', expected nine fractional digits", Loss.SOURCE)
        for path, text in _stamps(raw, "")
        if not NINE_DIGITS.fullmatch(text)
    ]
    return info.hash


def _check_front_page(seen: View, data: Json) -> Iterator[Fault]:
    wanted = {category for offer in seen.offers for category in offer.archive.card.categories}
    linked = {
        "pages": data["pages"].keys() - {ALL},
        "tags": data["tags"].keys() - {ALL},
        "topic_lists": {name.removeprefix("Featured in ") for name in data["topic_lists"]} - {ALL},
    }
    for block, names in linked.items():
        for category in sorted(names ^ (wanted - {ALL})):
            yield Fault(
                f"/info: data.{block}", f"and the apps disagree on '{category}'", Loss.FIELD
            )
    names = [offer.name for offer in seen.newest_first]
    ranks = [(item["appId"], item["rank"]) for item in data["tops"]]
    tops = enumerate(names[:RANKED], start=1)
    if data["latest"] != names or ranks != [(name, rank) for rank, name in tops]:
        yield Fault(
            "/info: data.latest and tops", "are not newest first, ranked from 1", Loss.FIELD
        )


def _check_v2(
    seen: View, answers: Mapping[str, bytes], digest: str | None, faults: list[Fault]
) -> None:
    named = wire.with_first(answers["catalog.json"], "source_id", seen.revision.source.id)
    catalog, found = conformance.decode_catalog(wire.envelope(named))
    faults += found
    if digest is not None and catalog.digest != digest:
        fault = f"is {catalog.digest}, /info says {digest}"
        faults.append(Fault("/v2/catalog: apps_filter_digest", fault, Loss.SOURCE))
    _, found = conformance.decode_taxonomy(wire.envelope(answers["taxonomy.json"]))
    faults += found
    listing, found = conformance.decode_applications(wire.envelope(answers["applications.json"]))
    faults += found
    listed = {(item["app_id"], item["version"]) for item in listing.items}
    if listed != {(offer.app.id, offer.archive.version) for offer in seen.offers}:
        faults.append(Fault("/v2/applications", "does not list what is on offer", Loss.APP))


def _check_details(seen: View, details: Mapping[str, bytes]) -> Iterator[Fault]:
    for offer in seen.offers:
        body = details.get(offer.archive.detail)
        if body is None:
            continue
        key, version = offer.app.id, offer.archive.version
        batch, faults = conformance.decode_details(wire.details(_VERSION, {key: body}, []), [key])
        yield from faults
        row = batch.apps.get(key)
        if row is None:
            continue
        chart = archive_name(offer.name, version)
        history = row.fields.get("versionHistory") or [{}]
        said = {
            "version": (row.version, version),
            "name": (row.name, offer.name),
            "chartName": (row.fields.get("chartName"), chart),
            "appID": (row.fields.get("appID"), key),
            "title": (row.fields.get("title"), offer.app.title),
            "versionHistory[0].version": (history[0].get("version"), version),
        }
        for name, (found, expected) in said.items():
            if found != expected:
                fault = f"is {found!r}, expected '{expected}'"
                yield Fault(f"detail of {offer.name}: {name}", fault, Loss.APP, key)


def _versioned(body: bytes) -> bytes:
    return wire.with_first(body, "version", _VERSION)


def _stamps(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _STAMPS:
                yield f"{path}.{key}".strip("."), str(item)
            else:
                yield from _stamps(item, f"{path}.{key}")
