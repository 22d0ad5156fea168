"""Publishing through the client into a Worker: nothing lost, nothing half visible."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from support.crowd import FULL
from support.devices import listed
from support.market import (
    NEW,
    OLD,
    PNG,
    build_candidate,
    die_at,
    hands,
    in_process,
    start_process,
)
from support.worker import Worker, make_token, running

from olares_apps.errors import MarketError
from olares_apps.market.candidates import Candidate
from olares_apps.market.commit import Hands
from olares_apps.market.dir_store import DirStore
from olares_apps.market.history import history, status
from olares_apps.market.http_store import HttpStore
from olares_apps.market.mirror import mirror
from olares_apps.market.publish import publish
from olares_apps.market.retention import DAY_SECONDS, Retention
from olares_apps.market.retreat import remove, republish, rollback
from olares_apps.market.verify import verify

PUBLISHERS = 8
FIRST = build_candidate("demoalpha", "1.0.0")
SECOND = [build_candidate("demoalpha", "1.0.2", image="b2", icon=PNG), build_candidate("demobravo")]
OLD_STATE = {"demoalpha": {OLD: "1.0.0", NEW: "1.0.1"}}
NEW_STATE = {
    "demoalpha": {OLD: "1.0.2", NEW: "1.0.3"},
    "demobravo": {OLD: "1.0.0", NEW: "1.0.1"},
}


def _chain(store: HttpStore) -> list[str]:
    """Return the publishers from the newest revision back, and check that it is one chain."""
    entries = list(history(store))
    for entry, older in zip(entries, [*entries[1:], None], strict=True):
        assert entry.revision.parent == (older.identity if older else None)
    return [entry.revision.publisher for entry in entries]


def test_what_is_published_is_live_verified_and_published_once(worker: Worker) -> None:
    store = worker.store()
    first = publish(store, [FIRST], publisher="t", hands=hands())
    assert (first.changed, first.attempts) == (True, 1)
    assert first.verified > 20
    assert listed(worker.url) == OLD_STATE
    again = publish(store, [FIRST], publisher="t", hands=hands())
    assert (again.changed, again.revision) == (False, first.revision)
    publish(store, SECOND, publisher="t", hands=hands())
    assert listed(worker.url) == NEW_STATE
    assert verify(store).problems == []
    blobs = list(store.list("blobs/sha256"))
    assert blobs == sorted(set(blobs))
    assert all(store.exists(key) for key in blobs[:3])
    assert not store.exists(f"blobs/sha256/{'0' * 64}")
    assert store.get(f"blobs/sha256/{'0' * 64}") is None


def test_a_worker_and_a_folder_hold_the_same_objects(worker: Worker, tmp_path: Path) -> None:
    folder, remote = DirStore(tmp_path / "m"), worker.store()
    for candidates in ([FIRST], SECOND):
        for store in (folder, remote):
            publish(store, candidates, publisher="t", hands=hands())
    for prefix in ("blobs/sha256", "revisions", "responses"):
        keys = list(folder.list(prefix))
        assert list(remote.list(prefix)) == keys
        assert [remote.get(key) for key in keys[::7]] == [folder.get(key) for key in keys[::7]]
    assert remote.read_head()[0] == folder.read_head()[0]


def test_rollback_remove_and_republish_work_as_in_a_folder(worker: Worker) -> None:
    store, made = worker.store(), hands()
    publish(store, [FIRST], publisher="t", hands=made)
    publish(store, SECOND, publisher="t", hands=made)
    rollback(store, publisher="t", hands=made)
    assert listed(worker.url) == OLD_STATE
    publish(store, [build_candidate("demobravo", "1.0.2")], publisher="t", hands=made)
    remove(store, ["demobravo"], publisher="t", hands=made)
    assert listed(worker.url) == OLD_STATE
    newest = build_candidate("demoalpha", "1.0.4", image="b4")
    publish(store, [newest], publisher="t", hands=made)
    entries = list(history(store))
    first = entries[-1].identity
    republish(store, to=first, publisher="t", hands=made)
    assert listed(worker.url) == {"demoalpha": {OLD: "1.0.6", NEW: "1.0.7"}}
    assert len(_chain(store)) == 7
    assert verify(store).problems == []


def _together(tmp_path: Path, work: Callable[[int], None]) -> list[int]:
    children = [start_process(lambda n=n: work(n)) for n in range(PUBLISHERS)]  # type: ignore[misc]
    return [os.waitpid(child, 0)[1] for child in children]


def test_publishers_at_once_all_win_and_the_history_is_a_chain(
    worker: Worker, tmp_path: Path
) -> None:
    def work(number: int) -> None:
        candidate = build_candidate(f"demo{number}")
        publish(worker.store(), [candidate], publisher=str(number), hands=Hands())

    assert _together(tmp_path, work) == [0] * PUBLISHERS
    store = worker.store()
    assert status(store).live == {
        f"demo{number}": {OLD: "1.0.0", NEW: "1.0.1"} for number in range(PUBLISHERS)
    }
    assert sorted(_chain(store)) == [str(number) for number in range(PUBLISHERS)]
    assert verify(store).problems == []


def test_of_publishers_of_one_app_one_wins_and_the_others_are_told(
    worker: Worker, tmp_path: Path
) -> None:
    def work(number: int) -> None:
        candidate = build_candidate("demoalpha", "1.0.0", image=f"b{number}")
        try:
            publish(worker.store(), [candidate], publisher=f"p{number}", hands=Hands())
            (tmp_path / f"won-p{number}").touch()
        except MarketError as error:
            (tmp_path / f"lost-{number}").write_text(error.message)

    assert _together(tmp_path, work) == [0] * PUBLISHERS
    (winner,) = [path.name.removeprefix("won-") for path in tmp_path.glob("won-*")]
    assert _chain(worker.store()) == [winner]
    told = [path.read_text() for path in tmp_path.glob("lost-*")]
    assert len(told) == PUBLISHERS - 1
    assert all("1.0.0 is already published with sha256" in message for message in told)


def test_a_publisher_killed_at_a_step_leaves_old_or_new_and_a_rerun_completes(
    worker: Worker,
) -> None:
    steps: list[str] = []
    publish(worker.store(), [FIRST], publisher="t", hands=hands())
    publish(worker.store(), SECOND, publisher="t", hands=hands(on_step=steps.append))
    last = len(steps) - 1
    assert steps[last - 1 :] == ["head.json", "verify"]
    # Blobs, answers, the revision, the head, and after it: one kill in each part.
    for number, step in enumerate(range(last + 1) if FULL else (3, 12, last - 1, last)):
        alpha, bravo = f"alpha{number}", f"bravo{number}"
        publish(worker.store(), [build_candidate(alpha)], publisher="t", hands=hands())
        second = [build_candidate(alpha, "1.0.2", image="b2", icon=PNG), build_candidate(bravo)]

        def killed(second: list[Candidate] = second, step: int = step) -> None:
            publish(worker.store(), second, publisher="t", hands=hands(on_step=die_at(step)))

        assert in_process(killed) == -signal.SIGKILL
        offered = listed(worker.url)
        assert (offered[alpha], bravo in offered) == (
            (NEW_STATE if step == last else OLD_STATE)["demoalpha"],
            step == last,
        )
        report = publish(worker.store(), second, publisher="t", hands=hands())
        assert report.changed is (step != last)
        offered = listed(worker.url)
        assert {"demoalpha": offered[alpha], "demobravo": offered[bravo]} == NEW_STATE
    assert verify(worker.store()).problems == []


def test_a_worker_killed_between_writes_loses_nothing(worker: Worker) -> None:
    steps: list[str] = []
    publish(worker.store(), [FIRST], publisher="t", hands=hands())

    def restart(name: str) -> None:
        steps.append(name)
        if len(steps) in (3, 12) or name in ("head.json", "verify"):
            worker.kill()
            worker.start()

    report = publish(worker.store(), SECOND, publisher="t", hands=hands(on_step=restart))
    assert (report.changed, report.attempts) == (True, 1)
    assert listed(worker.url) == NEW_STATE
    assert verify(worker.store()).problems == []


def test_nothing_of_a_token_reaches_the_log(bundle: Path, tmp_path: Path) -> None:
    token, wrong = make_token(), make_token()
    with running(bundle, tmp_path / "state", tokens=(token,)) as worker:
        publish(worker.store(), [FIRST], publisher="t", hands=hands())
        worker.tokens = (wrong,)
        with pytest.raises(MarketError, match="a valid bearer token is needed") as raised:
            publish(worker.store(), SECOND, publisher="t", hands=hands())
        assert wrong.text not in raised.value.message
    for secret in (token.text, wrong.text, json.dumps(token.entry["sha256"])):
        assert secret not in worker.log


def test_a_copy_may_begin_where_its_source_begins(worker: Worker, tmp_path: Path) -> None:
    source = DirStore(tmp_path / "source")
    made = hands()
    for number in range(4):
        update = build_candidate("demoalpha", f"1.0.{2 * number}", image=f"b{number}")
        publish(source, [update], publisher="t", hands=made)
    rollback(source, publisher="t", hands=made)
    then = DAY_SECONDS * 10
    for path in (tmp_path / "source").rglob("*"):
        os.utime(path, (then, then))
    list(source.collect(Retention(keep=2), dry_run=False))
    store = worker.store()
    mirror(source, store)
    assert len(list(history(store))) == 2
    assert verify(store).problems == []
    newer = build_candidate("demoalpha", "1.0.8", image="b8")
    publish(store, [newer], publisher="t", hands=made)
    assert status(store).live == {"demoalpha": {OLD: "1.0.8", NEW: "1.0.9"}}
