import pytest
from support.gguf_files import (
    QWEN36_27B,
    QWEN36_35B,
    TINY_DENSE,
    TINY_MOE,
    Tensor,
    gguf_source,
    metadata_of,
    model_source,
    tensors_of,
)

from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.gguf_facts import GgufFacts, facts_of
from olares_apps.fit.gguf_header import read_header
from olares_apps.fit.mtp import MtpState, check_mtp, check_vllm_mtp

NEW, OLD = behaviour_of(11434), behaviour_of(9254)


def facts(shape, head="full"):
    return facts_of(read_header(model_source(shape, head)))


@pytest.mark.parametrize("shape", [QWEN36_35B, QWEN36_27B, TINY_MOE, TINY_DENSE])
@pytest.mark.parametrize("build", [NEW, OLD])
def test_a_file_with_its_head_drafts(shape, build):
    result = check_mtp(facts(shape), build)
    assert (result.state, result.reasons, result.missing) == (MtpState.USABLE, (), ())
    assert result.is_usable
    assert result.has_head


def test_a_file_without_head_says_what_it_lacks():
    """Public report: MTP was requested with an ordinary quantisation of 40 blocks."""
    plain = facts(QWEN36_35B, "none")
    assert plain.block_count == 40
    result = check_mtp(plain, NEW, file="Demo.gguf")
    assert result.state is MtpState.ABSENT
    assert not result.has_head
    assert not result.blocks_start
    assert result.reasons == (
        "draft-mtp requested but Demo.gguf has no nextn layers "
        "(nextn_predict_layers absent/0, no blk.N.nextn.* tensors)",
    )
    assert result.missing == ("qwen35moe.nextn_predict_layers", "blk.39.nextn.eh_proj.weight")


@pytest.mark.parametrize("shape", [TINY_MOE, TINY_DENSE])
def test_the_key_without_the_tensors_stops_qwen_even_without_mtp(shape):
    result = check_mtp(facts(shape, "key"), NEW, file="Demo.gguf")
    assert result.state is MtpState.KEY_WITHOUT_TENSORS
    assert result.blocks_start
    assert result.missing == (f"blk.{shape.layers}.nextn.eh_proj.weight",)
    assert "Demo.gguf" in result.reasons[0]


@pytest.mark.parametrize(
    ("arch", "blocks"),
    [
        ("qwen3next", True),
        ("qwen4exp", True),
        ("deepseek4", True),
        ("nemotron_h_moe", True),
        ("deepseek2", False),
        ("glm4moe", False),
        ("hy_v3", False),
        ("step35", False),
    ],
)
def test_some_architectures_tolerate_the_key_without_tensors(arch, blocks):
    bare = GgufFacts(arch=arch, block_count=10, nextn=1)
    result = check_mtp(bare, NEW)
    assert result.state is MtpState.KEY_WITHOUT_TENSORS
    assert result.blocks_start is blocks


def test_only_the_last_block_is_asked():
    """With several MTP blocks the probe is the tensor of the very last one."""
    first = GgufFacts(
        arch="hy_v3", block_count=12, nextn=2, nextn_tensors=("blk.10.nextn.eh_proj.weight",)
    )
    last = GgufFacts(
        arch="hy_v3", block_count=12, nextn=2, nextn_tensors=("blk.11.nextn.eh_proj.weight",)
    )
    assert check_mtp(first, NEW).state is MtpState.KEY_WITHOUT_TENSORS
    assert check_mtp(last, NEW).is_usable


def test_tensors_without_the_key_are_not_used():
    source = gguf_source(metadata_of(TINY_MOE, "none"), tensors_of(TINY_MOE))
    result = check_mtp(facts_of(read_header(source)), NEW)
    assert result.state is MtpState.TENSORS_WITHOUT_KEY
    assert result.missing == ("qwen35moe.nextn_predict_layers",)


