"""The plan of a publish: per app what would happen, and why not.

A pure function of a revision and candidates, so a dry run and a publish cannot differ, and a
publisher that lost a race plans again on the new state.

Rules, in this order (contract 4, 10.1, 10.16):

- an app that no device can install: listed for people with its reason, unless it is on offer or
  comes with archives; then refused;
- the same archives as on offer: nothing to do;
- a version that is on offer with other bytes: refused, devices keep the first bytes for ever;
- a version that is not above every one ever published: refused, devices never see it;
- an archive that is not what the entry says: refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from semver import Version

from olares_apps.errors import UsageError
from olares_apps.generations import GENERATIONS
from olares_apps.market.candidates import (
    Candidate,
    CandidateArchive,
    Icon,
    archive_faults,
    name_faults,
    shape_faults,
)
from olares_apps.market.entries import AppEntry, ArchiveEntry
from olares_apps.market.records import Revision, Source, drawn_anew
from olares_apps.render.versions import bump

__all__ = ["Action", "Plan", "Refusal", "Step", "plan"]

if TYPE_CHECKING:
    from olares_apps.market.pages.build import PageDraft

_SOURCE_CHARACTERS: Final = 50  # contract 2.6: columns source_id and source_title
_ORDER: Final = {generation.name: index for index, generation in enumerate(GENERATIONS)}


class Action(StrEnum):
    """What a publish does with one app."""

    NEW = "new"
    UPDATE = "update"
    ICON = "icon"
    PAGE = "page"
    LISTED = "listed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


class Refusal(StrEnum):
    """Why an app is refused."""

    VERSION = "version"
    BYTES = "bytes"
    ARCHIVE = "archive"
    SHAPE = "shape"
    ID = "id"
    NOT_INSTALLABLE = "not-installable"


@dataclass(frozen=True, slots=True)
class Step:
    """One app of a plan.

    ``before`` and ``after`` map generations to versions on offer. ``archives`` are the ones to
    publish, ``page`` is what the page is made from. ``reason`` says why an app is refused or only
    listed, ``hint`` what to do about it.
    """

    app: str
    title: str
    action: Action
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    archives: Sequence[CandidateArchive] = ()
    icon: Icon | None = None
    notes: str = ""
    page: "PageDraft | None" = None
    refusal: Refusal | None = None
    reason: str = ""
    hint: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return the step with stable keys, as ``--output json`` prints it."""
        return {
            "app": self.app,
            "action": self.action.value,
            "before": dict(self.before),
            "after": dict(self.after),
            "digests": {archive.version: archive.sha256 for archive in self.archives},
            "reason": self.reason,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What a publish would do; ``source`` is set when the market's own name would change.

    ``drawn_anew`` says that the generations would: then some devices are offered something else.
    """

    steps: tuple[Step, ...]
    source: Source | None = None
    drawn_anew: bool = False

    @property
    def changes(self) -> list[Step]:
        """Return the steps that write something."""
        return [step for step in self.steps if step.action in _WRITING]

    @property
    def refused(self) -> list[Step]:
        """Return the steps that cannot be done."""
        return [step for step in self.steps if step.action is Action.REFUSED]

    @property
    def empty(self) -> bool:
        """Say whether there is nothing to write."""
        return not self.changes and self.source is None and not self.drawn_anew


_WRITING: Final = frozenset((Action.NEW, Action.UPDATE, Action.ICON, Action.PAGE, Action.LISTED))


def plan(
    revision: Revision | None, candidates: Iterable[Candidate], *, source: Source | None = None
) -> Plan:
    """Plan a publish on top of a revision (None: an empty market).

    ``source`` names the market; None keeps the name it has. Raises UsageError for a name that
    devices cannot store, MarketError for a market with a generation that is not known here.
    """
    apps = revision.apps if revision else {}
    owners = {entry.id: name for name, entry in apps.items()}
    steps, seen = [], set()
    for candidate in candidates:
        owner = owners.setdefault(candidate.id, candidate.app)
        if candidate.app in seen:
            step = _refused(candidate, None, Refusal.SHAPE, "is there twice in one publish")
        elif owner != candidate.app:
            reason = f"has the id {candidate.id}, which belongs to {owner}"
            step = _refused(candidate, None, Refusal.ID, reason, "choose another app name")
        else:
            step = _step(candidate, apps.get(candidate.app))
        seen.add(candidate.app)
        steps.append(step)
    if source:
        _check_source(source)
    known = revision.source if revision else None
    renamed = source is not None and (
        known is None
        or (source.id, source.label, source.icon) != (known.id, known.label, known.icon)
    )
    return Plan(
        tuple(steps),
        source if renamed and (revision or steps) else None,
        revision is not None and drawn_anew(revision),
    )


def _check_source(source: Source) -> None:
    for name, text in (("id", source.id), ("label", source.label)):
        if not text or len(text) > _SOURCE_CHARACTERS or not text.isprintable():
            raise UsageError(
                f"the market's {name} '{text[:60]}' must have 1 to {_SOURCE_CHARACTERS} "
                "printable characters",
                hint="set it in olapps.toml, [market.source]",
            )


def _step(candidate: Candidate, entry: AppEntry | None) -> Step:
    if candidate.not_installable:
        return _listing(candidate, entry)
    faults = shape_faults(candidate)
    if faults:
        return _refused(candidate, entry, Refusal.SHAPE, "; ".join(faults))
    current = entry.current if entry else {}
    fresh = [
        archive
        for archive in sorted(candidate.archives, key=lambda item: _ORDER[item.generation])
        if not _same(current.get(archive.generation), archive)
    ]
    for archive in fresh:
        refused = _version_refused(candidate, archive, entry)
        if refused:
            return refused
    before = {name: item.version for name, item in current.items()}
    after = before | {archive.generation: archive.version for archive in fresh}
    refused = _order_refused(candidate, entry, after)
    if refused:
        return refused
    faults = [fault for archive in fresh for fault in archive_faults(candidate.app, archive)]
    if faults:
        hint = "render and pack the app again"
        return _refused(candidate, entry, Refusal.ARCHIVE, "; ".join(faults), hint)
    icon, page = _fresh_icon(candidate, entry), candidate.page
    if fresh:
        action = Action.UPDATE if current else Action.NEW
    elif icon:
        action = Action.ICON
    else:
        shown = entry is None or page is None or page.is_shown_by(entry.page)
        action = Action.UNCHANGED if shown else Action.PAGE
    return Step(
        candidate.app,
        candidate.title,
        action,
        before,
        after,
        fresh,
        icon,
        notes=candidate.notes,
        page=page,
    )


def _listing(candidate: Candidate, entry: AppEntry | None) -> Step:
    """Plan a page that says why an app cannot be installed; devices must never see the app."""
    reason = f"not installable: {candidate.not_installable}"
    hint = "the spec says so in not_installable"
    if entry and entry.live:
        hint = f"it is on offer; take it off with olapps market remove {candidate.app}"
    if candidate.archives or candidate.page is None or (entry and entry.live):
        return _refused(candidate, entry, Refusal.NOT_INSTALLABLE, reason, hint)
    faults = name_faults(candidate.app)
    if faults:
        return _refused(candidate, entry, Refusal.SHAPE, "; ".join(faults))
    icon, page = _fresh_icon(candidate, entry), candidate.page
    shown = entry is not None and entry.shown and page.is_shown_by(entry.page)
    action = Action.UNCHANGED if shown and icon is None else Action.LISTED
    return Step(candidate.app, candidate.title, action, icon=icon, page=page, reason=reason)


def _fresh_icon(candidate: Candidate, entry: AppEntry | None) -> Icon | None:
    icon = candidate.icon
    known = icon and entry and entry.icon and entry.icon.sha256 == icon.entry.sha256
    return None if known else icon


def _same(current: ArchiveEntry | None, archive: CandidateArchive) -> bool:
    # Equal tars differ as .tgz where another zlib packed them; the published bytes stay.
    return (
        current is not None
        and current.version == archive.version
        and archive.tar_sha256 == current.tar_sha256
    )


def _version_refused(
    candidate: Candidate, archive: CandidateArchive, entry: AppEntry | None
) -> Step | None:
    if entry is None or not entry.greatest:
        return None
    version, top = archive.version, entry.greatest
    upcoming = bump(top, "patch")
    for name, item in entry.current.items():
        if item.version == version and item.sha256 != archive.sha256:
            reason = (
                f"{version} is already published with sha256 {item.sha256} ({name}), "
                f"the content now has {archive.sha256}"
            )
            return _refused(candidate, entry, Refusal.BYTES, reason, f"bump it to {upcoming}")
    if Version.parse(version) <= Version.parse(top):
        reason = f"{version} is not greater than published {top}; next allowed {upcoming}"
        return _refused(candidate, entry, Refusal.VERSION, reason, f"bump it to {upcoming}")
    return None


def _order_refused(
    candidate: Candidate, entry: AppEntry | None, after: Mapping[str, str]
) -> Step | None:
    ordered = [after[name] for name in sorted(after, key=lambda name: _ORDER.get(name, -1))]
    if all(Version.parse(a) < Version.parse(b) for a, b in pairwise(ordered)):
        return None
    reason = (
        "a newer generation needs a greater version than an older one, here they are "
        + ", ".join(f"{after[name]} for {name}" for name in sorted(after))
    )
    hint = f"the greatest published version is {entry.greatest}" if entry else ""
    return _refused(candidate, entry, Refusal.VERSION, reason, hint)


def _refused(
    candidate: Candidate, entry: AppEntry | None, refusal: Refusal, reason: str, hint: str = ""
) -> Step:
    before = {name: item.version for name, item in entry.current.items()} if entry else {}
    return Step(
        candidate.app,
        candidate.title,
        Action.REFUSED,
        before,
        before,
        refusal=refusal,
        reason=reason,
        hint=hint,
    )
