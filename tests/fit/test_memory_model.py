from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fit_facts import MIB, facts_27b, facts_35b, model_facts
from support.gguf_files import TINY_DENSE

from olares_apps.errors import UnknownName, UsageError
from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.fit.memory_model import estimate
from olares_apps.fit.memory_request import MemoryRequest
from olares_apps.fit.request_findings import LEGACY_POOL_WARNING

NEW, OLD = behaviour_of(11434), behaviour_of(9254)
GEMMA = GgufFacts(
    arch="gemma3",
    block_count=6,
    n_embd=1024,
    head_count=4,
    head_count_kv=2,
    key_length=64,
    value_length=64,
    sliding_window=1024,
    context_length=131072,
    vocab_size=1000,
    weight_bytes=10**9,
    token_embd_bytes=10**8,
)
DENSE = replace(GEMMA, arch="llama", sliding_window=0)


def test_every_part_has_a_name_a_size_and_a_source():
    request = MemoryRequest(
        ctx=8192, parallel=1, kv_k="q8_0", kv_v="q8_0", spec_type="mtp", n_max=2, mmproj_bytes=10**9
    )
    for behaviour in (NEW, OLD):
        found = estimate(facts_35b(), request, behaviour)
        names = [part.name for part in found.parts]
        assert len(names) == len(set(names))
        assert all(part.bytes > 0 and part.source for part in found.parts)
        assert {part.where for part in found.parts} == {"gpu", "host", "page-cache"}
        assert found.total_gpu == sum(p.bytes for p in found.parts if p.where == "gpu")
        assert found.total_host == sum(p.bytes for p in found.parts if p.where == "host")
        exact = {part.name for part in found.parts if part.is_exact}
        assert exact == {"weights", "token-embedding", "kv", "recurrent-state", "mtp-kv"}


def test_contexts_are_padded_to_256_cells():
    sizes = {
        ctx: estimate(DENSE, MemoryRequest(ctx=ctx, parallel=1), NEW).part("kv")
        for ctx in (4864, 5000, 5120)
    }
    assert sizes[5000] == sizes[5120] == 5120 * 6 * 2 * 256
    assert sizes[4864] < sizes[5000]


def test_no_context_means_the_trained_one():
    found = estimate(DENSE, MemoryRequest(parallel=1), NEW)
    assert found.part("kv") == 131072 * 6 * 2 * 256


def test_slots_divide_the_context_unless_the_cache_is_unified():
    shape = MemoryRequest(ctx=10_000, parallel=4).context(DENSE)
    assert (shape.cells, shape.streams, shape.slots, shape.total) == (2560, 4, 4, 10_240)
    unified = MemoryRequest(ctx=10_000, parallel=4, kv_unified=True).context(DENSE)
    assert (unified.cells, unified.streams) == (10_240, 1)
    auto = MemoryRequest(ctx=10_000).context(DENSE)
    assert (auto.cells, auto.streams, auto.slots, auto.is_unified) == (10_240, 1, 4, True)


def test_windowed_layers_keep_the_window_and_a_batch():
    """Five of six layers are windowed: 1024 + 512 cells each, for the slots of a unified cache."""
    row = 2 * 2 * 2 * 64
    one = estimate(GEMMA, MemoryRequest(ctx=32768, parallel=1), NEW).part("kv")
    assert one == row * (32768 + 5 * 1536)
    four = MemoryRequest(ctx=32768, parallel=4, kv_unified=True)
    assert estimate(GEMMA, four, NEW).part("kv") == row * (32768 + 5 * (4096 + 512))
    apart = MemoryRequest(ctx=32768, parallel=4)
    assert estimate(GEMMA, apart, NEW).part("kv") == row * (32768 + 5 * 4 * 1536)
    full = MemoryRequest(ctx=32768, parallel=1, swa_full=True)
    assert estimate(GEMMA, full, NEW).part("kv") == row * 6 * 32768
    short = MemoryRequest(ctx=1024, parallel=1)
    assert estimate(GEMMA, short, NEW).part("kv") == row * 6 * 1024


def test_an_unmeasured_shape_gets_the_bound():
    part = next(
        part
        for part in estimate(DENSE, MemoryRequest(ctx=4096, parallel=1), NEW).parts
        if part.name == "compute"
    )
    assert part.note == "upper bound"
    # mask 4096 * 2 * 512, and 28 * n_embd * ubatch * 4
    assert part.bytes == 4096 * 2 * 512 + 28 * 1024 * 512 * 4


