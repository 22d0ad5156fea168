"""The pages of the whole market: catalogue and leaderboard, and where every page is found.

They are prepared with each revision from what the revision itself holds, so their cost follows
the number of apps like that of every other list, and the apps of other publishers are in them.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from olares_apps.bench.grouping import group_rows
from olares_apps.market.catalogue import View
from olares_apps.market.entries import AppEntry, ArchiveEntry
from olares_apps.market.pages.brief import Brief
from olares_apps.market.pages.build import base_address
from olares_apps.market.pages.look import HTML, PICTURE_POLICY, write_page

__all__ = ["CATALOGUE", "LEADERBOARD", "page_answers"]

Route = Mapping[str, str]
CATALOGUE: Final = "pages/index.html"
LEADERBOARD: Final = "pages/leaderboard.html"


def page_answers(seen: View) -> tuple[Mapping[str, bytes], Mapping[str, Route]]:
    """Return the answers for people, and for every path how it is served.

    A route names either an answer of the revision or a blob, its media type and its policy.
    """
    market = seen.revision.source.label
    shown = {offer.name: offer.app for offer in seen.offers} | dict(seen.revision.listed())
    briefs = {name: brief for name, app in shown.items() if (brief := _brief(app))}
    common = {"market": market, "root": "./", "base": _base(seen, briefs)}
    offered = {offer.name: offer.archive for offer in seen.offers}
    apps = [
        {
            "name": name,
            "title": app.title,
            "version": offered[name].version if name in offered else "",
            "icon": app.icon is not None,
            "brief": briefs.get(name),
            "summary": _summary(briefs.get(name), offered.get(name)),
        }
        for name, app in sorted(shown.items(), key=lambda item: (item[1].title.casefold(), item[0]))
    ]
    modalities = sorted({item for brief in briefs.values() for item in brief.modalities})
    catalogue = write_page(
        "catalogue.html",
        common
        | {"here": "catalogue", "apps": apps, "modalities": modalities, "offers": len(offered)},
    )
    groups = group_rows(row for brief in briefs.values() for row in brief.rows)
    reasons = {name: brief.not_installable for name, brief in briefs.items()}
    leaderboard = write_page(
        "leaderboard.html", common | {"here": "leaderboard", "groups": groups, "reasons": reasons}
    )
    routes: dict[str, Route] = {
        "/": {"answer": CATALOGUE, "type": HTML, "csp": catalogue.policy},
        "/leaderboard": {"answer": LEADERBOARD, "type": HTML, "csp": leaderboard.policy},
    }
    for name, app in shown.items():
        if page := app.page:
            routes[f"/apps/{name}"] = {
                "blob": page.html.sha256,
                "type": page.html.type,
                "csp": page.csp,
            }
            routes[f"/share/{name}.png"] = {
                "blob": page.share.sha256,
                "type": page.share.type,
                "csp": PICTURE_POLICY,
            }
    return {CATALOGUE: catalogue.data, LEADERBOARD: leaderboard.data}, routes


def _summary(brief: Brief | None, archive: ArchiveEntry | None) -> str:
    if brief is not None:
        return brief.summary
    return archive.card.description if archive is not None else ""


def _brief(app: AppEntry) -> Brief | None:
    """Return what an app's page says in lists; what cannot be read hides no other app."""
    if app.page is None:
        return None
    try:
        return Brief.from_json(app.page.brief)
    except ValueError:
        return None


def _base(seen: View, briefs: Mapping[str, Brief]) -> str:
    """Return the address that most apps know the market by, of two as many the older app's.

    One app of one publisher must not say where people find the whole market.
    """
    published = {offer.name: offer.archive.published for offer in seen.offers}
    known = [(name, brief.address) for name, brief in briefs.items() if brief.address]
    known = known or [
        (offer.name, base_address(offer.name, offer.archive.card.icon)) for offer in seen.offers
    ]
    since: dict[str, int] = {}
    for name, base in known:
        moment = published.get(name, seen.modified)
        since[base] = min(moment, since.get(base, moment))
    counted = Counter(base for _, base in known if base)
    return min(counted, key=lambda base: (-counted[base], since[base], base), default="")
