"""Any container, and Lucebox: settings become what the container runs."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError
from support.container_specs import SPEECH, TREE
from support.vllm_specs import vllm_spec

from olares_apps.engines import container, lucebox
from olares_apps.engines.base import EngineFetch, Launch
from olares_apps.engines.files import stored_files
from olares_apps.engines.flags import check_argv, find_table, load_build
from olares_apps.errors import RenderError, SpecError


def run(stack: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Launch:
    spec = vllm_spec(stack, changes)
    engine = {"container": container.ENGINE, "lucebox": lucebox.ENGINE}[spec.engine.type]
    return engine.launch(spec, stored_files(spec.model.files))


class TestContainer:
    def test_the_spec_says_all_that_runs(self) -> None:
        result = run(SPEECH)
        assert [*result.command, *result.argv] == [
            *("python3", "-m", "speech", "--models", "/models/speech")
        ]
        assert (result.probe.path, result.probe.load_seconds) == ("/", 1860)
        assert (result.shm_mib, result.scratch, result.gpu) == (1024, ["/tmp/cache"], True)

    def test_an_image_alone_is_enough(self) -> None:
        engine = {"type": "container", "image": "docker.io/o/page:1"}
        result = run({"model.repos": [], "engine": engine})
        assert (result.command, result.argv, result.fetch) == ([], [], None)
        assert result.probe.path == ""

    def test_model_files_are_named_by_their_role(self) -> None:
        files = [{"repo": "o/n", "file": "voice.onnx", "size_gb": 0.1}]
        changes = {
            "model.repos": None,
            "model.files": files,
            "engine.command": ["sh", "-c", 'exec serve "$@"', "--", "{{ target }}"],
        }
        assert run(SPEECH, changes).command[-1] == "/models/o--n/main/voice.onnx"
        with pytest.raises(SpecError, match="names no fact"):
            run(SPEECH, {"engine.args": ["{{ taget }}"]})

    def test_braces_of_other_languages_stay(self) -> None:
        argv = run(SPEECH, {"engine.args": ["\\{{ x }}", '{"a": {"b": 1}}']}).argv
        assert argv == ["{{ x }}", '{"a": {"b": 1}}']

    def test_what_it_downloads_stays_on_the_volume(self) -> None:
        home = {"HF_HOME": "/models/huggingface"}
        assert run(SPEECH).fetch == EngineFetch(size=3_000_000_000, env=home)
        with pytest.raises(RenderError, match="lost at every restart"):
            run(SPEECH, {"engine.cache_env": {"TORCH_HOME": "/root/cache"}})

    def test_a_server_without_gpu_takes_no_share(self) -> None:
        result = run(SPEECH, {"engine.gpu": False, "engine.gpu_share": 0.5})
        assert (result.gpu, result.gpu_share) == (False, None)


class TestLucebox:
    def test_target_and_drafter_become_arguments(self) -> None:
        result = run(TREE)
        assert result.command == ["python3", "scripts/server.py"]
        assert result.argv == [
            *("--host", "0.0.0.0", "--port", "8000"),
            *("--target", "/models/unsloth--Qwen3.6-27B-GGUF/main/Qwen3.6-27B-Q4_K_M.gguf"),
            *("--draft", "/models/z-lab--Qwen3.6-27B-DFlash/main/model.safetensors"),
            *("--budget", "22", "--max-ctx", "16384", "--ctk", "q4_0", "--ctv", "q4_0"),
            *("--prefix-cache-slots", "0", "--prefill-cache-slots", "0"),
        ]

    def test_the_server_takes_every_argument(self) -> None:
        changes = {
            "engine.binary": "/app/build/test_dflash",
            "engine.fa_window": 2048,
            "engine.tokenizer": "Qwen/Qwen3.6-27B",
        }
        result = run(TREE, changes)
        match = find_table("lucebox", TREE["engine"]["image"])
        assert match.table is not None
        assert not match.exact
        assert check_argv(result.argv, match.table) == []
        assert check_argv([*result.argv, "--ctx-size", "1"], match.table)[0].suggestion == (
            "--max-ctx"
        )

    def test_every_owned_flag_exists(self) -> None:
        table = load_build("lucebox", "06bdda7")
        assert lucebox.LuceboxSettings.reserved_arguments().keys() <= set(table.names())

    @pytest.mark.parametrize("role", ["target", "drafter"])
    def test_it_needs_one_file_of_each_role(self, role: str) -> None:
        files = [item for item in TREE["model.files"] if item.get("role", "target") != role]
        with pytest.raises(RenderError, match=f"one model file of role {role}, found 0"):
            run(TREE, {"model.files": files})

    def test_only_types_that_it_knows_are_taken(self) -> None:
        with pytest.raises(ValidationError, match=r"engine\.lucebox\.kv\.k"):
            run(TREE, {"engine.kv": {"k": "turbo3"}})

    def test_the_facts_say_what_texts_may_name(self) -> None:
        facts = lucebox.ENGINE.facts(vllm_spec(TREE))
        assert (facts["kv"], facts["budget"], facts["draft_method"]) == ("q4_0", 22, "dflash")
