"""A market behind HTTP: the store protocol over the publish API of the Worker.

The guarantees are the server's (docs/worker.md); this client keeps them over a connection that
breaks. Every request may be sent twice: an object is created once whoever asks, and a head that
was moved by a request whose answer got lost is recognised. What replaces an object that the
server has is sent as a difference from it, where the server takes those.
"""

import gzip
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit
from weakref import finalize

from olares_apps.connections import open_client
from olares_apps.errors import MarketError, UsageError
from olares_apps.market import canonical, differences, objects
from olares_apps.market.counterparts import Counterparts
from olares_apps.market.gc import Collected
from olares_apps.market.patience import Patience
from olares_apps.market.records import Head
from olares_apps.market.retention import DAY_SECONDS, Retention

if TYPE_CHECKING:
    import httpx

__all__ = ["TOKEN_VARIABLE", "HttpStore", "open_http_store"]

TOKEN_VARIABLE: Final = "OLAPPS_MARKET_TOKEN"  # noqa: S105 - a name, no secret
"""The one place that a token is taken from: no file, no flag, no address."""

_API: Final = "/api/publish/v1"
# Seconds. A connection is made quickly or not at all; a validation of many apps takes longer.
_CONNECT_SECONDS, _ANSWER_SECONDS = 10.0, 60.0
# How far back a swap whose answer was lost looks for its own revision.
_LOOK_BACK: Final = 64
# How often the checks of a revision may begin again, as they do when a collector came between.
_STALLS: Final = 5
# A thousand changed apps take two hundred requests.
_MOST_ROUNDS: Final = 1000
# Bytes that a difference must save, because the server reads the base for it.
_WORTH_A_READ: Final = 512
# What is answered to a difference whose base is gone, that cannot be done, or is too large: the
# object itself may do.
_SEND_WHOLE: Final = (424, 400, 413)

_HINTS: Final = {
    301: "write the market's address as it redirects to",
    401: f"put a valid token into {TOKEN_VARIABLE}",
    403: "ask the market's owner for a token with that permission",
    404: "is this the address of an olapps market? Its Worker must be deployed first",
    405: "is this the address of an olapps market? Its Worker must be deployed first",
    413: "make the app's archive or icon smaller",
    429: "wait a minute and run the same command again",
}
_LATER: Final = "nothing was lost; run the same command again"


class _Body(NamedTuple):
    """What a request sends, and the headers that say how to read it."""

    body: bytes
    headers: Mapping[str, str]


def open_http_store(
    address: str, environ: Mapping[str, str], tell: Callable[[str], None] = lambda text: None
) -> "HttpStore":
    """Return the store at ``https://...``; a token is taken from `TOKEN_VARIABLE`.

    ``tell`` gets a line when it waits for a server that does not answer.

    Raises UsageError for an address or a proxy that cannot be used, and for an address that
    would send a token over a connection that others can read.
    """
    import httpx

    token = environ.get(TOKEN_VARIABLE) or None
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.query or parts.fragment or parts.username is not None:
        # The host only: what else stands there may be a secret.
        raise UsageError(
            f"the address of the market{f' at {host}' if host else ''} cannot be used",
            hint="write it as https://market.example.com, without user, query and fragment",
        )
    if parts.scheme != "https" and not _is_loopback(host):
        raise UsageError(
            f"{address}: a token must not go over plain http", hint="use the https address"
        )
    timeout = httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
    client = open_client(timeout=timeout)
    patience = Patience(tell=tell)
    store = HttpStore(client, address.rstrip("/"), token=token, patience=patience)
    # A store has no end of its own; its connections go with it.
    finalize(store, client.close)
    return store


