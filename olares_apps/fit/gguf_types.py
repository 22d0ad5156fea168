"""Tables of the GGUF format: value types, tensor types and file types.

Source: llama.cpp b11434, ``ggml/include/ggml.h`` (enum ggml_type), ``ggml-common.h``
(block sizes) and ``include/llama.h`` (enum llama_ftype).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ["FILE_TYPES", "FLOAT_TYPES", "TENSOR_TYPES", "VALUE_TYPES", "TensorType"]


@dataclass(frozen=True, slots=True)
class TensorType:
    """How a tensor type stores its elements: ``bytes`` for every ``block`` elements."""

    name: str
    block: int
    bytes: int

    def size(self, elements: int) -> int:
        """Return the bytes that ``elements`` take; a last partial block counts as whole."""
        return -(-elements // self.block) * self.bytes


TENSOR_TYPES: Final[Mapping[int, TensorType]] = MappingProxyType(
    {
        0: TensorType("F32", 1, 4),
        1: TensorType("F16", 1, 2),
        2: TensorType("Q4_0", 32, 18),
        3: TensorType("Q4_1", 32, 20),
        6: TensorType("Q5_0", 32, 22),
        7: TensorType("Q5_1", 32, 24),
        8: TensorType("Q8_0", 32, 34),
        9: TensorType("Q8_1", 32, 36),
        10: TensorType("Q2_K", 256, 84),
        11: TensorType("Q3_K", 256, 110),
        12: TensorType("Q4_K", 256, 144),
        13: TensorType("Q5_K", 256, 176),
        14: TensorType("Q6_K", 256, 210),
        15: TensorType("Q8_K", 256, 292),
        16: TensorType("IQ2_XXS", 256, 66),
        17: TensorType("IQ2_XS", 256, 74),
        18: TensorType("IQ3_XXS", 256, 98),
        19: TensorType("IQ1_S", 256, 50),
        20: TensorType("IQ4_NL", 32, 18),
        21: TensorType("IQ3_S", 256, 110),
        22: TensorType("IQ2_S", 256, 82),
        23: TensorType("IQ4_XS", 256, 136),
        24: TensorType("I8", 1, 1),
        25: TensorType("I16", 1, 2),
        26: TensorType("I32", 1, 4),
        27: TensorType("I64", 1, 8),
        28: TensorType("F64", 1, 8),
        29: TensorType("IQ1_M", 256, 56),
        30: TensorType("BF16", 1, 2),
        34: TensorType("TQ1_0", 256, 54),
        35: TensorType("TQ2_0", 256, 66),
        39: TensorType("MXFP4", 32, 17),
        40: TensorType("NVFP4", 64, 36),
        41: TensorType("Q1_0", 128, 18),
        42: TensorType("Q2_0", 64, 18),
    }
)

FLOAT_TYPES: Final = frozenset({0, 1, 30})

# Metadata value types: number -> (name, struct code); strings and arrays carry lengths.
VALUE_TYPES: Final[Mapping[int, tuple[str, str]]] = MappingProxyType(
    {
        0: ("uint8", "B"),
        1: ("int8", "b"),
        2: ("uint16", "H"),
        3: ("int16", "h"),
        4: ("uint32", "I"),
        5: ("int32", "i"),
        6: ("float32", "f"),
        7: ("bool", "?"),
        8: ("string", ""),
        9: ("array", ""),
        10: ("uint64", "Q"),
        11: ("int64", "q"),
        12: ("float64", "d"),
    }
)

FILE_TYPES: Final[Mapping[int, str]] = MappingProxyType(
    dict(enumerate("F32 F16 Q4_0 Q4_1".split()))
    | dict(enumerate("Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M".split(), start=7))
    | dict(enumerate("Q5_K_S Q5_K_M Q6_K IQ2_XXS IQ2_XS Q2_K_S IQ3_XS IQ3_XXS".split(), start=16))
    | dict(enumerate("IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M BF16".split(), start=24))
    | dict(enumerate("TQ1_0 TQ2_0 MXFP4_MOE NVFP4 Q1_0 Q2_0".split(), start=36))
)
