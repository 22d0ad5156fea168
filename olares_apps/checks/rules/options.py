"""Dependencies, permissions and options of the manifest that the linters ask about."""

from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_list, as_map, as_maps, as_text, dig, shown
from olares_apps.helm.calls import CallFailed
from olares_apps.helm.semver_range import VersionRange, parse_version

__all__ = ["rules"]

rules = RuleBook(Group.DATA, "OAC validate.go")

_DEPENDENCY_TYPES: Final = ("system", "application", "middleware")
# Versions that a window must leave out (contract 5.4): the linter samples them.
_NEW_FORBIDS: Final = ("1.12.5", "1.12.0", "0.1.0")
_OLD_FORBIDS: Final = ("1.12.2", "1.12.6", "2.0.0")
_NEW_ADMITS: Final = "1.12.6-20260801"
_NEW_WINDOW: Final = ">=1.12.6-0"
_OLD_WINDOW: Final = ">=1.12.3-0,<1.12.6"
_NEW_OPTIONS: Final = ("LLMGatewaySupported", "templateOnly", "shared")


def _uses_new(context: ChartContext) -> bool:
    """Say whether the manifest uses what only Olares 1.12.6 and later know."""
    manifest = context.manifest
    options = as_map(manifest.get("options"))
    return (
        context.api_version == "v3"
        or bool(context.list_at("spec", "accelerator"))
        or bool(manifest.get("workloadReplicas"))
        or bool(manifest.get("overlayGateway"))
        or any(options.get(key) for key in _NEW_OPTIONS)
        or bool(dig(manifest, "permission", "appCommon"))
    )


