"""Answers: every route of a market as a lookup, shared by the server and the simulator.

Nothing is computed here that the publisher could compute. A request costs one read of the
head and at most one read per document; whatever a revision names is kept in memory for as
long as that revision is the live one.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from olares_apps.errors import MarketError, UsageError
from olares_apps.generations import OlaresVersion
from olares_apps.market import canonical, objects, wire
from olares_apps.market.catalogue import ANY, FALLBACK, set_for
from olares_apps.market.documents_v2 import page_of
from olares_apps.market.entries import Ledger
from olares_apps.market.prepare import FILES, PAGES
from olares_apps.market.records import Head
from olares_apps.market.store import Store

__all__ = ["MAX_BODY_BYTES", "MAX_IDS", "NO_PAGE", "Answer", "Answers"]

MAX_BODY_BYTES: Final = 64 * 1024
"""Largest request body that is looked at; a hundred ids need 2 KiB."""
MAX_IDS: Final = 100
"""Most app ids in one request for details; devices send ten (contract 2.4)."""

_NO_STORE: Final = {"cache-control": "no-store"}
# Names are immutable: other bytes under a known version are refused by the publisher.
_FOR_EVER: Final = {"cache-control": "public, max-age=31536000, immutable"}
_SHORT: Final = {"cache-control": "public, max-age=300"}
# A page may change with every publish; its digest saves the body.
_ASK_AGAIN: Final = {"cache-control": "no-cache", "referrer-policy": "no-referrer"}
_CORS: Final = {"access-control-allow-origin": "*"}
_PREFLIGHT: Final = {
    "access-control-allow-methods": "GET, HEAD, POST, OPTIONS",
    "access-control-allow-headers": "content-type, authorization, if-none-match",
    "access-control-max-age": "86400",
}
_CHART: Final = re.compile(r"/api/v[12]/applications/([a-z0-9]{1,30})/chart", re.ASCII)
_ICON: Final = re.compile(r"/icons/([a-z0-9]{1,30})\.(?:png|webp)", re.ASCII)
_PAGE: Final = re.compile(r"/(?:leaderboard|apps/.*|share/[a-z0-9]{1,30}\.png)?", re.A | re.S)
_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_SOURCE_ID_CHARACTERS: Final = 200

NO_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>No page here</title>'
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" '
    'content="light dark"><main><h1>No page here</h1><p>The market has no app of this name, or '
    'the app has no page.</p><p><a href="/">All apps of this market</a></p></main></html>\n'
)
"""What people get for a path that has no page: every server gives the same."""

Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; header names are in lower case and include ``content-length``."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content_type(self) -> str:
        """Return the media type."""
        return self.headers.get("content-type", "")


class Answers:
    """The read API of a market.

    ``head`` pins one revision; without it the live head is read for every request, so an
    answer never mixes two revisions and a publish shows at once.
    """

    def __init__(self, store: Store, *, head: Head | None = None) -> None:
        self.store = store
        self._pinned = head
        self._snapshot: _Snapshot | None = None

    def respond(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes = b"",
        *,
        if_none_match: str = "",
    ) -> Answer:
        """Answer a request; never raises: a damaged store is a 500 that names the object.

        ``path`` is decoded and without the query. HEAD gives GET's headers without the body.
        """
        handler, allowed = self._route(path)
        if method == "OPTIONS":
            return _finish(204, b"", _PREFLIGHT)
        if handler is None:
            return _error(404, "not found", path)
        if (method if method != "HEAD" else "GET") not in allowed:
            shown = "POST" if allowed == ("POST",) else "GET, HEAD"
            return _error(405, "method not allowed", f"{path} takes {shown}", {"allow": shown})
        try:
            answer = handler(query or {}, body)
        except MarketError as error:
            answer = _error(500, "the market is damaged", error.message)
        etag = answer.headers.get("etag")
        known = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
        if etag and (known == ["*"] or etag in known):
            kept = {k: v for k, v in answer.headers.items() if not k.startswith("content-")}
            return Answer(304, b"", kept)
        return Answer(answer.status, b"", answer.headers) if method == "HEAD" else answer

    def _route(self, path: str) -> tuple[Callable[[Query, bytes], Answer] | None, tuple[str, ...]]:
        found = _ROUTES.get(path)
        if found:
            method, name = found
            return getattr(self, name), (method,)
        if chart := _CHART.fullmatch(path):
            return lambda query, _: self._chart(chart[1], query), ("GET",)
        if icon := _ICON.fullmatch(path):
            return lambda query, _: self._icon(icon[1]), ("GET",)
        if _PAGE.fullmatch(path):
            return lambda query, _: self._page(path), ("GET",)
        return None, ()

    def _current(self) -> "_Snapshot | None":
        head = self._pinned or self.store.read_head()[0]
        if head is None:
            return None
        if self._snapshot is None or self._snapshot.head != head:
            self._snapshot = _Snapshot(self.store, head)
        return self._snapshot

    def _hash(self, query: Query, _: bytes) -> Answer:
        return self._v1("hash.json", query)

    def _info(self, query: Query, _: bytes) -> Answer:
        return self._v1("info.json", query)

    def _v1(self, file: str, query: Query) -> Answer:
        snapshot = self._current()
        if snapshot is None:
            return _empty()
        version, name = snapshot.device(query.get("version"))
        body = snapshot.answer(f"{name}/{file}")
        return _json(wire.with_first(body, "version", version))

    def _details(self, _: Query, body: bytes) -> Answer:
        if len(body) > MAX_BODY_BYTES:
            return _error(413, "too large", f"{len(body)} bytes, limit {MAX_BODY_BYTES}")
        try:
            ids, asked = _details_request(body)
        except ValueError as error:
            return _error(400, "bad request", str(error))
        snapshot = self._current()
        if snapshot is None:
            return _empty()
        version, name = snapshot.device(asked)
        index = snapshot.document(f"{name}/details.json")
        found = {key: snapshot.blob(index[key], "detail") for key in ids if key in index}
        return _json(wire.details(version, found, [key for key in ids if key not in index]))

    def _catalog(self, query: Query, _: bytes) -> Answer:
        snapshot = self._current()
        if snapshot is None:
            return _empty()
        asked = query.get("source_id", "")
        source = asked if 0 < len(asked) <= _SOURCE_ID_CHARACTERS else snapshot.head.source
        body = snapshot.answer(f"{snapshot.set_of(query)}/catalog.json")
        return _json(wire.envelope(wire.with_first(body, "source_id", source)))

    def _taxonomy(self, query: Query, _: bytes) -> Answer:
        snapshot = self._current()
        if snapshot is None:
            return _empty()
        return _json(wire.envelope(snapshot.answer(f"{snapshot.set_of(query)}/taxonomy.json")))

    def _applications(self, query: Query, _: bytes) -> Answer:
        snapshot = self._current()
        if snapshot is None:
            return _empty()
        path = f"{snapshot.set_of(query)}/applications.json"
        size, page = _count(query.get("size")), _count(query.get("page"))
        if not size:
            return _json(wire.envelope(snapshot.answer(path)))
        data = page_of(snapshot.document(path), page or 1, size)
        return _json(wire.envelope(canonical.encode(data)))

    def _chart(self, app: str, query: Query) -> Answer:
        snapshot = self._current()
        if snapshot is None:
            return _empty()
        file = query.get("fileName") or f"{app}-{query.get('version', '')}.tgz"
        ledger = snapshot.ledger(app)
        entry = ledger.charts.get(file) if ledger else None
        if entry is None:
            return _error(404, "chart not found", f"{app} has no {file}"[:200])
        data = objects.read_blob(self.store, entry.archive.sha256, file)
        headers = {
            "content-type": "application/gzip",
            "content-disposition": f'attachment; filename="{file}"',
            "etag": f'"{entry.archive.sha256}"',
        }
        return _finish(200, data, headers | _FOR_EVER)

    def _icon(self, app: str) -> Answer:
        snapshot = self._current()
        if snapshot is None:
            return _empty()
        icon = snapshot.document(FILES)["icons"].get(app)
        if icon is None:
            return _error(404, "icon not found", app)
        data = objects.read_blob(self.store, icon["sha256"], f"icon of {app}")
        headers = {"content-type": icon["type"], "etag": f'"{icon["sha256"]}"'}
        return _finish(200, data, headers | _SHORT)

    def _page(self, path: str) -> Answer:
        snapshot = self._current()
        if snapshot is None:
            return _empty()
        routes = snapshot.document(PAGES)["routes"] if PAGES in snapshot.head.answers else {}
        route = routes.get(path)
        if route is None and path.startswith("/share/"):
            return _error(404, "picture not found", f"{path}: no app here, or it has no page")
        if route is None:
            headers = {"content-type": "text/html; charset=utf-8"} | _NO_STORE
            policy = {"content-security-policy": "default-src 'none'"}
            return _finish(404, NO_PAGE.encode(), headers | policy)
        stored = route.get("answer")
        digest = snapshot.head.answers[stored] if stored else route["blob"]
        body = snapshot.answer(stored) if stored else objects.read_blob(self.store, digest, path)
        cache = _SHORT if route["type"].startswith("image/") else _ASK_AGAIN
        headers = {"content-security-policy": route["csp"], "content-type": route["type"]}
        return _finish(200, body, headers | {"etag": f'"{digest}"'} | cache)

    def _health(self, _: Query, __: bytes) -> Answer:
        snapshot = self._current()
        if snapshot is None:
            return _json(canonical.encode({"status": "empty", "apps": 0}))
        head = snapshot.head
        state = {
            "status": "ok",
            "name": head.label,
            "apps": head.apps,
            "revision": head.revision,
            "hash": head.hash,
            "updated": canonical.time_text(head.updated),
        }
        return _json(canonical.encode(state))


_ROUTES: Final = {
    "/api/v1/appstore/hash": ("GET", "_hash"),
    "/api/v1/appstore/info": ("GET", "_info"),
    "/api/v1/applications/info": ("POST", "_details"),
    "/api/v2/catalog": ("GET", "_catalog"),
    "/api/v2/taxonomy": ("GET", "_taxonomy"),
    "/api/v2/applications": ("GET", "_applications"),
    "/api/v2/browse/applications": ("GET", "_applications"),
    "/health": ("GET", "_health"),
}


class _Snapshot:
    """One revision's documents, each read and parsed at most once."""

    def __init__(self, store: Store, head: Head) -> None:
        self.store, self.head = store, head
        self._bodies: dict[str, bytes] = {}
        self._documents: dict[str, Any] = {}
        self._blobs: dict[str, bytes] = {}

    def answer(self, path: str) -> bytes:
        if path not in self._bodies:
            digest = self.head.answers.get(path, "")
            self._bodies[path] = objects.read_answer(self.store, self.head.revision, path, digest)
        return self._bodies[path]

    def document(self, path: str) -> Any:
        if path not in self._documents:
            self._documents[path] = json.loads(self.answer(path))
        return self._documents[path]

    def blob(self, digest: str, what: str) -> bytes:
        if digest not in self._blobs:
            self._blobs[digest] = objects.read_blob(self.store, digest, what)
        return self._blobs[digest]

    def ledger(self, app: str) -> Ledger | None:
        digest = self.document(FILES)["ledgers"].get(app)
        return objects.read_ledger(self.store, digest, app) if digest else None

    def device(self, asked: str | None) -> tuple[str, str]:
        """Return the version to answer with, and the set to answer from."""
        version = _release(asked)
        if version is None or asked is None:
            return str(FALLBACK), set_for(self.head.generations, FALLBACK)
        return asked, set_for(self.head.generations, version)

    def set_of(self, query: Query) -> str:
        """Return the set for a v2 request, which may or may not name the device's version."""
        version = _release(query.get("version") or query.get("olares_version"))
        return set_for(self.head.generations, version) if version else ANY


