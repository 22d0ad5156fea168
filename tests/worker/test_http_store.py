"""The client alone: what it tries again, what it gives up on, and where its token goes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from support.market import MemoryStore, build_candidate, hands

from olares_apps.errors import MarketError, UsageError
from olares_apps.market.canonical import digest
from olares_apps.market.commit import read_state
from olares_apps.market.http_store import TOKEN_VARIABLE, HttpStore, open_http_store
from olares_apps.market.patience import Patience
from olares_apps.market.publish import publish
from olares_apps.market.records import Head

BASE = "https://market.example"
TOKEN = "olapps_secret"
KEY = f"blobs/sha256/{digest(b'data')}"
BLOBS = "/api/publish/v1/objects/"
Reply = httpx.Response | Exception


class _Server:
    """Answers requests in the order given, and remembers them."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []
        self.told: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    @contextmanager
    def store(self, jitter: Callable[[], float] = lambda: 1.0) -> Iterator[HttpStore]:
        patience = Patience(sleep=self.waits.append, jitter=jitter, tell=self.told.append)
        with httpx.Client(transport=httpx.MockTransport(self)) as client:
            yield HttpStore(client, BASE, token=TOKEN, patience=patience)


def _json(status: int, /, headers: dict[str, str] | None = None, **body: object) -> httpx.Response:
    return httpx.Response(status, json=body, headers=headers)


def _heads(*apps: str) -> list[Head]:
    """Return the heads of a market to which apps were published one after the other."""
    return [head for head, _ in _markets(*apps)]


def _markets(*apps: str) -> list[tuple[Head, MemoryStore]]:
    store, made, found = MemoryStore(), hands(), []
    for app in apps:
        publish(store, [build_candidate(app)], publisher="t", hands=made)
        head = read_state(store).head
        assert head is not None
        found.append((head, store))
    return found


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("cut off"),
        httpx.ReadTimeout("slow"),
        httpx.Response(500, html="<h1>error</h1>"),
        httpx.Response(503, json={"error": "temporarily unavailable"}),
        httpx.Response(522),
        httpx.Response(429),
    ],
    ids=lambda trouble: str(trouble),
)
def test_a_write_is_sent_again_after_trouble_on_the_way(trouble: Reply) -> None:
    server = _Server(trouble, trouble, _json(201, key=KEY, created=True))
    with server.store() as store:
        assert store.put_if_absent(KEY, b"data") is True
    assert [request.content for request in server.requests] == [b"data"] * 3
    assert server.waits == [0.2, 0.4]


def test_waits_grow_are_random_and_respect_what_the_server_asks_for() -> None:
    late = _json(429, {"retry-after": "7"}, error="too many failed attempts")
    server = _Server(*[httpx.Response(503)] * 3, late, _json(200, key=KEY, created=False))
    with server.store(jitter=lambda: 0.5) as store:
        assert store.put_if_absent(KEY, b"data") is False
    assert server.waits == [0.1, 0.2, 0.4, 7.0]


@pytest.mark.parametrize("trouble", [httpx.ConnectError("refused"), httpx.Response(503)])
def test_it_gives_up_after_some_tries_and_says_that_nothing_is_lost(trouble: Reply) -> None:
    server = _Server(_json(200, key=KEY, created=True), *[trouble] * 10)
    with server.store() as store:
        store.put_if_absent(KEY, b"data")
        with pytest.raises(MarketError) as raised:
            store.get(KEY)
    assert raised.value.message.startswith(f"{BASE} did not answer 10 times in a row: ")
    assert raised.value.hint == "nothing was lost; run the same command again"
    assert server.waits == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8.0, 8.0, 8.0]
    assert server.replies == []
    assert [line.rpartition("; ")[2] for line in server.told] == [
        f"trying again in {seconds} s" for seconds in (3, 6, 8, 8, 8)
    ]


