"""The GPU: that the platform injects it, and that the declared memory is the needed one."""

import re
from collections.abc import Iterator
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.images import ImageFacts, cuda_of
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_map, as_maps, as_text, dig, size
from olares_apps.checks.weights import least_weights, on_gpu
from olares_apps.checks.workloads import Workload
from olares_apps.engines.known_images import known_server
from olares_apps.findings import Severity
from olares_apps.lock.measured_memory import matching_figure
from olares_apps.lock.need import known_need

__all__ = ["declared_gpu_memory", "rules"]

rules = RuleBook(Group.RUNTIME)

_ANNOTATION: Final = "applications.app.bytetrade.io/gpu-inject"
_MIB: Final = 2**20
_GIB: Final = 2**30
_GB: Final = 10**9
# A device keeps a part of the card for itself; a requirement above this share is refused.
_HEADROOM: Final = 0.97


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


def _gpu_workloads(context: ChartContext) -> list[Workload]:
    """Return the workloads that need a GPU: with a server on it, or with the annotation."""
    running = {server.workload.name for server in context.servers}
    return [
        item
        for item in context.workloads
        if item.is_scaled and (item.name in running or _ANNOTATION in item.annotations)
    ]


@rules.error(
    "gpu-annotation",
    "Without the annotation on the workload itself no GPU reaches the container.",
    "app-service handler_webhook.go",
)
def _annotation(context: ChartContext) -> Iterator[Found]:
    if not declared_gpu_memory(context) or not context.is_whole:
        return
    items = [item for item in context.workloads if item.is_scaled]
    if any(_ANNOTATION in item.annotations for item in items) or _by_hand(items):
        return
    wanted = _gpu_workloads(context) or items[:1]
    for workload in wanted:
        annotations = dig(workload.template, "metadata", "annotations")
        misplaced = isinstance(annotations, dict) and _ANNOTATION in annotations
        names = ",".join(container.name for container in workload.containers)
        yield context.in_object(
            workload.item,
            f"{workload.kind} {workload.name} declares GPU memory and has no {_ANNOTATION}"
            + (" on the workload: it stands on the pod" if misplaced else ""),
            "kind:",
            workload.kind,
            hint=f'write {_ANNOTATION}: "{names if context.targets_new else "true"}" below '
            "metadata.annotations of the workload",
        )


def _by_hand(items: list[Workload]) -> bool:
    """Say whether a container asks for the GPU itself, which works without the annotation."""
    return any(
        isinstance(name, str) and name.startswith("nvidia.com/")
        for item in items
        for container in item.containers
        for name in as_map(dig(container.data, "resources", "limits"))
    )


@rules.error(
    "gpu-container-scope",
    "Older devices give every container of the pod a GPU slice; newer ones take names.",
    "app-service handler_webhook.go",
)
def _scope(context: ChartContext) -> Iterator[Found]:
    for workload in _gpu_workloads(context):
        value = as_text(workload.annotations.get(_ANNOTATION))
        names = [container.name for container in workload.containers]
        if not value:
            continue
        if context.targets_old and value == "true" and len(names) > 1:
            yield context.in_object(
                workload.item,
                f"the GPU pod {workload.name} has {len(names)} containers ({', '.join(names)}): "
                "each "
                "takes a slice of the GPU",
                _ANNOTATION,
                hint="move the others into a workload of their own",
            )
        if context.targets_new and not context.targets_old and value == "true":
            yield context.in_object(
                workload.item,
                f'gpu-inject is "true" for all containers of {workload.name}',
                _ANNOTATION,
                hint=f'name the container: "{",".join(names[:1])}"',
                severity=Severity.WARNING,
            )
        unknown = [item for item in value.split(",") if item.strip() not in (*names, "true")]
        if unknown and context.targets_new:
            yield context.in_object(
                workload.item,
                f"gpu-inject names {', '.join(unknown)}, the containers are {', '.join(names)}",
                _ANNOTATION,
                hint="write the name of the server's container",
            )


