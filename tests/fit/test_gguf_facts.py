import json

import pytest
from support.gguf_files import (
    QWEN36_27B,
    QWEN36_35B,
    TINY_DENSE,
    Tensor,
    Typed,
    gguf_source,
    model_source,
    tensors_of,
)

from olares_apps.fit.gguf_facts import FactsError, GgufFacts, facts_of
from olares_apps.fit.gguf_header import read_header

MIB = 2**20


def facts_from(metadata, tensors=()):
    return facts_of(read_header(gguf_source(metadata, list(tensors))))


def test_facts_of_the_35b_shape():
    facts = facts_of(read_header(model_source(QWEN36_35B)))
    assert (facts.arch, facts.block_count, facts.nextn, facts.trunk_layers) == (
        "qwen35moe",
        41,
        1,
        40,
    )
    assert (facts.head_count, facts.head_count_kv, facts.key_length) == (16, 2, 256)
    assert (facts.vocab_size, facts.context_length, facts.expert_count) == (248320, 262144, 256)
    assert (facts.ssm_inner_size, facts.ssm_state_size, facts.ssm_group_count) == (4096, 128, 16)
    assert facts.quantisation == "Q3_K_M"
    # 248320 x 2048 elements in Q4_K, 144 bytes for 256: 272.81 MiB stay on the host.
    assert facts.token_embd_bytes == 286_064_640
    # Measured: Q3_K experts and Q8_0 for the rest make an MTP block of 371 MiB.
    assert round(facts.mtp_block_bytes / MIB) == 371
    assert facts.mtp_block_tensors == 20
    assert facts.nextn_tensors[0] == "blk.40.nextn.eh_proj.weight"
    assert facts.weight_bytes + facts.header_bytes <= facts.file_size
    # One F32 router per block; norms and convolutions do not count.
    assert facts.float_matrices == 41
    assert not facts.is_tied


def test_facts_of_the_27b_shape():
    facts = facts_of(read_header(model_source(QWEN36_27B, rest="Q4_K")))
    assert (facts.block_count, facts.nextn) == (65, 1)
    assert round(facts.token_embd_bytes / MIB) == 682
    assert round(facts.mtp_block_bytes / MIB) == 228
    assert facts.float_matrices == 0


def test_a_model_without_output_matrix_is_tied():
    facts = facts_of(read_header(model_source(TINY_DENSE, tied=True)))
    assert facts.is_tied
    assert facts.output_bytes == 0


@pytest.mark.parametrize("head", ["full", "none", "key"])
@pytest.mark.parametrize("shape", [QWEN36_35B, QWEN36_27B, TINY_DENSE])
def test_facts_survive_a_lock_file(shape, head):
    facts = facts_of(read_header(model_source(shape, head)))
    plain = facts.to_dict()
    assert GgufFacts.from_dict(json.loads(json.dumps(plain))) == facts
    assert list(plain)[:2] == ["schema", "arch"]
    assert list(plain) == list(facts.to_dict())


def test_values_per_layer_are_kept_and_uniform_ones_are_one_value():
    keys = {
        "general.architecture": "demo",
        "demo.block_count": 4,
        "demo.embedding_length": 64,
        "demo.attention.head_count": Typed("array", [8, 8, 8, 8], "uint32"),
        "demo.attention.head_count_kv": Typed("array", [0, 2, 0, 2], "int32"),
        "demo.attention.sliding_window_pattern": Typed("array", [True] * 4, "bool"),
        "demo.attention.recurrent_layers": Typed("array", [True, False, True, False], "bool"),
    }
    facts = facts_from(keys)
    assert facts.head_count == 8
    assert facts.head_count_kv == (0, 2, 0, 2)
    assert facts.sliding_window_pattern == (1, 1, 1, 1)
    assert facts.recurrent_layers == (1, 0, 1, 0)
    assert facts.key_length == facts.value_length == 8
    assert GgufFacts.from_dict(facts.to_dict()) == facts


def test_a_missing_kv_head_count_is_the_head_count():
    keys = {"general.architecture": "demo", "demo.attention.head_count": 12}
    assert facts_from(keys).head_count_kv == 12


def test_the_vocabulary_comes_from_the_embedding_then_the_key_then_the_tokens():
    arch = {"general.architecture": "demo"}
    words = {"tokenizer.ggml.tokens": Typed("array", ["a"] * 100, "string")}
    key = {"demo.vocab_size": 200}
    embedding = [Tensor("token_embd.weight", (32, 300))]
    assert facts_from(arch | words).vocab_size == 100
    assert facts_from(arch | words | key).vocab_size == 200
    assert facts_from(arch | words | key, embedding).vocab_size == 300


def test_a_projector_says_what_it_is():
    keys = {
        "general.architecture": "clip",
        "clip.has_vision_encoder": True,
        "clip.projector_type": "qwen3vl_merger",
    }
    facts = facts_from(keys, [Tensor("v.patch_embd.weight", (16, 16, 3, 64), "F16")])
    assert (facts.arch, facts.projector) == ("clip", "qwen3vl_merger")
    assert (facts.has_vision, facts.has_audio) == (True, False)
    assert facts.weight_bytes == 16 * 16 * 3 * 64 * 2


def test_tensor_types_without_a_table_entry_are_listed():
    tensors = [Tensor("a.weight", (32,), kind=200, size=64), Tensor("b.weight", (8,))]
    assert facts_from({"general.architecture": "demo"}, tensors).unknown_types == (200,)


def test_keys_of_the_wrong_kind_count_as_absent():
    keys = {
        "general.architecture": "demo",
        "demo.block_count": Typed("string", "forty"),
        "demo.context_length": Typed("int32", -5),
        "demo.embedding_length": Typed("bool", True),
        "demo.attention.head_count": Typed("array", ["a"], "string"),
    }
    facts = facts_from(keys)
    assert (facts.block_count, facts.context_length, facts.n_embd, facts.head_count) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"general.architecture": Typed("uint32", 3)},
        {"general.architecture": "demo", "demo.block_count": 10**6},
        {
            "general.architecture": "demo",
            "demo.block_count": 2,
            "demo.nextn_predict_layers": 3,
        },
    ],
)
def test_headers_that_make_no_sense_are_refused(keys):
    with pytest.raises(FactsError):
        facts_from(keys)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"blocks": 3},
        {"block_count": "three"},
        {"block_count": -1},
        {"block_count": True},
        {"head_count_kv": [1, "two"]},
        {"nextn_tensors": "blk"},
        {"has_vision": 1},
        {"arch": ""},
    ],
)
def test_plain_facts_that_were_tampered_with_are_refused(change):
    plain = facts_of(read_header(model_source(TINY_DENSE))).to_dict()
    with pytest.raises(FactsError):
        GgufFacts.from_dict(plain | change)


def test_real_shapes_have_the_tensor_count_of_the_real_files():
    """The converted models have 753 tensors with the head and 733 without."""
    assert len(tensors_of(QWEN36_35B)) == 753
    assert len(tensors_of(QWEN36_35B, "none")) == 733
