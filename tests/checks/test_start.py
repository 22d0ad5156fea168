"""What a chart installs at its start, where its server listens, and its GPU memory gate."""

import pytest
from support.check_charts import DEPLOYMENT, MANIFEST, find, plain_chart, rules_of, vllm_chart

STOCK = "ghcr.io/ggml-org/llama.cpp:server-cuda-b9254"
SERVER = "/app/llama-server --port 8080 --parallel 1 --model /data/m.gguf"
IMAGE = 'image: "docker.io/example/server:1.4.2"'


def _script(script: str):
    lines = "".join(f"              {line}\n" for line in script.splitlines())
    command = f"command: [bash, -c]\n          args:\n            - |\n{lines}"
    return plain_chart().replaced(
        DEPLOYMENT, IMAGE, f"image: {STOCK}\n          {command.rstrip()}"
    )


@pytest.mark.parametrize(
    "line",
    [
        "pip install vllm",
        "pip3 install --upgrade 'soundfile>=0.12' vllm==0.33.0",
        "python -m pip install git+https://github.com/example/server",
        "pip install git+https://github.com/example/server@main",
        "uv pip install --system vllm",
        "apt-get update && apt-get install -y ffmpeg",
        "apk add --no-cache curl",
        "git clone --depth 1 https://github.com/example/server /opt/server",
        "pip install \\\n  --quiet \\\n  soundfile",
        "if ! command -v rsync; then\n  apt install -y rsync\nfi",
        "command -v rsync || { apt install -y rsync",
        "DEBIAN_FRONTEND=noninteractive apt-get install -y ffmpeg",
        "(cd /opt && /usr/bin/git clone https://github.com/example/server)",
        "PIP_NO_CACHE_DIR=1 /opt/venv/bin/python3.11 -m pip install soundfile",
    ],
)
def test_what_is_installed_unpinned_at_every_start_is_told(line: str) -> None:
    found = find(_script(f"{line}\nexec {SERVER}").check(), "start-installs")
    assert found.severity.value == "warning"
    assert "runs this at every start: " in found.message
    shown = " ".join(line.replace("\\\n", " ").replace("\nfi", "").split())
    assert shown[-12:].strip() in found.message


@pytest.mark.parametrize(
    "line",
    [
        "pip install vllm==0.33.0 'soundfile == 0.13.1'",
        "pip install -r /opt/requirements.txt",
        "pip install --index-url https://pypi.example /opt/server-1.0-py3-none-any.whl",
        "pip install git+https://github.com/example/server@3f2a91c0d4",
        "git clone https://github.com/example/server && git -C server checkout 3f2a91c0d4",
        "echo pip is not needed; pip --version",
        "# pip installs nothing here",
        "# apt-get install ffmpeg was here",
        "log 'git clone of the server failed'",
        'echo "run apt-get install ffmpeg by hand"',
        "git clone --depth 1 --branch v1.4.2 https://github.com/example/server",
        'git clone -b "$TAG" https://github.com/example/server',
        'pip install "$PACKAGES"',
        "pip install --quiet vllm==0.33.0 >/dev/null 2>&1",
        "pip install vllm==0.33.0 2> /tmp/log",
    ],
)
def test_what_is_pinned_or_installs_nothing_is_not(line: str) -> None:
    assert "start-installs" not in rules_of(_script(f"{line}\nexec {SERVER}").check())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_server_that_only_its_own_pod_reaches_is_told(host: str) -> None:
    chart = _script(f"exec {SERVER} --host {host}")
    found = find(chart.check(), "listens-on-loopback")
    assert f"container server listens on {host} only" in found.message
    beside = chart.replaced(
        DEPLOYMENT,
        "      containers:\n",
        "      containers:\n        - name: proxy\n          image: nginx:1.27.0\n"
        "          resources:\n"
        '            {requests: {cpu: "1", memory: 1Gi}, limits: {cpu: "1", memory: 1Gi}}\n',
    )
    assert "listens-on-loopback" not in rules_of(beside.check())


def test_vllm_on_the_loopback_address_is_told_too() -> None:
    chart = vllm_chart().replaced(
        DEPLOYMENT,
        '            - "8080"\n',
        '            - "8080"\n            - --host=127.0.0.1\n',
    )
    assert "listens on 127.0.0.1 only" in find(chart.check(), "listens-on-loopback").message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('-m ""', True),
        ('--model "" --host 0.0.0.0', True),
        ('-m "" -hf example/Demo-8B-GGUF:Q8_0', False),
        ('-m "" --models-dir /data', False),
        ("--models-dir /data", False),
        ('-m "$UNKNOWN"', False),
        ("-m /data/m.gguf", False),
    ],
)
def test_a_server_with_an_empty_path_for_its_model_is_told(arguments: str, told: bool) -> None:
    chart = _script(f"exec /app/llama-server --port 8080 --parallel 1 {arguments}")
    found = [item for item in chart.check() if item.rule == "model-empty"]
    assert len(found) == told
    for finding in found:
        assert finding.severity.value == "error"
        assert "is empty: the server starts as a router that has no model" in finding.message
        assert finding.hint.endswith("with the path of a file")


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("30000m", "30000m is above the limit 16GiB: the gate never closes"),
        ("17g", "17g is above the limit 16GiB"),
        ("4096m", "4096m is below the required GPU memory 8GiB: allocations fail"),
        ("12g", ""),
        ("16384m", ""),
        ("8192M", ""),
        ("0m", ""),
        ("most", ""),
    ],
)
def test_a_memory_gate_beside_what_the_manifest_says(gate: str, said: str) -> None:
    chart = _script(f"exec {SERVER}").replaced(
        DEPLOYMENT,
        "          ports: [{containerPort: 8080}]",
        f'          env: [{{name: CUDA_DEVICE_MEMORY_LIMIT_0, value: "{gate}"}}]\n'
        "          ports: [{containerPort: 8080}]",
    )
    assert "limitedGPUMemory: 16Gi" in chart[MANIFEST].decode()
    found = [f.message for f in chart.check(profile=None) if f.rule == "gpu-memory-limit"]
    assert len(found) == bool(said)
    assert all(said in message for message in found)
