"""An engine from outside the package: one module, one template folder, one table."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.specs import CONFIG, build_file_tree
from support.workspaces import OLAPPS

from olares_apps.engines.registry import GROUP

REPOSITORY = Path(__file__).parents[2]

ENGINE = '''
from typing import Annotated, Literal
from pydantic import Field
from olares_apps.engines.arguments import Arguments
from olares_apps.engines.base import (
    Engine, Launch, ServerProbe, load_seconds, package_table, package_templates,
)
from olares_apps.spec.models import EngineSettings

class Settings(EngineSettings):
    """Settings of the toy server."""

    type: Literal["toy"]
    window: Annotated[int, Field(ge=1)] = 4096
    """Context in tokens."""
    context_field = "window"

    @property
    def context_tokens(self):
        return self.window

class Toy(Engine[Settings]):
    name = "toy"
    settings = Settings

    def launch(self, spec, files):
        line = Arguments()
        line.add("--weights", files[0].path)
        line.add("--window", str(spec.engine.window), key="WINDOW")
        line.add("--port", str(spec.engine.port))
        line.argv.extend(spec.engine.extra_args)
        return Launch(
            command=["/bin/toy"],
            argv=line.argv,
            probe=ServerProbe("/up", load_seconds([item.about for item in files])),
            config=line.config,
            refers=line.refers,
        )

    def facts(self, spec):
        return {"window": spec.engine.window}

    def flag_table(self, settings):
        return package_table("toy_engine", "flags.json")

    def templates(self):
        return package_templates("toy_engine")

ENGINE = Toy()
'''
TABLE = {
    "schema": 1,
    "engine": "toy",
    "build": "1",
    "source": "example-org/toy",
    "extracted_from": "its help",
    "flags": [
        {"names": ["--weights"], "form": "path"},
        {"names": ["--window"], "form": "int"},
        {"names": ["--port"], "form": "int"},
        {"names": ["--shade"], "form": "enum", "values": ["light", "dark"]},
    ],
}
SPEC = """\
app: toyone
version: "1.0.0"
title: Toy One
alias: toy
text:
  summary: A toy on your own device.
developer: somebody
licenses:
  model: {text: Apache-2.0, url: "https://example.org/model"}
  engine: {text: MIT, url: "https://example.org/engine"}
model:
  name: Toy
  kind: 1B
  native_ctx: 8192
  files:
    - {repo: example-org/Toy, file: toy.bin, size_gb: 1.0}
engine:
  type: toy
  image: docker.io/example/toy:1.0.0
  window: 2048
"""


@pytest.fixture(scope="module")
def plug_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the distribution installed into it, as pip --target leaves it."""
    return build_file_tree(
        tmp_path_factory.mktemp("site"),
        {
            "toy_engine/__init__.py": ENGINE,
            "toy_engine/flags.json": json.dumps(TABLE),
            "toy_engine/templates/en-US/runs.md": "- Window: [[ facts.window | group ]] tokens\n",
            "olapps_toy-1.0.dist-info/METADATA": (
                "Metadata-Version: 2.1\nName: olapps-toy\nVersion: 1.0\n"
            ),
            "olapps_toy-1.0.dist-info/entry_points.txt": f"[{GROUP}]\ntoy = toy_engine:ENGINE\n",
        },
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return build_file_tree(tmp_path, {"olapps.toml": CONFIG, "apps/toy.yaml": SPEC})


def olapps(*arguments: str, workspace: Path, plug_in: Path) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {
        **os.environ,
        "PYTHONPATH": f"{plug_in}:{REPOSITORY}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [OLAPPS, *arguments],
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def change(workspace: Path, text: str) -> None:
    path = workspace / "apps" / "toy.yaml"
    path.write_text(path.read_text() + text)


def test_a_spec_that_uses_it_renders_and_packs(workspace: Path, plug_in: Path) -> None:
    rendered = olapps("render", "toy", workspace=workspace, plug_in=plug_in)
    assert rendered.returncode == 0, rendered.stderr
    pages = list(workspace.glob("charts/**/OlaresManifest.yaml"))
    assert pages
    assert any("- Window: 2,048 tokens" in page.read_text() for page in pages)
    chart = next(workspace.glob("charts/**/deployment.yaml")).read_text()
    assert '- "/bin/toy"' in chart
    assert '- "$(WINDOW)"' in chart
    packed = olapps("pack", "toy", "--out", "out", workspace=workspace, plug_in=plug_in)
    assert packed.returncode == 0, packed.stderr
    assert list(workspace.glob("out/**/*.tgz"))


def test_a_workspace_overrides_its_texts(workspace: Path, plug_in: Path) -> None:
    build_file_tree(workspace, {"templates/engines/toy/en-US/runs.md": "- Looks far\n"})
    olapps("render", "toy", workspace=workspace, plug_in=plug_in)
    page = next(workspace.glob("charts/**/OlaresManifest.yaml")).read_text()
    assert "- Looks far" in page
    assert "- Window" not in page


def test_its_arguments_are_judged_by_its_own_table(workspace: Path, plug_in: Path) -> None:
    change(workspace, "  extra_args: [--shade, black, --wnidow, '1']\n")
    result = olapps("check", "toy", "--output", "json", workspace=workspace, plug_in=plug_in)
    found = json.loads(result.stdout)["findings"]
    told = {item["message"] for item in found if item["rule"].startswith("flag-")}
    assert told == {
        "--shade: 'black' is not valid for 1 (allowed: light, dark)",
        "--wnidow is not a flag of toy 1; did you mean --window?",
    }


def test_mistakes_in_its_settings_are_told_like_any_others(workspace: Path, plug_in: Path) -> None:
    change(workspace, "  windw: 1\n")
    result = olapps("render", "toy", workspace=workspace, plug_in=plug_in)
    assert result.returncode == 1
    assert "unknown key 'windw'" in result.stderr
    assert "did you mean window?" in result.stderr


def test_the_schema_knows_its_settings(workspace: Path, plug_in: Path) -> None:
    result = olapps("schema", workspace=workspace, plug_in=plug_in)
    assert result.returncode == 0, result.stderr
    text = json.dumps(json.loads(result.stdout))
    assert "Settings of the toy server." in text
    assert "Context in tokens." in text


def test_without_the_package_the_engine_is_unknown(workspace: Path, tmp_path: Path) -> None:
    result = olapps("render", "toy", workspace=workspace, plug_in=tmp_path)
    assert result.returncode == 1
    assert "'toy' is not allowed; allowed: container, llamacpp, lucebox, vllm" in result.stderr
