"""Checks of a custom image: its recipe, and what is known of its CUDA version."""

from pathlib import Path

import pytest
from support.check_charts import find, flagship, flagship_spec
from support.mutation import IMAGE
from support.recipes import RECIPE, recipe
from support.workspaces import build_workspace, good, olapps

from olares_apps.checks.images import recipe_facts
from olares_apps.findings import Severity

STATED = "registry.example/demo/llama:b9260-0a2345f"
SPEC_IMAGE = "registry.example.org/llama-server:b9600"


def shop(folder: Path, engine: str, *changes: tuple[str, str]) -> Path:
    text = RECIPE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return build_workspace(
        folder, (f"  image: {SPEC_IMAGE}\n", engine), files={"images/demo.yaml": text}
    )


def rules(root: Path, *more: str) -> dict[str, dict[str, object]]:
    checked = olapps("check", "--no-tools", "--output", "json", *more, cwd=root)
    return {item["rule"]: item for item in checked.json["findings"]}


def test_a_spec_that_says_what_its_recipe_says_has_no_finding(tmp_path: Path) -> None:
    root = shop(tmp_path, f"  image: {STATED}\n  recipe: demo\n")
    assert rules(root) == {}
    assert good("show", "demo", "--output", "json", cwd=root).json["facts"]["build"] == "b9260"


@pytest.mark.parametrize(
    ("engine", "changes", "message"),
    [
        (f"  image: {SPEC_IMAGE}\n  recipe: demo\n", (), f"makes {STATED}"),
        (f"  image: {STATED}\n  recipe: demo\n  build: b9254\n", (), "makes b9260"),
        (
            f"  image: {STATED}\n  recipe: demo\n",
            (('GGML_CUDA: "ON"', 'GGML_CUDDA: "ON"'),),
            "cmake.GGML_CUDDA: is no CMake option",
        ),
    ],
)
def test_another_image_another_build_and_a_faulty_recipe_are_errors(
    tmp_path: Path, engine: str, changes: tuple[tuple[str, str], ...], message: str
) -> None:
    if changes:  # only the table of that very build makes it sure
        engine = engine.replace("b9260-0a2345f", "b9261-0a2345f")
        changes = (*changes, ("b9260", "b9261"), ("0a2345f789", "ad27757789"), ("-0a2345f", ""))
        engine = engine.replace("-0a2345f", "")
    found = rules(shop(tmp_path, engine, *changes))["image-recipe"]
    assert found["severity"] == "error"
    assert message in str(found["message"])
    assert found["line"]


def test_a_recipe_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    root = shop(tmp_path, f"  image: {STATED}\n  recipe: demmo\n")
    refused = olapps("render", cwd=root)
    assert refused.code == 1
    assert "engine.recipe" in refused.err
    assert "did you mean demo?" in refused.err


def test_c106_and_c107_the_recipe_tells_cuda_version_and_architectures(tmp_path: Path) -> None:
    engine = f"  image: {STATED}\n  recipe: demo\n"
    newer = rules(shop(tmp_path / "a", engine, ('"13.1.0"', '"13.9.0"')))["cuda-ceiling"]
    assert "image CUDA 13.9 > driver capability" in str(newer["message"])
    older = rules(shop(tmp_path / "b", engine, ('["8.6", "12.0"]', '["8.0", "9.0"]')))
    assert older["compute-capability"]["severity"] == "warning"
    letters = rules(shop(tmp_path / "c", engine, ('["8.6", "12.0"]', '["9.0a"]')))
    assert letters["compute-capability"]["severity"] == "error"
    assert "archs [sm_90] do not include sm_120" in str(letters["compute-capability"]["message"])


def test_an_architecture_with_a_letter_is_for_that_card_alone() -> None:
    facts = recipe_facts(recipe(('["8.6", "12.0"]', '["9.0a", "12.0"]')).recipe)
    assert (facts.cuda, facts.archs, facts.ptx_archs) == (
        "13.1",
        ("sm_90", "sm_120"),
        ("sm_120",),
    )


def test_c106_an_image_of_unknown_cuda_version_is_a_warning() -> None:
    found = find(flagship().check(spec=flagship_spec(), images={}), "image-cuda-unknown")
    assert found.severity is Severity.WARNING
    assert IMAGE in found.message
    assert "13.2" in found.message
    stated = flagship({"engine.image": "docker.io/example/llama:b9261-cuda13.1"})
    spec = flagship_spec({"engine.image": "docker.io/example/llama:b9261-cuda13.1"})
    assert not [f for f in stated.check(spec=spec, images={}) if "cuda" in f.rule]
