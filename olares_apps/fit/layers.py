"""Which layers keep a KV cache, which a recurrent state, and how wide their rows are.

Follows ``llama_model::create_memory`` and ``llama_hparams`` of llama.cpp b11434.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from olares_apps.fit.behaviours import fold_arch
from olares_apps.fit.gguf_facts import GgufFacts, PerLayer, value_at

__all__ = ["AttentionLayer", "LayerPlan", "plan_layers"]


@dataclass(frozen=True, slots=True)
class AttentionLayer:
    """One layer with a KV cache: elements of a K row and a V row; V is 0 where K holds both."""

    index: int
    key_elements: int
    value_elements: int
    is_windowed: bool = False


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """The layers that hold memory.

    ``state_elements`` is the size of one recurrent layer's state for one sequence, in f32
    elements. ``window`` is the sliding window in tokens, 0 when no layer has one.
    ``not_modelled`` names caches that this plan leaves out.
    """

    attention: tuple[AttentionLayer, ...]
    mtp: tuple[AttentionLayer, ...]
    recurrent_layers: int
    state_elements: int
    window: int
    not_modelled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Window:
    """Default pattern of an architecture: every ``period``-th layer is full."""

    period: int
    dense_first: bool = False
    window: int = 0


# Defaults of ``load_swa_pattern`` per architecture (src/models/*.cpp, b11434); a pattern in
# the file wins. Architectures not listed here ignore the window unless the file has an array.
_WINDOWS: Final[Mapping[str, _Window]] = MappingProxyType(
    {
        "afmoe": _Window(4),
        "cohere2": _Window(4),
        "cohere2moe": _Window(4, dense_first=True),
        "deepseek4": _Window(0),
        "exaone4": _Window(4),
        "exaonemoe": _Window(4, window=128),
        "gemma2": _Window(2, window=4096),
        "gemma3": _Window(6),
        "gemma3n": _Window(5),
        "gptoss": _Window(2),
        "laguna": _Window(4, dense_first=True),
        "llama4": _Window(4, window=8192),
        "mellum": _Window(4),
        "museglimmer": _Window(4),
        "olmo2": _Window(4),
        "plamo3": _Window(8),
        "smallthinker": _Window(4, dense_first=True, window=4096),
    }
)

# Hybrid architectures whose recurrent layers follow full_attention_interval (default 4).
_INTERVAL_ARCHITECTURES: Final = frozenset("qwen35 qwen35moe qwen3next qwen4exp minimax01".split())
_RECURRENT_ARCHITECTURES: Final = frozenset("mamba mamba2 rwkv6 rwkv6qwen2 rwkv7 arwkv7".split())
# Architectures where every layer has both an attention cache and a recurrent state.
_BOTH: Final = frozenset({"falconh1"})
# Architectures with blocks that have neither attention nor a state.
_BARE: Final = frozenset({"deci"})
# Layers that keep their own KV when the file has no shared_kv_layers key.
_OWN_KV_LAYERS: Final[Mapping[str, int]] = MappingProxyType({"gemma3n": 20})

_NOT_MODELLED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "deepseek4": "the compressed caches of deepseek4",
        "qwen4exp": "the convolution history of qwen4exp",
        "minimax01": "the linear attention state of minimax-01",
    }
)


def plan_layers(facts: GgufFacts) -> LayerPlan:
    """Sort a model's layers by the memory they hold."""
    arch = fold_arch(facts.arch)
    trunk = range(facts.trunk_layers)
    windowed, window = _windowed_layers(facts, arch)
    recurrent = {layer for layer in trunk if _is_recurrent(facts, arch, layer)}
    with_kv = _layers_with_own_kv(facts, arch)
    attention = tuple(
        row
        for layer in trunk
        if (layer not in recurrent or arch in _BOTH) and layer < with_kv
        if (row := _row(facts, layer, layer in windowed)).key_elements
    )
    mtp = tuple(
        _row(facts, layer, layer in windowed)
        for layer in range(facts.trunk_layers, facts.block_count)
    )
    not_modelled = [_NOT_MODELLED[arch]] if arch in _NOT_MODELLED else []
    bare = sum(
        layer < with_kv and layer not in recurrent and not value_at(facts.head_count_kv, layer)
        for layer in trunk
    )
    if bare and attention and arch not in _BARE and not _state_elements(facts):
        not_modelled.append(f"whatever {bare} of {len(trunk)} blocks without KV heads may keep")
    if facts.indexer_key_length:
        not_modelled.append("the key cache of the sparse attention indexer")
    return LayerPlan(
        attention=attention,
        mtp=mtp,
        recurrent_layers=len(recurrent),
        state_elements=_state_elements(facts),
        window=window if any(layer.is_windowed for layer in attention) else 0,
        not_modelled=tuple(not_modelled),
    )