def test_an_address_where_nobody_ever_answered_is_given_up_sooner() -> None:
    server = _Server(*[httpx.ConnectError("refused")] * 5)
    with server.store() as store, pytest.raises(MarketError) as raised:
        store.get(KEY)
    assert raised.value.message == (
        f"{BASE} did not answer 5 times in a row: ConnectError: refused"
    )
    assert sum(server.waits) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("reply", "message", "hint"),
    [
        (
            _json(401, error="not authorised", message="a valid bearer token is needed"),
            "not authorised: a valid bearer token is needed",
            "put a valid token into OLAPPS_MARKET_TOKEN",
        ),
        (
            _json(422, error="not published", message="a blob is missing", hint="publish it"),
            "not published: a blob is missing",
            "publish it",
        ),
        (
            _json(503, error="publishing is not set up", hint="wrangler secret put TOKENS"),
            "publishing is not set up",
            "wrangler secret put TOKENS",
        ),
        (
            httpx.Response(301, headers={"location": "https://other.example"}),
            "answered 301 Moved Permanently",
            "write the market's address as it redirects to",
        ),
        (
            httpx.Response(404, html="<h1>not here</h1>"),
            "answered 404 Not Found",
            "is this the address of an olapps market? Its Worker must be deployed first",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_is_told_at_once_with_what_to_do(
    reply: httpx.Response, message: str, hint: str
) -> None:
    server = _Server(reply)
    with server.store() as store, pytest.raises(MarketError) as raised:
        store.put_if_absent(KEY, b"data")
    assert (raised.value.message, raised.value.hint) == (f"{BASE}: {message}", hint)
    assert TOKEN not in f"{raised.value} {raised.value.hint}"
    assert server.waits == []


def test_a_page_of_somebody_else_is_not_taken_for_an_empty_market() -> None:
    for read in (HttpStore.read_head, lambda store: store.get(KEY)):
        server = _Server(httpx.Response(404, html="<h1>not here</h1>"))
        with server.store() as store, pytest.raises(MarketError, match="answered 404"):
            read(store)
    server = _Server(_json(404, error="not found", message="nothing is published yet"))
    with server.store() as store:
        assert store.read_head() == (None, None)


def test_a_page_in_the_place_of_the_head_is_named() -> None:
    server = _Server(httpx.Response(200, html="<h1>welcome</h1>", headers={"etag": '"x"'}))
    with server.store() as store, pytest.raises(MarketError, match="a page for people") as raised:
        store.read_head()
    assert "is this the address of an olapps market?" in (raised.value.hint or "")


@pytest.mark.parametrize("body", [b"[" * 200_000, b"\xff\xfe", b"[]", b"7", b""])
def test_a_refusal_in_any_form_is_told(body: bytes) -> None:
    server = _Server(httpx.Response(400, content=body))
    with server.store() as store, pytest.raises(MarketError, match="answered 400 Bad Request"):
        store.get(KEY)


def test_checks_that_never_end_are_given_up() -> None:
    server = _Server(*[_json(202, checked=number, parts=number + 2) for number in range(1002)])
    with server.store() as store, pytest.raises(MarketError, match="does not get on"):
        store.swap_head('"x"', _heads("demoalpha")[0])


def test_the_token_goes_with_writes_and_the_list_of_keys_only() -> None:
    head = _heads("demoalpha")[0]
    server = _Server(
        httpx.Response(200, content=head.encode(), headers={"etag": '"a"'}),
        httpx.Response(200, content=b"data"),
        httpx.Response(404),
        _json(201, key=KEY, created=True),
        _json(200, revision=head.revision, moved=True),
        _json(200, keys=[KEY], cursor="next"),
        _json(200, keys=[], cursor=None),
    )
    with server.store() as store:
        assert store.read_head() == (head, '"a"')
        assert store.get(KEY) == b"data"
        assert store.exists(KEY) is False
        store.put_if_absent(KEY, b"data")
        store.swap_head('"a"', head)
        assert list(store.list("blobs/sha256")) == [KEY]
    sent = [request.headers.get("authorization") for request in server.requests]
    assert sent == [None, None, None, *[f"Bearer {TOKEN}"] * 4]
    assert server.requests[4].headers["if-match"] == '"a"'
    assert server.requests[-1].url.params["cursor"] == "next"


def test_the_first_head_is_written_only_where_there_is_none() -> None:
    head = _heads("demoalpha")[0]
    server = _Server(_json(412, error="head moved"))
    with server.store() as store:
        assert store.swap_head(None, head) is False
    assert server.requests[0].headers["if-none-match"] == "*"
    assert len(server.requests) == 1


@pytest.mark.parametrize("ours", [True, False])
def test_a_swap_whose_answer_was_lost_is_recognised_in_the_history(ours: bool) -> None:
    (first, _), (second, _), (third, store) = _markets("demoalpha", "demobravo", "democharlie")
    other = _heads("demodelta")[0]
    wanted = second if ours else other

    def revision(head: Head) -> httpx.Response:
        return httpx.Response(200, content=store.objects[f"revisions/{head.revision}.json"])

    server = _Server(
        httpx.ReadError("reset"),
        _json(412, error="head moved"),
        httpx.Response(200, content=third.encode(), headers={"etag": '"c"'}),
        *(revision(head) for head in (third, second, first)),
    )
    with server.store() as remote:
        assert remote.swap_head('"a"', wanted) is ours


def test_the_token_comes_from_the_environment() -> None:
    store = open_http_store(f"{BASE}/", {TOKEN_VARIABLE: TOKEN})
    assert store.url == BASE
    assert TOKEN not in repr(store)


@pytest.mark.parametrize(
    "address",
    [
        "https://",
        "https://[",
        "https://market.example:port",
        "https://user:olapps_secret@market.example",
        "https://market.example?token=olapps_secret",
        "http://market.example",
        "http://192.0.2.1:8787",
    ],
)
def test_an_address_that_would_leak_a_token_or_names_nothing_is_refused(address: str) -> None:
    with pytest.raises(UsageError) as raised:
        open_http_store(address, {})
    assert raised.value.exit_code == 2
    assert raised.value.hint is not None
    assert TOKEN not in raised.value.message


@pytest.mark.parametrize("address", ["http://127.0.0.1:8787", "http://localhost:1", "http://[::1]"])
def test_a_worker_on_this_machine_is_reached_without_tls(address: str) -> None:
    assert open_http_store(address, {}).url == address
