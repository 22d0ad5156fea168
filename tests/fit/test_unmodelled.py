"""Options that change memory and that the estimate does not follow are named."""

import pytest
from support.fit_facts import facts_35b
from support.specs import load, spec_text

from olares_apps.engines.flags.tables import load_build
from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.memory_model import estimate
from olares_apps.fit.unmodelled import _OPTIONS, projector_on_host, unmodelled_options
from olares_apps.lock.need import memory_request


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--cpu-moe"], "--cpu-moe keeps all experts on the host"),
        (["-ncmoe", "12"], "-ncmoe keeps the experts of some layers"),
        (["--n_cpu_moe", "12"], "overstated"),
        (["-ot", "exps=CPU"], "-ot places tensors by name"),
        (["--no-kv-offload"], "keeps the KV cache on the host"),
        (["--lora", "a.gguf"], "understated"),
        (["-ts", "1,1"], "counted on one GPU"),
        (["-cd", "4096"], "context of its own"),
        (["--embedding"], "embedding server"),
    ],
)
def test_an_argument_that_moves_memory_is_named(arguments, word):
    (found,) = unmodelled_options(["--no-webui", *arguments], {})
    assert word in found


@pytest.mark.parametrize(
    ("variable", "value", "is_named"),
    [
        ("LLAMA_ARG_N_CPU_MOE", "12", True),
        ("LLAMA_ARG_N_CPU_MOE", "0", False),
        ("LLAMA_ARG_KV_OFFLOAD", "0", True),
        ("LLAMA_ARG_KV_OFFLOAD", "1", False),
        ("GGML_CUDA_ENABLE_UNIFIED_MEMORY", "1", True),
        ("LLAMA_ARG_THREADS", "8", False),
    ],
)
def test_a_variable_that_moves_memory_is_named(variable, value, is_named):
    found = unmodelled_options([], {variable: value})
    assert [item.startswith(f"{variable}={value} ") for item in found] == [True] * is_named


def test_what_changes_nothing_is_not_named():
    assert unmodelled_options(["--n-cpu-moe", "0", "--metrics", "--no-webui"], {}) == ()


def test_every_flag_and_variable_of_the_list_exists_in_a_build():
    tables = [load_build("llamacpp", build) for build in ("b9254", "b11434")]
    for option in _OPTIONS:
        for flag in option.flags:
            assert any(table.find(flag) for table in tables), flag
        if option.variable.startswith("LLAMA_"):
            assert any(table.by_env(option.variable) for table in tables), option.variable


def test_a_spec_gets_a_warning_and_the_same_figures():
    plain = memory_request(load(spec_text()).spec.engine)
    moved = ("  parallel: 1\n", '  parallel: 1\n  extra_args: ["--n-cpu-moe", "12"]\n')
    request = memory_request(load(spec_text(moved)).spec.engine)
    before, after = (estimate(facts_35b(), item, behaviour_of(9600)) for item in (plain, request))
    assert before.parts == after.parts
    assert set(after.warnings) - set(before.warnings) == {
        "--n-cpu-moe keeps the experts of some layers on the host: the need on the GPU is "
        "overstated, that of the host understated"
    }


@pytest.mark.parametrize(
    ("arguments", "env"),
    [(["--no-mmproj-offload"], {}), ([], {"LLAMA_ARG_MMPROJ_OFFLOAD": "false"})],
)
def test_a_projector_on_the_host_takes_no_gpu_memory(arguments, env):
    assert projector_on_host(arguments, env)
    lines = [f"  extra_args: {arguments}\n" if arguments else f"  env: {env}\n"]
    text = spec_text(("  parallel: 1\n", "  parallel: 1\n" + "".join(lines)))
    assert memory_request(load(text).spec.engine, mmproj_bytes=10**9).mmproj_bytes == 0
    assert memory_request(load(spec_text()).spec.engine, mmproj_bytes=10**9).mmproj_bytes == 10**9


def test_a_draft_model_kept_on_the_host_is_named():
    text = spec_text(
        (
            "  parallel: 1\n",
            "  parallel: 1\n  speculative: {method: draft, n_max: 4, gpu_layers: 0}\n",
        )
    )
    (found,) = memory_request(load(text).spec.engine).unmodelled
    assert "counted on the GPU" in found
