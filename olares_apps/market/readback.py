"""Reading back: what was published is asked for as devices ask, and compared."""

from collections.abc import Collection
from typing import Final

from olares_apps.errors import StoreCorrupt
from olares_apps.market import canonical, objects
from olares_apps.market.answers import Answers
from olares_apps.market.conformance import decode_details, decode_info
from olares_apps.market.entries import archive_name
from olares_apps.market.prepare import Prepared
from olares_apps.market.store import Store

__all__ = ["read_back"]

_BATCH: Final = 10


def read_back(store: Store, prepared: Prepared, apps: Collection[str]) -> int:
    """Ask for lists, details and archives of ``apps`` in a revision; return how many compared.

    Looks at the revision itself, not at the head: another publish may have moved it on, and
    its objects stay. Raises StoreCorrupt when an answer is not what was published.
    """
    revision = prepared.revision
    answers = Answers(store, head=revision.head(prepared.identity))
    compared = 0
    for path, digest in revision.answers.items():
        objects.read_answer(store, prepared.identity, path, digest)
        compared += 1
    for window in revision.generations:
        query = {"version": window.first}
        info, _ = decode_info(answers.respond("GET", "/api/v1/appstore/info", query).body)
        offered = {
            entry.id: (name, entry.current[window.name])
            for name, entry in revision.live()
            if name in apps and window.name in entry.current
        }
        if not offered.keys() <= set(info.ids):
            raise StoreCorrupt(f"{store.url}: /info does not list what was published")
        ids = list(offered)
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            body = canonical.encode({"app_ids": batch, "version": window.first})
            answer = answers.respond("POST", "/api/v1/applications/info", {}, body)
            rows, _ = decode_details(answer.body, batch)
            for key in batch:
                name, archive = offered[key]
                if key not in rows.apps or rows.apps[key].version != archive.version:
                    raise StoreCorrupt(f"{store.url}: the detail of {name} is not what was sent")
                file = archive_name(name, archive.version)
                route = f"/api/v1/applications/{name}/chart"
                chart = answers.respond(
                    "GET", route, {"fileName": file, "version": archive.version}
                )
                if chart.status != 200 or canonical.digest(chart.body) != archive.sha256:
                    raise StoreCorrupt(f"{store.url}: {file} is not what was sent")
                compared += 2
    return compared
