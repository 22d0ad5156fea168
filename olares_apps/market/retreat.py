"""Going back and taking away: rollback in both forms, and remove.

Every one of them is a new revision on top of the head. Nothing that was published is
forgotten: the ledger and the greatest version of an app only grow, so a number that devices
have seen is never given to other bytes, not even after a rollback.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from olares_apps.errors import MarketError, UnknownName
from olares_apps.generations import GENERATIONS
from olares_apps.market import canonical, objects
from olares_apps.market.candidates import Candidate, CandidateArchive
from olares_apps.market.commit import Draft, Hands, State, commit, next_moment, read_state
from olares_apps.market.details import with_version
from olares_apps.market.entries import AppEntry, AppState, ArchiveEntry
from olares_apps.market.history import Entry, resolve
from olares_apps.market.publish import PublishReport, publish
from olares_apps.market.records import Change, Revision, drawn_anew
from olares_apps.market.repack import repack
from olares_apps.market.store import Store
from olares_apps.render.archive import Archive
from olares_apps.render.versions import archive_version, bump

if TYPE_CHECKING:
    from olares_apps.market.pages.build import PageDraft

__all__ = ["Moved", "Repack", "remove", "republish", "rollback"]

Repack = Callable[[bytes, str, str, str], Archive]
"""Packs an archive again under a new version: (bytes, app, generation, version)."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a rollback or a remove did; ``revision`` is live now, ``changes`` may be empty."""

    revision: str
    changes: tuple[Change, ...]
    restores: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the result with stable keys, as ``--output json`` prints it."""
        return {
            "revision": self.revision,
            "restores": self.restores,
            "changes": [change.to_json() for change in self.changes],
        }


def rollback(
    store: Store,
    *,
    to: str | None = None,
    steps: int = 1,
    publisher: str,
    note: str = "",
    hands: Hands | None = None,
) -> Moved:
    """Offer again exactly what an older revision offered.

    Devices that have a newer version keep it, because they only move up: `republish` brings
    old content to them. Apps that came later are taken off the market.

    Raises what `resolve` and `commit` raise.
    """
    hands = hands or Hands()
    targets: list[Entry] = []

    def make(state: State) -> Draft | None:
        if state.revision is None:
            raise _nothing(store)
        # Chosen once: a publish in between must not move the target.
        if not targets:
            targets.append(resolve(store, state, to=to, steps=steps))
        target = targets[0]
        moment = next_moment(state, hands.clock)
        apps = _restored(state.revision, target.revision, canonical.milliseconds(moment))
        draft = _draft(
            state.revision, apps, moment, "rollback", publisher, note, restores=target.identity
        )
        return draft and replace(draft, blobs=_wanted_again(store, state.revision, apps))

    done = commit(store, make, hands)
    if done is None:
        return Moved(read_state(store).identity or "", (), targets[0].identity)
    return Moved(done.prepared.identity, done.prepared.revision.changes, targets[0].identity)


def republish(
    store: Store,
    *,
    to: str | None = None,
    steps: int = 1,
    apps: Sequence[str] | None = None,
    publisher: str,
    note: str = "",
    pack_again: Repack = repack,
    hands: Hands | None = None,
) -> PublishReport:
    """Publish the content of an older revision once more, under the next versions.

    This is the rollback that reaches devices. Apps that the older revision did not have are
    left alone, and so is an app that offers the old content already. ``apps`` limits it.

    Raises what `resolve` and `publish` raise.
    """
    state = read_state(store)
    if state.revision is None:
        raise _nothing(store)
    found = resolve(store, state, to=to, steps=steps)
    target = found.revision
    if apps is not None:
        for name in apps:
            if name not in target.apps:
                raise UnknownName("app", name, sorted(target.apps))
    candidates = []
    for name, entry in target.live():
        now = state.revision.apps[name]
        if (apps is None or name in apps) and _content(entry.current) != _content(now.current):
            candidates.append(_candidate(store, name, entry, now.greatest, pack_again))
    for name, entry in target.listed():
        # What is on offer now stays there: a page is no reason to take it from devices.
        if (apps is None or name in apps) and not state.revision.apps[name].live:
            candidates.append(_listing(store, name, entry))
    return publish(
        store,
        candidates,
        publisher=publisher,
        note=note,
        restores=found.identity,
        hands=hands,
    )


def remove(
    store: Store,
    apps: Sequence[str],
    *,
    publisher: str,
    note: str = "",
    hands: Hands | None = None,
) -> Moved:
    """Take apps off the market; their archives stay for devices that still ask for them.

    A tombstone keeps their versions: an app that comes back needs a greater one. Removing a
    removed app changes nothing. Raises UnknownName for an app that was never published.
    """
    hands = hands or Hands()

    def make(state: State) -> Draft | None:
        if state.revision is None:
            raise _nothing(store)
        moment = next_moment(state, hands.clock)
        entries = dict(state.revision.apps)
        for name in apps:
            if name not in entries:
                raise UnknownName("app", name, sorted(entries))
            if entries[name].shown:
                entries[name] = _removed(entries[name], canonical.milliseconds(moment))
        return _draft(state.revision, entries, moment, "remove", publisher, note)

    done = commit(store, make, hands)
    if done is None:
        return Moved(read_state(store).identity or "", ())
    return Moved(done.prepared.identity, done.prepared.revision.changes)


def _draft(
    base: Revision,
    apps: Mapping[str, AppEntry],
    moment: int,
    action: str,
    publisher: str,
    note: str,
    *,
    restores: str | None = None,
) -> Draft | None:
    changed = [name for name in sorted(apps) if apps[name] != base.apps.get(name)]
    if not drawn_anew(base) and not changed:
        return None
    changes = tuple(
        Change(name, action, _versions(base.apps[name]), _versions(apps[name])) for name in changed
    )
    return Draft(
        Revision(
            parent=None,
            created=moment,
            action=action,
            publisher=publisher,
            note=note,
            restores=restores,
            source=base.source,
            apps=apps,
            changes=changes,
        )
    )


def _removed(entry: AppEntry, stamp: int) -> AppEntry:
    # What only people saw leaves without a trace on devices.
    modified = stamp if entry.live else entry.modified
    return replace(entry, state="removed", current={}, modified=modified)


def _restored(now: Revision, then: Revision, stamp: int) -> dict[str, AppEntry]:
    apps = {}
    for name, entry in now.apps.items():
        old = then.apps.get(name)
        current = old.current if old else {}
        icon = old.icon if old else entry.icon
        title = old.title if old else entry.title
        page = old.page if old else entry.page
        state: AppState = old.state if old else "removed"
        if (current, icon, title, page, state) == (
            entry.current,
            entry.icon,
            entry.title,
            entry.page,
            entry.state,
        ):
            apps[name] = entry
            continue
        apps[name] = replace(
            entry,
            title=title,
            state=state,
            modified=stamp if entry.live or current else entry.modified,
            current=current,
            icon=icon,
            page=page,
        )
    return apps


def _wanted_again(store: Store, now: Revision, apps: Mapping[str, AppEntry]) -> dict[str, bytes]:
    """Return the blobs that only an older revision names, so that the commit puts them again.

    A collector may take them for garbage until then. Archives are in the ledgers of the present.
    """
    return {
        digest: objects.read_blob(store, digest, f"picture or page of {name}")
        for name, entry in apps.items()
        for digest in _pictures(entry) - _pictures(now.apps[name])
    }


def _pictures(entry: AppEntry) -> set[str]:
    icon = {entry.icon.sha256} if entry.icon else set()
    page = entry.page
    return icon | ({page.facts, page.html.sha256, page.share.sha256} if page else set())


def _candidate(store: Store, app: str, entry: AppEntry, top: str, pack_again: Repack) -> Candidate:
    base = bump(top, "patch")
    archives = []
    for index, generation in enumerate(GENERATIONS):
        old = entry.current.get(generation.name)
        if old is None:
            continue
        version = archive_version(base, index)
        data = objects.read_blob(store, old.sha256, f"{app} {old.version}")
        packed = pack_again(data, app, generation.name, version)
        detail = json.loads(objects.read_blob(store, old.detail, f"detail of {app}"))
        archives.append(
            CandidateArchive(
                generation=generation.name,
                version=version,
                data=packed.data,
                sha256=packed.sha256,
                tar_sha256=packed.tar_sha256,
                content=old.content,
                detail=with_version(detail, version),
            )
        )
    return Candidate(app, entry.title, archives, page=_page(store, app, entry))


def _listing(store: Store, app: str, entry: AppEntry) -> Candidate:
    page = _page(store, app, entry)
    reason = page.facts.not_installable if page else None
    return Candidate(app, entry.title, (), page=page, not_installable=reason or "")


def _page(store: Store, app: str, entry: AppEntry) -> "PageDraft | None":
    if entry.page is None:
        return None
    from olares_apps.market.pages.build import stored_draft

    return stored_draft(store, app, entry.page)


def _content(current: Mapping[str, ArchiveEntry]) -> dict[str, str]:
    return {name: archive.content for name, archive in current.items()}


def _versions(entry: AppEntry) -> dict[str, str]:
    return {name: archive.version for name, archive in entry.current.items()}


def _nothing(store: Store) -> MarketError:
    return MarketError(f"{store.url} holds nothing yet", hint="publish an app first")
