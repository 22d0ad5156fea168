"""What two apps of one market must not share."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from olares_apps.checks.context import ChartContext
from olares_apps.checks.fleet import Fleet, Member
from olares_apps.checks.launch import Server
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_text, dig
from olares_apps.findings import Severity
from olares_apps.spec.fleet import shared_files
from olares_apps.spec.types import app_id

__all__ = ["rules"]

rules = RuleBook(Group.FLEET)

_REPO: Final = re.compile(r"(?<![\w./-])[\w.-]+/[\w.-]+(?![\w/])")
_FROM_HUB: Final = re.compile(r"huggingface\.co/([\w.-]+/[\w.-]+)/(?:resolve|raw)/")
_MOUNTED: Final = re.compile(r"hostPath:[\s{]*(?:type:[^,\n]*[,\s]*)?path:([^\n]*)")
# Those of the device and of its catalogue (contract 5.6).
_CATEGORIES: Final = (
    "AI",
    "Blockchain",
    "Creativity",
    "Developer Tools",
    "Entertainment",
    "Fun",
    "Lifestyle",
    "Productivity",
    "Productivity_v112",
    "Social Network",
    "Utilities",
    "Utilities_v112",
)
_SOURCES: Final = re.compile(r"REPO|MODEL|TARGET|DRAFT")


@rules.error("appid-collision", "Two apps of one id are one app for a device.", "OAC appid.go")
def _ids(fleet: Fleet) -> Iterator[Found]:
    names = [(member, app_id(member.app)) for member in fleet.apps if member.app]
    for value, first, member in fleet.repeated(names):
        yield member.found(
            f"{first.app} and {member.app} both get the id {value}",
            "app",
            hint="rename one of them",
        )


@rules.error(
    "fleet-app-name", "The later of two apps of one name replaces the first.", "public markets"
)
def _names(fleet: Fleet) -> Iterator[Found]:
    seen: dict[tuple[str, str], Member] = {}
    for member in fleet.members:
        first = seen.setdefault((member.app, member.generation), member)
        if first is not member and member.app:
            where = ", ".join(filter(None, (first.origin, member.origin)))
            yield member.found(
                f"two charts are called {member.app} ({where})", "app", hint="rename one of them"
            )


@rules.error(
    "fleet-title", "Two apps of one title cannot be told apart in the market.", "public markets"
)
def _titles(fleet: Fleet) -> Iterator[Found]:
    titles = [(member, member.title.strip().casefold()) for member in fleet.apps]
    for _, first, member in fleet.repeated(titles):
        yield member.found(
            f"{first.app} and {member.app} have the same title '{member.title}'",
            "title",
            hint="give each its own title",
        )


@rules.warning(
    "fleet-entrance-title",
    "Two icons of one name stand beside each other on the device's desktop.",
    "public markets",
)
def _entrances(fleet: Fleet) -> Iterator[Found]:
    """Of a spec an error, which keeps it from being rendered; same titles are told by their own."""
    titles = {member.app: member.title.strip().casefold() for member in fleet.apps}
    named = [(member, member.entrance.strip().casefold()) for member in fleet.apps]
    for _, first, member in fleet.repeated(named):
        if titles[first.app] != titles[member.app]:
            yield member.found(
                f"the entrances of {first.app} and {member.app} are both '{member.entrance}'",
                "entrance",
                hint="set entrance.title" if member.spec else "give each its own title",
                severity=Severity.ERROR if member.spec else None,
            )


@rules.error(
    "fleet-alias",
    "Two servers that answer to one model id are confused by every client.",
    "public markets",
)
def _aliases(fleet: Fleet) -> Iterator[Found]:
    aliases = [(member, member.alias.casefold()) for member in fleet.apps]
    for value, first, member in fleet.repeated(aliases):
        yield member.found(
            f"{first.app} and {member.app} both serve the model id {value}",
            "alias",
            hint="give each its own alias",
        )


@rules.warning(
    "fleet-icon", "An app with the icon of another is opened by mistake.", "public markets"
)
def _icons(fleet: Fleet) -> Iterator[Found]:
    """An icon named after another app of the fleet counts too."""
    shared = fleet.repeated((member, member.icon) for member in fleet.apps)
    for value, first, member in shared:
        yield member.found(
            f"{first.app} and {member.app} have the same icon {value}",
            "icon",
            hint="give each its own icon",
        )
    told = {member.app for _, _, member in shared}
    names = {member.app for member in fleet.apps}
    for member in fleet.apps:
        stem = _stem(member.icon)
        if stem in names and stem != member.app and member.app not in told:
            yield member.found(
                f"the icon of {member.app} is that of {stem}",
                "icon",
                hint=f"serve {member.app}.png",
            )


@rules.warning(
    "category-spelling",
    "A category that is another one spelt otherwise is a page of its own with few apps.",
    "public markets",
)
def _categories(fleet: Fleet) -> Iterator[Found]:
    """Of two spellings the device's own is meant, else the one that more apps have."""
    used = Counter(name for member in fleet.apps for name in set(member.categories))
    meant: dict[str, str] = {}
    for name in sorted(used, key=lambda name: (name not in _CATEGORIES, -used[name], name)):
        meant.setdefault(_letters(name), name)
    for name in _CATEGORIES:
        meant[_letters(name)] = name
    for member in fleet.apps:
        for name in member.categories:
            known = meant.get(_letters(name), name)
            if known != name:
                yield member.found(
                    f"{member.app} has the category '{name}' (did you mean '{known}'?)",
                    "categories",
                    hint=f"write it as '{known}'",
                )


