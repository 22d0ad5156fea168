"""How much GPU and host memory a model takes in llama-server.

``estimate`` returns named parts with their size in bytes, their source and a note. Weights,
KV cache, recurrent state and the MTP context's KV are exact (equal to llama.cpp's own
figures in every start that was compared); compute buffers and overhead are measured
constants or bounds. Formulas, sources and what is left out: docs/fit.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from olares_apps.fit.behaviours import (
    ROLLBACK_ARCHITECTURES,
    ROLLBACK_SPEC_TYPES,
    BuildBehaviour,
    fold_arch,
)
from olares_apps.fit.compute_buffers import ComputeBuffer, compute_buffer
from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.fit.kv_types import KvType, kv_type
from olares_apps.fit.layers import AttentionLayer, LayerPlan, plan_layers
from olares_apps.fit.measured import (
    CUBLAS_PER_CONTEXT_MIB,
    CUDA_CONTEXT_MIB,
    LARGE_UBATCH,
    MIB,
    OVERHEAD_DEFAULT_MIB,
    OVERHEAD_LARGE_UBATCH_MIB,
    UNTIL_READY_MIB,
    measured_shape,
)
from olares_apps.fit.memory_request import ContextShape, MemoryRequest, pad
from olares_apps.fit.request_findings import problems_of, warnings_of

__all__ = ["MemoryEstimate", "Part", "estimate", "kv_bytes", "recurrent_state_bytes"]

# Projector weights and the compute of a worst-case image, as a multiple of the file.
MMPROJ_FACTOR: Final = 1.4

_READ = "read in llama.cpp's source, equal to its log in every start compared"


@dataclass(frozen=True, slots=True)
class Part:
    """One share of memory.

    ``where`` is ``gpu``, ``host`` or ``page-cache`` (file pages that the kernel may drop).
    ``bytes`` is its size, ``terms`` what a maximum was taken of, ``is_exact`` whether it
    equals the server's own figure.
    """

    name: str
    bytes: int
    where: str
    source: str
    note: str = ""
    is_exact: bool = False
    terms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The parts of one configuration, what is wrong with it and what deserves a warning.

    ``problems`` are settings with which the server does not start; ``warnings`` are cases
    that the figures do not cover.
    """

    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def total_gpu(self) -> int:
        """Return the GPU memory in bytes."""
        return self._total("gpu")

    @property
    def total_host(self) -> int:
        """Return the host memory in bytes, without the page cache."""
        return self._total("host")

    def part(self, name: str) -> int:
        """Return the bytes of the part called ``name``, 0 when there is none."""
        return sum(part.bytes for part in self.parts if part.name == name)

    def _total(self, where: str) -> int:
        return sum(part.bytes for part in self.parts if part.where == where)


def estimate(
    facts: GgufFacts,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    *,
    drafter: GgufFacts | None = None,
) -> MemoryEstimate:
    """Estimate the memory of one configuration.

    ``facts`` are those of all parts of the model, ``drafter`` those of a separate draft model.

    Raises UnknownName for a KV cache type that is not in the table.
    """
    plan = plan_layers(facts)
    context = request.context(facts)
    types = kv_type(request.kv_k), kv_type(request.kv_v)
    draft_types = _draft_types(request, behaviour)
    has_mtp = request.uses_mtp and bool(plan.mtp)
    parts = [*_weights(facts, request, behaviour), _kv(plan, context, request, types)]
    if plan.recurrent_layers:
        parts.append(_recurrent_state(facts, plan, context, request, behaviour))
    target_scratch = _scratch(plan.attention, context, request, types)
    target = compute_buffer(
        facts,
        behaviour,
        context,
        ubatch=request.physical_batch,
        scratch=target_scratch,
        flash_attention=request.uses_flash_attention,
        is_quantised=any(kind.is_quantised for kind in types),
        is_mtp=False,
        windowed_cells=_windowed_cells(
            context, plan.window, request.physical_batch, request.swa_full
        )
        if plan.window
        else 0,
    )
    parts.append(_compute_part("compute", target))
    draft_scratch = 0
    if has_mtp:
        draft_scratch = _scratch(plan.mtp, context, request, draft_types)
        parts += _mtp_context(facts, plan, context, request, behaviour, draft_types, draft_scratch)
    if drafter is not None:
        parts += _drafter(drafter, facts, request, behaviour, draft_types)
    if not behaviour.scratch_reserved and target_scratch + draft_scratch:
        parts.append(
            Part(
                "fa-scratch",
                target_scratch + draft_scratch,
                "gpu",
                "measured on b9254",
                "f16 copy of a layer's cache, taken from the pool as the context fills; "
                "once per context with quantised KV",
            )
        )
    if request.mmproj_bytes:
        parts.append(
            Part(
                "mmproj",
                round(request.mmproj_bytes * MMPROJ_FACTOR),
                "gpu",
                "unsloth's rule of 1.3 to 1.4 times the file",
                "projector weights and the compute of one large image",
            )
        )
    contexts = 2 if has_mtp or drafter is not None else 1
    parts += [
        _overhead(facts, contexts, request.physical_batch),
        *_host(facts, plan, context, request, has_mtp),
    ]
    return MemoryEstimate(
        parts=tuple(part for part in parts if part.bytes),
        problems=problems_of(facts, request, types, has_drafter=drafter is not None),
        warnings=warnings_of(facts, plan, request, behaviour, types),
    )


