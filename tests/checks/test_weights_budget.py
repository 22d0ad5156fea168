"""Stated weights are compared with the GPU memory that their server may take, whichever it is."""

from collections.abc import Mapping
from typing import Any

import pytest
from support.check_charts import DEPLOYMENT, MANIFEST, vllm_chart
from support.sample_specs import make_spec
from support.spec_checks import check_spec, findings_of, line_of
from support.vllm_specs import DFLASH, ELASTIC, VISION, VOICE, vllm_spec

from olares_apps.findings import Severity
from olares_apps.hardware import load_profile

RULE = "weights-exceed-budget"
SMALL = load_profile("rtx-5060-ti-16gb")
REPO = "model.repos.0.size_gb"
GEMMA = {"repo": "cyankiwi/gemma-4-26B-A4B-it-AWQ-4bit", "quant": "AWQ-INT4", "size_gb": 17}


@pytest.mark.parametrize("share", [0.05, 0.45, 0.66])
def test_weights_above_the_share_of_the_card_are_an_error(share: float) -> None:
    spec = vllm_spec(VISION, {"engine.gpu_memory_utilization": share})
    (found,) = [item for item in check_spec(spec) if item.severity is Severity.ERROR]
    assert found.rule == RULE
    assert "17.00 GB = 15.83 GiB" in found.message
    assert f"the share {share}" in found.message
    assert "0.67" in found.hint
    assert line_of(spec, found) == f"gpu_memory_utilization: {share}"


@pytest.mark.parametrize("stack", [VISION, DFLASH, ELASTIC, VOICE])
def test_weights_within_the_share_are_fine(stack: Mapping[str, Any]) -> None:
    assert findings_of(RULE, vllm_spec(stack)) == []


def test_weights_above_the_card_are_told_at_the_model() -> None:
    for stack, parts in ((VISION, "target 17.00 GB"), (DFLASH, "target 17.00 GB + drafter 0.86")):
        spec = vllm_spec(stack, {"hardware": "rtx-5060-ti-16gb"})
        (found,) = findings_of(RULE, spec, profile=SMALL)
        assert parts in found.message
        assert "rtx-5060-ti-16gb" in found.message
        assert line_of(spec, found).startswith("- repo: cyankiwi")


def test_the_drafter_counts() -> None:
    spec = vllm_spec(DFLASH, {"engine.gpu_memory_utilization": 0.68})
    (found,) = findings_of(RULE, spec)
    assert "drafter 0.86 GB" in found.message
    assert findings_of(RULE, vllm_spec(VISION, {"engine.gpu_memory_utilization": 0.68})) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"engine.cpu_offload_gb": 6},
        {"engine.quantization": "bitsandbytes"},
        {"engine.tensor_parallel_size": 2},
        {"engine.extra_args": ["--offload-backend", "prefetch"]},
        {REPO: None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_may_lie_elsewhere_is_not_counted(changes: dict[str, Any]) -> None:
    base = {"engine.gpu_memory_utilization": 0.45, "hardware": "olares-one"}
    spec = vllm_spec(VISION, {**base, "model.repos": [dict(GEMMA)], **changes})
    assert findings_of(RULE, spec) == []


def test_what_offload_leaves_still_counts() -> None:
    changes = {"engine.gpu_memory_utilization": 0.45, "engine.cpu_offload_gb": 2}
    (found,) = findings_of(RULE, vllm_spec(VISION, changes))
    assert "- 2.15 GB off the GPU" in found.message


STATED = {"resources.gpu_memory_parts": None, "resources.gpu_memory": "15Gi"}
BIG = {**STATED, "model.files.0.size_gb": 26.0}


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        ({}, True),
        ({"engine.gpu_layers": 40}, False),
        ({"engine.extra_args": ["--n-cpu-moe", "20"]}, False),
        ({"engine.env": {"LLAMA_ARG_CPU_MOE": "1"}}, False),
    ],
)
def test_layers_that_stay_on_the_host_silence_llama_cpp(
    changes: dict[str, Any], is_found: bool
) -> None:
    spec = make_spec({**BIG, **changes})
    assert [line_of(spec, item)[:7] for item in findings_of(RULE, spec)] == ["- repo:"] * is_found


def test_what_the_manifest_says_already_is_told_once() -> None:
    changes = {"model.files.0.size_gb": 26.0, "resources.gpu_memory_parts": None}
    rules = [item.rule for item in check_spec(make_spec(changes))]
    assert "gpu-memory-exceeds-card" in rules
    assert RULE not in rules


def test_a_share_below_what_names_say_of_the_weights_is_a_warning() -> None:
    chart = vllm_chart().replaced(DEPLOYMENT, "Demo-4bit", "Demo-13B-AWQ")
    chart = chart.replaced(MANIFEST, "requiredDisk: 1Gi", "requiredDisk: 8Gi")
    assert chart.check() == []
    (found,) = chart.replaced(DEPLOYMENT, '"0.90"', '"0.20"').check()
    assert (found.rule, found.severity) == (RULE, Severity.WARNING)


def test_a_container_that_takes_a_share_is_judged_like_any_server() -> None:
    engine = {
        "type": "container",
        "image": "docker.io/example/server:1.4.2",
        "args": ["--model", "{{ target }}"],
        "gpu_share": 0.5,
    }
    plain = {"resources": {}, "text.summary": "A demo."}
    spec = make_spec({**plain, "engine": engine})
    (found,) = findings_of(RULE, spec)
    assert line_of(spec, found) == "gpu_share: 0.5"
    for words in (["--n-gpu-layers", "20"], ["--cpu-offload"], ["--lowvram"]):
        quiet = make_spec({**plain, "engine": {**engine, "args": words}})
        assert findings_of(RULE, quiet) == []


def test_a_need_stated_below_the_repositories_is_understated() -> None:
    spec = vllm_spec(VISION, {"resources.gpu_memory": "1Gi"})
    (found,) = findings_of("gpu-need-understated", spec)
    assert "resources.gpu_memory 1Gi is below the need 15.83GiB (target 17.0 GB)" in found.message
