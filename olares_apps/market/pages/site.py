"""The pages of the whole market: catalogue and leaderboard, and where every page is found.

They are prepared with each revision from what the revision itself holds, so their cost follows
the number of apps like that of every other list, and the apps of other publishers are in them.
"""

from collections.abc import Mapping
from typing import Final

from olares_apps.bench.grouping import group_rows
from olares_apps.market.catalogue import View
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
    briefs = {name: Brief.from_json(app.page.brief) for name, app in shown.items() if app.page}
    bases = [
        *(brief.address or "" for brief in briefs.values()),
        *(base_address(offer.name, offer.archive.card.icon) for offer in seen.offers),
    ]
    common = {"market": market, "root": "./", "base": next((b for b in bases if b), "")}
    offered = {offer.name: offer.archive for offer in seen.offers}
    apps = [
        {
            "name": name,
            "title": app.title,
            "version": offered[name].version if name in offered else "",
            "icon": app.icon is not None,
            "brief": briefs.get(name),
            "summary": briefs[name].summary if name in briefs else offered[name].card.description,
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
