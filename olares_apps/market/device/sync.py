"""One sync of a simulated device: what it would list, what it would install, and why not."""

from collections.abc import Callable, Mapping, Sequence

from olares_apps.errors import ArchiveError
from olares_apps.generations import OlaresVersion, generation_for
from olares_apps.helm import CallFailed, parse_version
from olares_apps.market.conformance import Detail
from olares_apps.market.device.hydrate import Hydrated, hydrate, open_archive
from olares_apps.market.device.install import install_problems
from olares_apps.market.device.report import AppReport, SourceReport
from olares_apps.market.device.source import SourceDropped, SourceReader
from olares_apps.market.device.transport import Transport, TransportFault
from olares_apps.market.faults import Fault, Loss

__all__ = ["Linter", "sync"]

Linter = Callable[[str, Mapping[str, bytes], OlaresVersion], Sequence[str]]
"""Gives the lint errors that would stop the install of a chart on a release."""


def sync(
    transport: Transport,
    source: str,
    olares: OlaresVersion,
    *,
    lint: Linter,
    installed: Mapping[str, str] | None = None,
    reported: str | None = None,
) -> SourceReport:
    """Play one sync of a device of ``olares`` against a source.

    ``installed`` maps app names to the versions that the device already runs; an app in it
    whose catalogue version is greater is reported as an update, and one whose is smaller as a
    downgrade. ``reported`` is the release as
    the device names it when that is more than the number, as for the nightly
    ``1.12.7-20260901``.
    """
    generation = generation_for(olares)
    name = reported or str(olares)
    report = SourceReport(source, name, generation.name if generation else "")
    reader = SourceReader(transport, olares, name, report.requests, report.notes)
    try:
        _sync(reader, report, lint, installed or {})
    except SourceDropped as error:
        report.problems.append(f"the whole source is dropped: {error}")
    return report


def _sync(
    reader: SourceReader, report: SourceReport, lint: Linter, installed: Mapping[str, str]
) -> None:
    listed = reader.read_v2() if reader.uses_v2 else None
    report.hash = reader.read_hash()
    ids, skipped = reader.read_ids(report.hash)
    apps = {identity: AppReport(identity) for identity in ids}
    _note_faults(apps, skipped)
    for batch in reader.read_details(ids):
        _note_faults(apps, batch.faults)
        lost = [fault for fault in batch.faults if fault.loss is Loss.BATCH]
        for identity in batch.ids if lost else ():
            if not apps[identity].problems:
                apps[identity].refuse(f"is lost with its batch: {lost[0]}")
        for identity, detail in batch.rows.items():
            if identity in apps:
                _app(reader, apps[identity], detail, lint, installed)
    for app in apps.values():
        if not app.version and not app.problems:
            app.refuse("the source gives no detail for it")
        if listed is not None and app.version and listed.get(app.name) != app.version:
            app.refuse(f"v2 lists {listed.get(app.name, 'nothing')}, its detail {app.version}")
            app.installs = False
    report.apps = sorted(apps.values(), key=lambda app: app.name or app.id)


def _app(
    reader: SourceReader,
    app: AppReport,
    detail: Detail,
    lint: Linter,
    installed: Mapping[str, str],
) -> None:
    app.name, app.version = detail.name, detail.version
    app.title = str(detail.fields.get("title") or "")
    _compare(app, installed.get(app.name))
    chart = _hydrated(reader, app)
    if chart is None:
        return
    app.appears = True
    for problem in [
        *install_problems(app.name, chart, reader.olares, reader.reported),
        *lint(app.name, chart.files, reader.olares),
    ]:
        app.refuse(problem)
    app.installs = not app.problems


def _compare(app: AppReport, installed: str | None) -> None:
    """Say whether a device that runs ``installed`` is offered an update.

    A device reads the details of any other version, but only a greater one is an upgrade for
    its command line and its upload (contract 4).
    """
    if installed is None or installed == app.version:
        return
    try:
        is_newer = parse_version(app.version) > parse_version(installed)
    except CallFailed:
        is_newer = True  # versions that cannot be compared are merely different
    if is_newer:
        app.update_from = installed
        return
    app.downgrade_from = installed
    app.notes.append(
        f"the device runs {installed}, above the {app.version} on offer: a downgrade is not "
        "offered as an update (olapps market rollback --republish gives old content a "
        "greater version)"
    )


def _hydrated(reader: SourceReader, app: AppReport) -> Hydrated | None:
    """Download, unpack and render; None when the app would not be listed."""
    name = f"{app.name}-{app.version}.tgz"
    try:
        reply = reader.read_archive(app.name, app.version)
        if reply.status != 200:
            app.refuse(
                f"{name}: status {reply.status}; the answer is stored as the archive: "
                f"{reply.excerpt}"
            )
            return None
        encoding = reply.headers.get("content-encoding", "")
        files = open_archive(app.name, reply.decoded, encoding)
    except (SourceDropped, ArchiveError, TransportFault) as error:
        app.refuse(f"{name}: {error}")
        return None
    chart, problems = hydrate(app.name, app.version, files)
    for problem in problems:
        app.refuse(problem)
    return None if problems else chart


def _note_faults(apps: dict[str, AppReport], faults: Sequence[Fault]) -> None:
    for fault in faults:
        if not fault.app:
            continue
        app = apps.setdefault(fault.app, AppReport(fault.app))
        if fault.loss is Loss.FIELD:
            app.notes.append(str(fault))
        else:
            app.refuse(str(fault))
