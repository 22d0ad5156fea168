"""Resources: what the manifest declares, what the containers ask for, and that both agree."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.platform import ACCELERATORS
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_list, as_maps, as_text, cpu, dig, shown, size
from olares_apps.findings import Severity

__all__ = ["rules"]

rules = RuleBook(Group.DATA)

Path = tuple[str | int, ...]

_QUANTITY: Final = re.compile(
    r"(?:\d+(?:\.\d+)?(?:[eE][-+]?(?:\d+|i))?(?:[kKMGTP]?i?|[mMGTPE])?|[kKMGTP]i|[mMGTPE])",
    re.ASCII,
)
_SIDES: Final = ("required", "limited")
_FLAT_REQUIRED: Final = (
    "requiredCpu",
    "limitedCpu",
    "requiredMemory",
    "limitedMemory",
    "requiredDisk",
)
_FLAT: Final = (*_FLAT_REQUIRED, "limitedDisk")
_FLAT_GPU: Final = ("requiredGpu", "limitedGpu")
_GPU: Final = ("requiredGPUMemory", "limitedGPUMemory")
_ARCHS: Final = ("amd64", "arm64")
_OTHER_ARCHS: Final = {"x86_64": "amd64", "x64": "amd64", "aarch64": "arm64", "armv8": "arm64"}
_AUTO: Final = "-1"


def _blocks(context: ChartContext) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield every place that declares resources: the spec itself, then its accelerators."""
    spec = context.map_at("spec")
    yield ("spec",), spec
    for index, entry in as_maps(spec.get("accelerator")):
        yield ("spec", "accelerator", index), entry


def _where(path: Path) -> str:
    return f"spec.accelerator[{path[2]}]" if len(path) > 2 else "spec"


@rules.error(
    "resource-quantity",
    "Sizes take the notation of Kubernetes: 12Gi, 500m, 0.5.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _quantities(context: ChartContext) -> Iterator[Found]:
    for path, block in _blocks(context):
        for key in (*_FLAT, *_FLAT_GPU, *_GPU):
            value = block.get(key)
            text = as_text(value)
            if value is None or isinstance(value, (dict, list)) or text == _AUTO:
                continue
            if not _QUANTITY.fullmatch(text):
                yield context.in_manifest(
                    f"{_where(path)}.{key} {shown(value)} is no quantity",
                    *path,
                    key,
                    hint=_quantity_hint(text),
                )


def _quantity_hint(text: str) -> str:
    bare = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMGTP]i?)[bB]?\s*", text)
    return f"write {bare[1]}{bare[2]}" if bare else "write for example 12Gi, 500m or 0.5"


