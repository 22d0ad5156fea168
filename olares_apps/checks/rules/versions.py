"""Version numbers: their form, their agreement, and what was published before."""

import re
from collections.abc import Iterator
from typing import Final

from semver import Version

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_text, dig, shown
from olares_apps.errors import OlappsError
from olares_apps.helm.calls import CallFailed
from olares_apps.helm.semver_range import parse_version
from olares_apps.render.versions import bump
from olares_apps.spec.types import VERSION_CHARACTERS

__all__ = ["rules"]

rules = RuleBook(Group.DATA)

_PLAIN: Final = re.compile(r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)", re.ASCII)


def _versions(context: ChartContext) -> list[tuple[str, tuple[str, ...], str]]:
    """Return the versions of Chart.yaml and the manifest with file and path, as texts."""
    found = [
        ("Chart.yaml", ("version",), context.chart.data.get("version")),
        (
            context.manifest_file,
            ("metadata", "version"),
            dig(context.manifest, "metadata", "version"),
        ),
    ]
    return [(file, path, value) for file, path, value in found if isinstance(value, str) and value]


def _distinct(context: ChartContext) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield each different version once."""
    seen = set()
    for file, path, value in _versions(context):
        if value not in seen:
            seen.add(value)
            yield file, path, value


@rules.error(
    "version-consistency",
    "Chart.yaml, metadata.version and the archive's name must say one version: a device that "
    "finds two renders for ever and cannot install.",
    "OAC chart.go; oachecker folder.go",
    blocks=True,
)
def _consistency(context: ChartContext) -> Iterator[Found]:
    found = _versions(context)
    if len({value for _, _, value in found}) > 1:
        (_, _, chart), (file, path, manifest) = found
        yield context.in_document(
            file,
            f"Chart.yaml version {chart} differs from metadata.version {manifest}",
            path,
            hint="write one version in both; devices compare them",
        )
    listing = context.listing
    if listing is None or not listing.is_archive or not found:
        return
    named = re.fullmatch(r".+?-(v?\d[\w.+-]*)\.(?:tgz|tar\.gz)", listing.name)
    if named and named[1] != found[0][2]:
        file, path, version = found[0]
        yield context.in_document(
            file,
            f"{listing.name} contains version {version}",
            path,
            hint="pack it again: a renamed archive installs the chart inside it",
        )


@rules.error(
    "version-semver",
    "Upgrades parse the version strictly: three whole numbers without leading zeros.",
    "OAC validate.go; olares-cli upgrade.go",
    blocks=True,
)
def _strict(context: ChartContext) -> Iterator[Found]:
    for file, path, value in _distinct(context):
        if "+" in value or "-" in value or _PLAIN.fullmatch(value):
            continue
        if re.match(r"[vV]\d", value):
            advice = f"drop the leading {value[0]}"
        elif any(len(part) > 1 and part.startswith("0") for part in value.split(".")):
            advice = "write the numbers without leading zeros"
        else:
            advice = "write MAJOR.MINOR.PATCH, for example 1.0.2"
        yield context.in_document(
            file, f"version {shown(value)} is not MAJOR.MINOR.PATCH: {advice}", path, hint=advice
        )


@rules.error(
    "version-length",
    "The device's database takes 16 characters; a longer version loses its whole batch of ten "
    "apps.",
    "market migrations 00002",
    blocks=True,
)
def _length(context: ChartContext) -> Iterator[Found]:
    for file, path, value in _distinct(context):
        if len(value) > VERSION_CHARACTERS:
            yield context.in_document(
                file,
                f"version {shown(value)} has {len(value)} characters, limit {VERSION_CHARACTERS}",
                path,
                hint="one longer version makes a device drop up to ten apps",
            )


@rules.error(
    "version-plain-release",
    "Pre-releases are skipped when a device looks for the newest version, and + is changed in "
    "file names and labels.",
    "app-service app.go; helm/helm#1698",
    blocks=True,
)
def _plain(context: ChartContext) -> Iterator[Found]:
    for file, path, value in _distinct(context):
        for sign, name in (("+", "build metadata"), ("-", "a pre-release")):
            if sign in value:
                yield context.in_document(
                    file,
                    f"version {shown(value)} holds {name}, which is not allowed",
                    path,
                    hint=f"drop everything from the {sign} on",
                )
                break


def _parse(text: str) -> Version | None:
    try:
        return parse_version(text)
    except (CallFailed, ValueError):
        return None


@rules.error(
    "version-monotonic",
    "A version below a published one is never offered as an update.",
    "olares-cli upgrade.go; market server.go",
)
def _monotonic(context: ChartContext) -> Iterator[Found]:
    own = _parse(context.version)
    if context.published is None or own is None or context.version in context.published.archives:
        return
    known = {text: version for text in context.published.archives if (version := _parse(text))}
    newest = max(known, key=lambda text: known[text], default=None)
    if newest is not None and own < known[newest]:
        yield context.in_document(
            "Chart.yaml",
            f"version {context.version} is lower than the published {newest}",
            ("version",),
            hint=_next(newest),
        )


@rules.error(
    "version-immutable",
    "Devices keep the first bytes that they saw under a version.",
    "market detail_fetch_step.go; chart-repo cache",
)
def _immutable(context: ChartContext) -> Iterator[Found]:
    if context.published is None or context.listing is None or not context.listing.sha256:
        return
    before, now = context.published.archives.get(context.version), context.listing.sha256
    if before and before != now:
        yield context.in_document(
            "Chart.yaml",
            f"{context.version} is already published with sha256 {before[:12]}..., this archive "
            f"has {now[:12]}...",
            ("version",),
            hint=_next(context.version),
        )


def _next(version: str) -> str:
    try:
        return f"raise it to {bump(version, 'patch')} or more; devices only move up"
    except (OlappsError, ValueError):
        return "raise it; devices only move up"


@rules.warning(
    "app-version-image",
    "An appVersion that looks like a build but is not the one that runs misleads people.",
    "official charts with appVersion b9879 beside an image b10068",
)
def _app_version(context: ChartContext) -> Iterator[Found]:
    stated = as_text(context.chart.data.get("appVersion"))
    if not re.fullmatch(r"b\d{4,6}", stated):
        return
    tags = [server.image.tag for server in context.servers if server.image and server.image.tag]
    builds = {found for tag in tags for found in re.findall(r"(?<![a-z0-9])b\d{4,6}(?!\w)", tag)}
    # A commit in the tag stands for a build as well.
    matches = [server.table for server in context.servers if server.table]
    builds |= {match.build for match in matches if match.build and match.build_exact}
    if builds and stated not in builds:
        yield context.in_document(
            "Chart.yaml",
            f"appVersion {stated} differs from the image tag's build {', '.join(sorted(builds))}",
            ("appVersion",),
            hint="write the build that runs, or a version that is no build id",
        )
