"""Either side of a publish is killed at any point: the market stays whole, and a rerun completes.

The suite stops at some of the points, `make prove` at every one.
"""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.bucket import age, lower_fence
from support.crowd import FULL, chain_of
from support.devices import listed
from support.market import NEW, OLD, Clock, build_candidate, hands, in_process
from support.pages import build_listing, build_page_candidate
from support.worker import Worker, make_token, running

from olares_apps.market import canonical, objects
from olares_apps.market.candidates import Candidate
from olares_apps.market.history import history
from olares_apps.market.http_store import HttpStore
from olares_apps.market.patience import Patience
from olares_apps.market.publish import publish
from olares_apps.market.retention import Retention
from olares_apps.market.verify import verify

MANY = 10**6
KEPT = Retention(keep=10)
REVISIONS = KEPT.keep + 2
TOKENS = (make_token(scopes=("publish", "rollback", "collect")),)
OLD_VERSIONS, NEW_VERSIONS = {OLD: "1.0.0", NEW: "1.0.1"}, {OLD: "1.0.2", NEW: "1.0.3"}
PREFIXES = ("blobs/sha256", "responses", "revisions")


@pytest.fixture
def mortal(bundle: Path, tmp_path: Path) -> Iterator[Worker]:
    """A Worker that can be told to die between two of its writes."""
    options: dict[str, Any] = {"tokens": TOKENS, "around": "test/mortal.js"}
    with running(bundle, tmp_path / "state", **options) as worker:
        yield worker


def _arm(worker: Worker, points: int) -> int:
    """Let the Worker die after so many points; return how many were left until now."""
    before = httpx.get(f"{worker.url}/health")
    httpx.get(f"{worker.url}/health", headers={"x-die-at": str(points)})
    left = before.headers["x-points-left"]
    return MANY if left == "Infinity" else int(left)


def _some(total: int, *always: int) -> list[int]:
    """Return the points to die at, of so many; all of them in a full proof."""
    return sorted({*range(0, total, 1 if FULL else total // 2), *always})


def _until_dead(worker: Worker, then: Callable[[], None]) -> tuple[HttpStore, list[str]]:
    """Return a store whose client ends the Worker when it does not answer, and starts it anew."""
    deaths: list[str] = []

    def sleep(seconds: float) -> None:
        if not deaths:
            worker.kill()
            deaths.append("killed")
            lower_fence(worker)
            worker.start()
            then()

    return worker.store(patience=Patience(sleep=sleep)), deaths


def _wanted(number: int) -> list[Candidate]:
    """Return what is published at once: an update, and an app that is only listed, with pages."""
    update = build_page_candidate(f"demo{number}", "1.0.2", image="b2")
    return [update, build_listing(f"listed{number}")]


def test_a_worker_killed_between_any_writes_serves_a_whole_market_and_the_publish_goes_on(
    mortal: Worker,
) -> None:
    clock, seen = Clock(), list[bool]()

    def publish_dying_at(number: int, points: int) -> int:
        app = f"demo{number}"
        publish(mortal.store(), [build_page_candidate(app)], publisher="t", hands=hands(clock))

        def look() -> None:
            offered = listed(mortal.url)[app]
            assert offered in (OLD_VERSIONS, NEW_VERSIONS)
            assert httpx.get(f"{mortal.url}/apps/{app}").status_code == 200
            there = httpx.get(f"{mortal.url}/apps/listed{number}").status_code == 200
            assert there is (offered == NEW_VERSIONS)
            seen.append(there)
            assert verify(mortal.store()).problems == []

        store, deaths = _until_dead(mortal, look)
        _arm(mortal, points)
        report = publish(store, _wanted(number), publisher="t", hands=hands(clock))
        assert report.changed
        assert (deaths == []) is (points == MANY)
        assert listed(mortal.url)[app] == NEW_VERSIONS
        return MANY - _arm(mortal, MANY)

    total = publish_dying_at(0, MANY)
    assert total > 60
    for number, points in enumerate(_some(total, total - 2, total - 1), 1):
        publish_dying_at(number, points)
    # Only after the head was written, before the answer, the new state is there.
    assert seen == [False] * (len(seen) - 1) + [True]
    chain_of(mortal.store())
    assert verify(mortal.store()).problems == []


class _Half(httpx.SyncByteStream):
    """A body in whose middle its sender is killed."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body[: len(self._body) // 2]
        os.kill(os.getpid(), signal.SIGKILL)


class _DyingInside(httpx.HTTPTransport):
    """Sends, of all bodies, the n-th one to its middle."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._left = number

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            if self._left == 0:
                request.stream = _Half(request.read())
            self._left -= 1
        return super().handle_request(request)


def test_a_publisher_killed_in_the_middle_of_any_body_leaves_the_old_market(worker: Worker) -> None:
    clock, steps = Clock(), list[str]()
    publish(worker.store(), [build_page_candidate("demo0")], publisher="t", hands=hands(clock))
    counted = hands(clock, on_step=steps.append)
    publish(worker.store(), _wanted(0), publisher="t", hands=counted)
    bodies = steps.index("head.json") + 1
    for number, body in enumerate(_some(bodies, bodies - 2, bodies - 1), 1):
        app = f"demo{number}"
        publish(worker.store(), [build_page_candidate(app)], publisher="t", hands=hands(clock))

        def killed(number: int = number, body: int = body) -> None:
            with httpx.Client(timeout=60, transport=_DyingInside(body)) as client:
                store = worker.store(client=client)
                publish(store, _wanted(number), publisher="t", hands=hands(clock))

        assert in_process(killed) == -signal.SIGKILL
        assert listed(worker.url)[app] == OLD_VERSIONS
        # The clock of the one that died stopped with it.
        assert publish(worker.store(), _wanted(number), publisher="t", hands=hands(clock)).changed
        assert listed(worker.url)[app] == NEW_VERSIONS
    chain_of(worker.store())
    assert verify(worker.store()).problems == []


def test_a_collector_killed_between_any_writes_leaves_a_whole_market_and_a_rerun_finishes(
    mortal: Worker, tmp_path: Path
) -> None:
    clock = Clock()
    for number in range(REVISIONS):
        candidate = build_candidate("demoalpha", f"1.0.{2 * number}", image=f"b{number}")
        publish(mortal.store(), [candidate], publisher="t", hands=hands(clock))
    chain = [entry.identity for entry in history(mortal.store())]
    offered = listed(mortal.url)

    def everything() -> list[str]:
        return [key for prefix in PREFIXES for key in mortal.store().list(prefix)]

    def look() -> None:
        assert listed(mortal.url) == offered
        now = [entry.identity for entry in history(mortal.store())]
        assert now[: KEPT.keep] == chain[: KEPT.keep]
        assert verify(mortal.store()).problems == []

    for part in range(4):
        data = f"lost {part}".encode()
        mortal.store().put_if_absent(objects.blob_key(canonical.digest(data)), data)
    age(mortal)
    keep = tmp_path / "kept"
    mortal.stop()
    shutil.copytree(mortal.state, keep)
    mortal.start()
    _arm(mortal, MANY)
    *_, last = mortal.store().collect(KEPT, dry_run=False)
    total = MANY - _arm(mortal, MANY)
    assert last.removed > 2 * 15
    assert total > 15
    left = everything()
    look()
    for points in _some(total):
        mortal.stop()
        shutil.rmtree(mortal.state)
        shutil.copytree(keep, mortal.state)
        mortal.start()
        store, deaths = _until_dead(mortal, look)
        _arm(mortal, points)
        for _ in store.collect(KEPT, dry_run=False):
            pass
        assert deaths
        assert everything() == left
        look()
