import pytest

from olares_apps.fit.behaviours import CHANGES, behaviour_of, build_number


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("b9254", 9254),
        ("9254", 9254),
        ("server-cuda13-b8740", 8740),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda13-b9101", 9101),
        ("ad27757", 9254),
        ("docker.io/aamsellem/llama-cpp-mtp:master-ad27757", 9254),
        ("0.1.3-rc1", None),
        ("87c351d2", None),
        ("server-cuda13", None),
        ("ab9254", None),
    ],
)
def test_a_build_is_recognised_by_its_names(name, number):
    assert build_number(name) == number


@pytest.mark.parametrize(
    ("behaviour", "last_without", "first_with"),
    [
        ("has_draft_mtp", 9101, 9254),
        ("draft_default_3", 9101, 9254),
        ("draft_kv_own_type", 9305, 9388),
        ("mask_f16", 9388, 9444),
        ("logits_capped", 9444, 9464),
        ("scratch_reserved", 9460, 9501),
        ("mtp_weights_on_demand", 10001, 10405),
    ],
)
def test_behaviours_change_at_the_builds_that_were_seen(behaviour, last_without, first_with):
    before, after = behaviour_of(last_without), behaviour_of(f"b{first_with}")
    assert getattr(before, behaviour) is False
    assert getattr(after, behaviour) is True
    assert behaviour not in before.uncertain | after.uncertain
    between = behaviour_of(first_with - 1)
    assert behaviour in between.uncertain
    assert getattr(between, behaviour) is CHANGES[behaviour].costly


def test_every_change_is_in_the_table_above():
    assert len(CHANGES) == 7


def test_an_unknown_build_gets_the_costly_answers():
    unknown = behaviour_of("beellama-cpp:0.1.3-rc1")
    assert unknown.number is None
    assert unknown.uncertain == frozenset(CHANGES)
    assert not unknown.mask_f16
    assert not unknown.logits_capped
    assert not unknown.draft_kv_own_type


@pytest.mark.parametrize(
    ("build", "arch", "draws"),
    [
        (9101, "qwen35moe", False),
        (9200, "qwen35moe", None),
        (9254, "qwen35moe", True),
        (9254, "step35", False),
        (9480, "step35", None),
        (9496, "step35", True),
        (10001, "hy_v3", True),
        (10001, "nemotron_h_moe", False),
        (10405, "nemotron_h_moe", True),
        (10405, "glm4moe", False),
        (10739, "glm4moe", True),
        (11434, "glm5-next", True),
        (11434, "llama", False),
        (12000, "qwen35", True),
        (12000, "newcomer", None),
    ],
)
def test_architectures_get_their_mtp_graph_build_by_build(build, arch, draws):
    assert behaviour_of(build).draws_mtp(arch) is draws


def test_drafted_tokens_default_to_three_since_draft_mtp():
    assert behaviour_of(9101).default_n_max == 16
    assert behaviour_of(9254).default_n_max == 3


@pytest.mark.parametrize(
    ("build", "broken"), [(10740, False), (10741, True), (10748, True), (10749, False)]
)
def test_builds_that_cannot_start_draft_mtp_are_known(build, broken):
    assert behaviour_of(build).is_mtp_broken is broken
