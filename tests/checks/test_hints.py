"""Hints propose what exists and makes sense, or nothing."""

from typing import Any

import pytest
from support.check_charts import DEPLOYMENT, find, flagship, flagship_spec, rules_of
from support.mutation import IMAGE, arguments, everywhere, swap

from olares_apps.checks.images import parse_image, suggestion
from olares_apps.checks.places import line_of_open_action
from olares_apps.engines.flags import check_argv, load_build

LLAMA, VLLM = load_build("llamacpp", "b9254"), load_build("vllm", "0.33.0")


@pytest.mark.parametrize(
    ("table", "written", "meant"),
    [
        (LLAMA, "--parralel", "--parallel"),
        (LLAMA, "--ctx-sise", "--ctx-size"),
        (LLAMA, "--temprature", "--temperature"),
        (LLAMA, "--no-mmapp", "--no-mmap"),
        (VLLM, "--max-model-length", "--max-model-len"),
        (VLLM, "--tensor-paralel-size", "--tensor-parallel-size"),
    ],
)
def test_a_misspelled_flag_is_recognised(table, written, meant) -> None:  # type: ignore[no-untyped-def]
    problem = check_argv([written, "1"], table)[0]
    assert problem.suggestion == meant


@pytest.mark.parametrize("table", [LLAMA, VLLM])
@pytest.mark.parametrize(
    "written", ["--fused-gdn", "--foo", "--no-such-flag", "--x", "--turbo", "--hello-world"]
)
def test_no_flag_is_proposed_that_has_little_in_common(table, written) -> None:  # type: ignore[no-untyped-def]
    problem = check_argv([written], table)[0]
    assert problem.suggestion is None
    assert "did you mean" not in problem.message


@pytest.mark.parametrize(
    ("image", "hint"),
    [
        ("ghcr.io/ggml-org/llama.cpp:server-cuda", "pin server-cuda-bNNNN or add @sha256:..."),
        ("ghcr.io/ggml-org/llama.cpp:server", "pin server-bNNNN or add @sha256:..."),
        ("ghcr.io/ggml-org/llama.cpp:latest", "pin server-cuda-bNNNN or add @sha256:..."),
        ("ghcr.io/ggml-org/llama.cpp", "pin server-cuda-bNNNN or add @sha256:..."),
        ("docker.io/example/llama-server:latest", "pin a release or add @sha256:..."),
        ("docker.io/example/llama", "pin a release or add @sha256:..."),
        ("docker.io/vllm/vllm-openai:nightly", "pin a release or add @sha256:..."),
    ],
)
def test_what_to_pin_is_a_form_of_tag_that_the_image_has(image: str, hint: str) -> None:
    name = parse_image(image)
    assert name is not None
    assert suggestion(name) == hint


def test_an_image_without_a_tag_is_no_value_to_compare_a_text_with() -> None:
    repository = IMAGE.partition(":")[0]
    chart = everywhere(IMAGE, f"{repository}@sha256:{'a' * 64}")(flagship())
    spec = flagship_spec({"text.about": f"Runs {IMAGE}."})
    assert "text-image" not in rules_of(chart.check(spec=spec))


@pytest.mark.parametrize("piece", ['"{{ .Values.x"', '"{{ foo"', '"{{- $x := 1"', "'{{'"])
def test_braces_that_stay_open_are_named_as_such(piece: str) -> None:
    chart = swap(DEPLOYMENT, '"$(THREADS)"', piece)(flagship())
    found = find(chart.check(), "chart-renders")
    assert "{{ is not closed" in found.message
    assert piece in chart[DEPLOYMENT].decode().splitlines()[(found.line or 0) - 1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("a: {{ .x }}", None),
        ('a: {{ "{{" }}', None),
        ("a: {{ `}} {{` }}\nb: {{ .y", 2),
        ("{{/* {{ */}}", None),
        ("{{- /* a */ -}}\n{{", 2),
        ("a: {{\n  .x\n}}", None),
        ("a: {{ .x\nb: {{ .y }}", 1),
    ],
)
def test_where_braces_stay_open(text: str, line: int | None) -> None:
    assert line_of_open_action(text) == line


def test_an_unknown_flag_without_a_near_one_is_to_be_removed() -> None:
    found = find(arguments("--fused-gdn", "1")(flagship()).check(), "flag-unknown")
    assert found.hint == "remove it"


def test_an_unknown_flag_of_other_builds_names_some_of_them() -> None:
    found = find(arguments("--reasoning-loop-guard", "1")(flagship()).check(), "flag-unknown")
    assert found.hint == "remove it, or use a build that has it (beellama)"


@pytest.mark.parametrize(
    ("changes", "rule", "of_spec", "of_chart"),
    [
        ({"engine.ubatch": 4096}, "ubatch-above-batch", "engine.batch: 4096", "--batch-size 4096"),
        ({"engine.parallel": 4}, "parallel-splits-context", "engine.parallel: 1", "--parallel 1"),
        (
            {"engine.extra_args": ["--draft-max", "3"]},
            "flag-removed",
            "engine.speculative.n_max",
            "--spec-draft-n-max or --spec-ngram-mod-n-max",
        ),
        ({"engine.kv": {"k": "q4_0", "v": "turbo3"}}, "flag-bad-value", "q4_0", "q4_0"),
    ],
)
def test_a_hint_is_in_the_words_of_the_spec_where_there_is_one(
    changes: dict[str, Any], rule: str, of_spec: str, of_chart: str
) -> None:
    chart = flagship(changes)
    assert find(chart.check(spec=flagship_spec(changes)), rule).hint == f"write {of_spec}"
    assert find(chart.check(), rule).hint == f"write {of_chart}"
