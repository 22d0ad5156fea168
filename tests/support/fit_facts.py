"""Facts of the two measured models, at the file size that a test is about."""

from dataclasses import replace
from functools import cache
from typing import Any

from support.gguf_files import QWEN36_27B, QWEN36_35B, Shape, model_source

from olares_apps.fit.gguf_facts import GgufFacts, facts_of
from olares_apps.fit.gguf_header import read_header

MIB = 2**20
# A header with a vocabulary of 248 320 tokens and its merges.
HEADER_BYTES = 10_708_083


@cache
def model_facts(shape: Shape, head: str = "full", **types: Any) -> GgufFacts:
    return facts_of(read_header(model_source(shape, head, **types)))


def facts_35b(file_size: int | None = None, head: str = "full") -> GgufFacts:
    """Return Qwen3.6-35B-A3B with Q3_K experts, as a file of ``file_size`` bytes."""
    return _sized(model_facts(QWEN36_35B, head), file_size)


def facts_27b(file_size: int | None = None, head: str = "full") -> GgufFacts:
    """Return Qwen3.6-27B in Q4_K, as a file of ``file_size`` bytes."""
    return _sized(model_facts(QWEN36_27B, head, rest="Q4_K"), file_size)


def _sized(facts: GgufFacts, file_size: int | None) -> GgufFacts:
    if file_size is None:
        return facts
    weights = file_size - HEADER_BYTES
    return replace(facts, file_size=file_size, header_bytes=HEADER_BYTES, weight_bytes=weights)
