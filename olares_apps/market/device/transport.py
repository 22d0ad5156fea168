"""How a device reaches a source: over HTTP, or straight through the stored answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpTransport", "Reply", "Transport", "TransportFault"]

# A device gives one request 30 s (contract 2.4, 3.1).
TIMEOUT_SECONDS = 30.0


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
                headers={"Accept-Encoding": "identity"},
            ) as response:
                raw = b"".join(response.iter_raw())
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Reply(response.status_code, headers, raw)
        except httpx.HTTPError as error:
            raise TransportFault(str(error) or type(error).__name__) from error
