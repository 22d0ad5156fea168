import pytest

from olares_apps.errors import UnknownName
from olares_apps.hardware import ProfileError, load_profile, profile_names, read_profile

SHIPPED = (
    "dgx-spark",
    "olares-one",
    "rtx-3090",
    "rtx-4090",
    "rtx-5060-ti-16gb",
    "rtx-5090",
)
VALID = """\
title: Test card
gpu: {value: Card, source: a test}
gpu_memory_reported_mib: {value: 1000, source: a test}
gpu_memory_usable_mib: {value: 900, source: a test}
compute_capability: {value: "8.6", source: a test}
"""


def test_the_shipped_profiles_are_these():
    assert profile_names() == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_every_number_of_a_shipped_profile_has_a_source(name):
    profile = load_profile(name)
    assert profile.name == name
    assert 0 < profile.gpu_memory_usable_mib < profile.gpu_memory_reported_mib
    for field in (
        "gpu_memory_reported_mib",
        "gpu_memory_usable_mib",
        "compute_capability",
        "memory_bandwidth_gbs",
    ):
        assert len(profile.sources[field]) > 10
    for field in ("cpu_cores", "ram_gb", "architecture"):
        assert profile.sources[field]


def test_the_olares_one_is_the_device_that_was_measured():
    one = load_profile("olares-one")
    assert (one.gpu_memory_reported_mib, one.gpu_memory_usable_mib) == (24463, 23982)
    assert round(one.usable_bytes / 2**30, 2) == 23.42
    assert round(one.reported_bytes / 2**30, 2) == 23.89
    assert one.sm == "sm_120"
    assert [(item.since, item.value) for item in one.cuda_ceilings] == [
        ("2026-05", "13.1"),
        ("2026-07", "13.2"),
    ]
    assert one.cuda_ceiling == "13.2"
    assert (one.cpu_cores, one.ram_gb, one.architecture) == (24, 96, "amd64")
    assert not one.shares_memory


def test_what_is_not_known_stays_none():
    card = load_profile("rtx-3090")
    assert (card.cpu_cores, card.ram_gb, card.architecture, card.cuda_ceiling) == (None,) * 4
    assert load_profile("dgx-spark").shares_memory
    assert load_profile("dgx-spark").sm == "sm_121"


def test_an_unknown_profile_suggests_a_known_one():
    with pytest.raises(UnknownName) as caught:
        load_profile("olares-0ne")
    assert caught.value.suggestion == "olares-one"


def test_a_workspace_adds_profiles_and_replaces_shipped_ones(tmp_path):
    (tmp_path / "my-card.yaml").write_text(VALID)
    (tmp_path / "rtx-3090.yaml").write_text(VALID.replace("Test card", "Mine"))
    (tmp_path / "notes.txt").write_text("not a profile")
    assert set(profile_names(tmp_path)) == {*SHIPPED, "my-card"}
    assert load_profile("my-card", tmp_path).usable_bytes == 900 * 2**20
    assert load_profile("rtx-3090", tmp_path).title == "Mine"
    assert load_profile("rtx-3090").title == "RTX 3090"
    assert profile_names(tmp_path / "absent") == SHIPPED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("title: Test card\n", ""), "title is missing"),
        (("{value: 1000, source: a test}", "{value: 1000}"), "must have value and source"),
        (("{value: 1000, source: a test}", '{value: 1000, source: ""}'), "where the value"),
        (("{value: 1000, source: a test}", "{value: null, source: a test}"), "is missing"),
        (("{value: 1000, source: a test}", "{value: -1, source: a test}"), "cannot be -1"),
        (('"8.6"', "8.6"), "compute_capability cannot be 8.6"),
        (("value: 900", "value: 1001"), "above gpu_memory_reported_mib"),
        (("title: Test card", "title: Test card\ngpu_memory: 3"), "unknown field 'gpu_memory'"),
        (("title: Test card", "title: [unclosed"), "not YAML"),
        (
            ("title: Test card", "title: x\narchitecture: {value: sparc, source: a}"),
            "architecture cannot be 'sparc'",
        ),
        (
            ("title: Test card", "title: x\ncuda_ceilings: [{since: 2026-05}]"),
            "must have since, value and source",
        ),
        (
            (
                "title: Test card",
                'title: x\ncuda_ceilings: [{since: "2026-13", value: "13.1", source: a}]',
            ),
            "since is YYYY-MM",
        ),
    ],
)
def test_a_profile_that_cannot_be_used_says_why(change, message):
    with pytest.raises(ProfileError, match=r"^card\.yaml: ") as caught:
        read_profile("card", VALID.replace(*change), "card.yaml")
    assert message in str(caught.value)


def test_a_profile_that_is_no_mapping_is_refused():
    with pytest.raises(ProfileError, match="mapping"):
        read_profile("card", "- a\n- b\n", "card.yaml")
