"""Collecting garbage in a folder: what may go goes, and no order of events loses anything."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.crowd import stride
from support.market import (
    NEW,
    OLD,
    PNG,
    build_candidate,
    die_at,
    hands,
    in_process,
    listing,
    start_process,
)

from olares_apps.errors import StoreCorrupt, UsageError
from olares_apps.market import canonical, objects
from olares_apps.market.answers import Answers
from olares_apps.market.candidates import Candidate
from olares_apps.market.dir_store import DirStore
from olares_apps.market.gc import Collected, sweep
from olares_apps.market.history import history, status
from olares_apps.market.publish import publish
from olares_apps.market.retention import DAY_SECONDS, Retention
from olares_apps.market.retreat import rollback
from olares_apps.market.verify import verify

KEEP = Retention(keep=2)
VERSIONS = 6


def _age(root: Path, seconds: float = 2 * DAY_SECONDS) -> None:
    """Make every object older, as a clock cannot be waited for."""
    then = time.time() - seconds
    for path in root.rglob("*.*"):
        if path.is_file():
            os.utime(path, (then, then))
    for path in (root / "blobs").rglob("*"):
        os.utime(path, (then, then))


def _gc(root: Path, retention: Retention = KEEP, *, dry_run: bool = False) -> Collected:
    *_, last = DirStore(root).collect(retention, dry_run=dry_run)
    return last


def _update(number: int, app: str = "demoalpha") -> Candidate:
    return build_candidate(app, f"1.0.{2 * number}", image=f"b{number}", icon=PNG + bytes([number]))


def _lost(root: Path, candidate: Candidate) -> None:
    """Leave the blobs of a publish that gave up: old, unreachable, and wanted again soon."""
    for archive in candidate.archives:
        for data in (archive.data, canonical.encode(archive.detail)):
            DirStore(root).put_if_absent(objects.blob_key(canonical.digest(data)), data)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A market of six publishes of one app, two days old."""
    root = tmp_path / "m"
    for number in range(VERSIONS):
        publish(DirStore(root), [_update(number)], publisher="t", hands=hands())
    _age(root)
    return root


def _files(root: Path) -> dict[str, int]:
    return {name: size for name, (_, size) in listing(root).items() if (root / name).is_file()}


def test_old_revisions_go_and_every_archive_stays(root: Path) -> None:
    chain = [entry.identity for entry in history(DirStore(root))]
    before = _files(root)
    planned = _gc(root, dry_run=True)
    assert _files(root) == before
    done = _gc(root)
    gone = {name: size for name, size in before.items() if name not in _files(root)}
    assert done == planned
    assert (done.removed, done.bytes) == (len(gone), sum(gone.values()))
    assert done.removed > 4 * 15
    assert [entry.identity for entry in history(DirStore(root))] == chain[:2]
    assert sorted(path.name for path in (root / "responses").iterdir()) == sorted(chain[:2])
    assert verify(DirStore(root)).problems == []
    answers = Answers(DirStore(root))
    for number in range(2 * VERSIONS):
        query = {"fileName": f"demoalpha-1.0.{number}.tgz"}
        path = "/api/v1/applications/demoalpha/chart"
        assert answers.respond("GET", path, query).status == 200
    assert _gc(root).removed == 0


def test_what_is_younger_than_a_day_stays_with_all_that_it_reaches(root: Path) -> None:
    chain = list(history(DirStore(root)))
    _lost(root, build_candidate("demobravo"))
    # An old icon of a young revision, as after a mirror of the market.
    os.utime(root / objects.revision_key(chain[3].identity))
    os.utime(root / objects.revision_key(chain[2].identity))
    before = _files(root)
    _gc(root)
    assert [entry.identity for entry in history(DirStore(root))] == [
        entry.identity for entry in chain[:4]
    ]
    assert verify(DirStore(root)).problems == []
    for archive in build_candidate("demobravo").archives:
        assert objects.blob_key(archive.sha256) in before
        assert DirStore(root).exists(objects.blob_key(archive.sha256))


def test_a_longer_age_keeps_more(root: Path) -> None:
    assert _gc(root, Retention(keep=1, age=3 * DAY_SECONDS)).removed == 0
    assert _gc(root, Retention(keep=1)).removed > 0


