"""Entrances: what a person clicks, and the Service behind it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.rules.manifest import is_web_address
from olares_apps.checks.shape import as_list, as_maps, as_text, dig, shown
from olares_apps.checks.workloads import of_kind
from olares_apps.findings import Severity
from olares_apps.helm import RenderedObject

__all__ = ["rules"]

rules = RuleBook(Group.DATA)

_NAME: Final = re.compile(r"[a-z0-9A-Z-]*")
_HOST: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])")
_TITLE: Final = re.compile(r"[a-z0-9A-Z\s-]*", re.ASCII)
_LONGEST: Final = 63
_LONGEST_TITLE: Final = 30
_ENUMS: Final[Mapping[str, tuple[str, ...]]] = {
    "authLevel": ("", "public", "private", "internal"),
    "openMethod": ("", "default", "iframe", "window"),
}


def _entrances(context: ChartContext) -> list[tuple[int, Mapping[str, Any]]]:
    return as_maps(context.manifest.get("entrances"))


@rules.error(
    "entrance-count",
    "An app has 1 to 10 entrances.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _count(context: ChartContext) -> Iterator[Found]:
    document = context.manifests[False]
    if not document.exists or document.problem:
        return
    count = len(as_list(context.manifest.get("entrances")))
    if not 1 <= count <= 10:
        yield context.in_manifest(
            f"entrances must have 1-10 items, found {count}",
            "entrances",
            hint="add an entrance with name, host, port and title" if not count else "merge some",
        )


@rules.error(
    "entrance-name",
    "Entrance names are unique, of letters, digits and hyphens, at most 63.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _names(context: ChartContext) -> Iterator[Found]:
    seen: dict[str, int] = {}
    for index, item in _entrances(context):
        name = as_text(item.get("name"))
        where = f"entrances[{index}].name {shown(name)}"
        if not name or not _NAME.fullmatch(name):
            yield context.in_manifest(
                f"{where} may hold only letters, digits and hyphens", "entrances", index, "name"
            )
        elif len(name) > _LONGEST:
            yield context.in_manifest(
                f"{where} is {len(name)} characters, limit {_LONGEST}", "entrances", index, "name"
            )
        elif name in seen:
            yield context.in_manifest(
                f"{where} is that of entrances[{seen[name]}] too",
                "entrances",
                index,
                "name",
                hint="give each entrance its own name",
            )
        seen.setdefault(name, index)


@rules.error(
    "entrance-host-format",
    "The host is a Service name of at least two characters.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _hosts(context: ChartContext) -> Iterator[Found]:
    for index, item in _entrances(context):
        host = as_text(item.get("host"))
        if not _HOST.fullmatch(host) or len(host) > _LONGEST:
            yield context.in_manifest(
                f"entrances[{index}].host {shown(host)} is no Service name: lower-case letters, "
                "digits and hyphens, 2 to 63 characters, beginning with a letter",
                "entrances",
                index,
                "host",
                hint="write the name of the chart's Service",
            )


@rules.error("entrance-port", "The port must be above 0.", "oachecker app.go")
def _ports(context: ChartContext) -> Iterator[Found]:
    for index, item in _entrances(context):
        port = item.get("port")
        if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
            yield context.in_manifest(
                f"entrances[{index}].port {shown(port)} is no port (1 to 65535)",
                "entrances",
                index,
                "port",
                hint="write the port of the Service",
            )


@rules.error(
    "entrance-title",
    "The title under the icon has 1 to 30 letters, digits, spaces and hyphens.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _titles(context: ChartContext) -> Iterator[Found]:
    for index, item in _entrances(context):
        title = as_text(item.get("title"))
        where = f"entrances[{index}].title"
        if not title.strip():
            message = f"{where} is empty"
        elif len(title) > _LONGEST_TITLE:
            message = f"{where} is {len(title)} characters, limit {_LONGEST_TITLE}"
        elif not _TITLE.fullmatch(title):
            wrong = next(character for character in title if not _TITLE.fullmatch(character))
            message = f"{where} holds {shown(wrong)}: only letters, digits, spaces and hyphens"
        else:
            continue
        # The newer linter no longer asks for the characters, the older one does.
        mild = bool(title.strip()) and len(title) <= _LONGEST_TITLE and not context.targets_old
        yield context.in_manifest(
            message,
            "entrances",
            index,
            "title",
            hint="shorten or reword it",
            severity=Severity.WARNING if mild else None,
        )


@rules.error(
    "entrance-icon-url",
    "An entrance's icon is an absolute address.",
    "OAC validate.go",
    applies=Applies.NEW,
    blocks=True,
)
def _icons(context: ChartContext) -> Iterator[Found]:
    for index, item in _entrances(context):
        icon = item.get("icon")
        if icon and not is_web_address(icon):
            yield context.in_manifest(
                f"entrances[{index}].icon {shown(icon)} is no absolute http or https address",
                "entrances",
                index,
                "icon",
                hint="write the full address, or leave it out",
            )


@rules.error(
    "entrance-enum",
    "authLevel and openMethod take only known words.",
    "OAC validate.go",
    blocks=True,
)
def _enums(context: ChartContext) -> Iterator[Found]:
    for index, item in _entrances(context):
        for key, allowed in _ENUMS.items():
            value = item.get(key)
            if value is not None and value not in allowed:
                yield context.in_manifest(
                    f"entrances[{index}].{key} {shown(value)} is unknown",
                    "entrances",
                    index,
                    key,
                    hint=f"write one of {', '.join(allowed[1:])}",
                )


def _service_ports(service: RenderedObject) -> list[int]:
    entries = as_maps(dig(service.data, "spec", "ports"))
    return [item["port"] for _, item in entries if isinstance(item.get("port"), int)]


@rules.error(
    "entrance-host-service",
    "No checker sees an entrance that leads nowhere; the user gets an error page.",
    "Olares contract 6.1",
    group=Group.OBJECTS,
)
def _services(context: ChartContext) -> Iterator[Found]:
    if not context.is_whole:
        return
    services = {item.name: _service_ports(item) for item in of_kind(context.objects, "Service")}
    for index, item in _entrances(context):
        host, port = as_text(item.get("host")), item.get("port")
        if not _HOST.fullmatch(host):
            continue
        if host not in services:
            known = ", ".join(sorted(services)) or "none"
            yield context.in_manifest(
                f"entrances[{index}].host {host} is no Service of the chart (Services: {known})",
                "entrances",
                index,
                "host",
                hint="write the name of a Service",
            )
        elif isinstance(port, int) and port > 0 and port not in services[host]:
            listed = ", ".join(map(str, services[host])) or "none"
            yield context.in_manifest(
                f"entrances[{index}].port {port} is not exposed by service {host} (ports: "
                f"{listed})",
                "entrances",
                index,
                "port",
                hint=f"write {services[host][0]}"
                if services[host]
                else "add the port to the Service",
            )


@rules.warning(
    "entrance-order",
    "The first entrance's address depends on how many there are, further ones on their place.",
    "app-service entrance code",
)
def _order(context: ChartContext) -> Iterator[Found]:
    before = context.published.entrances if context.published else None
    if not before:
        return
    now = [as_text(item.get("name")) for _, item in _entrances(context)]
    if now[: len(before)] != list(before) or (len(before) == 1 < len(now)):
        yield context.in_manifest(
            f"entrances were {', '.join(before)} and are now {', '.join(now) or 'none'}: the "
            "addresses "
            "of the app change",
            "entrances",
            hint="keep names and order, and avoid a second entrance in an update",
        )


@rules.error(
    "policy-fields",
    "A policy needs uriRegex and level, and a valid duration.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _policies(context: ChartContext) -> Iterator[Found]:
    for index, item in as_maps(dig(context.manifest, "options", "policies")):
        where = ("options", "policies", index)
        for key in ("uriRegex", "level"):
            if not as_text(item.get(key)):
                yield context.in_manifest(f"options.policies[{index}].{key} is missing", *where)
        duration = as_text(item.get("validDuration"))
        if duration and not _DURATION.fullmatch(duration):
            yield context.in_manifest(
                f"options.policies[{index}].validDuration {shown(duration)} is no duration",
                *where,
                "validDuration",
                hint="write for example 3600s or 1h30m",
            )


_DURATION: Final = re.compile(r"(?:[-+]?\d{1,12}(?:\.\d{1,12})?(?:[smhdwy]|us|ns|ms))+")


@rules.error(
    "upload-dest-mounted",
    "Uploads go to a mounted folder or nowhere.",
    "OAC workloads.go; oachecker resource.go",
    group=Group.OBJECTS,
    blocks=True,
)
def _upload(context: ChartContext) -> Iterator[Found]:
    target = as_text(dig(context.manifest, "options", "upload", "dest"))
    if not target or not context.is_whole:
        return
    mounts = {
        as_text(mount.get("mountPath"))
        for workload in context.workloads
        for container in workload.containers
        for mount in container.mounts
    }
    if target not in mounts:
        listed = ", ".join(sorted(mounts)) or "none"
        yield context.in_manifest(
            f"options.upload.dest {target} is no mountPath of a container (mounts: {listed})",
            "options",
            "upload",
            "dest",
            hint="write the path of a mounted volume",
        )
