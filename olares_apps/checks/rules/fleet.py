"""What two apps of one market must not share."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from olares_apps.checks.context import ChartContext
from olares_apps.checks.fleet import Fleet
from olares_apps.checks.launch import Server
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_text, dig
from olares_apps.spec.types import app_id

__all__ = ["rules"]

rules = RuleBook(Group.FLEET)

_REPO: Final = re.compile(r"(?<![\w./-])[\w.-]+/[\w.-]+(?![\w/])")
_FROM_HUB: Final = re.compile(r"huggingface\.co/([\w.-]+/[\w.-]+)/(?:resolve|raw)/")
_SOURCES: Final = re.compile(r"REPO|MODEL|TARGET|DRAFT")


@rules.error("appid-collision", "Two apps of one id are one app for a device.", "OAC appid.go")
def _ids(fleet: Fleet) -> Iterator[Found]:
    names = [(chart, app_id(chart.app)) for chart in fleet.apps if chart.app]
    for value, first, chart in fleet.repeated(names):
        yield _found(
            chart, f"{first.app} and {chart.app} both get the id {value}", hint="rename one of them"
        )


@rules.error(
    "fleet-app-name", "The later of two apps of one name replaces the first.", "public markets"
)
def _names(fleet: Fleet) -> Iterator[Found]:
    seen: dict[tuple[str, str], ChartContext] = {}
    for chart in fleet.charts:
        key = (chart.app, chart.generation_name)
        first = seen.setdefault(key, chart)
        if first is not chart and chart.app:
            where = [_origin(item) for item in (first, chart)]
            yield _found(
                chart,
                f"two charts are called {chart.app} ({', '.join(filter(None, where))})",
                hint="rename one of them",
            )


def _origin(chart: ChartContext) -> str:
    return str(chart.spec.path) if chart.spec else chart.folder


@rules.error(
    "fleet-title", "Two apps of one title cannot be told apart in the market.", "public markets"
)
def _titles(fleet: Fleet) -> Iterator[Found]:
    titles = [
        (chart, as_text(dig(chart.manifest, "metadata", "title")).strip().casefold())
        for chart in fleet.apps
    ]
    for _, first, chart in fleet.repeated(titles):
        title = as_text(dig(chart.manifest, "metadata", "title"))
        yield _found(
            chart,
            f"{first.app} and {chart.app} have the same title '{title}'",
            "metadata",
            "title",
            hint="give each its own title",
        )


@rules.error(
    "fleet-alias",
    "Two servers that answer to one model id are confused by every client.",
    "public markets",
)
def _aliases(fleet: Fleet) -> Iterator[Found]:
    aliases = []
    for chart in fleet.apps:
        stated = chart.spec.spec.alias if chart.spec else None
        served = next((server.alias for server in chart.servers if server.alias), None)
        aliases.append((chart, (stated or served or "").casefold()))
    for value, first, chart in fleet.repeated(aliases):
        yield _found(
            chart,
            f"{first.app} and {chart.app} both serve the model id {value}",
            hint="give each its own alias",
        )


@rules.warning(
    "fleet-icon", "An app with the icon of another is opened by mistake.", "public markets"
)
def _icons(fleet: Fleet) -> Iterator[Found]:
    """An icon named after another app of the fleet counts too."""
    icons = [(chart, as_text(dig(chart.manifest, "metadata", "icon"))) for chart in fleet.apps]
    shared = fleet.repeated(icons)
    for value, first, chart in shared:
        yield _found(
            chart,
            f"{first.app} and {chart.app} have the same icon {value}",
            "metadata",
            "icon",
            hint="give each its own icon",
        )
    told = {chart.app for _, _, chart in shared}
    names = {chart.app for chart in fleet.apps}
    for chart, icon in icons:
        stem = _stem(icon)
        if stem in names and stem != chart.app and chart.app not in told:
            yield _found(
                chart,
                f"the icon of {chart.app} is that of {stem}",
                "metadata",
                "icon",
                hint=f"serve {chart.app}.png",
            )


def _stem(url: str) -> str:
    try:
        return PurePosixPath(urlsplit(url).path).stem
    except ValueError:
        return ""


@rules.error(
    "model-path-collision",
    "An app that finds another one's file under its own name serves the wrong model.",
    "public charts: an MTP build and a plain build share a file name",
)
def _paths(fleet: Fleet) -> Iterator[Found]:
    first: dict[str, tuple[ChartContext, frozenset[str]]] = {}
    for chart in fleet.apps:
        for server in chart.servers:
            sources = _sources(server)
            for path in _host_files(server):
                other, known = first.setdefault(path, (chart, sources))
                if other is not chart and sources and known and not sources & known:
                    yield _found(
                        chart,
                        f"{other.app} and {chart.app} write different sources to {path} "
                        f"({', '.join(sorted(known))}; {', '.join(sorted(sources))})",
                        hint="put repository and revision into the path",
                    )


def _host_files(server: Server) -> Iterator[str]:
    """Yield the model files of a server as paths of the host, those of its own folder left out."""
    for name in server.model_names:
        if not name.startswith("/"):
            continue
        volume = server.workload.volume_at(server.container, name)
        folder = as_text(dig(volume, "hostPath", "path")) if volume else ""
        if not folder or folder.startswith("/olares/rootfs/userspace/data"):
            continue
        mounts = [
            as_text(mount.get("mountPath"))
            for mount in server.container.mounts
            if server.workload.volumes.get(as_text(mount.get("name"))) is volume
        ]
        inside = max((m for m in mounts if name.startswith(m)), key=len, default="")
        yield str(PurePosixPath(folder) / name.removeprefix(inside).lstrip("/"))


def _sources(server: Server) -> frozenset[str]:
    """Return the repositories that a server's files come from."""
    found = set(_FROM_HUB.findall(server.script))
    for name, value in server.variables.items():
        if _SOURCES.search(name) and _REPO.fullmatch(value):
            found.add(value)
    return frozenset(item for item in found if "$" not in item)


def _found(chart: ChartContext, message: str, *path: str, hint: str) -> Found:
    place = chart.in_manifest(message, *path, hint=hint)
    return Found(message, place.file, place.line, hint, app=chart.app)
