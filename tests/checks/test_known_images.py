"""Servers at the place where their image has them, and ports that agree, for any server."""

from typing import Any

import pytest
from support.check_charts import DEPLOYMENT, find, plain_chart
from support.sample_specs import make_spec
from support.spec_checks import findings_of, line_of

from olares_apps.findings import Severity

STOCK = "ghcr.io/ggml-org/llama.cpp:server-cuda-b8740"
PLAIN: dict[str, Any] = {"engine.image": STOCK, "engine.speculative": None}
SERVER: dict[str, Any] = {
    "type": "container",
    "image": "docker.io/example/server:1.4.2",
    "command": ["/serve"],
    "port": 8000,
}


@pytest.mark.parametrize("binary", ["/llama-server", "/usr/bin/llama-server", "llama-server"])
def test_c105_a_known_image_has_its_server_at_a_known_place(binary: str) -> None:
    spec = make_spec({**PLAIN, "engine.binary": binary})
    (found,) = findings_of("image-tools", spec)
    assert found.message == f"server path {binary}, image provides /app/llama-server"
    assert line_of(spec, found) == f"binary: {binary}"


@pytest.mark.parametrize(
    ("image", "binary"),
    [
        (STOCK, None),
        (STOCK, "/app/llama-server"),
        (STOCK, "./llama-server"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b4100", "/llama-server"),
        ("docker.io/example/llama-cpp:server-b8740", "/llama-server"),
    ],
)
def test_elsewhere_the_server_may_lie_anywhere(image: str, binary: str | None) -> None:
    changes = {**PLAIN, "engine.image": image, "engine.binary": binary}
    assert findings_of("image-tools", make_spec(changes)) == []


@pytest.mark.parametrize("words", [["--port", "9999"], ["--port=9999"]])
def test_a_container_that_is_told_another_port_disagrees(words: list[str]) -> None:
    plain = {"resources": {}, "text.summary": "A demo."}
    spec = make_spec({**plain, "engine": {**SERVER, "args": words}})
    (found,) = findings_of("port-agreement", spec)
    assert found.severity is Severity.ERROR
    assert "--port 9999, containerPort is 8000" in found.message
    same = [word.replace("9999", "8000") for word in words]
    assert (
        findings_of("port-agreement", make_spec({**plain, "engine": {**SERVER, "args": same}}))
        == []
    )


def test_a_further_port_of_the_container_may_be_the_one() -> None:
    engine = {**SERVER, "args": ["--port", "9999"]}
    services = [{"name": "other", "port": 9999}]
    plain = {"resources": {}, "text.summary": "A demo.", "services": services}
    assert findings_of("port-agreement", make_spec({**plain, "engine": engine})) == []


def test_without_a_spec_another_port_is_a_warning() -> None:
    image = '          image: "docker.io/example/server:1.4.2"\n'
    args = '          args: ["--port", "9999"]\n'
    found = find(plain_chart().replaced(DEPLOYMENT, image, image + args).check(), "port-agreement")
    assert found.severity is Severity.WARNING
