"""Whether the stated weights fit into the GPU memory that the server may take.

A lock that holds the model's shape, and a measured figure, know more: then ``model-fits`` judges.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.launch import Server
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.rules.gpu_memory import declared_gpu_memory
from olares_apps.checks.weights import ALL_LAYERS, least_weights, on_gpu
from olares_apps.engines.base import Launch
from olares_apps.engines.files import stored_files
from olares_apps.engines.llamacpp import LlamaCppSettings
from olares_apps.engines.registry import get_engine
from olares_apps.engines.vllm_settings import VllmSettings
from olares_apps.findings import Severity
from olares_apps.fit.unmodelled import projector_on_host
from olares_apps.hardware import HardwareProfile
from olares_apps.lock.measured_memory import matching_figure
from olares_apps.lock.need import fit_case
from olares_apps.lock.vllm_need import vllm_case
from olares_apps.spec.models import AppSpec
from olares_apps.spec.positions import FieldPath

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME)

_GB: Final = 10**9
_GIB: Final = 2**30
_ROLES: Final = ("target", "drafter", "mmproj")
# Methods that make the weights smaller while they are loaded, by a factor of this at most:
# vllm/model_executor/layers/quantization, methods that take a checkpoint of 16 bits.
_ON_LOAD: Final = frozenset("bitsandbytes experts_int8 fp8 fp8_per_tensor torchao".split())
_MOST_SHRINKAGE: Final = 4
# What arguments of a server of any kind say when it may keep weights off the GPU.
_KEEPS_BACK: Final = re.compile(r"offload|cpu|layers|ngl|vram|device|split", re.IGNORECASE)
_SHARE_FIELDS: Final = ("gpu_memory_utilization", "gpu_share")
_SHARE: Final = "--gpu-memory-utilization"


@dataclass(frozen=True, slots=True)
class _Part:
    """Stated weights: what the engine does with them, where they are stated, and bytes."""

    role: str
    field: FieldPath
    size: int


@dataclass(frozen=True, slots=True)
class _Budget:
    """What a server may take in bytes, in words, and the field that says so if one does."""

    size: int
    words: str
    field: FieldPath | None = None


@rules.error(
    "weights-exceed-budget",
    "Weights above the memory that the server may take end its start with: out of memory.",
    "public charts; Project-HAMi/HAMi#888; vllm-project/vllm#20305",
)
def _weights(context: ChartContext) -> Iterator[Found]:
    """Silent where weights may lie on the host; without a spec names say the least, a warning."""
    profile = context.profile
    if profile is None:
        return
    if context.spec is None:
        yield from _by_names(context, profile)
        return
    spec = context.spec.spec
    if _is_judged(context, spec, profile) or _is_told(context, profile):
        return
    launch = get_engine(spec.engine.type).launch(spec, stored_files(spec.model.files))
    parts = _on_gpu(context, spec) if launch.gpu else []
    held = _held_back(spec)
    total = max(sum(part.size for part in parts) - held, 0)
    budget = _budget(spec, launch, profile)
    if total <= budget.size:
        return
    largest = max(parts, key=lambda part: part.size)
    is_share = total <= profile.usable_bytes and budget.field is not None
    yield context.in_spec(
        f"weights {_listed(parts, held)} = {_gib(total)} GiB > {_gib(budget.size)} GiB, "
        f"{budget.words}",
        budget.field if is_share and budget.field else largest.field,
        hint=_hint(spec, total, profile, is_share=is_share),
    )


def _is_judged(context: ChartContext, spec: AppSpec[Any], profile: HardwareProfile) -> bool:
    """Say whether something better than stated sizes is known."""
    return (
        matching_figure(spec, profile) is not None
        or fit_case(spec, context.lock) is not None
        or vllm_case(spec, context.lock) is not None
    )


def _is_told(context: ChartContext, profile: HardwareProfile) -> bool:
    """Say whether the manifest asks for more than the card has: gpu-memory-exceeds-card says so."""
    return any(amount > profile.reported_bytes for _, amount, _ in declared_gpu_memory(context))


def _on_gpu(context: ChartContext, spec: AppSpec[Any]) -> list[_Part]:
    """Return the parts that certainly lie on the GPU, whole but for what is held back."""
    settings, model = spec.engine, spec.model
    if not isinstance(settings, LlamaCppSettings | VllmSettings):
        words = [*getattr(settings, "command", ()), *getattr(settings, "args", ())]
        if any(_KEEPS_BACK.search(word) for word in (*words, *settings.extra_args)):
            return []
    if isinstance(settings, VllmSettings) and _keeps_back(settings):
        return []
    absent = set()
    if isinstance(settings, LlamaCppSettings):
        if not all(on_gpu(server) for server in context.servers):
            return []
        if projector_on_host(settings.extra_args, settings.env) or settings.mmproj_gpu_swap:
            absent.add("mmproj")
        layers = settings.speculative.gpu_layers if settings.speculative else None
        if layers is not None and layers < ALL_LAYERS:
            absent.add("drafter")
    found = [
        _Part(item.role, ("model", "files", index), item.size or round((item.size_gb or 0) * _GB))
        for index, item in enumerate(model.files)
    ]
    found += [
        _Part(item.role, ("model", "repos", index), round((item.size_gb or 0) * _GB))
        for index, item in enumerate(model.repos)
    ]
    return [part for part in found if part.size and part.role in {*_ROLES} - absent]


def _keeps_back(settings: VllmSettings) -> bool:
    """Say whether vLLM keeps an unknown part of the weights off this card."""
    spread = (settings.tensor_parallel_size or 1) * (settings.pipeline_parallel_size or 1)
    return spread > 1 or any(item.startswith("--offload") for item in settings.extra_args)


def _held_back(spec: AppSpec[Any]) -> int:
    """Return the bytes of the stated weights that the settings keep off the GPU."""
    settings = spec.engine
    if not isinstance(settings, VllmSettings):
        return 0
    held = round((settings.cpu_offload_gb or 0) * _GIB)
    if settings.quantization in _ON_LOAD:
        sizes = [item.size_gb or 0 for item in spec.repos("target")]
        held += round(sum(sizes) * _GB * (1 - 1 / _MOST_SHRINKAGE))
    return held


def _budget(spec: AppSpec[Any], launch: Launch, profile: HardwareProfile) -> _Budget:
    """Return the smaller of the card's usable memory and the server's share of the whole card."""
    card = _Budget(profile.usable_bytes, f"all that a program gets of {profile.name}")
    if launch.gpu_share is None:
        return card
    size = round(launch.gpu_share * profile.reported_bytes)
    if size >= card.size:
        return card
    name = next((item for item in _SHARE_FIELDS if hasattr(spec.engine, item)), "")
    words = f"the share {launch.gpu_share:g} of {profile.name}"
    return _Budget(size, words, ("engine", name) if name else None)


def _listed(parts: list[_Part], held: int) -> str:
    text = " + ".join(f"{part.role} {part.size / _GB:.2f} GB" for part in parts)
    return f"{text} - {held / _GB:.2f} GB off the GPU" if held else text


def _hint(spec: AppSpec[Any], total: int, profile: HardwareProfile, *, is_share: bool) -> str:
    if is_share:
        least = -(-total * 100 // profile.reported_bytes) / 100
        return f"the weights alone take {least:g} of the card, caches and buffers come on top"
    engine = {
        "vllm": "keep a part on the host with engine.cpu_offload_gb",
        "llamacpp": "keep layers on the host with engine.gpu_layers",
    }.get(spec.engine.type)
    other = f", or {engine}" if engine else ""
    return f"use a smaller quantisation or a device with more memory{other}"


def _by_names(context: ChartContext, profile: HardwareProfile) -> Iterator[Found]:
    """Judge the share of a server by the least weights that the names of its models say."""
    for server in context.servers:
        share = _share_of(server)
        weights = least_weights(server.model_names) if share and on_gpu(server) else None
        if share is None or weights is None or weights.least <= share * profile.reported_bytes:
            continue
        size = share * profile.reported_bytes
        yield context.in_object(
            server.workload.item,
            f"weights of {weights.name}, {_gib(weights.least)} GiB at least > {_gib(size)} GiB, "
            f"the share {share:g} of {profile.name}",
            _SHARE,
            hint="raise the share, or use a smaller model",
            severity=Severity.WARNING,
        )


def _share_of(server: Server) -> float | None:
    value = server.value(_SHARE) if server.engine == "vllm" else None
    return float(value) if value and re.fullmatch(r"\d?\.\d{1,6}|1", value) else None


def _gib(amount: float) -> str:
    return f"{amount / _GIB:.2f}".rstrip("0").rstrip(".")
