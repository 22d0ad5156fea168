"""How a device reaches a source: over HTTP, or straight through the stored answers."""

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlencode

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpTransport", "Reply", "Transport", "TransportFault"]

# A device gives one request 30 s (contract 2.4, 3.1).
TIMEOUT_SECONDS = 30.0
# No answer of a sound source comes near; a device would be busy with it for minutes.
_MAX_BYTES: Final = 64 * 1024 * 1024


class TransportFault(Exception):
    """The request got no answer at all: refused, cut off, timed out."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer as it came over the wire: nothing decoded, header names in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def is_json(self) -> bool:
        """Say whether the client library of a device would decode the body as JSON."""
        kind = self.headers.get("content-type", "").split(";")[0].strip().lower()
        return kind == "application/json" or kind.endswith("+json")

    @property
    def decoded(self) -> bytes:
        """Return the body as a device's HTTP client hands it on: it undoes gzip unasked.

        Raises TransportFault when the body is not what its Content-Encoding says.
        """
        if self.headers.get("content-encoding", "").strip().lower() != "gzip":
            return self.body
        try:
            return gzip.decompress(self.body)
        except (OSError, EOFError, zlib.error) as error:
            raise TransportFault(f"Content-Encoding is gzip, the body is not: {error}") from None

    @property
    def excerpt(self) -> str:
        """Return the beginning of the body, for messages."""
        return ascii(self.body[:300].decode("utf-8", "replace").strip())[1:-1]


class Transport(Protocol):
    """Sends one request to a source."""

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Any | None = None
    ) -> Reply:
        """Return the answer; raises TransportFault when there is none."""
        ...


class HttpTransport:
    """Requests to a base URL, through a client that the caller owns.

    Follows redirects as a device does: a 301 or 302 turns a POST into a GET (contract 2.1).
    """

    def __init__(self, client: "httpx.Client", base: str) -> None:
        self.client = client
        self.base = (base if "://" in base else f"https://{base}").rstrip("/")

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Any | None = None
    ) -> Reply:
        """Send over HTTP and keep the body undecoded; raises TransportFault."""
        import httpx

        url = self.base + path + (f"?{urlencode(sorted(query.items()))}" if query else "")
        try:
            with self.client.stream(
                method,
                url,
                json=body,
                follow_redirects=True,
                timeout=TIMEOUT_SECONDS,
                headers={"Accept-Encoding": "gzip"},
            ) as response:
                raw = b""
                for part in response.iter_raw():
                    raw += part
                    if len(raw) > _MAX_BYTES:
                        raise TransportFault(f"the answer is longer than {_MAX_BYTES} bytes")
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Reply(response.status_code, headers, raw)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TransportFault(str(error) or type(error).__name__) from error
