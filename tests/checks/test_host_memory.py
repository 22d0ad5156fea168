"""The pod's memory limit against what the server keeps in host memory."""

import pytest
from support.check_charts import DEPLOYMENT, find, flagship, flagship_spec, plain_chart, rules_of

RULE = "memory-limit-below-model"
MODEL = "Demo-35B-A3B-Q8_0.gguf"
SMALL = {"resources.memory": "8Gi", "resources.memory_limit": "8Gi"}
NEW = "ghcr.io/ggml-org/llama.cpp:server-cuda-b11434"
OLD = "ghcr.io/ggml-org/llama.cpp:server-cuda-b9254"


def _foreign(image: str, *options: str, env: str = ""):
    """A chart of somebody else whose pod has 8 GiB and whose experts stay on the CPU."""
    words = ", ".join(f'"{word}"' for word in ("--model", f"/data/{MODEL}", "--cpu-moe", *options))
    command = f'image: {image}\n          command: [/app/llama-server, --port, "8080", {words}]'
    chart = plain_chart().replaced(DEPLOYMENT, 'image: "docker.io/example/server:1.4.2"', command)
    if env:
        name, _, value = env.partition("=")
        line = f'command: [/app/llama-server, --port, "8080", {words}]'
        chart = chart.replaced(
            DEPLOYMENT, line, f'{line}\n          env: [{{name: {name}, value: "{value}"}}]'
        )
    return chart


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("mmap", "(page cache counts)"),
        ("no-mmap", "(mmap off)"),
        ("no-mmap-mlock", "(mmap off)"),
        (None, "(page cache counts)"),
    ],
)
def test_the_finding_says_how_the_files_are_loaded(mode: str | None, said: str) -> None:
    changes = SMALL | ({"engine.load_mode": mode} if mode else {})
    findings = flagship(changes).check(spec=flagship_spec(changes))
    assert any(item.rule == RULE and said in item.message for item in findings)


@pytest.mark.parametrize(
    ("image", "options", "env"),
    [
        (NEW, ("--load-mode", "none"), ""),
        (NEW, ("-lm", "dio"), ""),
        (OLD, ("--no-mmap",), ""),
        (OLD, (), "LLAMA_ARG_MMAP=0"),
        (OLD, (), "LLAMA_ARG_NO_MMAP=1"),
        (NEW, (), "LLAMA_ARG_LOAD_MODE=none"),
    ],
)
def test_weights_that_stay_on_the_cpu_without_mmap_need_the_limit(
    image: str, options: tuple[str, ...], env: str
) -> None:
    found = find(_foreign(image, *options, env=env).check(), RULE)
    assert found.severity.value == "warning"
    assert f"is below the weights of {MODEL}, 35.0 GB at least (mmap off)" in found.message
    assert found.file == DEPLOYMENT


def test_locked_weights_are_compared_with_the_request_too() -> None:
    found = [item.message for item in _foreign(OLD, "--mlock").check() if item.rule == RULE]
    assert any("(page cache counts)" in message for message in found)
    assert any("the model (35.0 GB at least) is locked into memory" in item for item in found)


@pytest.mark.parametrize("options", [(), ("--load-mode", "mmap"), ("--load-mode", "auto")])
def test_mapped_weights_of_a_chart_of_somebody_else_may_be_above_it(
    options: tuple[str, ...],
) -> None:
    assert RULE not in rules_of(_foreign(NEW, *options).check())


def test_weights_on_the_gpu_are_no_matter_of_host_memory() -> None:
    chart = _foreign(NEW, "--load-mode", "none").replaced(DEPLOYMENT, '"--cpu-moe", ', "")
    assert RULE not in rules_of(chart.check())
