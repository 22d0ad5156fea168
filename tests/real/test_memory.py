"""KV cache, recurrent state and MTP cache against the log of a real llama-server.

Small files are started for good; of files with real shapes, whose weights are a hole, only the
dry run of ``--fit`` is read, which lays out the same memory without taking it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from random import Random

import pytest
from support.gguf_files import (
    LLAMA3_8B,
    QWEN36_27B,
    QWEN36_35B,
    TINY_DENSE,
    TINY_MOE,
    TINY_PLAIN,
    TINY_WINDOWED,
    Plain,
    Shape,
    servable_source,
    write_sparse_model,
)
from support.llama_server import DRY_RUN_ENDS, LAID_OUT, Server, server_params, start

from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.gguf_facts import GgufFacts, facts_of
from olares_apps.fit.gguf_header import read_header
from olares_apps.fit.kv_types import kv_type
from olares_apps.fit.layers import plan_layers
from olares_apps.fit.memory_model import estimate, kv_bytes
from olares_apps.fit.memory_request import MemoryRequest

MIB = 2**20
# The log has two decimals.
TOLERANCE_MIB = 0.01

# A vocabulary takes most of a header and no cache, so most real shapes get a short one.
MODELS: Mapping[str, Shape | Plain] = {
    "tiny-moe": TINY_MOE,
    "tiny-dense": TINY_DENSE,
    "tiny-plain": TINY_PLAIN,
    "tiny-windowed": TINY_WINDOWED,
    "35b-a3b": replace(QWEN36_35B, vocab=1024),
    "27b": replace(QWEN36_27B, vocab=1024),
    "llama-8b": replace(LLAMA3_8B, vocab=1024),
    "35b-a3b-full-vocabulary": QWEN36_35B,
}
TYPES = [
    ("f16", "f16"),
    ("q8_0", "q8_0"),
    ("q4_0", "q4_0"),
    ("q8_0", "q4_0"),
    ("q5_1", "iq4_nl"),
    ("bf16", "f32"),
]


@dataclass(frozen=True)
class Combination:
    model: str
    head: str
    request: MemoryRequest

    def __str__(self) -> str:
        wanted = self.request
        slots = "auto" if wanted.parallel is None else wanted.parallel
        parts = [self.model, self.head, f"ctx{wanted.ctx}", f"{wanted.kv_k}-{wanted.kv_v}"]
        parts += [f"np{slots}", f"ub{wanted.ubatch}"]
        if wanted.kv_unified is not None:
            parts.append("unified" if wanted.kv_unified else "split")
        if wanted.uses_mtp:
            parts.append(f"mtp{wanted.n_max or '-default'}")
        if wanted.draft_kv_k:
            parts.append(f"draft-{wanted.draft_kv_k}-{wanted.draft_kv_v}")
        if wanted.swa_full:
            parts.append("swa-full")
        return "-".join(parts)


def combinations() -> list[Combination]:
    """Return a fixed sample of each product, the same on every machine."""
    pick = Random(20261201)
    found = []
    tiny = product(
        ("tiny-moe", "tiny-dense"),
        (1000, 4096, 5000),
        TYPES,
        (1, 2, 3, None),
        (None, "default", 1, 3, 5),
        (512, 64),
    )
    for model, ctx, (key, value), slots, drafts, ubatch in pick.sample(list(tiny), 34):
        request = MemoryRequest(ctx=ctx, kv_k=key, kv_v=value, parallel=slots, ubatch=ubatch)
        if drafts is not None:
            n_max = None if drafts == "default" else int(drafts)
            request = replace(request, spec_type="draft-mtp", n_max=n_max)
        found.append(Combination(model, "full" if drafts else "none", request))
    plain = product(
        ("tiny-plain", "tiny-windowed"), (700, 8192), TYPES, (1, 4, None), (512, 64), (True, False)
    )
    for model, ctx, (key, value), slots, ubatch, option in pick.sample(list(plain), 16):
        windowed = model == "tiny-windowed"
        request = MemoryRequest(
            ctx=ctx,
            kv_k=key,
            kv_v=value,
            parallel=slots,
            ubatch=ubatch,
            swa_full=windowed and option,
            kv_unified=None if windowed or slots is None else option,
        )
        found.append(Combination(model, "none", request))
    for key, value in (("q4_0", "q4_0"), ("q8_0", "f16")):
        request = MemoryRequest(ctx=4096, parallel=1, spec_type="draft-mtp", n_max=2, kv_k="q8_0")
        request = replace(request, kv_v="q8_0", draft_kv_k=key, draft_kv_v=value)
        found.append(Combination("tiny-moe", "full", request))
    # The dry run takes the recurrent state for good, so there are no more than four copies.
    copies = [(1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (None, 0)]
    real = product(("35b-a3b", "27b"), (32768, 131072, 262144), TYPES[:4], copies)
    for model, ctx, (key, value), (slots, n_max) in pick.sample(list(real), 12):
        request = MemoryRequest(ctx=ctx, kv_k=key, kv_v=value, parallel=slots)
        if n_max:
            request = replace(request, spec_type="draft-mtp", n_max=n_max)
        found.append(Combination(model, "full", request))
    largest = MemoryRequest(ctx=262144, kv_k="q4_0", kv_v="q4_0", parallel=1, n_max=3)
    found.append(
        Combination("35b-a3b-full-vocabulary", "full", replace(largest, spec_type="draft-mtp"))
    )
    found.append(Combination("llama-8b", "none", replace(largest, ctx=131072, n_max=None)))
    return found


COMBINATIONS = combinations()


def arguments(request: MemoryRequest) -> list[str]:
    """Return llama-server's arguments for a request."""
    found = ["-c", str(request.ctx), "-ub", str(request.ubatch), "-b", str(request.batch)]
    found += ["-ctk", request.kv_k, "-ctv", request.kv_v, "-fa", "on"]
    if request.parallel is not None:
        found += ["-np", str(request.parallel)]
    if request.kv_unified is not None:
        found.append("--kv-unified" if request.kv_unified else "--no-kv-unified")
    if request.uses_mtp:
        found += ["--spec-type", "draft-mtp"]
    if request.n_max:
        found += ["--spec-draft-n-max", str(request.n_max)]
    if request.draft_kv_k and request.draft_kv_v:
        found += ["-ctkd", request.draft_kv_k, "-ctvd", request.draft_kv_v]
    if request.swa_full:
        found.append("--swa-full")
    return found