def _row(facts: GgufFacts, layer: int, is_windowed: bool) -> AttentionLayer:
    """Return the row widths of a layer; MLA caches K only, which holds the compressed V."""
    heads = value_at(facts.head_count_kv, layer)
    key = (facts.key_length_swa if is_windowed else 0) or facts.key_length
    value = (facts.value_length_swa if is_windowed else 0) or facts.value_length
    is_mla = facts.key_length_mla > 0 and facts.value_length_mla > 0
    return AttentionLayer(layer, heads * key, 0 if is_mla else heads * value, is_windowed)


def _is_recurrent(facts: GgufFacts, arch: str, layer: int) -> bool:
    if arch in _RECURRENT_ARCHITECTURES or arch in _BOTH:
        return True
    if facts.recurrent_layers is not None:
        return value_at(facts.recurrent_layers, layer) > 0
    if facts.full_attention_interval or arch in _INTERVAL_ARCHITECTURES:
        return (layer + 1) % (facts.full_attention_interval or 4) != 0
    has_state = facts.ssm_state_size or facts.shortconv_l_cache or facts.kda_head_dim
    if not has_state or value_at(facts.head_count_kv, layer):
        return False
    # nemotron_h: a layer with a feed-forward width is neither attention nor state.
    return not (arch.startswith("nemotronh") and value_at(facts.feed_forward_length, layer) > 0)


def _windowed_layers(facts: GgufFacts, arch: str) -> tuple[frozenset[int], int]:
    """Return the layers with a sliding window, and the window in tokens."""
    default = _WINDOWS.get(arch)
    window = facts.sliding_window or (default.window if default else 0)
    pattern = facts.sliding_window_pattern
    if not window:
        return frozenset(), 0
    if isinstance(pattern, tuple):
        chosen = (layer for layer in range(facts.block_count) if value_at(pattern, layer))
        return frozenset(chosen), window
    if default is None:
        return frozenset(), 0
    period = pattern if pattern is not None else default.period
    return frozenset(_by_period(facts.trunk_layers, period, default.dense_first)), window


def _by_period(layers: int, period: PerLayer, dense_first: bool) -> list[int]:
    """Return the windowed layers of a pattern; period 0 is every layer, 1 is none."""
    every = period if isinstance(period, int) else 0
    if every == 0:
        return list(range(layers))
    full = 0 if dense_first else every - 1
    return [layer for layer in range(layers) if layer % every != full]


def _layers_with_own_kv(facts: GgufFacts, arch: str) -> int:
    """Return how many layers from the start own a cache; later ones share it."""
    if facts.shared_kv_layers:
        return max(facts.block_count - facts.shared_kv_layers, 0)
    return _OWN_KV_LAYERS.get(arch, facts.block_count)


def _state_elements(facts: GgufFacts) -> int:
    """Return R + S of one recurrent layer (llama_hparams::n_embd_r and n_embd_s)."""
    heads = (
        facts.head_count if isinstance(facts.head_count, int) else max(facts.head_count, default=0)
    )
    if facts.wkv_head_size:
        return facts.n_embd * ((facts.token_shift_count or 2) + facts.wkv_head_size)
    if facts.shortconv_l_cache:
        return facts.n_embd * (facts.shortconv_l_cache - 1)
    steps = max(facts.ssm_conv_kernel - 1, 0)
    if facts.kda_head_dim:
        width = heads * facts.kda_head_dim
        return 3 * (steps or 3) * width + facts.kda_head_dim * width
    channels = facts.ssm_inner_size + 2 * facts.ssm_group_count * facts.ssm_state_size
    return steps * channels + facts.ssm_state_size * facts.ssm_inner_size
