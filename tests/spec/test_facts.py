"""Facts: what texts may name, in the form that people write."""

import pytest
from support.specs import MINIMAL, load, spec_text

from olares_apps.spec.facts import decimal_text, facts, short_tokens


@pytest.mark.parametrize(
    ("tokens", "short"),
    [
        (512, "512"),
        (4096, "4K"),
        (8192, "8K"),
        (16384, "16K"),
        (32000, "32K"),
        (32768, "32K"),
        (65536, "64K"),
        (88000, "88K"),
        (98304, "96K"),
        (128000, "128K"),
        (131072, "128K"),
        (196608, "192K"),
        (200000, "200K"),
        (262144, "262K"),
        (524288, "524K"),
        (1000000, "1M"),
        (1048576, "1M"),
        (1010000, "1010K"),
    ],
)
def test_context_lengths_are_written_as_people_write_them(tokens: int, short: str) -> None:
    assert short_tokens(tokens) == short


@pytest.mark.parametrize(
    ("value", "text"),
    [(249.30, "249.3"), (17.2, "17.2"), (1.0, "1"), (74.284, "74.28"), (100, "100")],
)
def test_numbers_lose_trailing_zeros(value: float, text: str) -> None:
    assert decimal_text(value) == text


def test_facts_of_a_spec_that_leaves_much_open() -> None:
    known = facts(load(MINIMAL).spec, {"kv": "f16"})
    assert known["ctx_k"] == "32K"
    assert (known["size_gb"], known["size_gib"]) == ("17.2", "16.0")
    assert (known["tps"], known["runs"], known["bench"]) == (None, None, {})
    assert known["kv"] == "f16"
    assert "version" not in known


def test_an_exact_size_wins_over_the_stated_one() -> None:
    loaded = load(
        spec_text(("      size_gb: 17.2", "      size_gb: 17.2\n      size: 17179869184"))
    )
    known = facts(loaded.spec, {})
    assert (known["size_gb"], known["size_gib"]) == ("17.2", "16.0")


def test_common_facts_win_over_those_of_an_engine() -> None:
    assert facts(load(MINIMAL).spec, {"ctx": 1})["ctx"] == 32768


def test_every_file_is_known_by_its_role() -> None:
    second = "    - {role: mmproj, repo: example-org/x, file: mmproj.gguf, size_gb: 0.9}\nengine:\n"
    known = facts(load(spec_text(("engine:\n", second))).spec, {})
    files = known["files"]
    assert isinstance(files, dict)
    assert files["mmproj"]["size_gb"] == "0.9"
    assert files["target"]["model_file"] == known["model_file"] == "Demo-35B-UD-Q3_K_XL.gguf"
