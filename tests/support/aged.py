"""A store in memory whose objects have an age, so that a collector can work beside publishers."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from support.market import MemoryStore

from olares_apps.market import canonical, objects
from olares_apps.market.gc import Collected, Stored, sweep
from olares_apps.market.history import Entry
from olares_apps.market.records import Head, Revision
from olares_apps.market.retention import DAY_SECONDS, Reach, Retention

__all__ = ["AgedStore"]

NOW: Final = 10.0 * DAY_SECONDS


class AgedStore(MemoryStore):
    """Whatever is put is new; `age` makes all of it old. Every move of the head is judged.

    ``heads`` are the revisions that went live, oldest first; ``broken`` says what did not hold
    after a move of the head or a removal.
    """

    def __init__(self, before: Callable[[str], None] = lambda operation: None) -> None:
        super().__init__(before)
        self.times: dict[str, float] = {}
        self.heads: list[str] = []
        self.broken: list[str] = []

    def age(self) -> None:
        """Make everything two days old."""
        self.times = dict.fromkeys(self.objects, NOW - 2 * DAY_SECONDS)

    def copy(self, before: Callable[[str], None] = lambda operation: None) -> "AgedStore":
        """Return a store with the same objects, of which nothing is shared."""
        other = AgedStore(before)
        other.objects, other.times = dict(self.objects), dict(self.times)
        other.head, other.heads = self.head, list(self.heads)
        return other

    def put_if_absent(self, key: str, data: bytes) -> bool:
        created = super().put_if_absent(key, data)
        with self._lock:
            # The collector takes the same lock: what it has removed meanwhile is written again.
            created = created or key not in self.objects
            self.objects[key], self.times[key] = data, NOW
        return created

    def swap_head(self, expected: str | None, head: Head) -> bool:
        moved = super().swap_head(expected, head)
        if moved:
            self._judge_move(head.revision)
            self.heads.append(head.revision)
        return moved

    def exists(self, key: str) -> bool:
        self.before(f"exists {key}")
        return super().exists(key)

    def stored(self, prefix: str) -> Sequence[Stored]:
        self.before(f"list {prefix}")
        keys = sorted(key for key in self.objects if key.startswith(f"{prefix}/"))
        return [Stored(key, len(self.objects[key]), self.times[key]) for key in keys]

    def remove_old(
        self, keys: Sequence[str], before: float, head: str | None
    ) -> Sequence[str] | None:
        self.before(f"remove {keys[0]}")
        with self._lock:
            if (canonical.digest(self.head) if self.head else None) != head:
                return None
            old = [key for key in keys if self.times.get(key, NOW) < before]
            for key in old:
                del self.objects[key], self.times[key]
        self._judge("after a removal")
        return old

    def collect(self, retention: Retention, *, dry_run: bool) -> Iterator[Collected]:
        return sweep(self, retention, now=NOW, dry_run=dry_run)

    def _judge_move(self, identity: str) -> None:
        """A head moves to a child of the present one that forgets nothing, and is whole."""
        revision = self._revision(identity)
        if revision.parent != (self.heads[-1] if self.heads else None):
            self.broken.append(f"{identity[:12]} is no child of the head before it")
        if self.heads and revision.parent:
            before = self._revision(revision.parent)
            if revision.created <= before.created:
                self.broken.append(f"{identity[:12]} is not later than its parent")
            for name, old in before.apps.items():
                entry = revision.apps.get(name)
                if entry is None or _number(entry.greatest) < _number(old.greatest):
                    self.broken.append(f"{identity[:12]} forgets {name} {old.greatest}")
        self._judge("after a move")

    def _judge(self, when: str) -> None:
        """Everything that the live revision reaches exists."""
        quiet = MemoryStore()
        quiet.objects = self.objects
        if self.head is None:
            return
        identity = Head.decode(self.head, "head").revision
        entry = Entry(identity, self._revision(identity))
        try:
            keys = list(Reach(quiet).keys(entry))
        except Exception as error:
            self.broken.append(f"{when}: {error}")
            return
        self.broken += [f"{when}: {key} is missing" for key in keys if key not in self.objects]

    def _revision(self, identity: str) -> Revision:
        return Revision.decode(self.objects[objects.revision_key(identity)], identity)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
