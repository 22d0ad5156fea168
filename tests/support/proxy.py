"""A bad connection on this machine: a proxy in front of a Worker that spoils exchanges."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

__all__ = ["Answer", "Exchange", "Proxy", "proxied"]

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "date", "server"})


@dataclass(frozen=True)
class Answer:
    """What a server answered, or is made to have answered."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Exchange:
    """One request that came in, and what can be done with it."""

    def __init__(self, handler: BaseHTTPRequestHandler, target: str) -> None:
        self._handler, self._target = handler, urlsplit(target)
        self.method, self.path = handler.command, handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = handler.rfile.read(int(self.headers.get("content-length", 0)))

    @property
    def kind(self) -> str:
        """Return what it is about: ``PUT blobs``, ``PUT head``, ``GET revisions`` ..."""
        path = self.path.partition("?")[0].removeprefix("/api/publish/v1/")
        return f"{self.method} {path.removeprefix('objects/').partition('/')[0]}"

    def forward(self, body: bytes | None = None) -> Answer:
        """Send the request on, with another body if there is one, and return the answer."""
        sent = self.body if body is None else body
        connection = http.client.HTTPConnection(self._target.netloc, timeout=60)
        kept = {name: text for name, text in self.headers.items() if name not in _HOP_BY_HOP}
        try:
            connection.request(
                self.method, self.path, sent, kept | {"content-length": str(len(sent))}
            )
            reply = connection.getresponse()
            headers = {name.lower(): text for name, text in reply.getheaders()}
            return Answer(reply.status, headers, reply.read())
        finally:
            connection.close()

    def forward_half(self) -> None:
        """Send the request on as far as the middle of its body, and hang up."""
        lines = [f"{self.method} {self.path} HTTP/1.1"]
        lines += [f"{name}: {text}" for name, text in self.headers.items()]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        address = (self._target.hostname or "", self._target.port or 80)
        with socket.create_connection(address, timeout=60) as connection:
            connection.sendall(head + self.body[: len(self.body) // 2])

    def reply(self, answer: Answer, *, most: int | None = None) -> None:
        """Answer the client; only the first ``most`` bytes of the body arrive."""
        self._handler.send_response_only(answer.status)
        for name, text in answer.headers.items():
            if name not in _HOP_BY_HOP:
                self._handler.send_header(name, text)
        if "content-length" not in answer.headers:
            self._handler.send_header("Content-Length", str(len(answer.body)))
        self._handler.end_headers()
        if self.method != "HEAD":
            self._handler.wfile.write(answer.body[:most])


@dataclass
class Proxy:
    """Where it listens, and what it does with each exchange; a hang-up is to do nothing."""

    target: str
    spoil: Callable[[Exchange], None]
    url: str = ""
    faults: list[BaseException] = field(default_factory=list)

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Take one request; what goes wrong in here is kept for the test."""
        try:
            self.spoil(Exchange(handler, self.target))
        except (BrokenPipeError, ConnectionResetError):
            return
        except BaseException as error:
            self.faults.append(error)


@contextmanager
def proxied(target: str, spoil: Callable[[Exchange], None]) -> Iterator[Proxy]:
    """Run a proxy for the length of a block; fail when it failed."""
    proxy = Proxy(target, spoil)

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            if self.raw_requestline and self.parse_request():
                proxy.handle(self)
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    if proxy.faults:
        raise proxy.faults[0]
