"""What the templates ask of the platform: values, permissions and environment declarations.

All three follow from the ``.Values`` references in the rendered templates, so none can be
forgotten. ``values.yaml`` holds nothing else: an upgrade keeps the values of the first
install, so whatever may change between versions stands in the templates themselves.
Sources: the Olares contract, sections 5.1, 8.1 and 8.2.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.errors import RenderError, nearest
from olares_apps.render.scalars import Data
from olares_apps.render.traits import Traits

__all__ = ["References", "environment", "permission", "references", "values"]

_ACTION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
# `.Values.a.b` and its nil-safe form `(.Values.a).b`.
_PATH: Final = re.compile(r"\.Values((?:\)*\.[A-Za-z_]\w*)*)")

# Always there, so that every reading pass finds the parents that charts usually read.
_BASE: Final[Mapping[str, Any]] = {"admin": "", "bfl": {"username": ""}, "user": {"zone": ""}}
# Top-level keys that the platform sets at install, beside those handled by name below.
_KNOWN: Final = frozenset(
    "admin isAdmin bfl user domain userspace olaresEnv GPU gpu cluster nodes schedule sysVersion "
    "rootPath fs_type deviceName downloadCdnURL sharedlib oidc os dep svcs workloads".split()
)
_PERMISSIONS: Final = {"appData": "appData", "appCache": "appCache", "appCommon": "appCommon"}


@dataclass(frozen=True, slots=True)
class Env:
    """A user's or system's variable that reaches the chart as ``.Values.olaresEnv.<name>``."""

    source: str
    kind: str
    description: str


_ENVS: Final[Mapping[str, Env]] = {
    "HF_TOKEN": Env(
        "OLARES_USER_HUGGINGFACE_TOKEN", "password", "Token for gated models of the model hub"
    ),
    "HF_ENDPOINT": Env(
        "OLARES_USER_HUGGINGFACE_SERVICE", "string", "Address of a mirror of the model hub"
    ),
}

References = frozenset[tuple[str, ...]]
"""Paths below ``.Values``, for example ``("userspace", "appData")``."""


def references(templates: Iterable[str]) -> References:
    """Return every path below ``.Values`` that rendered templates read."""
    return frozenset(
        tuple(found[1].replace(")", "").split("."))[1:]
        for text in templates
        for action in _ACTION.findall(text)
        for found in _PATH.finditer(action)
    )


def values(app: str, found: References, traits: Traits) -> dict[str, Data]:
    """Return the content of ``values.yaml``: platform keys with empty defaults.

    Raises RenderError for a reference to something that no platform sets.
    """
    result: dict[str, Any] = {
        key: dict(value) if isinstance(value, dict) else value for key, value in _BASE.items()
    }
    result |= {"domain": {app: ""}, "userspace": {}, "olaresEnv": {}, "GPU": {}}
    result["GPU"] = {"Type": "", "Cuda": ""}
    if traits.replicas:
        result["workloads"] = {app: {"replicaCount": 1}}
    for path in sorted(found):
        if not path or path[0] not in _KNOWN:
            raise _unknown(".".join(path))
        node = result
        for key in path[:-1]:
            child = node.setdefault(key, {})
            node = child if isinstance(child, dict) else {}
        node.setdefault(path[-1], "")
    return result


def _unknown(path: str) -> RenderError:
    close = nearest(path.partition(".")[0], _KNOWN)
    return RenderError(
        f"a template reads .Values.{path}, which no device sets",
        hint=f"did you mean .Values.{close}?"
        if close
        else "write the value into the template: an upgrade keeps old values",
    )


def permission(found: References, traits: Traits) -> dict[str, Data]:
    """Return the manifest's permission block: the folders that the templates mount."""
    folders = sorted(path[1] for path in found if path[:1] == ("userspace",) and len(path) > 1)
    for folder in folders:
        if folder not in _PERMISSIONS or (folder == "appCommon" and not traits.common_folder):
            raise RenderError(
                f"a template reads .Values.userspace.{folder}, which charts of this generation "
                "cannot ask for",
                hint="known: " + ", ".join(_PERMISSIONS),
            )
    return {_PERMISSIONS[folder]: True for folder in folders}


def environment(found: References) -> list[Data]:
    """Return the manifest's declarations of the variables that the templates read."""
    names = {path[1] for path in found if path[:1] == ("olaresEnv",) and len(path) > 1}
    for name in sorted(names - _ENVS.keys()):
        raise RenderError(
            f"a template reads .Values.olaresEnv.{name}, which is not declared",
            hint="known: " + ", ".join(_ENVS),
        )
    return [
        {
            "envName": name,
            "type": env.kind,
            "required": False,
            "editable": True,
            "applyOnChange": True,
            "description": env.description,
            "valueFrom": {"envName": env.source},
        }
        for name, env in _ENVS.items()
        if name in names
    ]
