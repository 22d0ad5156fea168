"""The pages for people come from the Worker as the local server gives them, with their policy."""

from dataclasses import replace

import httpx
import pytest
from support.market import MemoryStore, hands
from support.pages import build_page_candidate
from support.worker import Worker

from olares_apps.errors import MarketError
from olares_apps.market import canonical, objects
from olares_apps.market.answers import Answers
from olares_apps.market.commit import read_state
from olares_apps.market.mirror import mirror
from olares_apps.market.prepare import PAGES, Prepared, prepare
from olares_apps.market.publish import publish
from olares_apps.market.retreat import remove

PATHS = (
    "/",
    "/leaderboard",
    "/apps/demoalpha",
    "/share/demoalpha.png",
    "/apps/demobravo",
    "/apps/nobody",
    "/apps/DEMO",
    "/apps/demoalpha/",
    "/share/demoalpha.gif",
    "/leaderboard/x",
    "/pages.json",
)
HEADERS = (
    "content-type",
    "content-length",
    "content-security-policy",
    "cache-control",
    "referrer-policy",
    "etag",
    "allow",
    "access-control-allow-origin",
    "x-content-type-options",
)


def test_both_servers_give_the_same_pages(worker: Worker) -> None:
    local = MemoryStore()
    apps = [build_page_candidate("demoalpha"), build_page_candidate("demobravo")]
    made = hands()
    publish(local, apps, publisher="t", hands=made)
    remove(local, ["demobravo"], publisher="t", hands=made)
    # The same objects: a publish to the Worker's address would write that address into its pages.
    mirror(local, worker.store())
    answers, found = Answers(local), 0
    with httpx.Client(base_url=worker.url, headers={"accept-encoding": "identity"}) as client:
        for path in PATHS:
            for method in ("GET", "HEAD", "POST"):
                ours = answers.respond(method, path)
                theirs = client.request(method, path)
                assert theirs.status_code == ours.status, (method, path)
                assert theirs.content == (b"" if method == "HEAD" else ours.body), (method, path)
                for name in HEADERS:
                    assert theirs.headers.get(name) == ours.headers.get(name), (method, path, name)
                found += ours.status == 200
            etag = answers.respond("GET", path).headers.get("etag")
            if etag:
                again = client.get(path, headers={"if-none-match": etag})
                assert (again.status_code, again.content) == (304, b"")
                assert again.headers["cache-control"]
        page = client.get("/apps/demoalpha")
    assert found == 8
    assert page.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert page.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"/api/v1/appstore/hash": {"answer": "pages/index.html"}}, "not name the pages on offer"),
        ({"/": {"answer": "files.json"}}, "/ is not served as its app says"),
        ({"/leaderboard": {"type": "text/javascript"}}, "/leaderboard is not served as"),
        ({"/apps/demoalpha": {"csp": "default-src *"}}, "/apps/demoalpha is not served as"),
        ({"/share/demoalpha.png": {"csp": ""}}, "/share/demoalpha.png is not served as"),
    ],
)
def test_the_head_does_not_move_to_pages_that_say_otherwise(
    change: dict[str, dict[str, str]], reason: str, worker: Worker
) -> None:
    local, store = MemoryStore(), worker.store()
    publish(local, [build_page_candidate("demoalpha")], publisher="t", hands=hands())
    revision = read_state(local).revision
    assert revision is not None
    good = prepare(revision)
    routes = canonical.decode(good.answers[PAGES])["routes"]
    for path, fields in change.items():
        routes[path] = dict(routes.get(path) or routes["/"]) | fields
    pages = canonical.encode({"routes": routes})
    answers = dict(good.answers) | {PAGES: pages}
    digests = dict(good.revision.answers) | {PAGES: canonical.digest(pages)}
    wrong = replace(good.revision, answers=digests)
    data = wrong.encode()
    prepared = Prepared(wrong, data, canonical.digest(data), answers)
    for key, blob in local.objects.items():
        if key.startswith("blobs/"):
            objects.put(store, key, blob)
    for path, body in answers.items():
        objects.put(store, objects.answer_key(prepared.identity, path), body)
    objects.put(store, objects.revision_key(prepared.identity), prepared.data)
    with pytest.raises(MarketError, match="not published") as raised:
        store.swap_head(None, wrong.head(prepared.identity))
    assert reason in raised.value.message
