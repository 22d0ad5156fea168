"""Publish, rollback, republish, remove and collect at the same time, and dead in the middle."""

import threading
from collections.abc import Callable, Iterator
from itertools import count, product
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.aged import AgedStore
from support.crowd import FULL, chain_of, stride
from support.market import OLD, PNG, Clock, build_candidate, hands
from support.turns import Turns

from olares_apps.errors import MarketError
from olares_apps.market import canonical, objects
from olares_apps.market.commit import Hands
from olares_apps.market.history import status
from olares_apps.market.publish import publish
from olares_apps.market.retention import Retention
from olares_apps.market.retreat import remove, republish, rollback
from olares_apps.market.verify import verify

Action = Callable[[AgedStore, Hands], object]

APPS: Final = ("demoalpha", "demobravo")
CANDIDATES: Final = {
    (app, number): build_candidate(
        app, f"1.0.{number}", generations=(OLD,), image=f"b{number}", icon=PNG + bytes([number])
    )
    for app in APPS
    for number in (0, 2, 4, 6)
}


class _Killed(BaseException):
    """The end of a process: nothing of it runs any more."""


def _publish(app: str, number: int) -> Action:
    return lambda store, made: publish(store, [CANDIDATES[app, number]], publisher="p", hands=made)


def _collect(store: AgedStore, made: Hands) -> None:
    for _ in store.collect(Retention(keep=1), dry_run=False):
        pass


ACTIONS: Final[dict[str, Action]] = {
    "publish": _publish("demoalpha", 4),
    "publish another app": _publish("demobravo", 2),
    "publish a later version": _publish("demoalpha", 6),
    "rollback": lambda store, made: rollback(store, publisher="p", hands=made),
    "republish": lambda store, made: republish(store, publisher="p", hands=made),
    "remove": lambda store, made: remove(store, ["demoalpha"], publisher="p", hands=made),
    "collect": _collect,
}
# What a refused action says: it was too late, or what it went back to is not kept any more.
REFUSALS: Final = (
    "is not greater than published",
    "is already published with",
    "was published from elsewhere meanwhile",
    "steps back",
    "step back",
    "is missing",
)


def _base() -> AgedStore:
    """Return an old market of four revisions, with blobs of a publish that never went live."""
    store, made = AgedStore(), hands()
    for app, number in (("demoalpha", 0), ("demobravo", 0), ("demoalpha", 2)):
        publish(store, [CANDIDATES[app, number]], publisher="base", hands=made)
    for archive in CANDIDATES["demoalpha", 4].archives:
        for data in (archive.data, canonical.encode(archive.detail)):
            store.put_if_absent(objects.blob_key(canonical.digest(data)), data)
    store.age()
    return store


BASE: Final = _base()


def _run(store: AgedStore, name: str) -> bool:
    """Do one action; return whether it was done or refused, for a reason that is expected."""
    try:
        ACTIONS[name](store, hands(Clock(10**18)))
    except MarketError as error:
        if any(text in error.message for text in REFUSALS):
            return False
        raise
    return True


def _check(store: AgedStore, done: Iterator[str] | list[str]) -> None:
    """Check what holds of a market, whoever did what in which order."""
    assert store.broken == []
    store.before = lambda operation: None
    chain = chain_of(store, collected="collect" in done)
    assert chain == store.heads[::-1][: len(chain)]
    assert verify(store).problems == []
    revision = status(store).state.revision
    assert revision is not None
    for name, (app, number) in {
        "publish": ("demoalpha", 4),
        "publish another app": ("demobravo", 2),
        "publish a later version": ("demoalpha", 6),
    }.items():
        if name in done:
            ledger = objects.read_ledger(store, revision.apps[app].ledger, app)
            (archive,) = CANDIDATES[app, number].archives
            assert ledger.charts[f"{app}-1.0.{number}.tgz"].archive.sha256 == archive.sha256


def _writes(name: str) -> int:
    """Return how many times an action alone writes or removes."""
    seen: list[str] = []
    _run(BASE.copy(seen.append), name)
    return sum(_is_write(operation) for operation in seen)


def _is_write(operation: str) -> bool:
    return operation.startswith(("put", "swap", "remove"))


def _at_write(step: int, then: Callable[[], None]) -> Callable[[str], None]:
    """Return a hook that calls ``then`` just before the write number ``step``, once."""
    writes = count()

    def before(operation: str) -> None:
        if _is_write(operation) and next(writes) == step:
            then()

    return before


def _steps(writes: int, offset: int) -> list[int]:
    """Return the writes to stop at: some in the middle, and all of the end."""
    apart = stride(16)
    return sorted({*range(offset % apart, writes, apart), writes - 2, writes - 1} - {-1})


PAIRS: Final = list(product(ACTIONS, ACTIONS))


@pytest.mark.parametrize("first", ACTIONS)
def test_an_action_that_is_overtaken_at_any_write_loses_nothing(first: str) -> None:
    writes = _writes(first)
    for number, second in enumerate(ACTIONS):
        for step in _steps(writes, number):
            store, done = BASE.copy(), []

            def overtake(store: AgedStore = store, second: str = second) -> None:
                mine = store.before
                store.before = lambda operation: None
                if _run(store, second):
                    done.append(second)  # noqa: B023 - called in this round only
                store.before = mine

            store.before = _at_write(step, overtake)
            if _run(store, first):
                done.append(first)
            _check(store, done)


@pytest.mark.parametrize("first", ACTIONS)
def test_an_action_that_dies_at_any_write_hinders_nobody_and_its_rerun_completes(
    first: str,
) -> None:
    def die() -> None:
        raise _Killed

    writes = _writes(first)
    for number, second in enumerate(ACTIONS):
        for step in _steps(writes, number):
            store, done = BASE.copy(_at_write(step, die)), []
            with pytest.raises(_Killed):
                _run(store, first)
            assert store.heads == BASE.heads
            store.before = lambda operation: None
            done += [name for name in (second, first) if _run(store, name)]
            _check(store, done)


@settings(max_examples=2000 if FULL else 40, deadline=None, derandomize=not FULL)
@given(
    st.lists(st.sampled_from(sorted(ACTIONS)), min_size=2, max_size=3),
    st.lists(st.integers(0, 5), max_size=200),
    st.dictionaries(st.integers(0, 2), st.integers(0, 60), max_size=2),
)
def test_actions_in_any_interleaving_with_deaths_keep_a_whole_market(
    names: list[str], order: list[int], deaths: dict[int, int]
) -> None:
    turns, mine = Turns(order, len(names)), threading.local()
    done: list[str] = []
    errors: list[BaseException] = []

    def before(operation: str) -> None:
        turns.wait(mine.who)
        mine.count += 1
        if mine.count == deaths.get(mine.who):
            raise _Killed

    store = BASE.copy(before)

    def work(who: int) -> None:
        mine.who, mine.count = who, 0
        try:
            if _run(store, names[who]):
                done.append(names[who])
        except _Killed:
            pass
        except BaseException as error:  # reported by the test's own thread
            errors.append(error)
        finally:
            turns.done(who)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    _check(store, done)
    for name in names:
        if _run(store, name):
            done.append(name)
    _check(store, done)