@rules.warning(
    "gpu-manual-limits",
    "The platform sets nvidia.com resources itself; hand-written ones are dropped or doubled.",
    "app-service handler_webhook.go",
)
def _manual(context: ChartContext) -> Iterator[Found]:
    for workload in context.workloads:
        for container in workload.containers:
            names = {
                name
                for side in ("requests", "limits")
                for name in dig(container.data, "resources", side) or ()
                if isinstance(name, str) and name.startswith("nvidia.com/")
            }
            for name in sorted(names):
                yield context.in_object(
                    workload.item,
                    f"container {container.name} sets {name} by hand",
                    name,
                    hint="remove it: the annotation and the declared memory do it",
                )


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


_ESTIMATED: Final = "estimated from the model's header"


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
                hint="write what the server takes: weights, KV cache, buffers",
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


@rules.error(
    "cuda-ceiling",
    "An image for a newer CUDA than the driver's cannot start, or runs on the CPU.",
    "public charts; gpustack/gpustack#4678",
)
def _cuda(context: ChartContext) -> Iterator[Found]:
    ceiling = context.profile.cuda_ceiling if context.profile else None
    if ceiling is None:
        return
    for server in context.servers:
        if server.image is None:
            continue
        facts = context.images.get(server.container.image)
        wanted = cuda_of(server.image, facts) or _required(server.variables)
        if wanted and _pair(wanted) > _pair(ceiling):
            yield context.in_object(
                server.workload.item,
                f"image CUDA {wanted} > driver capability {ceiling} of device profile "
                f"'{context.profile.name if context.profile else ''}' ({server.container.image})",
                server.container.image,
                hint=f"use an image built for CUDA {ceiling} or older",
                field=context.field_of_image(server.container),
            )


def _required(variables: Any) -> str | None:
    found = re.search(r"cuda>=(\d{1,2}\.\d{1,2})", variables.get("NVIDIA_REQUIRE_CUDA", ""))
    return found[1] if found else None


def _pair(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor or 0)


@rules.error(
    "compute-capability",
    "An image without kernels for the card ends with: no kernel image is available.",
    "vllm-project/vllm#16901; ikawrakow/ik_llama.cpp#514",
)
def _capability(context: ChartContext) -> Iterator[Found]:
    if context.profile is None:
        return
    sm = context.profile.sm
    for workload in context.workloads:
        for container in workload.containers:
            facts = context.images.get(container.image)
            if facts is None or not (facts.archs or facts.ptx_archs) or sm in facts.archs:
                continue
            listed = ", ".join((*facts.archs, *(f"{arch} (PTX)" for arch in facts.ptx_archs)))
            by_ptx = any(_capability_of(arch) <= _capability_of(sm) for arch in facts.ptx_archs)
            yield context.in_object(
                workload.item,
                f"image archs [{listed}] do not include {sm} (profile {context.profile.name})"
                + (": PTX is compiled on the first start, which is slow" if by_ptx else ""),
                container.image,
                hint=f"use an image compiled for {sm}",
                field=context.field_of_image(container),
                severity=Severity.WARNING if by_ptx else None,
            )


def _capability_of(arch: str) -> int:
    digits = re.sub(r"\D", "", arch)
    return int(digits) if digits else 0


@rules.error(
    "image-tools",
    "A script that calls a program which the image lacks fails on every fresh device.",
    "public charts: no curl in the image, server binary moved",
)
def _tools(context: ChartContext) -> Iterator[Found]:
    for server in context.servers:
        facts = context.images.get(server.container.image, ImageFacts())
        for tool in ("curl", "wget", "python3", "git"):
            called = re.search(rf"(?:^|[\s;&|(]){tool}\s", server.script)
            if facts.tools is not None and called and tool not in facts.tools:
                yield context.in_object(
                    server.workload.item,
                    f"image {server.container.image} has no {tool}",
                    f"{tool} ",
                    hint="download in an init container with an image that has it",
                    field=context.field_of_image(server.container),
                )
        binary = server.command.binary if server.command else ""
        place = facts.server or known_server(server.container.image)
        # A bare name is looked for on the PATH, which a script may have changed.
        is_told = binary.startswith("/") or ("/" not in binary and not server.script)
        if place and is_told and binary not in ("", place):
            yield context.in_object(
                server.workload.item,
                f"server path {binary}, image provides {place}",
                binary,
                hint=f"start {place}",
                field=context.field_of_binary(server.container),
            )


def _gib(amount: int) -> str:
    return f"{amount / _GIB:.2f}".rstrip("0").rstrip(".")
