"""The GPU: that the platform injects it, and that the image can use it."""

import re
from collections.abc import Iterator
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.images import ImageFacts, cuda_of
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.rules.gpu_memory import declared_gpu_memory
from olares_apps.checks.shape import as_map, as_text, dig
from olares_apps.checks.workloads import Workload
from olares_apps.engines.known_images import known_server
from olares_apps.findings import Severity

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME)

_ANNOTATION: Final = "applications.app.bytetrade.io/gpu-inject"


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
