"""Checkpoints of safetensors files for a stand-in hub."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from support.fake_hub import Sparse

DENSE = {
    "architectures": ["DemoForCausalLM"],
    "num_hidden_layers": 20,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 262144,
    "quantization_config": {"quant_method": "compressed-tensors"},
}
"""20 layers with 8 heads of 128: 81 920 bytes of cache per token, 10 GiB for 131072."""

PLAIN = ("model.layers.0.q.weight", "model.layers.19.q.weight")
WITH_HEAD = (*PLAIN, "mtp.layers.0.q.weight")


def safetensors(size: int, tensors: Sequence[str] = PLAIN) -> Sparse:
    """A safetensors file: its header, and a body that is not there."""
    header = json.dumps(
        {name: {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]} for name in tensors}
    ).encode()
    return Sparse(len(header).to_bytes(8, "little") + header, size)


def checkpoint(
    size: int = 15 * 10**9,
    *,
    config: Mapping[str, Any] | None = None,
    tensors: Sequence[str] = PLAIN,
    shards: int = 2,
) -> dict[str, bytes | Sparse]:
    """A repository's files; one shard makes a repository without an index."""
    files: dict[str, bytes | Sparse] = {
        "config.json": json.dumps({**DENSE, **(config or {})}).encode(),
        "tokenizer.json": b"{}",
        "pytorch_model.bin": Sparse(b"old", size),
    }
    if shards == 1:
        return {**files, "model.safetensors": safetensors(size, tensors)}
    names = [f"model-{number + 1:05}-of-{shards:05}.safetensors" for number in range(shards)]
    index = {name: names[number % shards] for number, name in enumerate(tensors)}
    files["model.safetensors.index.json"] = json.dumps({"weight_map": index}).encode()
    return files | {name: safetensors(size // shards) for name in names}
