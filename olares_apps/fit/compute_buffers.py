"""The compute buffer of one llama.cpp context on CUDA.

The allocator reuses memory between the steps of a graph, so a buffer is the larger of its
peaks, not their sum. Formulas: docs/fit.md.
"""

from dataclasses import dataclass
from typing import Final

from olares_apps.fit.behaviours import BuildBehaviour
from olares_apps.fit.gguf_facts import GgufFacts, PerLayer
from olares_apps.fit.measured import (
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

# Flash attention's partial results and inputs of a graph: 0.01 to 0.63 MiB measured.
SMALL_BUFFERS_MIB: Final = 0.7


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
    windowed_cells: int = 0,
) -> ComputeBuffer:
    """Return the compute buffer of the target context, or of the MTP context.

    ``windowed_cells`` are those of the sliding-window cache, which has a mask of its own.
    ``scratch`` (bytes) is the f16 copy that flash attention needs of a quantised cache; it is
    inside the buffer only on builds that reserve it. ``is_quantised`` is about this
    context's cache.
    """
    shape = measured_shape(facts)
    mask = (context.cells + windowed_cells) * ubatch * _mask_row(behaviour, flash_attention)
    peak, base = _bases(facts, behaviour, shape, ubatch, is_quantised, is_mtp)
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
    if shape is not None:
        source = f"measured on {shape.name}"
    elif _is_dense(facts):
        source = "bound from the widths, equal to the log's peak for seven dense shapes"
    else:
        source = "bound: 28 * n_embd * ubatch * 4 bytes"
    return ComputeBuffer(size, terms, source, shape is None or not flash_attention)


def _mask_row(behaviour: BuildBehaviour, flash_attention: bool) -> int:
    if not flash_attention:
        return _MASK_F32
    return _MASK_F16 if behaviour.mask_f16 else _MASK_F32_AND_F16


def _bases(
    facts: GgufFacts,
    behaviour: BuildBehaviour,
    shape: MeasuredShape | None,
    ubatch: int,
    is_quantised: bool,
    is_mtp: bool,
) -> tuple[int, int]:
    """Return peak and base in bytes; both grow with the ubatch."""
    if shape is None:
        peak, base = _bounds(facts, ubatch)
        # Older builds have one peak, whichever of the two is larger.
        return (peak, base) if behaviour.mask_f16 else (max(peak, base),) * 2
    if behaviour.mask_f16:
        pair = (shape.mtp_peak, shape.mtp_base) if is_mtp else (shape.peak, shape.base)
    elif is_mtp:
        old = shape.old_mtp_base if is_quantised else shape.old_mtp_base_f16
        pair = (old, old)
    else:
        old = shape.old_base if is_quantised else shape.old_base_f16
        pair = (old, old)
    peak, base = (round(value * MIB * ubatch / REFERENCE_UBATCH) for value in pair)
    return peak, base


def _is_dense(facts: GgufFacts) -> bool:
    return not facts.expert_count and _widest(facts.feed_forward_length) > 0


def _widest(value: PerLayer) -> int:
    return value if isinstance(value, int) else max(value, default=0)


def _bounds(facts: GgufFacts, ubatch: int) -> tuple[int, int]:
    """Return bounds of peak and base in bytes for a shape that nobody measured.

    Dense: the peak is the feed-forward step (three rows of its width and four of the model's),
    the base the attention step, in hybrids with the gated query and the delta net's keys.
    """
    if not _is_dense(facts):
        bound = bound_bytes(facts.n_embd, ubatch)
        return bound, bound
    peak = 3 * _widest(facts.feed_forward_length) + 4 * facts.n_embd
    base = 4 * (facts.n_embd + _widest(facts.head_count_kv) * facts.key_length)
    if facts.ssm_state_size:
        base += 4 * _widest(facts.head_count) * facts.key_length
        base += facts.ssm_group_count * facts.ssm_state_size
    small = round(SMALL_BUFFERS_MIB * MIB)
    return 4 * ubatch * peak + small, 4 * ubatch * base + small
