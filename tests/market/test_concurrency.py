"""Publishers at the same time: nothing is lost, nothing is doubled, the history is a chain."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.crowd import Crowd, at_once, chain_of
from support.market import (
    NEW,
    OLD,
    Clock,
    MemoryStore,
    build_candidate,
    hands,
)
from support.turns import Turns

from olares_apps.errors import Conflict, MarketError
from olares_apps.market.candidates import Candidate
from olares_apps.market.commit import Hands
from olares_apps.market.dir_store import DirStore
from olares_apps.market.history import history, status
from olares_apps.market.publish import publish
from olares_apps.market.store import Store
from olares_apps.market.verify import verify

PROCESSES = 10


def _chain(store: Store) -> list[str]:
    """Return the publishers from the newest revision back, and check that it is one chain."""
    chain_of(store)
    return [entry.revision.publisher for entry in history(store)]


def _together(tmp_path: Path, work: Callable[[int], None]) -> None:
    assert at_once(tmp_path, PROCESSES, work) == [0] * PROCESSES


def test_a_crowd_of_curators_loses_nothing_in_a_folder(tmp_path: Path) -> None:
    crowd, market = Crowd(tmp_path), tmp_path / "market"
    crowd.check(DirStore(market), crowd.publish(f"dir:{market}"))
    assert list((market / "tmp").iterdir()) == []


def test_processes_that_publish_different_apps_all_win(tmp_path: Path) -> None:
    root = tmp_path / "m"
    rounds = ["1.0.0", "1.0.2", "1.0.4"]

    def work(number: int) -> None:
        for version in rounds:
            candidate = build_candidate(f"demo{number}", version, image=version)
            publisher = f"{number} {version}"
            publish(DirStore(root), [candidate], publisher=publisher, hands=Hands())

    _together(tmp_path, work)
    store = DirStore(root)
    assert status(store).live == {
        f"demo{number}": {OLD: "1.0.4", NEW: "1.0.5"} for number in range(PROCESSES)
    }
    chain = _chain(store)
    assert sorted(chain) == sorted(f"{n} {v}" for n in range(PROCESSES) for v in rounds)
    assert verify(store).problems == []
    assert list((root / "tmp").iterdir()) == []


def test_of_processes_that_publish_one_app_one_wins_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"

    def work(number: int) -> None:
        candidate = build_candidate("demoalpha", "1.0.0", image=f"b{number}")
        try:
            publish(DirStore(root), [candidate], publisher=f"p{number}", hands=Hands())
            (tmp_path / f"won-p{number}").touch()
        except MarketError as error:
            (tmp_path / f"lost-{number}").write_text(error.message)

    _together(tmp_path, work)
    (winner,) = [path.name.removeprefix("won-") for path in tmp_path.glob("won-*")]
    assert _chain(DirStore(root)) == [winner]
    told = [path.read_text() for path in tmp_path.glob("lost-*")]
    assert len(told) == PROCESSES - 1
    assert all("1.0.0 is already published with sha256" in message for message in told)
    assert verify(DirStore(root)).ok


def test_processes_that_publish_the_same_bytes_agree(tmp_path: Path) -> None:
    root = tmp_path / "m"
    candidate = build_candidate("demoalpha")
    _together(
        tmp_path,
        lambda number: publish(  # type: ignore[arg-type,return-value]
            DirStore(root), [candidate], publisher="p", hands=Hands()
        ),
    )
    assert _chain(DirStore(root)) == ["p"]


def _publish_at(step: str, other: Callable[[], object]) -> Hands:
    """Return hands whose owner is overtaken by ``other``, once, just before a step."""
    left = [other]

    def on_step(name: str) -> None:
        if name.startswith(step) and left:
            left.pop()()

    return hands(on_step=on_step)


def test_who_loses_the_race_for_one_app_learns_to_whom(tmp_path: Path) -> None:
    store = MemoryStore()
    publish(store, [build_candidate("demoalpha")], publisher="alice", hands=hands())
    theirs = build_candidate("demoalpha", "1.0.2", image="theirs")
    mine = build_candidate("demoalpha", "1.0.2", image="mine")
    overtaken = _publish_at(
        "head", lambda: publish(store, [theirs], publisher="bob", hands=hands(Clock(2 * 10**18)))
    )
    with pytest.raises(Conflict) as raised:
        publish(store, [mine], publisher="alice", hands=overtaken)
    message = raised.value.message
    assert theirs.archives[0].sha256 in message
    assert mine.archives[0].sha256 in message
    assert "it lost to bob, who published it at 2033-05-18T03:33:21" in message
    assert raised.value.hint == "bump it to 1.0.4"
    assert status(store).live["demoalpha"] == {OLD: "1.0.2", NEW: "1.0.3"}


def test_two_publishers_of_different_apps_both_win_at_every_point_of_overtaking() -> None:
    steps: list[str] = []
    trial = MemoryStore()
    publish(trial, [build_candidate("demoalpha")], publisher="x", hands=hands())
    mine = build_candidate("demobravo", "1.2.1")
    publish(trial, [mine], publisher="x", hands=hands(on_step=steps.append))
    for index in range(len(steps)):
        store = MemoryStore()
        publish(store, [build_candidate("demoalpha")], publisher="x", hands=hands())
        count = iter(range(10_000))

        def on_step(name: str, store: MemoryStore = store, at: int = index) -> None:
            if next(count) == at:  # noqa: B023 - each round reads its own counter
                update = build_candidate("demoalpha", "1.0.2", image="b2")
                publish(store, [update], publisher="y", hands=hands())

        report = publish(store, [mine], publisher="x", hands=hands(on_step=on_step))
        assert report.attempts == (1 if steps[index] == "verify" else 2)
        assert status(store).live == {
            "demoalpha": {OLD: "1.0.2", NEW: "1.0.3"},
            "demobravo": {OLD: "1.2.1", NEW: "1.2.2"},
        }
        assert len(_chain(store)) == 3


def test_a_publisher_that_is_always_overtaken_gives_up_with_a_hint() -> None:
    store = MemoryStore()
    versions = iter(range(0, 1000, 2))
    waits: list[float] = []

    def overtake(name: str) -> None:
        if name == "head.json":
            version = f"1.0.{next(versions)}"
            update = build_candidate("demoalpha", version, image=version)
            publish(store, [update], publisher="y", hands=hands())

    mine = hands(
        timer=lambda: 0.0,
        sleep=waits.append,
        jitter=lambda: 1.0,
        retries=8,
        on_step=overtake,
    )
    with pytest.raises(Conflict, match="changed by somebody else 9 times in a row") as raised:
        publish(store, [build_candidate("demobravo")], publisher="x", hands=mine)
    assert raised.value.hint == "run the same command again"
    assert waits == sorted(waits)
    assert max(waits) <= 2.0
    assert status(store).live.keys() == {"demoalpha"}


@pytest.mark.parametrize(
    ("took", "first", "longest"), [(0.0, 0.04, 2.0), (0.5, 1.0, 16.0), (1000.0, 30.0, 30.0)]
)
def test_who_loses_long_rounds_waits_for_as_many_rounds_but_never_for_ever(
    took: float, first: float, longest: float
) -> None:
    store, waits, ticks = MemoryStore(), list[float](), iter(range(1000))
    versions = iter(range(0, 1000, 2))

    def overtake(name: str) -> None:
        if name == "head.json":
            version = f"1.0.{next(versions)}"
            update = build_candidate("demoalpha", version, image=version)
            publish(store, [update], publisher="y", hands=hands())

    mine = hands(
        timer=lambda: next(ticks) * took,
        sleep=waits.append,
        jitter=lambda: 1.0,
        retries=9,
        on_step=overtake,
    )
    with pytest.raises(Conflict):
        publish(store, [build_candidate("demobravo")], publisher="x", hands=mine)
    assert (waits[0], waits[-1]) == (first, longest)
    assert waits == sorted(waits)


APPS = ("demoalpha", "demobravo")
CANDIDATES = {
    (app, version): build_candidate(app, version, generations=(OLD,), image=f"{app}{version}")
    for app in APPS
    for version in ("1.0.0", "1.0.1", "1.0.2")
}
JOBS = st.lists(
    st.lists(st.sampled_from(sorted(CANDIDATES)), min_size=1, max_size=2),
    min_size=2,
    max_size=3,
)


@settings(max_examples=40, deadline=None)
@given(JOBS, st.lists(st.integers(0, 5), max_size=150))
def test_any_interleaving_of_publishers_is_as_if_one_came_after_the_other(
    jobs: list[list[tuple[str, str]]], order: list[int]
) -> None:
    turns = Turns(order, len(jobs))
    names = threading.local()
    store = MemoryStore(lambda operation: turns.wait(names.who))
    published: list[tuple[str, str]] = []
    refusals: list[str] = []
    errors: list[BaseException] = []

    def work(who: int) -> None:
        names.who = who
        try:
            for job in jobs[who]:
                try:
                    clock = Clock(10**18)
                    report = publish(
                        store, [CANDIDATES[job]], publisher=str(who), hands=hands(clock)
                    )
                    if report.changed:
                        published.append(job)
                except MarketError as error:
                    refusals.append(error.message)
        except BaseException as error:  # reported by the test's own thread
            errors.append(error)
        finally:
            turns.done(who)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert all("is not greater than published" in message for message in refusals)
    store.before = lambda operation: None
    _chain(store)
    changes = [
        (change.app, change.after[OLD])
        for entry in reversed(list(history(store)))
        for change in entry.revision.changes
    ]
    # Every publish that reported success is in the history exactly once, versions only rise,
    # and what is live is the last of each app.
    assert sorted(changes) == sorted(published)
    for app in APPS:
        versions = [version for name, version in changes if name == app]
        assert versions == sorted(set(versions))
        if versions:
            assert status(store).live[app][OLD] == versions[-1]
    wanted = {job for work_of in jobs for job in work_of}
    for app in APPS:
        highest = max((version for name, version in wanted if name == app), default=None)
        assert highest == status(store).live.get(app, {}).get(OLD)
    assert verify(store).problems == []


def test_a_lost_race_writes_no_second_copy_of_the_blobs() -> None:
    store = MemoryStore()
    publish(store, [build_candidate("demoalpha")], publisher="x", hands=hands())
    update: Candidate = build_candidate("demoalpha", "1.0.2", image="b2")
    overtaken = _publish_at(
        "blobs/", lambda: publish(store, [update], publisher="y", hands=hands())
    )
    before = len(list(store.list("responses")))
    publish(store, [build_candidate("demobravo")], publisher="x", hands=overtaken)
    per_revision = before
    assert len(list(store.list("responses"))) == 3 * per_revision
