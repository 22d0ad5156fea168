"""HTTP with bounded patience: retries, Retry-After, and tokens that stay with their host."""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

from olares_apps import __version__
from olares_apps.connections import open_client
from olares_apps.errors import FetchError
from olares_apps.lock.errors import TooManyRequests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import httpx

__all__ = ["Network", "retry_after"]

_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 5
_SECONDS: Final = re.compile(r"[0-9]{1,7}")
_LONGEST_STATED: Final = 10.0**7
"""Seconds: what asks for more, four months, does not mean it."""
_SLOWEST: Final = 1024
_SMALL_BODY: Final = 16 * 2**20


def retry_after(headers: Mapping[str, str], now: Callable[[], datetime]) -> float | None:
    """Return the seconds that a Retry-After header asks for, None without a usable one."""
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - now()).total_seconds()
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds) if seconds < _LONGEST_STATED else None


@dataclass
class Network:
    """Sends requests.

    ``attempts`` counts tries per request; ``longest_wait`` (seconds) bounds a pause between
    two: a host that asks for more is not waited for. ``timeout`` (seconds) holds for
    connecting and for each read. After ``grace`` seconds an answer must have brought a KiB per
    second: a server that sends a byte now and then would keep us for ever. ``failure`` is the
    error for a host that does not answer.
    """

    attempts: int = 4
    longest_wait: float = 20.0
    timeout: float = 30.0
    first_wait: float = 0.5
    failure: type[FetchError] = FetchError
    grace: float = 60.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    @cached_property
    def client(self) -> "httpx.Client":
        """Return the client; raises UsageError for a proxy that cannot be used."""
        return open_client(
            timeout=self.timeout,
            follow_redirects=False,
            headers={"User-Agent": f"olapps/{__version__}", "Accept-Encoding": "identity"},
        )

    def close(self) -> None:
        """Close the connections."""
        if "client" in self.__dict__:
            self.client.close()

    def pause(self, attempt: int, stated: float | None, host: str) -> None:
        """Wait before the next try; raises TooManyRequests when the host asks for too long."""
        if stated is not None and stated > self.longest_wait:
            raise TooManyRequests(host, stated)
        wait = self.first_wait * 2**attempt if stated is None else stated
        self.sleep(min(wait, self.longest_wait))

    @contextmanager
    def open(
        self, address: str, headers: Mapping[str, str], secret: Mapping[str, str]
    ) -> "Iterator[httpx.Response]":
        """Open one GET, redirects followed; the body is read by the caller.

        ``secret`` headers go to the first host only. Answers that ask to come again are
        retried; other statuses are the caller's. Raises TooManyRequests and ``failure``.
        """
        import httpx

        for attempt in range(self.attempts):
            is_last = attempt + 1 == self.attempts
            try:
                response = self._follow(address, headers, secret)
            except httpx.HTTPError as error:
                if is_last:
                    raise self._failed(address, error) from None
                self.pause(attempt, None, address)
                continue
            if response.status_code not in _AGAIN:
                try:
                    yield response
                finally:
                    response.close()
                return
            stated = retry_after(response.headers, self.now)
            response.close()
            host = response.url.host
            if is_last:
                if response.status_code == 429:
                    raise TooManyRequests(host, stated)
                raise self.failure(
                    f"{host} answers {response.status_code} to {address}",
                    hint="the service has a problem: try again later",
                )
            self.pause(attempt, stated, host)

    def paced(self, chunks: "Iterable[bytes]") -> "Iterator[bytes]":
        """Yield the chunks of one answer; raises httpx.ReadTimeout when they come too slowly."""
        import httpx

        begin, received = self.clock(), 0
        for chunk in chunks:
            received += len(chunk)
            if self.clock() - begin > self.grace + received / _SLOWEST:
                raise httpx.ReadTimeout(f"slower than {_SLOWEST} bytes per second")
            yield chunk

    def _follow(
        self, address: str, headers: Mapping[str, str], secret: Mapping[str, str]
    ) -> "httpx.Response":
        import httpx

        first = httpx.URL(address)
        url = first
        for _ in range(_MOST_REDIRECTS + 1):
            is_home = (url.scheme, url.host, url.port) == (first.scheme, first.host, first.port)
            sent = {**headers, **secret} if is_home else dict(headers)
            request = self.client.build_request("GET", url, headers=sent)
            response = self.client.send(request, stream=True)
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                return response
            response.close()
            try:
                url = url.join(location)
            except httpx.InvalidURL:
                break
            if url.scheme not in ("http", "https"):
                break
        raise self.failure(f"{address} redirects in circles or to nowhere")

    def fetch(
        self, address: str, headers: Mapping[str, str], secret: Mapping[str, str]
    ) -> "httpx.Response":
        """GET a small document (at most 16 MiB), body included; cut answers are retried."""
        import httpx

        for attempt in range(self.attempts):
            try:
                with self.open(address, headers, secret) as response:
                    body = bytearray()
                    for chunk in self.paced(response.iter_bytes()):
                        body += chunk
                        if len(body) > _SMALL_BODY:
                            raise self.failure(
                                f"{address} answers with more than {_SMALL_BODY} bytes"
                            )
                    return httpx.Response(
                        response.status_code,
                        headers={
                            name: value
                            for name, value in response.headers.items()
                            if name not in ("content-encoding", "transfer-encoding")
                        },
                        content=bytes(body),
                        request=response.request,
                    )
            except httpx.HTTPError as error:
                if attempt + 1 == self.attempts:
                    raise self._failed(address, error) from None
                self.pause(attempt, None, address)
        raise AssertionError("unreachable")  # the last attempt returns or raises

    def _failed(self, address: str, error: Exception) -> FetchError:
        reason = str(error) or type(error).__name__
        return self.failure(
            f"{address} cannot be reached: {reason}",
            hint="check the network, the address, and a proxy that HTTP_PROXY or HTTPS_PROXY names",
        )
