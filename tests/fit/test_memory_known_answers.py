"""Figures that llama.cpp itself gave, as literals with their derivation.

The two models are Qwen3.6-35B-A3B (40 + 1 blocks, 10 with attention, 2 KV heads of 256) and
Qwen3.6-27B (64 + 1 blocks, 16 with attention, 4 KV heads of 256).
"""

from dataclasses import replace

import pytest
from support.fit_facts import MIB, facts_27b, facts_35b

from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.memory_model import estimate
from olares_apps.fit.memory_request import MemoryRequest

NEW, OLD = behaviour_of(11434), behaviour_of(9254)
Q4 = MemoryRequest(kv_k="q4_0", kv_v="q4_0", parallel=1)
Q4_MTP = replace(Q4, spec_type="draft-mtp", n_max=3)


def mib(facts, request, behaviour=NEW):
    """Return the GPU parts in MiB."""
    found = estimate(facts, request, behaviour)
    return {part.name: part.bytes / MIB for part in found.parts if part.where == "gpu"}


# KV: tokens * 10 layers * 2 * 512 elements * 18/32 bytes = 5760 bytes per token.
# RS: 62.8125 * (1 + 3 rollback copies). New compute: mask ctx*2*512, then
# max(108.3, 56.3 + scratch ctx*2*1024); MTP: max(104, 48 + mask), KV in f16: 2048 bytes/token.
NEW_RULES = {
    32768: (180.0, 251.25, 152.3, 64.0, 104.0),  # 32 + (56.3 + 64)
    65536: (360.0, 251.25, 248.3, 128.0, 112.0),  # 64 + (56.3 + 128); 48 + 64
    131072: (720.0, 251.25, 440.3, 256.0, 176.0),  # 128 + (56.3 + 256); 48 + 128
    262144: (1440.0, 251.25, 824.3, 512.0, 304.0),  # 256 + (56.3 + 512); 48 + 256
}

# Old: logits 248320*512*4 = 485 + 12 MiB against 44.3 (40.3 for MTP) + ctx*6*512; the draft's
# KV has the target's type (576 bytes/token); the scratch is outside, once per context.
OLD_RULES = {
    32768: (180.0, 251.25, 497.0, 18.0, 497.0, 128.0),
    65536: (360.0, 251.25, 497.0, 36.0, 497.0, 256.0),
    131072: (720.0, 251.25, 497.0, 72.0, 497.0, 512.0),
    262144: (1440.0, 251.25, 812.3, 144.0, 808.3, 1024.0),  # 44.3 + 768; 40.3 + 768
}
PARTS = ("kv", "recurrent-state", "compute", "mtp-kv", "mtp-compute")


@pytest.mark.parametrize("ctx", NEW_RULES)
def test_35b_with_mtp_on_a_current_build(ctx):
    parts = mib(facts_35b(), replace(Q4_MTP, ctx=ctx))
    assert [round(parts[name], 2) for name in PARTS] == list(NEW_RULES[ctx])
    assert parts["overhead"] == 846
    assert "fa-scratch" not in parts


@pytest.mark.parametrize("ctx", OLD_RULES)
def test_35b_with_mtp_on_b9254(ctx):
    parts = mib(facts_35b(), replace(Q4_MTP, ctx=ctx), OLD)
    names = (*PARTS, "fa-scratch")
    assert [round(parts[name], 2) for name in names] == list(OLD_RULES[ctx])
    assert parts["overhead"] == 846


def test_sum_without_weights_of_35b_at_262144():
    """1440 + 251.25 + 824.3 + 512 + 304 = 3331.55; the emulated table has 3328."""
    parts = mib(facts_35b(), replace(Q4_MTP, ctx=262144))
    rest = sum(value for name, value in parts.items() if name not in ("weights", "overhead"))
    assert round(rest, 2) == 3331.55


@pytest.mark.parametrize(
    ("facts", "kind", "ctx", "expected"),
    [
        (facts_35b(), "q4_0", 262144, 1440.0),
        (facts_35b(), "f16", 65536, 1280.0),
        (facts_35b(), "q8_0", 262144, 2720.0),
        (facts_27b(), "q4_0", 262144, 4608.0),  # 18432 bytes per token
        (facts_27b(), "f16", 32000, 2000.0),  # 65536 bytes per token
    ],
)
def test_kv_cache_equals_the_log(facts, kind, ctx, expected):
    request = replace(Q4, ctx=ctx, kv_k=kind, kv_v=kind)
    assert mib(facts, request)["kv"] == expected


def test_kv_of_one_token_of_the_35b_is_5760_bytes():
    small, large = (estimate(facts_35b(), replace(Q4, ctx=ctx), NEW) for ctx in (4096, 8192))
    assert (large.part("kv") - small.part("kv")) / 4096 == 5760


@pytest.mark.parametrize(
    ("facts", "one"),
    [
        # 4 * (3 * (4096 + 2*16*128) + 128*4096) * 30 layers
        (facts_35b(), 62.8125),
        # 4 * (3 * (6144 + 2*16*128) + 128*6144) * 48 layers
        (facts_27b(), 149.625),
    ],
)
def test_recurrent_state_equals_the_log(facts, one):
    def state(**changes):
        return mib(facts, replace(Q4, ctx=4096, **changes))["recurrent-state"]

    assert state() == one
    assert state(parallel=4) == 4 * one
    for n_max in (1, 2, 3, 5):
        assert state(spec_type="mtp", n_max=n_max) == one * (1 + n_max)
    assert state(spec_type="mtp", n_max=3, parallel=None) == 16 * one
    assert state(spec_type="ngram-simple", n_max=3) == one


