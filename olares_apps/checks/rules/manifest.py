"""The manifest as a file: version, shape, metadata, texts that must not be templates."""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from olares_apps.checks.context import ChartContext
from olares_apps.checks.documents import Document
from olares_apps.checks.field_types import (
    CHART,
    MANIFEST,
    TEXTS,
    TEXTS_OF,
    Path,
    dotted,
    wrong_types,
)
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_list, as_map, dig, shown
from olares_apps.findings import Severity

__all__ = ["is_web_address", "rules"]

rules = RuleBook(Group.DATA)

_VERSION: Final = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")
_OLDEST: Final = (0, 7, 2)
_API_VERSIONS: Final = ("v1", "v2", "v3")

# Numbers and booleans in these fields lose digits or change their meaning; elsewhere they are
# read back as they were written.
_EXACT: Final = frozenset(("version", "versionName", "olaresManifest.version"))
_TEMPLATE_VALUES: Final = frozenset(("admin", "isAdmin", "bfl.username", "bfl"))
_TEXT_FIELDS: Final = frozenset(
    "fullDescription upgradeDescription description title developer submitter".split()
)


def is_web_address(value: Any) -> bool:
    """Say whether a value is an absolute http or https URL."""
    if not isinstance(value, str) or value != value.strip() or " " in value:
        return False
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _numbers(text: str) -> tuple[int, ...] | None:
    found = _VERSION.fullmatch(text)
    return tuple(map(int, found.groups("0"))) if found else None


@rules.error(
    "manifest-version",
    "Manifests without a version, or older than 0.7.2, are refused.",
    "OAC validate.go; app-service config/app.go",
    blocks=True,
)
def _version(context: ChartContext) -> Iterator[Found]:
    if not context.manifests[False].is_readable:
        return
    text = context.manifest_version
    numbers = _numbers(text)
    if not text:
        yield context.in_manifest(
            "olaresManifest.version is missing",
            hint="write '0.10.0', or '0.12.0' with apiVersion v3",
        )
    elif numbers is None or numbers < _OLDEST:
        yield context.in_manifest(
            f"olaresManifest.version {shown(text)} is refused, the oldest is 0.7.2",
            "olaresManifest.version",
            hint="write '0.10.0', or '0.12.0' with apiVersion v3",
        )


@rules.error(
    "api-version-known", "Only v1, v2, v3 and no apiVersion exist.", "OAC validate.go", blocks=True
)
def _api_version(context: ChartContext) -> Iterator[Found]:
    value = context.manifest.get("apiVersion")
    if value is not None and value != "" and value not in _API_VERSIONS:
        yield context.in_manifest(
            f"apiVersion {shown(value)} is none of v1, v2, v3",
            "apiVersion",
            hint="write v3 for Olares 1.12.6 and later, v2 for older releases",
        )


@rules.error(
    "api-version-v2-refused",
    "Devices from 1.12.6 on answer the install of apiVersion v2 with 403.",
    "app-service handler_installer_install.go",
    applies=Applies.NEW,
    blocks=True,
)
def _v2_refused(context: ChartContext) -> Iterator[Found]:
    if context.api_version == "v2":
        yield context.in_manifest(
            "apiVersion v2 is refused at install (403) from Olares 1.12.6 on",
            "apiVersion",
            hint="write v3 with olaresManifest.version '0.12.0'",
        )


@rules.error(
    "sub-charts-v2",
    "From manifest 0.12.0 on the linter wants a shared sub-chart with v2, and declared ones need "
    "a shared one. Older v2 charts without sub-charts install on 1.12.3 to 1.12.5, and every "
    "public chart of that time is one, so they are left alone.",
    "OAC validate.go; public charts run on devices",
)
def _sub_charts(context: ChartContext) -> Iterator[Found]:
    """The linter asks only manifests from 0.12.0 on; devices of the v2 era never asked."""
    if context.api_version != "v2":
        return
    entries = as_list(dig(context.manifest, "spec", "subCharts"))
    shared = any(as_map(item).get("shared") is True for item in entries)
    if not shared and (entries or context.is_literal):
        what = "none of the subCharts is shared" if entries else "apiVersion v2 without subCharts"
        yield context.in_manifest(
            what,
            "spec",
            "subCharts",
            hint="set shared: true on one of them, or use another apiVersion",
        )


def _documents(context: ChartContext) -> Iterator[Document]:
    """Yield Chart.yaml, values.yaml, the manifest for each role, and the translations."""
    yield context.chart
    yield context.values
    first, second = context.manifests.values()
    yield first
    if second is not first:
        yield second
    yield from context.translations.values()


@rules.error(
    "manifest-parse",
    "A file that is no YAML, has a key twice or holds a list where a mapping is due cannot be "
    "decoded, and the app is never listed.",
    "OAC; oachecker app.go; chart-repo chart_extraction.go",
    blocks=True,
)
def _parse(context: ChartContext) -> Iterator[Found]:
    seen = set()
    for document in _documents(context):
        problem = document.problem
        if document.file in context.undecodable:
            continue
        if problem and document.file == context.manifest_file and context.manifest_fails:
            continue
        if problem and (document.file, problem.message) not in seen:
            seen.add((document.file, problem.message))
            yield Found(problem.message, document.file, problem.line, problem.hint or "")
    yield from _types(context)