def _letters(category: str) -> str:
    """Return what two spellings of a category share: its words, one or many, without their form."""
    words = re.findall(r"[^\W_]+", category.casefold())
    return "".join(word.removesuffix("s") if word.isascii() else word for word in words)


@rules.warning(
    "icon-missing",
    "An app whose icon answers 404 is an empty square in the market.",
    "public markets",
)
def _missing_icons(fleet: Fleet) -> Iterator[Found]:
    """Only where the workspace's own market serves the icons: others are asked online.

    That market has one picture for each app, drawn where the curator has none.
    """
    own = fleet.own_icons
    if own is None:
        return
    known = {member.app for member in fleet.apps} | own.apps
    for member in fleet.apps:
        below = member.icon.startswith(f"{own.address}/")
        if below and _stem(member.icon) not in known:
            yield member.found(
                f"{member.icon} will answer 404: no app of the market is called so",
                "icon",
                hint=f"leave icon out: the market takes {own.folder}/{member.app}.png, and draws "
                "a picture when there is none",
            )


@rules.info(
    "chart-without-spec",
    "The chart of a deleted spec is never rendered again, and its app stays in the market.",
    "public markets",
)
def _strays(fleet: Fleet) -> Iterator[Found]:
    for folder in fleet.strays:
        app = PurePosixPath(folder).name
        yield Found(
            f"{folder} belongs to no spec of the workspace",
            f"{folder}/Chart.yaml",
            1,
            f"delete it, and take the app from the market with olapps market remove {app}",
            app=app,
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
    owners = {member.spec.name: member for member in fleet.members if member.spec}
    for _, later, problem in shared_files(m.spec for m in fleet.members if m.spec):
        place = str(problem.file or "")
        hint = problem.hint or ""
        yield Found(problem.message, place, problem.line, hint, app=owners[later.name].app)
    first: dict[str, tuple[Member, frozenset[str]]] = {}
    for member in fleet.apps:
        if member.chart is None or not member.chart.renders:
            continue
        if not _shares_a_folder(member.chart):
            continue
        for server in member.chart.servers:
            sources = _sources(server)
            for path in _host_files(server):
                other, known = first.setdefault(path, (member, sources))
                if other is not member and sources and known and not sources & known:
                    yield member.found(
                        f"{other.app} and {member.app} write different sources to {path} "
                        f"({', '.join(sorted(known))}; {', '.join(sorted(sources))})",
                        "app",
                        hint="put repository and revision into the path",
                    )


def _shares_a_folder(chart: ChartContext) -> bool:
    """Say whether a template mounts a host folder that is not the app's own, by its text."""
    paths = (
        path for template in chart.templates.values() for path in _MOUNTED.findall(template.text)
    )
    return any(".Values.userspace.appData" not in path for path in paths)


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