@pytest.mark.parametrize("wrong", [{"keep": 0}, {"age": DAY_SECONDS - 1}])
def test_less_than_one_revision_or_a_day_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Retention(**wrong)


def test_a_damaged_market_loses_nothing_more(root: Path) -> None:
    chain = list(history(DirStore(root)))
    (root / objects.blob_key(chain[0].revision.apps["demoalpha"].ledger)).write_bytes(b"{}")
    before = _files(root)
    with pytest.raises(StoreCorrupt, match="ledger of demoalpha"):
        _gc(root)
    assert _files(root) == before


def test_an_empty_market_has_no_garbage(tmp_path: Path) -> None:
    assert _gc(tmp_path / "none") == Collected()
    assert not (tmp_path / "none").exists()


def test_a_collector_killed_at_any_step_leaves_a_whole_market(root: Path, tmp_path: Path) -> None:
    after = None
    for step in range(100):
        copy = tmp_path / f"copy{step}"
        shutil.copytree(root, copy)

        def killed(copy: Path = copy, step: int = step) -> None:
            for _ in DirStore(copy, hook=die_at(step)).collect(KEEP, dry_run=False):
                pass

        ended = in_process(killed)
        assert verify(DirStore(copy)).problems == []
        assert status(DirStore(copy)).live == {"demoalpha": {OLD: "1.0.10", NEW: "1.0.11"}}
        _gc(copy)
        after = after or _files(copy)
        assert _files(copy) == after
        if ended == 0:
            break
    assert 4 <= step < 99


def _stop_at(step: int) -> Callable[[str], None]:
    """Return a hook that stops its process at its n-th call, but not while it holds the lock.

    Where the head moves a collector waits, so there is no order of events to try.
    """
    calls = iter(range(step + 1))

    def hook(name: str) -> None:
        if not name.startswith("head ") and next(calls, None) == step:
            os.kill(os.getpid(), signal.SIGSTOP)

    return hook


def test_a_publish_that_finds_old_blobs_keeps_them_wherever_a_collector_comes_between(
    root: Path, tmp_path: Path
) -> None:
    wanted = [_update(VERSIONS), build_candidate("demobravo", icon=PNG)]
    for candidate in wanted:
        _lost(root, candidate)
    _age(root)
    removed = []
    # Every third point: each put has two of them, each answer and each blob is met.
    for step in range(0, 200, 3):
        copy = tmp_path / f"copy{step}"
        shutil.copytree(root, copy)

        def work(copy: Path = copy, step: int = step) -> None:
            publish(DirStore(copy, hook=_stop_at(step)), wanted, publisher="t", hands=hands())

        child = start_process(work)
        _, state = os.waitpid(child, os.WUNTRACED)
        if stopped := os.WIFSTOPPED(state):
            removed.append(_gc(copy).removed)
            os.kill(child, signal.SIGCONT)
            _, state = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(state) == 0
        assert status(DirStore(copy)).live == {
            "demoalpha": {OLD: "1.0.12", NEW: "1.0.13"},
            "demobravo": {OLD: "1.0.0", NEW: "1.0.1"},
        }
        assert verify(DirStore(copy)).problems == []
        if not stopped:
            break
    # Before the first put the collector takes the lost blobs too, after the last none of them.
    assert len(removed) > 10
    assert max(removed) - min(removed) >= 8


def test_a_collector_loses_nothing_wherever_a_publish_comes_between(
    root: Path, tmp_path: Path
) -> None:
    _lost(root, _update(VERSIONS))
    _age(root)
    for step in range(100):
        copy = tmp_path / f"copy{step}"
        shutil.copytree(root, copy)
        calls = iter(range(step + 1))

        def hook(name: str, copy: Path = copy, step: int = step, calls: object = calls) -> None:
            if next(calls, None) == step:  # type: ignore[call-overload]
                publish(DirStore(copy), [_update(VERSIONS)], publisher="t", hands=hands())

        for _ in DirStore(copy, hook=hook).collect(KEEP, dry_run=False):
            pass
        assert verify(DirStore(copy)).problems == []
        if next(calls, None) is not None:
            break
        assert status(DirStore(copy)).live["demoalpha"][OLD] == "1.0.12"
    assert step >= 4


