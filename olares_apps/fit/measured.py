"""Constants that were measured on real starts of llama-server, by model shape.

95 starts on one NVIDIA H200 (CUDA 13.0) with builds b11434 and b9254: docs/fit.md. A shape
that is not listed gets the bounds at the end, which hold for both measured models.
All values are MiB at an ubatch of 512 tokens unless the name says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from olares_apps.fit.behaviours import fold_arch
from olares_apps.fit.gguf_facts import GgufFacts

__all__ = ["MIB", "MeasuredShape", "bound_bytes", "measured_shape"]

MIB: Final = 2**20
REFERENCE_UBATCH: Final = 512

# 28 * n_embd * ubatch * 4 bytes is above every measured base and peak.
_BOUND_FACTOR: Final = 28

# Logits of a whole ubatch: what the buffer holds beside them in builds before b9464.
LOGITS_EXTRA_MIB: Final = 12.0

# Overhead where nothing was measured, without and with a second context.
OVERHEAD_DEFAULT_MIB: Final = (700.0, 850.0)
CUDA_CONTEXT_MIB: Final = 526.0
UNTIL_READY_MIB: Final = 86.0
CUBLAS_PER_CONTEXT_MIB: Final = 108.0

# What a context takes beyond that for every 1024 tokens of ubatch after the first 1024: at 2048
# 15 to 26 MiB were measured, at 1024 at most 2.
OVERHEAD_LARGE_UBATCH_MIB: Final = 27.0
LARGE_UBATCH: Final = 1024


@dataclass(frozen=True, slots=True)
class MeasuredShape:
    """Figures of one model shape.

    Compute buffer of the target on builds with an f16 mask: ``mask + max(peak, base +
    scratch)``; of the MTP context at most ``max(mtp_peak, mtp_base + mask)``. ``old_*`` are
    the bases of builds with an f32 mask, with quantised and with f16 KV. ``overhead`` is what
    the driver and cuBLAS take after a request, without and with MTP.
    """

    name: str
    peak: float
    base: float
    mtp_peak: float
    mtp_base: float
    old_base: float
    old_base_f16: float
    old_mtp_base: float
    old_mtp_base_f16: float
    overhead: tuple[float, float]


# Keyed by architecture, n_embd and number of trunk layers.
_SHAPES: Final[Mapping[tuple[str, int, int], MeasuredShape]] = MappingProxyType(
    {
        ("qwen35moe", 2048, 40): MeasuredShape(
            name="Qwen3.6-35B-A3B",
            peak=108.3,
            base=56.3,
            mtp_peak=104.0,
            mtp_base=48.0,
            old_base=44.3,
            old_base_f16=36.0,
            old_mtp_base=40.3,
            old_mtp_base_f16=32.0,
            overhead=(727.0, 846.0),
        ),
        ("qwen35", 5120, 64): MeasuredShape(
            name="Qwen3.6-27B",
            peak=142.0,
            base=100.3,
            mtp_peak=130.0,
            mtp_base=68.0,
            old_base=68.3,
            old_base_f16=68.3,
            old_mtp_base=68.3,
            old_mtp_base_f16=68.3,
            overhead=(630.0, 654.0),
        ),
    }
)


def measured_shape(facts: GgufFacts) -> MeasuredShape | None:
    """Return the figures of this model's shape, or None when it was not measured."""
    return _SHAPES.get((fold_arch(facts.arch), facts.n_embd, facts.trunk_layers))


def bound_bytes(n_embd: int, ubatch: int) -> int:
    """Return the upper bound of a compute buffer's base or peak in bytes."""
    return _BOUND_FACTOR * n_embd * ubatch * 4
