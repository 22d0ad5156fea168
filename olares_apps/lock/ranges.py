"""A remote model file as a source of bytes, read by HTTP ranges.

The file must stay the same from the first range to the last: its ETag and its size are
pinned by the first answer. A range that is cut off goes on where it ended.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from olares_apps.errors import FetchError
from olares_apps.lock.errors import FileChanged, HubFailed, RangeRefused
from olares_apps.lock.network import Network

if TYPE_CHECKING:
    import httpx

__all__ = ["RemoteFile"]

_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
_LENGTH = re.compile(r"[0-9]{1,18}")


class RemoteFile:
    """One file behind an address; ``size`` (bytes) is what the hub states.

    ``refused`` turns a status such as 401 or 404 into the error to raise.
    """

    def __init__(
        self,
        network: Network,
        address: str,
        size: int,
        *,
        token: str | None = None,
        refused: Callable[["httpx.Response"], FetchError] | None = None,
    ) -> None:
        self._network, self._address, self._size = network, address, size
        self._secret = {"Authorization": f"Bearer {token}"} if token else {}
        self._refused = refused
        self._etag: str | None = None

    @property
    def size(self) -> int:
        """Return the size in bytes that the hub states."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from ``offset``.

        A file that is no GGUF is returned as it is, whatever its length, so that the reader
        can say what it is instead. Raises RangeRefused, FileChanged, HubFailed,
        TooManyRequests, or what ``refused`` makes of a status.
        """
        import httpx

        found = bytearray()
        failures = 0
        while len(found) < length:
            before = len(found)
            begin = offset + before
            try:
                if self._read_into(found, begin, length - before):
                    break
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
            else:
                reason = "the answer ended too early"
            if len(found) >= length:
                break
            failures += 1
            if failures >= self._network.attempts:
                raise HubFailed(
                    f"{self._address}: {reason}, after {len(found)} of {length} bytes",
                    hint="check the network and run the command again",
                )
            self._network.pause(failures - 1, None, self._address)
        return bytes(found[:length])

    def _read_into(self, found: bytearray, begin: int, length: int) -> bool:
        """Append what one request brings; returns whether the file ends there."""
        headers = {"Range": f"bytes={begin}-{begin + length - 1}"}
        with self._network.open(self._address, headers, self._secret) as response:
            total = self._check(response, begin)
            wanted = len(found) + length
            for chunk in self._network.paced(response.iter_raw()):
                found += chunk
                if len(found) >= wanted:
                    break
            if begin == 0 and total is not None and total != self._size and len(found) >= 4:
                if found[:4] == b"GGUF":
                    raise HubFailed(
                        f"{self._address} has {total} bytes, the hub states {self._size}",
                        hint="the mirror holds another file: run the command without it",
                    )
                return True
            # Without a length only the end of the answer says where a page that is no model ends.
            return total is None and found[:4] != b"GGUF" and begin == 0

    def _check(self, response: "httpx.Response", begin: int) -> int | None:
        """Check status, range and ETag; returns the size of the whole file, if stated."""
        status = response.status_code
        if status == 416:
            raise HubFailed(
                f"{self._address} is shorter than the hub states ({self._size} bytes)",
                hint="run the command again; a mirror may hold another file",
            )
        if status not in (200, 206):
            raise (
                self._refused(response)
                if self._refused
                else HubFailed(f"{self._address} answers {status}")
            )
        etag = response.headers.get("etag")
        if self._etag is not None and etag != self._etag:
            raise FileChanged(self._address)
        self._etag = self._etag or etag
        if status == 200:
            if begin:
                raise RangeRefused(self._address, "the server does not send ranges")
            stated = response.headers.get("content-length", "")
            return int(stated) if _LENGTH.fullmatch(stated) else None
        found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
        if not found or int(found[1]) != begin:
            raise RangeRefused(
                self._address,
                f"asked for bytes from {begin}, got {response.headers.get('content-range')!r}",
            )
        total = int(found[3])
        if begin and total != self._size:
            raise FileChanged(self._address)
        return total
