"""Image recipes: the files they give, read by BuildKit's own parser and by hadolint."""

import json
import subprocess
import sys
from pathlib import Path, PurePath

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.recipes import RECIPE, WHOLE
from support.recipes import recipe as loaded
from support.workspaces import build_workspace, good, olapps

from olares_apps.errors import SpecError
from olares_apps.images.judge import judge
from olares_apps.images.load import load_recipe, load_recipes
from olares_apps.images.options import option_table
from olares_apps.images.render import render_recipe
from olares_apps.render.templates import load_templates

dockerfile = pytest.importorskip("dockerfile", reason="BuildKit's parser has no wheel here")
REPOSITORY = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
HADOLINT = Path(sys.executable).with_name("hadolint")
PATH = PurePath("images/demo.yaml")


def rendered(*changes: tuple[str, str]) -> tuple[str, str]:
    files = render_recipe(loaded(*changes), load_templates())
    assert list(files) == ["images/demo.Dockerfile", ".github/workflows/image-demo.yaml"]
    return files["images/demo.Dockerfile"], files[".github/workflows/image-demo.yaml"]


def commands(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in dockerfile.parse_string(text):
        found.setdefault(item.cmd, []).append(" ".join(" ".join(item.value).split()))
    return found


def test_the_shipped_recipes_give_the_committed_files(tmp_path: Path) -> None:
    good("image", "render", "--out", tmp_path, cwd=REPOSITORY)
    made = {p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file()}
    kept = {p.relative_to(GOLDEN) for p in GOLDEN.rglob("*") if p.is_file()}
    assert made == kept
    assert len(kept) == 4
    for path in kept:
        assert (tmp_path / path).read_text() == (GOLDEN / path).read_text(), path


@pytest.mark.parametrize("path", sorted(GOLDEN.rglob("*.Dockerfile")), ids=lambda p: p.stem)
def test_a_shipped_dockerfile_has_no_finding_of_hadolint(path: Path) -> None:
    done = subprocess.run([HADOLINT, "--format", "json", path], capture_output=True, text=True)
    assert json.loads(done.stdout) == []
    assert done.returncode == 0


def test_the_build_options_are_those_of_the_article() -> None:
    run = "\n".join(
        commands((GOLDEN / "images/llamacpp-mtp-pr22673.Dockerfile").read_text())["RUN"]
    )
    for option in (
        '"-DGGML_CUDA=ON"',
        '"-DGGML_CUDA_NO_VMM=ON"',
        '"-DCMAKE_CUDA_ARCHITECTURES=120"',
        '"-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,/usr/local/cuda/lib64/stubs"',
        '"-DCMAKE_BUILD_TYPE=Release"',
        '--branch "mtp-clean" "https://github.com/am17an/llama.cpp"',
        "git checkout -q --detach f8c6b03",
        "--target llama-server",
    ):
        assert option in run
    assert "LLAMA_CURL" not in run


def test_bases_commit_and_programs_stand_in_the_dockerfile_exactly() -> None:
    found = commands(rendered()[0])
    base = "docker.io/nvidia/cuda:13.1.0-{}-ubuntu22.04@sha256:{}"
    assert found["FROM"] == [
        base.format("devel", "a" * 64) + " AS build",
        base.format("runtime", "b" * 64),
    ]
    run = found["RUN"]
    assert f'git fetch -q --depth 1 "https://example.org/llama.cpp" {WHOLE}' in run[1]
    assert '"-DCMAKE_CUDA_ARCHITECTURES=86;120"' in run[2]
    assert '"-DLLAMA_BUILD_NUMBER=9260"' in run[2]
    assert run[3].endswith("--target llama-server --target llama-bench")
    assert "cp build/bin/llama-server build/bin/llama-bench /out/" in run[4]
    assert found["ENTRYPOINT"] == ["/app/llama-server"]
    assert "USER" not in found


def test_patches_are_applied_in_the_order_of_the_recipe() -> None:
    change = ("targets:", "patches: [patches/one.patch, patches/two.patch]\nuser: 1000\ntargets:")
    text, workflow = rendered(change)
    found = commands(text)
    assert found["COPY"][:2] == [
        "patches/one.patch /patches/1.patch",
        "patches/two.patch /patches/2.patch",
    ]
    assert any("seq 1 2" in run and "git apply" in run for run in found["RUN"])
    assert found["USER"] == ["1000:1000"]
    assert "patches/two.patch" in yaml.safe_load(workflow)[True]["push"]["paths"]


def test_the_workflow_logs_in_where_the_image_lives_and_never_moves_a_tag() -> None:
    steps = yaml.safe_load(rendered()[1])["jobs"]["build"]["steps"]
    by_use = {step["uses"].partition("@")[0]: step for step in steps if "uses" in step}
    assert by_use["docker/login-action"]["with"]["registry"] == "registry.example"
    push = by_use["docker/build-push-action"]["with"]
    assert push["tags"] == "registry.example/demo/llama:b9260-0a2345f"
    assert push["file"] == "images/demo.Dockerfile"
    names = [step.get("name", step.get("uses", "")) for step in steps]
    assert names.index("Refuse to move a tag that exists") < steps.index(
        by_use["docker/build-push-action"]
    )
    change = ("registry.example/demo", "ghcr.io/demo")
    assert yaml.safe_load(rendered(change)[1])["permissions"]["packages"] == "write"


@given(
    st.text(
        st.characters(
            codec="utf-8", exclude_characters='"`\\\n\r', exclude_categories=["C", "Zl", "Zp"]
        ),
        max_size=40,
    )
)
def test_any_option_value_reaches_cmake_as_it_is_written(value: str) -> None:
    text = f"{RECIPE}\n".replace(
        '  GGML_CUDA: "ON"', f"  GGML_X: {json.dumps(value, ensure_ascii=False)}"
    )
    if "$" in value:
        with pytest.raises(SpecError):
            load_recipe(text.encode(), PATH)
        return
    made = render_recipe(load_recipe(text.encode(), PATH), load_templates())
    run = [
        c.value[0]
        for c in dockerfile.parse_string(made["images/demo.Dockerfile"])
        if c.cmd == "RUN"
    ]
    words = subprocess.run(
        ["/bin/sh", "-c", "cmake() { printf '%s\\0' \"$@\"; }\n" + run[2]],
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert f"-DGGML_X={value}" in words.split("\0")


def test_a_good_recipe_has_nothing_to_complain_about() -> None:
    assert judge(loaded()) == ((), ())


@pytest.mark.parametrize(
    ("change", "level", "field", "message", "hint"),
    [
        (
            ("GGML_CUDA:", "GGML_CUDAA:"),
            0,
            "cmake.GGML_CUDAA",
            "no CMake option of b9265",
            "GGML_CUDA?",
        ),
        (
            ("GGML_CUDA:", "LLAMA_CUBLAS:"),
            1,
            "cmake.LLAMA_CUBLAS",
            "replaced by GGML_CUDA",
            "GGML_CUDA",
        ),
        (("GGML_CUDA:", "LLAMA_CURL:"), 1, "cmake.LLAMA_CURL", "has no effect", "remove"),
        (("GGML_CUDA:", "CMAKE_BUILD_TYPE:"), 0, "cmake.CMAKE_BUILD_TYPE", "is set from", "remove"),
        (("b9260-0a2345f", "latest"), 0, "image", "says nothing", "b9260-0a2345f"),
        (("b9260-0a2345f", "b9260-fedcba9"), 0, "image", "names commit fedcba9", "tag"),
        (("build: b9260", "build: beelama"), 0, "build", "no flag table", "beellama?"),
        ((WHOLE, "ad27757"), 0, "build", "is build b9261, not b9260", "b9261"),
        ((WHOLE, "0a2345f"), 1, "source.commit", "short", "40"),
        (("engine: llamacpp", "engine: other"), 1, "engine", "no flag tables", "checked"),
    ],
)
def test_a_wrong_recipe_is_told_with_place_and_way_out(
    change: tuple[str, str], level: int, field: str, message: str, hint: str
) -> None:
    recipe = loaded(change)
    found = [item for item in judge(recipe)[level] if item.field == field]
    assert len(found) == 1
    assert message in found[0].message
    assert hint in (found[0].hint or "")
    assert found[0].line is not None
    assert field.rpartition(".")[2] in RECIPE.replace(*change).splitlines()[found[0].line - 1]


def test_an_option_of_a_build_without_a_table_is_only_a_warning() -> None:
    recipe = loaded(("build: b9260", "build: buun"), ("GGML_CUDA:", "DFLASH_THING:"))
    errors, warnings = judge(recipe)
    assert errors == ()
    assert "nearest build with a table" in warnings[0].message


@pytest.mark.parametrize(
    ("build", "exact", "has_ui"),
    [("b9101", True, False), ("b9260", True, True), ("b9200", False, True), ("b9999", False, True)],
)
def test_the_options_of_a_build_come_from_the_nearest_source(
    build: str, exact: bool, has_ui: bool
) -> None:
    table = option_table("llamacpp", build)
    assert table is not None
    assert (table.exact, "LLAMA_BUILD_UI" in table.names) == (exact, has_ui)
    assert {"GGML_CUDA", "GGML_CUDA_NO_VMM", "LLAMA_BUILD_TESTS"} <= table.names


def test_other_engines_have_no_option_table() -> None:
    assert option_table("vllm", "0.22.1") is None
    assert option_table("llamacpp", "unheard-of") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("targets:", "target:"), "did you mean targets?"),
        (("build: b9260", "build: 9260"), 'write "9260"'),
        (('["8.6", "12.0"]', '["12.0", "8.6"]'), "rising order"),
        (('cuda: "13.1.0"', 'cuda: "13.1"'), "cuda"),
        (('GGML_CUDA: "ON"', "GGML_CUDA: true"), "quoted string"),
        (('GGML_CUDA: "ON"', "GGML_CUDA: '$(touch x)'"), "cmake.GGML_CUDA"),
        ((f"commit: {WHOLE}", "commit: main"), "source.commit"),
    ],
)
def test_a_recipe_that_cannot_be_read_names_its_line(change: tuple[str, str], message: str) -> None:
    with pytest.raises(SpecError, match=r"images/demo\.yaml:\d+: ") as caught:
        loaded(change)
    assert message in str(caught.value)


