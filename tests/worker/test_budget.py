"""What a publish costs: few R2 operations and bytes, and as many in a market of any size."""

from dataclasses import dataclass, field
from pathlib import Path

import httpx
from support.market import build_candidate, hands
from support.worker import Worker, running

from olares_apps.market.http_store import HttpStore
from olares_apps.market.publish import publish
from olares_apps.market.verify import verify

FREE_PLAN_SUBREQUESTS = 50
UPDATE = build_candidate("demoaa", "1.0.2", image="b2")
APPS = [build_candidate(f"demoa{letter}") for letter in "abcdefghijklmnopqrst"]


@dataclass
class _Meter:
    """Notes method, path, status and R2 operations of every answer, and the bytes both ways."""

    seen: list[tuple[str, str, int, int]] = field(default_factory=list)
    sent: int = 0
    read: int = 0
    differences: int = 0

    def __call__(self, response: httpx.Response) -> None:
        request = response.request
        path = request.url.path.removeprefix("/api/publish/v1")
        count = int(response.headers["x-r2-operations"])
        self.seen.append((request.method, path, response.status_code, count))
        self.sent += int(request.headers.get("content-length", 0))
        # A publish plans on the revision that is live, and reads that whole.
        if "/revisions/" not in path:
            self.read += int(response.headers.get("content-length", 0))
        self.differences += "x-base" in request.headers


def _store(worker: Worker, meter: _Meter) -> HttpStore:
    return worker.store(client=httpx.Client(timeout=60, event_hooks={"response": [meter]}))


@dataclass
class _Update:
    """What a first publish asks of the head, and what an update of one app then costs."""

    moves: list[int]
    writes: list[tuple[str, int]]
    meter: _Meter


def _update(bundle: Path, state: Path, apps: int) -> _Update:
    names = [f"demo{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(apps)]
    first, update = _Meter(), _Meter()
    with running(bundle, state, around="test/counted.js") as worker:
        made = hands()
        candidates = [build_candidate(name) for name in names]
        publish(_store(worker, first), candidates, publisher="t", hands=made)
        publish(_store(worker, update), [UPDATE], publisher="t", hands=made)
        assert verify(worker.store()).problems == []
    assert max(count for *_, count in first.seen + update.seen) <= FREE_PLAN_SUBREQUESTS
    moves = [code for method, path, code, _ in first.seen if (method, path) == ("PUT", "/head")]
    writes = [
        (path.split("/")[2] if path != "/head" else path, count)
        for method, path, _, count in update.seen
        if method == "PUT"
    ]
    return _Update(moves, sorted(writes), update)


def test_an_update_costs_as_much_in_a_market_of_two_as_of_forty(
    bundle: Path, tmp_path: Path
) -> None:
    few, many = (_update(bundle, tmp_path / str(apps), apps) for apps in (2, 40))
    # What is sent as a difference takes a read of its base, and nothing is sent twice.
    assert [name for name, _ in few.writes] == [name for name, _ in many.writes]
    reads = [sum(count for _, count in update.writes) for update in (few, many)]
    differences = [update.meter.differences for update in (few, many)]
    assert reads[1] - reads[0] == differences[1] - differences[0] > 0
    # The lists of forty apps have ten times the bytes of one app; what is sent has not.
    assert many.meter.sent < few.meter.sent * 1.25
    assert many.meter.read < few.meter.read * 1.25
    gets = [[path for method, path, *_ in u.meter.seen if method == "GET"] for u in (few, many)]
    assert len(gets[0]) == len(gets[1]) < 50
    assert few.moves[-1] == many.moves[-1] == 200
    # Forty new apps do not fit into one request: the first ones check a part each.
    assert set(many.moves[:-1]) == {202}
    assert len(many.moves) > len(few.moves)


def test_an_update_sends_its_texts_packed(bundle: Path, tmp_path: Path) -> None:
    sent: list[tuple[str, int]] = []

    def note(request: httpx.Request) -> None:
        if request.method == "PUT":
            coding = request.headers.get("content-encoding", "")
            sent.append((coding, int(request.headers["content-length"])))

    with running(bundle, tmp_path / "state") as worker:
        publish(worker.store(), APPS, publisher="t", hands=hands())
        client = httpx.Client(timeout=60, event_hooks={"request": [note]})
        report = publish(worker.store(client=client), [UPDATE], publisher="t", hands=hands())
        assert verify(worker.store()).problems == []
    assert {coding for coding, _ in sent} == {"", "gzip"}
    # An archive is as small as it gets; lists and the revision are most of it, and repeat much.
    assert sum(size for _, size in sent) * 3 < report.bytes_written
