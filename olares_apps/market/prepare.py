"""Prepared answers: everything that servers hand out for a revision, computed once.

The cost follows the number of apps, never the number of blobs: the revision holds all that
lists show. Paths are below ``responses/<revision>/``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from olares_apps.market import canonical, documents, documents_v2
from olares_apps.market.catalogue import ANY, View, set_names, view
from olares_apps.market.records import Revision

__all__ = ["FILES", "PAGES", "Prepared", "prepare", "strangers"]

PAGES: Final = "pages.json"
"""The answer that says under which path which page or picture is served, and how."""
FILES: Final = "files.json"
"""The one answer that holds for every set: which ledger and which icon an app has."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A finished revision, its stored bytes and name, and its answers by path."""

    revision: Revision
    data: bytes
    identity: str
    answers: Mapping[str, bytes]


def prepare(draft: Revision) -> Prepared:
    """Compute the answers of a revision and finish it with their hash and digests."""
    answers, digest = _for_devices(draft)
    if any(entry.page for entry in draft.apps.values() if entry.shown):
        from olares_apps.market.pages.site import page_answers

        pages, routes = page_answers(view(draft, ANY))
        answers |= {**pages, PAGES: canonical.encode({"routes": routes})}
    revision = replace(
        draft,
        hash=digest,
        answers={path: canonical.digest(data) for path, data in answers.items()},
    )
    data = revision.encode()
    return Prepared(revision, data, canonical.digest(data), answers)


def strangers(revision: Revision) -> list[str]:
    """Return the paths of the answers for devices that do not follow from a revision, by path.

    ``hash`` stands for the revision's own. A publisher never makes such a revision and the
    Worker refuses it, so another hand wrote it, or another release of olapps did.
    """
    answers, digest = _for_devices(revision)
    found = {
        path
        for path, data in answers.items()
        if revision.answers.get(path) != canonical.digest(data)
    }
    return sorted(found | ({"hash"} if revision.hash != digest else set()))


def _for_devices(revision: Revision) -> tuple[dict[str, bytes], str]:
    """Return the answers for devices, by path, and the hash over all that devices see."""
    answers: dict[str, bytes] = {FILES: canonical.encode(_files(revision))}
    hashes = {}
    for name in set_names(revision.generations):
        seen = view(revision, name)
        hashes[name] = seen.hash(_visible(seen))
        for file, content in _set_answers(seen, hashes[name]).items():
            answers[f"{name}/{file}"] = canonical.encode(content)
    return answers, canonical.digest(canonical.encode(hashes))


def _visible(seen: View) -> Mapping[str, Any]:
    return {
        "info": documents.info_data(seen, stamps=False),
        "taxonomy": documents_v2.taxonomy(seen, stamps=False),
        "items": documents_v2.items(seen, stamps=False),
    }


def _set_answers(seen: View, digest: str) -> Mapping[str, Any]:
    answers = {
        "catalog.json": documents_v2.catalog(seen, digest),
        "taxonomy.json": documents_v2.taxonomy(seen, stamps=True),
        "applications.json": documents_v2.applications(seen),
    }
    if seen.name == ANY:
        return answers
    return answers | {
        "hash.json": documents.hash_document(seen, digest),
        "info.json": documents.info_document(seen, digest),
        "details.json": documents.details_index(seen),
    }


def _files(revision: Revision) -> Mapping[str, Any]:
    return {
        "ledgers": {name: entry.ledger for name, entry in revision.apps.items()},
        "icons": {
            name: entry.icon.to_json() for name, entry in revision.apps.items() if entry.icon
        },
    }
