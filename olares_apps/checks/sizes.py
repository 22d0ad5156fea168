"""The sizes in bytes that a spec, its chart and its device account for."""

from typing import TYPE_CHECKING, Final

from olares_apps.checks.shape import as_maps, dig, size

if TYPE_CHECKING:
    from olares_apps.checks.context import ChartContext

__all__ = ["gpu_need", "known_sizes"]

_GIB: Final = 2**30
_GB: Final = 10**9
_OF_GPU: Final = ("requiredGpu", "limitedGpu", "requiredGPUMemory", "limitedGPUMemory")
_OF_HOST: Final = ("requiredMemory", "limitedMemory", "requiredDisk", "limitedDisk")


def gpu_need(context: "ChartContext") -> float:
    """Return the GPU memory in bytes that a spec asks for, 0 when it does not say."""
    if context.spec is None:
        return 0.0
    resources = context.spec.spec.resources
    parts = sum(part.gb for part in resources.gpu_memory_parts) * _GB
    return parts or float(size(resources.gpu_memory) or 0)


def known_sizes(context: "ChartContext", *, of_gpu: bool = False, of_part: str = "") -> list[float]:
    """Return every size in bytes that a text may state.

    ``of_gpu`` leaves out host and disk; ``of_part`` keeps what the memory's parts of that name
    take, and of ``weights`` the model's files.

    Empty without a spec: foreign charts do not say what their sizes are made of.
    """
    if context.spec is None:
        return []
    spec = context.spec.spec
    model = [float(item.size or (item.size_gb or 0) * _GB) for item in spec.model.files]
    model += [(item.size_gb or 0) * _GB for item in spec.model.repos]
    parts = [part.gb * _GB for part in spec.resources.gpu_memory_parts]
    if of_part:
        named = [
            part.gb * _GB
            for part in spec.resources.gpu_memory_parts
            if of_part in part.part.lower()
        ]
        return [*named, *([*model, sum(model)] if of_part == "weights" and any(model) else [])]
    known = [sum(parts), *model, *parts, sum(model)]
    resources = spec.resources
    texts = [resources.gpu_memory]
    if not of_gpu:
        texts += [resources.memory, resources.memory_limit, resources.disk]
    blocks = [
        context.map_at("spec"),
        *(e for _, e in as_maps(dig(context.manifest, "spec", "accelerator"))),
    ]
    keys = _OF_GPU if of_gpu else (*_OF_GPU, *_OF_HOST)
    texts += [block[key] for block in blocks for key in keys if key in block]
    known += [float(amount) for text in texts if (amount := size(text)) is not None]
    # Kubernetes counts in GiB, pages often call the same number GB.
    known += [amount / _GIB * _GB for amount in known if amount % _GIB == 0]
    known += _of_device(context, of_gpu=of_gpu)
    return [amount for amount in known if amount]


def _of_device(context: "ChartContext", *, of_gpu: bool) -> list[float]:
    profile = context.profile
    if profile is None:
        return []
    reported, usable = float(profile.reported_bytes), float(profile.usable_bytes)
    known = [reported, usable, round(reported / _GIB) * float(_GB), usable / _GIB * _GB]
    host = float(profile.ram_gb * _GB) if profile.ram_gb and not of_gpu else 0.0
    return [*known, host]