@pytest.mark.parametrize(
    ("build", "arch", "state"),
    [
        ("b9101", "qwen35moe", MtpState.BUILD_TOO_OLD),
        ("b8740", "qwen35moe", MtpState.BUILD_TOO_OLD),
        ("b9200", "qwen35moe", MtpState.UNKNOWN_BUILD),
        ("b9254", "glm4moe", MtpState.ARCH_UNSUPPORTED),
        ("b10743", "qwen35moe", MtpState.BUILD_BROKEN),
        ("b10749", "qwen35moe", MtpState.USABLE),
        ("some-fork:1.0", "qwen35moe", MtpState.UNKNOWN_BUILD),
        ("b12000", "newcomer", MtpState.UNKNOWN_BUILD),
    ],
)
def test_a_head_is_of_no_use_to_a_build_that_cannot_draft(build, arch, state):
    with_head = GgufFacts(
        arch=arch, block_count=5, nextn=1, nextn_tensors=("blk.4.nextn.eh_proj.weight",)
    )
    result = check_mtp(with_head, behaviour_of(build))
    assert result.state is state
    assert result.has_head
    assert bool(result.reasons) is not result.is_usable


def drafter(arch="gemma4-assistant", names=("pre_projection", "post_projection")):
    tensors = [Tensor(f"nextn.{name}.weight", (64, 64), "F16") for name in names]
    return facts_of(read_header(gguf_source({"general.architecture": arch}, tensors)))


GEMMA = GgufFacts(arch="gemma4", block_count=30)


def test_gemma4_drafts_with_a_file_of_its_own():
    assert check_mtp(GEMMA, NEW).state is MtpState.NEEDS_DRAFTER
    assert check_mtp(GEMMA, NEW, drafter=drafter()).is_usable
    assert check_mtp(GEMMA, OLD, drafter=drafter()).state is MtpState.ARCH_UNSUPPORTED
    fork = behaviour_of("llamacpp-gemma4mtp:r4")
    assert check_mtp(GEMMA, fork, drafter=drafter()).state is MtpState.UNKNOWN_BUILD


def test_another_file_is_no_drafter_for_gemma4():
    assert check_mtp(GEMMA, NEW, drafter=drafter("gemma4")).state is MtpState.WRONG_DRAFTER
    half = check_mtp(GEMMA, NEW, drafter=drafter(names=("pre_projection",)))
    assert half.state is MtpState.WRONG_DRAFTER
    assert half.missing == ("nextn.post_projection.weight",)


@pytest.mark.parametrize(
    ("config", "names", "state"),
    [
        ({"mtp_num_hidden_layers": 1}, ["mtp.fc.weight"], MtpState.USABLE),
        (
            {"text_config": {"mtp_num_hidden_layers": 1, "num_hidden_layers": 40}},
            ["model.language_model.mtp.layers.0.input_layernorm.weight"],
            MtpState.USABLE,
        ),
        (
            {"num_nextn_predict_layers": 1, "num_hidden_layers": 61},
            ["model.layers.60.mlp.gate.weight", "model.layers.61.eh_proj.weight"],
            MtpState.USABLE,
        ),
        (
            {"num_nextn_predict_layers": 1, "num_hidden_layers": 61},
            ["model.layers.60.mlp.gate.weight"],
            MtpState.KEY_WITHOUT_TENSORS,
        ),
        ({"num_hidden_layers": 2}, ["mtp.fc.weight"], MtpState.TENSORS_WITHOUT_KEY),
        ({"mtp_num_hidden_layers": 0}, ["model.layers.0.x"], MtpState.ABSENT),
        ({"mtp_num_hidden_layers": True}, [], MtpState.ABSENT),
        ({}, ["model.prompt.weight"], MtpState.ABSENT),
    ],
)
def test_vllm_needs_the_config_and_the_tensors(config, names, state):
    result = check_vllm_mtp(config, names)
    assert result.state is state
    assert bool(result.missing) is not result.is_usable
