"""The store: the small interface behind which a market's objects lie.

The publish protocol (docs/protocol.md) rests on these guarantees and on nothing else:

1. **Create-only.** `put_if_absent` writes an object whole or not at all. A reader sees nothing
   or every byte; an object that exists is never changed by it. Of two writers of one key,
   exactly one gets True.
2. **Read after write.** When `put_if_absent` or `swap_head` has returned, every later read by
   any process sees the result.
3. **One pointer, compared and swapped.** `swap_head` replaces the head only if it still is the
   one named by the expected etag, as one step with respect to all other calls of it. It may
   refuse when what was put for the new head is there no more.
4. **Order.** When a new head can be seen, every object that the same process has put before,
   or has found to exist when it put it, can be seen too, also after a loss of power.

A folder gives them through hard links, a lock and fsync; an object store through conditional
writes. Keys are relative paths of lower-case letters, digits, ``.``, ``_``, ``-`` and ``/``.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from olares_apps.errors import UsageError
from olares_apps.market.records import Head

if TYPE_CHECKING:
    from olares_apps.market.gc import Collected
    from olares_apps.market.retention import Retention

__all__ = ["Store", "open_store"]


class Store(Protocol):
    """Where a market lies. Every method raises MarketError when the store cannot be used."""

    @property
    def url(self) -> str:
        """Return the address as `open_store` takes it, for messages."""
        ...

    def read_head(self) -> tuple[Head | None, str | None]:
        """Return the head and its etag, or (None, None) when nothing was ever published.

        Raises StoreCorrupt when there is a head that cannot be read.
        """
        ...

    def swap_head(self, expected: str | None, head: Head) -> bool:
        """Make ``head`` the head if its etag still is ``expected`` (None: there is no head).

        False: it is another one, or a collector took away what was put for ``head``. Who publishes
        begins again either way.
        """
        ...

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Create an object and return True, or return False when the key exists."""
        ...

    def get(self, key: str) -> bytes | None:
        """Return an object, or None when the key does not exist."""
        ...

    def exists(self, key: str) -> bool:
        """Say whether the key exists."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """Yield the keys below a folder such as ``blobs/sha256``, in order."""
        ...

    def collect(self, retention: "Retention", *, dry_run: bool) -> "Iterator[Collected]":
        """Remove what ``retention`` does not keep, and say after each step how far it is.

        Safe beside publishers and after a crash of itself (docs/protocol.md). Raises UsageError
        for a retention that the store cannot give, StoreCorrupt when what must be kept is damaged.
        """
        ...


def open_store(
    address: str, *, base: Path | None = None, tell: Callable[[str], None] = lambda text: None
) -> Store:
    """Return the store at ``dir:PATH`` or at the address of a Worker; see docs/worker.md.

    A relative path starts at ``base``; the Worker's token comes from the environment. ``tell`` gets
    a line when it waits for a server that does not answer.

    Nothing is created before the first write. Raises UsageError for an address of another
    form and MarketError for a folder that is not a market.
    """
    from olares_apps.market.dir_store import DirStore

    scheme, colon, rest = address.partition(":")
    if colon and scheme == "dir" and rest:
        path = Path(rest).expanduser()
        return DirStore(path if path.is_absolute() else (base or Path.cwd()) / path)
    if scheme in ("http", "https"):
        from olares_apps.market.http_store import open_http_store

        return open_http_store(address, os.environ, tell)
    raise UsageError(
        f"'{address}' is not the address of a market",
        hint="write dir:PATH, for example dir:.market, or the https address of a Worker",
    )
