"""What a vLLM spec claims of the card: its share, the number of cards, a backend that exists."""

from pathlib import Path
from typing import Any

import pytest
from support.check_charts import DEPLOYMENT, vllm_chart
from support.specs import MINIMAL
from support.workspaces import build_workspace, olapps

TAG = "docker.io/vllm/vllm-openai:v0.22.1-x86_64-cu129-ubuntu2404"
FILES = MINIMAL[MINIMAL.index("  files:") : MINIMAL.index("engine:\n  type")]
ENGINE = MINIMAL[MINIMAL.index("engine:\n  type") :]


def errors(root: Path, settings: str, share: str = "0.9") -> list[dict[str, Any]]:
    engine = (
        f"engine:\n  type: vllm\n  image: {TAG}\n  max_model_len: 32768\n"
        f"  gpu_memory_utilization: {share}\n{settings}"
    )
    repos = "  repos:\n    - {repo: example-org/Demo-4bit, size_gb: 8}\n"
    workspace = build_workspace(root, (FILES, repos), (ENGINE, engine))
    found = olapps("check", "--no-tools", "--output", "json", cwd=workspace).json["findings"]
    lines = (workspace / "apps/demo.yaml").read_text().splitlines()
    return [
        {**item, "text": lines[item["line"] - 1].strip()}
        for item in found
        if item["severity"] == "error"
    ]


@pytest.mark.parametrize(
    ("share", "product"), [("1.0", "23.89"), ("1", "23.89"), ("0.99", "23.65"), ("0.985", "23.53")]
)
def test_c123_a_share_above_what_is_usable_is_an_error(tmp_path: Path, share: str, product: str):
    (found,) = errors(tmp_path, "", share)
    assert found["rule"] == "gpu-share-exceeds-card"
    assert f"x 23.89 = {product} GiB > usable 23.42 GiB of olares-one" in found["message"]
    assert found["hint"].startswith("write 0.98 at most")
    assert (found["file"], found["text"]) == (
        "apps/demo.yaml",
        f"gpu_memory_utilization: {share}",
    )


@pytest.mark.parametrize("share", ["0.5", "0.92", "0.97", "0.98"])
def test_a_share_that_is_there_is_none(tmp_path: Path, share: str):
    assert errors(tmp_path, "", share) == []


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ("  tensor_parallel_size: 2\n", 2),
        ("  pipeline_parallel_size: 2\n", 2),
        ("  tensor_parallel_size: 2\n  pipeline_parallel_size: 2\n", 4),
    ],
)
def test_more_gpus_than_the_device_has_are_an_error(tmp_path: Path, settings: str, wanted: int):
    found = next(item for item in errors(tmp_path, settings) if item["rule"] == "gpu-count")
    assert f"needs {wanted} GPUs, olares-one has one" in found["message"]
    assert found["text"] == settings.splitlines()[0].strip()


def test_in_a_chart_of_somebody_else_more_gpus_are_a_warning():
    (found,) = (
        vllm_chart()
        .replaced(DEPLOYMENT, '"0.90"', '"0.90"\n            - --tensor-parallel-size=2')
        .check()
    )
    assert (found.rule, found.severity.value) == ("gpu-count", "warning")


@pytest.mark.parametrize("name", ["FLASHINFER", "flashinfer", "TRITON_ATTN", "auto"])
def test_a_backend_may_be_written_in_any_case(tmp_path: Path, name: str):
    assert errors(tmp_path, f"  attention_backend: {name}\n") == []


@pytest.mark.parametrize(
    ("name", "meant"), [("FLASHINFR", "FLASHINFER"), ("flash-attn", "FLASH_ATTN"), ("XFORMER", "")]
)
def test_a_backend_that_the_version_lacks_is_an_error(tmp_path: Path, name: str, meant: str):
    (found,) = errors(tmp_path, f"  attention_backend: {name}\n")
    assert found["rule"] == "flag-bad-value"
    assert f"'{name}' is not valid for 0.22.1" in found["message"]
    assert found["text"] == f"attention_backend: {name}"
    assert found["hint"] == f"write {meant}" if meant else found["hint"].startswith("allowed: ")