@rules.error(
    "olares-dependency",
    "A manifest must say which Olares it is for.",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _dependency(context: ChartContext) -> Iterator[Found]:
    if context.manifests[False].problem:
        return
    window = _NEW_WINDOW if _uses_new(context) else _OLD_WINDOW
    if not context.olares_windows:
        yield context.in_manifest(
            "options.dependencies must contain olares (type system)",
            "options",
            "dependencies",
            hint=f"add {{name: olares, type: system, version: '{window}'}}",
        )
    for text in context.olares_windows:
        if _range(text) is None:
            yield context.in_manifest(
                f"olares dependency {shown(text)} is no version range",
                "options",
                "dependencies",
                hint=f"write '{window}'",
                piece=text,
            )


def _range(text: str) -> VersionRange | None:
    try:
        return VersionRange.parse(text)
    except (CallFailed, ValueError):
        return None


@rules.error(
    "olares-dependency-window",
    "A chart that a release refuses must not be offered to it: v2 ends before 1.12.6, v3 begins "
    "there.",
    blocks=True,
)
def _window(context: ChartContext) -> Iterator[Found]:
    """Below 0.12.0 only v2 has a window; plain v1 charts may serve both generations."""
    if not context.is_literal and context.api_version != "v2":
        return
    new = context.is_literal and _uses_new(context)
    window, forbidden = (_NEW_WINDOW, _NEW_FORBIDS) if new else (_OLD_WINDOW, _OLD_FORBIDS)
    if not context.olares_windows and context.api_version == "v2" and not context.is_literal:
        yield context.in_manifest(
            f"apiVersion v2 requires olares {window} (found none)",
            "options",
            hint=f"add {{name: olares, type: system, version: '{window}'}}",
        )
    for text in context.olares_windows:
        parsed = _range(text)
        if parsed is None:
            continue
        admitted = [version for version in forbidden if parsed.allows(parse_version(version))]
        if admitted:
            why = f"admits {', '.join(admitted)}"
        elif new and not parsed.allows(parse_version(_NEW_ADMITS)):
            why = f"leaves out nightly builds such as {_NEW_ADMITS}: -0 is missing"
        else:
            continue
        yield context.in_manifest(
            f"apiVersion {context.api_version} requires olares {window} (found {shown(text)}, "
            "which "
            f"{why})",
            "options",
            "dependencies",
            hint=f"write version: '{window}'",
            piece=text,
        )


@rules.error(
    "dependency-fields",
    "A dependency has name, version and a known type.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _fields(context: ChartContext) -> Iterator[Found]:
    for index, item in as_maps(dig(context.manifest, "options", "dependencies")):
        where = ("options", "dependencies", index)
        for key in ("name", "version", "type"):
            if not as_text(item.get(key)):
                yield context.in_manifest(f"options.dependencies[{index}].{key} is missing", *where)
        kind = as_text(item.get("type"))
        if kind and kind not in _DEPENDENCY_TYPES:
            yield context.in_manifest(
                f"options.dependencies[{index}].type {shown(kind)} is unknown",
                *where,
                "type",
                hint=f"write one of {', '.join(_DEPENDENCY_TYPES)}",
            )


@rules.error(
    "provider-empty",
    "Providers are gone from manifest 0.12.0 on.",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _provider(context: ChartContext) -> Iterator[Found]:
    for path in (("provider",), ("permission", "provider")):
        if dig(context.manifest, *path):
            yield context.in_manifest(
                f"{'.'.join(path)} must be empty from manifest 0.12.0 on", *path, hint="remove it"
            )


@rules.error(
    "external-data-generation",
    "permission.externalData exists from manifest 0.12.0 on.",
    blocks=True,
)
def _external_data(context: ChartContext) -> Iterator[Found]:
    if not context.is_literal and dig(context.manifest, "permission", "externalData"):
        yield context.in_manifest(
            f"permission.externalData needs manifest 0.12.0, this is {context.manifest_version}",
            "permission",
            "externalData",
            hint="remove it, or make a manifest 0.12.0 with apiVersion v3",
        )


@rules.error(
    "shared-requirements",
    "A shared app is v3 and installed by administrators; the older ways of sharing exclude it.",
    "OAC validate.go; app-service handler_installer_install.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _shared(context: ChartContext) -> Iterator[Found]:
    options = context.map_at("options")
    if options.get("shared") is not True:
        return
    scope = as_map(options.get("appScope"))
    wrong = {
        "apiVersion v3 is needed": context.api_version != "v3",
        "spec.onlyAdmin must be true": dig(context.manifest, "spec", "onlyAdmin") is not True,
        "spec.subCharts must be empty": bool(dig(context.manifest, "spec", "subCharts")),
        "appScope.clusterScoped must not be set": bool(scope.get("clusterScoped")),
        "appScope.appRef must be empty": bool(scope.get("appRef")),
    }
    for message, is_wrong in wrong.items():
        if is_wrong:
            yield context.in_manifest(
                f"options.shared: {message}", "options", "shared", hint=message
            )


@rules.error(
    "template-only-multiple",
    "A template app is installed several times, so that must be allowed.",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _template_only(context: ChartContext) -> Iterator[Found]:
    options = context.map_at("options")
    if options.get("templateOnly") is True and options.get("allowMultipleInstall") is not True:
        yield context.in_manifest(
            "options.templateOnly needs allowMultipleInstall: true",
            "options",
            "templateOnly",
            hint="set allowMultipleInstall: true",
        )


@rules.error(
    "overlay-gateway",
    "Entries of the overlay gateway name a workload, a port and a protocol.",
    "OAC validate.go and workloads.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _overlay(context: ChartContext) -> Iterator[Found]:
    names = {item.name for item in context.workloads if item.is_scaled}
    for index, item in as_maps(dig(context.manifest, "overlayGateway", "entrances")):
        title, port = as_text(item.get("title")), item.get("port")
        workload = as_text(item.get("workload"))
        protocol = item.get("protocol")
        wrong = {
            f"title is {len(title)} characters, allowed 1 to 30": not 1 <= len(title) <= 30,
            f"port {shown(port)} is no port": not isinstance(port, int) or port < 1,
            f"protocol {shown(protocol)} is none of tcp, udp": (
                protocol not in (None, "", "tcp", "udp")
            ),
            f"workload {shown(workload)} is not in the chart": bool(names)
            and workload not in names,
        }
        for message, is_wrong in wrong.items():
            if is_wrong:
                yield context.in_manifest(
                    f"overlayGateway.entrances[{index}]: {message}",
                    "overlayGateway",
                    "entrances",
                    index,
                )


@rules.error(
    "workload-options-single",
    "A workload with device access runs once and is replaced, never doubled.",
    "Olares contract 5.4",
    applies=Applies.NEW,
    blocks=True,
)
def _device_access(context: ChartContext) -> Iterator[Found]:
    scaled = {item.name: item for item in context.workloads if item.is_scaled}
    for name, item in context.map_at("workloadOptions").items():
        if not as_list(as_map(item).get("allow")):
            continue
        count = as_map(item).get("replicas", dig(context.manifest, "workloadReplicas", name))
        if count not in (None, 1):
            yield context.in_manifest(
                f"workloadOptions.{name} allows devices with {count} replicas, allowed is 1",
                "workloadOptions",
                name,
                hint="set replicas: 1",
            )
        workload = scaled.get(name)
        kind = as_text(dig(workload.item.data, "spec", "strategy", "type")) if workload else ""
        if workload and workload.kind == "Deployment" and kind != "Recreate":
            yield context.in_object(
                workload.item,
                f"{name} has access to devices and strategy {kind or 'RollingUpdate'}",
                "strategy",
                hint="write strategy: {type: Recreate}",
            )


@rules.error(
    "middleware-fields",
    "Databases need a user and a name, redis a namespace.",
    "oachecker app.go",
)
def _middleware(context: ChartContext) -> Iterator[Found]:
    for name in ("postgres", "mongodb"):
        item = dig(context.manifest, "middleware", name)
        if item is None:
            continue
        if not as_text(dig(item, "username")):
            yield context.in_manifest(f"middleware.{name}.username is missing", "middleware", name)
        databases = as_maps(dig(item, "databases"))
        if not any(as_text(entry.get("name")) for _, entry in databases):
            yield context.in_manifest(f"middleware.{name}.databases is empty", "middleware", name)
    redis = dig(context.manifest, "middleware", "redis")
    if redis is not None and not as_text(dig(redis, "namespace")):
        yield context.in_manifest("middleware.redis.namespace is missing", "middleware", "redis")


@rules.warning(
    "middleware-redis-password",
    "The word auto is taken for the password itself.",
    "experience of operators",
)
def _redis_password(context: ChartContext) -> Iterator[Found]:
    if dig(context.manifest, "middleware", "redis", "password") == "auto":
        yield context.in_manifest(
            "middleware.redis.password is the word auto",
            "middleware",
            "redis",
            "password",
            hint="leave it out: the platform makes one",
        )


@rules.warning(
    "api-timeout",
    "Answers that stream longer than 15 s are cut without apiTimeout 0.",
    "experience of operators",
)
def _api_timeout(context: ChartContext) -> Iterator[Found]:
    if context.servers and dig(context.manifest, "options", "apiTimeout") != 0:
        stated = dig(context.manifest, "options", "apiTimeout")
        yield context.in_manifest(
            f"options.apiTimeout is {stated if stated is not None else 'not set'}: a streaming "
            "answer "
            "is cut after it (default 15 s)",
            "options",
            "apiTimeout",
            hint="write apiTimeout: 0",
        )


@rules.warning(
    "run-as-internal", "spec.runAsInternal breaks ordinary apps.", "experience of operators"
)
def _run_as_internal(context: ChartContext) -> Iterator[Found]:
    if dig(context.manifest, "spec", "runAsInternal") is True:
        yield context.in_manifest(
            "spec.runAsInternal is true", "spec", "runAsInternal", hint="remove it"
        )