@rules.error(
    "resource-flat-required",
    "Before 0.12.0 CPU, memory and requiredDisk are required.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _flat_required(context: ChartContext) -> Iterator[Found]:
    document = context.manifests[False]
    if context.is_literal or not document.exists or document.problem:
        return
    spec = context.map_at("spec")
    for key in _FLAT_REQUIRED:
        if as_text(spec.get(key)) == "":
            yield context.in_manifest(
                f"spec.{key} is missing",
                "spec",
                hint="a manifest before 0.12.0 needs CPU, memory and requiredDisk",
            )


@rules.error(
    "resource-shape-exclusive",
    "Accelerator entries and flat resources exclude each other.",
    "OAC resources.go",
    blocks=True,
)
def _exclusive(context: ChartContext) -> Iterator[Found]:
    spec = context.map_at("spec")
    if not as_list(spec.get("accelerator")):
        return
    for key in (*_FLAT, *_FLAT_GPU):
        if as_text(spec.get(key)):
            yield context.in_manifest(
                f"spec.{key} must be empty when spec.accelerator[] is set",
                "spec",
                key,
                hint="remove it, the accelerator entries say it",
            )


@rules.error(
    "resource-shape-missing",
    "A manifest must declare resources in one of the two forms.",
    "OAC validate.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _shape_missing(context: ChartContext) -> Iterator[Found]:
    spec = context.map_at("spec")
    if context.manifests[False].problem or context.api_version == "v2":
        return
    if not as_list(spec.get("accelerator")) and not any(as_text(spec.get(key)) for key in _FLAT):
        yield context.in_manifest(
            "spec declares neither accelerator[] nor CPU, memory or disk",
            "spec",
            hint="add an accelerator entry for each device kind",
        )


@rules.error(
    "resource-limit-order",
    "A limit below the requirement can never be met.",
    "OAC resources.go; oachecker resource.go",
    blocks=True,
)
def _limit_order(context: ChartContext) -> Iterator[Found]:
    for path, block in _blocks(context):
        for suffix in ("Cpu", "Memory", "Disk", "Gpu", "GPUMemory"):
            required, limited = (block.get(f"{side}{suffix}") for side in _SIDES)
            read = cpu if suffix == "Cpu" else size
            low, high = read(required), read(limited)
            if low is not None and high is not None and high < low:
                yield context.in_manifest(
                    f"{_where(path)}.limited{suffix} {limited} is below required{suffix} "
                    f"{required}",
                    *path,
                    f"limited{suffix}",
                    hint=f"raise it to {required} or more",
                )


@rules.error(
    "resource-auto-value",
    "-1 (auto) is for template apps only, and never for disk.",
    "OAC resources.go and validate.go",
    applies=Applies.NEW,
    blocks=True,
)
def _auto(context: ChartContext) -> Iterator[Found]:
    template_only = dig(context.manifest, "options", "templateOnly") is True
    for path, block in _blocks(context):
        for key in (*_FLAT, *_FLAT_GPU, *_GPU):
            if as_text(block.get(key)) == _AUTO and (not template_only or "Disk" in key):
                why = "never for disk" if "Disk" in key else "only with options.templateOnly"
                yield context.in_manifest(
                    f"{_where(path)}.{key} is -1 (auto), allowed {why}",
                    *path,
                    key,
                    hint="write a size",
                )


def _modes(context: ChartContext) -> Iterator[tuple[Path, str, Mapping[str, Any]]]:
    for path, block in _blocks(context):
        if len(path) > 2:
            yield path, as_text(block.get("mode")), block


@rules.error(
    "accelerator-mode",
    "Each release knows its own list of modes.",
    "OAC resources.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _mode(context: ChartContext) -> Iterator[Found]:
    seen = set()
    for path, mode, _ in _modes(context):
        known = ACCELERATORS.get(mode)
        if known is None:
            listed = ", ".join(name for name, item in ACCELERATORS.items() if item.in_newest)
            yield context.in_manifest(
                f"{_where(path)}.mode {shown(mode)} is unknown",
                *path,
                "mode",
                hint=f"one of {listed}",
            )
        elif not (known.in_older and known.in_newest):
            which = "older" if known.in_newest else "newest"
            yield context.in_manifest(
                f"{_where(path)}.mode {mode} is not known to the {which} releases",
                *path,
                "mode",
                hint="cpu, nvidia, nvidia-gb10, apple-m and amd-gpu are known to all",
                severity=Severity.WARNING,
            )
        elif mode in seen:
            yield context.in_manifest(
                f"{_where(path)}.mode {mode} is declared twice",
                *path,
                "mode",
                hint="keep one entry",
            )
        seen.add(mode)


@rules.error(
    "accelerator-complete",
    "An accelerator entry states CPU, memory and disk, both ends.",
    "OAC resources.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _complete(context: ChartContext) -> Iterator[Found]:
    for path, _, block in _modes(context):
        for key in _FLAT:
            if as_text(block.get(key)) == "":
                yield context.in_manifest(
                    f"{_where(path)}.{key} is missing",
                    *path,
                    hint=f"add {key}: it is required here",
                )


@rules.error(
    "accelerator-gpu-memory",
    "GPU memory is stated for cards with own memory, and only for them.",
    "OAC resources.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _gpu_memory(context: ChartContext) -> Iterator[Found]:
    for path, mode, block in _modes(context):
        known = ACCELERATORS.get(mode)
        if known is None:
            continue
        for key in _GPU:
            given = as_text(block.get(key)) != ""
            if known.gpu_memory and not given:
                yield context.in_manifest(
                    f"{_where(path)}.{key} is missing, mode {mode} needs it",
                    *path,
                    hint=f"add {key}",
                )
            elif given and not known.gpu_memory:
                yield context.in_manifest(
                    f"{_where(path)}.{key} is forbidden for mode {mode}",
                    *path,
                    key,
                    hint="remove it",
                )


@rules.error(
    "accelerator-arch",
    "A mode needs its architecture in supportArch.",
    "OAC resources.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _mode_arch(context: ChartContext) -> Iterator[Found]:
    """An empty supportArch, and an architecture under another name, are told by support-arch."""
    archs = [as_text(item) for item in context.list_at("spec", "supportArch")]
    meant = {_meant(arch) for arch in archs}
    for path, mode, _ in _modes(context):
        known = ACCELERATORS.get(mode)
        if archs and known and known.arch and known.arch not in meant:
            yield context.in_manifest(
                f"accelerator mode {mode} requires {known.arch} in supportArch (found "
                f"{', '.join(archs)})",
                *path,
                "mode",
                hint=f"add {known.arch} to spec.supportArch",
            )


def _meant(arch: str) -> str:
    """Return the architecture that is meant by a name for one."""
    name = arch.lower()
    return _OTHER_ARCHS.get(name, name if name in _ARCHS else "amd64")


@rules.error(
    "accelerator-on-v2",
    "apiVersion v2 has no accelerator modes.",
    "OAC validate.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _accelerator_v2(context: ChartContext) -> Iterator[Found]:
    if context.api_version == "v2" and context.list_at("spec", "accelerator"):
        yield context.in_manifest(
            "spec.accelerator is not allowed with apiVersion v2",
            "spec",
            "accelerator",
            hint="use apiVersion v3",
        )


@rules.error(
    "supported-gpu-empty",
    "supportedGpu was replaced by accelerator modes.",
    "OAC validate.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _supported_gpu(context: ChartContext) -> Iterator[Found]:
    if dig(context.manifest, "spec", "supportedGpu"):
        yield context.in_manifest(
            "spec.supportedGpu must be empty from manifest 0.12.0 on",
            "spec",
            "supportedGpu",
            hint="declare accelerator modes instead",
        )


@rules.error(
    "support-arch",
    "supportArch lists amd64, arm64 or both.",
    "OAC validate.go; oachecker app.go",
    blocks=True,
)
def _support_arch(context: ChartContext) -> Iterator[Found]:
    document = context.manifests[False]
    if not document.exists or document.problem:
        return
    archs = context.list_at("spec", "supportArch")
    if not archs:
        yield context.in_manifest("spec.supportArch is empty", "spec", hint="write [amd64]")
    for index, item in enumerate(archs):
        arch = as_text(item)
        if arch not in _ARCHS:
            yield context.in_manifest(
                f"supportArch {shown(item)} is invalid, use {_meant(arch)}",
                "spec",
                "supportArch",
                index,
                hint="only amd64 and arm64 exist, in lower case",
            )
        elif item in archs[:index]:
            yield context.in_manifest(
                f"supportArch {shown(item)} is listed twice", "spec", "supportArch", index
            )
