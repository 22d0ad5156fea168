import pytest
from support.fit_facts import facts_27b, facts_35b

from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.fit.layers import plan_layers


def indices(layers):
    return [layer.index for layer in layers]


def test_every_fourth_layer_of_the_hybrids_has_a_kv_cache():
    plan = plan_layers(facts_35b())
    assert indices(plan.attention) == list(range(3, 40, 4))
    assert indices(plan.mtp) == [40]
    assert plan.recurrent_layers == 30
    # 3 * (4096 + 2*16*128) for the convolution, 128 * 4096 for the state.
    assert plan.state_elements == 24_576 + 524_288
    assert (plan.attention[0].key_elements, plan.attention[0].value_elements) == (512, 512)
    assert plan.not_modelled == ()


def test_the_27b_has_16_attention_layers():
    plan = plan_layers(facts_27b())
    assert len(plan.attention) == 16
    assert plan.recurrent_layers == 48
    assert plan.state_elements == 30_720 + 786_432


def test_an_array_of_recurrent_layers_wins_over_the_interval():
    facts = GgufFacts(
        arch="qwen35",
        block_count=4,
        head_count_kv=1,
        key_length=8,
        value_length=8,
        full_attention_interval=2,
        recurrent_layers=(1, 0, 0, 1),
    )
    assert indices(plan_layers(facts).attention) == [1, 2]


@pytest.mark.parametrize(
    ("facts", "attention", "recurrent"),
    [
        (
            GgufFacts(arch="llama", block_count=3, head_count_kv=2, key_length=8, value_length=8),
            3,
            0,
        ),
        (
            GgufFacts(
                arch="granitehybrid",
                block_count=4,
                head_count_kv=(0, 0, 2, 0),
                key_length=8,
                value_length=8,
                ssm_state_size=16,
            ),
            1,
            3,
        ),
        (
            GgufFacts(
                arch="nemotron_h",
                block_count=4,
                head_count_kv=(0, 0, 2, 0),
                feed_forward_length=(0, 64, 0, 0),
                key_length=8,
                value_length=8,
                ssm_state_size=16,
            ),
            1,
            2,
        ),
        (
            GgufFacts(
                arch="falcon-h1",
                block_count=3,
                head_count_kv=2,
                key_length=8,
                value_length=8,
                ssm_state_size=16,
            ),
            3,
            3,
        ),
        (GgufFacts(arch="mamba2", block_count=5, ssm_state_size=16), 0, 5),
        (
            GgufFacts(
                arch="lfm2",
                n_embd=64,
                block_count=3,
                head_count_kv=(0, 4, 0),
                key_length=8,
                value_length=8,
                shortconv_l_cache=3,
            ),
            1,
            2,
        ),
    ],
)
def test_layers_are_sorted_by_architecture(facts, attention, recurrent):
    plan = plan_layers(facts)
    assert (len(plan.attention), plan.recurrent_layers) == (attention, recurrent)


def windowed(arch, layers, **keys):
    facts = GgufFacts(
        arch=arch,
        block_count=layers,
        head_count_kv=2,
        key_length=64,
        value_length=64,
        **({"sliding_window": 1024} | keys),
    )
    plan = plan_layers(facts)
    return [layer.index for layer in plan.attention if layer.is_windowed], plan


@pytest.mark.parametrize(
    ("arch", "keys", "expected"),
    [
        ("gemma3", {}, [0, 1, 2, 3, 4, 6, 7]),
        ("gpt-oss", {}, [0, 2, 4, 6]),
        ("cohere2moe", {}, [1, 2, 3, 5, 6, 7]),
        ("gemma3", {"sliding_window_pattern": 2}, [0, 2, 4, 6]),
        ("gemma4", {"sliding_window_pattern": (1, 1, 0, 1, 1, 0, 0, 0)}, [0, 1, 3, 4]),
        ("gemma3", {"sliding_window": 0}, []),
        ("llama4", {"sliding_window": 0}, [0, 1, 2, 4, 5, 6]),
        ("qwen2", {}, []),
    ],
)
def test_windowed_layers_follow_the_pattern_of_the_architecture(arch, keys, expected):
    found, plan = windowed(arch, 8, **keys)
    assert found == expected
    assert (plan.window > 0) is bool(expected)


def test_windowed_layers_have_their_own_head_size():
    _, plan = windowed(
        "gemma4", 2, sliding_window_pattern=(1, 0), key_length_swa=32, value_length_swa=16
    )
    rows = [(layer.key_elements, layer.value_elements) for layer in plan.attention]
    assert rows == [(64, 32), (128, 128)]


def test_layers_that_share_a_cache_hold_none():
    found, plan = windowed("gemma4", 6, sliding_window_pattern=(0,) * 6, shared_kv_layers=2)
    assert found == []
    assert indices(plan.attention) == [0, 1, 2, 3]
    _, nano = windowed("gemma3n", 30)
    assert len(nano.attention) == 20


def test_mla_caches_one_row_for_key_and_value():
    facts = GgufFacts(
        arch="deepseek2",
        block_count=2,
        head_count_kv=1,
        key_length=576,
        value_length=512,
        kv_lora_rank=512,
        key_length_mla=192,
        value_length_mla=128,
    )
    rows = [(layer.key_elements, layer.value_elements) for layer in plan_layers(facts).attention]
    assert rows == [(576, 0), (576, 0)]


def test_caches_that_are_left_out_are_named():
    facts = GgufFacts(arch="deepseek4", block_count=2, indexer_key_length=128)
    assert len(plan_layers(facts).not_modelled) == 2
