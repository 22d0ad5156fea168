"""Publishing: plan on the live revision, write, move the head, read everything back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from olares_apps.errors import (
    ArchiveError,
    CheckFailed,
    Conflict,
    OlappsError,
    VersionRefused,
)
from olares_apps.market import canonical, objects
from olares_apps.market.candidates import Candidate
from olares_apps.market.commit import (
    Committed,
    Draft,
    Hands,
    State,
    commit,
    next_moment,
    read_state,
)
from olares_apps.market.entries import AppEntry, ArchiveEntry, Ledger, PageEntry
from olares_apps.market.plan import Action, Plan, Refusal, Step, plan
from olares_apps.market.readback import read_back
from olares_apps.market.records import Change, Revision, Source
from olares_apps.market.store import Store
from olares_apps.render.versions import greatest
from olares_apps.spec.types import app_id

__all__ = ["PublishReport", "plan_publish", "publish", "refusal_error"]


@dataclass(frozen=True, slots=True)
class PublishReport:
    """What a publish did.

    ``revision`` is the one it made, or the live one when there was nothing to do. ``verified``
    counts the answers and archives that were read back and compared; sizes are in bytes.
    """

    plan: Plan
    revision: str | None
    changed: bool
    attempts: int = 1
    written: int = 0
    bytes_written: int = 0
    verified: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return the report with stable keys, as ``--output json`` prints it."""
        return {
            "revision": self.revision,
            "changed": self.changed,
            "attempts": self.attempts,
            "objects_written": self.written,
            "bytes_written": self.bytes_written,
            "verified": self.verified,
            "apps": [step.as_dict() for step in self.plan.steps],
        }


def plan_publish(
    store: Store, candidates: Iterable[Candidate], *, source: Source | None = None
) -> Plan:
    """Return what `publish` would do now; reads head and revision, writes nothing."""
    return plan(read_state(store).revision, candidates, source=source)


def publish(
    store: Store,
    candidates: Sequence[Candidate],
    *,
    publisher: str,
    note: str = "",
    source: Source | None = None,
    base: State | None = None,
    keep_going: bool = False,
    restores: str | None = None,
    hands: Hands | None = None,
) -> PublishReport:
    """Publish candidates in one step: devices see all of them or none.

    ``base`` is the state that the candidates were made for. An app that was published by
    somebody else since then is lost to them, even if its version here would be greater. Without
    it, only versions count.

    An app that is not among them stays exactly as it is. With ``keep_going`` a refused app
    keeps its last good entry and the others are published; without it nothing is. ``restores``
    is the revision whose content the candidates are, for the history.

    Raises VersionRefused, ArchiveError or CheckFailed when an app is refused, Conflict when one is
    refused because somebody else published it meanwhile, MarketError and StoreCorrupt from the
    store.
    """
    hands = hands or Hands()
    plans: list[Plan] = []
    bases: list[State] = []

    def make(state: State) -> Draft | None:
        now = plan(state.revision, candidates, source=source)
        if base is not None:
            _raise_if_lost(store, base, _overtaken(base, now, state), state)
        elif plans and not keep_going:
            wanted = {step.app for step in plans[0].changes}
            lost = [step for step in now.refused if step.app in wanted]
            _raise_if_lost(store, bases[0], lost, state)
        plans.append(now)
        bases.append(state)
        if now.refused and not keep_going:
            raise refusal_error(now.refused)
        if now.empty:
            return None
        moment = next_moment(state, hands.clock)
        return _draft(store, state, now, publisher, note, moment, restores=restores)

    done = commit(store, make, hands)
    if done is None:
        return PublishReport(plans[-1], bases[-1].identity, changed=False, attempts=len(plans))
    hands.on_step("verify")
    return _report(store, plans[-1], done)


def refusal_error(refused: Sequence[Step]) -> OlappsError:
    """Return the error that tells why apps were refused, one line each."""
    lines = [f"{step.app}: {step.reason}" for step in refused]
    hint = next((step.hint for step in refused if step.hint), None)
    kinds = {step.refusal for step in refused}
    kind: type[OlappsError] = VersionRefused
    if Refusal.ARCHIVE in kinds:
        kind = ArchiveError
    elif kinds == {Refusal.NOT_INSTALLABLE}:
        kind = CheckFailed
    return kind("\n".join(lines), hint=hint)


def _report(store: Store, planned: Plan, done: Committed) -> PublishReport:
    apps = {step.app for step in planned.changes}
    return PublishReport(
        plan=planned,
        revision=done.prepared.identity,
        changed=True,
        attempts=done.attempts,
        written=done.written,
        bytes_written=done.bytes_written,
        verified=read_back(store, done.prepared, apps),
    )