def test_the_command_writes_compares_and_lists(tmp_path: Path) -> None:
    root = build_workspace(tmp_path)
    (root / "images").mkdir()
    (root / "images/demo.yaml").write_text(RECIPE)
    assert olapps("image", "render", "--check", cwd=root).code == 1
    assert not (root / "images/demo.Dockerfile").exists()
    assert "images/demo.Dockerfile" in good("image", "render", "demo", cwd=root).out
    assert good("image", "render", "--check", cwd=root).out == "2 file(s) up to date\n"
    listed = good("image", "list", "--output", "json", cwd=root).json
    assert [row["name"] for row in listed["recipes"]] == ["demo"]
    unknown = olapps("image", "render", "demmo", cwd=root)
    assert (unknown.code, "did you mean demo?" in unknown.err) == (2, True)


def test_a_recipe_with_an_error_writes_nothing(tmp_path: Path) -> None:
    root = build_workspace(tmp_path)
    (root / "images").mkdir()
    (root / "images/demo.yaml").write_text(RECIPE.replace("GGML_CUDA:", "GGML_CUDAA:"))
    outcome = olapps("image", "render", cwd=root)
    assert outcome.code == 1
    assert "images/demo.yaml:14: cmake.GGML_CUDAA" in outcome.err
    assert sorted(p.name for p in (root / "images").iterdir()) == ["demo.yaml"]
    assert not (root / ".github").exists()


def test_recipes_of_a_folder_are_read_together_and_a_missing_folder_is_none(tmp_path: Path) -> None:
    assert load_recipes(tmp_path, "images") == {}
    (tmp_path / "images").mkdir()
    (tmp_path / "images/Bad_Name.yaml").write_text(RECIPE)
    (tmp_path / "images/broken.yaml").write_bytes(b"\xff")
    with pytest.raises(SpecError) as caught:
        load_recipes(tmp_path, "images")
    assert len(caught.value.problems) == 2