def test_overhead_of_an_unmeasured_shape_is_the_default():
    def overhead(facts, **changes):
        request = MemoryRequest(ctx=4096, parallel=1, **changes)
        return estimate(facts, request, NEW).part("overhead") / MIB

    assert overhead(DENSE) == 700
    # 526 for the context, 86 until ready, 108 for cuBLAS.
    assert overhead(replace(DENSE, float_matrices=3)) == 720
    tiny = model_facts(TINY_DENSE)
    assert overhead(tiny, spec_type="mtp", n_max=2) == 850


def test_the_scratch_counts_for_quantised_and_bf16_caches_only():
    def compute(kind):
        request = MemoryRequest(ctx=65536, parallel=1, kv_k=kind, kv_v=kind)
        return estimate(facts_35b(), request, NEW).part("compute") / MIB

    assert compute("q4_0") == compute("q8_0") == compute("bf16")
    assert compute("f16") == compute("f32") == pytest.approx(64 + 108.3, abs=0.01)


def test_builds_between_two_that_were_seen_take_the_costly_answer():
    request = MemoryRequest(ctx=131072, parallel=1, kv_k="q4_0", kv_v="q4_0", spec_type="mtp")
    totals = [
        estimate(facts_35b(), request, behaviour_of(build)).total_gpu
        for build in (9254, 9350, 9400, 9450, 9480, 11434)
    ]
    assert totals[0] == totals[1]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0]
    between = estimate(facts_35b(), request, behaviour_of(9480))
    assert any("b9480 was not looked at" in warning for warning in between.warnings)


def test_an_unknown_build_is_said_to_be_one():
    request = MemoryRequest(ctx=4096, parallel=1)
    known = estimate(facts_35b(), request, NEW)
    unknown = estimate(facts_35b(), request, behaviour_of("some-fork:1.0"))
    assert known.warnings == ()
    assert any("some-fork:1.0 is not known" in warning for warning in unknown.warnings)
    assert unknown.total_gpu > known.total_gpu


@pytest.mark.parametrize(
    ("build", "kv", "no_vmm", "warned"),
    [
        (9254, "q4_0", True, True),
        (9254, "q4_0", False, False),
        (9254, "f16", True, False),
        (11434, "q4_0", True, False),
    ],
)
def test_the_legacy_pool_with_quantised_kv_deserves_a_warning(build, kv, no_vmm, warned):
    request = MemoryRequest(ctx=4096, parallel=1, kv_k=kv, kv_v=kv, no_vmm=no_vmm)
    found = estimate(facts_35b(), request, behaviour_of(build))
    assert (LEGACY_POOL_WARNING in found.warnings) is warned


def test_settings_that_stop_the_server_are_problems():
    quantised = MemoryRequest(ctx=4096, parallel=1, kv_v="q8_0", flash_attn="off")
    assert "needs flash attention" in estimate(DENSE, quantised, NEW).problems[0]
    odd = replace(DENSE, key_length=80, value_length=80)
    blocks = estimate(odd, MemoryRequest(ctx=4096, parallel=1, kv_k="q4_0"), NEW).problems
    assert len(blocks) == 1
    assert "do not divide the head size 80" in blocks[0]
    mtp = MemoryRequest(ctx=4096, parallel=1, spec_type="mtp")
    assert "no MTP layers" in estimate(DENSE, mtp, NEW).problems[0]
    assert estimate(DENSE, MemoryRequest(ctx=4096, parallel=1), NEW).problems == ()


def test_other_doubts_are_warnings():
    request = MemoryRequest(kv_k="iq4_nl", kv_v="turbo3", gpu_layers=10)
    warnings = " | ".join(estimate(facts_35b(), request, NEW).warnings)
    for expected in ("iq4_nl", "turbo3 exists in forks", "parallel is not set", "overstated"):
        assert expected in warnings
    sparse = replace(DENSE, indexer_key_length=128)
    found = estimate(sparse, MemoryRequest(ctx=4096, parallel=1), NEW)
    assert any("not counted" in warning for warning in found.warnings)
    assert not any(part.is_exact for part in found.parts if part.name == "kv")


def test_without_flash_attention_the_scores_are_counted():
    off = MemoryRequest(ctx=32768, parallel=1, flash_attn="off")
    on = replace(off, flash_attn="on")
    more = estimate(DENSE, off, NEW).total_gpu - estimate(DENSE, on, NEW).total_gpu
    # Two f32 matrices of 4 heads x 32768 cells x 512 tokens, and a mask twice as wide.
    assert more == 2 * 4 * 4 * 32768 * 512 + 2 * 32768 * 512


def test_a_projector_takes_more_than_its_file():
    request = MemoryRequest(ctx=4096, parallel=1, mmproj_bytes=10**9)
    assert estimate(DENSE, request, NEW).part("mmproj") == 1_400_000_000


