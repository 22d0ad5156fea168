"""Publishing over a bad connection: nothing lost, nothing half visible, nothing twice."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.market import NEW, OLD, PNG, build_candidate, hands
from support.worker import Worker, make_token, running

from olares_apps.errors import MarketError
from olares_apps.market import canonical, objects
from olares_apps.market.answers import Answers
from olares_apps.market.history import history, status
from olares_apps.market.http_store import HttpStore
from olares_apps.market.patience import Patience
from olares_apps.market.publish import publish
from olares_apps.market.verify import verify

Send = Callable[[httpx.Request], httpx.Response]
Fault = Callable[[Send, httpx.Request], httpx.Response]

FIRST = build_candidate("demoalpha", "1.0.0")
SECOND = [build_candidate("demoalpha", "1.0.2", image="b2", icon=PNG), build_candidate("demobravo")]
LIVE = {
    "demoalpha": {OLD: "1.0.2", NEW: "1.0.3"},
    "demobravo": {OLD: "1.0.0", NEW: "1.0.1"},
}


def _refused(send: Send, request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def _answer_lost(send: Send, request: httpx.Request) -> httpx.Response:
    send(request).read()
    raise httpx.ReadError("reset", request=request)


def _answer_late(send: Send, request: httpx.Request) -> httpx.Response:
    send(request).read()
    raise httpx.ReadTimeout("slow", request=request)


def _busy(send: Send, request: httpx.Request) -> httpx.Response:
    return httpx.Response(429, json={"error": "busy"})


def _broken_before(send: Send, request: httpx.Request) -> httpx.Response:
    return httpx.Response(503, html="<h1>503</h1>")


def _broken_after(send: Send, request: httpx.Request) -> httpx.Response:
    send(request).read()
    return httpx.Response(520, html="<h1>520</h1>")


FAULTS: dict[str, Fault] = {
    "refused": _refused,
    "its answer lost": _answer_lost,
    "its answer late": _answer_late,
    "told to wait": _busy,
    "broken before it": _broken_before,
    "broken after it": _broken_after,
}


class _Bad(httpx.BaseTransport):
    """A connection on which the first try of every request meets a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault, self.seen = fault, set[tuple[str, str]]()
        self.real = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        name = request.method, str(request.url)
        if name in self.seen:
            return self.real.handle_request(request)
        self.seen.add(name)
        return self.fault(self.real.handle_request, request)

    def close(self) -> None:
        self.real.close()


@pytest.fixture(scope="module")
def shared(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with running(bundle, tmp_path_factory.mktemp("state")) as worker:
        yield worker


def _bad_store(worker: Worker, fault: Fault) -> HttpStore:
    client = httpx.Client(transport=_Bad(fault), timeout=60)
    return worker.store(client=client, patience=Patience(first=0.0))


@pytest.mark.parametrize("name", FAULTS)
def test_a_publish_completes_when_every_request_is_first(name: str, worker: Worker) -> None:
    publish(worker.store(), [FIRST], publisher="t", hands=hands())
    report = publish(_bad_store(worker, FAULTS[name]), SECOND, publisher="t", hands=hands())
    assert (report.changed, report.attempts) == (True, 1)
    store = worker.store()
    assert status(store).live == LIVE
    assert len(list(history(store))) == 2
    assert verify(store).problems == []


def test_other_bytes_on_the_way_back_are_noticed_and_never_used(worker: Worker) -> None:
    publish(worker.store(), [FIRST], publisher="t", hands=hands())

    def spoilt(send: Send, request: httpx.Request) -> httpx.Response:
        reply = send(request)
        body = reply.read()
        if request.method != "GET" or request.url.path.endswith("/head"):
            return httpx.Response(reply.status_code, headers=reply.headers, content=body)
        return httpx.Response(200, content=body[:-1] + b"?")

    with pytest.raises(MarketError, match="is damaged"):
        publish(_bad_store(worker, spoilt), SECOND, publisher="t", hands=hands())
    assert status(worker.store()).live == {"demoalpha": {OLD: "1.0.0", NEW: "1.0.1"}}
    publish(worker.store(), SECOND, publisher="t", hands=hands())
    assert status(worker.store()).live == LIVE


def test_other_bytes_on_the_way_there_are_refused(worker: Worker) -> None:
    def spoilt(send: Send, request: httpx.Request) -> httpx.Response:
        if request.method != "PUT":
            return send(request)
        body = request.read()[:-1] + b"?"
        return send(httpx.Request("PUT", request.url, headers=request.headers, content=body))

    with pytest.raises(MarketError, match="wrong digest") as raised:
        publish(_bad_store(worker, spoilt), [FIRST], publisher="t", hands=hands())
    assert raised.value.hint == "the bytes changed on the way; send them again"
    assert worker.store().read_head() == (None, None)
    assert list(worker.store().list("blobs/sha256")) == []


def test_who_may_not_write_is_told_so_whatever_the_size_of_the_body(worker: Worker) -> None:
    worker.tokens = (make_token(),)
    data = b"x" * (4 * 1024 * 1024)
    for _ in range(3):
        with pytest.raises(MarketError, match="a valid bearer token is needed"):
            worker.store(patience=Patience(attempts=1)).put_if_absent(
                objects.blob_key(canonical.digest(data)), data
            )


PATHS = st.sampled_from(
    [
        "/head",
        "/objects",
        "/objects/head.json",
        f"/objects/blobs/sha256/{'0' * 64}",
        f"/objects/revisions/{'0' * 64}.json",
        f"/objects/responses/{'0' * 64}/any/catalog.json",
        "/objects?prefix=revisions",
    ]
) | st.from_regex(r"/[a-z0-9/._%-]{0,60}", fullmatch=True)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "Authorization": st.sampled_from(["Bearer", "Bearer x", "Basic x", "Bearer x y", ""]),
        "If-Match": st.sampled_from(["*", '"x"', ""]),
        "If-None-Match": st.sampled_from(["*", '"x"']),
        "X-Content-Sha256": st.sampled_from(["", "0" * 64]),
        # Another address each time, or the limit of failures would answer for everything.
        "CF-Connecting-IP": st.ip_addresses(v=6).map(str),
    },
)


def _client(worker: Worker) -> httpx.Client:
    if not worker.clients:
        worker.clients.append(httpx.Client())
    return worker.clients[0]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from(["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"]),
    PATHS,
    HEADERS,
    st.binary(max_size=40) | st.sampled_from([b"{}", b'{"revision":1}']),
)
def test_nothing_is_written_without_a_token_and_no_request_fails(
    shared: Worker, method: str, path: str, headers: dict[str, str], body: bytes
) -> None:
    reply = _client(shared).request(method, shared.api + path, headers=headers, content=body)
    assert reply.status_code in (400, 401, 404, 405, 429)
    if method != "HEAD":
        assert reply.headers["content-type"] == "application/json"


def test_nothing_was_written_by_strangers(shared: Worker) -> None:
    store = shared.store()
    assert store.read_head() == (None, None)
    for prefix in ("blobs/sha256", "revisions", "responses"):
        assert list(store.list(prefix)) == []
    assert Answers(store).respond("GET", "/api/v1/appstore/hash").status == 503
