"""A small GGUF writer for tests, and the real shapes of models, header only."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from olares_apps.fit.byte_source import BytesSource
from olares_apps.fit.gguf_types import TENSOR_TYPES

TYPE_IDS = {kind.name: number for number, kind in TENSOR_TYPES.items()}
CODES = {
    "uint8": (0, "B"),
    "int8": (1, "b"),
    "uint16": (2, "H"),
    "int16": (3, "h"),
    "uint32": (4, "I"),
    "int32": (5, "i"),
    "float32": (6, "f"),
    "bool": (7, "?"),
    "string": (8, ""),
    "array": (9, ""),
    "uint64": (10, "Q"),
    "int64": (11, "q"),
    "float64": (12, "d"),
}


@dataclass(frozen=True)
class Typed:
    """A metadata value with its GGUF type; arrays give the type of their elements."""

    kind: str
    value: Any
    of: str = ""


@dataclass(frozen=True)
class Tensor:
    """A tensor to declare.

    ``size`` overrides the table for types that have no entry, ``offset`` the order of the file.
    """

    name: str
    dims: tuple[int, ...]
    kind: str | int = "F32"
    size: int | None = None
    offset: int | None = None

    @property
    def type_id(self) -> int:
        return self.kind if isinstance(self.kind, int) else TYPE_IDS[self.kind]

    @property
    def bytes(self) -> int:
        if self.size is not None:
            return self.size
        return TENSOR_TYPES[self.type_id].size(prod(self.dims))


def as_typed(value: Any) -> Typed:
    """Choose the usual GGUF type for a Python value."""
    match value:
        case Typed():
            return value
        case bool():
            return Typed("bool", value)
        case int():
            return Typed("uint32", value)
        case float():
            return Typed("float32", value)
        case str():
            return Typed("string", value)
        case list() | tuple():
            return Typed("array", value, as_typed(value[0]).kind if value else "uint32")
    raise TypeError(value)


def string_bytes(text: str | bytes, order: str = "<") -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack(order + "Q", len(raw)) + raw


def value_bytes(typed: Typed, order: str = "<") -> bytes:
    code = CODES[typed.kind][1]
    if typed.kind == "string":
        return string_bytes(typed.value, order)
    if typed.kind == "array":
        of_number, of_code = CODES[typed.of]
        head = struct.pack(order + "IQ", of_number, len(typed.value))
        if typed.of == "string":
            return head + b"".join(string_bytes(item, order) for item in typed.value)
        if typed.of == "array":
            return head + b"".join(value_bytes(item, order) for item in typed.value)
        return head + struct.pack(f"{order}{len(typed.value)}{of_code}", *typed.value)
    return struct.pack(order + code, typed.value)


def gguf_header(
    metadata: Mapping[str, Any] | None = None,
    tensors: Sequence[Tensor] = (),
    *,
    version: int = 3,
    order: str = "<",
    tensor_count: int | None = None,
    key_count: int | None = None,
) -> bytes:
    """Return the header of a GGUF file, padded to where its data begins."""
    metadata = metadata or {}
    count = len(tensors) if tensor_count is None else tensor_count
    keys = len(metadata) if key_count is None else key_count
    alignment = int(metadata.get("general.alignment", 32))
    parts = [b"GGUF", struct.pack(order + "IQQ", version, count, keys)]
    for key, value in metadata.items():
        typed = as_typed(value)
        parts += [string_bytes(key, order), struct.pack(order + "I", CODES[typed.kind][0])]
        parts.append(value_bytes(typed, order))
    offset = 0
    for tensor in tensors:
        parts.append(string_bytes(tensor.name, order))
        parts.append(
            struct.pack(
                f"{order}I{len(tensor.dims)}QIQ",
                len(tensor.dims),
                *tensor.dims,
                tensor.type_id,
                offset if tensor.offset is None else tensor.offset,
            )
        )
        offset += -(-tensor.bytes // alignment) * alignment
    header = b"".join(parts)
    return header + bytes(-len(header) % alignment)


def data_bytes(tensors: Sequence[Tensor], alignment: int = 32) -> int:
    """Return the length of the data section: every tensor padded, the last one too."""
    return sum(-(-tensor.bytes // alignment) * alignment for tensor in tensors)


def gguf_source(
    metadata: Mapping[str, Any] | None = None, tensors: Sequence[Tensor] = (), **options: Any
) -> BytesSource:
    """Return a header whose file claims its full size but holds no weights."""
    header = gguf_header(metadata, tensors, **options)
    alignment = int((metadata or {}).get("general.alignment", 32))
    return BytesSource(header, size=len(header) + data_bytes(tensors, alignment))


# The two models of the reference measurements. ``head`` says what the file has of its MTP
# head: "full", "none" or "key" (the key without the tensors).


@dataclass(frozen=True)
class Shape:
    """Hyper-parameters of a hybrid Qwen model with gated delta nets."""

    arch: str
    layers: int
    embd: int
    heads: int
    heads_kv: int
    head_dim: int
    dt_rank: int
    vocab: int
    ff: int
    experts: int = 0
    groups: int = 16
    state: int = 128
    conv: int = 4
    interval: int = 4
    context: int = 262144

    @property
    def inner(self) -> int:
        return self.dt_rank * self.state


QWEN36_35B = Shape("qwen35moe", 40, 2048, 16, 2, 256, 32, 248320, 512, experts=256)
QWEN36_27B = Shape("qwen35", 64, 5120, 24, 4, 256, 48, 248320, 17408)
TINY_MOE = Shape("qwen35moe", 8, 256, 4, 2, 64, 2, 512, 256, experts=4, groups=1, context=4096)
TINY_DENSE = Shape("qwen35", 4, 256, 4, 2, 64, 2, 512, 512, groups=1, context=4096)


def metadata_of(shape: Shape, head: str = "full") -> dict[str, Any]:
    blocks = shape.layers + (head != "none")
    keys: dict[str, Any] = {
        "general.architecture": shape.arch,
        "general.name": "Test model",
        "general.file_type": 12,
    }
    arch: dict[str, Any] = {
        "block_count": blocks,
        "context_length": shape.context,
        "embedding_length": shape.embd,
        "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.heads_kv,
        "attention.key_length": shape.head_dim,
        "attention.value_length": shape.head_dim,
        "full_attention_interval": shape.interval,
        "ssm.conv_kernel": shape.conv,
        "ssm.state_size": shape.state,
        "ssm.group_count": shape.groups,
        "ssm.time_step_rank": shape.dt_rank,
        "ssm.inner_size": shape.inner,
    }
    if shape.experts:
        arch |= {"expert_count": shape.experts, "expert_used_count": min(8, shape.experts)}
    else:
        arch["feed_forward_length"] = shape.ff
    if head != "none":
        arch["nextn_predict_layers"] = 1
    return keys | {f"{shape.arch}.{key}": value for key, value in arch.items()}


def block_tensors(shape: Shape, block: int, experts: str, rest: str) -> Iterable[Tensor]:
    """Yield the tensors of one trunk block; norms and routers stay F32."""
    is_attention = (block + 1) % shape.interval == 0 or block >= shape.layers
    name = f"blk.{block}."
    yield Tensor(name + "attn_norm.weight", (shape.embd,))
    yield Tensor(name + "post_attention_norm.weight", (shape.embd,))
    if is_attention:
        width = shape.heads * shape.head_dim
        kv = shape.heads_kv * shape.head_dim
        yield Tensor(name + "attn_q.weight", (shape.embd, 2 * width), rest)
        yield Tensor(name + "attn_k.weight", (shape.embd, kv), rest)
        yield Tensor(name + "attn_v.weight", (shape.embd, kv), rest)
        yield Tensor(name + "attn_output.weight", (width, shape.embd), rest)
        yield Tensor(name + "attn_q_norm.weight", (shape.head_dim,))
        yield Tensor(name + "attn_k_norm.weight", (shape.head_dim,))
    else:
        channels = shape.inner + 2 * shape.groups * shape.state
        yield Tensor(name + "attn_qkv.weight", (shape.embd, channels), rest)
        yield Tensor(name + "attn_gate.weight", (shape.embd, shape.inner), rest)
        yield Tensor(name + "ssm_conv1d.weight", (shape.conv, channels))
        yield Tensor(name + "ssm_dt.bias", (shape.dt_rank,))
        yield Tensor(name + "ssm_a", (shape.dt_rank,))
        yield Tensor(name + "ssm_beta.weight", (shape.embd, shape.dt_rank), rest)
        yield Tensor(name + "ssm_alpha.weight", (shape.embd, shape.dt_rank), rest)
        yield Tensor(name + "ssm_norm.weight", (shape.state,))
        yield Tensor(name + "ssm_out.weight", (shape.inner, shape.embd), rest)
    if shape.experts:
        yield Tensor(name + "ffn_gate_inp.weight", (shape.embd, shape.experts))
        for part in ("gate", "up"):
            yield Tensor(
                f"{name}ffn_{part}_exps.weight", (shape.embd, shape.ff, shape.experts), experts
            )
        yield Tensor(name + "ffn_down_exps.weight", (shape.ff, shape.embd, shape.experts), experts)
        yield Tensor(name + "ffn_gate_inp_shexp.weight", (shape.embd,))
        for part in ("gate", "up"):
            yield Tensor(f"{name}ffn_{part}_shexp.weight", (shape.embd, shape.ff), rest)
        yield Tensor(name + "ffn_down_shexp.weight", (shape.ff, shape.embd), rest)
    else:
        for part in ("gate", "up"):
            yield Tensor(f"{name}ffn_{part}.weight", (shape.embd, shape.ff), rest)
        yield Tensor(name + "ffn_down.weight", (shape.ff, shape.embd), rest)


def tensors_of(
    shape: Shape,
    head: str = "full",
    *,
    experts: str = "Q3_K",
    rest: str = "Q8_0",
    embedding: str = "Q4_K",
    tied: bool = False,
) -> list[Tensor]:
    """Return every tensor of a model, in file order."""
    tensors = [Tensor("token_embd.weight", (shape.embd, shape.vocab), embedding)]
    tensors.append(Tensor("output_norm.weight", (shape.embd,)))
    if not tied:
        tensors.append(Tensor("output.weight", (shape.embd, shape.vocab), rest))
    for block in range(shape.layers):
        tensors += block_tensors(shape, block, experts, rest)
    if head == "full":
        block = shape.layers
        tensors += block_tensors(shape, block, experts, rest)
        tensors += [
            Tensor(f"blk.{block}.nextn.eh_proj.weight", (2 * shape.embd, shape.embd), rest),
            Tensor(f"blk.{block}.nextn.enorm.weight", (shape.embd,)),
            Tensor(f"blk.{block}.nextn.hnorm.weight", (shape.embd,)),
            Tensor(f"blk.{block}.nextn.shared_head_norm.weight", (shape.embd,)),
        ]
    return tensors


def model_source(shape: Shape, head: str = "full", **options: Any) -> BytesSource:
    """Return a model of a real shape, header only, that claims its real size."""
    return gguf_source(metadata_of(shape, head), tensors_of(shape, head, **options))


def tokenizer_metadata(tokens: int = 248_320) -> dict[str, Any]:
    """Return tokenizer arrays of about the size of a real vocabulary."""
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": Typed("array", [f"token-{i:08}" for i in range(tokens)], "string"),
        "tokenizer.ggml.token_type": Typed("array", [1] * tokens, "int32"),
        "tokenizer.ggml.merges": Typed("array", [f"tok {i:08}" for i in range(tokens)], "string"),
        "tokenizer.chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}" * 40,
    }


# What llama-server itself needs beyond the memory facts, and files that it loads.


@dataclass(frozen=True)
class Plain:
    """Hyper-parameters of a model with attention in every layer, dense or with experts."""

    arch: str
    layers: int
    embd: int
    heads: int
    heads_kv: int
    head_dim: int
    ff: int
    vocab: int
    context: int
    experts: int = 0
    window: int = 0


QWEN35_9B = Shape("qwen35", 32, 4096, 16, 4, 256, 32, 248320, 12288)
QWEN35_4B = Shape("qwen35", 32, 2560, 16, 4, 256, 32, 248320, 9216)
QWEN3_8B = Plain("qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 131072)
LLAMA3_8B = Plain("llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072)
MISTRAL_24B = Plain("llama", 40, 5120, 32, 8, 128, 32768, 131072, 131072)
GEMMA3_12B = Plain("gemma3", 48, 3840, 16, 8, 256, 15360, 262208, 131072, window=1024)
QWEN3_30B_A3B = Plain("qwen3moe", 48, 2048, 32, 4, 128, 768, 151936, 131072, experts=128)
TINY_PLAIN = Plain("qwen3", 4, 256, 4, 2, 64, 512, 512, 8192)
TINY_WINDOWED = Plain("gemma3", 6, 256, 4, 2, 64, 512, 512, 8192, window=128)


def tiny_tokenizer(tokens: int, pre: str = "qwen2") -> dict[str, Any]:
    """Return the least tokenizer that llama-server loads, without any real text in it."""
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": Typed("array", [f"t{i}" for i in range(tokens)], "string"),
        "tokenizer.ggml.token_type": Typed("array", [1] * tokens, "int32"),
        "tokenizer.ggml.merges": Typed("array", ["t 0"], "string"),
        "tokenizer.ggml.eos_token_id": 0,
    }


def servable_metadata(shape: Shape | Plain, head: str = "full") -> dict[str, Any]:
    """Return every key that llama-server asks for."""
    if isinstance(shape, Plain):
        return _plain_metadata(shape)
    extra: dict[str, Any] = {
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.dimension_sections": Typed("array", [11, 11, 10, 0], "int32"),
        "rope.dimension_count": min(64, shape.head_dim),
        "rope.freq_base": 1e7,
    }
    if shape.experts:
        extra |= {
            "expert_feed_forward_length": shape.ff,
            "expert_shared_feed_forward_length": shape.ff,
        }
    keys = {f"{shape.arch}.{key}": value for key, value in extra.items()}
    return metadata_of(shape, head) | keys | tiny_tokenizer(shape.vocab, "qwen35")


def _plain_metadata(shape: Plain) -> dict[str, Any]:
    keys: dict[str, Any] = {
        "block_count": shape.layers,
        "context_length": shape.context,
        "embedding_length": shape.embd,
        "feed_forward_length": shape.ff,
        "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.heads_kv,
        "attention.key_length": shape.head_dim,
        "attention.value_length": shape.head_dim,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
    }
    if shape.experts:
        keys |= {
            "expert_count": shape.experts,
            "expert_used_count": 8,
            "expert_feed_forward_length": shape.ff,
        }
    if shape.window:
        keys["attention.sliding_window"] = shape.window
    general = {"general.architecture": shape.arch, "general.file_type": 12}
    return (
        general
        | {f"{shape.arch}.{key}": value for key, value in keys.items()}
        | tiny_tokenizer(shape.vocab)
    )


def plain_tensors(shape: Plain, kind: str = "Q4_K") -> list[Tensor]:
    """Return every tensor of a model without recurrent layers; gemma3's embedding is tied."""
    embd, width, kv = shape.embd, shape.heads * shape.head_dim, shape.heads_kv * shape.head_dim
    tensors = [Tensor("token_embd.weight", (embd, shape.vocab), kind)]
    tensors.append(Tensor("output_norm.weight", (embd,)))
    if shape.arch != "gemma3":
        tensors.append(Tensor("output.weight", (embd, shape.vocab), kind))
    for block in range(shape.layers):
        matrices: dict[str, tuple[int, ...]] = {
            "attn_q": (embd, width),
            "attn_k": (embd, kv),
            "attn_v": (embd, kv),
            "attn_output": (width, embd),
        }
        norms = {"attn_norm": embd, "ffn_norm": embd}
        if shape.arch != "llama":
            norms |= {"attn_q_norm": shape.head_dim, "attn_k_norm": shape.head_dim}
        if shape.arch == "gemma3":
            norms |= {"post_attention_norm": embd, "post_ffw_norm": embd}
        suffix, last = ("_exps", (shape.experts,)) if shape.experts else ("", ())
        for part in ("gate", "up"):
            matrices[f"ffn_{part}{suffix}"] = (embd, shape.ff, *last)
        matrices[f"ffn_down{suffix}"] = (shape.ff, embd, *last)
        name = f"blk.{block}."
        tensors += [Tensor(f"{name}{part}.weight", dims, kind) for part, dims in matrices.items()]
        tensors += [Tensor(f"{name}{part}.weight", (size,)) for part, size in norms.items()]
        if shape.experts:
            tensors.append(Tensor(name + "ffn_gate_inp.weight", (embd, shape.experts)))
    return tensors


def servable_tensors(shape: Shape | Plain, head: str = "full") -> list[Tensor]:
    """Return the tensors of a shape: Q3_K experts and Q8_0 for a MoE hybrid, else Q4_K."""
    if isinstance(shape, Plain):
        return plain_tensors(shape)
    return tensors_of(shape, head, rest="Q8_0" if shape.experts else "Q4_K")


def servable_source(shape: Shape | Plain, head: str = "full") -> BytesSource:
    """Return the header of a file that llama-server loads."""
    return gguf_source(servable_metadata(shape, head), servable_tensors(shape, head))


def write_sparse_model(path: Path, shape: Shape | Plain, head: str = "full") -> Path:
    """Write a file that llama-server loads: a real header, and a hole where weights would be."""
    tensors = servable_tensors(shape, head)
    header = gguf_header(servable_metadata(shape, head), tensors)
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + data_bytes(tensors))
    return path
