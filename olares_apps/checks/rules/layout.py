"""The layout of a chart: required files, names of folder and app, files that do not belong."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from olares_apps.checks.context import MANIFEST, TEXT_ENDINGS, ChartContext
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_map, as_maps, as_text, dig, shown
from olares_apps.findings import Severity
from olares_apps.spec.types import RESERVED_NAMES, SYSTEM_APPS

__all__ = ["rules"]

rules = RuleBook(Group.DATA)

_FOLDER: Final = re.compile(r"[a-z0-9]{1,30}")
_REQUIRED: Final = ("Chart.yaml", "values.yaml", MANIFEST)
_CHART_KEYS: Final = ("apiVersion", "name", "version")
_KNOWN_FILES: Final = re.compile(
    r"(?:Chart|values|OlaresManifest)\.yaml|Chart\.lock|values\.schema\.json|\.helmignore|\.suspend|\.remove|owners"
    r"|(?:README|LICENSE|LICENCE|CHANGELOG|NOTICE|CONTRIBUTING)(?:[.-][\w.-]+)?"
    r"|(?:templates|charts|crds|i18n)/.*",
    re.IGNORECASE | re.DOTALL,
)
_STRAY: Final = re.compile(
    r"(?:^|/)(?:\.DS_Store|Thumbs\.db|desktop\.ini|__MACOSX|\.git|\.idea|\.vscode|[^/]*~"
    r"|[^/]*\.(?:bak|orig|rej|swp|tmp|old))(?:/|$)"
)
_APPLE_DOUBLE: Final = re.compile(r"(?:^|/)\._[^/]*$")
_PACKED: Final = re.compile(r"\.(?:tgz|tar|tar\.gz|zip|7z|rar|tar\.xz|tar\.bz2)$", re.IGNORECASE)


@rules.error(
    "layout-required-files",
    "A chart needs Chart.yaml with apiVersion, name and version, values.yaml, templates/ and "
    "OlaresManifest.yaml.",
    "oachecker folder.go; OAC chartfolder/folder.go",
    blocks=True,
)
def _required_files(context: ChartContext) -> Iterator[Found]:
    for path in _REQUIRED:
        if path not in context.files:
            other = next((p for p in context.files if p.lower() == path.lower()), None)
            hint = f"rename {other} to {path}" if other else f"add {path} at the chart's root"
            yield Found(f"{path} is missing", path, hint=hint)
    if not any(path.startswith("templates/") for path in context.files):
        yield Found(
            "templates/ is missing or empty", hint="a chart without objects installs nothing"
        )
    if not context.chart.is_readable:
        return
    for key in _CHART_KEYS:
        value = context.chart.data.get(key)
        if not as_text(value) and not isinstance(value, (dict, list)):
            yield context.in_document("Chart.yaml", f"{key} is missing", hint=f'write {key}: "..."')


@rules.error(
    "chart-type",
    "Helm refuses a chart that is neither an application nor of no type, and installs no library.",
    "helm/v3 pkg/chart/metadata.go, pkg/action/install.go",
    blocks=True,
)
def _chart_type(context: ChartContext) -> Iterator[Found]:
    kind = context.chart.data.get("type")
    if kind in (None, "", "application") or isinstance(kind, (dict, list)):
        return
    what = "is no chart that can be installed" if kind == "library" else "is no type of chart"
    yield context.in_document(
        "Chart.yaml", f"type {shown(kind)} {what}", ("type",), hint="write type: application"
    )


def _names(context: ChartContext) -> dict[str, tuple[str, str]]:
    """Return every name of the app: what it is called there, file and value."""
    found = {
        "Chart.yaml name": ("Chart.yaml", as_text(context.chart.data.get("name"))),
        "metadata.name": (
            context.manifest_file,
            as_text(dig(context.manifest_data, "metadata", "name")),
        ),
    }
    if context.listing and context.listing.is_archive:
        if "/" not in context.folder:
            found["the archive's folder"] = ("", context.folder)
        prefix = re.fullmatch(r"(.+?)-v?\d[\w.+-]*\.(?:tgz|tar\.gz)", context.listing.name)
        if prefix:
            found["the archive's file name"] = ("", prefix[1])
    return {where: item for where, item in found.items() if item[1]}


@rules.error(
    "folder-name",
    "The app's folder takes only a-z and 0-9, at most 30 of them.",
    "oachecker folder.go; OAC chartfolder/folder.go",
    blocks=True,
)
def _folder_name(context: ChartContext) -> Iterator[Found]:
    name = as_text(context.chart.data.get("name"))
    if name and not _FOLDER.fullmatch(name):
        size = f", has {len(name)}" if len(name) > 30 else ""
        yield context.in_document(
            "Chart.yaml",
            f"name {shown(name)} is invalid: only a-z and 0-9, 1 to 30 characters{size}",
            ("name",),
            hint="the folder, the archive and the Deployment are named so; choose another name",
        )


@rules.error(
    "app-name-leading-letter",
    "A name that begins with a digit is no host label and no namespace for every part.",
    "Olares documentation, chart.md",
)
def _leading_letter(context: ChartContext) -> Iterator[Found]:
    name = as_text(context.chart.data.get("name"))
    if name[:1].isdigit():
        yield context.in_document(
            "Chart.yaml",
            f"name {shown(name)} begins with a digit",
            ("name",),
            hint="begin it with a letter: it becomes a namespace and a host name",
        )


@rules.error(
    "name-consistency",
    "Folder, Chart.yaml, manifest and archive must name the app alike: devices open the folder "
    "named after the app.",
    "oachecker folder.go; app-service app.go",
    blocks=True,
)
def _name_consistency(context: ChartContext) -> Iterator[Found]:
    names = _names(context)
    if len({value for _, value in names.values()}) > 1:
        listed = ", ".join(f"{where} {shown(value)}" for where, (_, value) in names.items())
        yield context.in_manifest(
            f"the app has several names: {listed}",
            "metadata",
            "name",
            hint="use one name everywhere: devices open the folder named after the app",
        )
    folder = context.folder
    chart = as_text(context.chart.data.get("name"))
    packed = context.listing is not None and context.listing.is_archive
    if not packed and folder and chart and folder != chart:
        yield context.in_document(
            "Chart.yaml",
            f"the folder is called {shown(folder)}, the chart {shown(chart)}",
            ("name",),
            hint=f"rename the folder to {chart}, or pack it as {chart}/",
            severity=Severity.WARNING,
        )


@rules.error(
    "reserved-folder-name",
    "Names of system parts are refused by the official route.",
    "oachecker folder.go",
)
def _reserved_name(context: ChartContext) -> Iterator[Found]:
    name = as_text(context.chart.data.get("name"))
    if name.lower() in RESERVED_NAMES:
        yield context.in_document(
            "Chart.yaml", f"name {shown(name)} is reserved", ("name",), hint="choose another name"
        )


@rules.error(
    "reserved-appid",
    "An app with the id of a system app is refused at install.",
    "OAC appid.go",
    applies=Applies.NEW,
    blocks=True,
)
def _reserved_appid(context: ChartContext) -> Iterator[Found]:
    appid = as_text(dig(context.manifest, "metadata", "appid"))
    if appid in SYSTEM_APPS:
        yield context.in_manifest(
            f"metadata.appid {shown(appid)} is a system app",
            "metadata",
            "appid",
            hint="use the app's own name",
        )


@rules.error(
    "appid-equals-name",
    "Uploading derives the id from metadata.appid, syncing from the name: both must agree.",
    "market uploadevent/appid.go",
)
def _appid(context: ChartContext) -> Iterator[Found]:
    metadata = as_map(context.manifest.get("metadata"))
    name, appid = as_text(metadata.get("name")), as_text(metadata.get("appid"))
    if name and not appid:
        yield context.in_manifest(
            "metadata.appid is missing", "metadata", hint=f"write appid: {name}"
        )
    elif name and appid != name:
        yield context.in_manifest(
            f"metadata.appid {shown(appid)} differs from metadata.name {shown(name)}",
            "metadata",
            "appid",
            hint=f"write appid: {name}; the id of an uploaded app is made from it",
        )


def _all_paths(context: ChartContext) -> list[str]:
    """Return the paths of files inside the chart, those that were not read included."""
    if context.listing is None:
        return sorted(context.files)
    entries = (context.inside(entry.path) for entry in context.listing.entries)
    return sorted({*context.files, *entries})


def _is_ignored(path: str, patterns: list[str]) -> bool:
    """Say whether .helmignore leaves a path out of a package: by whole path or by any part."""
    parts = path.split("/")
    return any(
        fnmatchcase(path, pattern) or any(fnmatchcase(part, pattern) for part in parts)
        for pattern in patterns
    )


def _ignore_patterns(context: ChartContext) -> list[str]:
    lines = (line.strip() for line in context.text(".helmignore").splitlines())
    return [line.strip("/") for line in lines if line and line[0] not in "#!"][:200]


@rules.warning(
    "stray-file",
    "Editor and system files grow every release and may be read by mistake.",
    "public charts with .DS_Store and .bak files",
)
def _stray_files(context: ChartContext) -> Iterator[Found]:
    packed = context.listing is not None and context.listing.is_archive
    ignored = [] if packed else _ignore_patterns(context)
    for path in _all_paths(context):
        if _is_ignored(path, ignored):
            continue
        if _STRAY.search(path) and not _APPLE_DOUBLE.search(path):
            yield Found(f"{path} does not belong into a chart", path, hint="delete it")


_LARGEST_FILE: Final = 5 * 2**20


@rules.error(
    "file-size",
    "Helm 3 loads no chart with a larger file; braces of a file carried along count six times.",
    "helm 3.19 template: chart file is larger than the maximum file size 5242880",
    blocks=True,
)
def _file_size(context: ChartContext) -> Iterator[Found]:
    for path, content in context.files.items():
        if len(content) > _LARGEST_FILE:
            yield Found(
                f"{path} has {len(content)} bytes > {_LARGEST_FILE} bytes",
                path,
                hint="carry less: a chart is a few files of text",
            )


@rules.error(
    "apple-double",
    "Helm takes AppleDouble entries for chart files and stops at their control characters.",
    "public charts packed on macOS",
    blocks=True,
)
def _apple_double(context: ChartContext) -> Iterator[Found]:
    for path in _all_paths(context):
        if _APPLE_DOUBLE.search(path):
            yield Found(
                f"holds the AppleDouble entry {path}",
                path,
                hint="pack with COPYFILE_DISABLE=1, or with olapps pack",
            )


@rules.warning(
    "nested-archive",
    "An old package inside the chart makes every release larger, up to the 1 MiB of a release "
    "secret.",
    "helm/helm#9788, #8801",
)
def _nested_archive(context: ChartContext) -> Iterator[Found]:
    declared = {
        f"{as_text(item.get('name'))}-{as_text(item.get('version'))}.tgz"
        for _, item in as_maps(context.chart.data.get("dependencies"))
    }
    for path in _all_paths(context):
        if _PACKED.search(path):
            folder, _, name = path.rpartition("/")
            if folder == "charts" and name in declared:
                continue
            yield Found(
                f"the chart contains {path}, which is no declared sub-chart",
                path,
                hint="delete it: every release would carry it along",
            )


@rules.warning(
    "unused-file",
    "A file that nothing mounts suggests a behaviour that the app does not have.",
    "public charts that pack a chat template nothing reads",
)
def _unused_file(context: ChartContext) -> Iterator[Found]:
    packed = context.listing is not None and context.listing.is_archive
    ignored = [] if packed else _ignore_patterns(context)
    reads_files = any(".Files" in item.text for item in context.templates.values())
    for path in sorted(context.files):
        if any(path.startswith(folder) for folder in context.subchart_folders):
            continue
        if _is_ignored(path, ignored):
            continue
        known = _KNOWN_FILES.fullmatch(path) or _STRAY.search(path) or _APPLE_DOUBLE.search(path)
        if known or _PACKED.search(path) or reads_files:
            continue
        yield Found(
            f"{path} is packed and nothing in the chart uses it",
            path,
            hint="delete it, or carry its content in a ConfigMap",
        )


@rules.error(
    "file-encoding",
    "YAML and templates are UTF-8; other bytes break the reader or the text.",
    "YAML 1.2, section 5.2",
    blocks=True,
)
def _encoding(context: ChartContext) -> Iterator[Found]:
    for path, at in sorted(context.undecodable.items()):
        data = context.files[path]
        yield Found(
            f"holds the byte 0x{data[at]:02x}, which is not UTF-8",
            path,
            data.count(b"\n", 0, at) + 1,
            "save the file as UTF-8",
        )


@rules.warning(
    "line-endings",
    "A carriage return in a script is a command that does not exist.",
    "apache/openwhisk-deploy-kube#432",
)
def _line_endings(context: ChartContext) -> Iterator[Found]:
    for path, data in sorted(context.files.items()):
        if b"\r" in data and path.endswith(TEXT_ENDINGS):
            yield Found(
                "has CR line ends, which reach scripts and texts on the device",
                path,
                data.count(b"\n", 0, data.index(b"\r")) + 1,
                "save it with LF line ends",
            )
