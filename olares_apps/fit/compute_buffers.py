"""The compute buffer of one llama.cpp context on CUDA.

The allocator reuses memory between the steps of a graph, so a buffer is the larger of its
peaks, not their sum. Formulas: docs/fit.md.
"""

from dataclasses import dataclass
from typing import Final

from olares_apps.fit.behaviours import BuildBehaviour
from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.fit.measured import (
    EXTRA_SLOT_MIB,
    LOGITS_EXTRA_MIB,
    MIB,
    REFERENCE_UBATCH,
    MeasuredShape,
    bound_bytes,
    measured_shape,
)
from olares_apps.fit.memory_request import ContextShape

__all__ = ["ComputeBuffer", "compute_buffer"]

_MASK_F16: Final = 2
# f32 mask and its f16 copy; without flash attention there is no copy.
_MASK_F32_AND_F16: Final = 6
_MASK_F32: Final = 4


@dataclass(frozen=True, slots=True)
class ComputeBuffer:
    """Size of a buffer in bytes, the terms it is made of and where its constants come from."""

    bytes: int
    terms: dict[str, int]
    source: str
    is_bound: bool


def compute_buffer(
    facts: GgufFacts,
    behaviour: BuildBehaviour,
    context: ContextShape,
    *,
    ubatch: int,
    scratch: int,
    flash_attention: bool,
    is_quantised: bool,
    is_mtp: bool,
) -> ComputeBuffer:
    """Return the compute buffer of the target context, or of the MTP context.

    ``scratch`` (bytes) is the f16 copy that flash attention needs of a quantised cache; it is
    inside the buffer only on builds that reserve it. ``is_quantised`` is about this
    context's cache.
    """
    shape = measured_shape(facts)
    mask = context.cells * ubatch * _mask_row(behaviour, flash_attention)
    peak, base = _bases(facts, behaviour, shape, context, ubatch, is_quantised, is_mtp)
    inside = scratch if behaviour.scratch_reserved else 0
    terms = {"mask": mask, "base": base, "peak": peak}
    if inside:
        terms["scratch"] = inside
    if not behaviour.mask_f16:
        # The f32 mask is alive together with the base, so there is one peak.
        size = base + mask + inside
    elif is_mtp:
        size = max(peak, base + mask + inside)
    else:
        size = mask + max(peak, base + inside)
    if not flash_attention:
        heads = facts.head_count
        terms["attention-scores"] = (
            2 * 4 * ubatch * context.cells * (heads if isinstance(heads, int) else max(heads))
        )
        size += terms["attention-scores"]
    if not behaviour.logits_capped:
        terms["logits"] = facts.vocab_size * ubatch * 4 + round(LOGITS_EXTRA_MIB * MIB)
        size = max(size, terms["logits"])
    source = f"measured on {shape.name}" if shape else "bound: 28 * n_embd * ubatch * 4 bytes"
    return ComputeBuffer(size, terms, source, shape is None or not flash_attention)


def _mask_row(behaviour: BuildBehaviour, flash_attention: bool) -> int:
    if not flash_attention:
        return _MASK_F32
    return _MASK_F16 if behaviour.mask_f16 else _MASK_F32_AND_F16


def _bases(
    facts: GgufFacts,
    behaviour: BuildBehaviour,
    shape: MeasuredShape | None,
    context: ContextShape,
    ubatch: int,
    is_quantised: bool,
    is_mtp: bool,
) -> tuple[int, int]:
    """Return peak and base in bytes; both grow with the ubatch."""
    if shape is None:
        peak = base = bound_bytes(facts.n_embd, ubatch)
    else:
        if behaviour.mask_f16:
            pair = (shape.mtp_peak, shape.mtp_base) if is_mtp else (shape.peak, shape.base)
        elif is_mtp:
            old = shape.old_mtp_base if is_quantised else shape.old_mtp_base_f16
            pair = (old, old)
        else:
            old = shape.old_base if is_quantised else shape.old_base_f16
            pair = (old, old)
        peak, base = (round(value * MIB * ubatch / REFERENCE_UBATCH) for value in pair)
    extra = round((context.slots - 1) * EXTRA_SLOT_MIB * MIB * ubatch / REFERENCE_UBATCH)
    return peak + extra, base + extra
