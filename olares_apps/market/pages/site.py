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
    briefs = {
        offer.name: Brief.from_json(offer.app.page.brief) for offer in seen.offers if offer.app.page
    }
    bases = (base_address(offer.name, offer.archive.card.icon) for offer in seen.offers)
    common = {"market": market, "root": "./", "base": next((b for b in bases if b), "")}
    apps = [
        {
            "name": offer.name,
            "title": offer.app.title,
            "version": offer.archive.version,
            "icon": offer.app.icon is not None,
            "brief": briefs.get(offer.name),
            "summary": brief.summary
            if (brief := briefs.get(offer.name))
            else offer.archive.card.description,
        }
        for offer in sorted(seen.offers, key=lambda o: (o.app.title.casefold(), o.name))
    ]
    modalities = sorted({item for brief in briefs.values() for item in brief.modalities})
    catalogue = write_page(
        "catalogue.html", common | {"here": "catalogue", "apps": apps, "modalities": modalities}
    )
    groups = group_rows(row for brief in briefs.values() for row in brief.rows)
    leaderboard = write_page("leaderboard.html", common | {"here": "leaderboard", "groups": groups})
    routes: dict[str, Route] = {
        "/": {"answer": CATALOGUE, "type": HTML, "csp": catalogue.policy},
        "/leaderboard": {"answer": LEADERBOARD, "type": HTML, "csp": leaderboard.policy},
    }
    for offer in seen.offers:
        if page := offer.app.page:
            routes[f"/apps/{offer.name}"] = {
                "blob": page.html.sha256,
                "type": page.html.type,
                "csp": page.csp,
            }
            routes[f"/share/{offer.name}.png"] = {
                "blob": page.share.sha256,
                "type": page.share.type,
                "csp": PICTURE_POLICY,
            }
    return {CATALOGUE: catalogue.data, LEADERBOARD: leaderboard.data}, routes
