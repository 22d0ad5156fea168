"""What a model's name says of its size, and what a chart of somebody else declares."""

import pytest
from support.check_charts import DEPLOYMENT, MANIFEST, find, plain_chart
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


@pytest.mark.parametrize(("gpumem", "told"), [("4096", True), ("12000", True), ("13000", False)])
def test_gpu_memory_set_by_hand_is_compared_with_the_weights(gpumem: str, told: bool) -> None:
    chart = legacy_market_chart().replaced(MANIFEST, "requiredGpu: 1Gi", "requiredGpu: 20Gi")
    chart = chart.replaced(
        DEPLOYMENT,
        'limits: {cpu: "16", memory: 40Gi}',
        f'limits: {{cpu: "16", memory: 40Gi, nvidia.com/gpumem: "{gpumem}"}}',
    )
    found = [item for item in chart.check() if item.rule == "gpu-need-understated"]
    if not told:
        assert found == []
        return
    (finding,) = found
    assert finding.severity.value == "warning"
    assert (
        f"gpumem {gpumem}MiB is below the weights of Demo-35B-A3B-UD-Q3_K_XL.gguf"
        in finding.message
    )
    assert "12516MiB at least" in finding.message
    assert finding.file == "templates/deployment.yaml"


_FETCHING = {
    "a server that fetches its model": (
        'command: [/app/llama-server, -hf, "example/Demo-35B-GGUF:Q4_K_M", --port, "8080"]',
        "17.5GB at least at 20 Mbit/s = 7000s",
    ),
    "a server that is given an address": (
        "command: [/app/llama-server, --port, '8080', --model-url, "
        "'https://huggingface.co/x/y/resolve/main/Demo-8B-Q8_0.gguf', --model, Demo-8B-Q8_0.gguf]",
        "8.0GB at least at 20 Mbit/s = 3200s",
    ),
    "a script before the server": (
        "command: [sh, -c, 'curl -fL -o /data/Demo-27B-Q4_0.gguf https://example.org/x && exec "
        "/app/llama-server --port 8080 --model /data/Demo-27B-Q4_0.gguf']",
        "13.5GB at least at 20 Mbit/s = 5400s",
    ),
}


@pytest.mark.parametrize("how", _FETCHING)
def test_a_download_beside_the_server_counts_against_its_probe(how: str) -> None:
    """In a chart of somebody else, by the least that the model's name says."""
    command, need = _FETCHING[how]
    chart = plain_chart().replaced(
        DEPLOYMENT,
        'image: "docker.io/example/server:1.4.2"',
        f"image: ghcr.io/ggml-org/llama.cpp:server-cuda-b9254\n          {command}",
    )
    found = find(chart.check(), "startup-probe-budget")
    assert found.severity.value == "warning"
    assert f"startup budget 3600s < {need}" in found.message
    longer = chart.replaced(DEPLOYMENT, "failureThreshold: 360", "failureThreshold: 900")
    assert "startup-probe-budget" not in {item.rule for item in longer.check()}


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