def _draft(
    store: Store,
    state: State,
    planned: Plan,
    publisher: str,
    note: str,
    moment: int,
    *,
    restores: str | None,
) -> Draft:
    base = state.revision or Revision(parent=None, created=moment)
    stamp = canonical.milliseconds(moment)
    apps, details = dict(base.apps), {}
    blobs: dict[str, bytes] = {}
    changes = []
    for step in planned.changes:
        before = base.apps.get(step.app)
        ledger = objects.read_ledger(store, before.ledger, step.app) if before else Ledger(step.app)
        entry, ledger = _apply(step, before, ledger, stamp)
        page = _page(store, step, before, entry, (planned.source or base.source).label)
        if page:
            entry = replace(entry, page=page[0])
            blobs |= page[1]
        apps[step.app] = entry
        blobs[entry.ledger] = ledger.encode()
        for archive in step.archives:
            detail = canonical.encode(archive.detail)
            details[canonical.digest(detail)] = detail
            blobs[archive.sha256] = archive.data
        if step.icon:
            blobs[step.icon.entry.sha256] = step.icon.data
        changes.append(Change(step.app, step.action.value, step.before, step.after))
    revision = Revision(
        parent=state.identity,
        created=moment,
        action="republish" if restores else "publish",
        publisher=publisher,
        note=note,
        restores=restores,
        source=replace(planned.source, modified=stamp) if planned.source else base.source,
        apps=apps,
        changes=tuple(changes),
    )
    return Draft(revision, blobs | details, details)


def _apply(
    step: Step, before: AppEntry | None, ledger: Ledger, stamp: int
) -> tuple[AppEntry, Ledger]:
    if step.action is Action.LISTED:
        return _listed(step, before, ledger), ledger
    current = dict(before.current) if before else {}
    for archive in step.archives:
        current[archive.generation] = archive.entry(stamp)
        ledger = ledger.adding(archive.generation, current[archive.generation])
    versions = [entry.version for entry in current.values()]
    versions += [before.greatest] if before and before.greatest else []
    entry = AppEntry(
        id=app_id(step.app),
        title=step.title,
        state="live",
        greatest=greatest(versions) or "",
        modified=stamp,
        ledger=canonical.digest(ledger.encode()),
        current=current,
        icon=step.icon.entry if step.icon else (before.icon if before else None),
        notes=step.notes if step.archives or not before else before.notes,
        page=before.page if before else None,
    )
    return entry, ledger


def _listed(step: Step, before: AppEntry | None, ledger: Ledger) -> AppEntry:
    """Return the entry of an app that only people see: what devices knew of it does not change."""
    return AppEntry(
        id=app_id(step.app),
        title=step.title,
        state="listed",
        greatest=before.greatest if before else "",
        modified=before.modified if before else 0,
        ledger=canonical.digest(ledger.encode()),
        icon=step.icon.entry if step.icon else (before.icon if before else None),
        notes=before.notes if before else "",
        page=before.page if before else None,
    )


def _page(
    store: Store, step: Step, before: AppEntry | None, entry: AppEntry, market: str
) -> tuple[PageEntry, dict[str, bytes]] | None:
    """Return the page of an app and its blobs; without facts of its own, from those it had."""
    known = before.page if before else None
    if step.page is None and known is None:
        return None
    from olares_apps.market.pages.build import build_page, stored_draft

    draft = step.page or (stored_draft(store, step.app, known) if known else None)
    if draft is None:
        return None
    # A folder is served from who knows where; a server is asked where it is published to.
    address = store.url if store.url.startswith(("https://", "http://")) else ""
    return build_page(entry, draft, market=market, address=address)


def _overtaken(base: State, now: Plan, state: State) -> list[Step]:
    """Return the steps of apps that offer something else than they did in ``base``."""
    return [
        step
        for step in now.steps
        if step.action is not Action.UNCHANGED
        and _offered(base.revision, step.app) != _offered(state.revision, step.app)
    ]


def _raise_if_lost(store: Store, base: State, lost: Sequence[Step], state: State) -> None:
    """Tell the second publisher of an app what it lost to."""
    if not lost:
        return
    lines = [
        f"{step.app}: {step.reason or 'was published from elsewhere meanwhile'}"
        f"{_winner(store, step.app, base.identity, state)}"
        for step in lost
    ]
    raise Conflict(
        "\n".join(lines), hint=lost[0].hint or "take over that change, then publish again"
    )


def _offered(revision: Revision | None, app: str) -> Mapping[str, ArchiveEntry]:
    entry = revision.apps.get(app) if revision else None
    return entry.current if entry else {}


def _winner(store: Store, app: str, base: str | None, state: State) -> str:
    identity, revision = state.identity, state.revision
    while revision is not None and identity != base:
        if any(change.app == app for change in revision.changes):
            return (
                f"; it lost to {revision.publisher or 'another publisher'}, who published it at "
                f"{canonical.time_text(revision.created)} (revision {(identity or '')[:12]})"
            )
        identity = revision.parent
        revision = objects.read_revision(store, identity) if identity else None
    return ""