class HttpStore:
    """The store at a base URL, through a client that the caller owns."""

    def __init__(
        self,
        client: "httpx.Client",
        base: str,
        *,
        token: str | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._client, self._base, self._token = client, base, token
        self._patience = patience or Patience()
        # Whether the server has said that it takes packed bodies, and differences; one of old
        # does not.
        self._packs = self._assembles = False
        self._met = False
        self._counterparts = Counterparts()

    @property
    def url(self) -> str:
        """Return the base URL."""
        return self._base

    def read_head(self) -> tuple[Head | None, str | None]:
        """Return the head and its etag, or (None, None); see `Store.read_head`."""
        reply, _ = self._send("GET", "/head", expected=(200, 404))
        if reply.status_code == 404:
            self._must_be_market(reply, "nothing is published yet")
            return None, None
        if "html" in reply.headers.get("content-type", ""):
            raise MarketError(f"{self._base} answers with a page for people", hint=_HINTS[404])
        return Head.decode(reply.content, f"{self.url}/head.json"), self._etag(reply)

    def swap_head(self, expected: str | None, head: Head) -> bool:
        """Move the head if its etag still is ``expected``; see `Store.swap_head`.

        Raises MarketError with the server's reasons when the revision is refused.
        """
        condition = {"If-None-Match": "*"} if expected is None else {"If-Match": expected}
        unsure, status, checked, stalled, rounds = False, 202, -1, 0, 0
        while status == 202:
            reply, repeated = self._send(
                "PUT", "/head", content=head.encode(), headers=condition, expected=(200, 202, 412)
            )
            unsure, status = unsure or repeated, reply.status_code
            # One request looks up only so much; the same one again goes on from there.
            if status == 202:
                before, checked = checked, self._checked(reply)
                stalled, rounds = 0 if checked > before else stalled + 1, rounds + 1
                if stalled > _STALLS or rounds > _MOST_ROUNDS:
                    raise MarketError(f"{self.url} does not get on with its checks", hint=_LATER)
        if status == 200:
            return True
        # An earlier try may have moved it, and somebody else may have published since.
        return unsure and self._is_in_history(head.revision)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Create an object; see `Store.put_if_absent`.

        After a broken connection the answer may be False for an object that this call created.
        """
        digest, whole, status = canonical.digest(data), self._packed(data), _SEND_WHOLE[0]
        shorter = self._difference(key, data)
        if shorter and len(shorter.body) + _WORTH_A_READ <= len(whole.body):
            status = self._put(key, digest, shorter, also=_SEND_WHOLE)
        if status in _SEND_WHOLE:
            status = self._put(key, digest, whole)
        if status != 409:
            self._counterparts.saw(key, data)
        return status == 201

    def _put(self, key: str, digest: str, sent: _Body, also: tuple[int, ...] = ()) -> int:
        """Send an object and return the status: created, there with these bytes, or with others."""
        reply, _ = self._send(
            "PUT",
            f"/objects/{key}",
            content=sent.body,
            headers={"X-Content-Sha256": digest, **sent.headers},
            expected=(200, 201, 409, *also),
        )
        return reply.status_code

    def _difference(self, key: str, data: bytes) -> _Body | None:
        """Return how an object differs from the one that it replaces, where that is known."""
        base = self._counterparts.of(key) if self._assembles else None
        steps = differences.difference(base[1], data) if base else None
        if base is None or steps is None:
            return None
        return self._packed(steps, {"Content-Type": differences.MEDIA_TYPE, "X-Base": base[0]})

    def _packed(self, data: bytes, headers: Mapping[str, str] | None = None) -> _Body:
        """Return what is sent: packed, if the server takes that and it gets smaller."""
        packed = gzip.compress(data, compresslevel=6, mtime=0) if self._packs else data
        # Archives and pictures do not.
        if len(packed) < len(data):
            return _Body(packed, {**(headers or {}), "Content-Encoding": "gzip"})
        return _Body(data, headers or {})

    def get(self, key: str) -> bytes | None:
        """Return an object, or None.

        Of one that was read or written just now the server says by its digest that it has it.
        """
        known = self._counterparts.at(key)
        headers = {"If-None-Match": f'"{canonical.digest(known)}"'} if known is not None else {}
        expected = (200, 304, 404) if headers else (200, 404)
        reply, _ = self._send("GET", f"/objects/{key}", headers=headers, expected=expected)
        if reply.status_code == 404:
            self._must_be_market(reply, key)
            return None
        if reply.status_code == 304:
            return known
        self._counterparts.saw(key, reply.content)
        return reply.content

    def exists(self, key: str) -> bool:
        """Say whether the key exists."""
        reply, _ = self._send("HEAD", f"/objects/{key}", expected=(200, 404))
        return reply.status_code == 200

    def list(self, prefix: str) -> Iterator[str]:
        """Yield the keys below ``prefix`` in order; needs a token."""
        query = {"prefix": prefix}
        while True:
            reply, _ = self._send("GET", "/objects", params=query, expected=(200,))
            page = self._json(reply)
            yield from page["keys"]
            if page["cursor"] is None:
                return
            query = {"prefix": prefix, "cursor": page["cursor"]}

    def collect(self, retention: Retention, *, dry_run: bool) -> Iterator[Collected]:
        """Let the server remove what may go, step by step; see `Store.collect`.

        Its limits hold: 10 to 20 revisions, and exactly a day.
        """
        if retention.age != DAY_SECONDS:
            raise UsageError(f"{self.url} goes by an age of 24h", hint="leave --older-than out")
        wish = {"keep": retention.keep, "dry_run": dry_run}
        while True:
            reply, _ = self._send("POST", "/collect", json=wish, expected=(200,))
            try:
                step = reply.json()
                yield Collected(step["looked"], step["removed"], step["bytes"])
                if step["done"]:
                    return
            except (ValueError, KeyError, TypeError):
                raise MarketError(f"{self.url} did not answer in JSON", hint=_HINTS[404]) from None

    def _send(
        self,
        method: str,
        path: str,
        *,
        expected: tuple[int, ...],
        headers: Mapping[str, str] | None = None,
        **request: Any,
    ) -> tuple["httpx.Response", bool]:
        """Return the answer, and whether an earlier try of it may have taken effect.

        Tries again after a broken connection, 429 and 5xx. Raises MarketError for any status
        that is not ``expected``.
        """
        import httpx

        sent = dict(headers or {})
        # Reads need none, but for the list of keys; it is not handed out where it is not needed.
        if self._token is not None and (method in ("PUT", "POST") or path == "/objects"):
            sent["Authorization"] = f"Bearer {self._token}"
        unsure = False
        for attempt in count(1):
            asked = 0.0
            try:
                reply = self._client.request(
                    method, f"{self._base}{_API}{path}", headers=sent, **request
                )
            except httpx.TransportError as error:
                unsure, problem = True, f"{type(error).__name__}: {error}".rstrip(": ")
            except httpx.InvalidURL as error:
                raise UsageError(f"{self.url}: {error}") from error
            else:
                self._met = True
                self._packs = "gzip" in reply.headers.get("accept-encoding", "")
                self._assembles = differences.MEDIA_TYPE in reply.headers.get("accept", "")
                if reply.status_code in expected:
                    return reply, unsure
                problem = self._reason(reply)
                if reply.status_code != 429 and reply.status_code < 500:
                    raise self._refused(reply)
                unsure = unsure or reply.status_code >= 500
                asked = _seconds(reply.headers.get("retry-after"))
                if not self._worth_waiting(reply):
                    raise self._refused(reply)
            patience = self._patience
            if attempt == (patience.attempts if self._met else patience.attempts_to_meet):
                break
            patience.wait(attempt - 1, asked, f"{self.url}: {problem}")
        raise MarketError(
            f"{self.url} did not answer {attempt} times in a row: {problem}", hint=_LATER
        )

    def _worth_waiting(self, reply: "httpx.Response") -> bool:
        """Say whether the same request can succeed later; a missing secret stays missing."""
        return self._said(reply).get("error") != "publishing is not set up"

    def _is_in_history(self, identity: str) -> bool:
        head, _ = self.read_head()
        found = head.revision if head else None
        for _ in range(_LOOK_BACK):
            if found is None or found == identity:
                break
            found = objects.read_revision(self, found).parent
        return found == identity

    def _etag(self, reply: "httpx.Response") -> str:
        # On its way an edge may weaken a tag; the server compares with the strong one.
        etag = str(reply.headers.get("etag", "")).removeprefix("W/")
        if not etag:
            raise MarketError(f"{self.url} sent a head without an etag", hint=_HINTS[404])
        return etag

    def _must_be_market(self, reply: "httpx.Response", message: str) -> None:
        """Refuse a 404 that is not the publish API's own; a server for reading has others."""
        said = self._said(reply)
        if (said.get("error"), said.get("message")) != ("not found", message):
            raise self._refused(reply)

    def _refused(self, reply: "httpx.Response") -> MarketError:
        status = reply.status_code
        hint = self._said(reply).get("hint") or _HINTS.get(301 if status // 100 == 3 else status)
        return MarketError(f"{self.url}: {self._reason(reply)}", hint=hint)

    def _reason(self, reply: "httpx.Response") -> str:
        said = self._said(reply)
        parts = [part for part in (said.get("error"), said.get("message")) if part]
        return ": ".join(parts) if parts else f"answered {reply.status_code} {reply.reason_phrase}"

    def _said(self, reply: "httpx.Response") -> dict[str, str]:
        try:
            body = reply.json()
        except (ValueError, RecursionError):
            return {}
        if not isinstance(body, dict):
            return {}
        return {name: text for name, text in body.items() if isinstance(text, str)}

    def _checked(self, reply: "httpx.Response") -> int:
        """Return how many parts of a revision were checked so far."""
        try:
            return int(reply.json()["checked"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise MarketError(f"{self.url} did not answer in JSON", hint=_HINTS[404]) from None

    def _json(self, reply: "httpx.Response") -> dict[str, Any]:
        try:
            body = reply.json()
        except ValueError:
            body = None
        if not isinstance(body, dict) or not isinstance(body.get("keys"), list):
            raise MarketError(f"{self.url} did not answer in JSON", hint=_HINTS[404])
        return {"cursor": None} | body


def _seconds(text: str | None) -> float:
    """Return a Retry-After in seconds; a date is as good as nothing said."""
    return float(text) if text and text.isascii() and text.isdecimal() else 0.0


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
