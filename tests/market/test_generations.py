"""What another hand, or another release of olapps, did to a market is seen and set right."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from support.market import NEW, OLD, MemoryStore, build_candidate, hands

from olares_apps.errors import MarketError
from olares_apps.market import canonical, objects
from olares_apps.market.answers import Answers
from olares_apps.market.commit import read_state
from olares_apps.market.history import status
from olares_apps.market.prepare import Prepared, prepare
from olares_apps.market.publish import plan_publish, publish
from olares_apps.market.records import WINDOWS, Revision, Window
from olares_apps.market.retreat import remove, rollback
from olares_apps.market.verify import verify

ALPHA = build_candidate("demoalpha")


def _plant(store: MemoryStore, prepared: Prepared) -> None:
    """Make a revision the live one, as a hand does that asks nobody."""
    for path, data in prepared.answers.items():
        objects.put(store, objects.answer_key(prepared.identity, path), data)
    objects.put(store, objects.revision_key(prepared.identity), prepared.data)
    head = prepared.revision.head(prepared.identity)
    assert store.swap_head(store.read_head()[1], head)


def _next(store: MemoryStore, **changes: object) -> Revision:
    state = read_state(store)
    assert state.revision is not None
    created = state.revision.created + 10**9
    following = replace(state.revision, parent=state.identity, created=created, changes=())
    return replace(following, **changes)  # type: ignore[arg-type]


@pytest.fixture
def store() -> MemoryStore:
    market = MemoryStore()
    publish(market, [ALPHA], publisher="t", hands=hands())
    publish(market, [build_candidate("demobravo")], publisher="t", hands=hands())
    return market


def _apps(store: MemoryStore, version: str) -> list[str]:
    answer = Answers(store).respond("GET", "/api/v1/appstore/info", {"version": version})
    apps = json.loads(answer.body)["data"]["apps"].values()
    return sorted(app["name"] for app in apps)


def _moved() -> tuple[Window, ...]:
    first, *others = WINDOWS
    return replace(first, first="1.12.5"), *others


@pytest.mark.parametrize(
    "act",
    [
        lambda store: publish(store, [ALPHA], publisher="t", hands=hands()),
        lambda store: rollback(store, publisher="t", hands=hands()),
        lambda store: remove(store, [], publisher="t", hands=hands()),
    ],
    ids=["publish", "rollback", "remove"],
)
def test_generations_that_were_moved_are_told_and_set_right(
    act: Callable[[MemoryStore], object], store: MemoryStore
) -> None:
    _plant(store, prepare(_next(store, generations=_moved())))
    assert _apps(store, "1.12.4") == []
    assert [text for text in status(store).warnings if "generations" in text]
    act(store)
    assert status(store).warnings == []
    assert _apps(store, "1.12.4") == ["demoalpha", "demobravo"]
    assert verify(store).problems == []


def test_an_app_that_is_unchanged_is_no_reason_to_leave_moved_generations(
    store: MemoryStore,
) -> None:
    assert plan_publish(store, [ALPHA]).empty
    _plant(store, prepare(_next(store, generations=_moved())))
    planned = plan_publish(store, [ALPHA])
    assert planned.drawn_anew
    assert not planned.empty
    assert planned.changes == []


def test_a_market_of_a_newer_olapps_is_left_alone(store: MemoryStore) -> None:
    newer = Window("olares-1.13.0", "1.13.0", None, ">=1.13.0")
    old, new = WINDOWS
    generations = (old, replace(new, before="1.13.0"), newer)
    _plant(store, prepare(_next(store, generations=generations)))
    before = dict(store.objects), store.read_head()
    for act in (
        lambda: publish(store, [build_candidate("democharlie")], publisher="t", hands=hands()),
        lambda: plan_publish(store, [ALPHA]),
        lambda: rollback(store, publisher="t", hands=hands()),
        lambda: remove(store, ["demoalpha"], publisher="t", hands=hands()),
    ):
        with pytest.raises(MarketError, match="which this olapps") as told:
            act()
        assert "update olapps" in (told.value.hint or "")
    assert (dict(store.objects), store.read_head()) == before
    assert "the generations are not those of this olapps" in status(store).warnings[-1]


@pytest.mark.parametrize("path", [f"{OLD}/info.json", f"{NEW}/hash.json", "any/taxonomy.json"])
def test_an_answer_that_says_something_else_is_named(path: str, store: MemoryStore) -> None:
    good = prepare(_next(store))
    document = json.loads(good.answers[path]) | {"hash": "of another"}
    answers = {**good.answers, path: canonical.encode(document)}
    digests = {name: canonical.digest(data) for name, data in answers.items()}
    altered = replace(good.revision, answers=digests)
    data = altered.encode()
    _plant(store, Prepared(altered, data, canonical.digest(data), answers))
    assert status(store).warnings == [f"{path} does not say what the revision says"]
    problems = verify(store).problems
    assert [text for text in problems if text.startswith(f"{path} of revision")]


def test_a_hash_that_nobody_computed_is_named(store: MemoryStore) -> None:
    good = prepare(_next(store))
    altered = replace(good.revision, hash="0" * 64)
    data = altered.encode()
    _plant(store, Prepared(altered, data, canonical.digest(data), good.answers))
    assert status(store).warnings == ["hash does not say what the revision says"]