def test_the_trap_of_an_unset_parallel():
    """Auto is four slots: 1005 and 2394 MiB at n_max 3 instead of 251 and 598."""
    auto = replace(Q4_MTP, ctx=262144, parallel=None)
    assert round(mib(facts_35b(), auto)["recurrent-state"]) == 1005
    assert round(mib(facts_27b(), auto)["recurrent-state"]) == 2394
    # The cache is unified then, so its size stays.
    assert mib(facts_35b(), auto)["kv"] == 1440


def test_public_log_of_35b_at_65536_with_two_drafts():
    """ggml-org/llama.cpp#23269: KV 1280.00 MiB, RS 188.44 MiB."""
    request = MemoryRequest(ctx=65536, parallel=1, spec_type="mtp", n_max=2)
    parts = mib(facts_35b(), request)
    assert (parts["kv"], round(parts["recurrent-state"], 2)) == (1280.0, 188.44)


def test_draft_kv_type_follows_the_build():
    """144 MiB in q4_0 up to b9305, 512 in f16 from b9388, whatever the target's type."""
    request = replace(Q4_MTP, ctx=262144)
    facts = facts_35b()
    assert [mib(facts, request, behaviour_of(b))["mtp-kv"] for b in (9254, 9305)] == [144, 144]
    assert [mib(facts, request, behaviour_of(b))["mtp-kv"] for b in (9388, 11434)] == [512, 512]
    own = replace(request, draft_kv_k="q4_0", draft_kv_v="q4_0")
    assert mib(facts, own)["mtp-kv"] == 144


def test_quantising_the_draft_cache_does_not_pay():
    """It saves 368 MiB of KV and needs 512 MiB of scratch."""
    f16 = mib(facts_35b(), replace(Q4_MTP, ctx=262144))
    own = replace(Q4_MTP, ctx=262144, draft_kv_k="q4_0", draft_kv_v="q4_0")
    q4_0 = mib(facts_35b(), own)
    assert f16["mtp-kv"] - q4_0["mtp-kv"] == 368
    assert q4_0["mtp-compute"] - f16["mtp-compute"] == 512


@pytest.mark.parametrize(
    ("facts", "plain", "with_mtp", "measured"),
    [
        # KV 1260 + mask 224 + scratch 448; MTP adds KV 448 and 304 - 104.
        (facts_35b(), 1932.0, 2580.0, (1932, 2598)),
        # KV 4032 + mask 224 + scratch 896; MTP adds KV 896 and 324 - 130.
        (facts_27b(), 5152.0, 6242.0, (5154, 6242)),
    ],
)
def test_growth_from_32k_to_262k(facts, plain, with_mtp, measured):
    """The MTP buffer is an upper bound that is looser at 32K, so growth is a little under."""

    def growth(request):
        small, large = (
            estimate(facts, replace(request, ctx=ctx), NEW).total_gpu for ctx in (32768, 262144)
        )
        return (large - small) / MIB

    assert (growth(Q4), growth(Q4_MTP)) == (plain, with_mtp)
    assert growth(Q4) == pytest.approx(measured[0], abs=2)
    assert growth(Q4_MTP) == pytest.approx(measured[1], abs=20)


def test_growth_that_two_other_cards_reported():
    """+2944 MiB for 131072 more tokens of a 27B on RTX 5090 and 3090 Ti, without MTP."""
    small, large = (
        estimate(facts_27b(), replace(Q4, ctx=ctx), NEW).total_gpu for ctx in (131072, 262144)
    )
    assert (large - small) / MIB == 2944
    with_mtp = [
        estimate(facts_27b(), replace(Q4_MTP, ctx=ctx), NEW).total_gpu for ctx in (131072, 262144)
    ]
    assert (with_mtp[1] - with_mtp[0]) / MIB == 3584


@pytest.mark.parametrize(("ubatch", "emulated"), [(64, 552), (256, 670), (512, 828), (2048, 1776)])
def test_ubatch_is_the_lever_of_the_compute_buffer(ubatch, emulated):
    parts = mib(facts_35b(), replace(Q4, ctx=262144, ubatch=ubatch))
    assert parts["compute"] == pytest.approx(emulated, abs=16)


def test_f16_on_a_full_context_leaves_what_was_measured():
    """35B in f16 at 262144 with MTP ran with 475 MiB left of 23982."""
    request = MemoryRequest(ctx=262144, parallel=1, spec_type="mtp", n_max=3)
    left = 23982 - estimate(facts_35b(17_200_000_000), request, NEW).total_gpu / MIB
    assert left == pytest.approx(475, abs=15)


def test_weights_leave_the_embedding_on_the_host():
    facts = facts_35b(17_200_000_000)
    found = estimate(facts, replace(Q4_MTP, ctx=4096), NEW)
    # 16403 MiB of file, less 273 of embedding and 10 of header.
    assert round(found.part("weights") / MIB) == 16120
    assert round(found.part("token-embedding") / MIB) == 273


def test_mtp_weights_are_loaded_on_demand_in_current_builds():
    facts = facts_35b()
    on, off = replace(Q4_MTP, ctx=4096), replace(Q4, ctx=4096)
    assert round(mib(facts, on)["weights"] - mib(facts, off)["weights"]) == 371
    assert mib(facts, on, OLD)["weights"] == mib(facts, off, OLD)["weights"]


@pytest.mark.parametrize(
    ("facts", "plain", "with_mtp"), [(facts_35b(), 727, 846), (facts_27b(), 630, 654)]
)
def test_overhead_is_the_largest_that_was_measured(facts, plain, with_mtp):
    assert mib(facts, replace(Q4, ctx=4096))["overhead"] == plain
    assert mib(facts, replace(Q4_MTP, ctx=4096))["overhead"] == with_mtp
