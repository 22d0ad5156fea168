"""Image recipes: the files they give, read by BuildKit's own parser and by hadolint."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path, PurePath

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.recipes import RECIPE, WHOLE
from support.recipes import recipe as loaded
from support.workspaces import build_workspace, good, olapps

from olares_apps.errors import SpecError
from olares_apps.images.bases import CUDA_RELEASES, architectures_of
from olares_apps.images.judge import judge
from olares_apps.images.load import load_recipe, load_recipes
from olares_apps.images.options import option_table
from olares_apps.images.render import render_recipe
from olares_apps.render.templates import load_templates

dockerfile = pytest.importorskip("dockerfile", reason="BuildKit's parser has no wheel here")
REPOSITORY = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
PROGRAM = Path(sys.executable).with_name("olapps")
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
        '"https://github.com/am17an/llama.cpp" f8c6b03dad698152d0b98d786b80e47a9bc73d01',
        '"-DLLAMA_BUILD_NUMBER=9026"',
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
            "no CMake option of b9261",
            "GGML_CUDA?",
        ),
        (
            ("GGML_CUDA:", "LLAMA_CUBLAS:"),
            0,
            "cmake.LLAMA_CUBLAS",
            "replaced by GGML_CUDA",
            "GGML_CUDA",
        ),
        (("GGML_CUDA:", "LLAMA_CURL:"), 1, "cmake.LLAMA_CURL", "has no effect", "remove"),
        (("GGML_CUDA:", "CMAKE_BUILD_TYPE:"), 0, "cmake.CMAKE_BUILD_TYPE", "is set from", "remove"),
        (("b9260-0a2345f", "latest"), 0, "image", "says nothing", "b9260-0a2345f"),
        (("b9260-0a2345f", "b9260-fedcba9"), 0, "image", "names commit fedcba9", "tag"),
        (("build: b9260", "build: beelama"), 0, "build", "no flag table", "beellama?"),
        (
            ("GGML_CUDA:", "LLAMA_CUDA:"),
            1,
            "cmake.LLAMA_CUDA",
            "replaced by GGML_CUDA",
            "GGML_CUDA",
        ),
        ((WHOLE, "ad27757"), 0, "build", "is build b9261, not b9260", "b9261"),
        ((WHOLE, "0a2345f"), 1, "source.commit", "short", "40"),
        (("engine: llamacpp", "engine: vllm"), 0, "engine", "vllm is built otherwise", "finished"),
        (('"ON"', '"OFF"'), 0, "cmake.GGML_CUDA", "is off", 'write "ON"'),
        (('"ON"', '"0"'), 0, "cmake.GGML_CUDA", "is off", 'write "ON"'),
        (('"ON"', '"banana"'), 0, "cmake.GGML_CUDA", "'banana' is neither ON nor OFF", '"ON"'),
        (
            ('  GGML_CUDA: "ON"', '  GGML_CUDA_NO_VMM: "x"'),
            0,
            "cmake.GGML_CUDA_NO_VMM",
            "'x'",
            "ON",
        ),
        (("GGML_CUDA:", "GGML_CUDA_FA:"), 0, "cmake", "GGML_CUDA is not set", "GGML_CUDA"),
        (("13.1.0", "12.4.0"), 0, "architectures.1", "12.4 cannot compile for 12.0", "CUDA 12.8"),
        (('"12.0"]', '"99.9"]'), 0, "architectures.1", "no compute capability 99.9", "12.0"),
        (('"8.6", ', '"7.0", '), 0, "architectures.0", "no longer compiles for 7.0", "8.6"),
        (("13.1.0", "12.7.0"), 0, "cuda", "no base images of CUDA 12.7", "12.8"),
        (("13.1.0", "14.0.0"), 1, "cuda", "newer than what is known", "13.4"),
        (('cuda: "', 'system: rockylinux9\ncuda: "'), 0, "system", "with dnf", "ubuntu22.04"),
        (('cuda: "', 'system: ubuntu20.04\ncuda: "'), 0, "system", "3.16", "ubuntu24.04"),
        (('cuda: "', 'system: ubunt22.04\ncuda: "'), 0, "system", "no base image", "ubuntu22.04?"),
        (
            ("[llama-server,", "[llama-servr,"),
            0,
            "targets.0",
            "no program of b9261",
            "llama-server?",
        ),
        (("llama-bench]", "llama-server]"), 0, "targets.1", "listed twice", "remove"),
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
    steps = [step for step in field.split(".") if not step.isdecimal()]
    assert steps[-1] in RECIPE.replace(*change).splitlines()[found[0].line - 1]


def test_an_option_of_a_build_without_a_table_is_only_a_warning() -> None:
    recipe = loaded(
        ("build: b9260", "build: buun"),
        ("cmake:\n", 'cmake:\n  DFLASH_THING: "ON"\n'),
        ("llama-bench]", "llama-dflash]"),
    )
    errors, warnings = judge(recipe)
    assert errors == ()
    assert [warning.field for warning in warnings] == ["cmake.DFLASH_THING", "targets.1"]
    assert all("nearest build with a table" in warning.message for warning in warnings)


@pytest.mark.parametrize("name", ["llamacpp-mtp-master", "llamacpp-mtp-pr22673"])
def test_a_shipped_recipe_names_a_whole_commit_of_a_build_whose_own_options_are_known(
    name: str,
) -> None:
    recipe = load_recipes(REPOSITORY, "images")[name]
    assert recipe.recipe.source.is_whole
    table = option_table("llamacpp", recipe.recipe.build)
    assert table is not None
    assert (table.build, table.exact) == (recipe.recipe.build, True)
    assert judge(recipe).errors == ()
    # What is left open is that the base images are named by tag.
    assert [warning.field for warning in judge(recipe).warnings] == ["cuda"]
    wrong = recipe.recipe.model_copy(update={"cmake": {"GGML_CUDA": "ON", "GGML_CUDA_NOVMM": "ON"}})
    (error,) = judge(replace(recipe, recipe=wrong)).errors
    assert f"no CMake option of {recipe.recipe.build}" in error.message


def test_options_with_a_value_take_any_text() -> None:
    change = ("cmake:\n", 'cmake:\n  GGML_CUDA_COMPRESSION_MODE: "speed"\n')
    assert judge(loaded(change)) == ((), ())


def test_every_release_compiles_for_what_the_next_one_adds_to_or_drops() -> None:
    assert "12.0" not in architectures_of((12, 6))
    assert {"12.0", "12.0a"} <= set(architectures_of((12, 8)))
    assert "12.0f" not in architectures_of((12, 8))
    assert {"5.0", "7.2", "12.1f"} <= set(architectures_of((12, 9)))
    assert architectures_of((13, 0))[0] == "7.5"
    for release in CUDA_RELEASES:
        found = architectures_of(release)
        assert found == sorted(found, key=lambda name: (float(name.rstrip("af")), name))
        assert {"7.5", "8.0", "8.6", "8.9", "9.0"} <= set(found)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("targets:", "patches: [images/nope.patch]\ntargets:"), "15: patches.0: there is no file"),
        (('"ON"', '"OFF"'), "14: cmake.GGML_CUDA: "),
        (("13.1.0", "12.4.0"), "12: architectures.1: "),
        (('cuda: "', 'system: rockylinux9\ncuda: "'), "8: system: "),
        (("[llama-server,", "[llama-servr,"), "15: targets.0: "),
        (("engine: llamacpp", "engine: vllm"), "2: engine: "),
    ],
)
def test_a_recipe_that_cannot_be_built_writes_nothing(
    tmp_path: Path, change: tuple[str, str], line: str
) -> None:
    root = build_workspace(tmp_path)
    (root / "images").mkdir()
    (root / "images/fine.yaml").write_text(RECIPE.replace("demo/llama", "demo/other"))
    assert change[0] in RECIPE
    (root / "images/demo.yaml").write_text(RECIPE.replace(*change))
    outcome = olapps("image", "render", cwd=root)
    assert outcome.code == 1
    assert f"images/demo.yaml:{line}" in outcome.err
    assert sorted(p.name for p in (root / "images").iterdir()) == ["demo.yaml", "fine.yaml"]
    assert not (root / ".github").exists()


def test_two_recipes_never_make_one_image(tmp_path: Path) -> None:
    root = build_workspace(tmp_path)
    (root / "images").mkdir()
    for name in ("first", "second"):
        (root / f"images/{name}.yaml").write_text(RECIPE)
    outcome = olapps("image", "render", "first", cwd=root)
    assert outcome.code == 1
    assert "images/second.yaml:1: image: images/first.yaml makes the image" in outcome.err
    assert not (root / ".github").exists()


def test_a_patch_of_the_workspace_is_found(tmp_path: Path) -> None:
    root = build_workspace(tmp_path)
    (root / "images").mkdir()
    (root / "images/one.patch").write_text("a patch\n")
    change = ("targets:", "patches: [images/one.patch]\ntargets:")
    (root / "images/demo.yaml").write_text(RECIPE.replace(*change))
    good("image", "render", cwd=root)
    assert "images/one.patch" in (root / "images/demo.Dockerfile").read_text()


def test_the_same_bytes_come_out_of_every_process(tmp_path: Path) -> None:
    made = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        subprocess.run(
            [PROGRAM, "image", "render", "--out", folder],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        made.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert len(made[0]) == 4
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("build", "exact", "has_ui"),
    [
        ("pr22673", True, False),
        ("b9101", True, False),
        ("b9260", True, True),
        ("b9261", True, True),
        ("b9200", False, True),
        ("b9999", False, True),
    ],
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
