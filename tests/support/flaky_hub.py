"""A loopback model hub that misbehaves on request.

Contents are registered under a URL path; every GET of a path takes the next answer of its script,
and a fixed answer (a correct one by default) once the script is used up. A HEAD looks at the next
answer without taking it. All requests are recorded in order.

    with FlakyHub() as hub:
        hub.serve_file("owner/name", "model.gguf", content)
        hub.script(file_url_path("owner/name", "model.gguf"), drop(after=1000))
        ... point HF_ENDPOINT at hub.url ...
        assert hub.requests[1].headers["range"] == "bytes=1000-"
"""

import hashlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

HTML_PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body></body></html>\n"
CHUNK = 16 * 1024
"""Bytes per write; with a rate, one write is a quarter of a second's worth."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the hub saw it; header names are lower case."""

    method: str
    raw_path: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        return unquote(self.raw_path)

    @property
    def range(self) -> str | None:
        return self.headers.get("range")


@dataclass(frozen=True, slots=True)
class Answer:
    """How to answer one request; the defaults are a correct server with Range and If-Range."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Replaces the registered content."""
    etag: str | None = None
    """Replaces the ETag made from the content; the empty string sends none."""
    honour_range: bool = True
    cut_after: int | None = None
    """Body bytes sent before the connection ends; Content-Length still promises all."""
    reset: bool = False
    """Ends a cut connection with a TCP reset instead of a clean end."""
    announce_length: bool = True
    """Sends Content-Length; without it the end of the connection is the end of the body."""
    stall_after: int | None = None
    """Body bytes sent before the server goes silent with the connection open."""
    bytes_per_second: int | None = None


OK = Answer()


def drop(after: int) -> Answer:
    """A connection that is reset after some bytes of the body."""
    return Answer(cut_after=after, reset=True)


def truncate(after: int, *, announce_length: bool = True) -> Answer:
    """A body that ends cleanly but too early."""
    return Answer(cut_after=after, announce_length=announce_length)


def refuse(status: int, **headers: str) -> Answer:
    """An error status with a short text; ``x_error_code="GatedRepo"`` sets X-Error-Code."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, headers=named, body=f"status {status}\n".encode())


def redirect(location: str, status: int = 302) -> Answer:
    """A redirect whose own body and ETag must not be taken for the file's."""
    return Answer(status=status, headers={"Location": location}, body=b"moved", etag='"redirect"')


def html_page() -> Answer:
    """A sign-in page with status 200."""
    return Answer(body=HTML_PAGE, headers={"Content-Type": "text/html"}, honour_range=False)


def lfs_pointer(content: bytes) -> bytes:
    """The git-lfs pointer file of a content."""
    digest = hashlib.sha256(content).hexdigest()
    lines = ("version https://git-lfs.github.com/spec/v1", f"oid sha256:{digest}")
    return "\n".join((*lines, f"size {len(content)}", "")).encode()


def file_url_path(repo: str, path: str, revision: str = "main") -> str:
    """The decoded URL path of a file of a repository."""
    return f"/{repo}/resolve/{revision}/{path}"


class FlakyHub:
    """The server; a context manager. All methods may be called while requests run."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._contents: dict[str, bytes] = {}
        self._scripts: dict[str, deque[Answer]] = {}
        self._afterwards: dict[str, Answer] = {}
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        """The endpoint without a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def serve(self, url_path: str, content: bytes) -> None:
        """Answer GET and HEAD of a decoded URL path with a content."""
        self._contents[url_path] = content

    def serve_file(self, repo: str, path: str, content: bytes, revision: str = "main") -> None:
        """Serve a file of a repository at one revision."""
        self.serve(file_url_path(repo, path, revision), content)

    def script(self, url_path: str, *answers: Answer, then: Answer = OK) -> None:
        """Set the answers to the next GETs of a decoded URL path, and the one to all later."""
        self._scripts[url_path] = deque(answers)
        self._afterwards[url_path] = then

    def gets(self, url_path: str | None = None) -> list[Request]:
        """The GET requests so far, of one decoded URL path or of all."""
        return [
            request
            for request in self.requests
            if request.method == "GET" and url_path in (None, request.path)
        ]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer_to(self, request: Request) -> tuple[Answer, bytes]:
        self.requests.append(request)
        script = self._scripts.get(request.path)
        answer = self._afterwards.get(request.path, OK)
        if script:
            answer = script[0] if request.method == "HEAD" else script.popleft()
        content = self._contents.get(request.path) if answer.body is None else answer.body
        if content is None:
            return refuse(404, x_error_code="EntryNotFound"), b"Entry not found"
        return answer, content

    def _pause(self, seconds: float | None = None) -> None:
        self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub: FlakyHub) -> None:
        self.hub = hub
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed in the middle is part of the tests, not an error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        raw_path = self.path.partition("?")[0]
        answer, content = self.server.hub._answer_to(Request(self.command, raw_path, headers))
        etag = answer.etag
        if etag is None:
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        status, span, extra = _range_of(answer, headers, len(content), etag)
        body = content[span]
        self.send_response(status)
        for name, value in {"Accept-Ranges": "bytes", **extra, **answer.headers}.items():
            self.send_header(name, value)
        if etag:
            self.send_header("ETag", etag)
        if answer.announce_length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.close_connection = True
        self.end_headers()
        if self.command == "GET":
            with suppress(ConnectionError):
                self._send_body(answer, body)

    do_HEAD = do_GET  # noqa: N815 - the name is the base class's

    def _send_body(self, answer: Answer, body: bytes) -> None:
        rate = answer.bytes_per_second
        chunk = CHUNK if rate is None else max(1, rate // 4)
        ends = [end for end in (answer.cut_after, answer.stall_after) if end is not None]
        body_sent = body[: min(ends)] if ends else body
        for begin in range(0, len(body_sent), chunk):
            self.wfile.write(body_sent[begin : begin + chunk])
            if rate is not None:
                self.server.hub._pause(0.25)
        if answer.stall_after is not None:
            self.server.hub._pause()
        if ends:
            self.close_connection = True
        if answer.reset:
            linger_off = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_off)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in the base class
        """Requests are recorded, not printed."""


def _range_of(
    answer: Answer, headers: Mapping[str, str], length: int, etag: str
) -> tuple[int, slice, dict[str, str]]:
    """The status, the span of the content and the headers that Range and If-Range ask for."""
    wanted = headers.get("range")
    if answer.status is not None:
        return answer.status, slice(None), {}
    if wanted is None or not answer.honour_range or headers.get("if-range", etag) != etag:
        return 200, slice(None), {}
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start, end = int(first), min(int(last) + 1 if last else length, length)
    if start >= length:
        return 416, slice(0, 0), {"Content-Range": f"bytes */{length}"}
    return 206, slice(start, end), {"Content-Range": f"bytes {start}-{end - 1}/{length}"}
