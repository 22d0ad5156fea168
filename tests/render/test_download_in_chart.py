"""The rendered init container, started for real, puts the model where the server looks for it."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.charts import NEW, make_tree
from support.flaky_hub import FlakyHub
from support.kubernetes import Object, container_argv, container_environment, only

from olares_apps.helm import HELM
from olares_apps.helm import render_chart as render_helm
from olares_apps.helm.manifests import parse_manifests

pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")

CONTENT = b"GGUF" + bytes(range(256)) * 40
SECOND = b"GGUF" + b"second part"


def render(hub: FlakyHub, *files: dict[str, object]) -> list[Object]:
    tree = make_tree(NEW, {"model.files": list(files)})
    rendered = render_helm(
        tree.files,
        values={"olaresEnv": {"HF_ENDPOINT": hub.url}},
        release_name=tree.app,
        namespace=f"{tree.app}-alice",
        profile=HELM,
    )
    return [item.data for item in parse_manifests(rendered)]


def run_download(objects: list[Object], root: Path) -> str:
    """Start the init container's command; ``root`` stands for the container's file system."""
    (container,) = only(objects, "Deployment")["spec"]["template"]["spec"]["initContainers"]
    scripts = next(i for i in objects if i["metadata"]["name"].endswith("-scripts"))
    (root / "scripts").mkdir()
    for name, text in scripts["data"].items():
        (root / "scripts" / name).write_text(text)
    shell, script = container_argv(container, objects)
    variables = container_environment(container, objects)
    variables["MODEL_DIR"] = f"{root}{variables['MODEL_DIR']}"
    result = subprocess.run(
        [shell, f"{root}{script}"],
        env={"PATH": os.environ["PATH"], "DOWNLOAD_HOLD_SECONDS": "0"} | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_model_lies_where_the_server_is_told_to_look(tmp_path: Path) -> None:
    with FlakyHub() as hub:
        hub.serve_file("o/Demo-GGUF", "sub/it's a model é.gguf", CONTENT)
        objects = render(
            hub,
            {
                "repo": "o/Demo-GGUF",
                "file": "sub/it's a model é.gguf",
                "size": len(CONTENT),
                "sha256": hashlib.sha256(CONTENT).hexdigest(),
            },
        )
        output = run_download(objects, tmp_path)
    (server,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    argv = container_argv(server, objects)
    path = argv[argv.index("--model") + 1]
    assert (tmp_path / path.lstrip("/")).read_bytes() == CONTENT
    assert "all 1 file(s) are complete" in output


def test_every_part_of_a_split_model_lies_beside_the_first(tmp_path: Path) -> None:
    with FlakyHub() as hub:
        hub.serve_file("o/Demo", "M-00001-of-00002.gguf", CONTENT)
        hub.serve_file("o/Demo", "M-00002-of-00002.gguf", SECOND)
        objects = render(hub, {"repo": "o/Demo", "file": "M-00001-of-00002.gguf"})
        run_download(objects, tmp_path)
    folder = tmp_path / "models" / "o--Demo" / "main"
    assert (folder / "M-00001-of-00002.gguf").read_bytes() == CONTENT
    assert (folder / "M-00002-of-00002.gguf").read_bytes() == SECOND
