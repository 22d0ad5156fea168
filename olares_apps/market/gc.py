"""Collecting garbage in a market whose files this process can see.

Proved in docs/protocol.md, *Collecting garbage*: what is reachable is kept by mark, what a publish
under way needs is kept by age, and a put renews an age in one step with respect to a removal.
A server does the same for the market that it holds; `Store.collect` is the interface of both.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from olares_apps.market import objects
from olares_apps.market.retention import Reach, Retention, kept
from olares_apps.market.store import Store

__all__ = ["Collected", "Shelf", "Stored", "sweep"]

_BATCH: Final = 64
# What names others goes before them, so that a collector that dies leaves no dangling name.
_PREFIXES: Final = ("revisions", "responses", "blobs/sha256")


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as the store lists it: its size in bytes, its time in seconds since 1970."""

    key: str
    size: int
    time: float


@dataclass(frozen=True, slots=True)
class Collected:
    """How far a collector is: objects looked at, objects removed and their bytes.

    After a dry run it is what would have been removed.
    """

    looked: int = 0
    removed: int = 0
    bytes: int = 0


class Shelf(Store, Protocol):
    """A store that can list with ages, and remove by age."""

    def stored(self, prefix: str) -> Sequence[Stored]:
        """Return the objects below a folder, in order."""
        ...

    def remove_old(
        self, keys: Sequence[str], before: float, head: str | None
    ) -> Sequence[str] | None:
        """Remove the objects whose time is before ``before``; return which they were.

        Remove nothing and return None when the head's etag is not ``head`` any more. No put can
        renew an object between the look at its time and its removal, and no head can move.
        """
        ...


def sweep(
    store: Shelf,
    retention: Retention,
    *,
    now: float,
    dry_run: bool,
    hook: Callable[[str], None] = lambda point: None,
) -> Iterator[Collected]:
    """Remove what may go, and say after each step how far it is; ``now`` in s since 1970.

    Stops when the head moves: then the marks are void, and the rest is for the next run. ``hook``
    is called with a name before each step; tests stop the process there. Raises StoreCorrupt when
    a kept revision is damaged: then nothing is removed.
    """
    before = now - retention.age
    _, head = store.read_head()
    listed = {prefix: {item.key: item for item in store.stored(prefix)} for prefix in _PREFIXES}
    revisions = listed["revisions"]

    def is_young(key: str) -> bool:
        # Not listed: written since, or taken away by another collector, which ends the chain.
        return key not in revisions or revisions[key].time >= before

    hook("mark")
    reach, marks, beyond = Reach(store), set[str](), None
    for entry in kept(store, retention, is_young):
        marks.update(reach.keys(entry))
        beyond = entry.revision.parent
    done = Collected()
    # The first revision beyond the kept ones goes first and alone: with it the chain is cut, and
    # whatever is removed after it, in any order and however far, nobody misses.
    cut = objects.revision_key(beyond) if beyond else None
    steps = [[cut]] if cut in revisions else []
    for prefix in _PREFIXES:
        old = [
            key
            for key, item in listed[prefix].items()
            if item.time < before and key not in marks and key != cut
        ]
        steps += [old[at : at + _BATCH] for at in range(0, len(old), _BATCH)]
    sizes = {key: item.size for items in listed.values() for key, item in items.items()}
    looked = len(sizes)
    yield Collected(looked)
    for keys in steps:
        hook(f"remove {keys[0]}")
        gone = keys if dry_run else store.remove_old(keys, before, head)
        if gone is None or (keys == [cut] and not gone):
            # The head moved, or somebody wrote that revision anew, so what it reaches is wanted.
            return
        size = sum(sizes[key] for key in gone)
        done = Collected(looked, done.removed + len(gone), done.bytes + size)
        yield done