def kv_bytes(
    layers: tuple[AttentionLayer, ...],
    context: ContextShape,
    types: tuple[KvType, KvType],
    *,
    window: int = 0,
    ubatch: int = 512,
    swa_full: bool = False,
) -> int:
    """Return the bytes of a KV cache (llama_kv_cache, llama_kv_cache_iswa).

    A windowed layer keeps ``window`` cells (times the slots of a unified cache) plus an
    ubatch, unless ``swa_full``.
    """
    windowed = _windowed_cells(context, window, ubatch, swa_full)
    key, value = types
    return sum(
        (windowed if layer.is_windowed else context.cells)
        * context.streams
        * (key.row(layer.key_elements) + value.row(layer.value_elements))
        for layer in layers
    )


def _windowed_cells(context: ContextShape, window: int, ubatch: int, swa_full: bool) -> int:
    """Return the cells per stream of a layer with a sliding window."""
    if not window or swa_full:
        return context.cells
    sequences = context.slots if context.is_unified else 1
    return min(context.cells, pad(window * sequences + ubatch))


def recurrent_state_bytes(plan: LayerPlan, slots: int = 1, rollback: int = 0) -> int:
    """Return the bytes of the recurrent state: f32, per slot, once more per rollback copy."""
    return 4 * plan.state_elements * plan.recurrent_layers * max(1, slots) * (1 + rollback)


def _draft_types(request: MemoryRequest, behaviour: BuildBehaviour) -> tuple[KvType, KvType]:
    """Return the KV types of the draft context, which older builds copy from the target."""
    if behaviour.draft_kv_own_type:
        return kv_type(request.draft_kv_k or "f16"), kv_type(request.draft_kv_v or "f16")
    return kv_type(request.kv_k), kv_type(request.kv_v)


def _rollback(facts: GgufFacts, request: MemoryRequest, behaviour: BuildBehaviour) -> int:
    """Return the copies of the recurrent state that speculation keeps (need_n_rs_seq)."""
    if request.speculation not in ROLLBACK_SPEC_TYPES:
        return 0
    if fold_arch(facts.arch) not in ROLLBACK_ARCHITECTURES:
        return 0
    return request.n_max or behaviour.default_n_max


def _weights(facts: GgufFacts, request: MemoryRequest, behaviour: BuildBehaviour) -> list[Part]:
    """Everything but the input embedding goes to the GPU; a tied one goes there as well."""
    skips_mtp = behaviour.mtp_weights_on_demand and not request.uses_mtp
    on_gpu = facts.weight_bytes - facts.token_embd_bytes
    notes = ["all tensors but token_embd"]
    if facts.is_tied:
        on_gpu += facts.token_embd_bytes
        notes.append("token_embd once more, as the output matrix")
    if skips_mtp and facts.mtp_block_bytes:
        on_gpu -= facts.mtp_block_bytes
        notes.append("without the MTP block, which this build loads only with MTP")
    return [
        Part("weights", on_gpu, "gpu", _READ, "; ".join(notes), is_exact=True),
        Part("token-embedding", facts.token_embd_bytes, "host", _READ, is_exact=True),
    ]


def _kv(
    plan: LayerPlan, context: ContextShape, request: MemoryRequest, types: tuple[KvType, KvType]
) -> Part:
    size = kv_bytes(
        plan.attention,
        context,
        types,
        window=plan.window,
        ubatch=request.physical_batch,
        swa_full=request.swa_full,
    )
    streams = f"{context.cells} cells x {context.streams} stream(s)"
    note = f"{len(plan.attention)} layers, {streams}, {types[0].name}/{types[1].name}"
    return Part("kv", size, "gpu", _READ, note, is_exact=not plan.not_modelled)


def _recurrent_state(
    facts: GgufFacts,
    plan: LayerPlan,
    context: ContextShape,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
) -> Part:
    rollback = _rollback(facts, request, behaviour)
    note = f"{plan.recurrent_layers} layers, {context.slots} slot(s), {rollback} rollback copies"
    size = recurrent_state_bytes(plan, context.slots, rollback)
    return Part("recurrent-state", size, "gpu", _READ, note, is_exact=not plan.not_modelled)


