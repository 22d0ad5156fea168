"""KV cache types: how many bytes a row takes, upstream and in forks.

Upstream: ``kv_cache_types`` in llama.cpp ``common/arg.cpp``, the same from b9101 to b11434.
Forks store their own types in layouts that changed between trees, so the table takes the
larger layout (TheTom/llama-cpp-turboquant#308 and the tree before it).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from olares_apps.errors import UnknownName

__all__ = ["KV_TYPES", "KvType", "kv_type"]


@dataclass(frozen=True, slots=True)
class KvType:
    """One cache type: ``bytes`` for every ``block`` elements.

    ``is_upstream`` is False for types of forks, which the upstream server refuses
    (``Unsupported cache type``, exit 1). ``needs_scratch``: CUDA's flash attention converts
    the cache to f16 before it computes. ``has_cuda_kernel`` is False where CUDA has no flash
    attention for the type.
    """

    name: str
    block: int
    bytes: int
    is_upstream: bool = True
    needs_scratch: bool = True
    has_cuda_kernel: bool = True

    def row(self, elements: int) -> int:
        """Return the bytes of one cache row; a partial block counts as whole."""
        return -(-elements // self.block) * self.bytes

    @property
    def is_quantised(self) -> bool:
        """Return whether values are stored in blocks."""
        return self.block > 1


def _table(*types: KvType) -> Mapping[str, KvType]:
    return MappingProxyType({kind.name: kind for kind in types})


KV_TYPES: Final = _table(
    KvType("f32", 1, 4, needs_scratch=False),
    KvType("f16", 1, 2, needs_scratch=False),
    KvType("bf16", 1, 2),
    KvType("q8_0", 32, 34),
    KvType("q5_1", 32, 24),
    KvType("q5_0", 32, 22),
    KvType("q4_1", 32, 20),
    KvType("q4_0", 32, 18),
    KvType("iq4_nl", 32, 18, has_cuda_kernel=False),
    # turbo3: 14 bytes for 32 in older trees, 50 for 128 later; turbo4: 66 or 68 for 128.
    KvType("turbo2", 32, 10, is_upstream=False),
    KvType("turbo3", 32, 14, is_upstream=False),
    KvType("turbo3_tcq", 128, 52, is_upstream=False),
    KvType("turbo4", 128, 68, is_upstream=False),
)


def kv_type(name: str) -> KvType:
    """Return a cache type by the name that ``--cache-type-k`` takes.

    Raises UnknownName.
    """
    try:
        return KV_TYPES[name]
    except KeyError:
        raise UnknownName("KV cache type", name, list(KV_TYPES)) from None
