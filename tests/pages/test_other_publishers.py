"""What another publisher wrote about an app hides no other app and says nothing for the market."""

from dataclasses import replace
from typing import Any

import pytest
from support.market import MemoryStore, hands
from support.pages import build_listing, build_page_candidate

from olares_apps.market.commit import read_state
from olares_apps.market.pages.brief import Brief
from olares_apps.market.prepare import prepare
from olares_apps.market.publish import publish
from olares_apps.market.records import Revision
from olares_apps.market.retreat import remove
from olares_apps.market.verify import verify


def _market(*apps: str) -> tuple[MemoryStore, Revision]:
    store, made = MemoryStore(), hands()
    for app in apps:
        publish(store, [build_page_candidate(app)], publisher="t", hands=made)
    revision = read_state(store).revision
    assert revision is not None
    return store, revision


def _with_brief(revision: Revision, app: str, brief: dict[str, Any]) -> Revision:
    entry = revision.apps[app]
    assert entry.page is not None
    changed = replace(entry, page=replace(entry.page, brief=brief))
    return replace(revision, apps={**revision.apps, app: changed})


def _brief(revision: Revision, app: str) -> dict[str, Any]:
    page = revision.apps[app].page
    assert page is not None
    return dict(page.brief)


def _row(**fields: Any) -> Any:
    def change(brief: dict[str, Any]) -> dict[str, Any]:
        return brief | {"rows": [brief["rows"][0] | fields]}

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda brief: {},
        lambda brief: {"rows": 5},
        lambda brief: brief | {"rows": [5]},
        lambda brief: brief | {"rows": [{}]},
        lambda brief: brief | {"modalities": "text"},
        lambda brief: brief | {"summary": None},
        lambda brief: brief | {"ctx": "many"},
        lambda brief: brief | {"gpu_memory": [1]},
        _row(tps="fast"),
        _row(tps="1e999999"),
        _row(tps=None),
        _row(acceptance="-1"),
        _row(conditions={}),
        _row(settings={"a": 1}),
    ],
)
def test_a_brief_that_cannot_be_read_stops_nobody(change: Any) -> None:
    store, revision = _market("demoalpha", "demobravo")
    broken = _with_brief(revision, "demobravo", change(_brief(revision, "demobravo")))
    following = replace(
        broken, parent=read_state(store).identity, created=broken.created + 10**9, changes=()
    )
    made = prepare(following)
    index = made.answers["pages/index.html"].decode()
    assert 'href="apps/demoalpha"' in index
    assert "demobravo" in index
    for path, data in made.answers.items():
        store.put_if_absent(f"responses/{made.identity}/{path}", data)
    store.put_if_absent(f"revisions/{made.identity}.json", made.data)
    store.swap_head(store.read_head()[1], made.revision.head(made.identity))
    assert "demobravo: what lists say of its page cannot be read" in verify(store).problems
    publish(store, [build_page_candidate("democharlie")], publisher="t", hands=hands())
    remove(store, ["demobravo"], publisher="t", hands=hands())
    assert verify(store).problems == ["demobravo: what lists say of its page cannot be read"]


def test_an_app_that_is_only_listed_may_have_a_bad_one_too() -> None:
    store = MemoryStore()
    publish(store, [build_listing("demolisted")], publisher="t", hands=hands())
    revision = read_state(store).revision
    assert revision is not None
    made = prepare(_with_brief(revision, "demolisted", {}))
    assert b"demolisted" in made.answers["pages/index.html"]


def test_a_good_brief_reads_back_as_it_was() -> None:
    _, revision = _market("demoalpha")
    brief = _brief(revision, "demoalpha")
    assert Brief.from_json(brief).to_json() == brief


def test_one_app_does_not_say_where_the_market_is() -> None:
    _, revision = _market("demoalpha", "demobravo", "democharlie")
    for app, address in (
        ("demoalpha", "https://elsewhere.example"),
        ("demobravo", "https://market.example"),
        ("democharlie", "https://market.example"),
    ):
        brief = _brief(revision, app) | {"address": address}
        revision = _with_brief(revision, app, brief)
    index = prepare(revision).answers["pages/index.html"].decode()
    assert "https://market.example" in index
    assert "https://elsewhere.example" not in index