def _sweep_ahead(root: Path, hook: Callable[[str], None] = lambda point: None) -> int:
    """Collect with a clock two days ahead: it takes whatever is young for old."""
    ahead = time.time() + 2 * DAY_SECONDS
    *_, last = sweep(DirStore(root), KEEP, now=ahead, dry_run=False, hook=hook)
    return last.removed


def test_a_publish_outlives_a_collector_whose_clock_is_ahead_wherever_it_comes(
    root: Path, tmp_path: Path
) -> None:
    _gc(root)
    removed, attempts = [], []
    for step in range(0, 200, stride(4)):
        copy = tmp_path / f"copy{step}"
        shutil.copytree(root, copy)
        calls = iter(range(step + 1))

        def on_step(name: str, copy: Path = copy, step: int = step, calls: object = calls) -> None:
            if next(calls, None) == step:  # type: ignore[call-overload]
                removed.append(_sweep_ahead(copy))

        report = publish(
            DirStore(copy), [_update(VERSIONS)], publisher="t", hands=hands(on_step=on_step)
        )
        assert status(DirStore(copy)).live == {"demoalpha": {OLD: "1.0.12", NEW: "1.0.13"}}
        assert verify(DirStore(copy)).problems == []
        if next(calls, None) is not None:
            break
        attempts.append(report.attempts)
    # Before the first put there is nothing to take, and after the move it is wanted; what was
    # taken between is put again.
    assert len(attempts) > 5
    assert (attempts[0], removed[0]) == (1, 0)
    assert set(attempts[1:-1]) == {2}


def test_a_collector_whose_clock_is_ahead_stops_when_the_head_moves(
    root: Path, tmp_path: Path
) -> None:
    for step in range(100):
        copy = tmp_path / f"copy{step}"
        shutil.copytree(root, copy)
        calls, points = iter(range(step + 1)), list[str]()

        def hook(
            name: str,
            copy: Path = copy,
            step: int = step,
            calls: object = calls,
            points: list[str] = points,
        ) -> None:
            points.append(name)
            if next(calls, None) == step:  # type: ignore[call-overload]
                publish(DirStore(copy), [_update(VERSIONS)], publisher="t", hands=hands())

        _sweep_ahead(copy, hook)
        assert verify(DirStore(copy)).problems == []
        if next(calls, None) is not None:
            break
        assert status(DirStore(copy)).live["demoalpha"][OLD] == "1.0.12"
        # Where the publish came before a removal, it was the last that was tried.
        assert len(points) == max(step, 1) + 1
    assert step >= 4


def test_processes_that_publish_while_others_collect_lose_nothing(
    root: Path, tmp_path: Path
) -> None:
    apps = ("demobravo", "democharlie")
    for app in apps:
        for number in range(4):
            _lost(root, _update(number, app))
    _age(root)
    stop = tmp_path / "stop"

    def collecting() -> None:
        while not stop.exists():
            _gc(root)

    def publishing(app: str) -> None:
        for number in range(4):
            publish(DirStore(root), [_update(number, app)], publisher=app)

    collectors = [start_process(collecting) for _ in range(2)]
    publishers = [start_process(lambda app=app: publishing(app)) for app in apps]  # type: ignore[misc]
    ends = [os.waitpid(child, 0)[1] for child in publishers]
    stop.touch()
    ends += [os.waitpid(child, 0)[1] for child in collectors]
    assert ends == [0] * 4
    assert {status(DirStore(root)).live[app][OLD] for app in apps} == {"1.0.6"}
    assert verify(DirStore(root)).problems == []


def test_a_rollback_keeps_the_icon_of_the_revision_that_is_collected_meanwhile(root: Path) -> None:
    target = list(history(DirStore(root)))[4]
    collected = []

    def on_step(name: str) -> None:
        if not collected:
            collected.append(_gc(root, Retention(keep=1)).removed)

    rollback(DirStore(root), to=target.identity, publisher="t", hands=hands(on_step=on_step))
    assert collected[0] > 0
    live = status(DirStore(root)).state.revision
    assert live
    assert live.apps["demoalpha"].icon == target.revision.apps["demoalpha"].icon
    assert verify(DirStore(root)).problems == []