def test_a_tied_embedding_is_on_both_sides():
    tied = replace(DENSE, output_bytes=0)
    own = replace(DENSE, output_bytes=10**8)
    request = MemoryRequest(ctx=4096, parallel=1)
    assert estimate(tied, request, NEW).part("weights") == 10**9
    assert estimate(own, request, NEW).part("weights") == 9 * 10**8
    for facts in (tied, own):
        assert estimate(facts, request, NEW).part("token-embedding") == 10**8


def test_a_separate_drafter_brings_weights_cache_and_buffer():
    request = MemoryRequest(ctx=8192, parallel=1, spec_type="draft", n_max=4)
    small = replace(DENSE, block_count=2, weight_bytes=2 * 10**8, output_bytes=10**7)
    alone = estimate(DENSE, request, NEW)
    both = estimate(DENSE, request, NEW, drafter=small)
    assert both.part("drafter-weights") == 10**8
    assert both.part("drafter-kv") == 8192 * 2 * 2 * 256
    assert both.part("overhead") > alone.part("overhead")
    shared = replace(small, arch="gemma4-assistant")
    mtp = replace(request, spec_type="mtp")
    found = estimate(replace(DENSE, arch="gemma4"), mtp, NEW, drafter=shared)
    assert found.part("drafter-kv") == 0
    assert found.problems == ()


def test_rollback_copies_are_only_for_architectures_that_roll_back():
    request = MemoryRequest(ctx=4096, parallel=1, spec_type="mtp", n_max=3)
    rolls = estimate(facts_35b(), request, NEW).part("recurrent-state")
    other = estimate(replace(facts_35b(), arch="qwen3next"), request, NEW)
    assert rolls == 4 * other.part("recurrent-state")


def test_host_memory_is_listed_beside_the_gpu():
    request = MemoryRequest(ctx=4096, parallel=2, spec_type="mtp", n_max=3)
    found = estimate(facts_35b(), request, NEW)
    assert found.part("prompt-cache") == 8192 * MIB
    # 32 checkpoints of 62.8125 MiB in each of two slots.
    assert found.part("checkpoints") == int(62.8125 * MIB) * 64
    assert found.part("output-buffer") == 248320 * 4 * 2 + 2048 * 2048 * 4
    off = estimate(facts_35b(), replace(request, cache_ram_mib=0, ctx_checkpoints=0), NEW)
    assert off.part("prompt-cache") == off.part("checkpoints") == 0
    assert found.part("model-pages") == facts_35b().file_size
    assert "model-pages" not in {p.name for p in found.parts if p.where == "host"}


@pytest.mark.parametrize(
    "changes",
    [
        {"ctx": -1},
        {"ctx": 2**40},
        {"parallel": 0},
        {"ubatch": 0},
        {"batch": 0},
        {"n_max": 0},
        {"mmproj_bytes": -1},
        {"flash_attn": "maybe"},
        {"cache_ram_mib": -2},
    ],
)
def test_values_that_no_server_takes_are_refused(changes):
    with pytest.raises(UsageError, match=next(iter(changes))):
        MemoryRequest(**changes)


def test_an_unknown_cache_type_is_refused():
    with pytest.raises(UnknownName):
        estimate(DENSE, MemoryRequest(kv_k="q3_0"), NEW)


SETTINGS = st.fixed_dictionaries(
    {
        "kv_k": st.sampled_from(["f16", "q8_0", "q4_0", "turbo3"]),
        "kv_v": st.sampled_from(["f16", "q5_1", "q4_0"]),
        "parallel": st.sampled_from([None, 1, 2, 3, 4]),
        "kv_unified": st.sampled_from([None, True, False]),
        "ubatch": st.sampled_from([64, 512, 2048]),
        "spec_type": st.sampled_from([None, "mtp", "eagle3", "ngram-mod"]),
        "n_max": st.sampled_from([None, 1, 5]),
        "swa_full": st.booleans(),
    }
)


@settings(max_examples=150, deadline=None)
@given(
    SETTINGS,
    st.integers(256, 262144),
    st.integers(0, 65536),
    st.sampled_from([8740, 9254, 9350, 9450, 10405, 11434]),
    st.sampled_from([facts_35b(), facts_27b(), GEMMA, DENSE]),
)
def test_the_need_never_falls_when_the_context_grows(changes, ctx, more, build, facts):
    behaviour = behaviour_of(build)
    small, large = (
        estimate(facts, MemoryRequest(ctx=size, **changes), behaviour).total_gpu
        for size in (ctx, ctx + more)
    )
    assert 0 < small <= large
