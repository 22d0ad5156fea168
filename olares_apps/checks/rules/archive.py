"""The archive, or the folder it would be made from: entry by entry."""

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.listing import Entry, EntryKind, FaultKind
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import shown
from olares_apps.findings import Severity
from olares_apps.render.archive import MAX_ARCHIVE_BYTES

__all__ = ["rules"]

rules = RuleBook(Group.ARCHIVE)

_ODD_BITS: Final = 0o7022
_LISTED: Final = 5


@rules.error(
    "archive-single-root",
    "Devices unpack the archive and open the one folder that is named after the app.",
    "olares-cli lint.go; app-service app.go",
    blocks=True,
)
def _single_root(context: ChartContext) -> Iterator[Found]:
    listing = context.listing
    if listing is None or not listing.is_archive or not listing.is_complete:
        return
    loose = sorted({e.path for e in listing.of_kind(EntryKind.FILE) if "/" not in e.path})
    if len(listing.roots) != 1 or loose:
        found = ", ".join((*listing.roots[:5], *loose[:3])) or "nothing"
        yield Found(
            f"{listing.name} must hold one top folder with Chart.yaml, it holds {found}",
            hint=f"pack {context.app or 'the chart'}/ and nothing beside it",
        )
    elif "/" in context.folder:
        yield Found(
            f"{listing.name}: Chart.yaml lies in {context.folder}/, one folder too deep",
            hint="pack the chart's own folder",
        )


@rules.error(
    "archive-single-gzip",
    "A device takes one gzip layer around one tar, and keeps whatever else it got for ever.",
    "chart-repo chart_extraction.go",
    blocks=True,
)
def _single_gzip(context: ChartContext) -> Iterator[Found]:
    listing = context.listing
    if listing is None or not listing.is_archive:
        return
    for fault in listing.faults:
        if fault.kind is FaultKind.PACKING:
            yield Found(
                f"archive {listing.name} {fault.message}", hint="pack it again with olapps pack"
            )


def _packed_size(context: ChartContext) -> int:
    """Return about how many bytes a folder takes as an archive, 0 for what is surely small."""
    if sum(map(len, context.files.values())) <= MAX_ARCHIVE_BYTES:
        return 0
    return sum(len(zlib.compress(content)) for content in context.files.values())


@rules.error(
    "archive-size",
    "The upload route and Helm's release secret take 1 MiB.",
    "market server.go; helm/helm#9788",
)
def _size(context: ChartContext) -> Iterator[Found]:
    listing = context.listing
    if listing is None:
        return
    if not listing.is_archive and (packed := _packed_size(context)) > MAX_ARCHIVE_BYTES:
        yield Found(
            f"packed, the chart has {packed} bytes > {MAX_ARCHIVE_BYTES} bytes",
            hint="remove what a device does not need",
        )
    if listing.is_archive and listing.size > MAX_ARCHIVE_BYTES:
        largest = max(listing.entries, key=lambda entry: entry.size, default=None)
        yield Found(
            f"package {listing.name} has {listing.size} bytes > {MAX_ARCHIVE_BYTES} bytes",
            hint=f"the largest file is {context.inside(largest.path)} with {largest.size} bytes"
            if largest
            else "",
        )
        return  # what was not read of it has the same cause
    for fault in listing.faults:
        if fault.kind is FaultKind.SIZE:
            yield Found(f"{listing.name} {fault.message}", hint="a chart is a few files of text")


@rules.error(
    "archive-content",
    "Content that cannot be read, or stands in an archive twice, is not what was meant.",
    "tar archives of public sources",
)
def _content(context: ChartContext) -> Iterator[Found]:
    listing = context.listing
    if listing is None:
        return
    for fault in listing.faults:
        if fault.kind is FaultKind.CONTENT:
            yield Found(f"{listing.name}: {fault.message}", hint="remove it or make it readable")


@rules.error(
    "archive-links",
    "Links are skipped when a chart is unpacked, and may lead out of it.",
    "helm/helm#6585, #7019",
)
def _links(context: ChartContext) -> Iterator[Found]:
    """A link inside a folder is packed as the file that it points to: a warning."""
    listing = context.listing
    if listing is None:
        return
    for entry in listing.of_kind(EntryKind.LINK):
        inside = not listing.is_archive and not entry.leaves
        what = "a link inside the chart" if inside else "link leaves chart, refused"
        if listing.is_archive:
            what = "archive holds a link"
        path = context.inside(entry.path)
        yield Found(
            f"{path} -> {entry.target}: {what}",
            path,
            hint="replace the link by the file itself",
            severity=Severity.WARNING if inside else None,
        )


@rules.error(
    "archive-paths",
    "A path that leaves the archive's folder overwrites other files where it is unpacked.",
    "CWE-22",
    blocks=True,
)
def _paths(context: ChartContext) -> Iterator[Found]:
    listing = context.listing
    if listing is None or not listing.is_archive:
        return
    for entry in listing.entries:
        if entry.leaves and entry.kind is not EntryKind.LINK:
            yield Found(
                f"{listing.name} holds the unsafe path {shown(entry.path)}",
                hint="pack relative paths below the app's folder",
            )


@rules.error(
    "archive-special-files",
    "Devices, pipes and sockets are no part of a chart.",
    "tar archives",
)
def _special(context: ChartContext) -> Iterator[Found]:
    for entry in context.listing.of_kind(EntryKind.OTHER) if context.listing else ():
        path = context.inside(entry.path)
        yield Found(f"{path} is neither a file nor a folder", path, hint="delete it")


@rules.warning(
    "archive-modes",
    "Modes beside 0644 and 0755 make files unreadable or writable for others.",
    "Helm package",
)
def _modes(context: ChartContext) -> Iterator[Found]:
    listing = context.listing
    if listing is None or not listing.is_archive:
        return
    odd: dict[int, list[str]] = {}
    for entry in listing.of_kind(EntryKind.FILE, EntryKind.FOLDER):
        if _is_odd(entry):
            odd.setdefault(entry.mode, []).append(context.inside(entry.path))
    for mode, paths in odd.items():
        more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
        yield Found(
            f"{', '.join(paths[:_LISTED])}{more}: mode {mode:04o}",
            paths[0],
            hint="write 0644 for files and 0755 for folders",
        )


def _is_odd(entry: Entry) -> bool:
    wanted = 0o500 if entry.kind is EntryKind.FOLDER else 0o400
    return bool(entry.mode & _ODD_BITS) or entry.mode & wanted != wanted


@rules.info(
    "archive-deterministic",
    "Two builds of the same chart should be the same bytes, so that a version has one digest.",
    "helm/helm#3612, #8212",
)
def _deterministic(context: ChartContext) -> Iterator[Found]:
    listing = context.listing
    if listing is None or not listing.is_archive:
        return
    facts = []
    if listing.gzip.mtime:
        facts.append(f"gzip time {_date(listing.gzip.mtime)}")
    if listing.gzip.stored_name:
        facts.append(f"gzip name {shown(listing.gzip.stored_name)}")
    times = {entry.mtime for entry in listing.entries if entry.mtime}
    if len(times) > 1:
        facts.append(f"{len(times)} different file times")
    if facts:
        yield Found(
            f"{listing.name} holds what changes with every build: {', '.join(facts)}",
            hint="pack it with olapps pack",
        )


def _date(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return str(seconds)