def _release(asked: str | None) -> OlaresVersion | None:
    try:
        return OlaresVersion.parse(asked or "")
    except UsageError:
        return None


def _details_request(body: bytes) -> tuple[list[str], str | None]:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError("the body is no JSON") from error
    if not isinstance(request, dict):
        raise ValueError("the body is no object")
    ids, version = request.get("app_ids"), request.get("version")
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise ValueError("app_ids is no list of strings")
    if len(ids) > MAX_IDS:
        raise ValueError(f"app_ids has {len(ids)} ids, limit {MAX_IDS}")
    if version is not None and not isinstance(version, str):
        raise ValueError("version is no string")
    return list(dict.fromkeys(ids)), version


def _count(text: str | None) -> int | None:
    return int(text) if text and _COUNT.fullmatch(text) and int(text) > 0 else None


def _json(body: bytes) -> Answer:
    etag = {"etag": f'"{canonical.digest(body)}"'}
    return _finish(200, body, {"content-type": "application/json"} | _NO_STORE | etag)


def _error(status: int, error: str, message: str, headers: Query | None = None) -> Answer:
    body = json.dumps({"error": error, "message": message}).encode()
    base = {"content-type": "application/json"} | _NO_STORE
    return _finish(status, body, base | dict(headers or {}))


def _empty() -> Answer:
    return _error(503, "nothing is published yet", "publish an app first")


def _finish(status: int, body: bytes, headers: Query) -> Answer:
    length = {"content-length": str(len(body))}
    fixed = {"x-content-type-options": "nosniff"} | _CORS
    return Answer(status, body, {**headers, **length, **fixed})
