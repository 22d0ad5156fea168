"""vLLM: settings become the argument list that the server process receives."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from support.vllm_specs import DFLASH, ELASTIC, TURBO, VISION, VOICE, vllm_spec

from olares_apps.engines.base import EngineFetch, Launch
from olares_apps.engines.files import stored_files
from olares_apps.engines.flags import (
    check_launch,
    find_table,
    known_builds,
    load_build,
    parse_argv,
)
from olares_apps.engines.vllm import ENGINE
from olares_apps.engines.vllm_settings import OPTIONS, VllmSettings, VllmSpeculative
from olares_apps.errors import RenderError

STACKS = {
    "elastic": ELASTIC,
    "vision": VISION,
    "dflash": DFLASH,
    "turbo": TURBO,
    "voice": VOICE,
}
SPEC = "engine.speculative"
MTP = {"method": "mtp", "num_speculative_tokens": 3}


def launch(stack: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Launch:
    spec = vllm_spec(stack, changes)
    return ENGINE.launch(spec, stored_files(spec.model.files))


def after(result: Launch, flag: str) -> str:
    return result.argv[list(result.argv).index(flag) + 1]


def options(result: Launch) -> set[tuple[str, str | None]]:
    """Return the arguments as flags with their values; JSON counts as what it means."""
    argv, found = [*result.argv, "--"], set()
    for item, follower in pairwise(argv):
        if item.startswith("--"):
            value = None if follower.startswith("--") else follower
            found.add((item, json.dumps(json.loads(value)) if value and value[0] == "{" else value))
    return found


def test_the_elastic_stack_gets_the_arguments_that_its_author_runs() -> None:
    result = launch(ELASTIC)
    assert result.command == ["vllm", "serve"]
    assert result.argv[0] == "nvidia/NVIDIA-Nemotron-Labs-3-Elastic-30B-A3B-NVFP4"
    assert options(result) == {
        ("--served-model-name", "nemotron-elastic-30b"),
        ("--host", "0.0.0.0"),
        ("--port", "8000"),
        ("--max-model-len", "4096"),
        ("--gpu-memory-utilization", "0.95"),
        ("--max-num-seqs", "1"),
        ("--trust-remote-code", None),
        ("--download-dir", "/models/huggingface"),
        ("--dtype", "auto"),
        (
            "--compilation-config",
            '{"cudagraph_capture_sizes": [1, 2, 4], "cudagraph_mode": "PIECEWISE", '
            '"max_cudagraph_capture_size": 4}',
        ),
    }


def test_the_turbo_stack_gets_the_arguments_that_its_author_runs() -> None:
    result = launch(TURBO)
    assert [*result.command, result.argv[0]] == [
        *("/entrypoint.sh", "serve", "Lorbus/Qwen3.6-27B-int4-AutoRound")
    ]
    assert options(result) == {
        ("--served-model-name", "qwen3.6-27b"),
        ("--host", "0.0.0.0"),
        ("--port", "8000"),
        ("--max-model-len", "88000"),
        ("--gpu-memory-utilization", "0.97"),
        ("--max-num-seqs", "1"),
        ("--max-num-batched-tokens", "4096"),
        ("--quantization", "auto_round"),
        ("--dtype", "float16"),
        ("--kv-cache-dtype", "turboquant_k8v4"),
        ("--language-model-only", None),
        ("--trust-remote-code", None),
        ("--download-dir", "/models"),
        ("--reasoning-parser", "qwen3"),
        ("--enable-prefix-caching", None),
        ("--enable-chunked-prefill", None),
        ("--enable-auto-tool-choice", None),
        ("--tool-call-parser", "qwen3_coder"),
        ("--performance-mode", "interactivity"),
        ("--async-scheduling", None),
        ("--no-scheduler-reserve-full-isl", None),
        ("--attention-config", '{"flash_attn_version": 2}'),
        ("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}'),
    }


@pytest.mark.parametrize("name", STACKS)
def test_the_version_takes_every_argument_of_a_stack(name: str) -> None:
    result = launch(STACKS[name])
    match = find_table("vllm", STACKS[name]["engine"]["image"])
    assert match.table is not None
    assert check_launch(result.argv, match.table, build=match.requested) == []


def test_a_separate_drafter_stands_in_the_speculative_config() -> None:
    assert json.loads(after(launch(DFLASH), "--speculative-config")) == {
        "method": "dflash",
        "model": "z-lab/gemma-4-26B-A4B-it-DFlash",
        "num_speculative_tokens": 8,
    }


def test_values_that_people_look_for_stand_in_the_configuration() -> None:
    result = launch(DFLASH)
    assert result.config.keys() == {
        *("MODEL_NAME", "MODEL_ALIAS", "MAX_MODEL_LEN", "GPU_MEMORY_UTILIZATION", "SPEC_CONFIG")
    }
    assert all(result.config[key] == result.argv[index] for index, key in result.refers.items())


def test_pinned_revisions_are_asked_for() -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    changes = {"model.repos.0.revision": commit, "model.repos.1.revision": "v2"}
    result = launch(DFLASH, {**changes})
    assert after(result, "--revision") == commit
    assert json.loads(after(result, "--speculative-config"))["revision"] == "v2"
    assert "--revision" not in launch(DFLASH).argv


def test_the_server_downloads_onto_the_model_volume() -> None:
    hub = {"HF_HOME": "/models/huggingface"}
    assert launch(DFLASH).fetch == EngineFetch(size=17_860_000_000, env=hub)
    assert launch(TURBO).fetch == EngineFetch(size=None, env=hub)
    with pytest.raises(RenderError, match="not below /models"):
        launch(TURBO, {"engine.download_dir": "/root/cache"})


def test_files_of_the_chart_are_served_from_their_folder() -> None:
    files = [
        {"repo": "o/n", "file": "model.safetensors", "size_gb": 10.0},
        {"repo": "o/n", "file": "config.json", "role": "extra", "size_gb": 0.001},
        {"repo": "o/d", "file": "model.safetensors", "role": "drafter", "size_gb": 0.5},
    ]
    changes = {"model.repos": None, "model.files": files, SPEC: {**MTP, "method": "dflash"}}
    result = launch(VISION, changes)
    assert result.argv[0] == "/models/o--n/main"
    assert json.loads(after(result, "--speculative-config"))["model"] == "/models/o--d/main"
    assert result.fetch is None
    assert "--download-dir" not in result.argv


def test_a_gguf_is_named_itself() -> None:
    files = [{"repo": "o/n", "file": "m.gguf", "size_gb": 10.0}]
    result = launch(VISION, {"model.repos": None, "model.files": files})
    assert result.argv[0] == "/models/o--n/main/m.gguf"


def test_the_module_is_told_its_model_by_an_option() -> None:
    module = ["python3", "-m", "vllm.entrypoints.openai.api_server"]
    result = launch(VISION, {"engine.command": module})
    assert result.command == module
    assert result.argv[:2] == ["--model", "cyankiwi/gemma-4-26B-A4B-it-AWQ-4bit"]


def test_an_empty_command_keeps_the_entry_point_of_the_image() -> None:
    assert launch(VISION, {"engine.command": []}).command == []


def test_missing_packages_are_installed_before_the_start() -> None:
    packages = ["mistral-common[soundfile]==1.9.1", "soxr==1.0.0"]
    result = launch(VOICE, {"engine.pip_packages": packages})
    assert result.command == [
        *("sh", "-c"),
        "pip install --quiet 'mistral-common[soundfile]==1.9.1' soxr==1.0.0 "
        '&& exec vllm serve "$@"',
        "--",
    ]
    assert result.argv == launch(VOICE).argv
    with pytest.raises(RenderError, match=r"needs engine\.command"):
        launch(VOICE, {"engine.command": []})


@pytest.mark.parametrize("package", ["a; rm -rf /", "-r x", "a b", "https://x.example/a.whl", ""])
def test_only_packages_are_installed(package: str) -> None:
    with pytest.raises(ValidationError, match="pip_packages"):
        vllm_spec(VOICE, {"engine.pip_packages": [package]})


@pytest.mark.parametrize("package", ["librosa", "mistral-common[soundfile]", "a>=1", "a=="])
def test_every_package_states_its_version(package: str) -> None:
    with pytest.raises(ValidationError, match=r"==VERSION"):
        vllm_spec(VOICE, {"engine.pip_packages": [package]})


@pytest.mark.parametrize(
    ("build", "written", "spelled"),
    [
        ("0.9.2", "mtp", "deepseek_mtp"),
        ("0.10.0", "qwen3_next_mtp", "deepseek_mtp"),
        ("0.11.0", "mtp", "mtp"),
        ("0.11.0", "deepseek_mtp", "mtp"),
        ("0.21.0", "gemma4_mtp", "mtp"),
        ("0.22.1", "mtp", "mtp"),
        ("0.99.0", "brand_new", "brand_new"),
    ],
)
def test_the_version_decides_how_a_method_is_spelled(
    build: str, written: str, spelled: str
) -> None:
    changes = {
        "engine.build": build,
        SPEC: {**MTP, "method": written},
        "model.repos.1.role": "drafter",
    }
    config = json.loads(after(launch(DFLASH, changes), "--speculative-config"))
    assert config["method"] == spelled


def test_a_method_that_the_version_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(RenderError, match=r"dflash does not exist in vLLM 0\.11\.0 .*eagle3.*mtp"):
        launch(DFLASH, {"engine.build": "0.11.0"})


def test_further_keys_of_the_speculative_config_are_carried() -> None:
    changes = {SPEC: {**MTP, "enforce_eager": True, "options": {"synthetic_acceptance_length": 2}}}
    config = json.loads(after(launch(VOICE, changes), "--speculative-config"))
    assert config["enforce_eager"] is True
    assert config["synthetic_acceptance_length"] == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model.repos": []}, "needs a model"),
        ({SPEC: None}, "never draft with it"),
        ({"model.repos.1": {"repo": "a/b"}}, "role target, found 2: cyankiwi/.*, a/b"),
        ({"model.repos.1.role": "extra"}, "dflash needs a draft model"),
        ({f"{SPEC}.options": {"model": "a/b"}}, "options.model has a place of its own"),
    ],
)
def test_model_and_settings_that_contradict_each_other_are_refused(
    changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(RenderError, match=reason):
        launch(DFLASH, changes)


def test_a_tool_parser_turns_tool_choice_on() -> None:
    argv = list(launch(VISION).argv)
    start = argv.index("--enable-auto-tool-choice")
    assert argv[start : start + 3] == [argv[start], "--tool-call-parser", "gemma4"]
    assert "--enable-auto-tool-choice" not in launch(ELASTIC).argv


def test_a_chat_template_is_carried_as_a_file() -> None:
    result = launch(VISION, {"engine.chat_template_file": "chat/gemma.jinja"})
    assert result.assets == {"gemma.jinja": "chat/gemma.jinja"}
    assert after(result, "--chat-template") == "/config/gemma.jinja"


def test_limits_of_media_are_a_mapping() -> None:
    with pytest.raises(ValidationError, match="limit_mm_per_prompt"):
        vllm_spec(VISION, {"engine.limit_mm_per_prompt": "image:0"})
    zero = launch(VISION, {"engine.limit_mm_per_prompt": {"image": 0}})
    assert after(zero, "--limit-mm-per-prompt") == '{"image":0}'


def test_shared_memory_and_the_share_of_the_card_reach_the_chart() -> None:
    result = launch(VISION)
    assert (result.shm_mib, result.gpu_share, result.gpu) == (8192, 0.92, True)
    assert launch(VISION, {"engine.shm": "512Mi"}).shm_mib == 512


def test_the_time_to_start_counts_loading_compiling_and_installing() -> None:
    assert launch(DFLASH).probe.load_seconds == 300 + 358 + 900
    assert launch(VOICE).probe.load_seconds == 300 + 210 + 900 + 600


def test_the_facts_say_what_texts_may_name() -> None:
    facts = ENGINE.facts(vllm_spec(DFLASH))
    assert facts["kv"] == "fp8"
    assert (facts["draft_method"], facts["draft_n"], facts["build"]) == ("dflash", 8, "0.21.0")
    assert facts["gpu_share"] == 92
    assert ENGINE.facts(vllm_spec(VISION))["draft_n"] == 0


def test_a_reserved_flag_names_the_field_to_set_instead() -> None:
    reserved = VllmSettings.reserved_arguments()
    assert reserved["-tp"] == reserved["--tensor-parallel-size"] == "engine.tensor_parallel_size"
    assert reserved["--no-enable-prefix-caching"] == "engine.enable_prefix_caching"
    assert reserved["--speculative-config"] == reserved["--spec-method"] == "engine.speculative"
    assert "--enable-lora" not in reserved


def test_every_option_is_a_field_and_an_option_of_some_version() -> None:
    tables = [load_build("vllm", build) for build in known_builds("vllm")]
    for name in OPTIONS:
        assert name in VllmSettings.model_fields
        assert any(table.find(f"--{name.replace('_', '-')}") for table in tables), name


def test_every_typed_key_of_the_speculative_config_exists_in_the_newest_version() -> None:
    shape = load_build("vllm", "0.33.0").shapes["SpeculativeConfig"]
    assert VllmSpeculative.model_fields.keys() - {"options"} <= shape.keys.keys()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(min_size=1, max_size=8), JSON, min_size=1, max_size=4)
CHOSEN = st.fixed_dictionaries(
    {},
    optional={
        "max_num_seqs": st.integers(1, 999),
        "max_num_batched_tokens": st.integers(1, 10**6),
        "cpu_offload_gb": st.floats(0, 99),
        "tensor_parallel_size": st.integers(1, 8),
        "seed": st.integers(0, 2**31),
        "kv_cache_memory_bytes": st.integers(1, 2**40),
        **dict.fromkeys(
            (
                *("enforce_eager", "trust_remote_code", "enable_prefix_caching"),
                *("enable_chunked_prefill", "async_scheduling", "scheduler_reserve_full_isl"),
                *("language_model_only", "disable_hybrid_kv_cache_manager"),
            ),
            st.booleans(),
        ),
        **dict.fromkeys(
            (
                *("hf_overrides", "mm_processor_kwargs", "default_chat_template_kwargs"),
                *("compilation_config", "attention_config", "kernel_config"),
            ),
            OBJECTS,
        ),
        "override_generation_config": st.dictionaries(
            st.sampled_from(("temperature", "top_p")), st.floats(0, 5), min_size=1
        ),
    },
)


@settings(max_examples=40, deadline=None)
@given(CHOSEN, st.sampled_from(("0.22.1", "0.33.0")))
def test_whatever_is_set_arrives_as_it_was_set(chosen: dict[str, Any], build: str) -> None:
    changes = {f"engine.{name}": value for name, value in chosen.items()}
    result = launch(ELASTIC, {**changes, "engine.build": build})
    parsed = parse_argv(result.argv, load_build("vllm", build))
    assert parsed.leftovers == ()
    assert [item.text for item in parsed.positionals] == [result.config["MODEL_NAME"]]
    assert not [item for item in parsed.settings if item.missing or item.surplus]
    for name, value in chosen.items():
        setting = parsed.last(f"--{name.replace('_', '-')}")
        assert setting is not None
        if isinstance(value, bool):
            assert setting.negated is not value
        elif isinstance(value, dict):
            assert json.loads(setting.value or "") == value
        else:
            assert float(setting.value or "") == value