@cache
def facts(model: str, head: str) -> GgufFacts:
    return facts_of(read_header(servable_source(MODELS[model], head)))


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return a function that writes a model once and gives its path."""
    folder = tmp_path_factory.mktemp("models")

    @cache
    def file(model: str, head: str):
        return write_sparse_model(folder / f"{model}-{head}.gguf", MODELS[model], head)

    return file


def caches_of(found: GgufFacts, request: MemoryRequest) -> list[float]:
    """Return the target's KV caches in MiB: the full one and the windowed one, if any."""
    plan, context = plan_layers(found), request.context(found)
    types = kv_type(request.kv_k), kv_type(request.kv_v)
    groups = (
        tuple(layer for layer in plan.attention if layer.is_windowed is windowed)
        for windowed in (False, True)
    )
    return [
        kv_bytes(
            group,
            context,
            types,
            window=plan.window,
            ubatch=request.physical_batch,
            swa_full=request.swa_full,
        )
        / MIB
        for group in groups
        if group
    ]


def test_there_are_enough_combinations():
    """With two pinned builds the comparison covers more than 100 starts."""
    assert len(COMBINATIONS) * 2 >= 100
    assert len({str(item) for item in COMBINATIONS}) == len(COMBINATIONS)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
@pytest.mark.parametrize("server", server_params())
def test_caches_and_state_equal_the_log(server: Server, combination, files, tmp_path):
    model, head, request = combination.model, combination.head, combination.request
    behaviour = behaviour_of(server.number)
    is_real = not model.startswith("tiny")
    path = files(model, head)
    started = start(
        server,
        tmp_path,
        ["-m", str(path), *arguments(request), "--fit", "on" if is_real else "off"],
        until=DRY_RUN_ENDS if is_real else LAID_OUT,
    )
    assert started.status is None, "\n".join(started.lines[-8:])
    found = facts(model, head)
    expected = estimate(found, request, behaviour)
    assert expected.problems == ()
    caches = caches_of(found, request)
    assert sum(caches) * MIB == pytest.approx(expected.part("kv"))
    # The dry run of builds before b9305 leaves the MTP context out; a real start has it.
    if request.uses_mtp and not (is_real and server.number < 9305):
        caches.append(expected.part("mtp-kv") / MIB)
    assert started.kv_mib == pytest.approx(caches, abs=TOLERANCE_MIB)
    state = expected.part("recurrent-state") / MIB
    assert started.state_mib == pytest.approx([state] if state else [], abs=TOLERANCE_MIB)
