"""Variables and folders of the platform: what templates use must be declared, and the reverse."""

import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_list, as_map, as_maps, as_text, dig, shown
from olares_apps.checks.workloads import of_kind
from olares_apps.findings import Severity
from olares_apps.helm import RenderedObject
from olares_apps.helm.uses import ValueUse

__all__ = ["rules"]

rules = RuleBook(Group.OBJECTS)

_ADDRESS: Final = re.compile(r"(?:ENDPOINT|_URL|_URI|_HOST|_PROXY|_BASE)$")
_EXPONENT: Final = re.compile(r"(?<![\w.])\d(?:\.\d+)?e\+\d{2,3}(?![\w.])")


def _uses(context: ChartContext, *path: str) -> Iterator[tuple[str, ValueUse]]:
    """Yield file and use of every value below a path."""
    for file, template in context.templates.items():
        for use in template.uses.values:
            if use.path[: len(path)] == path:
                yield file, use


def _declared(context: ChartContext) -> dict[str, int]:
    entries = as_maps(context.manifest.get("envs"))
    return {as_text(item.get("envName")): index for index, item in entries}


@rules.error(
    "env-declared",
    "A variable that envs does not declare is never set: the app runs with an empty one.",
    "a public chart whose token and endpoint stayed empty",
)
def _undeclared(context: ChartContext) -> Iterator[Found]:
    """A read with a fallback is a warning: the app runs, the user just cannot set it."""
    declared = _declared(context)
    told = set()
    for file, use in _uses(context, "olaresEnv"):
        name = use.path[1] if len(use.path) > 1 else "*"
        if name == "*" or name in declared or name in told:
            continue
        told.add(name)
        yield Found(
            f"template uses olaresEnv.{name} but envs: does not declare it",
            file,
            use.line,
            f"add {{envName: {name}, ...}} to envs of the manifest",
            Severity.WARNING if use.guarded else None,
        )


@rules.warning(
    "env-unused",
    "A setting that the user can fill in and nothing reads looks like a promise.",
    "public charts",
)
def _unused(context: ChartContext) -> Iterator[Found]:
    if context.base.failure or not context.templates:
        return
    texts = "\n".join(item.text for item in context.templates.values())
    if re.search(r"\{\{[^}]*\b(?:range|toYaml|toJson)\b[^}]*olaresEnv(?!\.)", texts):
        return
    for name, index in _declared(context).items():
        if name and not (name in texts and re.search(rf"\b{re.escape(name)}\b", texts)):
            yield context.in_manifest(
                f"envs[{index}] {name} is declared and no template uses it",
                "envs",
                index,
                hint="use it or remove it",
            )


# The hub client takes an empty one for an address and fails at every download.
_FATAL: Final = frozenset(("HF_ENDPOINT",))


@rules.warning(
    "env-empty-address",
    "An address variable that is set to nothing is not the same as one that is not set.",
    "a public chart whose hub client failed on an empty HF_ENDPOINT",
)
def _empty(context: ChartContext) -> Iterator[Found]:
    for workload in context.workloads:
        for container in workload.all_containers:
            for _, item in as_maps(container.data.get("env")):
                name = as_text(item.get("name"))
                if "valueFrom" in item or as_text(item.get("value")) or not _ADDRESS.search(name):
                    continue
                yield context.in_object(
                    workload.item,
                    f"{name} of container {container.name} is empty when the user sets nothing",
                    f"name: {name}",
                    hint="write the variable inside an if, so that an unset one is absent",
                    field=context.field_of_variable(name),
                    severity=Severity.ERROR if name in _FATAL else None,
                )


