"""Looking at a market: what is live, what came before it, and which revision is meant."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from olares_apps.errors import MarketError, UnknownName, UsageError
from olares_apps.market import canonical, objects
from olares_apps.market.commit import State, read_state
from olares_apps.market.prepare import strangers
from olares_apps.market.records import WINDOWS, Revision
from olares_apps.market.store import Store

__all__ = ["Entry", "Status", "history", "named", "resolve", "status", "walk"]

_PREFIX: Final = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """One revision of the history."""

    identity: str
    revision: Revision

    def as_dict(self) -> dict[str, object]:
        """Return the entry with stable keys, as ``--output json`` prints it."""
        revision = self.revision
        return {
            "revision": self.identity,
            "parent": revision.parent,
            "created": canonical.time_text(revision.created),
            "action": revision.action,
            "restores": revision.restores,
            "publisher": revision.publisher,
            "note": revision.note,
            "hash": revision.hash,
            "changes": [change.to_json() for change in revision.changes],
        }


@dataclass(frozen=True, slots=True)
class Status:
    """A market at one moment."""

    url: str
    state: State

    @property
    def live(self) -> Mapping[str, Mapping[str, str]]:
        """Return app to generation to version, for the apps on offer."""
        revision = self.state.revision
        return {
            name: {key: archive.version for key, archive in entry.current.items()}
            for name, entry in (revision.live() if revision else ())
        }

    @property
    def listed(self) -> list[str]:
        """Return the apps that only the pages for people show."""
        revision = self.state.revision
        return [name for name, _ in revision.listed()] if revision else []

    @property
    def removed(self) -> list[str]:
        """Return the apps that were taken off the market."""
        revision = self.state.revision
        return sorted(name for name, e in revision.apps.items() if not e.shown) if revision else []

    @property
    def warnings(self) -> list[str]:
        """Return what another hand, or another release of olapps, left behind."""
        revision = self.state.revision
        if revision is None:
            return []
        found = [f"{path} does not say what the revision says" for path in strangers(revision)]
        if revision.generations != WINDOWS:
            found.append("the generations are not those of this olapps: the next publish sets them")
        return found

    def as_dict(self) -> dict[str, object]:
        """Return the status with stable keys, as ``--output json`` prints it."""
        head, revision = self.state.head, self.state.revision
        return {
            "market": self.url,
            "revision": head.revision if head else None,
            "hash": head.hash if head else None,
            "updated": canonical.time_text(head.updated) if head else None,
            "publisher": revision.publisher if revision else None,
            "note": revision.note if revision else None,
            "source": revision.source.to_json() if revision else None,
            "apps": {name: dict(versions) for name, versions in self.live.items()},
            "listed": self.listed,
            "removed": self.removed,
            "warnings": self.warnings,
        }


def status(store: Store) -> Status:
    """Return what is live; reads the head and its revision. Raises StoreCorrupt."""
    return Status(store.url, read_state(store))


def history(store: Store) -> Iterator[Entry]:
    """Yield the revisions from the live one back, newest first. Raises StoreCorrupt."""
    yield from walk(store, read_state(store))


def walk(store: Store, state: State) -> Iterator[Entry]:
    """Yield the chain of revisions that a state stands on; ends where older ones were removed."""
    identity, revision = state.identity, state.revision
    while identity is not None and revision is not None:
        yield Entry(identity, revision)
        identity = revision.parent
        if identity is not None and not store.exists(objects.revision_key(identity)):
            return
        revision = objects.read_revision(store, identity) if identity else None


def resolve(store: Store, state: State, *, to: str | None = None, steps: int = 1) -> Entry:
    """Return the revision that a rollback means.

    ``to`` is a revision's name or the first six or more digits of it. Without it, ``steps``
    counts back through what devices saw: the step before a rollback is the one before the
    revision that it restored, so two rollbacks of one step go back two. A republish is a step
    like any publish.

    Raises UnknownName for a name that no revision has, UsageError for one that is too short or that
    several have, MarketError when there is no such step.
    """
    chain = list(walk(store, state))
    if to is not None:
        name = named([entry.identity for entry in chain], to)
        return next(entry for entry in chain if entry.identity == name)
    by_name = {entry.identity: entry for entry in chain}
    entry = chain[0] if chain else None
    for _ in range(steps):
        while entry is not None and entry.revision.action == "rollback":
            entry = by_name.get(entry.revision.restores or "")
        parent = entry.revision.parent if entry else None
        entry = by_name.get(parent) if parent else None
    if entry is None:
        raise MarketError(
            f"{store.url} has no revision {steps} step{'' if steps == 1 else 's'} back",
            hint="see: olapps market history",
        )
    return entry


def named(names: Sequence[str], start: str) -> str:
    """Return the one revision whose name starts so.

    Raises UnknownName when there is none, UsageError for less than six digits and for a start that
    several have.
    """
    found = [name for name in names if name.startswith(start)]
    if not found:
        raise UnknownName("revision", start, [name[:12] for name in names])
    if len(start) < _PREFIX:
        raise UsageError(
            f"'{start}' is too short for a revision", hint=f"give {_PREFIX} digits or more"
        )
    if len(found) > 1:
        choice = " or ".join(name[:12] for name in found)
        raise UsageError(f"the revision '{start}' may be {choice}", hint="give more digits")
    return found[0]
