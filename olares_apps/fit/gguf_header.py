"""A streaming reader of GGUF headers: metadata and tensor list, never the weights.

Fetches in growing chunks and jumps over large arrays of fixed-size elements, so that a
remote 17 GB file costs about ten megabytes. Large arrays are measured, not built:
a tokenizer's strings are stepped over by their length fields. Format: GGUF v2 and v3
(ggml docs/gguf.md); limits on counts follow llama.cpp b11434 ``ggml/src/gguf.cpp`` and
are tighter where a header has no use for more.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias

from olares_apps.fit.byte_source import ByteSource
from olares_apps.fit.gguf_errors import (
    CorruptGguf,
    HtmlNotGguf,
    LfsPointer,
    NotGguf,
    TruncatedGguf,
    UnsupportedGguf,
)
from olares_apps.fit.gguf_types import TENSOR_TYPES, VALUE_TYPES

__all__ = ["GgufHeader", "MetadataValue", "Skipped", "TensorInfo", "read_header"]

FIRST_CHUNK: Final = 64 * 1024
LARGEST_CHUNK: Final = 4 * 1024 * 1024

# A real header of a 250 000 token vocabulary has about 11 MB.
_MAX_FETCHED: Final = 64 * 1024 * 1024
_MAX_KEPT: Final = 32 * 1024 * 1024
_MAX_LENGTH: Final = 2**30
_MAX_KEYS: Final = 65_536
_MAX_TENSORS: Final = 65_536
_MAX_NAME: Final = 65_535
_MAX_TENSOR_NAME: Final = 512
_MAX_DIMS: Final = 4
_MAX_DEPTH: Final = 4
# No known key has arrays inside arrays; each of these costs time, however short it is.
_MAX_NESTED: Final = 10_000
_KEPT_ELEMENTS: Final = 4096
_KEPT_STRINGS: Final = 64
# What Python adds to a value: counted, so that many tiny values stay within the limit too.
_OBJECT_BYTES: Final = 64
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class Skipped:
    """A metadata value that was measured but not kept: ``count`` elements of ``kind``."""

    kind: str
    count: int


Scalar: TypeAlias = bool | int | float | str
MetadataValue: TypeAlias = Scalar | tuple[Scalar, ...] | Skipped


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: shape as stored (innermost first), type number, offset and size in bytes.

    ``offset`` counts from the header's ``data_offset``.
    """

    name: str
    dims: tuple[int, ...]
    type_id: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says about itself, and what reading it cost.

    ``data_offset``, ``alignment``, ``file_size`` and ``bytes_fetched`` are bytes.
    """

    version: int
    big_endian: bool
    metadata: Mapping[str, MetadataValue]
    tensors: tuple[TensorInfo, ...]
    alignment: int
    data_offset: int
    file_size: int
    bytes_fetched: int
    fetches: int


def read_header(
    source: ByteSource, *, first_chunk: int = FIRST_CHUNK, largest_chunk: int = LARGEST_CHUNK
) -> GgufHeader:
    """Read the header of one GGUF file (one part of a split one).

    Chunks grow fourfold from ``first_chunk`` to ``largest_chunk`` bytes. Memory stays within
    a few chunks plus 32 MiB of kept values, whatever the file claims.

    Raises NotGguf, HtmlNotGguf, LfsPointer, UnsupportedGguf, TruncatedGguf or CorruptGguf.
    """
    cursor = _Cursor(source, first_chunk, largest_chunk)
    version, big_endian = _read_start(cursor)
    tensor_count = cursor.unsigned()
    key_count = cursor.unsigned()
    if tensor_count > _MAX_TENSORS:
        raise CorruptGguf(f"{tensor_count} tensors (limit {_MAX_TENSORS})", 8)
    if key_count > _MAX_KEYS:
        raise CorruptGguf(f"{key_count} metadata keys (limit {_MAX_KEYS})", 16)

    metadata: dict[str, MetadataValue] = {}
    for _ in range(key_count):
        at = cursor.position
        key = cursor.name("metadata key", _MAX_NAME)
        if key in metadata:
            raise CorruptGguf(f"metadata key {key!r} twice", at)
        metadata[key] = _read_value(cursor, cursor.number("I", 4))

    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 1 <= alignment <= 2**20 or alignment.bit_count() != 1:
        raise CorruptGguf(f"general.alignment {alignment!r}, not a power of two", cursor.position)
    listed = [_read_tensor(cursor, alignment) for _ in range(tensor_count)]
    if len({name for name, *_ in listed}) != tensor_count:
        raise CorruptGguf("two tensors of one name", cursor.position)
    data_offset = -(-cursor.position // alignment) * alignment
    return GgufHeader(
        version=version,
        big_endian=big_endian,
        metadata=metadata,
        tensors=_with_sizes(listed, alignment, data_offset, source.size),
        alignment=alignment,
        data_offset=data_offset,
        file_size=source.size,
        bytes_fetched=cursor.fetched,
        fetches=cursor.fetches,
    )


class _Cursor:
    """A read position over a window of the file that is refilled on demand."""

    def __init__(self, source: ByteSource, first_chunk: int, largest_chunk: int) -> None:
        self._source = source
        self._size = source.size
        self._chunk = max(first_chunk, 64)
        self._largest = max(largest_chunk, self._chunk)
        self._window = b""
        self._start = 0
        self.order = "<"
        self.position = 0
        self.fetched = 0
        self.fetches = 0
        self.kept = 0
        self.nested = 0

    def _fill(self, length: int, what: str) -> int:
        """Make ``length`` bytes available and return their index in the window."""
        at = self.position - self._start
        end = at + length
        if end <= len(self._window):
            return at
        if self.position + length > self._size:
            raise TruncatedGguf(what, self._size, self.position + length)
        held = self._window[at:] if at < len(self._window) else b""
        begin = self.position + len(held)
        wanted = min(max(length - len(held), self._chunk), self._size - begin)
        if self.fetched + wanted > _MAX_FETCHED:
            raise CorruptGguf(f"a header of more than {_MAX_FETCHED} bytes", self.position)
        piece = self._source.read(begin, wanted)
        self.fetched += len(piece)
        self.fetches += 1
        self._chunk = min(self._chunk * 4, self._largest)
        self._window = held + piece
        self._start = self.position
        if len(self._window) < length:
            raise TruncatedGguf(what, self.position + len(self._window), self.position + length)
        return 0

    def take(self, length: int, what: str) -> bytes:
        at = self._fill(length, what)
        self.position += length
        return self._window[at : at + length]

    def peek(self, least: int, most: int) -> bytes:
        """Return ``least`` to ``most`` bytes without moving; fewer where the file ends."""
        at = self._fill(min(least, self._size - self.position), "the first bytes")
        return self._window[at : at + most]

    def skip(self, length: int, what: str) -> None:
        """Move on without fetching what is not in the window."""
        if self.position + length > self._size:
            raise TruncatedGguf(what, self._size, self.position + length)
        self.position += length

    def number(self, code: str, length: int, what: str = "the metadata") -> int:
        value = struct.unpack(self.order + code, self.take(length, what))[0]
        return int(value)

    def unsigned(self, what: str = "the metadata") -> int:
        return self.number("Q", 8, what)

    def name(self, what: str, limit: int) -> str:
        at = self.position
        length = self.unsigned(f"a {what}")
        if length > limit:
            raise CorruptGguf(f"a {what} of {length} bytes (limit {limit})", at)
        return self.take(length, f"a {what}").decode("utf-8", "replace")

    def skip_strings(self, count: int) -> None:
        """Step over ``count`` strings by their length fields: the hot loop of a tokenizer."""
        unpack = struct.Struct(self.order + "Q").unpack_from
        while count:
            at = self._fill(8, "a list of strings")
            window, last = self._window, len(self._window) - 8
            while count and at <= last:
                length = unpack(window, at)[0]
                at += 8 + length
                count -= 1
            self.position = self._start + at
            if self.position > self._size:
                if length > _MAX_LENGTH:
                    raise CorruptGguf(f"a string of {length} bytes", self.position - length)
                raise TruncatedGguf("a list of strings", self._size, self.position)


def _read_start(cursor: _Cursor) -> tuple[int, bool]:
    """Check magic and version; returns the version and whether the file is big-endian."""
    start = cursor.peek(4, 512)
    if start[:4] != b"GGUF":
        raise _explain_start(start)
    cursor.take(4, "the magic number")
    version = cursor.number("I", 4, "the version")
    big_endian = version & 0xFFFF == 0 and version != 0
    if big_endian:
        cursor.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version == 1:
        raise UnsupportedGguf(
            "GGUF version 1", "convert the model again; llama.cpp dropped version 1 in 2023"
        )
    if version not in (2, 3):
        raise UnsupportedGguf(
            f"GGUF version {version}", "only versions 2 and 3 exist: is the file intact?"
        )
    return version, big_endian


def _explain_start(start: bytes) -> NotGguf | TruncatedGguf | UnsupportedGguf:
    if b"GGUF".startswith(start):
        return TruncatedGguf("the magic number", len(start), 4)
    if start[:4] in (b"lmgg", b"tjgg", b"fmgg", b"algg"):
        return UnsupportedGguf(
            "the GGML format that came before GGUF", "use a GGUF conversion of the model"
        )
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<body")):
        return HtmlNotGguf(start)
    if text.startswith(b"version https://git-lfs"):
        digest = re.search(rb"^oid sha256:([0-9a-f]{64})$", start, re.MULTILINE)
        size = re.search(rb"^size (\d{1,20})$", start, re.MULTILINE)
        return LfsPointer(
            start, digest[1].decode() if digest else None, int(size[1]) if size else None
        )
    return NotGguf(start)


def _read_value(cursor: _Cursor, type_id: int) -> MetadataValue:
    if type_id == _STRING:
        return _read_string(cursor)
    if type_id == _ARRAY:
        return _read_array(cursor, depth=1)
    _, code = _value_type(cursor, type_id)
    raw = cursor.take(struct.calcsize("<" + code), "a metadata value")
    return _scalars(cursor.order, code, raw, 1)[0]


def _value_type(cursor: _Cursor, type_id: int) -> tuple[str, str]:
    try:
        return VALUE_TYPES[type_id]
    except KeyError:
        raise CorruptGguf(f"metadata value type {type_id}", cursor.position) from None


def _read_string(cursor: _Cursor) -> str | Skipped:
    at = cursor.position
    length = cursor.unsigned("a metadata string")
    if length > _MAX_LENGTH:
        raise CorruptGguf(f"a string of {length} bytes (limit {_MAX_LENGTH})", at)
    cost = length + _OBJECT_BYTES
    if cursor.kept + cost > _MAX_KEPT:
        cursor.skip(length, "a metadata string")
        return Skipped("string", length)
    cursor.kept += cost
    return cursor.take(length, "a metadata string").decode("utf-8", "replace")


def _read_array(cursor: _Cursor, depth: int) -> tuple[Scalar, ...] | Skipped:
    at = cursor.position
    type_id = cursor.number("I", 4)
    count = cursor.unsigned()
    name, code = _value_type(cursor, type_id)
    if count > _MAX_LENGTH:
        raise CorruptGguf(f"an array of {count} elements (limit {_MAX_LENGTH})", at)
    if type_id == _ARRAY:
        if depth >= _MAX_DEPTH:
            raise CorruptGguf(f"arrays nested deeper than {_MAX_DEPTH}", at)
        cursor.nested += count
        if cursor.nested > _MAX_NESTED:
            raise CorruptGguf(f"{cursor.nested} arrays inside arrays (limit {_MAX_NESTED})", at)
        for _ in range(count):
            _read_array(cursor, depth + 1)
        return Skipped("array", count)
    if type_id == _STRING:
        if count > _KEPT_STRINGS or depth > 1:
            cursor.skip_strings(count)
            return Skipped("string", count)
        strings = [_read_string(cursor) for _ in range(count)]
        kept = tuple(item for item in strings if isinstance(item, str))
        return kept if len(kept) == count else Skipped("string", count)
    length = count * struct.calcsize("<" + code)
    cost = count * _OBJECT_BYTES
    if count > _KEPT_ELEMENTS or depth > 1 or cursor.kept + cost > _MAX_KEPT:
        cursor.skip(length, f"an array of {count} {name}")
        return Skipped(name, count)
    cursor.kept += cost
    raw = cursor.take(length, f"an array of {count} {name}")
    return _scalars(cursor.order, code, raw, count)


def _scalars(order: str, code: str, raw: bytes, count: int) -> tuple[Scalar, ...]:
    return struct.unpack(f"{order}{count}{code}", raw)


def _read_tensor(cursor: _Cursor, alignment: int) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.name("tensor name", _MAX_TENSOR_NAME)
    at = cursor.position
    rank = cursor.number("I", 4, "the tensor list")
    if rank > _MAX_DIMS:
        raise CorruptGguf(f"tensor {name!r} of {rank} dimensions (limit {_MAX_DIMS})", at)
    dims = tuple(cursor.unsigned("the tensor list") for _ in range(rank))
    type_id = cursor.number("I", 4, "the tensor list")
    offset = cursor.unsigned("the tensor list")
    if prod(dims) >= 2**63 or offset >= 2**63:
        raise CorruptGguf(f"tensor {name!r} larger than any file", at)
    if offset % alignment:
        raise CorruptGguf(f"tensor {name!r} at offset {offset}, not aligned to {alignment}", at)
    return name, dims, type_id, offset


def _with_sizes(
    listed: list[tuple[str, tuple[int, ...], int, int]],
    alignment: int,
    data_offset: int,
    file_size: int,
) -> tuple[TensorInfo, ...]:
    """Give every tensor its size in bytes.

    The distance to the next tensor decides, because forks store their own types under
    numbers that others use as well; the table of types tells the padding from the data,
    and bounds the last tensor.
    """
    order = sorted(range(len(listed)), key=lambda index: listed[index][3])
    starts = [listed[index][3] for index in order]
    ends = [*starts[1:], max(file_size - data_offset, 0)]
    sizes = [0] * len(listed)
    for place, (index, end) in enumerate(zip(order, ends, strict=False), start=1):
        name, dims, type_id, offset = listed[index]
        elements = prod(dims)
        room = end - offset
        known = TENSOR_TYPES.get(type_id)
        size = known.size(elements) if known else None
        if place == len(order):
            least = size if size is not None else min(elements, 1)
            if room < least:
                raise TruncatedGguf(f"tensor {name!r}", file_size, data_offset + offset + least)
            sizes[index] = room if size is None else size
        elif size is not None and 0 <= room - size < alignment:
            sizes[index] = size
        elif room or not elements:
            sizes[index] = room
        else:
            raise CorruptGguf(f"tensor {name!r} without room for its data", data_offset + offset)
    return tuple(
        TensorInfo(name, dims, type_id, offset, sizes[index])
        for index, (name, dims, type_id, offset) in enumerate(listed)
    )