@rules.error(
    "env-value-type",
    "The API takes only texts as values of variables and ConfigMaps.",
    "cagriekin/charts#156",
    blocks=True,
)
def _types(context: ChartContext) -> Iterator[Found]:
    for workload in context.workloads:
        for container in workload.all_containers:
            for _, item in as_maps(container.data.get("env")):
                value, name = item.get("value"), as_text(item.get("name"))
                if value is not None and not isinstance(value, str):
                    yield context.in_object(
                        workload.item,
                        f"env {name}: value must be string, got {_kind(value)} {shown(value)}",
                        f"name: {name}",
                        hint="put it in quotes",
                    )
            for word in (
                *as_list(container.data.get("command")),
                *as_list(container.data.get("args")),
            ):
                if not isinstance(word, str):
                    yield context.in_object(
                        workload.item,
                        f"argument {shown(word)} of container {container.name} must be string, got "
                        f"{_kind(word)}",
                        hint="put it in quotes",
                        below=(f"name: {container.name}", "args:", _written(word)),
                    )
    for source in of_kind(context.objects, "ConfigMap", "Secret"):
        for field in ("data", "stringData"):
            for key, value in as_map(source.data.get(field)).items():
                if not isinstance(value, str):
                    yield context.in_object(
                        source,
                        f"{source.kind} {source.name}: {key} must be string, got {_kind(value)}",
                        f"{key}:",
                        hint="put it in quotes",
                    )


def _written(value: object) -> str:
    """Return a value as YAML writes it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", dict: "a mapping", list: "a list"}
    return names.get(type(value), "number")


@rules.error(
    "number-exponent",
    "Helm prints whole numbers from a million on as 1.048576e+06, which no server reads.",
    "helm/helm#12195, #1707, #13254",
)
def _exponents(context: ChartContext) -> Iterator[Found]:
    for workload in context.workloads:
        for container in workload.all_containers:
            words = [*container.words("command"), *container.words("args")]
            entries = as_maps(container.data.get("env"))
            words += [as_text(item.get("value")) for _, item in entries]
            for word in words:
                found = _EXPONENT.search(word)
                if found:
                    yield _exponent(context, workload.item, found[0])
    for item in of_kind(context.objects, "ConfigMap"):
        for value in as_map(item.data.get("data")).values():
            if isinstance(value, str) and len(value) < 200 and _EXPONENT.search(value):
                yield _exponent(context, item, value)


def _exponent(context: ChartContext, item: RenderedObject, text: str) -> Found:
    return context.in_object(
        item,
        f"the number {text} came out of a template with an exponent",
        hint="quote the number where it is written, or pass it through int64",
    )


def _permission(
    context: ChartContext, path: tuple[str, ...], key: str, effect: str
) -> Iterator[Found]:
    if dig(context.manifest, "permission", key):
        return
    for file, use in _uses(context, *path):
        yield Found(
            f"uses .Values.{use.dotted} without permission.{key}{effect}",
            file,
            use.line,
            f"add {key}: true to permission",
        )
        return


@rules.error(
    "permission-app-data",
    "The app's own folder is given only with the permission.",
    "OAC appdata.go; oachecker manifest.go",
    blocks=True,
)
def _app_data(context: ChartContext) -> Iterator[Found]:
    yield from _permission(context, ("userspace", "appData"), "appData", "")


@rules.error(
    "permission-app-common",
    "The folder that all apps share is given only with the permission.",
    "OAC appdata.go",
    applies=Applies.NEW,
    blocks=True,
)
def _app_common(context: ChartContext) -> Iterator[Found]:
    yield from _permission(context, ("userspace", "appCommon"), "appCommon", "")


@rules.error(
    "permission-external-data",
    "External storage is given only with the permission.",
    "OAC appdata.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _external(context: ChartContext) -> Iterator[Found]:
    yield from _permission(context, ("sharedlib",), "externalData", "")


@rules.error(
    "permission-cache-user-data",
    "Without the permission the folder is empty text and the path begins at the host's root.",
    "Olares contract 8.1",
)
def _cache(context: ChartContext) -> Iterator[Found]:
    for key in ("appCache", "userData"):
        yield from _permission(
            context, ("userspace", key), key, ": the path would begin at the host's root"
        )
