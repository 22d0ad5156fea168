"""What `olapps lock` records about images, by tag and by digest, and what `check` makes of it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_hub import FakeHub, hub_of_the_environment, sparse_model
from support.gguf_files import QWEN36_35B
from support.registry import MANIFEST, FakeRegistry, ImageBlobs, digest_of
from support.workspaces import build_workspace, good, olapps

from olares_apps.lock import image_name
from olares_apps.lock.file import load_lock
from olares_apps.lock.model import LockedImage
from olares_apps.render import assemble, pod
from olares_apps.render import console as console_of_chart

REPO, FILE = "example-org/Demo-35B-GGUF", "Demo-35B-UD-Q3_K_XL.gguf"
SERVER = "registry.example.org/llama-server:b9600"
TWO = ImageBlobs({"amd64": ["CUDA_VERSION=13.0.1"], "arm64": ["CUDA_VERSION=12.8.1"]})
AMD64, ARM64 = (digest for digest in TWO.manifests if digest != TWO.digest)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    with FakeRegistry() as fake:
        fake.add_image("llama-server", "b9600", TWO)
        fake.add_image("alpine/curl", "1", ImageBlobs({"amd64": []}))
        monkeypatch.setattr(assemble, "DOWNLOAD_IMAGE", f"{fake.host}/alpine/curl:1")
        yield fake


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_of_the_environment(monkeypatch, tmp_path) as fake:
        fake.add_repo(REPO, {FILE: sparse_model(QWEN36_35B, size=17_200_000_000)})
        yield fake


def locked(folder: Path, image: str, *changes: tuple[str, str]) -> tuple[Path, LockedImage]:
    root = build_workspace(folder / "ws", (SERVER, image), *changes)
    good("lock", cwd=root)
    lock = load_lock(root / "apps/demo.yaml")
    assert lock is not None
    found = lock.image(image)
    assert found is not None
    return root, found


def about_images(root: Path) -> list[dict[str, Any]]:
    found = olapps("check", "--output", "json", cwd=root).json["findings"]
    return [item for item in found if item["rule"] == "image-exists"]


def errors(root: Path) -> list[str]:
    return [item["message"] for item in about_images(root)]


@pytest.mark.parametrize("tag", ["", ":b9600", ":gone"])
@pytest.mark.parametrize(
    ("digest", "platforms"),
    [
        (TWO.digest, [("amd64", AMD64, "13.0.1"), ("arm64", ARM64, "12.8.1")]),
        (AMD64, [("amd64", AMD64, "13.0.1")]),
        (ARM64, [("arm64", ARM64, "12.8.1")]),
    ],
    ids=["index", "amd64", "arm64"],
)
def test_a_digest_is_recorded_with_what_it_holds(registry, tmp_path, tag, digest, platforms):
    image = f"{registry.host}/llama-server{tag}@{digest}"
    root, found = locked(tmp_path, image)
    assert found.digest == digest
    assert [(item.architecture, item.digest, item.cuda) for item in found.platforms] == platforms
    lacking = [f"the image {image} has no amd64 variant (it has arm64), olares-one needs it"]
    assert errors(root) == (lacking if digest == ARM64 else [])


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"architecture": "unknown", "os": "unknown", "config": {}}, "it is for unknown/unknown"),
        ({"architecture": "amd64", "os": "windows", "config": {}}, "it is for windows/amd64"),
        ({"architecture": ["\x1b[2J"], "os": "linux"}, "it is for linux/unknown"),
        ({}, "it is for linux/unknown"),
    ],
    ids=["attestation", "windows", "nonsense", "artifact"],
)
def test_a_digest_of_what_no_device_runs_is_refused(registry, tmp_path, config, told):
    digest = add_manifest(registry, config)
    image = f"{registry.host}/llama-server@{digest}"
    root = build_workspace(tmp_path / "ws", (SERVER, image))
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert f"{image} is no image for Linux: {told}" in outcome.err
    assert "\x1b" not in outcome.err
    assert not (root / "apps/demo.lock.yaml").exists()


def test_the_index_says_for_which_device_a_manifest_is(registry, tmp_path):
    """Builders copy configurations; a device chooses by the index."""
    kind, top = TWO.top
    index = json.loads(top)
    arm64 = add_manifest(
        registry,
        {"architecture": "amd64", "os": "linux", "config": {"Env": ["CUDA_VERSION=13.9.0"]}},
    )
    index["manifests"][1] = {
        "digest": arm64,
        "platform": {"architecture": "arm64", "os": "linux", "variant": "v8"},
    }
    data = json.dumps(index).encode()
    path = "/v2/llama-server/manifests/b9601"
    registry.serve(path, data)
    registry._types[path] = kind
    root, found = locked(tmp_path, f"{registry.host}/llama-server:b9601")
    assert [(item.architecture, item.digest) for item in found.platforms] == [
        ("amd64", AMD64),
        ("arm64", arm64),
    ]
    assert errors(root) == []


EVERYTHING = """run_as_user: 1000
volumes:
  - {source: app-data, folder: work, mounts: [/work]}
