"""vLLM's memory as a bound: what is certain to fail, certain to fit, and what is between.

vLLM takes a share of the card, subtracts weights and a profiled activation peak, and fails
when one request of ``max_model_len`` does not fit into the rest (vllm 0.33.0,
``v1/worker/utils.py``, ``v1/worker/gpu_worker.py``, ``v1/core/kv_cache_planning.py``). The
peak depends on kernels and graphs, so it is a range here; for hybrid models, whose pages
vLLM unifies and has over-allocated (vllm#37121), the result is a bound with a wide margin.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from olares_apps.errors import UsageError
from olares_apps.fit.verdict import GIB, FitState
from olares_apps.hardware import HardwareProfile

__all__ = [
    "STRICTER_VERSIONS",
    "VllmFacts",
    "VllmRequest",
    "VllmVerdict",
    "judge_vllm",
    "stricter_between",
    "vllm_facts",
]

GB: Final = 10**9

# Activation peak and CUDA graphs: least and most that was seen beside the weights.
ACTIVATION: Final = (GB, 5 * GB // 2)

# Bytes per element of --kv-cache-dtype; other types count as two.
KV_BYTES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "auto": 2.0,
        "float16": 2.0,
        "bfloat16": 2.0,
        "fp8": 1.0,
        "fp8_e4m3": 1.0,
        "fp8_e5m2": 1.0,
        "fp8_inc": 1.0,
    }
)

# Words of layer kinds that have no KV cache.
_UNCACHED: Final = ("linear", "mamba", "conv", "recurrent", "mlp", "moe")

# Versions from which the same chart may fail to start, because memory is counted more strictly.
STRICTER_VERSIONS: Final[Mapping[tuple[int, int], str]] = MappingProxyType(
    {(0, 21): "CUDA graphs are counted before the KV cache is sized"}
)


@dataclass(frozen=True, slots=True)
class VllmFacts:
    """A checkpoint's shape. ``weight_bytes`` is the sum of its safetensors files.

    ``attention_layers`` counts layers that cache the whole context, ``windowed_layers`` those
    that cache ``window`` tokens, ``mtp_layers`` those of the MTP head. ``latent_width`` is the
    elements per token of multi-head latent attention, whose layers cache one row for keys and
    values. ``is_hybrid``: some layers keep a recurrent state instead.
    """

    weight_bytes: int
    attention_layers: int
    kv_heads: int
    head_dim: int
    mtp_layers: int = 0
    is_hybrid: bool = False
    trained_context: int = 0
    windowed_layers: int = 0
    window: int = 0
    latent_width: int = 0

    def kv_per_token(self, kv_dtype: str = "auto", *, with_mtp: bool = False) -> int:
        """Return what one more token of a long context adds to the KV cache, in bytes."""
        layers = self.attention_layers + (self.mtp_layers if with_mtp else 0)
        return math.ceil(layers * self._row(kv_dtype))

    def kv_bytes(
        self, tokens: int, kv_dtype: str = "auto", *, with_mtp: bool = False, step: int = 0
    ) -> int:
        """Return the KV cache of one request of ``tokens`` in bytes.

        A windowed layer keeps its window and the ``step`` tokens of one batch at most.
        """
        windowed = math.ceil(self.windowed_layers * self._row(kv_dtype))
        whole = self.kv_per_token(kv_dtype, with_mtp=with_mtp) * tokens
        return whole + windowed * min(tokens, self.window + step)

    def _row(self, kv_dtype: str) -> float:
        width = self.latent_width or 2 * self.kv_heads * self.head_dim
        return width * KV_BYTES.get(kv_dtype, 2.0)


@dataclass(frozen=True, slots=True)
class VllmRequest:
    """Settings that decide vLLM's memory. The default utilisation is that of 0.33.0.

    ``vgpu_cap`` (bytes) limits the memory that the process sees; the share applies to it.
    ``other_apps`` (bytes) is held by other programs on the card. ``drafter_bytes`` are the
    weights of a separate draft model, ``offload_bytes`` weights kept on the host, ``kv_pool``
    (bytes) a cache size that replaces what is left of the share. ``batched_tokens`` is the
    most tokens of one step; 8192 is the largest default.

    Raises UsageError for a share outside 0 to 1 or a context below 1.
    """

    max_model_len: int
    gpu_memory_utilization: float = 0.92
    kv_dtype: str = "auto"
    uses_mtp: bool = False
    vgpu_cap: int | None = None
    other_apps: int = 0
    drafter_bytes: int = 0
    offload_bytes: int = 0
    kv_pool: int | None = None
    batched_tokens: int = 8192

    def __post_init__(self) -> None:
        if not 0 < self.gpu_memory_utilization <= 1:
            raise UsageError(
                f"gpu_memory_utilization {self.gpu_memory_utilization} is not above 0 and at most 1"
            )
        if self.max_model_len < 1:
            raise UsageError(f"max_model_len {self.max_model_len} is below 1")


@dataclass(frozen=True, slots=True)
class VllmVerdict:
    """The budget in bytes, as ranges from the worst to the best case.

    ``largest`` is the range of the largest context in tokens. ``reasons`` say what fails or
    is open, with the figures.
    """

    state: FitState
    requested: int
    free: int
    kv_needed: int
    kv_available: tuple[int, int]
    largest: tuple[int, int]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def vllm_facts(config: Mapping[str, Any], weight_bytes: int) -> VllmFacts:
    """Take the shape out of a config.json.

    Raises UsageError when layers, heads or head size are not stated.
    """
    text = config.get("text_config")
    scope: Mapping[str, Any] = {**config, **text} if isinstance(text, Mapping) else config

    def number(*names: str) -> int:
        found = (scope.get(name) for name in names)
        return next((value for value in found if isinstance(value, int) and value > 0), 0)

    layers = number("num_hidden_layers")
    latent = number("kv_lora_rank")
    heads = number("num_attention_heads")
    head_dim = number("head_dim") or (number("hidden_size") // heads if heads else 0)
    if not layers or not heads or not head_dim:
        raise UsageError("config.json states no layers, attention heads or head size")
    attention, windowed = _kinds(scope, layers, number)
    return VllmFacts(
        weight_bytes=weight_bytes,
        attention_layers=attention,
        kv_heads=number("num_key_value_heads") or heads,
        head_dim=head_dim,
        mtp_layers=number("num_nextn_predict_layers", "mtp_num_hidden_layers"),
        is_hybrid=attention + windowed < layers,
        trained_context=number("max_position_embeddings"),
        windowed_layers=windowed,
        window=number("sliding_window") if windowed else 0,
        latent_width=latent + number("qk_rope_head_dim") if latent else 0,
    )


def _kinds(scope: Mapping[str, Any], layers: int, number: Callable[[str], int]) -> tuple[int, int]:
    """Return how many layers cache the whole context, and how many a window.

    From ``layer_types``, else from an interval or a pattern such as nemotron's ``M-M*-``.
    """
    kinds = scope.get("layer_types")
    pattern = scope.get("hybrid_override_pattern")
    if isinstance(kinds, list) and len(kinds) == layers:
        names = [str(kind) for kind in kinds]
        windowed = sum("sliding" in name for name in names) if number("sliding_window") else 0
        cached = sum(not any(word in name for word in _UNCACHED) for name in names)
        return cached - windowed, windowed
    if isinstance(pattern, str) and len(pattern) == layers:
        return pattern.count("*"), 0
    interval = number("full_attention_interval")
    return (layers // interval if interval else layers), 0


def judge_vllm(facts: VllmFacts, request: VllmRequest, profile: HardwareProfile) -> VllmVerdict:
    """Judge a vLLM configuration on a device.

    ``fits`` holds with the largest activation peak, ``does-not-fit`` fails even with the
    smallest; between the two it is ``tight``.
    """
    total = profile.reported_bytes if request.vgpu_cap is None else request.vgpu_cap
    requested = math.ceil(total * request.gpu_memory_utilization)
    free = min(profile.usable_bytes, total) - request.other_apps
    least, most = ACTIVATION
    weights = max(0, facts.weight_bytes - request.offload_bytes) + request.drafter_bytes
    if request.kv_pool is None:
        available = (requested - weights - most, requested - weights - least)
    else:
        available = (request.kv_pool, request.kv_pool)
    needed = _kv(facts, request, request.max_model_len)
    largest = tuple(_largest(facts, request, room) for room in available)
    reasons: list[str] = []
    starts = requested <= free
    if request.kv_pool is not None:
        # A cache of a fixed size switches the share off; everything has to be free at once.
        whole = weights + request.kv_pool
        starts = whole + least <= free
        requested = whole + most
    if not starts and request.kv_pool is not None:
        reasons.append(
            f"weights {_gib(weights)} + KV {_gib(request.kv_pool)} + at least {_gib(least)} do not "
            f"fit into usable {_gib(profile.usable_bytes, 2)}"
        )
    elif not starts:
        others = f" - other apps {_gib(request.other_apps)}" if request.other_apps else ""
        reasons.append(
            f"{request.gpu_memory_utilization:g} x {_gib(total, 2)} = {_gib(requested)} > "
            f"usable {_gib(profile.usable_bytes, 2)}{others}: vLLM refuses to start"
        )
    if needed > available[0]:
        is_open = needed <= available[1]
        reasons.append(
            f"max_model_len {request.max_model_len} needs KV {_gib(needed)}, available "
            f"{_gib(max(available[0], 0))} to {_gib(max(available[1], 0))} "
            f"(max {_thousands(largest[0])} to {_thousands(largest[1])} tokens)"
            + (": depends on the activation peak" if is_open else "")
        )
    if facts.trained_context and request.max_model_len > facts.trained_context:
        reasons.append(
            f"max_model_len {request.max_model_len} is above the model's "
            f"max_position_embeddings {facts.trained_context}"
        )
    exceeds = bool(facts.trained_context) and request.max_model_len > facts.trained_context
    if not starts or needed > available[1] or exceeds:
        state = FitState.DOES_NOT_FIT
    else:
        state = FitState.TIGHT if needed > available[0] or facts.is_hybrid else FitState.FITS
    warnings: list[str] = []
    if facts.is_hybrid:
        warnings.append(
            "hybrid model: vLLM unifies its pages and has over-allocated them (vllm#37121); "
            "the figures are a lower bound"
        )
    if request.kv_dtype not in KV_BYTES:
        warnings.append(f"KV type {request.kv_dtype} is counted as 2 bytes per element")
    return VllmVerdict(
        state=state,
        requested=requested,
        free=free,
        kv_needed=needed,
        kv_available=available,
        largest=(largest[0], largest[1]),
        reasons=tuple(reasons),
        warnings=tuple(warnings),
    )


def _kv(facts: VllmFacts, request: VllmRequest, tokens: int) -> int:
    return facts.kv_bytes(
        tokens, request.kv_dtype, with_mtp=request.uses_mtp, step=request.batched_tokens
    )


def _largest(facts: VllmFacts, request: VllmRequest, room: int) -> int:
    """Return the largest context in tokens whose cache fits into ``room`` bytes."""
    limit = facts.trained_context or 2**26
    if room <= 0 or not _kv(facts, request, limit):
        return 0
    # bisect_right over a need that never falls: the first context that is too large, less one.
    return bisect_right(range(1, limit + 1), room, key=lambda ctx: _kv(facts, request, ctx))


def stricter_between(old: tuple[int, int], new: tuple[int, int]) -> tuple[str, ...]:
    """Return why a chart that ran on version ``old`` may fail to start on ``new``."""
    return tuple(
        f"vLLM {major}.{minor}: {why}"
        for (major, minor), why in STRICTER_VERSIONS.items()
        if old < (major, minor) <= new
    )


def _gib(size: int, digits: int = 1) -> str:
    return f"{size / GIB:.{digits}f}GiB"


def _thousands(tokens: int) -> str:
    return f"~{tokens // 1000}k"
