"""The pages for people come from the Worker as the local server gives them, with their policy."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from support.market import MemoryStore, hands
from support.pages import build_listing, build_page_candidate
from support.worker import Worker, make_token, running

from olares_apps.errors import MarketError
from olares_apps.market import canonical, objects
from olares_apps.market.answers import Answers
from olares_apps.market.commit import read_state
from olares_apps.market.http_store import HttpStore
from olares_apps.market.mirror import mirror
from olares_apps.market.prepare import PAGES, Prepared, prepare
from olares_apps.market.publish import publish
from olares_apps.market.records import Head
from olares_apps.market.retreat import remove

STRICT = (
    f"style-src 'sha256-{'A' * 43}='; script-src 'sha256-{'B' * 43}='; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
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
        *[
            ({"/": {"csp": f"default-src 'none'; {more}"}}, "/ is not served as its app says, or")
            for more in (
                "script-src 'unsafe-inline'",
                "script-src https://elsewhere.example",
                f"{STRICT}; script-src-elem *",
                STRICT.replace("'self' data:", "*"),
                STRICT.replace("form-action 'self'", "form-action *"),
            )
        ],
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
    with pytest.raises(MarketError, match="not published") as raised:
        _swap(store, local, good, change)
    assert reason in raised.value.message


def test_a_token_for_some_apps_brings_no_script(bundle: Path, tmp_path: Path) -> None:
    tokens = make_token(), make_token(apps=("demob",))
    csp = f"default-src 'none'; {STRICT}"
    with running(bundle, tmp_path / "state", tokens=tokens) as worker:
        whole, limited = worker.store(index=0), worker.store(index=1)
        made = hands()
        publish(whole, [build_page_candidate("demoalpha")], publisher="t", hands=made)
        publish(limited, [build_page_candidate("demobravo")], publisher="t", hands=made)
        local = MemoryStore()
        mirror(whole, local)
        update = build_page_candidate("demobravo", "1.0.2", image="b2")
        publish(local, [update], publisher="t", hands=made)
        revision = read_state(local).revision
        assert revision is not None
        assert revision.apps["demobravo"].page is not None
        own = replace(revision.apps["demobravo"].page, csp=csp)
        apps = {**revision.apps, "demobravo": replace(revision.apps["demobravo"], page=own)}
        for good, change in (
            (prepare(revision), {"/": {"csp": csp}}),
            (prepare(replace(revision, apps=apps)), {}),
        ):
            with pytest.raises(MarketError, match="may not bring pages with a script of their own"):
                _swap(limited, local, good, change)
        assert whole.read_head()[0] == _before(local)
        _swap(whole, local, good, change)
    assert good.revision.apps["demobravo"].greatest == "1.0.3"


def test_an_entry_that_nobody_sees_vouches_for_no_script(bundle: Path, tmp_path: Path) -> None:
    tokens = make_token(), make_token(apps=("demob",), scopes=("publish", "rollback"))
    csp = f"default-src 'none'; {STRICT}"
    with running(bundle, tmp_path / "state", tokens=tokens) as worker:
        whole, limited = worker.store(index=0), worker.store(index=1)
        made = hands()
        publish(whole, [build_page_candidate("demoalpha")], publisher="t", hands=made)
        local = MemoryStore()
        mirror(whole, local)
        publish(local, [build_listing("demobx")], publisher="t", hands=made)
        state = read_state(local)
        assert state.revision is not None
        listed = state.revision.apps["demobx"]
        assert listed.page is not None
        hidden = replace(listed, state="removed", page=replace(listed.page, csp=csp))
        revision = replace(state.revision, apps={**state.revision.apps, "demobx": hidden})
        with pytest.raises(MarketError, match="may not bring pages with a script of their own"):
            _swap(limited, local, prepare(revision), {})
        # Whoever may bring one leaves it with an app that is gone: it is new again for the others.
        _swap(whole, local, prepare(revision), {})
        live = read_state(whole)
        assert live.revision is not None
        again = replace(
            live.revision,
            parent=live.identity,
            created=live.revision.created + 10**9,
            apps={**live.revision.apps, "demobx": replace(hidden, state="listed")},
        )
        with pytest.raises(MarketError, match="may not bring pages with a script of their own"):
            _swap(limited, local, prepare(again), {})


def _before(local: MemoryStore) -> Head | None:
    """Return the head that the local market had before its last publish."""
    parent = read_state(local).revision
    assert parent is not None
    assert parent.parent is not None
    return objects.read_revision(local, parent.parent).head(parent.parent)


def _swap(
    store: HttpStore, local: MemoryStore, good: Prepared, change: Mapping[str, Mapping[str, str]]
) -> None:
    """Put a revision of ``local`` in place with other routes, and move the head to it."""
    routes = canonical.decode(good.answers[PAGES])["routes"]
    for path, fields in change.items():
        routes[path] = dict(routes.get(path) or routes["/"]) | dict(fields)
    pages = canonical.encode({"routes": routes})
    answers = dict(good.answers) | {PAGES: pages}
    digests = dict(good.revision.answers) | {PAGES: canonical.digest(pages)}
    altered = replace(good.revision, answers=digests)
    data = altered.encode()
    prepared = Prepared(altered, data, canonical.digest(data), answers)
    for key, blob in local.objects.items():
        if key.startswith("blobs/"):
            objects.put(store, key, blob)
    for path, body in answers.items():
        objects.put(store, objects.answer_key(prepared.identity, path), body)
    objects.put(store, objects.revision_key(prepared.identity), prepared.data)
    store.swap_head(store.read_head()[1], altered.head(prepared.identity))
