"""What a model's name says of its size, and what a chart of somebody else declares."""

import pytest
from support.check_charts import MANIFEST, find
from support.foreign_charts import legacy_market_chart

from olares_apps.checks.weights import least_weights


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf", 13.125),
        ("/models/Qwen3.6-27B-Q8_0.gguf", 27),
        ("unsloth/Qwen3.6-27B-NVFP4", 13.5),
        ("cyankiwi/gemma-4-26B-A4B-it-AWQ-4bit", 13),
        ("Llama-3.1-8B-Instruct-bf16.gguf", 16),
        ("DeepSeek-R1-671B-UD-IQ1_S-00001-of-00004.gguf", 83.875),
        ("Qwen3-0.6B-Q4_K_M.gguf", 0.3),
        # A name that does not say both says nothing.
        ("Qwen3.6-35B-A3B-MTP-GGUF", None),
        ("model-Q4_K_M.gguf", None),
        ("gemma-4-E4B-it-Q4_0.gguf", None),
        ("Mixtral-8x7B-Q4_K_M.gguf", None),
        ("mmproj-Qwen3.6-27B-F16.gguf", None),
        ("dflash-draft-27B-q8_0.gguf", None),
        ("", None),
    ],
)
def test_a_name_gives_a_lower_bound_or_nothing(name: str, gigabytes: float | None) -> None:
    found = least_weights([name])
    assert (found.least / 10**9 if found else None) == gigabytes


def test_c007_a_token_demand_for_the_gpu_is_told_in_a_chart_of_somebody_else() -> None:
    found = find(legacy_market_chart().check(), "gpu-need-understated")
    assert found.severity.value == "warning"
    assert "requiredGpu 1Gi is below the weights of Demo-35B-A3B-UD-Q3_K_XL.gguf" in found.message
    assert "12.22GiB at least" in found.message
    assert found.file == MANIFEST
    enough = legacy_market_chart().replaced(MANIFEST, "requiredGpu: 1Gi", "requiredGpu: 20Gi")
    assert "gpu-need-understated" not in {item.rule for item in enough.check()}


@pytest.mark.parametrize("flags", ["--n-cpu-moe 20", "--n-gpu-layers 20", "--cpu-moe"])
def test_weights_that_stay_in_host_memory_are_not_asked_of_the_gpu(flags: str) -> None:
    chart = legacy_market_chart().replaced(
        "templates/deployment.yaml", "--parallel 1", f"--parallel 1 {flags}"
    )
    assert "gpu-need-understated" not in {item.rule for item in chart.check()}


def test_c102_a_disk_below_the_weights_is_told_in_a_chart_of_somebody_else() -> None:
    chart = legacy_market_chart().replaced(MANIFEST, "requiredDisk: 30Gi", "requiredDisk: 50Mi")
    found = find(chart.check(), "disk-below-files")
    assert found.severity.value == "warning"
    assert found.message == (
        "requiredDisk 50Mi < the weights of Demo-35B-A3B-UD-Q3_K_XL.gguf, 12.2GiB at least"
    )


@pytest.mark.parametrize(("stated", "told"), [("b9879", True), ("b9261", False), ("1.0.9", False)])
def test_c070_a_build_that_is_not_that_of_the_images_commit_is_told(
    stated: str, told: bool
) -> None:
    chart = legacy_market_chart().replaced(
        "Chart.yaml", "appVersion: 1.0.9", f"appVersion: {stated}"
    )
    found = [item.message for item in chart.check() if item.rule == "app-version-image"]
    assert found == (["appVersion b9879 differs from the image tag's build b9261"] if told else [])
