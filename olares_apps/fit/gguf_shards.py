"""Split GGUF files: which parts there are, and one header out of all of them.

A part is named ``NAME-00001-of-00003.gguf``; the server is given the first one and finds
the others beside it. Metadata of the model is in part 1, tensors are in every part, and
the MTP block, being last, is usually in the last (keys ``split.no``, ``split.count``,
``split.tensors.count``; llama.cpp ``src/llama-model-loader.cpp``).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from olares_apps.fit.gguf_errors import ShardSetError
from olares_apps.fit.gguf_header import GgufHeader

__all__ = ["ShardName", "merge_shards", "missing_shards", "parse_shard_name", "shard_names"]

_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)
_MOST_SHARDS = 9999


@dataclass(frozen=True, slots=True)
class ShardName:
    """The name of one part: ``number`` counts from 1."""

    stem: str
    number: int
    count: int

    @property
    def label(self) -> str:
        """Return ``00002-of-00003``."""
        return f"{self.number:05}-of-{self.count:05}"

    @property
    def file(self) -> str:
        """Return the file name."""
        return f"{self.stem}-{self.label}.gguf"


def parse_shard_name(file: str) -> ShardName | None:
    """Take a part's name apart; None when ``file`` is not named like one."""
    found = _NAME.fullmatch(file)
    if not found:
        return None
    number, count = int(found["number"]), int(found["count"])
    return ShardName(found["stem"], number, count) if 1 <= number <= count else None


def shard_names(file: str) -> tuple[str, ...]:
    """Return the names of all parts, first one first; ``file`` alone when it is not split."""
    part = parse_shard_name(file)
    if part is None or part.count > _MOST_SHARDS:
        return (file,)
    return tuple(replace(part, number=number).file for number in range(1, part.count + 1))


def missing_shards(file: str, present: Collection[str]) -> tuple[str, ...]:
    """Return the labels (``00003-of-00003``) of parts of ``file`` that are not ``present``.

    An unsplit file that is absent is returned by its name.
    """
    absent = [name for name in shard_names(file) if name not in present]
    parts = [parse_shard_name(name) for name in absent]
    return tuple(part.label if part else name for part, name in zip(parts, absent, strict=True))


def merge_shards(headers: Sequence[GgufHeader]) -> GgufHeader:
    """Join the headers of all parts of a model into one.

    Metadata is that of the first part, sizes and costs are sums; ``data_offset`` becomes the
    bytes of all headers together. A single unsplit header is returned as it is.

    Raises ShardSetError when parts are missing, repeated or of different models.
    """
    if not headers:
        raise ShardSetError("no part of the model was read")
    counts = {_integer(header, "split.count") or 1 for header in headers}
    if len(counts) != 1:
        raise ShardSetError("parts of different sets: split.count differs")
    (count,) = counts
    if count == 1 and len(headers) == 1:
        return headers[0]
    by_number: dict[int, GgufHeader] = {}
    for header in headers:
        number = _integer(header, "split.no") + 1
        if number in by_number:
            raise ShardSetError(f"part {number} was given twice")
        by_number[number] = header
    missing = [
        number for number in range(1, min(count, _MOST_SHARDS) + 1) if number not in by_number
    ]
    if missing:
        listed = ", ".join(f"{number:05}-of-{count:05}" for number in missing[:5])
        raise ShardSetError(f"part {listed} missing: {len(headers)} of {count} read", missing)
    ordered = [header for _, header in sorted(by_number.items())]
    tensors = tuple(tensor for header in ordered for tensor in header.tensors)
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise ShardSetError("one tensor in two parts: the parts belong to different models")
    stated = _integer(ordered[0], "split.tensors.count")
    if stated and stated != len(tensors):
        raise ShardSetError(f"part 1 states {stated} tensors, the parts hold {len(tensors)}")
    return replace(
        ordered[0],
        tensors=tensors,
        data_offset=sum(header.data_offset for header in ordered),
        file_size=sum(header.file_size for header in ordered),
        bytes_fetched=sum(header.bytes_fetched for header in ordered),
        fetches=sum(header.fetches for header in ordered),
    )


def _integer(header: GgufHeader, key: str) -> int:
    value = header.metadata.get(key, 0)
    return value if isinstance(value, int) and value >= 0 else 0
