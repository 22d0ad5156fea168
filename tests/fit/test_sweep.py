from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from support.fit_facts import facts_27b, facts_35b

from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.memory_model import estimate
from olares_apps.fit.memory_request import MemoryRequest
from olares_apps.fit.sweep import (
    Device,
    LargestContext,
    auto_contexts,
    context_sweep,
    largest_context,
    largest_per_kv_type,
    levers,
    other_files,
    scale_facts,
)
from olares_apps.fit.verdict import FitState, Thresholds, judge
from olares_apps.hardware import load_profile

ONE = Device(load_profile("olares-one"))
NEW = behaviour_of(11434)
FULL = MemoryRequest(ctx=262144, kv_k="q4_0", kv_v="q4_0", parallel=1, spec_type="mtp", n_max=3)
Q3, Q4 = facts_35b(17_200_000_000), facts_35b(22_000_000_000)


def state_at(facts, request, ctx, device=ONE):
    return device.judge(estimate(facts, replace(request, ctx=ctx), NEW)).state


def test_the_largest_context_is_where_the_verdict_changes():
    found = largest_context(Q4, FULL, NEW, ONE)
    assert not found.is_capped
    assert found.fits < found.at_all < 262144
    assert found.fits % 256 == found.at_all % 256 == 0
    assert state_at(Q4, FULL, found.fits) is FitState.FITS
    assert state_at(Q4, FULL, found.fits + 256) is FitState.TIGHT
    assert state_at(Q4, FULL, found.at_all) is FitState.TIGHT
    assert state_at(Q4, FULL, found.at_all + 256) is FitState.DOES_NOT_FIT


def test_the_trained_context_is_the_end():
    assert largest_context(Q3, FULL, NEW, ONE) == LargestContext(262144, 262144, is_capped=True)


def test_a_model_larger_than_the_card_has_no_context():
    assert largest_context(facts_35b(40_000_000_000), FULL, NEW, ONE) == LargestContext(None, None)


@settings(max_examples=25, deadline=None)
@given(st.integers(10, 26), st.integers(0, 4096), st.sampled_from([8740, 9254, 11434]))
def test_bisection_agrees_with_a_walk(size_gb, error_mib, build):
    """Compared with a search over every step, at a trained context that is no multiple."""
    facts = replace(facts_27b(size_gb * 10**9), context_length=5000)
    device = Device(ONE.profile, Thresholds(error_mib * 2**20, 6 * 2**30))
    behaviour = behaviour_of(build)
    found = largest_context(facts, FULL, behaviour, device)

    def walk(accepted):
        steps = [*range(256, 5000, 256), 5000]
        good = [
            ctx
            for ctx in steps
            if device.judge(estimate(facts, replace(FULL, ctx=ctx), behaviour)).state in accepted
        ]
        return max(good, default=None)

    assert found.fits == walk({FitState.FITS})
    assert found.at_all == walk({FitState.FITS, FitState.TIGHT})


