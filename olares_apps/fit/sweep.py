"""What would fit: other contexts, cache types, settings and files.

Every answer is a new estimate, that of a separate draft model (``drafter``) included; nothing is
extrapolated. The need never falls when the
context grows, so the largest context is found by bisection.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from olares_apps.fit.behaviours import BuildBehaviour
from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.fit.gguf_shards import missing_shards, parse_shard_name
from olares_apps.fit.memory_model import MemoryEstimate, estimate
from olares_apps.fit.memory_request import CELL_STEP, MemoryRequest
from olares_apps.fit.verdict import (
    DEFAULT_THRESHOLDS,
    FitState,
    Measured,
    Thresholds,
    Verdict,
    judge,
)
from olares_apps.hardware import HardwareProfile

__all__ = [
    "ContextRow",
    "Device",
    "FileRow",
    "LargestContext",
    "LeverRow",
    "auto_contexts",
    "context_sweep",
    "is_model",
    "largest_context",
    "largest_per_kv_type",
    "levers",
    "other_files",
]

# Symmetric cache types that people choose from, largest first.
SWEPT_TYPES: Final = ("f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0")
# Files that lie beside models and carry their names.
_BESIDES: Final = re.compile(
    r"mmproj|projector|imatrix|(?<![a-z])(?:draft(?:er)?|dflash|eagle3?|lora|adapter)(?![a-z])",
    re.IGNORECASE,
)
_SMALLEST_SWEEP: Final = 4096
_WITHOUT_TRAINED_CONTEXT: Final = 2**20


@dataclass(frozen=True, slots=True)
class Device:
    """What an estimate is judged against: a profile, thresholds, and what others hold (bytes)."""

    profile: HardwareProfile
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    other_apps: int = 0

    def judge(self, found: MemoryEstimate, measured: Measured | None = None) -> Verdict:
        """Judge an estimate on this device, or the measured figure in its place."""
        return judge(
            found,
            self.profile,
            self.thresholds,
            measured=measured,
            other_apps=self.other_apps,
        )


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One context of a sweep, in tokens."""

    ctx: int
    estimate: MemoryEstimate
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class LargestContext:
    """The largest contexts in tokens: with the comfortable margin, and at all (None: not one).

    ``is_capped``: the model's trained context is what ends it, not memory.
    """

    fits: int | None
    at_all: int | None
    is_capped: bool = False


@dataclass(frozen=True, slots=True)
class LeverRow:
    """What one changed setting saves (bytes, below zero when it costs) and where that leads."""

    setting: str
    value: str
    saved: int
    verdict: Verdict
    largest: LargestContext


@dataclass(frozen=True, slots=True)
class FileRow:
    """Another file of the same repository: its size in bytes and what it would allow.

    ``missing`` lists absent parts of a split file: ``size`` is then that of the parts that are
    there, and nothing can be judged.
    """

    name: str
    size: int
    verdict: Verdict | None
    largest: LargestContext | None
    missing: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Return the verdict's state, or ``incomplete``."""
        return self.verdict.state.value if self.verdict else "incomplete"


def auto_contexts(facts: GgufFacts, request: MemoryRequest) -> tuple[int, ...]:
    """Return powers of two from 4096 up to the trained context, with both ends that matter."""
    trained = facts.context_length or _WITHOUT_TRAINED_CONTEXT
    chosen = {trained} | ({request.ctx} if request.ctx else set())
    step = _SMALLEST_SWEEP
    while step < trained:
        chosen.add(step)
        step *= 2
    return tuple(sorted(chosen))


def context_sweep(
    facts: GgufFacts,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    device: Device,
    contexts: Sequence[int] | None = None,
    *,
    drafter: GgufFacts | None = None,
) -> tuple[ContextRow, ...]:
    """Estimate and judge several contexts; None takes those of ``auto_contexts``."""
    rows: list[ContextRow] = []
    for ctx in auto_contexts(facts, request) if contexts is None else contexts:
        found = estimate(facts, replace(request, ctx=ctx), behaviour, drafter=drafter)
        rows.append(ContextRow(ctx, found, device.judge(found)))
    return tuple(rows)


def largest_context(
    facts: GgufFacts,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    device: Device,
    *,
    drafter: GgufFacts | None = None,
) -> LargestContext:
    """Find the largest context in steps of 256 tokens, up to the trained one."""
    trained = facts.context_length or _WITHOUT_TRAINED_CONTEXT

    def state(ctx: int) -> FitState:
        found = estimate(facts, replace(request, ctx=ctx), behaviour, drafter=drafter)
        return device.judge(found).state

    fits = _bisect(trained, lambda ctx: state(ctx) is FitState.FITS)
    at_all = _bisect(trained, lambda ctx: state(ctx) is not FitState.DOES_NOT_FIT)
    return LargestContext(fits, at_all, is_capped=fits == trained)


