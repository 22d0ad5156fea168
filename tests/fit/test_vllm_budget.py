import pytest

from olares_apps.errors import UsageError
from olares_apps.fit.verdict import GIB, FitState
from olares_apps.fit.vllm_budget import (
    VllmFacts,
    VllmRequest,
    judge_vllm,
    stricter_between,
    vllm_facts,
)
from olares_apps.hardware import load_profile

ONE = load_profile("olares-one")
# 20 layers with 8 heads of 128: 81 920 bytes per token, 10 GiB for 131072.
DENSE = VllmFacts(weight_bytes=12 * 10**9, attention_layers=20, kv_heads=8, head_dim=128)


def test_kv_of_a_token_counts_keys_and_values():
    assert DENSE.kv_per_token() == 2 * 20 * 8 * 128 * 2 == 81_920
    assert DENSE.kv_per_token("fp8") == 40_960
    with_head = VllmFacts(0, attention_layers=20, kv_heads=8, head_dim=128, mtp_layers=1)
    assert with_head.kv_per_token(with_mtp=True) == 86_016
    assert with_head.kv_per_token() == 81_920


def test_a_context_that_does_not_fit_the_cache_says_what_would():
    """Public report: 131072 tokens were asked for, the pool had room for a third."""
    big = VllmFacts(weight_bytes=16 * 10**9, attention_layers=20, kv_heads=8, head_dim=128)
    verdict = judge_vllm(big, VllmRequest(max_model_len=131072), ONE)
    assert verdict.state is FitState.DOES_NOT_FIT
    assert verdict.kv_needed == 10 * GIB
    worst, best = verdict.kv_available
    assert best - worst == 1_500_000_000
    assert verdict.largest == (worst // 81_920, best // 81_920)
    (reason,) = verdict.reasons
    assert reason.startswith("max_model_len 131072 needs KV 10.0GiB, available ")
    assert f"(max ~{verdict.largest[0] // 1000}k to ~{verdict.largest[1] // 1000}k" in reason


def test_the_largest_context_that_it_names_fits():
    verdict = judge_vllm(DENSE, VllmRequest(max_model_len=131072), ONE)
    worst, best = verdict.largest
    assert judge_vllm(DENSE, VllmRequest(max_model_len=worst), ONE).state is FitState.FITS
    assert judge_vllm(DENSE, VllmRequest(max_model_len=worst + 1), ONE).state is FitState.TIGHT
    assert judge_vllm(DENSE, VllmRequest(max_model_len=best), ONE).state is FitState.TIGHT
    over = judge_vllm(DENSE, VllmRequest(max_model_len=best + 1), ONE)
    assert over.state is FitState.DOES_NOT_FIT


def test_a_share_that_is_not_free_stops_the_start():
    """Public report: 0.90 on a card with another app, or under a virtual GPU."""
    request = VllmRequest(max_model_len=4096, gpu_memory_utilization=0.95, other_apps=8 * GIB)
    verdict = judge_vllm(DENSE, request, ONE)
    assert verdict.state is FitState.DOES_NOT_FIT
    assert verdict.reasons == (
        "0.95 x 23.89GiB = 22.7GiB > usable 23.42GiB - other apps 8.0GiB: vLLM refuses to start",
    )
    alone = VllmRequest(max_model_len=4096, gpu_memory_utilization=0.95)
    assert judge_vllm(DENSE, alone, ONE).state is FitState.FITS


def test_a_share_above_the_usable_memory_stops_the_start_even_alone():
    request = VllmRequest(max_model_len=4096, gpu_memory_utilization=0.99)
    assert judge_vllm(DENSE, request, ONE).state is FitState.DOES_NOT_FIT


def test_the_share_applies_to_the_cap_of_a_virtual_gpu():
    request = VllmRequest(max_model_len=4096, gpu_memory_utilization=0.9, vgpu_cap=16 * GIB)
    verdict = judge_vllm(DENSE, request, ONE)
    assert verdict.requested == pytest.approx(14.4 * GIB, abs=1)
    assert verdict.free == 16 * GIB
    assert verdict.state is FitState.FITS


def test_a_hybrid_is_a_bound_and_never_certain():
    hybrid = VllmFacts(10**9, attention_layers=10, kv_heads=2, head_dim=256, is_hybrid=True)
    verdict = judge_vllm(hybrid, VllmRequest(max_model_len=4096), ONE)
    assert verdict.state is FitState.TIGHT
    assert "lower bound" in verdict.warnings[0]


def test_a_context_above_the_trained_one_is_refused():
    short = VllmFacts(10**9, 10, 2, 128, trained_context=32768)
    verdict = judge_vllm(short, VllmRequest(max_model_len=32769), ONE)
    assert verdict.state is FitState.DOES_NOT_FIT
    assert "max_position_embeddings 32768" in verdict.reasons[0]


def test_an_unknown_cache_type_is_counted_in_full_and_said_so():
    verdict = judge_vllm(DENSE, VllmRequest(max_model_len=1024, kv_dtype="nvfp4"), ONE)
    assert verdict.kv_needed == 1024 * 81_920
    assert "nvfp4" in verdict.warnings[0]


def test_the_shape_is_taken_from_config_json():
    config = {
        "text_config": {
            "num_hidden_layers": 8,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "hidden_size": 2048,
            "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2,
            "mtp_num_hidden_layers": 1,
            "max_position_embeddings": 262144,
        }
    }
    assert vllm_facts(config, 10**9) == VllmFacts(
        weight_bytes=10**9,
        attention_layers=2,
        kv_heads=2,
        head_dim=256,
        mtp_layers=1,
        is_hybrid=True,
        trained_context=262144,
    )
    interval = {**config["text_config"], "full_attention_interval": 4}
    del interval["layer_types"]
    assert vllm_facts(interval, 1).attention_layers == 2
    plain = {"num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 1024}
    assert vllm_facts(plain, 1) == VllmFacts(1, attention_layers=4, kv_heads=8, head_dim=128)


@pytest.mark.parametrize("config", [{}, {"num_hidden_layers": 4}, {"num_attention_heads": "8"}])
def test_a_config_without_a_shape_is_refused(config):
    with pytest.raises(UsageError):
        vllm_facts(config, 1)


@pytest.mark.parametrize(("length", "share"), [(0, 0.9), (4096, 0.0), (4096, 1.01), (4096, -1.0)])
def test_settings_that_vllm_refuses_are_refused(length, share):
    with pytest.raises(UsageError):
        VllmRequest(max_model_len=length, gpu_memory_utilization=share)


def test_an_upgrade_across_a_stricter_version_is_said():
    (reason,) = stricter_between((0, 19), (0, 21))
    assert reason.startswith("vLLM 0.21")
    assert stricter_between((0, 21), (0, 33)) == ()
    assert stricter_between((0, 19), (0, 20)) == ()
