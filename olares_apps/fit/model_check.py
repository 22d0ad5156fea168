"""Whether header facts describe a model that a server could load, before anything is computed.

A figure made from a header that describes none looks like any other figure. What llama.cpp
b11434 refuses at the start (``llama_model_loader::get_key_or_arr``, the loaders of
``src/models``) is refused here by name.
"""

from collections.abc import Iterator

from olares_apps.fit.gguf_facts import FactsError, GgufFacts, largest_value, value_at
from olares_apps.fit.layers import plan_layers

__all__ = ["is_impossible_size", "require_model", "unaccounted_bytes"]

_PADDING = 2**20
"""Bytes: tensors are aligned to some dozens each."""
_HINT = "the file is no language model, or damaged: compare it with its repository's page"


def require_model(facts: GgufFacts) -> None:
    """Raise FactsError for facts of a file that cannot be served as the model itself.

    Not for projectors, adapters and drafters: their headers may lack all of this.
    """
    fault = next(_faults(facts), None)
    if fault:
        raise FactsError(f"{facts.arch}: {fault}", hint=_HINT)


def unaccounted_bytes(facts: GgufFacts) -> int:
    """Return how many bytes a file has beyond its header and tensors, padding left out.

    Zero where it cannot be said: of a tensor type without a known size the rest of the file is
    taken for the tensor.
    """
    if facts.unknown_types:
        return 0
    beyond = facts.file_size - facts.header_bytes - facts.weight_bytes
    return beyond if beyond > _PADDING else 0


def is_impossible_size(facts: GgufFacts) -> bool:
    """Say whether more of a file is unaccounted for than its header accounts for.

    llama.cpp loads a file with something behind its tensors, so a little more is only odd. A
    file of more than twice its tensors is another one than its header describes, or holds
    something else: what is downloaded and what is estimated are then two models.
    """
    return 2 * unaccounted_bytes(facts) > facts.file_size


def _faults(facts: GgufFacts) -> Iterator[str]:
    if not facts.block_count:
        yield "the header states no blocks (block_count)"
    if facts.nextn >= facts.block_count:
        yield f"all {facts.block_count} blocks are MTP blocks (nextn_predict_layers)"
    if not facts.n_embd:
        yield "the header states no width (embedding_length)"
    if not facts.weight_bytes:
        yield "the file holds no tensors"
    if is_impossible_size(facts):
        known = facts.file_size - unaccounted_bytes(facts)
        yield f"the file has {facts.file_size} bytes, its header accounts for {known}"
    if largest_value(facts.head_count) and not largest_value(facts.head_count_kv):
        yield "the header states attention heads and no KV heads (attention.head_count_kv)"
    if facts.full_attention_interval and facts.recurrent_layers is None:
        step = facts.full_attention_interval
        for layer in range(step - 1, facts.trunk_layers, step):
            if not value_at(facts.head_count_kv, layer):
                yield f"block {layer} is one with attention and has no KV heads"
    plan = plan_layers(facts)
    if not (plan.attention or plan.recurrent_layers or plan.not_modelled):
        yield "no block keeps a KV cache or a state (attention.head_count is missing)"
