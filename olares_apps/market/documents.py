"""The v1 answers of a market, prepared per set (Olares contract 2.2 to 2.4).

A prepared answer is a JSON object without the device's ``version``: a server puts
``{"version":"<what was asked>",`` in place of the first brace. So an answer is stored once
for all releases of a generation, and serving it is a lookup.
"""

from collections.abc import Mapping
from typing import Any, Final

from olares_apps.market import canonical
from olares_apps.market.catalogue import Offer, View
from olares_apps.market.front_page import front_page

__all__ = ["RANKED", "details_index", "hash_document", "info_data", "info_document"]

Json = dict[str, Any]
RANKED: Final = 100
"""Apps that have a rank; a rank of each would change almost everywhere with one publish."""


def hash_document(view: View, digest: str) -> Json:
    """Return ``/api/v1/appstore/hash``: the change marker."""
    return {"hash": digest, "last_updated": canonical.time_text(view.revision.created)}


def info_document(view: View, digest: str) -> Json:
    """Return ``/api/v1/appstore/info``: the app ids and the front page."""
    return hash_document(view, digest) | {"data": info_data(view, stamps=True)}


def info_data(view: View, *, stamps: bool) -> Json:
    """Return the ``data`` block of ``/info``.

    ``latest`` and ``tops`` hold app names: the device's front page looks them up by name.
    Both are ordered by time of publishing, newest first, ties by name; the first `RANKED` are
    tops.
    """
    newest = [offer.name for offer in view.newest_first]
    tops = newest[:RANKED]
    return {
        "apps": {offer.app.id: _summary(offer, stamps) for offer in view.offers},
        "latest": newest,
        "tops": [{"appId": name, "rank": rank} for rank, name in enumerate(tops, start=1)],
        **front_page(view, stamps=stamps),
    }


def details_index(view: View) -> Mapping[str, str]:
    """Return the blob of the detail document for every app id."""
    return {offer.app.id: offer.archive.detail for offer in view.offers}


def _summary(offer: Offer, stamps: bool) -> Json:
    card = offer.archive.card
    summary: Json = {
        "id": offer.app.id,
        "name": offer.name,
        "title": offer.app.title,
        "version": offer.archive.version,
        "category": card.categories[0] if card.categories else "",
        "categories": list(card.categories),
        "description": card.description,
        "icon": card.icon,
    }
    if stamps:
        summary["updated_at"] = canonical.time_text(offer.archive.published * 10**6)
    return summary
