"""The types of a manifest as a device decodes it (contract 3.4.7 and 5.1).

One value of the wrong kind fails the decode, and the app is not listed. Any plain scalar is
taken where a text is expected, because the device reads YAML by way of JSON.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

__all__ = ["type_faults"]

# A leaf is text, int, bool or any; a list holds the type of its items; {"*": type} is a map
# with free keys; another dict lists the fields that have a type of their own, others are free.
Kind: TypeAlias = str | list[Any] | dict[str, Any]

_ENTRANCE: Final = {
    "name": "text",
    "host": "text",
    "port": "int",
    "title": "text",
    "icon": "text",
    "authLevel": "text",
    "openMethod": "text",
    "invisible": "bool",
    "skip": "bool",
}
_RESOURCES: Final = dict.fromkeys(
    "requiredMemory limitedMemory requiredCpu limitedCpu requiredDisk limitedDisk requiredGpu "
    "limitedGpu requiredGPUMemory limitedGPUMemory".split(),
    "text",
)
_MANIFEST: Final[Kind] = {
    "olaresManifest.version": "text",
    "olaresManifest.type": "text",
    "apiVersion": "text",
    "metadata": {
        **dict.fromkeys("name icon description title version appid type target".split(), "text"),
        "categories": ["text"],
    },
    "entrances": [_ENTRANCE],
    "sharedEntrances": [_ENTRANCE],
    "ports": [{"name": "text", "host": "text", "port": "int", "exposePort": "int"}],
    "spec": {
        **dict.fromkeys(
            "versionName fullDescription upgradeDescription promoteVideo featuredImage "
            "subCategory developer website sourceCode submitter doc namespace".split(),
            "text",
        ),
        **_RESOURCES,
        "promoteImage": ["text"],
        "locale": ["text"],
        "supportArch": ["text"],
        "license": [{"text": "text", "url": "text"}],
        "legal": [{"text": "text", "url": "text"}],
        "accelerator": [{"mode": "text", **_RESOURCES}],
        "onlyAdmin": "bool",
        "runAsUser": "bool",
        "subCharts": [{"name": "text", "shared": "bool"}],
    },
    "permission": {
        "appData": "bool",
        "appCache": "bool",
        "appCommon": "bool",
        "userData": ["text"],
    },
    "options": {
        "dependencies": [dict.fromkeys(("name", "version", "type"), "text")],
        "conflicts": [dict.fromkeys(("name", "type"), "text")],
        "policies": ["any"],
        "apiTimeout": "int",
        "images": ["text"],
    },
    "envs": [
        {
            **dict.fromkeys("envName value default type title description regex".split(), "text"),
            "required": "bool",
            "editable": "bool",
            "applyOnChange": "bool",
            "valueFrom": {"envName": "text"},
        }
    ],
    "middleware": {},
    "workloadReplicas": {"*": "int"},
}
_NAMES: Final = {dict: "a map", list: "a list", bool: "true or false", int: "a whole number"}


def type_faults(manifest: Any) -> list[str]:
    """Return every value of a manifest whose kind a device does not decode."""
    return list(_faults(manifest, _MANIFEST, ""))


def _faults(value: Any, kind: Kind, path: str) -> Iterator[str]:
    if value is None or kind == "any":
        return
    if isinstance(kind, str):
        if not _fits(value, kind):
            yield _wrong(path, value, kind)
    elif isinstance(kind, list):
        if not isinstance(value, list):
            yield _wrong(path, value, "a list")
            return
        for index, item in enumerate(value):
            yield from _faults(item, kind[0], f"{path}[{index}]")
    elif not isinstance(value, Mapping):
        yield _wrong(path, value, "a map")
    else:
        for key, item in value.items():
            below: Kind = kind[key] if key in kind else kind.get("*", "any")
            yield from _faults(item, below, _below(path, key))


def _fits(value: Any, kind: str) -> bool:
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(value, (dict, list))


def _wrong(path: str, value: Any, expected: str) -> str:
    wanted = {"text": "a text", "int": "a whole number", "bool": "true or false"}
    found = _NAMES.get(type(value), "a text")
    where = path or "the manifest"
    return f"{where} is {found}, a device expects {wanted.get(expected, expected)}"


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
