"""How a model is asked to run: the settings that decide memory."""

from dataclasses import dataclass
from typing import Final

from olares_apps.errors import UsageError
from olares_apps.fit.behaviours import SPEC_TYPES
from olares_apps.fit.gguf_facts import GgufFacts

__all__ = ["ContextShape", "MemoryRequest", "pad"]

# Cells are allocated in multiples of 256 (GGML_PAD in llama_context).
CELL_STEP: Final = 256
AUTO_SLOTS: Final = 4
_LARGEST_CTX: Final = 2**26


def pad(value: int, step: int = CELL_STEP) -> int:
    """Return ``value`` rounded up to a multiple of ``step``."""
    return -(-value // step) * step


@dataclass(frozen=True, slots=True)
class ContextShape:
    """Cells of the KV cache: ``cells`` per stream, ``streams`` of them, ``slots`` sequences."""

    cells: int
    streams: int
    slots: int
    is_unified: bool

    @property
    def total(self) -> int:
        """Return the cells of all streams."""
        return self.cells * self.streams


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """Settings of llama-server that decide memory, with its defaults.

    ``ctx`` is tokens over all slots, 0 for the trained context. ``parallel`` None is the
    server's own choice: four slots on one unified cache. ``draft_kv_*`` None is the build's
    choice. ``mmproj_bytes`` is the size of the projector file. ``gpu_layers`` None is all;
    other values are estimated as if all were on the GPU. ``no_vmm`` says that the image was
    built with GGML_CUDA_NO_VMM. ``cache_ram_mib`` and ``ctx_checkpoints`` are host memory:
    the prompt cache in MiB (-1 is unlimited) and the checkpoints per slot. ``unmodelled`` says
    what else was asked for that the estimate does not follow.

    Raises UsageError for values that no server takes.
    """

    ctx: int = 0
    kv_k: str = "f16"
    kv_v: str = "f16"
    parallel: int | None = None
    kv_unified: bool | None = None
    ubatch: int = 512
    batch: int = 2048
    flash_attn: str = "auto"
    spec_type: str | None = None
    n_max: int | None = None
    draft_kv_k: str | None = None
    draft_kv_v: str | None = None
    swa_full: bool = False
    mmproj_bytes: int = 0
    gpu_layers: int | None = None
    no_vmm: bool = False
    cache_ram_mib: int = 8192
    ctx_checkpoints: int = 32
    unmodelled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        limits = {
            "ctx": (self.ctx, 0, _LARGEST_CTX),
            "parallel": (1 if self.parallel is None else self.parallel, 1, 4096),
            "ubatch": (self.ubatch, 1, 2**20),
            "batch": (self.batch, 1, 2**20),
            "n_max": (1 if self.n_max is None else self.n_max, 1, 1024),
            "mmproj_bytes": (self.mmproj_bytes, 0, 2**50),
            "cache_ram_mib": (self.cache_ram_mib, -1, 2**30),
            "ctx_checkpoints": (self.ctx_checkpoints, 0, 2**20),
        }
        for name, (value, low, high) in limits.items():
            if not low <= value <= high:
                raise UsageError(f"{name} {value} is outside {low} to {high}")
        if self.flash_attn not in ("on", "off", "auto"):
            raise UsageError(f"flash_attn {self.flash_attn!r} is not on, off or auto")

    @property
    def speculation(self) -> str | None:
        """Return the spec type by its upstream name, None when there is no speculation."""
        if self.spec_type in (None, "", "none"):
            return None
        return SPEC_TYPES.get(self.spec_type or "", self.spec_type)

    @property
    def uses_mtp(self) -> bool:
        """Return whether the model's own head drafts."""
        return self.speculation == "draft-mtp"

    @property
    def uses_flash_attention(self) -> bool:
        """Return whether flash attention is on; auto turns it on where the GPU has it."""
        return self.flash_attn != "off"

    @property
    def physical_batch(self) -> int:
        """Return the ubatch in tokens, which the server caps at the batch."""
        return min(self.ubatch, self.batch)

    def context(self, facts: GgufFacts) -> ContextShape:
        """Return the cells of the KV cache for this model."""
        slots = AUTO_SLOTS if self.parallel is None else self.parallel
        unified = self.parallel is None if self.kv_unified is None else self.kv_unified
        unified = unified or slots == 1
        cells = pad(self.ctx or facts.context_length or CELL_STEP)
        if not unified:
            cells = pad(max(cells // slots, 1))
        return ContextShape(cells, 1 if unified else slots, slots, unified)
