"""The v2 answers of a market, prepared per set (Olares contract 2.7).

What is stored is the ``data`` object; a server wraps it into the envelope
``{"code":0,"msg":"success","data":...}``. Two time units stand side by side there:
``last_modify_time`` counts milliseconds, ``updated_at`` seconds, both whole numbers.
"""

from typing import Any

from olares_apps.market.catalogue import Offer, View
from olares_apps.market.front_page import CATEGORY_ICON, LANGUAGES, categories, localised

__all__ = ["applications", "catalog", "items", "page_of", "taxonomy"]

Json = dict[str, Any]


def catalog(view: View, digest: str) -> Json:
    """Return the data of ``/api/v2/catalog``; the server adds ``source_id``, echoed or its own."""
    return {
        "schema_version": "v2",
        "taxonomy_last_modify_time": view.modified,
        "apps_last_modify_time": view.modified,
        "apps_filter_digest": digest,
    }


def taxonomy(view: View, *, stamps: bool) -> Json:
    """Return the data of ``/api/v2/taxonomy``: how the source names itself, and its categories."""
    source = view.revision.source
    names = list(categories(view))
    answer: Json = {
        "source": {
            "source_id": source.id,
            "short_label": source.label,
            "display_name": localised(source.label),
            "icon": source.icon or CATEGORY_ICON,
            "is_official": False,
        },
        "languages": [
            {"code": code, "display_name": name, "sort": sort, "enabled": True}
            for sort, (code, name) in enumerate(LANGUAGES.items(), start=1)
        ],
        "categories": [
            {
                "id": name,
                "builtin": False,
                "sort": sort,
                "icon": CATEGORY_ICON,
                "title": localised(name),
                "description": {},
            }
            for sort, name in enumerate(names, start=10)
        ],
        "nav": names,
        "pages": [{"category_id": name, "items": [{"id": "all", "type": "all"}]} for name in names],
        "tags": [],
        "topic_lists": [],
        "topics": [],
        "recommends": [],
    }
    return answer | {"last_modify_time": view.modified} if stamps else answer


def applications(view: View) -> Json:
    """Return the data of ``/api/v2/applications`` with every app on one page."""
    listed = items(view, stamps=True)
    return {
        "items": listed,
        # Empty on purpose: the type of its items is not public, one wrong type loses the whole
        # source, and devices notice by the missing item that an app is gone.
        "removed": [],
        "has_more": False,
        "max_last_modify_time": view.modified,
        "total": len(listed),
        "page": 1,
        "page_size": len(listed),
    }


def page_of(everything: Json, page: int, size: int) -> Json:
    """Return one page of `applications`; pages count from 1, one past the end is empty."""
    listed = everything["items"]
    start = (page - 1) * size
    return everything | {
        "items": listed[start : start + size],
        "has_more": start + size < len(listed),
        "page": page,
        "page_size": size,
    }


def items(view: View, *, stamps: bool) -> list[Json]:
    """Return one item per app, ordered by name."""
    return [_item(offer, stamps) for offer in view.offers]


def _item(offer: Offer, stamps: bool) -> Json:
    card = offer.archive.card
    item: Json = {
        "app_id": offer.app.id,
        "name": offer.name,
        "title": offer.app.title,
        "version": offer.archive.version,
        "icon": card.icon,
        "featured_image": card.featured_image,
        "cfg_type": card.cfg_type,
        "categories": list(card.categories),
        "categories_v2": list(card.categories),
        "tags": [],
        "app_labels": list(card.labels),
        "olares_version_constraint": offer.constraint,
    }
    if stamps:
        item["last_modify_time"] = offer.app.modified
        item["updated_at"] = offer.app.modified // 1000
    return item
