"""What a market must keep: the last revisions, the young ones, and all that they reach.

The archives of every version that an app ever had are reached through its ledger, so they are
kept for devices that still ask for them. What falls away is the text of old revisions: their
answers, ledgers, icons and pages, and what an interrupted publish left behind.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from olares_apps.errors import UsageError
from olares_apps.market import objects
from olares_apps.market.entries import AppEntry, Ledger
from olares_apps.market.history import Entry, history
from olares_apps.market.records import Revision
from olares_apps.market.store import Store

__all__ = ["DAY_SECONDS", "KEPT_REVISIONS", "Reach", "Retention", "kept"]

DAY_SECONDS: Final = 24 * 60 * 60
"""Longer than any publish takes: younger objects may belong to one that is under way."""
KEPT_REVISIONS: Final = 20


@dataclass(frozen=True, slots=True)
class Retention:
    """How many of the last revisions stay, and the age in seconds below which everything stays.

    Raises UsageError for less than one revision or less than a day.
    """

    keep: int = KEPT_REVISIONS
    age: float = DAY_SECONDS

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise UsageError(f"cannot keep {self.keep} revisions", hint="keep 1 or more")
        if self.age < DAY_SECONDS:
            raise UsageError(
                "what is younger than a day may belong to a publish under way",
                hint="ask for 24h or more",
            )


def kept(store: Store, retention: Retention, is_young: Callable[[str], bool]) -> Iterator[Entry]:
    """Yield the revisions to keep, newest first: the last ones, and older ones still young.

    ``is_young`` tells it of the object of a key. Raises StoreCorrupt.
    """
    for number, entry in enumerate(history(store)):
        if number >= retention.keep and not is_young(objects.revision_key(entry.identity)):
            return
        yield entry


@dataclass(slots=True)
class Reach:
    """The blobs that revisions of one store name; every ledger is read once."""

    store: Store
    _ledgers: dict[str, Ledger] = field(default_factory=dict)

    def blobs(self, revision: Revision) -> Iterator[tuple[str, str]]:
        """Yield the digest of each blob of a revision and what it is, for messages.

        A ledger comes after what it lists. Raises StoreCorrupt.
        """
        for name, entry in sorted(revision.apps.items()):
            yield from _own(name, entry)
            for file, listed in sorted(self._ledger(entry.ledger, name).charts.items()):
                yield listed.archive.sha256, file
                yield listed.archive.detail, f"detail of {file}"
            yield entry.ledger, f"ledger of {name}"

    def keys(self, entry: Entry) -> Iterator[str]:
        """Yield the key of everything that a revision reaches, its own too. Raises StoreCorrupt."""
        for digest, _ in self.blobs(entry.revision):
            yield objects.blob_key(digest)
        for path in entry.revision.answers:
            yield objects.answer_key(entry.identity, path)
        yield objects.revision_key(entry.identity)

    def _ledger(self, digest: str, app: str) -> Ledger:
        if digest not in self._ledgers:
            self._ledgers[digest] = objects.read_ledger(self.store, digest, app)
        return self._ledgers[digest]


def _own(name: str, entry: AppEntry) -> Iterator[tuple[str, str]]:
    for archive in entry.current.values():
        yield archive.sha256, f"{name} {archive.version}"
        yield archive.detail, f"detail of {name} {archive.version}"
    if entry.icon:
        yield entry.icon.sha256, f"icon of {name}"
    if entry.page:
        yield entry.page.facts, f"page facts of {name}"
        yield entry.page.html.sha256, f"page of {name}"
        yield entry.page.share.sha256, f"share image of {name}"
