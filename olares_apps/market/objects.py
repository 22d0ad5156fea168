"""Objects of a store by their meaning: names, verified reads, checked writes.

Blobs and revisions are named by their content, so every read proves itself: what does not
have the digest of its name is reported, never used and never repaired.
"""

from typing import Final

from olares_apps.errors import MarketError, StoreCorrupt
from olares_apps.market import canonical
from olares_apps.market.entries import Ledger
from olares_apps.market.records import Revision
from olares_apps.market.store import Store

__all__ = [
    "answer_key",
    "blob_key",
    "put",
    "read_answer",
    "read_blob",
    "read_ledger",
    "read_revision",
    "revision_key",
]

_REMOVE: Final = "remove the file and publish the app again, or restore it from a copy"
_RESTORE: Final = "restore it from a copy of the market"
_CLOCK: Final = "a collector takes it for old: set the clock of the machine that runs it"
_ATTEMPTS: Final = 3


def blob_key(digest: str) -> str:
    """Return the key of a blob."""
    return f"blobs/sha256/{digest}"


def revision_key(identity: str) -> str:
    """Return the key of a revision."""
    return f"revisions/{identity}.json"


def answer_key(identity: str, path: str) -> str:
    """Return the key of a prepared answer of a revision."""
    return f"responses/{identity}/{path}"


def read_blob(store: Store, digest: str, what: str) -> bytes:
    """Return a blob; ``what`` says in messages whose it is. Raises StoreCorrupt."""
    return _read(store, blob_key(digest), digest, what, _REMOVE)


def read_revision(store: Store, identity: str) -> Revision:
    """Return a revision; raises StoreCorrupt when it is missing or damaged."""
    key = revision_key(identity)
    data = _read(store, key, identity, "revision", _RESTORE)
    return Revision.decode(data, f"{store.url}/{key}")


def read_answer(store: Store, identity: str, path: str, digest: str) -> bytes:
    """Return a prepared answer; raises StoreCorrupt when it is missing or damaged."""
    return _read(store, answer_key(identity, path), digest, "prepared answer", _RESTORE)


def read_ledger(store: Store, digest: str, app: str) -> Ledger:
    """Return the ledger of an app; raises StoreCorrupt."""
    what = f"ledger of {app}"
    ledger = Ledger.decode(read_blob(store, digest, what), f"{store.url}/{blob_key(digest)}")
    if ledger.app != app:
        raise StoreCorrupt(f"{store.url}: the {what} is that of {ledger.app}", hint=_RESTORE)
    return ledger


def put(store: Store, key: str, data: bytes) -> bool:
    """Create an object whose content is fixed; True when it was written just now.

    One that exists must hold the same bytes: nothing may point to it otherwise. Raises
    StoreCorrupt when it does not, MarketError when it is removed again and again.
    """
    for _ in range(_ATTEMPTS):
        if store.put_if_absent(key, data):
            return True
        found = store.get(key)
        if found == data:
            return False
        if found is not None:
            raise StoreCorrupt(f"{store.url}/{key} exists with other content", hint=_REMOVE)
        # A collector whose clock is ahead took it between the two calls.
    raise MarketError(f"{store.url}/{key} vanishes each time", hint=_CLOCK)


def _read(store: Store, key: str, digest: str, what: str, hint: str) -> bytes:
    data = store.get(key)
    if data is None:
        raise StoreCorrupt(f"{store.url}/{key} is missing ({what})", hint=hint)
    found = canonical.digest(data)
    if found != digest:
        raise StoreCorrupt(
            f"{store.url}/{key} is damaged ({what}): its sha256 is {found}, expected {digest}",
            hint=hint,
        )
    return data
