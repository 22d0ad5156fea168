"""From a vLLM spec and its lock to the question that the budget answers."""

from dataclasses import dataclass
from typing import Any, Final

from olares_apps.engines.vllm_settings import VllmSettings
from olares_apps.fit.vllm_budget import VllmFacts, VllmRequest, VllmVerdict, judge_vllm
from olares_apps.hardware import HardwareProfile
from olares_apps.lock.model import Checkpoint, Lock
from olares_apps.spec.models import AppSpec

__all__ = ["VllmCase", "vllm_case"]

_GIB: Final = 2**30


@dataclass(frozen=True, slots=True)
class VllmCase:
    """One checkpoint in one configuration; ``notes`` say what the budget does not follow."""

    checkpoint: Checkpoint
    facts: VllmFacts
    request: VllmRequest
    notes: tuple[str, ...] = ()

    def judge(self, profile: HardwareProfile) -> VllmVerdict:
        """Judge it on a device."""
        return judge_vllm(self.facts, self.request, profile)


def vllm_case(spec: AppSpec[Any], lock: Lock | None, *, other_apps: int = 0) -> VllmCase | None:
    """Return the case of a spec, None when it is not vLLM's or the shape is not known.

    ``other_apps`` is the GPU memory in bytes that other programs hold.
    """
    settings = spec.engine
    checkpoint = lock.checkpoint("target") if lock else None
    facts = checkpoint.facts if checkpoint else None
    if not isinstance(settings, VllmSettings) or not lock or not checkpoint or not facts:
        return None
    drafter = lock.checkpoint("drafter")
    drafting = settings.speculative
    batched = settings.max_num_batched_tokens
    request = VllmRequest(
        max_model_len=settings.max_model_len,
        gpu_memory_utilization=settings.gpu_memory_utilization,
        kv_dtype=settings.kv_cache_dtype or "auto",
        uses_mtp=drafting is not None and is_mtp(drafting.method) and drafter is None,
        other_apps=other_apps,
        drafter_bytes=drafter.weight_bytes if drafter else 0,
        offload_bytes=round((settings.cpu_offload_gb or 0) * _GIB),
        kv_pool=settings.kv_cache_memory_bytes,
        **({} if batched is None else {"batched_tokens": batched}),
    )
    return VllmCase(checkpoint, facts, request, tuple(_notes(settings, drafter)))


def is_mtp(method: str) -> bool:
    """Return whether a speculative method drafts with the model's own head."""
    return method == "mtp" or method.endswith("_mtp")


def _notes(settings: VllmSettings, drafter: Checkpoint | None) -> list[str]:
    gpus = (settings.tensor_parallel_size or 1) * (settings.pipeline_parallel_size or 1)
    found = []
    if gpus > 1:
        found.append(f"the model is spread over {gpus} GPUs: everything is counted on one")
    if drafter is not None:
        found.append("the KV cache of the draft model is not counted")
    if settings.disable_hybrid_kv_cache_manager:
        found.append("every layer caches the whole context: windows are counted as windows")
    return found
