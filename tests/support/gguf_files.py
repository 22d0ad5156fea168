"""A small GGUF writer for tests, and the real shapes of two models, header only."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
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
