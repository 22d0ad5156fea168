"""Keys and variables that a manifest declares: known ones, at their place, with known types."""

import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_maps, as_text, shown
from olares_apps.errors import nearest

__all__ = ["rules"]

rules = RuleBook(Group.DATA)

_TOP_KEYS: Final = frozenset(
    "olaresManifest.version olaresManifest.type apiVersion metadata entrances sharedEntrances "
    "ports "
    "tailscale tailScale spec permission middleware options provider envs overlayGateway "
    "workloadReplicas workloadOptions terminusManifest.version terminusManifest.type".split()
)
_SPEC_KEYS: Final = frozenset(
    "versionName fullDescription upgradeDescription promoteImage promoteVideo featuredImage "
    "subCategory developer website sourceCode submitter locale doc license legal supportClient "
    "requiredMemory limitedMemory requiredCpu limitedCpu requiredDisk limitedDisk requiredGpu "
    "limitedGpu supportArch hardware supportedGpu accelerator onlyAdmin runAsUser runAsInternal "
    "podGpuConsumePolicy namespace subCharts modelSize target language releaseNotes".split()
)


@rules.warning(
    "manifest-unknown-key",
    "A key at the wrong place is ignored without a word.",
    "a public chart with envs below spec",
)
def _unknown_keys(context: ChartContext) -> Iterator[Found]:
    for known, path in ((_TOP_KEYS, ()), (_SPEC_KEYS, ("spec",))):
        block = context.map_at(*path) if path else context.manifest
        for key in block:
            if key in known:
                continue
            other = _SPEC_KEYS if not path else _TOP_KEYS
            close = nearest(key, known)
            if key in other:
                hint = f"move it {'below spec' if not path else 'to the top level'}"
            else:
                hint = f"did you mean {close}?" if close else "remove it"
            yield context.in_manifest(
                f"{'.'.join((*path, key))} is no known key of the manifest: devices ignore it",
                *path,
                key,
                hint=hint,
            )


_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*")
_ENV_TYPES: Final = (
    "",
    *"int bool url ip domain email string password quantity".split(),
)


@rules.warning(
    "env-fields",
    "An env without a name or with an unknown type cannot be filled in by the user.",
    "manifest types of beclab/api",
)
def _env_fields(context: ChartContext) -> Iterator[Found]:
    for index, item in as_maps(context.manifest.get("envs")):
        name, kind = as_text(item.get("envName")), as_text(item.get("type"))
        if not _VARIABLE.fullmatch(name):
            yield context.in_manifest(
                f"envs[{index}].envName {shown(name)} is no variable name", "envs", index
            )
        if kind not in _ENV_TYPES:
            close = nearest(kind, _ENV_TYPES)
            yield context.in_manifest(
                f"envs[{index}].type {shown(kind)} is unknown",
                "envs",
                index,
                "type",
                hint=f"did you mean {close}?" if close else f"one of {', '.join(_ENV_TYPES[1:])}",
            )


@rules.error(
    "env-reserved-prefix",
    "Names that begin with OLARES_USER belong to the user's own variables.",
    "OAC envs.go",
    applies=Applies.V3,
    blocks=True,
)
def _env_prefix(context: ChartContext) -> Iterator[Found]:
    for index, item in as_maps(context.manifest.get("envs")):
        name = as_text(item.get("envName"))
        if name.startswith("OLARES_USER"):
            yield context.in_manifest(
                f"envs[{index}].envName {name} begins with OLARES_USER",
                "envs",
                index,
                "envName",
                hint=f"give it another name and write valueFrom: {{envName: {name}}}",
            )
