from dataclasses import replace

import pytest
from support.fit_facts import MIB, facts_35b

from olares_apps.errors import UsageError
from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.memory_model import MemoryEstimate, Part, estimate
from olares_apps.fit.memory_request import MemoryRequest
from olares_apps.fit.verdict import (
    GIB,
    FitState,
    Measured,
    Thresholds,
    judge,
    judge_need,
    required_gpu_memory,
)
from olares_apps.hardware import load_profile

ONE = load_profile("olares-one")
NEW = behaviour_of(11434)
FULL = MemoryRequest(ctx=262144, kv_k="q4_0", kv_v="q4_0", parallel=1, spec_type="mtp", n_max=3)


def needing(gpu: int, host: int = 0) -> MemoryEstimate:
    return MemoryEstimate(
        (Part("weights", gpu, "gpu", "test"), Part("prompt-cache", host, "host", "test"))
    )


def test_q3_fits_at_the_full_context_and_q4_does_not():
    """The first release chose the larger file and ran out of memory on every device."""
    q3 = judge(estimate(facts_35b(17_200_000_000), FULL, NEW), ONE)
    assert q3.state is FitState.FITS
    # 16119.6 weights + 3331.55 + 846 overhead of 23982
    assert round(q3.need / MIB) == 20298
    assert round(q3.free / MIB) == 3684
    q4 = judge(estimate(facts_35b(22_000_000_000), FULL, NEW), ONE)
    assert q4.state is FitState.DOES_NOT_FIT
    assert q4.has_problem
    assert round(q4.free / MIB) == -893


@pytest.mark.parametrize("build", [9254, 11434])
def test_q4_without_its_head_does_not_fit_either(build):
    plain = replace(FULL, spec_type=None)
    found = estimate(facts_35b(22_000_000_000, "none"), plain, behaviour_of(build))
    assert judge(found, ONE).state is not FitState.FITS


def test_a_need_below_the_quota_of_a_24_gb_card_prints_every_figure():
    """Public report: 21.5 GiB were refused by the virtual GPU although the card had room."""
    state, message = judge_need(round(21.49 * GIB), ONE)
    assert state is FitState.FITS
    assert message == (
        "needs 21.5GiB, quota 23.89GiB, usable after driver/vGPU reserve 23.42GiB "
        "-> fits with 1.9GiB margin"
    )
    state, message = judge_need(round(23.5 * GIB), ONE)
    assert state is FitState.DOES_NOT_FIT
    assert "does not fit, 0.1GiB too much" in message


@pytest.mark.parametrize(
    ("free_mib", "state"),
    [
        (1024, FitState.FITS),
        (1023, FitState.TIGHT),
        (256, FitState.TIGHT),
        (255, FitState.DOES_NOT_FIT),
        (0, FitState.DOES_NOT_FIT),
        (-1, FitState.DOES_NOT_FIT),
    ],
)
def test_states_change_at_the_thresholds(free_mib, state):
    verdict = judge(needing((23982 - free_mib) * MIB), ONE)
    assert verdict.state is state
    assert verdict.free == free_mib * MIB
    assert verdict.has_problem is (state is FitState.DOES_NOT_FIT)


def test_thresholds_are_settings():
    need = needing((23982 - 600) * MIB)
    assert judge(need, ONE, Thresholds(0, 512 * MIB)).state is FitState.FITS
    assert judge(need, ONE, Thresholds(GIB, GIB)).state is FitState.DOES_NOT_FIT
    for low, high in ((2, 1), (-1, 1)):
        with pytest.raises(UsageError):
            Thresholds(low, high)


def test_a_measured_figure_wins_and_both_are_told():
    found = estimate(facts_35b(17_200_000_000), FULL, NEW)
    measured = Measured(22 * GIB, "nvidia-smi after a 200K prompt, 2026-06-02")
    verdict = judge(found, ONE, measured=measured)
    assert verdict.need == 22 * GIB
    assert verdict.estimated == found.total_gpu
    assert verdict.measured == measured


def test_other_apps_shrink_the_budget():
    verdict = judge(needing(20 * GIB), ONE, other_apps=8 * GIB)
    assert verdict.state is FitState.DOES_NOT_FIT
    assert "other apps 8.0GiB" in verdict.message


def test_shared_memory_counts_the_host_part_too():
    spark = load_profile("dgx-spark")
    assert judge(needing(90 * GIB, 20 * GIB), spark).state is FitState.DOES_NOT_FIT
    assert judge(needing(90 * GIB, 2 * GIB), spark).state is FitState.FITS
    assert judge(needing(15 * GIB, 20 * GIB), ONE).need == 15 * GIB


def test_problems_and_warnings_of_the_estimate_are_passed_on():
    broken = replace(FULL, flash_attn="off", parallel=None)
    verdict = judge(estimate(facts_35b(10**10), broken, NEW), ONE)
    assert verdict.problems
    assert verdict.warnings
    assert verdict.has_problem


@pytest.mark.parametrize(
    ("need_mib", "declared_mib"),
    [
        (20298, 20 * 1024),  # 19.82 GiB
        (20480, 20 * 1024),
        (20481, 21 * 1024),
        (1, 1024),
        (23552, 23 * 1024),
        (23553, 23553),  # 24Gi would be above the card: the need itself
        (23982, 23982),
        (30000, 23982),
    ],
)
def test_the_manifest_asks_for_whole_gi_within_the_card(need_mib, declared_mib):
    assert required_gpu_memory(need_mib * MIB, ONE) == declared_mib * MIB