def _scratch(
    layers: tuple[AttentionLayer, ...],
    context: ContextShape,
    request: MemoryRequest,
    types: tuple[KvType, KvType],
) -> int:
    """Return the f16 copy of the widest layer's whole cache that flash attention needs."""
    if not request.uses_flash_attention or not any(kind.needs_scratch for kind in types):
        return 0
    widest = max((layer.key_elements + layer.value_elements for layer in layers), default=0)
    return 2 * widest * context.total


def _compute_part(name: str, buffer: ComputeBuffer) -> Part:
    note = "upper bound" if buffer.is_bound else ""
    return Part(name, buffer.bytes, "gpu", buffer.source, note, terms=buffer.terms)


def _mtp_context(
    facts: GgufFacts,
    plan: LayerPlan,
    context: ContextShape,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    types: tuple[KvType, KvType],
    scratch: int,
) -> list[Part]:
    """The second context on the same weights: its own KV and compute buffer, no state."""
    kv = kv_bytes(
        plan.mtp,
        context,
        types,
        window=plan.window,
        ubatch=request.physical_batch,
        swa_full=request.swa_full,
    )
    origin = "own type" if behaviour.draft_kv_own_type else "type of the target"
    buffer = compute_buffer(
        facts,
        behaviour,
        context,
        ubatch=request.physical_batch,
        scratch=scratch,
        flash_attention=request.uses_flash_attention,
        is_quantised=any(kind.is_quantised for kind in types),
        is_mtp=True,
    )
    note = f"{len(plan.mtp)} layer(s), {types[0].name}/{types[1].name} ({origin})"
    return [
        Part("mtp-kv", kv, "gpu", _READ, note, is_exact=True),
        _compute_part("mtp-compute", buffer),
    ]


def _drafter(
    drafter: GgufFacts,
    target: GgufFacts,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    types: tuple[KvType, KvType],
) -> list[Part]:
    """A separate draft model; gemma4's shares the target's cache."""
    plan = plan_layers(drafter)
    context = request.context(target)
    shares = fold_arch(drafter.arch) == "gemma4assistant"
    weights = drafter.weight_bytes - (0 if drafter.is_tied else drafter.token_embd_bytes)
    buffer = compute_buffer(
        drafter,
        behaviour,
        context,
        ubatch=request.physical_batch,
        scratch=0 if shares else _scratch(plan.attention, context, request, types),
        flash_attention=request.uses_flash_attention,
        is_quantised=any(kind.is_quantised for kind in types),
        is_mtp=False,
    )
    kv = 0 if shares else kv_bytes(plan.attention, context, types, window=plan.window)
    return [
        Part("drafter-weights", weights, "gpu", _READ, "the separate draft model", is_exact=True),
        Part("drafter-kv", kv, "gpu", _READ),
        _compute_part("drafter-compute", buffer),
    ]


def _overhead(facts: GgufFacts, contexts: int, ubatch: int) -> Part:
    """CUDA context, cuBLAS and what the driver keeps, after the first request."""
    shape = measured_shape(facts)
    if shape:
        size, source = shape.overhead[contexts - 1], f"measured on {shape.name}"
    else:
        blas = CUBLAS_PER_CONTEXT_MIB * contexts if facts.float_matrices else 0.0
        size = max(OVERHEAD_DEFAULT_MIB[contexts - 1], CUDA_CONTEXT_MIB + UNTIL_READY_MIB + blas)
        source = "default above what was measured"
    size += OVERHEAD_LARGE_UBATCH_MIB * contexts * max(ubatch / LARGE_UBATCH - 1, 0)
    note = "CUDA context and cuBLAS, most of it with the first prompt"
    return Part("overhead", round(size * MIB), "gpu", source, note)


def _host(
    facts: GgufFacts,
    plan: LayerPlan,
    context: ContextShape,
    request: MemoryRequest,
    has_mtp: bool,
) -> list[Part]:
    """Host memory that counts against the pod's limit."""
    snapshot = recurrent_state_bytes(plan) if plan.recurrent_layers else 0
    outputs = facts.vocab_size * 4 * context.slots
    if has_mtp:
        outputs += facts.n_embd * request.batch * 4
    return [
        Part(
            "prompt-cache",
            max(request.cache_ram_mib, 0) * MIB,
            "host",
            "default of --cache-ram",
            "most that the prompt cache grows to"
            if request.cache_ram_mib >= 0
            else "unlimited, not counted",
        ),
        Part(
            "checkpoints",
            snapshot * request.ctx_checkpoints * context.slots,
            "host",
            "default of --ctx-checkpoints",
            "one copy of the recurrent state each, when all are taken",
        ),
        Part("output-buffer", outputs, "host", _READ),
        Part("model-pages", facts.file_size, "page-cache", "mmap", "file pages while loading"),
    ]
