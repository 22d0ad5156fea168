"""From specs to a published market: propose, render, pack, publish, then edit the specs.

The spec files change only after the head has moved, and each one last, after its charts. If
the process dies in between, the market knows the version and the notes of what it published:
the next run renders the spec as it would have been edited, finds it equal to what is on offer,
and finishes the edit.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semver import Version

from olares_apps.errors import OlappsError, Problem, SpecError, UsageError
from olares_apps.generations import GENERATIONS
from olares_apps.market import objects
from olares_apps.market.candidates import Candidate, CandidateArchive, candidate_archive
from olares_apps.market.commit import Hands, read_state
from olares_apps.market.details import detail_document
from olares_apps.market.entries import AppEntry, ArchiveEntry
from olares_apps.market.kitchen import Kitchen
from olares_apps.market.pages.build import PageDraft, is_shown
from olares_apps.market.proposal import (
    Intent,
    Proposal,
    base_version,
    default_note,
    edited,
    propose,
)
from olares_apps.market.publish import plan_publish, publish, refusal_error
from olares_apps.market.records import Revision
from olares_apps.market.store import Store
from olares_apps.market.workflow_report import AppResult, Request, WorkflowReport
from olares_apps.render.archive import unpack
from olares_apps.render.chart import ChartTree
from olares_apps.render.versions import Level, archive_version
from olares_apps.spec.edit import set_version
from olares_apps.spec.loader import LoadedSpec
from olares_apps.spec.yaml_source import unify_line_ends

__all__ = ["publish_specs"]


@dataclass(frozen=True, slots=True)
class _Work:
    """One spec on its way: the text it will have, and what goes to the market."""

    loaded: LoadedSpec
    before: str
    text: str
    charts: Sequence[ChartTree]
    candidate: Candidate | None
    result: AppResult


def publish_specs(
    store: Store,
    specs: Sequence[LoadedSpec],
    kitchen: Kitchen,
    request: Request,
    *,
    hands: Hands | None = None,
) -> WorkflowReport:
    """Publish the specs that changed, then write their new versions and notes back.

    With ``request.dry_run`` nothing is written anywhere. Raises VersionRefused, SpecError,
    CheckFailed, Conflict and whatever the store raises; before the head has moved, nothing
    has changed. A spec that somebody edited meanwhile keeps the edit and gets version and notes
    beside it; SpecError names one that cannot be read any more, when all else is done.
    """
    hands = hands or Hands()
    state = read_state(store)
    works, failed = _works(store, state.revision, specs, kitchen, request)
    candidates = [work.candidate for work in works if work.candidate]
    market = None
    if request.dry_run:
        planned = plan_publish(store, candidates, source=request.source)
        if planned.refused and not request.keep_going:
            raise refusal_error(planned.refused)
    else:
        market = publish(
            store,
            candidates,
            publisher=request.publisher,
            note=request.note or "",
            source=request.source,
            base=state,
            keep_going=request.keep_going,
            hands=hands,
        )
        planned = market.plan
    refused = {step.app: step.reason for step in planned.refused}
    failed |= {
        work.loaded.name: refused[work.result.app] for work in works if work.result.app in refused
    }
    works = [work for work in works if work.result.app not in refused]
    results = [work.result for work in works]
    if market is None:
        return WorkflowReport(results, True, state.identity, failed=failed)
    problems = [
        problem for work in works if work.charts for problem in _write_back(kitchen, work, hands)
    ]
    if problems:
        raise SpecError(problems)
    return WorkflowReport(
        results, False, market.revision, market if market.changed else None, failed
    )


def _works(
    store: Store,
    revision: Revision | None,
    specs: Sequence[LoadedSpec],
    kitchen: Kitchen,
    request: Request,
) -> tuple[list[_Work], dict[str, str]]:
    """Return the work per spec, and for a publish that keeps going why others have none."""
    works: list[_Work] = []
    failed: dict[str, str] = {}
    if not request.keep_going:
        known = list(kitchen.digests(specs))
    for number, loaded in enumerate(specs):
        try:
            # Together they are rendered in several processes, but one that fails stops them all.
            digests = kitchen.digests([loaded])[0] if request.keep_going else known[number]
            works.append(_work(store, revision, loaded, digests, kitchen, request))
        except OlappsError as error:
            if not request.keep_going:
                raise
            failed[loaded.name] = error.message
    return works, failed


def _write_back(kitchen: Kitchen, work: _Work, hands: Hands) -> Sequence[Problem]:
    """Write charts and spec; the spec last, because its version says that all is done."""
    loaded = work.loaded
    hands.on_step(f"charts {loaded.name}")
    work.result.files += kitchen.write_charts(work.charts)
    hands.on_step(f"spec {loaded.name}")
    text, now = work.text, kitchen.read(loaded)
    if now != work.before:
        try:
            text = _again(kitchen, loaded, now)
        except SpecError:
            message = f"was edited during the publish; version {loaded.spec.version} is published"
            hint = f'your edit is kept; mend it and write version: "{loaded.spec.version}"'
            return [Problem(message, loaded.path, hint=hint)]
    work.result.files += kitchen.write_spec(loaded, text)
    return []


def _again(kitchen: Kitchen, published: LoadedSpec, text: str) -> str:
    """Return a text that somebody edited meanwhile, with the published version and its notes."""
    version = published.spec.version
    notes = next((r.notes for r in published.spec.releases if r.version == version), None)
    return edited(text, kitchen.reload(published, text), version, notes, "")


def _work(
    store: Store,
    revision: Revision | None,
    loaded: LoadedSpec,
    digests: Mapping[str, str],
    kitchen: Kitchen,
    request: Request,
) -> _Work:
    entry = revision.apps.get(loaded.spec.app) if revision else None
    before = kitchen.read(loaded)
    # What is published is what is on disk now, not what was there when the command began.
    if unify_line_ends(before) != loaded.text:
        loaded = kitchen.reload(loaded, before)
        digests = _digests(kitchen, loaded)
    finished = _unfinished(kitchen, loaded, before, entry)
    if finished:
        return finished
    if loaded.spec.not_installable:
        return _listed(loaded, before, kitchen, entry, request.level)
    proposal = propose(loaded.spec, digests, entry, request.level)
    if entry and proposal.intent is Intent.UNCHANGED:
        return _unchanged(store, loaded, before, proposal, kitchen, entry)
    default = _default_note(store, kitchen, loaded, entry)
    try:
        text = edited(before, loaded, proposal.version, request.note, default)
        after = kitchen.reload(loaded, text)
    except SpecError as error:
        raise _blame_note(error, request.note) from None
    charts = kitchen.charts(after, _versions(kitchen, proposal.version))
    kitchen.check(after, charts)
    contents = _digests(kitchen, after)
    archives = [candidate_archive(chart, content=contents[chart.generation]) for chart in charts]
    notes = next(r.notes for r in after.spec.releases if r.version == proposal.version)
    draft = PageDraft.of(kitchen.page(after), archives[-1].detail)
    draft, icon = draft.with_icon(kitchen.icon(after.spec.app), entry)
    candidate = Candidate(
        app=after.spec.app,
        title=after.spec.title,
        archives=archives,
        icon=icon,
        notes=notes,
        page=draft,
    )
    result = AppResult(
        name=loaded.name,
        app=loaded.spec.app,
        action=proposal.intent.value,
        before=proposal.published,
        after={archive.generation: archive.version for archive in archives},
        digests={archive.version: archive.sha256 for archive in archives},
    )
    return _Work(after, before, text, charts, candidate, result)


def _unchanged(
    store: Store,
    loaded: LoadedSpec,
    text: str,
    proposal: Proposal,
    kitchen: Kitchen,
    entry: AppEntry,
) -> _Work:
    """Return the work for a spec without a change: at most icon and page go to the market."""
    published = proposal.published
    result = AppResult(loaded.name, loaded.spec.app, Intent.UNCHANGED.value, published, published)
    charts: Sequence[ChartTree] = []
    if not kitchen.has_charts(loaded.spec.app, published):
        # An interrupted publish whose version the spec had from the start.
        charts = kitchen.charts(loaded, published)
        result.action = "finished"
    icon, facts = kitchen.icon(loaded.spec.app), kitchen.page(loaded)
    same_icon = entry.icon is not None and (icon is None or entry.icon == icon.entry)
    if same_icon and is_shown(facts, entry.page):
        return _Work(loaded, text, text, charts, None, result)
    # The published archives once more: notes of this version may have been corrected since.
    archives = [
        _published(store, loaded.spec.app, name, archive) for name, archive in entry.current.items()
    ]
    draft, icon = PageDraft.of(facts, archives[-1].detail).with_icon(icon, entry)
    result.action = "page" if same_icon else "icon"
    candidate = Candidate(loaded.spec.app, entry.title, archives, icon, page=draft)
    return _Work(loaded, text, text, charts, candidate, result)


def _listed(
    loaded: LoadedSpec,
    text: str,
    kitchen: Kitchen,
    entry: AppEntry | None,
    level: Level | None,
) -> _Work:
    """Return the work for an app that no device can install: a page that says why.

    Its spec and its charts stay as they are. What is on offer stays there until somebody removes
    it, and what was removed comes back on request only.
    """
    spec, reason = loaded.spec, loaded.spec.not_installable or ""
    current = entry.current if entry else {}
    before = {name: archive.version for name, archive in current.items()}
    result = AppResult(loaded.name, spec.app, Intent.UNCHANGED.value, before, before)
    result.reason = f"not installable: {reason.rstrip('.')}"
    work = _Work(loaded, text, text, [], None, result)
    if entry and entry.live:
        result.reason += f"; still on offer, take it off: olapps market remove {spec.app}"
        return work
    if entry and not (entry.shown or level):
        result.reason += "; was removed from the market, --bump brings its page back"
        return work
    result.reason += "; only listed in the pages for people"
    icon, facts = kitchen.icon(spec.app), kitchen.page(loaded)
    same_icon = entry and entry.icon and (icon is None or entry.icon == icon.entry)
    if entry and entry.shown and same_icon and is_shown(facts, entry.page):
        return work
    charts = kitchen.charts(loaded, _versions(kitchen, spec.version))
    kitchen.check(loaded, charts)
    draft, icon = PageDraft.of(facts, detail_document(charts[-1])).with_icon(icon, entry)
    result.action = "listed"
    listing = Candidate(spec.app, spec.title, [], icon, page=draft, not_installable=reason)
    return _Work(loaded, text, text, [], listing, result)


def _published(store: Store, app: str, generation: str, archive: ArchiveEntry) -> CandidateArchive:
    detail = objects.read_blob(store, archive.detail, f"detail of {app} {archive.version}")
    return CandidateArchive(
        generation=generation,
        version=archive.version,
        data=objects.read_blob(store, archive.sha256, f"{app}-{archive.version}.tgz"),
        sha256=archive.sha256,
        tar_sha256=archive.tar_sha256,
        content=archive.content,
        detail=json.loads(detail),
    )


def _unfinished(
    kitchen: Kitchen,
    loaded: LoadedSpec,
    before: str,
    entry: AppEntry | None,
) -> _Work | None:
    """Return the edit that an interrupted publish did not come to, or None.

    The spec lacks the market's base version, or its notes of that version, and with them it
    renders to exactly what is on offer. Content that was republished has no new notes.
    """
    if entry is None or not entry.live:
        return None
    base = base_version(entry)
    if base is None or Version.parse(base) < Version.parse(loaded.spec.version):
        return None
    try:
        text = before
        if base != loaded.spec.version:
            text = set_version(before, base, path=loaded.path)
        if entry.notes:
            text = edited(before, loaded, base, entry.notes, "")
        if text == before:
            return None
        after = kitchen.reload(loaded, text)
    except SpecError:
        return None
    contents = {name: archive.content for name, archive in entry.current.items()}
    if any(contents.get(name) != digest for name, digest in _digests(kitchen, after).items()):
        return None
    versions = {name: archive.version for name, archive in entry.current.items()}
    charts = kitchen.charts(after, versions)
    result = AppResult(loaded.name, loaded.spec.app, "finished", versions, versions)
    return _Work(after, before, text, charts, None, result)


def _blame_note(error: SpecError, note: str | None) -> OlappsError:
    """Return the error to raise: the notes came from the command line, not from the file."""
    problem = error.problems[0]
    if note is None or not (problem.field or "").endswith("notes"):
        return error
    return UsageError(f"--note: {problem.message}", hint=problem.hint)


def _digests(kitchen: Kitchen, loaded: LoadedSpec) -> Mapping[str, str]:
    return kitchen.digests([loaded])[0]


def _versions(kitchen: Kitchen, base: str) -> dict[str, str]:
    return {
        item.name: archive_version(base, GENERATIONS.index(item)) for item in kitchen.generations
    }


def _default_note(
    store: Store, kitchen: Kitchen, loaded: LoadedSpec, entry: AppEntry | None
) -> str:
    if entry is None or not entry.live:
        return "First release."
    versions = {name: archive.version for name, archive in entry.current.items()}
    for chart in kitchen.charts(loaded, versions):
        archive = entry.current[chart.generation]
        data = objects.read_blob(store, archive.sha256, f"{entry.id}-{archive.version}")
        return default_note(unpack(data).files, chart.files)
    return "Rebuilt."
