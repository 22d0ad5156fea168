"""The facts of a model that fit needs, small enough to keep in a lock file.

Key names and their meaning: llama.cpp b11434 ``src/llama-arch.cpp``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from olares_apps.errors import OlappsError
from olares_apps.fit.gguf_header import GgufHeader, MetadataValue, Skipped, TensorInfo
from olares_apps.fit.gguf_types import FILE_TYPES, FLOAT_TYPES, TENSOR_TYPES

__all__ = ["FactsError", "GgufFacts", "PerLayer", "facts_of", "largest_value", "value_at"]

PerLayer: TypeAlias = int | tuple[int, ...]

SCHEMA: Final = 1
_MOST_BLOCKS: Final = 4096
_MOST: Final = 2**31 - 1
_MOST_BYTES: Final = 2**50
_BYTES: Final = frozenset({"file_size", "header_bytes"})
# Widths and counts of one layer: the widest models are not near this.
_MOST_WIDE: Final = 2**16
_WIDE: Final = frozenset(
    "head_count head_count_kv key_length value_length key_length_swa value_length_swa "
    "kv_lora_rank key_length_mla value_length_mla indexer_key_length kda_head_dim wkv_head_size "
    "ssm_conv_kernel ssm_state_size ssm_group_count shortconv_l_cache token_shift_count".split()
)
_MOST_EMBEDDING: Final = 2**20
_PER_LAYER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "head_count": "attention.head_count",
        "head_count_kv": "attention.head_count_kv",
        "feed_forward_length": "feed_forward_length",
        "recurrent_layers": "attention.recurrent_layers",
        "sliding_window_pattern": "attention.sliding_window_pattern",
    }
)
_BLOCK = re.compile(r"blk\.(\d{1,6})\.")


class FactsError(OlappsError):
    """Header facts that are missing or do not make sense."""


def value_at(values: PerLayer, layer: int) -> int:
    """Return a per-layer value: a scalar holds for every layer, past an array's end it is 0."""
    if isinstance(values, int):
        return values
    return values[layer] if layer < len(values) else 0


def largest_value(values: PerLayer) -> int:
    """Return the largest of a per-layer value."""
    return values if isinstance(values, int) else max(values, default=0)


