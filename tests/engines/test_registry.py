"""Engines are found by entry point; built-in ones register like any plug-in."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError
from support.sample_specs import FLAGSHIP

from olares_apps.engines.registry import GROUP, engines, get_engine, spec_model
from olares_apps.errors import UnknownName

REPOSITORY = Path(__file__).parents[2]

PLUGIN = """
from typing import Literal
from olares_apps.engines.base import Engine, Launch, ServerProbe
from olares_apps.spec.models import EngineSettings

class Settings(EngineSettings):
    type: Literal["echo"]

class Echo(Engine):
    name = "echo"
    settings = Settings

    def launch(self, spec, files):
        return Launch(["echo"], [], ServerProbe("", 1))

ENGINE = Echo()
OTHER = object()
"""


def run(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{path}:{REPOSITORY}"},
        capture_output=True,
        text=True,
        check=False,
    )


def install_plugin(folder: Path, name: str, module: str, attribute: str = "ENGINE") -> None:
    (folder / "echo_engine.py").write_text(PLUGIN)
    info = folder / "echo-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {module}:{attribute}\n")


def test_the_built_in_engines_are_registered_in_the_project_file_too() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert set(project["entry-points"][GROUP]) == set(engines())


def test_an_unknown_engine_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown engine 'lamacpp'") as caught:
        get_engine("lamacpp")
    assert caught.value.suggestion == "llamacpp"


def test_the_model_knows_the_engines_settings() -> None:
    spec = spec_model().model_validate(dict(FLAGSHIP))
    assert type(spec.engine) is get_engine("llamacpp").settings
    broken = {**FLAGSHIP, "engine": {**FLAGSHIP["engine"], "type": "other"}}
    with pytest.raises(ValidationError, match=r"engine"):
        spec_model().model_validate(broken)


def test_parallel_is_mandatory() -> None:
    engine = {key: value for key, value in FLAGSHIP["engine"].items() if key != "parallel"}
    with pytest.raises(ValidationError, match="parallel"):
        spec_model().model_validate({**FLAGSHIP, "engine": engine})


def test_a_plug_in_joins_the_model_by_its_type(tmp_path: Path) -> None:
    install_plugin(tmp_path, "echo", "echo_engine")
    script = (
        "from olares_apps.engines.registry import engines, spec_model\n"
        "print(list(engines()))\n"
        "schema = spec_model().model_json_schema()\n"
        "print(sorted(schema['properties']['engine']['discriminator']['mapping']))\n"
    )
    result = run(script, tmp_path)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [str(sorted(["echo", *engines()]))] * 2


@pytest.mark.parametrize(
    ("name", "module", "attribute", "reason"),
    [
        ("llamacpp", "echo_engine", "ENGINE", "as olares_apps.engines.llamacpp:ENGINE and"),
        ("echo", "not_there", "ENGINE", "cannot be loaded from not_there:ENGINE"),
        ("echo", "echo_engine", "OTHER", "is no olares_apps.engines.base.Engine"),
        ("other", "echo_engine", "ENGINE", "calls itself 'echo'"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_named(
    name: str, module: str, attribute: str, reason: str, tmp_path: Path
) -> None:
    install_plugin(tmp_path, name, module, attribute)
    script = "from olares_apps.engines.registry import engines; engines()"
    assert reason in run(script, tmp_path).stderr
