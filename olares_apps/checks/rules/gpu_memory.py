"""GPU memory: that the declared amount is the needed one, and that the card has it."""

import re
from collections.abc import Iterator
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_maps, as_text, dig, size
from olares_apps.checks.weights import least_weights, on_gpu
from olares_apps.checks.workloads import Workload
from olares_apps.findings import Severity
from olares_apps.lock.measured_memory import matching_figure
from olares_apps.lock.need import known_need

__all__ = ["declared_gpu_memory", "rules"]

rules = RuleBook(Group.RUNTIME)

_MIB: Final = 2**20
_GIB: Final = 2**30
_GB: Final = 10**9
# A device keeps a part of the card for itself; a requirement above this share is refused.
_HEADROOM: Final = 0.97
_GATES: Final = ("CUDA_DEVICE_MEMORY_LIMIT_0", "CUDA_DEVICE_MEMORY_LIMIT")
_GATE_UNITS: Final = {"g": 2**30, "m": 2**20, "k": 2**10, "": 1}


def declared_gpu_memory(context: ChartContext) -> list[tuple[tuple[str | int, ...], int, str]]:
    """Return path, bytes and text of every declared GPU memory requirement."""
    found: list[tuple[tuple[str | int, ...], Any]] = [
        (("spec", "requiredGpu"), dig(context.manifest, "spec", "requiredGpu"))
    ]
    for index, entry in as_maps(dig(context.manifest, "spec", "accelerator")):
        path = ("spec", "accelerator", index, "requiredGPUMemory")
        found.append((path, entry.get("requiredGPUMemory")))
    return [
        (path, amount, as_text(value))
        for path, value in found
        if (amount := size(value)) is not None
    ]


@rules.warning(
    "gpu-memory-headroom",
    "A requirement near the card's size is refused at install.",
    "experience of operators",
)
def _headroom(context: ChartContext) -> Iterator[Found]:
    profile = context.profile
    if profile is None:
        return
    for path, amount, text in declared_gpu_memory(context):
        if profile.usable_bytes * _HEADROOM < amount <= profile.reported_bytes:
            yield context.in_manifest(
                f"required GPU memory {text} is near the card's {_gib(profile.usable_bytes)} GiB "
                "usable "
                f"({profile.gpu_memory_reported_mib} MiB reported)",
                *path,
                hint="leave half a GiB, or use a smaller context or quantisation",
            )


@rules.error(
    "gpu-memory-exceeds-card",
    "An app that needs more than the card has is never scheduled.",
    "Project-HAMi/HAMi#1535; public charts",
)
def _exceeds(context: ChartContext) -> Iterator[Found]:
    profile = context.profile
    if profile is None:
        return
    for path, amount, text in declared_gpu_memory(context):
        if amount > profile.reported_bytes:
            yield context.in_manifest(
                f"required GPU memory {text} > card {profile.gpu_memory_reported_mib} MiB "
                f"({_gib(profile.usable_bytes)} GiB usable) of {profile.name}: unschedulable",
                *path,
                hint="use a smaller context or quantisation",
            )
    for workload, name, amount in _gpumem(context):
        if amount * _MIB > profile.reported_bytes:
            yield context.in_object(
                workload.item,
                f"container {name}: gpumem {amount} > card {profile.gpu_memory_reported_mib}: "
                "unschedulable",
                "nvidia.com/gpumem",
                hint="the value is MiB; write less than the card has",
            )


def _gpumem(context: ChartContext) -> Iterator[tuple[Workload, str, int]]:
    """Yield every hand-written GPU memory limit in MiB."""
    for workload in context.workloads:
        for container in workload.containers:
            text = as_text(container.resource("limits", "nvidia.com/gpumem"))
            if text.isdecimal() and len(text) < 12:
                yield workload, container.name, int(text)


_WHOLE_NEED: Final = "write what the server takes: weights, KV cache, buffers"
_ESTIMATED: Final = "estimated from the model's header"


@rules.warning(
    "gpu-memory-limit",
    "A memory gate above the card never closes, one below the need stops the server.",
    "public charts: 30000m on a card of 24463 MiB; Project-HAMi/HAMi-core",
)
def _gate(context: ChartContext) -> Iterator[Found]:
    """Without a profile the card is what the manifest limits the app to."""
    profile, declared = context.profile, declared_gpu_memory(context)
    limits = [
        size(dig(context.manifest, *path[:-1], path[-1].replace("required", "limited")))
        for path, _, _ in declared
        if isinstance(path[-1], str)
    ]
    known = [limit for limit in limits if limit is not None]
    most = profile.reported_bytes if profile else max(known, default=None)
    least = max((amount for _, amount, _ in declared), default=0)
    for server in context.servers:
        name = next((name for name in _GATES if name in server.variables), "")
        gate = _gate_bytes(server.variables.get(name, ""))
        if gate is None:
            continue
        if most is not None and gate > most:
            above = f"the card's {most // _MIB} MiB" if profile else f"the limit {_gib(most)}GiB"
            said, hint = f"is above {above}: the gate never closes", "leave it out, or lower it"
        elif 0 < gate < least:
            said = f"is below the required GPU memory {_gib(least)}GiB: allocations fail"
            hint = f"write {-(-least // _MIB)}m or more, or leave it out"
        else:
            continue
        yield context.in_object(
            server.workload.item,
            f"container {server.container.name}: {name} {server.variables[name]} {said}",
            name,
            hint=hint,
        )


