"""What replaces an object goes as a difference from it, where server, base and size allow it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from support.bucket import lose
from support.market import MemoryStore, build_candidate, hands
from support.worker import Worker

from olares_apps.errors import MarketError
from olares_apps.market import objects
from olares_apps.market.canonical import digest
from olares_apps.market.commit import read_state
from olares_apps.market.differences import MEDIA_TYPE, difference
from olares_apps.market.dir_store import DirStore
from olares_apps.market.http_store import HttpStore
from olares_apps.market.mirror import mirror
from olares_apps.market.patience import Patience
from olares_apps.market.publish import publish
from olares_apps.market.verify import verify

APPS = [build_candidate(f"demo{letter}") for letter in "abcdefghijklmnopqrst"]
UPDATE = build_candidate("demoa", "1.0.2", image="b2")
SENT_WHOLE = (424, 400, 413)

OLD = "".join(f'"{digest(bytes([n]))}",' for n in range(99)).encode()
NEW = OLD.replace(b'"4', b'"5', 1)
OLD_KEY, NEW_KEY = (f"revisions/{digest(data)}.json" for data in (OLD, NEW))
TAKES = {"accept-encoding": "gzip", "accept": f"application/octet-stream, {MEDIA_TYPE}"}


@contextmanager
def _server(*replies: httpx.Response) -> Iterator[tuple[HttpStore, list[httpx.Request]]]:
    """Yield a store whose server gives these answers, and what it was asked."""
    seen: list[httpx.Request] = []
    left = iter(replies)

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return next(left)

    patience = Patience(sleep=lambda _: None)
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        yield HttpStore(client, "https://market.example", token="t", patience=patience), seen
    assert next(left, None) is None


def _base(headers: dict[str, str]) -> httpx.Response:
    return httpx.Response(200, content=OLD, headers=headers)


def _said(status: int) -> httpx.Response:
    return httpx.Response(status, json={"error": "e", "message": "m"}, headers=TAKES)


def _how(request: httpx.Request) -> tuple[str | None, str | None]:
    return request.headers.get("x-base"), request.headers.get("content-type")


def test_an_object_is_sent_as_a_difference_from_the_one_that_was_read() -> None:
    with _server(_base(TAKES), _said(201), _said(200)) as (store, seen):
        store.get(OLD_KEY)
        assert store.put_if_absent(NEW_KEY, NEW) is True
        # The next one differs from that.
        assert store.put_if_absent(OLD_KEY, OLD) is False
    assert [_how(request) for request in seen[1:]] == [
        (OLD_KEY, MEDIA_TYPE),
        (NEW_KEY, MEDIA_TYPE),
    ]
    assert all(len(request.content) < 200 for request in seen)
    assert [request.headers["x-content-sha256"] for request in seen[1:]] == [
        digest(NEW),
        digest(OLD),
    ]


@pytest.mark.parametrize("status", SENT_WHOLE)
def test_it_is_sent_whole_where_the_difference_is_refused(status: int) -> None:
    with _server(_base(TAKES), _said(status), _said(201)) as (store, seen):
        store.get(OLD_KEY)
        assert store.put_if_absent(NEW_KEY, NEW) is True
    assert [_how(request)[0] for request in seen] == [None, OLD_KEY, None]
    assert len(seen[2].content) > len(NEW) / 2


@pytest.mark.parametrize("status", [401, 403])
def test_who_may_not_write_is_told_so_at_once(status: int) -> None:
    with _server(_base(TAKES), _said(status)) as (store, _):
        store.get(OLD_KEY)
        with pytest.raises(MarketError, match="e: m"):
            store.put_if_absent(NEW_KEY, NEW)


@pytest.mark.parametrize(
    ("headers", "new"),
    [
        ({"accept-encoding": "gzip"}, NEW),
        ({"accept-encoding": "gzip", "accept": "application/octet-stream"}, NEW),
        (TAKES, NEW[::-1]),
        (TAKES, NEW[:500]),
        (TAKES, b"\xff" + NEW),
    ],
    ids=["an old server", "a server without them", "all is new", "too short", "no text"],
)
def test_it_is_sent_whole_where_a_difference_does_not_help(
    headers: dict[str, str], new: bytes
) -> None:
    with _server(_base(headers), _said(201)) as (store, seen):
        store.get(OLD_KEY)
        store.put_if_absent(f"revisions/{digest(new)}.json", new)
    assert _how(seen[1]) == (None, None)


def test_what_was_refused_is_no_base() -> None:
    with _server(_base(TAKES), _said(409), _said(201)) as (store, seen):
        store.get(OLD_KEY)
        store.put_if_absent(NEW_KEY, NEW)
        store.put_if_absent(NEW_KEY, NEW)
    assert [_how(request)[0] for request in seen[1:]] == [OLD_KEY, OLD_KEY]


def test_what_the_server_is_known_to_have_is_not_read_again() -> None:
    same = httpx.Response(304, headers=TAKES)
    with _server(_base(TAKES), same, _said(201), same, _base(TAKES)) as (store, seen):
        assert store.get(OLD_KEY) == OLD
        assert store.get(OLD_KEY) == OLD
        store.put_if_absent(NEW_KEY, NEW)
        assert store.get(NEW_KEY) == NEW
        # It has lost what it had: who reads it is told what is there now.
        assert store.get(NEW_KEY) == OLD
    asked = [request.headers.get("if-none-match") for request in seen]
    tags = [f'"{digest(data)}"' for data in (OLD, NEW)]
    assert asked == [None, tags[0], None, tags[1], tags[1]]


class _Log:
    """Notes kind, base and status of every write."""

    def __init__(self) -> None:
        self.writes: list[tuple[str, str | None, int]] = []

    def __call__(self, response: httpx.Response) -> None:
        request = response.request
        if request.method == "PUT" and "/objects/" in request.url.path:
            kind = request.url.path.split("/objects/")[1].split("/")[0]
            self.writes.append((kind, request.headers.get("x-base"), response.status_code))

    @property
    def differences(self) -> list[int]:
        return [status for _, base, status in self.writes if base is not None]


def _logged(worker: Worker, log: _Log) -> HttpStore:
    return worker.store(client=httpx.Client(timeout=60, event_hooks={"response": [log]}))


def test_a_publish_of_one_app_sends_differences_from_the_live_revision(
    worker: Worker, tmp_path: Path
) -> None:
    folder, made, same = DirStore(tmp_path / "m"), hands(), hands()
    publish(folder, APPS, publisher="t", hands=same)
    publish(worker.store(), APPS, publisher="t", hands=made)
    live = read_state(worker.store()).identity
    log = _Log()
    publish(_logged(worker, log), [UPDATE], publisher="t", hands=made)
    publish(folder, [UPDATE], publisher="t", hands=same)
    assert set(log.differences) == {201}
    assert {str(live) in base for _, base, _ in log.writes if base} == {True}
    assert {kind for kind, base, _ in log.writes if base} == {"responses", "revisions"}
    assert len(log.differences) > 4
    # What is kept is whole: byte for byte what a folder has.
    remote = worker.store()
    for prefix in ("responses", "revisions"):
        keys = list(folder.list(prefix))
        assert list(remote.list(prefix)) == keys
        assert all(remote.get(key) == folder.get(key) for key in keys if str(live) not in key)
    assert verify(remote).problems == []


def test_a_difference_that_was_cut_on_its_way_is_no_object(worker: Worker) -> None:
    worker.store().put_if_absent(OLD_KEY, OLD)
    steps = difference(OLD, NEW)
    assert steps is not None
    lines = [f"PUT /api/publish/v1/objects/{NEW_KEY} HTTP/1.1", "Host: market.example"]
    headers = worker.bearer() | {"Content-Type": MEDIA_TYPE, "X-Base": OLD_KEY}
    lines += [f"{name}: {text}" for name, text in headers.items()]
    lines += [f"Content-Length: {len(steps)}", "", ""]
    with socket.create_connection(("127.0.0.1", worker.port), timeout=60) as connection:
        connection.sendall("\r\n".join(lines).encode() + steps[: len(steps) // 2])
    assert not worker.store().exists(NEW_KEY)
    log = _Log()
    store = _logged(worker, log)
    assert store.get(OLD_KEY) == OLD
    assert store.put_if_absent(NEW_KEY, NEW) is True
    assert log.differences == [201]
    assert worker.store().get(NEW_KEY) == NEW


def test_a_base_that_was_collected_meanwhile_costs_a_publish_nothing(worker: Worker) -> None:
    made, lost, log = hands(), list[int](), _Log()
    publish(worker.store(), APPS, publisher="t", hands=made)
    live = str(read_state(worker.store()).identity)

    def collected(name: str) -> None:
        if name.startswith("responses/") and not lost:
            lost.append(lose(worker, objects.answer_key(live, "").rstrip("/")))

    publish(
        _logged(worker, log), [UPDATE], publisher="t", hands=hands(made.clock, on_step=collected)
    )
    assert lost[0] > 20
    assert 424 in log.differences
    # The live revision is still here.
    assert log.differences[-1] == 201
    assert read_state(worker.store()).identity != live


def test_a_copy_of_a_history_sends_each_revision_as_a_difference_from_the_one_before(
    worker: Worker,
) -> None:
    source, made = MemoryStore(), hands()
    publish(source, APPS, publisher="t", hands=made)
    names = [str(read_state(source).identity)]
    for number in (2, 4):
        candidate = build_candidate("demoa", f"1.0.{number}", image=f"b{number}")
        publish(source, [candidate], publisher="t", hands=made)
        names.append(str(read_state(source).identity))
    log = _Log()
    mirror(source, _logged(worker, log))
    revisions = [base for kind, base, _ in log.writes if kind == "revisions"]
    assert revisions == [None, *(objects.revision_key(name) for name in names[:-1])]
    assert set(log.differences) == {201}
    assert verify(worker.store()).problems == []
