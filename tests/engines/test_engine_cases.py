"""Public reports, met by specs of each engine: the chart that olapps makes, judged by its rules."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import pytest
import yaml
from support.charts import NEW, OLD, make_tree
from support.check_charts import PROFILE
from support.container_specs import SPEECH, TREE
from support.sample_specs import make_spec
from support.vllm_specs import DFLASH, ELASTIC, TURBO, VISION, VOICE, vllm_spec

from olares_apps.checks import ChartContext, run_rules
from olares_apps.engines.registry import spec_model
from olares_apps.findings import Finding, Severity
from olares_apps.generations import Generation
from olares_apps.spec.loader import load_spec
from olares_apps.spec.models import AppSpec

STACKS = {
    "elastic": ELASTIC,
    "vision": VISION,
    "dflash": DFLASH,
    "turbo": TURBO,
    "voice": VOICE,
    "speech": SPEECH,
    "tree": TREE,
}
V22 = "docker.io/vllm/vllm-openai:v0.22.1-x86_64-cu129-ubuntu2404"


def check(spec: AppSpec[Any], generation: Generation = NEW) -> list[Finding]:
    """Return the findings of a spec's chart, the spec beside it as on a curator's disk."""
    text = yaml.safe_dump(
        spec.model_dump(mode="json", exclude_defaults=True), sort_keys=False, width=1000
    )
    loaded = load_spec(text, path=PurePath("apps/demo.yaml"), model=spec_model())
    tree = make_tree(generation, spec=loaded.spec)
    return run_rules(ChartContext.of_tree(tree, spec=loaded, profile=PROFILE))


def found(stack: Mapping[str, Any], rule: str, changes: Mapping[str, Any]) -> list[Finding]:
    return [item for item in check(vllm_spec(stack, changes)) if item.rule == rule]


@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda item: item.name)
@pytest.mark.parametrize("name", STACKS)
def test_a_stack_has_no_error(name: str, generation: Generation) -> None:
    errors = [
        item
        for item in check(vllm_spec(STACKS[name]), generation)
        if item.severity is Severity.ERROR
    ]
    assert [f"{item.rule}: {item.message}" for item in errors] == []


@pytest.mark.parametrize(
    ("rule", "changes", "facts"),
    [
        (
            "flag-deprecated",
            {"engine.compilation_config": {"cudagraph_mode": 1}},
            ("cudagraph_mode", '"PIECEWISE"'),
        ),
        (
            "cudagraph-sizes",
            {
                "engine.compilation_config": {
                    "max_cudagraph_capture_size": 8,
                    "cudagraph_capture_sizes": [1, 2, 4],
                }
            },
            ("must be the largest", "4"),
        ),
        (
            "flag-bad-value",
            {"engine.tool_call_parser": "gemma4", "engine.build": "0.11.0"},
            ("'gemma4'", "0.11.0", "hermes"),
        ),
        (
            "flag-bad-value",
            {"engine.quantization": "awq_marlinn"},
            ("awq_marlinn", "did you mean awq_marlin?"),
        ),
        (
            "flag-json-unknown-key",
            {"engine.compilation_config": {"cudagraph_modes": "FULL"}},
            ("cudagraph_modes",),
        ),
        (
            "flag-deprecated",
            {"engine.extra_args": ["--enable-reasoning"], "engine.build": "0.9.2"},
            ("--enable-reasoning",),
        ),
        (
            "flag-removed",
            {"engine.extra_args": ["--enable-reasoning"], "engine.build": "0.10.0"},
            ("--enable-reasoning", "--reasoning-parser"),
        ),
        (
            "flag-unknown",
            {"engine.extra_args": ["--n-gpu-layers", "99"]},
            ("--n-gpu-layers is not a flag of vllm 0.22.1",),
        ),
        (
            "image-public-fixed",
            {"engine.image": "docker.io/vllm/vllm-openai:cu129-nightly-x86_64"},
            ("floating",),
        ),
    ],
)
def test_what_a_version_of_vllm_refuses_is_found(
    rule: str, changes: dict[str, Any], facts: tuple[str, ...]
) -> None:
    findings = found(ELASTIC, rule, {"engine.image": V22, **changes})
    assert findings, rule
    for fact in facts:
        assert any(fact in f"{item.message} {item.hint}" for item in findings), findings


def test_a_custom_entry_point_is_judged_like_any_other() -> None:
    findings = found(TURBO, "flag-unknown", {"engine.extra_args": ["--wrong"]})
    assert [item.message for item in findings if "--wrong is not a flag" in item.message]


def test_shared_memory_and_links_are_as_vllm_needs_them() -> None:
    rules = {item.rule for item in check(vllm_spec(VISION))}
    assert not rules & {"shared-memory-volume", "service-link-collision", "cache-not-on-volume"}


def test_values_of_a_fork_are_judged_by_the_flavour() -> None:
    stock = {"engine.image": "ghcr.io/ggml-org/llama.cpp:server-cuda-b9601"}
    turbo = {"engine.kv": {"k": "q8_0", "v": "turbo4"}, "engine.speculative": None}
    bad = [item for item in check(make_spec({**stock, **turbo})) if item.rule == "flag-bad-value"]
    assert [item for item in bad if "'turbo4'" in item.message and "q5_1" in item.message]
    fork = {"engine.image": "docker.io/example/server:1", "engine.flavour": "beellama"}
    rules = {
        item.rule for item in check(make_spec({**fork, **turbo})) if item.severity is Severity.ERROR
    }
    assert "flag-bad-value" not in rules


def test_lucebox_is_judged_by_its_own_table() -> None:
    findings = check(vllm_spec(TREE, {"engine.extra_args": ["--spec-draft-n-max", "3"]}))
    (unknown,) = [item for item in findings if item.rule == "flag-unknown"]
    assert "did you mean --budget?" in unknown.message
    # Which commit an image was built from is not known, so the table is a guess.
    assert unknown.severity is Severity.INFO


def test_the_page_leads_to_the_repository_that_the_server_downloads() -> None:
    manifest = make_tree(NEW, spec=vllm_spec(DFLASH)).manifest
    text = manifest["spec"]["fullDescription"]
    assert manifest["spec"]["website"] == (
        "https://huggingface.co/cyankiwi/gemma-4-26B-A4B-it-AWQ-4bit"
    )
    assert "- Repository: `cyankiwi/gemma-4-26B-A4B-it-AWQ-4bit`, AWQ-INT4, 17.0 GB" in text
    assert "- Draft model: `z-lab/gemma-4-26B-A4B-it-DFlash`, 0.9 GB" in text
    assert "- Share of the card: the server takes 92 % of its memory" in text
