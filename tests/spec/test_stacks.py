"""The shipped specs run what the published stacks ran; each difference has a reason."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.workspaces import good

from olares_apps.engines.base import Launch
from olares_apps.engines.files import stored_files
from olares_apps.engines.registry import get_engine, spec_model
from olares_apps.spec.loader import LoadedSpec
from olares_apps.spec.models import AppSpec
from olares_apps.spec.workspace import load_workspace

REPOSITORY = Path(__file__).parents[2]
STACKS: Mapping[str, Any] = yaml.safe_load((Path(__file__).parent / "stacks.yaml").read_text())
# Other names of one option, as the published charts wrote them.
SAME = {
    "-ngl": "--n-gpu-layers",
    "--spec-draft-ngl": "--n-gpu-layers-draft",
    "--spec-draft-model": "--model-draft",
}
FILES = ("--model", "--model-draft", "--mmproj", "--target", "--draft")
FOLDER = "one folder for each repository and commit, so that files of one name cannot be confused"
CHART_OF_THE_FORK = "the article lists what it varies; the rest is that of the fork's chart"
# (spec, option) -> value of the stack, value of the spec, reason. None: the option is not there.
DIFFERENCES: Mapping[tuple[str, str], tuple[object, object, str]] = {
    ("nemotron-elastic-30b-a3b-nvfp4", "--compilation-config"): (
        {
            "cudagraph_mode": 1,
            "max_cudagraph_capture_size": 4,
            "cudagraph_capture_sizes": [1, 2, 4],
        },
        {
            "cudagraph_mode": "PIECEWISE",
            "max_cudagraph_capture_size": 4,
            "cudagraph_capture_sizes": [1, 2, 4],
        },
        "the mode by its name, which every version takes; 1 is PIECEWISE",
    ),
    ("gemma4-26b-a4b-dflash", "--enable-chunked-prefill"): (
        None,
        True,
        "a step of 8192 tokens is smaller than the context of 16384, so prompts must be split",
    ),
    ("qwen36-27b-turbo", "--attention-config.flash_attn_version"): (
        "2",
        None,
        "written as the JSON form of the same option",
    ),
    ("qwen36-27b-turbo", "--attention-config"): (None, {"flash_attn_version": 2}, "see above"),
    ("qwen36-27b-mtp-pr22673", "--alias"): (
        None,
        "qwen3.6-27b-mtp-pr22673",
        "the article's command names none; a market needs one model id for each app",
    ),
    ("qwen36-27b-mtp-pr22673", "--cache-type-k"): (None, "f16", "the build's own default, written"),
    ("qwen36-27b-mtp-pr22673", "--cache-type-v"): (None, "f16", "the build's own default, written"),
    **{
        ("qwen36-27b-dflash-buun-q8", option): (None, value, CHART_OF_THE_FORK)
        for option, value in {
            "--host": "0.0.0.0",
            "--port": "8000",
            "--threads": "16",
            "--parallel": "1",
            "--flash-attn": "on",
            "--jinja": True,
        }.items()
    },
    ("qwen36-27b-dflash-buun-q8", "--alias"): (None, "qwen3.6-27b-dflash-q8", "as above"),
    ("qwen36-27b-dflash-buun-q8", "--cache-type-k"): (None, "f16", "as above"),
    ("qwen36-27b-dflash-buun-q8", "--cache-type-v"): (None, "f16", "as above"),
    ("qwen36-27b-baseline", "--alias"): (
        "qwen3.6-27b-mtp",
        "qwen3.6-27b-baseline",
        "a model id of its own",
    ),
    ("qwen36-27b-baseline", "--model"): (
        "Qwen3.6-27B-UD-Q3_K_XL.gguf",
        "Qwen3.6-27B-UD-Q4_K_XL.gguf",
        "without the draft head a finer file fits with the same context",
    ),
    ("qwen36-27b-lucebox", "--target"): (
        None,
        "Qwen3.6-27B-Q4_K_M.gguf",
        "the posts name the file beside the command",
    ),
    ("qwen36-27b-lucebox", "--draft"): (
        None,
        "dflash-draft-3.6-q8_0.gguf",
        "the posts name the file beside the command; the other drafter is gated",
    ),
    ("qwen36-27b-lucebox", "--max-ctx"): (None, "16384", "the server's own default, written"),
}
IMAGES: Mapping[str, tuple[str | None, str, str]] = {
    "gemma4-26b-a4b-vision": (
        "vllm/vllm-openai:tokenspeed-preview-x86_64-ubuntu2404",
        "docker.io/vllm/vllm-openai:v0.21.0-cu129",
        "the preview's tag moves; the author's later versions of the app ran this release",
    ),
    "gemma4-26b-a4b-dflash": (
        "vllm/vllm-openai:tokenspeed-preview-x86_64-ubuntu2404",
        "docker.io/vllm/vllm-openai:v0.21.0-cu129",
        "the preview's tag moves; a release that ran the same model and has this method",
    ),
    "qwen36-27b-lucebox": (
        None,
        "docker.io/aamsellem/lucebox-dflash:v1.6.0",
        "no source names the image",
    ),
}

GATE = (
    "left to the device, which enforces the manifest's GPU memory from 1.12.6 on; the stacks' "
    "values range from below the card to far above it, where they switch the gate off"
)
# (spec or *, variable) -> reason why its value is not that of the stack.
VARIABLES: Mapping[tuple[str, str], str] = {
    ("*", "CUDA_DEVICE_MEMORY_LIMIT_0"): GATE,
    (
        "*",
        "VLLM_NO_USAGE_STATS",
    ): "vLLM sends nothing about its owner; the stacks say so in one app",
    ("qwen36-27b-lucebox", "DFLASH27B_KV_Q4"): "the same is said by --ctk q4_0 and --ctv q4_0",
}


@pytest.fixture(scope="module")
def specs() -> Mapping[str, LoadedSpec]:
    return load_workspace(REPOSITORY, model=spec_model()).specs


def launch_of(spec: AppSpec[Any]) -> Launch:
    return get_engine(spec.engine.type).launch(spec, stored_files(spec.model.files))


def options(words: list[str]) -> dict[str, object]:
    """Return an argument list as option to value; words before the first option are left out."""
    found: dict[str, object] = {}
    name = None
    for word in words:
        if word.startswith("-") and not word.lstrip("-").replace(".", "").isdigit():
            name = SAME.get(word, word)
            assert name not in found, f"{name} twice"
            found[name] = True
        elif name:
            assert found[name] is True, f"two values of {name}"
            found[name] = word
    return {name: plain(name, value) for name, value in found.items()}


def plain(name: str, value: object) -> object:
    """Return a value in one form: JSON as data, numbers as numbers, files by their name."""
    if not isinstance(value, str):
        return value
    if name in FILES:
        return value.rpartition("/")[2]
    if value.startswith("{"):
        return json.loads(value)
    try:
        return str(float(value)) if "." in value else str(int(value))
    except ValueError:
        return value


def same(one: object, other: object) -> bool:
    try:
        return float(str(one)) == float(str(other))
    except ValueError:
        return one == other


def published(name: str) -> dict[str, object]:
    flags = {key: value for flag in STACKS[name]["flags"] for key, value in flag.items()}
    return {SAME.get(key, key): plain(SAME.get(key, key), value) for key, value in flags.items()}


def test_every_published_stack_is_a_shipped_spec(specs: Mapping[str, LoadedSpec]) -> None:
    assert specs.keys() == STACKS.keys()
    for name, stack in STACKS.items():
        app = stack["app"]
        if app is None:
            continue
        if len(app) > 30:
            assert specs[name].spec.app == "llamacppqwen36beellamavision"
        else:
            assert specs[name].spec.app == app


@pytest.mark.parametrize("name", STACKS)
def test_the_arguments_are_those_of_the_stack(name: str, specs: Mapping[str, LoadedSpec]) -> None:
    ours, theirs = options(list(launch_of(specs[name].spec).argv)), published(name)
    found = {
        option: (theirs.get(option), ours.get(option))
        for option in ours.keys() | theirs.keys()
        if not same(theirs.get(option), ours.get(option))
    }
    listed = {
        option: (old, new) for (spec, option), (old, new, _) in DIFFERENCES.items() if spec == name
    }
    assert found == listed


@pytest.mark.parametrize("name", STACKS)
def test_image_and_command_are_those_of_the_stack(
    name: str, specs: Mapping[str, LoadedSpec]
) -> None:
    stack, spec = STACKS[name], specs[name].spec
    if name in IMAGES:
        assert IMAGES[name][:2] == (stack["image"], spec.engine.image)
    else:
        assert spec.engine.image.removeprefix("docker.io/") == stack["image"].removeprefix(
            "docker.io/"
        )
    launch, exec_ = launch_of(spec), stack["exec"]
    words = [*launch.command, *launch.argv][: len(exec_)]
    if exec_[0].rpartition("/")[2] == "llama-server":
        assert words[0].endswith("/llama-server")
    else:
        assert words == exec_


def variables_that_differ(name: str, spec: AppSpec[Any]) -> set[str]:
    ours, theirs = {**launch_of(spec).env, **spec.engine.env}, STACKS[name].get("env") or {}
    return {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}


@pytest.mark.parametrize("name", STACKS)
def test_variables_are_those_of_the_stack(name: str, specs: Mapping[str, LoadedSpec]) -> None:
    found = variables_that_differ(name, specs[name].spec)
    assert found <= {variable for spec, variable in VARIABLES if spec in ("*", name)}


def test_every_difference_has_a_reason_and_every_reason_a_difference(
    specs: Mapping[str, LoadedSpec],
) -> None:
    assert all(reason for *_, reason in (*DIFFERENCES.values(), *IMAGES.values()))
    assert {spec for spec, _ in DIFFERENCES} | IMAGES.keys() <= STACKS.keys()
    found = {
        (name, key) for name in STACKS for key in variables_that_differ(name, specs[name].spec)
    }
    for spec, variable in VARIABLES:
        assert any(key == variable and spec in ("*", name) for name, key in found)


def test_only_lucebox_cannot_be_installed_and_says_why(specs: Mapping[str, LoadedSpec]) -> None:
    reasons = {name: item.spec.not_installable for name, item in specs.items()}
    assert [name for name, reason in reasons.items() if reason] == ["qwen36-27b-lucebox"]
    assert "libvgpu.so" in (reasons["qwen36-27b-lucebox"] or "")


@pytest.mark.parametrize(
    ("table", "against", "speeds", "ahead", "ratios"),
    [
        (
            "olares-one-2026-05",
            "qwen36-35b-a3b-mtp",
            ["249.3", "182.14", "135.97", "107.54", "74.28"],
            [None, 37, 83, 132, 236],
            [None, -27, -45, -57, -70],
        ),
        (
            "qwen36-27b-2026-05",
            "qwen36-27b-baseline",
            ["88.7", "88", "80", "78.1", "35"],
            [None, 1, 11, 14, 153],
            [153, 151, 129, 123, None],
        ),
    ],
)
def test_the_tables_of_the_articles_come_out_of_the_records(
    table: str, against: str, speeds: list[str], ahead: list[int], ratios: list[int]
) -> None:
    command = ("leaderboard", "--table", table, "--against", against, "--output", "json")
    (board,) = good(*command, cwd=REPOSITORY).json["boards"]
    rows = board["entries"]
    assert [row["tps"] for row in rows] == speeds
    assert [row["leader_ahead_percent"] for row in rows] == ahead
    assert [row["against_percent"] for row in rows] == ratios
    assert board["comparable"] is False
    assert all(row["differs"] for row in rows[1:])