def _gate_bytes(text: str) -> int | None:
    """Return the bytes of a limit as HAMi reads it: a number with g, m, k or no unit."""
    found = re.fullmatch(r"(\d{1,15})([gmk]?)", text.strip().lower())
    return int(found[1]) * _GATE_UNITS[found[2]] if found else None


@rules.error(
    "gpu-need-understated",
    "An app that declares less than it needs is started beside another one and dies.",
    "public charts: requiredGpu 1Gi for models of 10 to 23 GB",
)
def _understated(context: ChartContext) -> Iterator[Found]:
    """A warning within half a GiB, and without a spec: there the need is that of the weights."""
    need = _need(context)
    if need is None:
        yield from _below_weights(context)
        return
    amount, parts = need
    # A need above the card is told by model-fits; no manifest can ask for more than there is.
    most = context.profile.usable_bytes if context.profile else amount
    for path, declared, text in declared_gpu_memory(context):
        missing = min(amount, most) - declared
        if missing > 0:
            whole, in_mib = -(-amount // _GIB), min(-(-amount // _MIB), most // _MIB)
            # The manifests of the generations have other names for what the spec calls so.
            name = "resources.gpu_memory" if context.spec else path[-1]
            yield context.in_manifest(
                f"{name} {text} is below the need {_gib(amount)}GiB ({parts})",
                *path,
                hint=f"write {f'{whole}Gi' if whole * _GIB <= most else f'{in_mib}Mi'}",
                severity=None if missing > _GIB // 2 else Severity.WARNING,
            )
    for workload, name, mib in _gpumem(context):
        if mib * _MIB + _GIB // 2 < amount:
            yield context.in_object(
                workload.item,
                f"container {name}: gpumem {mib}MiB < need {amount // _MIB}MiB ({parts})",
                "nvidia.com/gpumem",
                hint=f"write {-(-amount // _MIB)}, or remove it",
            )


def _below_weights(context: ChartContext) -> Iterator[Found]:
    if context.spec is not None:
        return
    names = [name for s in context.servers if on_gpu(s) for name in s.model_names]
    weights = least_weights(names)
    for path, declared, text in declared_gpu_memory(context) if weights else ():
        if weights and declared + _GIB // 2 < weights.least:
            yield context.in_manifest(
                f"{path[-1]} {text} is below the weights of {weights.name}, "
                f"{_gib(weights.least)}GiB at least",
                *path,
                hint=_WHOLE_NEED,
                severity=Severity.WARNING,
            )
    for workload, name, mib in _gpumem(context) if weights else ():
        if weights and mib * _MIB + _GIB // 2 < weights.least:
            yield context.in_object(
                workload.item,
                f"container {name}: gpumem {mib}MiB is below the weights of {weights.name}, "
                f"{weights.least // _MIB}MiB at least",
                "nvidia.com/gpumem",
                hint=_WHOLE_NEED,
                severity=Severity.WARNING,
            )


def _need(context: ChartContext) -> tuple[int, str] | None:
    """Return the GPU memory that the spec accounts for in bytes, and its parts as text."""
    if context.spec is None:
        return None
    spec = context.spec.spec
    if context.profile is not None:
        known = known_need(spec, context.lock, context.profile)
        if known is not None:
            measured = matching_figure(spec, context.profile)
            is_measured = measured is not None and measured.gpu_bytes == known
            told = measured.provenance if measured and is_measured else _ESTIMATED
            return known, told
    stated = spec.resources.gpu_memory_parts
    if stated:
        gigabytes = sum(part.gb for part in stated)
        listed = " + ".join(f"{part.part} {part.gb:g} GB" for part in stated)
        return round(gigabytes * _GB), listed
    roles = ("target", "drafter")
    sizes = [
        (file.role, file.size or round((file.size_gb or 0) * _GB))
        for file in spec.model.files
        if file.role in roles
    ]
    if spec.resources.gpu_memory:  # a computed one follows from the server's share of the card
        sizes += [
            (repo.role, round((repo.size_gb or 0) * _GB))
            for repo in spec.model.repos
            if repo.role in roles
        ]
    total: int = sum(amount for _, amount in sizes)
    if not total or not context.servers:
        return None
    return total, " + ".join(f"{role} {amount / _GB:.1f} GB" for role, amount in sizes)


def _gib(amount: int) -> str:
    return f"{amount / _GIB:.2f}".rstrip("0").rstrip(".")
