"""Secrets in a chart are told; what only looks like one is not."""

import pytest
from support.check_charts import DEPLOYMENT, find, rules_of, vllm_chart
from support.mutation import vllm_arguments
from support.sample_specs import make_spec
from support.spec_checks import findings_of, line_of

RULE = "secret-in-chart"
LONG = "hf_" + "aB3" * 11


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "hf_secret"),
        ("VLLM_API_KEY", "a1b2c3d4e5f6"),
        ("DB_PASSWORD", "correct-horse"),
        ("ANYTHING", LONG),
        ("SOME_SECRET", "x9/k+2=="),
    ],
)
def test_a_secret_of_a_spec_is_told_where_it_stands_and_not_repeated(name: str, value: str) -> None:
    spec = make_spec({"engine.env": {name: value}})
    (found,) = findings_of(RULE, spec)
    assert line_of(spec, found).startswith(f"{name}:")
    assert value not in found.message
    assert f"settings: {{{name}: ...}}" in found.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_TOKEN", "4096000"),
        ("EOS_TOKEN", "<|im_end|>"),
        ("HF_TOKEN", ""),
        ("OPENAI_API_KEY", "not-needed"),
        ("DB_PASSWORD", "$(PASSWORD_OF_USER)"),
        ("SERVICE_TOKEN", "/run/secrets/token"),
        ("TOKENIZER_PATH", "abcdefgh1"),
        ("LOG_LEVEL", "information"),
    ],
)
def test_what_only_looks_like_a_secret_is_none(name: str, value: str) -> None:
    assert findings_of(RULE, make_spec({"engine.env": {name: value}})) == []


def test_a_key_among_the_arguments_is_one_too() -> None:
    chart = vllm_arguments("--api-key", "a1b2c3d4e5")(vllm_chart())
    assert "--api-key holds" in find(chart.check(), RULE).message


def test_a_variable_that_the_user_fills_in_is_none() -> None:
    line = "            - {name: HF_TOKEN, value: 'VALUE'}\n"
    chart = vllm_chart().replaced(DEPLOYMENT, "          env:\n", f"          env:\n{line}")
    assert RULE in rules_of(chart.replaced(DEPLOYMENT, "VALUE", "hf_secret").check())
    given = "{{ .Values.user.zone }}"
    assert RULE not in rules_of(chart.replaced(DEPLOYMENT, "VALUE", given).check())