def _types(context: ChartContext) -> Iterator[Found]:
    for path, fault in wrong_types(context.manifest, MANIFEST):
        hint = "a device cannot decode the manifest and never lists the app"
        yield context.in_manifest(fault, *path, hint=hint)
    for path, fault in wrong_types(context.chart.data, CHART):
        hint = "Helm cannot decode Chart.yaml, so nothing is installed"
        yield context.in_document("Chart.yaml", fault, path, hint=hint)


@rules.error(
    "quoted-scalars",
    "YAML reads 1.10 as the number 1.1, and a version that is no string is skipped silently.",
    "market detail_fetch_step.go",
)
def _quoted(context: ChartContext) -> Iterator[Found]:
    """Values that YAML reads as numbers or booleans where a text is due."""
    chart = context.chart.data.get("version")
    if chart is not None and not isinstance(chart, str):
        yield context.in_document(
            "Chart.yaml", _unquoted("version", chart), ("version",), hint="put it in quotes"
        )
    fields: list[tuple[Path, Any]] = [(path, dig(context.manifest, *path)) for path in TEXTS]
    for path, names in TEXTS_OF.items():
        for index, item in enumerate(as_list(dig(context.manifest, *path))):
            fields += [((*path, index, name), as_map(item).get(name)) for name in names]
    for path, value in fields:
        if value is None or isinstance(value, (str, dict, list)):
            continue
        exact = path[-1] in _EXACT
        yield context.in_manifest(
            _unquoted(dotted(path), value),
            *path,
            hint="put it in quotes",
            severity=Severity.ERROR if exact else Severity.WARNING,
        )


def _unquoted(name: str, value: Any) -> str:
    read = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{name} must be a quoted string (YAML read {read})"


@rules.error(
    "manifest-literal",
    "From 0.12.0 on the manifest is read as it is, so template actions are refused.",
    "OAC template_syntax.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _literal(context: ChartContext) -> Iterator[Found]:
    """Braces outside quoted and block scalars: there YAML itself reads them as flow mappings."""
    text = context.text(context.manifest_file)
    if "{{" not in text and "}}" not in text:
        return
    for number, line in _plain_lines(text):
        if "{{" in line or "}}" in line:
            yield Found(
                "{{ or }} stands outside a quoted or block scalar",
                context.manifest_file,
                number,
                "a manifest from 0.12.0 on is read as it is: write the value itself",
            )


def _plain_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of YAML text without block scalars, quoted text and comments."""
    block: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        indent = len(line) - len(line.lstrip(" "))
        if block is not None:
            if not line.strip() or indent > block:
                continue
            block = None
        bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'", '""', line)
        bare = re.sub(r"(?:^|\s)#.*", "", bare)
        if re.search(r"[:-]\s+[|>][-+0-9]*\s*$", bare):
            block = indent
        yield number, bare


@rules.error(
    "manifest-template-values",
    "A manifest older than 0.12.0 is rendered by Helm first: braces in its texts are executed "
    "and other values than the three known ones stop it.",
    "oachecker manifest.go; app-service helm.go",
    blocks=True,
)
def _template_values(context: ChartContext) -> Iterator[Found]:
    """An older manifest is a template; its texts must not be, and only three values exist."""
    text = context.text(context.manifest_file)
    if context.is_literal or "{{" not in text:
        return
    template = context.manifest_template
    failure = template.failure
    if failure:
        yield _executed(context, failure.line, f"line {failure.line}", f": {failure.message}")
        return
    told = set()
    for number, field, line in _text_lines(text):
        if "{{" in line:
            told.add(number)
            yield _executed(context, number, f"{field} line {number}")
    for use in template.uses.values:
        if use.dotted not in _TEMPLATE_VALUES and use.line not in told:
            yield Found(
                f"uses .Values.{use.dotted}; a manifest has only .Values.admin, .Values.isAdmin "
                "and "
                ".Values.bfl.username",
                context.manifest_file,
                use.line,
                "write the value itself",
            )


def _executed(context: ChartContext, line: int | None, what: str, effect: str = "") -> Found:
    return Found(
        f"{what} contains a template action that Olares will execute (manifest "
        f"{context.manifest_version} is rendered before it is parsed){effect}",
        context.manifest_file,
        line,
        'write the braces as "{\\u007b" in a double-quoted text, or leave them out',
    )


def _text_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the lines of free-text fields: number, field and text."""
    field, level = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        indent = len(line) - len(line.lstrip(" "))
        key = re.match(r"\s*-?\s*([A-Za-z]+)\s*:(?:\s|$)", line)
        if line.strip() and indent <= level:
            field = ""
        if key and not field and key[1] in _TEXT_FIELDS:
            field, level = key[1], indent
        if field:
            yield number, field, line
