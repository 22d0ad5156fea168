"""Archive versions: one number per archive, monotone over all generations of an app."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semver import Version

from olares_apps.errors import RenderError
from olares_apps.generations import GENERATIONS
from olares_apps.render.versions import Level, archive_version, bump, greatest, next_version

VERSIONS = st.tuples(*[st.integers(0, 9999)] * 3).map(lambda parts: "{}.{}.{}".format(*parts))
LEVELS: list[Level] = ["patch", "minor", "major"]


def test_the_older_generation_takes_the_specs_version_and_the_newer_the_next() -> None:
    assert [archive_version("1.0.2", index) for index in (0, 1)] == ["1.0.2", "1.0.3"]


@pytest.mark.parametrize(
    ("version", "level", "expected"),
    [
        ("1.0.2", "patch", "1.0.3"),
        ("1.9.9", "minor", "1.10.0"),
        ("1.9.9", "major", "2.0.0"),
        ("0.0.9", "patch", "0.0.10"),
    ],
)
def test_a_bump_raises_one_part_and_resets_those_behind(
    version: str, level: Level, expected: str
) -> None:
    assert bump(version, level) == expected


def test_versions_compare_by_number() -> None:
    assert greatest(["1.9.0", "1.10.0", "1.2.30"]) == "1.10.0"
    assert greatest([]) is None


@pytest.mark.parametrize(
    ("spec", "published", "expected"),
    [
        ("1.0.0", [], "1.0.0"),
        ("1.0.2", ["1.0.2", "1.0.3"], "1.0.4"),
        ("2.0.0", ["1.0.2", "1.0.3"], "2.0.0"),
        ("1.0.0", ["1.4.4", "1.4.5"], "1.4.6"),
    ],
)
def test_the_next_version_is_above_every_published_archive(
    spec: str, published: list[str], expected: str
) -> None:
    assert next_version(spec, published, "patch") == expected


@given(VERSIONS, st.lists(st.sampled_from(LEVELS), min_size=1, max_size=12))
def test_any_sequence_of_publishes_gives_ever_greater_numbers(
    start: str, levels: list[Level]
) -> None:
    spec, published = start, []
    for level in levels:
        spec = next_version(spec, published, level)
        published += [archive_version(spec, index) for index in range(len(GENERATIONS))]
    numbers = [Version.parse(version) for version in published]
    assert all(earlier < later for earlier, later in pairwise(numbers))


def test_a_version_that_outgrows_the_devices_column_is_refused() -> None:
    with pytest.raises(RenderError, match="17 characters, limit 16"):
        archive_version("99999.99999.9999", 1)
