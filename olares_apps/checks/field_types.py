"""The types that a device's decoder wants in the manifest, and Helm in Chart.yaml.

Both read YAML by way of JSON: a number or a boolean is taken where a text is due, nothing else is
taken for something else. Sources: beclab/api manifest/types.go; helm/v3 pkg/chart/metadata.go.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from olares_apps.checks.shape import as_list, as_map, dig

__all__ = ["CHART", "MANIFEST", "TEXTS", "TEXTS_OF", "Path", "Types", "dotted", "wrong_types"]

Path = tuple[str | int, ...]
Types = Mapping[type, tuple[Path, ...]]
"""Type -> the fields that must have it; ``*`` stands for every item of a list or mapping."""

_NAMES: Final = {
    dict: "a mapping",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}
# YAML 1.1 reads these as booleans, and so do devices.
_SWITCHES: Final = frozenset("y n yes no on off true false".split())


def _paths(*lines: str) -> tuple[Path, ...]:
    """Return paths from lines ``where: field field``; steps are separated by slashes."""
    found: list[Path] = []
    for line in lines:
        where, _, fields = line.partition(":")
        above = tuple(filter(None, where.split("/")))
        found += [(*above, *name.split("/")) for name in fields.split()]
    return tuple(found)


TEXTS: Final = _paths(
    ": olaresManifest.version olaresManifest.type apiVersion",
    "metadata: name icon description title version appid",
    "spec: versionName fullDescription upgradeDescription developer website sourceCode submitter "
    "doc requiredCpu limitedCpu requiredMemory limitedMemory requiredDisk limitedDisk requiredGpu "
    "limitedGpu",
)
"""Fields of the manifest that are texts."""
TEXTS_OF: Final[Mapping[Path, tuple[str, ...]]] = {
    ("entrances",): ("name", "host", "title", "icon", "authLevel", "openMethod"),
    ("envs",): ("envName", "value", "default", "type", "title", "description", "regex"),
    ("options", "dependencies"): ("name", "version", "type"),
    ("spec", "accelerator"): (
        "mode",
        *"requiredCpu limitedCpu requiredMemory limitedMemory requiredDisk limitedDisk".split(),
        *"requiredGPUMemory limitedGPUMemory".split(),
    ),
}
"""Fields of the items of its lists that are texts."""
MANIFEST: Final[Types] = {
    dict: _paths(
        ": metadata spec permission middleware options workloadReplicas tailscale overlayGateway",
        "spec: supportClient hardware license/* legal/* accelerator/* subCharts/*",
        "options: resetCookie appScope websocket upload oidc",
        "options: dependencies/* policies/* conflicts/*",
        ": entrances/* sharedEntrances/* ports/* envs/*",
    ),
    list: _paths(
        ": entrances sharedEntrances ports envs provider",
        "metadata: categories",
        "spec: accelerator locale supportArch promoteImage license legal subCharts",
        "options: dependencies policies conflicts images allowedOutboundPorts",
        "permission: userData",
        "envs/*: options",
    ),
    str: (
        *TEXTS,
        *_paths("spec: namespace featuredImage"),
        *((*path, "*", name) for path, names in TEXTS_OF.items() for name in names),
    ),
    bool: _paths(
        "permission: appData appCache appCommon externalData",
        "spec: onlyAdmin runAsUser runAsInternal",
        "options: mobileSupported allowMultipleInstall resetCookie/enabled oidc/enabled",
        "entrances/*: invisible windowPushState skip disablePreload",
        "envs/*: required editable applyOnChange",
        "options/dependencies/*: mandatory selfRely",
        "spec/subCharts/*: shared",
    ),
    int: _paths("options: apiTimeout allowedOutboundPorts/*"),
}
CHART: Final[Types] = {
    dict: _paths(": annotations maintainers/* dependencies/*"),
    list: _paths(": keywords sources maintainers dependencies"),
    str: _paths(
        ": apiVersion name version kubeVersion description type home icon appVersion condition "
        "tags keywords/* sources/* annotations/*",
        "maintainers/*: name email url",
        "dependencies/*: name version repository condition alias",
    ),
    bool: _paths(": deprecated"),
}


def wrong_types(data: Any, types: Types) -> Iterator[tuple[Path, str]]:
    """Yield path and description of every field that has not the type that is due."""
    for kind, paths in types.items():
        for pattern in paths:
            for path in _places(data, pattern):
                value = dig(data, *path)
                if value is not None and not _fits(value, kind):
                    found = _NAMES.get(type(value), "a value")
                    yield path, f"{dotted(path)} is {found} where {_NAMES[kind]} must be"


def _places(data: Any, pattern: Path) -> Iterator[Path]:
    if "*" not in pattern:
        yield pattern
        return
    at = pattern.index("*")
    above, below = pattern[:at], pattern[at + 1 :]
    holder = dig(data, *above)
    items = as_map(holder).items() if isinstance(holder, dict) else enumerate(as_list(holder))
    for step, item in items:
        if isinstance(step, (str, int)) and (not below or as_map(item)):
            yield (*above, step, *below)


def _fits(value: Any, kind: type) -> bool:
    if kind is str:
        return not isinstance(value, (dict, list))
    if kind is bool:
        return isinstance(value, bool) or (isinstance(value, str) and value.lower() in _SWITCHES)
    if kind is int:
        is_whole = isinstance(value, float) and value.is_integer()
        return is_whole or (isinstance(value, int) and not isinstance(value, bool))
    return isinstance(value, kind)


def dotted(path: Path) -> str:
    """Return a path as people write it: ``entrances[0].name``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
