"""The front page that a device's market shows for a source: sidebar, pages, featured apps.

Shapes follow the Olares contract 2.3. How the device's page reads them is known from the
public front end (beclab/Olares, apps/packages/app/src/stores/market/center.ts and menu.ts):

- the sidebar shows the tags whose name is a category of some app, plus ``All``, the home page;
- a page is a JSON list of blocks; ``Default Topic``/``Newest`` lists ``latest``, which holds
  app names;
- a ``Topic`` block names a topic list; the ids in its content are looked up among ``topics`` by
  ``_id``, and each topic of a ``Category`` list is drawn as one app, named in its ``apps``.

So every featured app is a topic of its own whose id is the app's id. ``source`` is left out
everywhere: it is a number in some releases and text in others, and absence suits both.
"""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

from olares_apps.market import canonical
from olares_apps.market.catalogue import Offer, View

__all__ = ["ALL", "CATEGORY_ICON", "LANGUAGES", "categories", "front_page", "localised", "tables"]

Json = dict[str, Any]
ALL: Final = "All"
LANGUAGES: Final = {"en-US": "English", "zh-CN": "简体中文"}
"""The languages of the device's market, whose menu shows no label without a title in them."""

CATEGORY_ICON: Final = "https://app.cdn.olares.com/icons/market/sidebar/neurology.svg"
_ALL_TITLE: Final = {"en-US": "All", "zh-CN": "全部"}
_FEATURED_TITLE: Final = {"en-US": "Featured in {}", "zh-CN": "{} 精选"}
_FEATURED: Final = 12
_FIRST_SORT: Final = 10
# Plain ASCII, since languages differ in what else is a small letter or a space.
_SLUG: Final = str.maketrans(f"{ascii_uppercase} ", f"{ascii_lowercase}_")


def tables() -> Json:
    """Return the fixed parts of the front page, for a server that makes the same one."""
    return {
        "all": ALL,
        "all_title": _ALL_TITLE,
        "category_icon": CATEGORY_ICON,
        "featured": _FEATURED,
        "featured_title": _FEATURED_TITLE,
        "first_sort": _FIRST_SORT,
        "languages": LANGUAGES,
    }


def categories(view: View) -> dict[str, list[Offer]]:
    """Return the offers of every category, newest first; categories are ordered by name."""
    found: dict[str, list[Offer]] = {}
    for offer in view.newest_first:
        for category in dict.fromkeys(offer.archive.card.categories):
            found.setdefault(category, []).append(offer)
    return dict(sorted(found.items()))


def localised(text: str) -> dict[str, str]:
    """Return one text for every language of the device's market."""
    return dict.fromkeys(LANGUAGES, text)


def front_page(view: View, *, stamps: bool) -> Json:
    """Return recommends, pages, topics, topic_lists and tags.

    ``stamps`` adds the times of the newest and the oldest publish behind each item; the hash
    is taken without them.
    """
    page: Json = {"recommends": {}, "pages": {}, "topics": {}, "topic_lists": {}, "tags": {}}
    by_category = categories(view)
    lists = {category: f"Featured in {category}" for category in by_category}
    newest = {"type": "Default Topic", "id": "Newest"}
    blocks = {name: [{"type": "Topic", "id": lists[name]}, newest] for name in by_category}
    blocks[ALL] = [newest, *({"type": "Topic", "id": name} for name in lists.values())]
    for name, content in blocks.items():
        text = canonical.encode(content).decode()
        behind = by_category.get(name, view.offers)
        page["pages"][name] = {"category": name, "content": text} | _times(behind, stamps)
    page["tags"][ALL] = _tag(ALL, _ALL_TITLE, 0) | _times(view.offers, stamps)
    for sort, (category, offers) in enumerate(by_category.items(), start=_FIRST_SORT):
        times = _times(offers, stamps)
        featured = offers[:_FEATURED]
        page["tags"].setdefault(category, _tag(category, localised(category), sort) | times)
        page["topic_lists"][lists[category]] = {
            "name": lists[category],
            "type": "Category",
            "description": "",
            "content": ",".join(offer.app.id for offer in featured),
            "title": {key: text.format(category) for key, text in _FEATURED_TITLE.items()},
        } | times
        for offer in featured:
            page["topics"][offer.app.id] = _topic(offer) | _times([offer], stamps)
    return page


def _topic(offer: Offer) -> Json:
    card = offer.archive.card
    texts = {
        "group": "",
        "title": offer.app.title,
        "des": card.description,
        "iconimg": card.featured_image,
        "detailimg": card.featured_image,
        "richtext": "",
        "mobileDetailImg": card.featured_image,
        "mobileRichtext": "",
        "backgroundColor": "",
        "apps": offer.name,
        "isdelete": False,
    }
    return {
        "_id": offer.app.id,
        "name": offer.app.title,
        "data": dict.fromkeys(LANGUAGES, texts),
    }


def _tag(name: str, title: Mapping[str, str], sort: int) -> Json:
    slug = name.translate(_SLUG)
    return {
        "_id": f"cat_{slug}",
        "name": name,
        "title": dict(title),
        "icon": CATEGORY_ICON,
        "sort": sort,
    }


def _times(offers: Sequence[Offer], stamps: bool) -> Json:
    if not stamps or not offers:
        return {}
    published = [offer.archive.published for offer in offers]
    updated, created = (
        canonical.time_text(stamp * 10**6) for stamp in (max(published), min(published))
    )
    return {"updated_at": updated, "createdAt": created}
