"""From a spec and its lock to the question that fit answers: which model, asked to run how."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.engines.flags.tables import find_table
from olares_apps.engines.llamacpp import LlamaCppSettings
from olares_apps.errors import UnknownName
from olares_apps.fit.behaviours import BuildBehaviour, behaviour_of, build_number
from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.fit.memory_model import MemoryEstimate, estimate
from olares_apps.fit.memory_request import MemoryRequest
from olares_apps.fit.model_check import require_model
from olares_apps.fit.unmodelled import projector_on_host, unmodelled_options
from olares_apps.fit.verdict import judge, required_gpu_memory
from olares_apps.hardware import HardwareProfile
from olares_apps.lock.measured_memory import matching_figure
from olares_apps.lock.model import Lock
from olares_apps.spec.models import AppSpec

__all__ = ["FitCase", "behaviour_named", "fit_case", "gpu_need", "known_need", "memory_request"]

# Images built with GGML_CUDA_NO_VMM (the Dockerfiles of their author's articles, May 2026).
_NO_VMM_IMAGES: Final = frozenset({"docker.io/aamsellem/llama-cpp-mtp"})


@dataclass(frozen=True, slots=True)
class FitCase:
    """One model in one configuration; ``drafter`` are the facts of a separate draft model."""

    facts: GgufFacts
    request: MemoryRequest
    behaviour: BuildBehaviour
    drafter: GgufFacts | None = None

    def estimate(self) -> MemoryEstimate:
        """Estimate the memory; raises UnknownName for a cache type that is not in the table."""
        return estimate(self.facts, self.request, self.behaviour, drafter=self.drafter)


def memory_request(settings: LlamaCppSettings, *, mmproj_bytes: int = 0) -> MemoryRequest:
    """Return what llama-server is asked for; ``mmproj_bytes`` is the projector's file size."""
    drafting = settings.speculative
    unmodelled = unmodelled_options(settings.extra_args, settings.env)
    if drafting and drafting.gpu_layers == 0:
        unmodelled += ("draft layers kept on the host are counted on the GPU",)
    draft_kv = drafting.kv if drafting else None
    defaults = MemoryRequest()
    return MemoryRequest(
        ctx=settings.ctx,
        kv_k=settings.kv.k,
        kv_v=settings.kv.v,
        parallel=settings.parallel,
        kv_unified=settings.kv_unified,
        ubatch=settings.ubatch,
        batch=settings.batch,
        flash_attn=settings.flash_attn,
        spec_type=drafting.method if drafting else None,
        n_max=drafting.n_max if drafting else None,
        draft_kv_k=draft_kv.k if draft_kv else None,
        draft_kv_v=draft_kv.v if draft_kv else None,
        swa_full=settings.swa_full,
        mmproj_bytes=0 if projector_on_host(settings.extra_args, settings.env) else mmproj_bytes,
        gpu_layers=settings.gpu_layers,
        no_vmm=settings.image.rpartition(":")[0] in _NO_VMM_IMAGES,
        cache_ram_mib=_or(settings.cache_ram, defaults.cache_ram_mib),
        ctx_checkpoints=_or(settings.ctx_checkpoints, defaults.ctx_checkpoints),
        unmodelled=unmodelled,
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def behaviour_named(name: str) -> BuildBehaviour:
    """Return how a build behaves, by its name or image: that of a fork's base where known."""
    match = find_table("llamacpp", name)
    base = match.table.upstream if match.table and match.exact else None
    names = (name, match.build, base)
    number = next((found for item in names if item and (found := build_number(item))), None)
    return behaviour_of(match.build or name if number is None else number)


def fit_case(
    spec: AppSpec[Any], lock: Lock | None, *, facts: GgufFacts | None = None
) -> FitCase | None:
    """Return the case of a spec; ``facts`` replace those of the lock.

    None when the engine is not llama.cpp or the header of the target is not known. Raises
    FactsError for a header that describes no model.
    """
    settings = spec.engine
    if not isinstance(settings, LlamaCppSettings):
        return None
    lock = lock or Lock()
    locked = {
        file.role: found
        for file in reversed(spec.model.files)
        if (found := lock.file(file.repo, file.file))
    }
    target = locked.get("target")
    facts = facts or (target.facts if target else None)
    if facts is None:
        return None
    require_model(facts)
    mmproj, drafter = locked.get("mmproj"), locked.get("drafter")
    size = mmproj.size if mmproj else _stated_size(spec, "mmproj")
    request = memory_request(settings, mmproj_bytes=size)
    behaviour = behaviour_named(settings.build_name)
    return FitCase(facts, request, behaviour, drafter.facts if drafter else None)


def _stated_size(spec: AppSpec[Any], role: str) -> int:
    file = next(spec.files(role), None)
    if file is None:
        return 0
    return file.size or round((file.size_gb or 0) * 10**9)


def gpu_need(spec: AppSpec[Any], lock: Lock | None, profile: HardwareProfile) -> int | None:
    """Return the GPU memory that the manifest should ask for, in bytes, None when not known."""
    need = known_need(spec, lock, profile)
    return None if need is None else required_gpu_memory(need, profile)


def known_need(spec: AppSpec[Any], lock: Lock | None, profile: HardwareProfile) -> int | None:
    """Return the GPU memory that an app needs, in bytes.

    A measured figure of this configuration wins over the estimate, if it can be true. None when
    there is neither: no header facts, or a cache type without a layout.
    """
    measured = matching_figure(spec, profile)
    case = fit_case(spec, lock)
    if case is not None:
        with suppress(UnknownName):
            return judge(case.estimate(), profile, measured=measured).need
    return measured.gpu_bytes if measured else None