def test_smaller_cache_types_allow_larger_contexts():
    per_type = largest_per_kv_type(Q4, FULL, NEW, ONE)
    assert list(per_type) == ["f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]
    contexts = [found.at_all for found in per_type.values()]
    assert contexts == sorted(contexts)
    assert per_type["f16"].at_all < 0.6 * per_type["q4_0"].at_all


def test_a_sweep_judges_every_context():
    rows = context_sweep(Q4, FULL, NEW, ONE, [32768, 131072, 262144])
    assert [(row.ctx, row.verdict.state) for row in rows] == [
        (32768, FitState.FITS),
        (131072, FitState.TIGHT),
        (262144, FitState.DOES_NOT_FIT),
    ]
    assert rows[2].estimate == estimate(Q4, FULL, NEW)


def test_an_automatic_sweep_has_powers_of_two_and_both_ends():
    request = replace(FULL, ctx=100_000)
    expected = (4096, 8192, 16384, 32768, 65536, 100_000, 131072, 262144)
    assert auto_contexts(Q4, request) == expected
    assert [row.ctx for row in context_sweep(Q4, request, NEW, ONE)] == list(expected)
    assert auto_contexts(replace(Q4, context_length=2048), replace(FULL, ctx=0)) == (2048,)


def test_levers_are_new_estimates_and_the_best_comes_first():
    rows = levers(Q4, FULL, NEW, ONE)
    before = ONE.judge(estimate(Q4, FULL, NEW)).need
    saved = {(row.setting, row.value): row.saved for row in rows}
    assert [row.saved for row in rows] == sorted((row.saved for row in rows), reverse=True)
    assert {row.setting for row in rows} == {"ubatch", "parallel", "kv", "n_max", "speculation"}
    smaller = estimate(Q4, replace(FULL, n_max=1), NEW)
    assert saved["n_max", "1"] == before - smaller.total_gpu == 2 * 65_863_680
    assert saved["kv", "f16"] < 0 < saved["ubatch", "256"]
    assert rows[0].setting == "speculation"
    assert all(row.verdict.need == before - row.saved for row in rows)


def test_levers_leave_out_what_is_set_already():
    plain = replace(FULL, spec_type=None, n_max=None, ubatch=256)
    changes = {(row.setting, row.value) for row in levers(Q3, plain, NEW, ONE)}
    assert ("ubatch", "256") not in changes
    assert ("ubatch", "512") in changes
    assert ("kv", "q4_0") not in changes
    assert ("parallel", "1") not in changes
    assert not any(setting in ("n_max", "speculation") for setting, _ in changes)


def test_other_files_of_the_repository_are_judged_by_size():
    listing = [
        ("Demo-UD-Q3_K_XL.gguf", 17_200_000_000),
        ("Demo-UD-Q4_K_XL.gguf", 22_000_000_000),
        ("BF16/Demo-BF16-00001-of-00002.gguf", 40_000_000_000),
        ("BF16/Demo-BF16-00002-of-00002.gguf", 30_000_000_000),
        ("Demo-Q8_0-00001-of-00003.gguf", 20_000_000_000),
        ("mmproj-F16.gguf", 900_000_000),
        ("README.md", 1000),
    ]
    rows = other_files(Q3, FULL, NEW, ONE, listing)
    assert [(row.name, row.size, row.missing) for row in rows] == [
        ("BF16/Demo-BF16-00001-of-00002.gguf", 70_000_000_000, ()),
        ("Demo-UD-Q4_K_XL.gguf", 22_000_000_000, ()),
        ("Demo-Q8_0-00001-of-00003.gguf", 20_000_000_000, ("00002-of-00003", "00003-of-00003")),
        ("Demo-UD-Q3_K_XL.gguf", 17_200_000_000, ()),
    ]
    by_name = {row.name: row for row in rows}
    assert by_name["Demo-UD-Q3_K_XL.gguf"].verdict.state is FitState.FITS
    q4 = by_name["Demo-UD-Q4_K_XL.gguf"]
    assert q4.verdict.state is FitState.DOES_NOT_FIT
    assert q4.largest == largest_context(Q4, FULL, NEW, ONE)
    assert rows[0].largest == LargestContext(None, None)
    part = by_name["Demo-Q8_0-00001-of-00003.gguf"]
    assert (part.state, part.verdict, part.largest) == ("incomplete", None, None)


def test_scaled_facts_do_not_understate_the_gpu():
    for size in (10_000_000_000, 17_200_000_000, 30_000_000_000):
        scaled = scale_facts(Q3, size)
        assert scaled.weight_bytes + scaled.header_bytes == size
        assert scaled.token_embd_bytes <= Q3.token_embd_bytes
        assert scaled.mtp_block_bytes <= Q3.mtp_block_bytes
    assert scale_facts(Q3, Q3.file_size) == Q3


def test_a_device_counts_what_others_hold():
    shared = Device(ONE.profile, other_apps=4 * 2**30)
    found = estimate(Q3, FULL, NEW)
    assert shared.judge(found) == judge(found, ONE.profile, other_apps=4 * 2**30)
    assert shared.judge(found).state is FitState.DOES_NOT_FIT
