"""Verifying a market: every object that it can reach, read and proved.

Nothing is repaired. Each problem names the object, and the app and file where there is one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from olares_apps.errors import ArchiveError, MarketError
from olares_apps.market import objects
from olares_apps.market.candidates import unpacked_faults
from olares_apps.market.commit import State
from olares_apps.market.conformance import decode_details
from olares_apps.market.entries import AppEntry, ArchiveEntry, Ledger, archive_name
from olares_apps.market.history import walk
from olares_apps.market.prepare import strangers
from olares_apps.market.records import Revision
from olares_apps.market.store import Store
from olares_apps.market.wire import details
from olares_apps.render.archive import unpack

__all__ = ["Verified", "verify"]

T = TypeVar("T")


@dataclass(slots=True)
class Verified:
    """What a verification looked at and found; ``problems`` is empty for a sound market."""

    problems: list[str] = field(default_factory=list)
    revisions: int = 0
    objects: int = 0

    @property
    def ok(self) -> bool:
        """Say whether the market is sound."""
        return not self.problems

    def as_dict(self) -> dict[str, object]:
        """Return the result with stable keys, as ``--output json`` prints it."""
        return {
            "ok": self.ok,
            "revisions": self.revisions,
            "objects": self.objects,
            "problems": list(self.problems),
        }


def verify(store: Store) -> Verified:
    """Read the head, every revision behind it and every object that they name."""
    return _Walk(store).run()


class _Walk:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.result = Verified()
        self._seen: set[str] = set()
        self._ledgers: dict[str, Ledger | None] = {}

    def run(self) -> Verified:
        read = self._try(self.store.read_head)
        head, etag = read or (None, None)
        if head is None:
            return self.result
        live = self._try(lambda: objects.read_revision(self.store, head.revision))
        if live is None:
            return self.result
        if live.head(head.revision) != head:
            self.result.problems.append(
                f"{self.store.url}/head.json does not agree with revision {head.revision}"
            )
        self.result.problems += [
            f"{path} of revision {head.revision} does not follow from it"
            for path in strangers(live)
        ]
        self.result.problems += [
            f"{name}: what lists say of its page cannot be read"
            for name, entry in live.apps.items()
            if entry.page and not _is_readable(entry.page.brief)
        ]
        chain = walk(self.store, State(head, etag, live))
        while entry := self._try(lambda: next(chain, None)):
            self.result.revisions += 1
            self._revision(entry.identity, entry.revision)
        return self.result

    def _revision(self, identity: str, revision: Revision) -> None:
        for path, digest in sorted(revision.answers.items()):
            key = objects.answer_key(identity, path)
            if self._fresh(key):
                self._try(partial(objects.read_answer, self.store, identity, path, digest))
        for name, entry in sorted(revision.apps.items()):
            self._app(name, entry)

    def _app(self, name: str, entry: AppEntry) -> None:
        if entry.icon and self._fresh(entry.icon.sha256):
            what = f"icon of {name}"
            self._try(partial(objects.read_blob, self.store, entry.icon.sha256, what))
        if entry.page:
            page = entry.page
            for digest in (page.facts, page.html.sha256, page.share.sha256):
                if self._fresh(digest):
                    self._try(partial(objects.read_blob, self.store, digest, f"page of {name}"))
        if self._fresh(entry.ledger):
            read = self._try(partial(objects.read_ledger, self.store, entry.ledger, name))
            self._ledgers[entry.ledger] = read
            for file, listed in sorted(read.charts.items() if read else ()):
                self._archive(name, entry.id, file, listed.archive)
        ledger = self._ledgers[entry.ledger]
        for archive in entry.current.values() if ledger else ():
            listed_now = ledger.charts.get(archive_name(name, archive.version)) if ledger else None
            if listed_now is None or listed_now.archive != archive:
                self.result.problems.append(f"{name} {archive.version}: not in the app's ledger")

    def _archive(self, app: str, key: str, file: str, archive: ArchiveEntry) -> None:
        # By file name too: one archive under two names is right under one of them at most.
        if self._fresh(f"{archive.sha256} {file}"):
            data = self._try(partial(objects.read_blob, self.store, archive.sha256, file))
            if data is not None:
                try:
                    unpacked = unpack(data, name=file)
                    self.result.problems += unpacked_faults(unpacked, app, archive.version, file)
                except ArchiveError as error:
                    self.result.problems.append(error.message)
        if self._fresh(f"{archive.detail} {file}"):
            what = f"detail of {app} {archive.version}"
            body = self._try(partial(objects.read_blob, self.store, archive.detail, what))
            if body is not None:
                batch, faults = decode_details(details("", {key: body}, []), [key])
                self.result.problems += [f"{what}: {fault}" for fault in faults]
                found = batch.apps[key].version if key in batch.apps else None
                if found != archive.version:
                    self.result.problems.append(f"{what} shows {found}")

    def _fresh(self, name: str) -> bool:
        if name in self._seen:
            return False
        self._seen.add(name)
        self.result.objects += 1
        return True

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except MarketError as error:
            self.result.problems.append(error.message)
            return None


def _is_readable(brief: Mapping[str, Any]) -> bool:
    from olares_apps.market.pages.brief import Brief

    try:
        Brief.from_json(brief)
    except ValueError:
        return False
    return True