init:
  - {name: tune, image: docker.io/owner/tool:1.2.3, command: [/bin/true]}
"""


@pytest.fixture
def public(registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> FakeRegistry:
    """The stand-in as docker.io, the only registry whose images devices take for init steps."""
    monkeypatch.setattr(image_name, "_DOCKER_HOST", registry.host)
    for image in (pod.PERMISSIONS_IMAGE, console_of_chart.IMAGE):
        name, _, tag = image.removeprefix("docker.io/").partition(":")
        registry.add_image(name, tag, ImageBlobs({"amd64": []}))
    return registry


@pytest.mark.parametrize("console", [True, False])
def test_every_image_that_a_chart_runs_is_pinned(public, tmp_path, console):
    public.add_image("owner/tool", "1.2.3", ImageBlobs({"amd64": []}))
    root, _ = locked(
        tmp_path,
        f"{public.host}/llama-server:b9600",
        ("engine:\n  type", f"{EVERYTHING}engine:\n  type"),
        *([("model:\n", "model:\n  console: true\n")] if console else []),
    )
    good("render", cwd=root)
    charts = (path.read_text() for path in (root / "charts").rglob("templates/*.yaml"))
    run = {found[1] for text in charts for found in re.finditer(r'image: "?([^\s"]+)', text)}
    lock = load_lock(root / "apps/demo.yaml")
    assert lock is not None
    assert {item.image for item in lock.images} == run
    assert len(run) == 4 + console
    assert errors(root) == []


def test_an_image_of_an_init_step_that_is_missing_is_told_at_the_step(public, tmp_path):
    image = ("engine:\n  type", f"{EVERYTHING}engine:\n  type")
    root = build_workspace(tmp_path / "ws", (SERVER, f"{public.host}/llama-server:b9600"), image)
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    lines = (root / "apps/demo.yaml").read_text().splitlines()
    number = 1 + next(index for index, line in enumerate(lines) if "owner/tool" in line)
    told = f"demo.yaml:{number}: init.0.image: the image docker.io/owner/tool:1.2.3 does not exist"
    assert told in outcome.err
    public.add_image("owner/tool", "1.2.3", ImageBlobs({"arm64": []}))
    good("lock", cwd=root)
    (finding,) = about_images(root)
    assert "docker.io/owner/tool:1.2.3 has no amd64 variant (it has arm64)" in finding["message"]
    assert finding["line"] == number


def add_manifest(registry: FakeRegistry, config: object) -> str:
    """Serve a manifest without layers that names a configuration; return its digest."""
    blob = json.dumps(config).encode()
    registry.serve(f"/v2/llama-server/blobs/{digest_of(blob)}", blob)
    manifest = {
        "mediaType": MANIFEST,
        "config": {"digest": digest_of(blob), "size": len(blob)},
        "layers": [],
    }
    data = json.dumps(manifest).encode()
    path = f"/v2/llama-server/manifests/{digest_of(data)}"
    registry.serve(path, data)
    registry._types[path] = MANIFEST
    return digest_of(data)