@dataclass(frozen=True, slots=True)
class GgufFacts:
    """What a GGUF model (all its parts) says that decides memory and the MTP rule.

    Sizes ending in ``_bytes`` and ``file_size`` are bytes; lengths and counts are elements
    or tokens. Zero means that the key is absent, except where None is allowed.
    ``block_count`` includes the ``nextn`` MTP blocks at the end.

    Raises FactsError for what no model has: more than 2**50 bytes, parts that are larger than
    the whole, counts beyond the 31 bits that llama.cpp keeps them in, heads and widths beyond
    2**16, more than 4096 blocks, more MTP blocks than blocks, values per layer for another
    number of blocks.
    """

    arch: str
    block_count: int = 0
    nextn: int = 0
    n_embd: int = 0
    head_count: PerLayer = 0
    head_count_kv: PerLayer = 0
    key_length: int = 0
    value_length: int = 0
    feed_forward_length: PerLayer = 0
    full_attention_interval: int = 0
    recurrent_layers: PerLayer | None = None
    ssm_conv_kernel: int = 0
    ssm_inner_size: int = 0
    ssm_state_size: int = 0
    ssm_group_count: int = 0
    shortconv_l_cache: int = 0
    kda_head_dim: int = 0
    wkv_head_size: int = 0
    token_shift_count: int = 0
    sliding_window: int = 0
    sliding_window_pattern: PerLayer | None = None
    key_length_swa: int = 0
    value_length_swa: int = 0
    kv_lora_rank: int = 0
    key_length_mla: int = 0
    value_length_mla: int = 0
    shared_kv_layers: int = 0
    indexer_key_length: int = 0
    expert_count: int = 0
    context_length: int = 0
    vocab_size: int = 0
    name: str = ""
    file_type: int | None = None
    projector: str = ""
    has_vision: bool = False
    has_audio: bool = False
    shards: int = 1
    file_size: int = 0
    header_bytes: int = 0
    weight_bytes: int = 0
    token_embd_bytes: int = 0
    output_bytes: int = 0
    mtp_block_bytes: int = 0
    mtp_block_tensors: int = 0
    nextn_tensors: tuple[str, ...] = ()
    float_matrices: int = 0
    unknown_types: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.block_count > _MOST_BLOCKS or self.nextn > self.block_count:
            raise FactsError(
                f"{self.arch}: {self.block_count} blocks with {self.nextn} MTP blocks make no sense"
            )
        parts = (self.token_embd_bytes, self.output_bytes, self.mtp_block_bytes)
        whole = self.file_size or self.weight_bytes
        if sum(parts) > self.weight_bytes or self.weight_bytes > whole:
            raise FactsError(
                f"{self.arch}: parts of {sum(parts)} bytes, weights of {self.weight_bytes} in a "
                f"file of {self.file_size} make no sense"
            )
        for name, key in _PER_LAYER.items():
            if isinstance(value := getattr(self, name), tuple):
                _check_length(self.arch, key, len(value), self.block_count, self.nextn)
        for field in fields(self):
            value = getattr(self, field.name)
            most = _most(field.name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, int) and number > most:
                    raise FactsError(
                        f"{self.arch}: {field.name} {number} makes no sense, the limit is {most}"
                    )

    @property
    def trunk_layers(self) -> int:
        """Return the number of blocks without the MTP blocks."""
        return self.block_count - self.nextn

    @property
    def is_tied(self) -> bool:
        """Return whether the output matrix is the token embedding."""
        return self.token_embd_bytes > 0 and self.output_bytes == 0

    @property
    def quantisation(self) -> str:
        """Return the stated file type, such as ``Q4_K_M``; empty when the file states none."""
        return FILE_TYPES.get(self.file_type, "") if self.file_type is not None else ""

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dict in a stable order, without values that are the default."""
        plain: dict[str, Any] = {"schema": SCHEMA}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default or field.name == "arch":
                plain[field.name] = list(value) if isinstance(value, tuple) else value
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "GgufFacts":
        """Read back what ``to_dict`` wrote.

        Raises FactsError for another schema, an unknown key or a value of the wrong kind.
        """
        if plain.get("schema") != SCHEMA:
            raise FactsError(
                f"header facts of schema {plain.get('schema')!r}, this version reads {SCHEMA}",
                hint="fetch the facts again",
            )
        known = {field.name: field for field in fields(cls)}
        values: dict[str, Any] = {}
        for key, value in plain.items():
            if key == "schema":
                continue
            if key not in known:
                raise FactsError(f"unknown header fact {key!r}", hint="fetch the facts again")
            if not _CHECKS[known[key].type](value):
                raise FactsError(f"header fact {key} cannot be {value!r}")
            values[key] = tuple(value) if isinstance(value, list) else value
        if not values.get("arch"):
            raise FactsError("header facts without 'arch'")
        return cls(**values)


def _most(name: str) -> int:
    if name.endswith("_bytes") or name in _BYTES:
        return _MOST_BYTES
    if name in ("n_embd", "ssm_inner_size"):
        return _MOST_EMBEDDING
    return _MOST_WIDE if name in _WIDE else _MOST


def _check_length(arch: str, key: str, count: int, blocks: int, nextn: int) -> None:
    """Raise FactsError when an array is not one value per block, MTP blocks counted or not."""
    if blocks and count not in (blocks, blocks - nextn):
        raise FactsError(f"{arch}: {key} has {count} values for {blocks} blocks")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_per_layer(value: object) -> bool:
    return _is_count(value) or (
        isinstance(value, list) and len(value) <= _MOST_BLOCKS and all(map(_is_count, value))
    )


# What a plain value must be, by the annotation of the field it fills.
_CHECKS: Final[Mapping[Any, Callable[[object], bool]]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: _is_count,
    int | None: lambda value: value is None or _is_count(value),
    PerLayer: _is_per_layer,
    PerLayer | None: lambda value: value is None or _is_per_layer(value),
    tuple[int, ...]: lambda value: isinstance(value, list) and all(map(_is_count, value)),
    tuple[str, ...]: lambda value: (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    ),
}


def facts_of(header: GgufHeader) -> GgufFacts:
    """Extract the facts from a header; join the parts of a split model first.

    Raises FactsError when the header names no architecture or what no model has, and for a
    big-endian file, which llama.cpp refuses on the devices' processors.
    """
    if header.big_endian:
        raise FactsError(
            "the file is big-endian: a server on amd64 or arm64 does not load it",
            hint="take a little-endian file, as nearly all repositories have",
        )
    read = _Keys(header.metadata)
    arch = read.text("general.architecture")
    if not arch:
        raise FactsError("the GGUF header names no architecture (general.architecture)")

    def key(name: str) -> int:
        return read.integer(f"{arch}.{name}")

    blocks = key("block_count")
    nextn = key("nextn_predict_layers")
    embd = key("embedding_length")
    for name in _PER_LAYER.values():
        # Looked at here as well: an array of one repeated value becomes that value.
        if (count := read.length(f"{arch}.{name}")) is not None:
            _check_length(arch, name, count, blocks, nextn)
    heads = read.per_layer(f"{arch}.attention.head_count") or 0
    heads_kv = read.per_layer(f"{arch}.attention.head_count_kv")
    head_dim = embd // largest_value(heads) if largest_value(heads) else 0
    by_name = {tensor.name: tensor for tensor in header.tensors}
    embedding = by_name.get("token_embd.weight")
    mtp = [tensor for tensor in header.tensors if _block(tensor) >= blocks - nextn] if nextn else []
    return GgufFacts(
        arch=arch,
        block_count=blocks,
        nextn=nextn,
        n_embd=embd,
        head_count=heads,
        head_count_kv=heads if heads_kv is None else heads_kv,
        key_length=key("attention.key_length") or head_dim,
        value_length=key("attention.value_length") or head_dim,
        feed_forward_length=read.per_layer(f"{arch}.feed_forward_length") or 0,
        full_attention_interval=key("full_attention_interval"),
        recurrent_layers=read.per_layer(f"{arch}.attention.recurrent_layers"),
        ssm_conv_kernel=key("ssm.conv_kernel"),
        ssm_inner_size=key("ssm.inner_size"),
        ssm_state_size=key("ssm.state_size"),
        ssm_group_count=key("ssm.group_count"),
        shortconv_l_cache=key("shortconv.l_cache"),
        kda_head_dim=key("kda.head_dim"),
        wkv_head_size=key("wkv.head_size"),
        token_shift_count=key("token_shift_count"),
        sliding_window=key("attention.sliding_window"),
        sliding_window_pattern=read.per_layer(
            f"{arch}.attention.sliding_window_pattern", keep_array=True
        ),
        key_length_swa=key("attention.key_length_swa"),
        value_length_swa=key("attention.value_length_swa"),
        kv_lora_rank=key("attention.kv_lora_rank"),
        key_length_mla=key("attention.key_length_mla"),
        value_length_mla=key("attention.value_length_mla"),
        shared_kv_layers=key("attention.shared_kv_layers"),
        indexer_key_length=key("attention.indexer.key_length"),
        expert_count=key("expert_count"),
        context_length=key("context_length"),
        vocab_size=_vocabulary(read, arch, embedding),
        name=read.text("general.name"),
        file_type=read.optional("general.file_type"),
        projector=read.text("clip.projector_type") or read.text("clip.vision.projector_type"),
        has_vision=read.flag("clip.has_vision_encoder"),
        has_audio=read.flag("clip.has_audio_encoder"),
        shards=max(1, read.integer("split.count")),
        file_size=header.file_size,
        header_bytes=header.data_offset,
        weight_bytes=sum(tensor.size for tensor in header.tensors),
        token_embd_bytes=embedding.size if embedding else 0,
        output_bytes=by_name["output.weight"].size if "output.weight" in by_name else 0,
        mtp_block_bytes=sum(tensor.size for tensor in mtp),
        mtp_block_tensors=len(mtp),
        nextn_tensors=tuple(
            sorted(name for name in by_name if ".nextn." in name or name.startswith("nextn."))
        ),
        float_matrices=sum(_is_float_matrix(tensor) for tensor in header.tensors),
        unknown_types=tuple(
            sorted({tensor.type_id for tensor in header.tensors} - set(TENSOR_TYPES))
        ),
    )


def _block(tensor: TensorInfo) -> int:
    found = _BLOCK.match(tensor.name)
    return int(found[1]) if found else -1


def _is_float_matrix(tensor: TensorInfo) -> bool:
    """Return whether a product with this tensor runs through cuBLAS: see docs/fit.md."""
    return (
        tensor.type_id in FLOAT_TYPES
        and sum(dim > 1 for dim in tensor.dims) >= 2
        and tensor.name.endswith(".weight")
        and "conv1d" not in tensor.name
        and tensor.name != "token_embd.weight"
    )


def _vocabulary(read: "_Keys", arch: str, embedding: TensorInfo | None) -> int:
    if embedding and len(embedding.dims) == 2:
        return embedding.dims[1]
    return read.integer(f"{arch}.vocab_size") or read.length("tokenizer.ggml.tokens") or 0


class _Keys:
    """Typed access to metadata; a value of another type counts as absent."""

    def __init__(self, metadata: Mapping[str, MetadataValue]) -> None:
        self._metadata = metadata

    def text(self, key: str) -> str:
        value = self._metadata.get(key)
        return value if isinstance(value, str) else ""

    def optional(self, key: str) -> int | None:
        value = self._metadata.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            return None
        return value

    def integer(self, key: str) -> int:
        return self.optional(key) or 0

    def flag(self, key: str) -> bool:
        return self._metadata.get(key) is True

    def length(self, key: str) -> int | None:
        """Return how many values an array has, None where there is no array."""
        value = self._metadata.get(key)
        if isinstance(value, Skipped):
            return value.count
        return len(value) if isinstance(value, tuple) else None

    def per_layer(self, key: str, *, keep_array: bool = False) -> PerLayer | None:
        """Return a scalar or an array of whole numbers.

        An array of one repeated value becomes that value, unless ``keep_array``: a window
        pattern means another thing as a scalar (a period) than as an array (a choice).
        """
        value = self._metadata.get(key)
        if isinstance(value, int):
            return max(int(value), 0)
        if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
            return None
        numbers = tuple(max(int(item), 0) for item in value)
        is_uniform = len(set(numbers)) == 1 and not keep_array
        return numbers[0] if is_uniform else numbers
