"""Copying a market with its history, one revision after the other, oldest first.

The target's head moves only from a revision to its child, by the same compare-and-swap as a
publish. So a copy that stops anywhere leaves a whole market, and the next run goes on from there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from olares_apps.errors import Conflict, MarketError, UsageError
from olares_apps.market import objects
from olares_apps.market.history import Entry, history
from olares_apps.market.records import Head
from olares_apps.market.retention import Reach
from olares_apps.market.store import Store

__all__ = ["Mirrored", "mirror"]


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What a mirror did: the live revision now, and what was copied (``bytes`` written)."""

    source: str
    target: str
    revision: str
    revisions: int
    objects: int
    bytes: int

    def as_dict(self) -> dict[str, object]:
        """Return the result with stable keys, as ``--output json`` prints it."""
        return {
            "source": self.source,
            "target": self.target,
            "revision": self.revision,
            "revisions": self.revisions,
            "objects": self.objects,
            "bytes": self.bytes,
        }


def mirror(
    source: Store,
    target: Store,
    *,
    on_step: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> Mirrored:
    """Bring the target to the revision that is live in the source, through all between.

    Every object is proved by its digest when it is read. ``on_step`` is called before each
    revision with how many are done, of how many, and which comes. Raises Conflict when the target
    has a revision that the source's history does not have, or changes meanwhile; MarketError for
    an empty source; StoreCorrupt.
    """
    if source.url == target.url:
        raise UsageError("source and target are the same market", hint="name two markets")
    chain = list(history(source))[::-1]
    if not chain:
        raise MarketError(f"{source.url} holds nothing yet", hint="publish an app first")
    head, etag = target.read_head()
    known, todo = _split(source, target, chain, head)
    reach = Reach(source)
    copied = {digest for entry in known[-1:] for digest, _ in reach.blobs(entry.revision)}
    count = size = 0
    for number, entry in enumerate(todo):
        on_step(number, len(todo), f"revision {entry.identity[:12]}")
        for key, data in _objects(source, entry, reach, copied):
            if objects.put(target, key, data):
                count, size = count + 1, size + len(data)
        if not target.swap_head(etag, entry.revision.head(entry.identity)):
            raise Conflict(
                f"{target.url} was changed by somebody else meanwhile",
                hint="run the same command again; what was copied is not copied twice",
            )
        etag = target.read_head()[1]
    return Mirrored(source.url, target.url, chain[-1].identity, len(todo), count, size)


def _split(
    source: Store, target: Store, chain: Sequence[Entry], head: Head | None
) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """Return what the target has of the source's history and what it lacks, oldest first."""
    if head is None:
        return (), chain
    names = [entry.identity for entry in chain]
    if head.revision not in names:
        raise Conflict(
            f"{target.url} is at revision {head.revision[:12]}, which the history of {source.url} "
            "does not have",
            hint="nothing was changed; mirror into an empty market, or publish to one of the two",
        )
    at = names.index(head.revision) + 1
    return chain[:at], chain[at:]


def _objects(
    source: Store, entry: Entry, reach: Reach, copied: set[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield what a revision needs and was not copied yet; what names others comes last."""
    for digest, what in reach.blobs(entry.revision):
        if digest not in copied:
            copied.add(digest)
            yield objects.blob_key(digest), objects.read_blob(source, digest, what)
    for path, digest in sorted(entry.revision.answers.items()):
        data = objects.read_answer(source, entry.identity, path, digest)
        yield objects.answer_key(entry.identity, path), data
    yield objects.revision_key(entry.identity), entry.revision.encode()