def _bisect(limit: int, holds: Callable[[int], bool]) -> int | None:
    """Return the largest context for which ``holds``, None when it never does."""
    if holds(limit):
        return limit
    low, high = 0, -(-limit // CELL_STEP)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle * CELL_STEP):
            low = middle
        else:
            high = middle
    return low * CELL_STEP or None


def largest_per_kv_type(
    facts: GgufFacts,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    device: Device,
    types: Iterable[str] = SWEPT_TYPES,
    *,
    drafter: GgufFacts | None = None,
) -> dict[str, LargestContext]:
    """Find the largest context for each cache type, used for K and V alike."""
    return {
        kind: largest_context(
            facts, replace(request, kv_k=kind, kv_v=kind), behaviour, device, drafter=drafter
        )
        for kind in types
    }


def levers(
    facts: GgufFacts,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    device: Device,
    *,
    drafter: GgufFacts | None = None,
) -> tuple[LeverRow, ...]:
    """Return what each setting that decides memory would change, largest saving first."""
    before = device.judge(estimate(facts, request, behaviour, drafter=drafter)).need
    rows: list[LeverRow] = []
    for setting, value, changed in _changes(facts, request, behaviour):
        kept = None if changed.speculation is None else drafter
        verdict = device.judge(estimate(facts, changed, behaviour, drafter=kept))
        largest = largest_context(facts, changed, behaviour, device, drafter=kept)
        rows.append(LeverRow(setting, value, before - verdict.need, verdict, largest))
    return tuple(sorted(rows, key=lambda row: (-row.saved, row.setting, row.value)))


def _changes(
    facts: GgufFacts, request: MemoryRequest, behaviour: BuildBehaviour
) -> Iterable[tuple[str, str, MemoryRequest]]:
    for ubatch in (128, 256, 512, 1024):
        if ubatch != request.physical_batch:
            batch = max(request.batch, ubatch)
            yield "ubatch", str(ubatch), replace(request, ubatch=ubatch, batch=batch)
    slots = request.context(facts).slots
    for parallel in (1, 2, 4):
        if parallel != slots:
            yield "parallel", str(parallel), replace(request, parallel=parallel)
    for kind in SWEPT_TYPES:
        if (kind, kind) != (request.kv_k, request.kv_v):
            yield "kv", kind, replace(request, kv_k=kind, kv_v=kind)
    if request.speculation:
        current = request.n_max or behaviour.default_n_max
        for n_max in (1, 2, 3, 4):
            if n_max != current:
                yield "n_max", str(n_max), replace(request, n_max=n_max)
        yield "speculation", "off", replace(request, spec_type=None)
    if facts.sliding_window and request.swa_full:
        yield "swa_full", "off", replace(request, swa_full=False)


def is_model(name: str) -> bool:
    """Say whether a file of a repository is a model: no projector, drafter, adapter or matrix."""
    last = name.rpartition("/")[2]
    return last.endswith(".gguf") and not _BESIDES.search(last)


def other_files(
    facts: GgufFacts,
    request: MemoryRequest,
    behaviour: BuildBehaviour,
    device: Device,
    listing: Iterable[tuple[str, int]],
    *,
    drafter: GgufFacts | None = None,
) -> tuple[FileRow, ...]:
    """Judge the other quantisations of a repository from their names and sizes alone.

    Takes the header of one file for the shape of all; weights are scaled by size. Parts of a
    split file are added up. What is no model of its own (:func:`is_model`) is left out. Largest
    first.
    """
    groups: dict[str, dict[str, int]] = {}
    for name, size in listing:
        if not is_model(name):
            continue
        part = parse_shard_name(name)
        first = replace(part, number=1).file if part else name
        groups.setdefault(first, {})[name] = size
    rows: list[FileRow] = []
    for name, parts in groups.items():
        size = sum(parts.values())
        if missing := missing_shards(name, parts):
            rows.append(FileRow(name, size, None, None, missing))
            continue
        scaled = scale_facts(facts, size)
        verdict = device.judge(estimate(scaled, request, behaviour, drafter=drafter))
        largest = largest_context(scaled, request, behaviour, device, drafter=drafter)
        rows.append(FileRow(name, size, verdict, largest))
    return tuple(sorted(rows, key=lambda row: (-row.size, row.name)))


def scale_facts(facts: GgufFacts, file_size: int) -> GgufFacts:
    """Return the facts of the same model in another quantisation of ``file_size`` bytes.

    The header keeps its size. The parts that stay on the host or are loaded on demand shrink
    with the file but do not grow with it, so that the GPU's share is not understated.
    """
    weights = max(file_size - facts.header_bytes, 0)
    share = min(1.0, weights / facts.weight_bytes) if facts.weight_bytes else 1.0
    return replace(
        facts,
        file_size=file_size,
        weight_bytes=weights,
        token_embd_bytes=int(facts.token_embd_bytes * share),
        output_bytes=int(facts.output_bytes * share),
        mtp_block_bytes=int(facts.mtp_block_bytes * share),
    )
