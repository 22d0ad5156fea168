"""vLLM's memory as a bound: what is certain to fail, certain to fit, and what is between.

vLLM takes a share of the card, subtracts weights and a profiled activation peak, and fails
when one request of ``max_model_len`` does not fit into the rest (vllm 0.33.0,
``v1/worker/utils.py``, ``v1/worker/gpu_worker.py``, ``v1/core/kv_cache_planning.py``). The
peak depends on kernels and graphs, so it is a range here; for hybrid models, whose pages
vLLM unifies and has over-allocated (vllm#37121), the result is a bound with a wide margin.
"""

import math
from collections.abc import Mapping
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

# Versions from which the same chart may fail to start, because memory is counted more strictly.
STRICTER_VERSIONS: Final[Mapping[tuple[int, int], str]] = MappingProxyType(
    {(0, 21): "CUDA graphs are counted before the KV cache is sized"}
)


@dataclass(frozen=True, slots=True)
class VllmFacts:
    """A checkpoint's shape. ``weight_bytes`` is the sum of its safetensors files.

    ``attention_layers`` counts layers with a KV cache, ``mtp_layers`` those of the MTP head.
    ``is_hybrid``: some layers keep a recurrent state instead.
    """

    weight_bytes: int
    attention_layers: int
    kv_heads: int
    head_dim: int
    mtp_layers: int = 0
    is_hybrid: bool = False
    trained_context: int = 0

    def kv_per_token(self, kv_dtype: str = "auto", *, with_mtp: bool = False) -> int:
        """Return the KV cache of one token in bytes."""
        layers = self.attention_layers + (self.mtp_layers if with_mtp else 0)
        width = 2 * layers * self.kv_heads * self.head_dim
        return math.ceil(width * KV_BYTES.get(kv_dtype, 2.0))


@dataclass(frozen=True, slots=True)
class VllmRequest:
    """Settings that decide vLLM's memory. The default utilisation is that of 0.33.0.

    ``vgpu_cap`` (bytes) limits the memory that the process sees; the share applies to it.
    ``other_apps`` (bytes) is held by other programs on the card.

    Raises UsageError for a share outside 0 to 1 or a context below 1.
    """

    max_model_len: int
    gpu_memory_utilization: float = 0.92
    kv_dtype: str = "auto"
    uses_mtp: bool = False
    vgpu_cap: int | None = None
    other_apps: int = 0

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
    heads = number("num_attention_heads")
    head_dim = number("head_dim") or (number("hidden_size") // heads if heads else 0)
    if not layers or not heads or not head_dim:
        raise UsageError("config.json states no layers, attention heads or head size")
    kinds = scope.get("layer_types")
    interval = number("full_attention_interval")
    if isinstance(kinds, list) and len(kinds) == layers:
        attention = sum("linear" not in str(kind) and "mamba" not in str(kind) for kind in kinds)
    elif interval:
        attention = layers // interval
    else:
        attention = layers
    return VllmFacts(
        weight_bytes=weight_bytes,
        attention_layers=attention,
        kv_heads=number("num_key_value_heads") or heads,
        head_dim=head_dim,
        mtp_layers=number("num_nextn_predict_layers", "mtp_num_hidden_layers"),
        is_hybrid=attention < layers,
        trained_context=number("max_position_embeddings"),
    )


def judge_vllm(facts: VllmFacts, request: VllmRequest, profile: HardwareProfile) -> VllmVerdict:
    """Judge a vLLM configuration on a device.

    ``fits`` holds with the largest activation peak, ``does-not-fit`` fails even with the
    smallest; between the two it is ``tight``.
    """
    total = profile.reported_bytes if request.vgpu_cap is None else request.vgpu_cap
    requested = math.ceil(total * request.gpu_memory_utilization)
    free = min(profile.usable_bytes, total) - request.other_apps
    least, most = ACTIVATION
    available = (requested - facts.weight_bytes - most, requested - facts.weight_bytes - least)
    per_token = facts.kv_per_token(request.kv_dtype, with_mtp=request.uses_mtp)
    needed = per_token * request.max_model_len
    largest = tuple(max(0, room // per_token) if per_token else 0 for room in available)
    reasons: list[str] = []
    starts = requested <= free
    if not starts:
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
