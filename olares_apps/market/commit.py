"""Moving a market from one revision to the next: the write half of the publish protocol.

``docs/protocol.md`` proves what this module does: read the head, make the next revision from
it, write blobs, answers and revision, move the head by compare-and-swap, and on a lost race
begin again from the new head. Whatever happens before the head moves leaves the market as it
was; whatever happens after it leaves the new one complete.
"""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from olares_apps.errors import Conflict, MarketError, UsageError
from olares_apps.market import canonical, objects
from olares_apps.market.agreement import faults_of
from olares_apps.market.prepare import Prepared, prepare
from olares_apps.market.records import Head, Revision
from olares_apps.market.store import Store

__all__ = ["Committed", "Draft", "Hands", "State", "commit", "next_moment", "read_state"]


@dataclass(frozen=True, slots=True)
class State:
    """A market at one moment: its head, the head's etag, and the revision it names."""

    head: Head | None
    etag: str | None
    revision: Revision | None

    @property
    def identity(self) -> str | None:
        """Return the live revision's name, or None for an empty market."""
        return self.head.revision if self.head else None


@dataclass(frozen=True, slots=True)
class Draft:
    """The next revision without its answers, and the blobs that it needs, by digest.

    ``details`` are those blobs that are detail documents: they are decoded before the head
    moves. Blobs that are published already need not be listed.
    """

    revision: Revision
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    details: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hands:
    """What a commit takes from outside: clock, patience, chance and a place to stop it.

    ``clock`` returns nanoseconds since 1970, ``timer`` seconds since whenever, ``jitter`` a number
    from 0 to 1, ``sleep`` takes seconds. ``on_step`` is called with a name before every write.
    """

    clock: Callable[[], int] = time.time_ns
    timer: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.SystemRandom().random
    retries: int = 100
    on_step: Callable[[str], None] = lambda name: None


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that moved the head: what it replaced and what it wrote."""

    prepared: Prepared
    base: State
    attempts: int
    written: int
    bytes_written: int


_NOTE_BYTES: Final = 65536
_Objects = list[tuple[str, bytes]]

# Seconds: the shortest round, and the longest wait when rounds are short, since an object store
# takes one head write a second; in rounds, and in seconds, the longest one otherwise.
_SHORT_ROUND, _LONG_ENOUGH, _MOST_ROUNDS, _LONGEST_WAIT = 0.02, 2.0, 32, 30.0


def read_state(store: Store) -> State:
    """Return the market as it is now: one read of the head, one of its revision.

    Raises StoreCorrupt when either is damaged.
    """
    head, etag = store.read_head()
    revision = objects.read_revision(store, head.revision) if head else None
    return State(head, etag, revision)


def next_moment(state: State, clock: Callable[[], int]) -> int:
    """Return the time of the next revision in ns: now, but later than its parent's by a ms.

    So the times that devices compare rise with every revision, whatever the clocks of two
    publishers say.
    """
    now = clock()
    if state.revision is None:
        return now
    return max(now, (canonical.milliseconds(state.revision.created) + 1) * 10**6)


def commit(store: Store, make: Callable[[State], Draft | None], hands: Hands) -> Committed | None:
    """Move the head to the revision that ``make`` returns, or return None when it returns None.

    ``make`` is called again with the new state whenever somebody else was first. Raises
    Conflict when that happened more than ``hands.retries`` times, MarketError when the answers
    of the new revision would not decode on a device, UsageError for a note that a revision
    cannot carry, and whatever ``make`` raises.
    """
    written = size = 0
    for attempt in range(1, hands.retries + 2):
        began = hands.timer()
        state = read_state(store)
        draft = make(state)
        if draft is None:
            return None
        _check_words(draft.revision.publisher, draft.revision.note)
        prepared = prepare(replace(draft.revision, parent=state.identity))
        _check(prepared, draft)
        first, then = _objects(draft, prepared)
        for key, data in first:
            hands.on_step(key)
            if objects.put(store, key, data):
                written, size = written + 1, size + len(data)
        # Blobs serve the next attempt too, answers do not: look before writing those.
        if store.read_head()[1] == state.etag:
            for key, data in then:
                hands.on_step(key)
                objects.put(store, key, data)
                written, size = written + 1, size + len(data)
            hands.on_step("head.json")
            if store.swap_head(state.etag, prepared.revision.head(prepared.identity)):
                return Committed(prepared, state, attempt, written, size)
        hands.sleep(hands.jitter() * _longest_wait(attempt, hands.timer() - began))
    raise Conflict(
        f"{store.url} was changed by somebody else {hands.retries + 1} times in a row",
        hint="run the same command again",
    )


def _longest_wait(attempt: int, took: float) -> float:
    """Return the most seconds to wait after a lost round that took so many seconds.

    Who loses has worked in vain for one round, and so has everybody else who lost to the same
    head. So the wait is counted in rounds, as stations on one cable count it in frames, and
    doubles: then about one publisher works at a time, however many there are.
    """
    took = min(max(took, _SHORT_ROUND), _LONGEST_WAIT)
    most = max(_LONG_ENOUGH, min(_LONGEST_WAIT, _MOST_ROUNDS * took))
    return min(most, took * 2.0**attempt)


def _check_words(publisher: str, note: str) -> None:
    """Refuse what a revision cannot carry; raises UsageError with the limit."""
    for name, text, limit in (("publisher", publisher, 200), ("note", note, _NOTE_BYTES)):
        size = len(text.encode("utf-8", "replace"))
        if size > limit:
            raise UsageError(f"the {name} has {size} bytes, limit {limit}", hint="shorten it")
        bad = next((c for c in text if c == "\0" or 0xD800 <= ord(c) < 0xE000), None)
        if bad is not None:
            raise UsageError(f"the {name} holds the character U+{ord(bad):04X}", hint="remove it")


def _check(prepared: Prepared, draft: Draft) -> None:
    faults = faults_of(prepared, draft.details)
    if faults:
        shown = "\n".join(str(fault) for fault in faults[:10])
        more = f"\n... and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise MarketError(
            f"devices would not take what would be published:\n{shown}{more}",
            hint="nothing was published; correct the app and try again",
        )


def _objects(draft: Draft, prepared: Prepared) -> tuple[_Objects, _Objects]:
    """Return everything to write, in order: what a later object names comes before it."""
    blobs = [(objects.blob_key(digest), data) for digest, data in sorted(draft.blobs.items())]
    answers = [
        (objects.answer_key(prepared.identity, path), data)
        for path, data in sorted(prepared.answers.items())
    ]
    return blobs, [*answers, (objects.revision_key(prepared.identity), prepared.data)]
