"""llama.cpp: settings become the argument list that the server process receives."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sample_specs import make_spec

from olares_apps.engines.base import Launch
from olares_apps.engines.files import stored_files
from olares_apps.engines.flags import (
    check_argv,
    check_launch,
    known_builds,
    load_build,
    parse_argv,
)
from olares_apps.engines.llamacpp import ENGINE, LlamaCppSettings
from olares_apps.engines.llamacpp_flavours import FLAVOURS
from olares_apps.errors import RenderError

MODEL = "/models/unsloth--Qwen3.6-35B-A3B-MTP-GGUF/main/Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf"
FLAGSHIP_ARGV = [
    *("--model", MODEL, "--alias", "qwen3.6-35b-a3b-mtp"),
    *("--host", "0.0.0.0", "--port", "8000"),
    *("--ctx-size", "262144", "--cache-type-k", "q4_0", "--cache-type-v", "q4_0"),
    *("--batch-size", "512", "--ubatch-size", "512", "--parallel", "1", "--flash-attn", "on"),
    *("--jinja", "--n-gpu-layers", "99", "--threads", "16"),
    *("--spec-type", "draft-mtp", "--spec-draft-n-max", "3"),
    *("--chat-template-kwargs", '{"enable_thinking": false}'),
]
TARGET = {"repo": "o/n", "file": "m.gguf"}
DRAFTER = {"repo": "o/d", "file": "d.gguf", "role": "drafter"}
PROJECTOR = {"repo": "o/n", "file": "mmproj.gguf", "role": "mmproj"}


def launch(changes: dict[str, Any] | None = None) -> Launch:
    spec = make_spec(changes)
    return ENGINE.launch(spec, stored_files(spec.model.files))


def flags(changes: dict[str, Any]) -> list[str]:
    return list(launch(changes).argv)


def after(argv: list[str], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_the_flagship_gets_exactly_its_arguments() -> None:
    result = launch()
    assert result.command == ["/app/llama-server"]
    assert result.argv == FLAGSHIP_ARGV


def test_values_that_people_look_for_stand_in_the_configuration() -> None:
    result = launch()
    assert result.config == {
        "MODEL_REPO": "unsloth/Qwen3.6-35B-A3B-MTP-GGUF",
        "MODEL_FILE": "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf",
        "MODEL_ALIAS": "qwen3.6-35b-a3b-mtp",
        "CTX_SIZE": "262144",
        "THREADS": "16",
        "SPEC_DRAFT_N_MAX": "3",
    }
    assert {result.argv[index - 1]: key for index, key in result.refers.items()} == {
        "--alias": "MODEL_ALIAS",
        "--ctx-size": "CTX_SIZE",
        "--threads": "THREADS",
        "--spec-draft-n-max": "SPEC_DRAFT_N_MAX",
    }
    assert all(result.config[key] == result.argv[i] for i, key in result.refers.items())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"engine.ctx": 1048576, "model.native_ctx": 2**21}, ["--ctx-size", "1048576"]),
        ({"engine.ctx": 1010000, "model.native_ctx": 2**21}, ["--ctx-size", "1010000"]),
        ({"engine.flash_attn": "off"}, ["--flash-attn", "off"]),
        ({"engine.reasoning": "off"}, ["--reasoning", "off"]),
        ({"engine.jinja": False}, ["--no-jinja"]),
        ({"engine.sampling": {"temp": 0.6}}, ["--temp", "0.6"]),
        ({"engine.sampling": {"min_p": 0.0}}, ["--min-p", "0"]),
        ({"engine.sampling": {"min_p": 0.00001}}, ["--min-p", "0.00001"]),
        ({"engine.sampling": {"presence_penalty": -1.5}}, ["--presence-penalty", "-1.5"]),
        ({"engine.sampling": {"top_k": 20}}, ["--top-k", "20"]),
        ({"engine.kv_unified": True}, ["--kv-unified"]),
        ({"engine.kv_unified": False}, ["--no-kv-unified"]),
        ({"engine.context_shift": False}, ["--no-context-shift"]),
        ({"engine.op_offload": False}, ["--no-op-offload"]),
        ({"engine.swa_full": True}, ["--swa-full"]),
        ({"engine.cache_ram": -1}, ["--cache-ram", "-1"]),
        ({"engine.ctx_checkpoints": 0}, ["--ctx-checkpoints", "0"]),
        ({"engine.slot_save_path": "/cache"}, ["--slot-save-path", "/cache"]),
        ({"engine.extra_args": ["--metrics", "--x", "a b"]}, ["--metrics", "--x", "a b"]),
        (
            {"engine.chat_template_args": {"note": "it's 5 o'clock", "é": [1, None]}},
            ["--chat-template-kwargs", '{"note": "it\'s 5 o\'clock", "é": [1, null]}'],
        ),
    ],
)
def test_a_setting_becomes_its_arguments(changes: dict[str, Any], expected: list[str]) -> None:
    argv = flags(changes)
    start = argv.index(expected[0])
    assert argv[start : start + len(expected)] == expected


@pytest.mark.parametrize(
    "flag",
    ["--reasoning", "--temp", "--kv-unified", "--no-kv-unified", "--cache-ram", "--swa-full"],
)
def test_a_setting_that_is_not_made_gives_no_argument(flag: str) -> None:
    assert flag not in launch().argv


def test_no_chat_template_arguments_give_no_argument() -> None:
    assert "--chat-template-kwargs" not in flags({"engine.chat_template_args": {}})


@pytest.mark.parametrize(
    ("image", "method", "spelling"),
    [
        ("docker.io/aamsellem/llama-cpp-mtp:master-ad27757", "mtp", "draft-mtp"),
        ("docker.io/aamsellem/llamacpp-mtp:0.1.0", "mtp", "mtp"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b9254", "mtp", "draft-mtp"),
        ("docker.io/aamsellem/llama-cpp-mtp:master-0000000", "mtp", "draft-mtp"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b11434", "ngram-mod", "ngram-mod"),
    ],
)
def test_the_build_decides_how_a_method_is_spelled(image: str, method: str, spelling: str) -> None:
    argv = flags({"engine.image": image, "engine.speculative.method": method})
    assert after(argv, "--spec-type") == spelling


def test_a_method_that_the_build_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(RenderError, match=r"mtp does not exist in build b9101 .*ngram-mod"):
        launch({"engine.build": "b9101"})


def test_a_build_without_a_name_for_drafting_drafts_when_a_drafter_is_named() -> None:
    changes = {
        "engine.build": "b9101",
        "model.files": [TARGET, DRAFTER],
        "engine.speculative": {"method": "draft", "n_max": 8},
    }
    argv = flags(changes)
    assert "--spec-type" not in argv
    assert after(argv, "--model-draft") == "/models/o--d/main/d.gguf"
    assert after(flags(changes | {"engine.build": "b8740"}), "--draft-max") == "8"


@pytest.mark.parametrize(
    ("build", "mode", "expected"),
    [
        ("b9254", "no-mmap", ["--no-mmap"]),
        ("b9254", "mlock", ["--mlock"]),
        ("b10405", "no-mmap", ["--load-mode", "none"]),
        ("b10600", "no-mmap", ["--load-mode", "none"]),
        ("b11434", "mlock", ["--load-mode", "mmap+mlock"]),
        ("ad27757", "mmap", ["--mmap"]),
    ],
)
def test_the_build_decides_how_a_load_mode_is_spelled(
    build: str, mode: str, expected: list[str]
) -> None:
    argv = flags({"engine.build": build, "engine.load_mode": mode})
    assert argv[-len(expected) :] == expected


def test_a_drafter_is_named_with_its_own_settings() -> None:
    argv = flags(
        {
            "model.files": [TARGET, DRAFTER],
            "engine.speculative": {
                "method": "draft",
                "n_max": 8,
                "n_min": 1,
                "gpu_layers": 99,
                "kv": {"k": "q8_0", "v": "f16"},
            },
        }
    )
    start = argv.index("--spec-type")
    assert argv[start : start + 14] == [
        *("--spec-type", "draft-simple", "--spec-draft-n-max", "8", "--spec-draft-n-min", "1"),
        *("--model-draft", "/models/o--d/main/d.gguf", "--n-gpu-layers-draft", "99"),
        *("--cache-type-k-draft", "q8_0", "--cache-type-v-draft", "f16"),
    ]


def test_the_draft_length_may_be_left_to_the_build() -> None:
    changes = {"model.files": [TARGET, DRAFTER], "engine.speculative": {"method": "draft"}}
    result = launch(changes)
    assert after(list(result.argv), "--spec-type") == "draft-simple"
    assert "--spec-draft-n-max" not in result.argv
    assert "SPEC_DRAFT_N_MAX" not in result.config
    assert ENGINE.facts(make_spec(changes))["draft_n"] == 0


def test_draft_lengths_of_lookup_methods_have_their_own_flags() -> None:
    argv = flags({"engine.speculative": {"method": "ngram-mod", "n_max": 64, "n_min": 48}})
    assert after(argv, "--spec-ngram-mod-n-max") == "64"
    assert after(argv, "--spec-ngram-mod-n-min") == "48"


def test_a_projector_is_named() -> None:
    argv = flags({"model.files": [TARGET, PROJECTOR]})
    assert after(argv, "--mmproj") == "/models/o--n/main/mmproj.gguf"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model.files": []}, "needs a model file"),
        ({"model.files": [PROJECTOR]}, "needs a model file"),
        ({"model.files": [TARGET, {**TARGET, "file": "n.gguf"}]}, "role target, found 2"),
        ({"model.files": [TARGET, DRAFTER], "engine.speculative": None}, "never draft with it"),
        ({"engine.speculative": {"method": "dflash", "n_max": 8}}, "role drafter"),
        (
            {"engine.speculative": {"method": "ngram-simple", "n_max": 8, "n_min": 1}},
            "n_min has no meaning",
        ),
    ],
)
def test_files_and_settings_that_contradict_each_other_are_refused(
    changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(RenderError, match=reason):
        launch(changes)


def test_a_split_model_is_started_with_its_first_part() -> None:
    split = {"repo": "o/n", "file": "q4/M-00001-of-00003.gguf", "size_gb": 60.0}
    result = launch({"model.files": [split]})
    assert after(list(result.argv), "--model") == "/models/o--n/main/q4/M-00001-of-00003.gguf"
    assert result.config["MODEL_FILE"] == "q4/M-00001-of-00003.gguf"
    assert result.probe.load_seconds == 300 + 1200


def test_the_time_to_load_follows_from_the_size_and_the_download_is_outside_it() -> None:
    assert launch().probe.load_seconds == 300 + 344
    unknown = launch({"model.files": [TARGET]})
    assert unknown.probe.load_seconds == 300 + 480


def test_a_chat_template_is_carried_as_a_file() -> None:
    result = launch({"engine.chat_template_file": "chat/qwen.jinja"})
    assert result.assets == {"qwen.jinja": "chat/qwen.jinja"}
    assert after(list(result.argv), "--chat-template-file") == "/config/qwen.jinja"


def test_a_server_without_gpu_layers_needs_no_gpu() -> None:
    assert launch().gpu is True
    assert launch({"engine.gpu_layers": 0}).gpu is False


def test_the_facts_say_what_texts_may_name() -> None:
    facts = ENGINE.facts(make_spec({"engine.kv.v": "f16"}))
    assert facts["kv"] == "q4_0/f16"
    assert (facts["draft_method"], facts["draft_n"], facts["build"]) == ("mtp", 3, "b9261")
    assert ENGINE.facts(make_spec({"engine.speculative": None}))["draft_n"] == 0


def test_a_stated_build_wins_over_the_image() -> None:
    assert ENGINE.facts(make_spec({"engine.build": "b11434"}))["build"] == "b11434"
    unknown = make_spec({"engine.image": "docker.io/o/n@sha256:" + "0" * 64})
    assert ENGINE.facts(unknown)["build"] == ""


def test_every_flag_that_can_be_written_is_reserved_and_known_to_the_build() -> None:
    everything = {
        "model.files": [TARGET, DRAFTER, PROJECTOR],
        "engine.speculative": {
            **{"method": "draft", "n_max": 8, "n_min": 1, "gpu_layers": 9},
            "kv": {"k": "f16", "v": "f16"},
        },
        "engine.sampling": dict.fromkeys(("temp", "top_p", "min_p", "presence_penalty"), 0.5)
        | {"top_k": 1},
        "engine.chat_template_file": "x.jinja",
        "engine.reasoning": "auto",
        "engine.kv_unified": True,
        "engine.swa_full": True,
        "engine.context_shift": True,
        "engine.cache_ram": 1,
        "engine.ctx_checkpoints": 1,
        "engine.op_offload": True,
        "engine.slot_save_path": "/cache",
    }
    reserved = LlamaCppSettings.reserved_arguments()
    modes = get_args(get_args(LlamaCppSettings.model_fields["load_mode"].annotation)[0])
    for build in ("b9254", "b11434"):
        for mode in modes:
            argv = flags(everything | {"engine.build": build, "engine.load_mode": mode})
            written = {item for item in argv if item.startswith("--")}
            assert written <= reserved.keys()
            assert written <= set(load_build("llamacpp", build).names())


def test_a_reserved_flag_names_the_field_to_set_instead() -> None:
    reserved = LlamaCppSettings.reserved_arguments()
    assert reserved["-c"] == reserved["--ctx-size"] == "engine.ctx"
    assert reserved["-fa"] == "engine.flash_attn"
    assert "--metrics" not in reserved


FORKS = {
    "beellama": "docker.io/aamsellem/beellama-cpp:0.1.3-rc3",
    "buun": "docker.io/aamsellem/buun-llama-cpp-dflash:0.2.0",
    "atomic": "docker.io/aamsellem/llamacpp-atomic-mtp:0.1.0",
}
DFLASH = {"model.files": [TARGET, DRAFTER]}


def test_beellama_gets_the_arguments_that_its_author_runs() -> None:
    result = launch(
        {
            **DFLASH,
            "engine.image": FORKS["beellama"],
            "engine.kv": {"k": "turbo3", "v": "turbo3"},
            "engine.batch": 2048,
            "engine.ubatch": 256,
            "engine.speculative": {
                **{"method": "dflash", "n_max": 8, "gpu_layers": 99},
                "cross_ctx": 1024,
            },
            "engine.kv_unified": True,
            "engine.load_mode": "no-mmap-mlock",
            "engine.chat_template_args": {},
            "engine.sampling": {"temp": 0.6, "top_k": 20, "min_p": 0.0},
        }
    )
    assert result.command == ["/app/llama-server"]
    argv = list(result.argv)
    assert after(argv, "--spec-type") == "dflash"
    assert after(argv, "--spec-dflash-cross-ctx") == "1024"
    assert after(argv, "--model-draft") == "/models/o--d/main/d.gguf"
    assert argv[-2:] == ["--no-mmap", "--mlock"]
    table = load_build("llamacpp", "beellama")
    assert check_launch(argv, table, build="beellama") == []


def test_atomic_names_its_head_by_an_option_of_its_own() -> None:
    result = launch(
        {
            **DFLASH,
            "engine.image": FORKS["atomic"],
            "engine.kv": {"k": "turbo3", "v": "turbo3"},
            "engine.speculative": {
                **{"method": "mtp", "n_max": 8, "n_min": 0, "block": 3, "gpu_layers": 99},
                "kv": {"k": "turbo3", "v": "turbo3"},
            },
        }
    )
    argv = list(result.argv)
    assert result.command == ["llama-server"]
    assert after(argv, "--spec-type") == "mtp"
    assert after(argv, "--mtp-head") == "/models/o--d/main/d.gguf"
    assert (after(argv, "--draft-max"), after(argv, "--draft-min")) == ("8", "0")
    assert after(argv, "--draft-block-size") == "3"
    table = load_build("llamacpp", "atomic")
    assert check_argv(argv, table) == []


def test_buun_keeps_its_server_elsewhere_and_gives_the_drafter_a_context() -> None:
    result = launch(
        {
            **DFLASH,
            "engine.image": FORKS["buun"],
            "engine.speculative": {"method": "dflash", "n_max": 8, "ctx": 256},
        }
    )
    assert result.command == ["/usr/local/bin/llama-server"]
    assert after(list(result.argv), "--ctx-size-draft") == "256"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"engine.mmproj_gpu_swap": True}, r"mmproj_gpu_swap is --mmproj-gpu-swap.*b9261.*buun"),
        ({"engine.kv_tail_tokens": 64}, r"--kv-tail-tokens.*known to beellama-0\.3"),
        ({"engine.speculative.block": 3}, r"--draft-block-size.*known to atomic"),
        ({"engine.speculative.ctx": 256}, "--ctx-size-draft"),
    ],
)
def test_what_only_a_fork_has_is_refused_elsewhere(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(RenderError, match=reason):
        launch(changes)


@pytest.mark.parametrize(("flavour", "image"), FORKS.items())
def test_the_image_tells_the_flavour(flavour: str, image: str) -> None:
    assert ENGINE.facts(make_spec({"engine.image": image}))["flavour"] == flavour
    assert ENGINE.facts(make_spec())["flavour"] == "mainline"
    with pytest.raises(RenderError, match=f"is a build of {flavour}"):
        launch({"engine.image": image, "engine.flavour": "mainline"})


def test_a_chosen_flavour_gives_unknown_images_its_options() -> None:
    changes = {
        "engine.image": "registry.example.org/my-server:1",
        "engine.flavour": "beellama",
        "engine.kv": {"k": "turbo3", "v": "turbo3"},
    }
    settings = make_spec(changes).engine
    table = ENGINE.flag_table(settings)
    assert table is not None
    assert (table.build, settings.build_name) == ("beellama", "beellama")
    assert launch({**changes, "engine.speculative": None}).command == ["/app/llama-server"]
    chosen = make_spec({**changes, "engine.build": "beellama-0.3"}).engine
    assert chosen.build_name == "beellama-0.3"


def test_every_flavour_names_tables_that_exist() -> None:
    choices = get_args(get_args(LlamaCppSettings.model_fields["flavour"].annotation)[0])
    assert set(choices) == set(FLAVOURS)
    for flavour in FLAVOURS.values():
        assert set(flavour.tables) <= set(known_builds("llamacpp"))
        assert set(flavour.binaries or ()) <= set(flavour.tables)


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "ctx": st.integers(256, 262144),
        "parallel": st.integers(1, 8),
        "batch": st.integers(1, 4096),
        "flash_attn": st.sampled_from(("on", "auto")),
        "threads": st.integers(1, 64),
        "reasoning": st.sampled_from(("on", "off", "auto")),
        "cache_ram": st.integers(-1, 9999),
        "kv_unified": st.booleans(),
        "swa_full": st.booleans(),
        "load_mode": st.sampled_from(("mmap", "no-mmap", "mlock", "no-mmap-mlock")),
        "chat_template_args": st.dictionaries(
            st.text(min_size=1, max_size=8),
            st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=12),
            min_size=1,
            max_size=3,
        ),
        "sampling": st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("temp", "top_p", "min_p"), st.floats(0, 1))
        ),
    },
)


@settings(max_examples=60, deadline=None)
@given(SETTINGS, st.sampled_from(known_builds("llamacpp")))
def test_whatever_is_set_is_known_to_the_build(chosen: dict[str, Any], build: str) -> None:
    changes = {f"engine.{name}": value for name, value in chosen.items()}
    argv = flags({**changes, "engine.build": build, "engine.speculative": None})
    table = load_build("llamacpp", build)
    assert check_argv(argv, table) == []
    parsed = parse_argv(argv, table)
    assert parsed.value("--ctx-size") == str(chosen.get("ctx", 262144))
    if "chat_template_args" in chosen:
        value = parsed.value("--chat-template-kwargs") or ""
        assert json.loads(value) == chosen["chat_template_args"]
    for name, number in chosen.get("sampling", {}).items():
        assert float(parsed.value(f"--{name.replace('_', '-')}") or "") == number


@pytest.mark.parametrize(
    ("variable", "field"),
    [
        ("LLAMA_ARG_SPEC_TYPE", "engine.speculative.method"),
        ("LLAMA_ARG_CTX_SIZE", "engine.ctx"),
        ("LLAMA_ARG_UBATCH", "engine.ubatch"),
        ("LLAMA_ARG_N_PARALLEL", "engine.parallel"),
    ],
)
def test_a_variable_that_sets_what_a_field_sets_is_refused(variable: str, field: str) -> None:
    with pytest.raises(RenderError, match=f"sets what {field} sets") as caught:
        launch({"engine.env": {variable: "1"}})
    assert caught.value.field == f"engine.env.{variable}"
    assert caught.value.hint == f"set {field}"


@pytest.mark.parametrize("variable", ["LLAMA_ARG_TIMEOUT", "LLAMA_ARG_N_CPU_MOE", "LLAMA_CACHE"])
def test_a_variable_of_its_own_is_passed_on(variable: str) -> None:
    assert launch({"engine.env": {variable: "1"}})
