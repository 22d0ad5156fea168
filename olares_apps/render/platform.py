"""What the templates ask of the platform: values, permissions and environment declarations.

All three follow from the ``.Values`` references in the rendered templates, so none can be
forgotten. ``values.yaml`` holds nothing else: an upgrade keeps the values of the first
install, so whatever may change between versions stands in the templates themselves.
Sources: the Olares contract, sections 5.1, 8.1 and 8.2.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from olares_apps.errors import RenderError, nearest
from olares_apps.render.ranges import number_pattern
from olares_apps.render.scalars import Data
from olares_apps.render.traits import Traits
from olares_apps.spec.models import AppSpec
from olares_apps.spec.structure import CONSOLE, Setting, Volume

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
_FOLDERS: Final = ("appData", "appCache", "appCommon", "userData")


# Variables of the user or the system that a download reads, as settings that no spec has to state.
_ENVS: Final[Mapping[str, Setting]] = {
    "HF_TOKEN": Setting(
        source="OLARES_USER_HUGGINGFACE_TOKEN",
        type="password",
        description="Token for gated models of the model hub",
    ),
    "HF_ENDPOINT": Setting(
        source="OLARES_USER_HUGGINGFACE_SERVICE",
        type="string",
        description="Address of a mirror of the model hub",
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


def values(
    spec: AppSpec[Any], found: References, traits: Traits, *, console: bool = False
) -> dict[str, Data]:
    """Return the content of ``values.yaml``: platform keys with empty defaults.

    ``console`` says that the chart has Model Console, with its own entrance and workload.
    Raises RenderError for a reference to something that no platform sets.
    """
    result: dict[str, Any] = {
        key: dict(value) if isinstance(value, dict) else value for key, value in _BASE.items()
    }
    further = [CONSOLE] if console else []
    named = [spec.app, *(entrance.name for entrance in spec.entrances), *further]
    domains = dict.fromkeys(named, "")
    result |= {"domain": domains, "userspace": {}, "olaresEnv": {}, "GPU": {}}
    result["GPU"] = {"Type": "", "Cuda": ""}
    if traits.replicas:
        result["workloads"] = {name: {"replicaCount": 1} for name in (spec.app, *further)}
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


def permission(
    found: References, traits: Traits, volumes: Iterable[Volume] = ()
) -> dict[str, Data]:
    """Return the manifest's permission block: the folders that the templates mount.

    Of the user's home the single folders are named, those of ``volumes``.
    """
    folders = sorted({path[1] for path in found if path[:1] == ("userspace",) and len(path) > 1})
    home = [f"Home/{item.folder}" for item in volumes if item.source == "user-data"]
    known = [folder for folder in _FOLDERS if folder != "appCommon" or traits.common_folder]
    for folder in folders:
        if folder not in known or (folder == "userData" and not home):
            raise RenderError(
                f"a template reads .Values.userspace.{folder}, which charts of this generation "
                "cannot ask for" + (" unnamed" if folder in known else ""),
                hint="name the folder in volumes of the spec"
                if folder in known
                else "known: " + ", ".join(known),
            )
    return {folder: home if folder == "userData" else True for folder in folders}


def environment(
    found: References, spec: AppSpec[Any], traits: Traits, defaults: Mapping[str, str]
) -> list[Data]:
    """Return the manifest's declarations of the variables that the templates read.

    ``defaults`` are the spec's values of settings that change one. They stand in the description
    and in the templates, never as the declaration's own default: that one a device would keep over
    upgrades, and a later version's better value would not reach it.
    """
    names = {path[1] for path in found if path[:1] == ("olaresEnv",) and len(path) > 1}
    known = {**_ENVS, **spec.settings}
    for name in sorted(names - known.keys()):
        raise RenderError(
            f"a template reads .Values.olaresEnv.{name}, which is not declared",
            hint="known: " + ", ".join(known),
        )
    return [
        _declaration(name, setting, traits, defaults.get(name, ""))
        for name, setting in known.items()
        if name in names
    ]


def _declaration(name: str, setting: Setting, traits: Traits, default: str) -> dict[str, Data]:
    built_in = _ENVS.get(name)
    source = setting.source or (built_in.source if built_in else None)
    note = f" (empty: {default})" if default else ""
    declared: dict[str, Data] = {
        "envName": name,
        "type": setting.type or (built_in.type if built_in else None) or _kind(setting, default),
        "required": setting.required,
        "editable": True,
        "applyOnChange": True,
        "description": setting.description + note,
    }
    if source:
        declared["valueFrom"] = {"envName": source}
    if not traits.env_rules:
        return declared
    if setting.choices:
        declared["options"] = [{"title": str(c), "value": str(c)} for c in setting.choices]
    elif setting.min is not None or setting.max is not None:
        # An empty value is one too: the spec's.
        declared["regex"] = f"^$|{number_pattern(setting.min or 0, setting.max)}"
    return declared


def _kind(setting: Setting, default: str) -> str:
    numeric = default.isdecimal() and all(isinstance(item, int) for item in setting.choices)
    return "int" if numeric else "string"
