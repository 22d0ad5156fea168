"""Public reports about arguments, as small argument lists with the right outcome."""

import json

import pytest

from olares_apps.engines.flags import (
    ProblemKind,
    check_argv,
    check_launch,
    check_quantization,
    find_table,
    parse_argv,
)
from olares_apps.findings import Severity

BASE = (
    "--model /models/demo.gguf --host 0.0.0.0 --port 8000 --n-gpu-layers 99 --ctx-size 32768 "
    "--cache-type-k q4_0 --cache-type-v q4_0 --flash-attn on --parallel 1 --jinja"
).split()
VLLM_BASE = ["example-org/demo", "--max-model-len", "32768", "--gpu-memory-utilization", "0.90"]


def llamacpp(build, *extra, without=()):
    """Return the problems of the base list plus ``extra`` on a build or tag of llama.cpp."""
    argv = list(BASE)
    for name in without:
        at = argv.index(name)
        del argv[at : at + 2]
    match = find_table("llamacpp", build)
    return check_launch([*argv, *extra], match.table, build=match.requested)


def vllm(build, *extra):
    """Return the problems of the base list plus ``extra`` on a version of vLLM."""
    match = find_table("vllm", build)
    return check_launch([*VLLM_BASE, *extra], match.table, build=build)


def only(problems):
    assert len(problems) == 1, problems
    return problems[0]


def test_the_base_lists_are_clean():
    assert llamacpp("b9600") == []
    assert vllm("v0.22.1-x86_64-cu129-ubuntu2404") == []


def test_old_name_of_the_mtp_spec_type_is_refused_with_the_new_one():
    problem = only(llamacpp("master-ad27757", "--spec-type", "mtp"))
    assert problem.kind is ProblemKind.BAD_VALUE
    assert problem.severity is Severity.ERROR
    assert problem.suggestion == "draft-mtp"
    assert "'mtp' is not valid for b9261" in problem.message
    for word in ("none", "draft-simple", "draft-eagle3", "draft-mtp"):
        assert word in problem.allowed
        assert word in problem.message


def test_the_branch_before_the_merge_takes_the_old_name_and_not_the_new_one():
    assert llamacpp("docker.io/owner/llamacpp-mtp:0.1.0", "--spec-type", "mtp") == []
    problem = only(llamacpp("docker.io/owner/llamacpp-mtp:0.1.0", "--spec-type", "draft-mtp"))
    assert problem.suggestion == "mtp"


@pytest.mark.parametrize(
    ("flag", "replacement"),
    [
        ("--draft-max", "--spec-draft-n-max or --spec-ngram-mod-n-max"),
        ("--draft", "--spec-draft-n-max or --spec-ngram-mod-n-max"),
        ("--draft-min", "--spec-draft-n-min or --spec-ngram-mod-n-min"),
    ],
)
def test_removed_draft_options_name_their_replacement(flag, replacement):
    problem = only(llamacpp("b9600", flag, "3"))
    assert problem.kind is ProblemKind.REMOVED
    assert problem.message == f"{flag} was removed: use {replacement}"
    assert problem.suggestion == replacement


def test_removed_draft_option_is_still_an_option_of_older_builds():
    assert llamacpp("b8740", "--model-draft", "/models/d.gguf", "--draft-max", "3") == []


def test_drafter_without_spec_type_is_loaded_for_nothing():
    problem = only(llamacpp("b9600", "--model-draft", "/models/d.gguf"))
    assert problem.rule == "draft-model-without-spec-type"
    assert problem.severity is Severity.WARNING
    assert "spec type is none: no speculation will happen" in problem.message


def test_drafter_without_spec_type_drafts_in_builds_before_the_change():
    assert llamacpp("b9254", "--model-draft", "/models/d.gguf") == []


def test_an_invented_option_is_answered_with_the_real_one():
    problem = only(llamacpp("b9600", "--draft-model", "/models/d.gguf"))
    assert problem.kind is ProblemKind.UNKNOWN
    assert problem.value == "/models/d.gguf"
    assert problem.suggestion == "--spec-draft-model (-md)"


def test_images_with_mtp_drafting_are_an_error_before_the_merge():
    mtp = ("--mmproj", "/models/mmproj.gguf", "--spec-type", "draft-mtp")
    problem = next(p for p in llamacpp("b9027", *mtp) if p.rule == "mmproj-with-mtp")
    assert problem.severity is Severity.ERROR
    assert "before b9180 (yours: b9027)" in problem.message
    assert llamacpp("b9600", *mtp) == []


def test_images_with_mtp_drafting_on_an_unknown_build_are_a_warning():
    mtp = ("--mmproj", "/models/mmproj.gguf", "--spec-type", "draft-mtp")
    problem = only(llamacpp("nightly", *mtp))
    assert (problem.rule, problem.severity) == ("mmproj-with-mtp", Severity.WARNING)
    assert "nightly is not known" in problem.message


def test_quantised_v_cache_needs_flash_attention():
    off = ("--flash-attn", "off")
    problem = only(llamacpp("b9600", *off, without=["--flash-attn"]))
    assert problem.rule == "quantised-v-cache-needs-flash-attention"
    assert problem.severity is Severity.ERROR
    assert "kv.v=q4_0 needs flash_attn on|auto (got off)" in problem.message


def test_quantised_keys_alone_run_without_flash_attention():
    kept = ["--flash-attn", "--cache-type-k", "--cache-type-v"]
    extra = ("--flash-attn", "off", "--cache-type-k", "q8_0", "--cache-type-v", "f16")
    assert llamacpp("b9600", *extra, without=kept) == []


def test_cache_type_of_a_fork_is_refused_on_a_stock_image():
    problem = only(llamacpp("b9600", "--cache-type-v", "turbo4", without=["--cache-type-v"]))
    assert problem.kind is ProblemKind.BAD_VALUE
    stock = "f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1"
    assert f"(allowed: {stock})" in problem.message
    assert "known to" in problem.message
    assert "buun" in problem.message


def test_cache_type_of_a_fork_is_taken_by_its_image():
    extra = ("--cache-type-v", "turbo4")
    image = "docker.io/owner/buun-llama-cpp:87c351d2"
    assert llamacpp(image, *extra, without=["--cache-type-v"]) == []


@pytest.mark.parametrize(
    ("build", "flag", "value"),
    [("b8334", "--fused-gdn", "auto"), ("b9600", "--checkpoint-max", "4")],
)
def test_option_of_nobody_is_named_with_the_build(build, flag, value):
    problem = only(llamacpp(build, flag, value))
    table = find_table("llamacpp", build).table
    assert problem.message.startswith(f"{flag} is not a flag of llamacpp {table.build}")


def test_option_of_a_fork_says_who_has_it():
    problem = only(llamacpp("b9600", "--mmproj-gpu-swap"))
    assert "(known to beellama-0.3, buun)" in problem.message


def test_bare_flash_attention_does_not_eat_the_next_option():
    table = find_table("llamacpp", "b9600").table
    argv = ["-fa", "--jinja", "--parallel", "1"]
    problem = only(check_argv(argv, table))
    assert problem.kind is ProblemKind.MISSING_VALUE
    assert problem.flag == "-fa"
    assert problem.allowed == ("on", "off", "auto")
    assert "needs a value (on, off, auto), since b6325" in problem.message
    assert "--jinja would be read as its value" in problem.message
    assert parse_argv(argv, table).is_on("--jinja")


@pytest.mark.parametrize(("spelling", "word"), [("1", "on"), ("false", "off"), ("-1", "auto")])
def test_undocumented_spellings_of_on_off_auto_are_warned_about(spelling, word):
    problem = only(llamacpp("b9600", "--reasoning", spelling))
    assert problem.kind is ProblemKind.DEPRECATED
    assert problem.suggestion == word


def test_a_value_that_no_spelling_covers_is_refused():
    problem = only(llamacpp("b9600", "--reasoning", "no"))
    assert problem.kind is ProblemKind.BAD_VALUE
    assert problem.allowed == ("on", "off", "auto")


def test_unset_parallel_takes_four_slots():
    problem = only(llamacpp("b9600", without=["--parallel"]))
    assert (problem.rule, problem.severity) == ("parallel-unset", Severity.WARNING)
    assert problem.position is None
    assert "4 slots" in problem.message


def test_several_slots_divide_the_context_unless_it_is_unified():
    several = ("--parallel", "4", "--ctx-size", "262144")
    problem = only(llamacpp("b9600", *several, without=["--parallel", "--ctx-size"]))
    assert (problem.rule, problem.severity) == ("parallel-splits-context", Severity.INFO)
    assert "context per slot = 65536" in problem.message
    unified = (*several, "--kv-unified")
    assert llamacpp("b9600", *unified, without=["--parallel", "--ctx-size"]) == []


@pytest.mark.parametrize("value", ["reasoning_effort=medium", "[1]", "{a:1}", "true"])
def test_template_arguments_must_be_a_json_object(value):
    problem = only(llamacpp("b11434", "--chat-template-kwargs", value))
    assert problem.kind is ProblemKind.NOT_JSON
    assert "must be a JSON object" in problem.message
    assert problem.value == value


def test_effort_as_text_is_answered_with_the_option_where_there_is_one():
    extra = ("--chat-template-kwargs", "reasoning_effort=medium")
    new = only(llamacpp("b11434", *extra))
    assert new.suggestion == '{"reasoning_effort":"medium"}'
    assert "or --reasoning-effort medium" in new.message
    old = only(llamacpp("b9254", *extra))
    assert "--reasoning-effort" not in old.message


def test_thinking_set_twice_is_warned_about_once():
    kwargs = ("--chat-template-kwargs", '{"enable_thinking": false}')
    problem = only(llamacpp("b9600", "--reasoning", "off", *kwargs))
    assert (problem.rule, problem.severity) == ("thinking-set-twice", Severity.WARNING)


def test_thinking_through_template_arguments_is_deprecated_where_the_option_exists():
    kwargs = ("--chat-template-kwargs", '{"enable_thinking": false}')
    problem = only(llamacpp("b9600", *kwargs))
    assert problem.rule == "thinking-through-template-kwargs"
    assert problem.suggestion == "--reasoning off"


@pytest.mark.parametrize(
    ("value", "written"),
    [("1.048576e+06", "1048576"), ("1.01e+06", "1010000"), ("2.62144e+05", "262144")],
)
def test_a_number_printed_as_exponent_is_refused_with_its_digits(value, written):
    problem = only(llamacpp("b9600", "--ctx-size", value, without=["--ctx-size"]))
    assert problem.kind is ProblemKind.BAD_VALUE
    assert problem.suggestion == written


@pytest.mark.parametrize("value", ["1048576", "262144", "1010000"])
def test_whole_numbers_are_taken_at_any_size(value):
    assert llamacpp("b9600", "--ctx-size", value, without=["--ctx-size"]) == []


def test_json_survives_as_one_argument():
    kwargs = {"enable_thinking": False, "note": "it's 5 o'clock"}
    argv = ["--chat-template-kwargs", json.dumps(kwargs), "--parallel", "1"]
    table = find_table("llamacpp", "b9600").table
    assert check_argv(argv, table) == []
    assert json.loads(parse_argv(argv, table).value("--chat-template-kwargs")) == kwargs


def test_json_whose_quotes_were_lost_is_told_apart():
    argv = ["--chat-template-kwargs", "{enable_thinking: false}", "--parallel", "1"]
    problem = only(check_argv(argv, find_table("llamacpp", "b9600").table))
    assert problem.kind is ProblemKind.NOT_JSON
    assert problem.suggestion == '{"enable_thinking":false}'


def test_model_specific_mtp_names_give_way_to_mtp():
    config = '{"method":"qwen3_5_mtp","num_speculative_tokens":3}'
    problem = only(vllm("v0.22.1", "--speculative-config", config))
    assert problem.kind is ProblemKind.DEPRECATED
    assert problem.suggestion == "mtp"
    assert "qwen3_5_mtp" in problem.message


def test_unknown_method_lists_those_of_the_version():
    config = '{"method":"dflash","model":"example-org/draft","num_speculative_tokens":8}'
    assert vllm("v0.22.1", "--speculative-config", config) == []
    problem = only(vllm("v0.11.0", "--speculative-config", config))
    assert problem.kind is ProblemKind.BAD_VALUE
    assert "mtp" in problem.allowed
    assert "'dflash' is not valid for 0.11.0" in problem.message


def test_plain_mtp_is_taken_by_both_versions_and_refused_by_older_ones():
    config = '{"method":"mtp","num_speculative_tokens":3}'
    assert vllm("v0.11.0", "--speculative-config", config) == []
    assert vllm("v0.22.1", "--speculative-config", config) == []
    problem = only(vllm("v0.9.2", "--speculative-config", config))
    assert problem.suggestion == "deepseek_mtp"


def test_method_that_needs_a_drafter_says_so():
    problem = only(
        vllm("v0.22.1", "--speculative-config", '{"method":"dflash","num_speculative_tokens":8}')
    )
    assert problem.rule == "speculative-config-incomplete"
    assert "name it in model" in problem.message


def test_number_of_a_graph_mode_is_warned_about_with_its_word():
    """The servers take 0, 1 and 2: words are turned into the enum, numbers are its values."""
    config = {
        "cudagraph_mode": 1,
        "max_cudagraph_capture_size": 4,
        "cudagraph_capture_sizes": [1, 2, 4],
    }
    problem = only(vllm("v0.22.1", "--compilation-config", json.dumps(config)))
    assert problem.suggestion == "PIECEWISE"
    assert problem.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("config", "kind", "fact"),
    [
        ({"cudagraph_mode": 7}, ProblemKind.BAD_VALUE, "'7' is not valid"),
        ({"cudagraph_mode": "HALF"}, ProblemKind.BAD_VALUE, "PIECEWISE"),
        ({"cudagraph_modes": "FULL"}, ProblemKind.JSON_UNKNOWN_KEY, "cudagraph_modes"),
        ({"cudagraph_capture_sizes": 4}, ProblemKind.BAD_VALUE, "must be a list"),
        (3, ProblemKind.NOT_JSON, "must be a JSON object"),
    ],
)
def test_compilation_config_follows_the_shape_of_the_version(config, kind, fact):
    problem = only(vllm("v0.22.1", "--compilation-config", json.dumps(config)))
    assert problem.kind is kind
    assert fact in problem.message


def test_graph_mode_is_no_key_of_a_version_before_it():
    problem = only(vllm("v0.10.0", "--compilation-config", '{"cudagraph_mode":"PIECEWISE"}'))
    assert problem.kind is ProblemKind.JSON_UNKNOWN_KEY


def test_graph_sizes_are_listed_once_in_order_up_to_the_maximum():
    unsorted = {"cudagraph_capture_sizes": [4, 1, 2, 2], "max_cudagraph_capture_size": 8}
    first, second = vllm("v0.22.1", "--compilation-config", json.dumps(unsorted))
    assert first.suggestion == "[1, 2, 4]"
    assert second.suggestion == "4"
    assert {first.rule, second.rule} == {"cudagraph-sizes"}


def test_quantization_that_contradicts_the_model_is_an_error():
    table = find_table("vllm", "v0.22.1").table
    parsed = parse_argv([*VLLM_BASE, "--quantization", "awq_marlin"], table)
    problem = check_quantization(parsed, "compressed-tensors")
    assert problem is not None
    assert "awq_marlin differs from model config compressed-tensors; omit the flag" in (
        problem.message
    )
    assert check_quantization(parsed, "awq") is None
    assert check_quantization(parsed, None) is None
    assert check_quantization(parse_argv(VLLM_BASE, table), "compressed-tensors") is None


def test_parser_newer_than_the_image_lists_those_it_has():
    parser = ("--enable-auto-tool-choice", "--tool-call-parser", "gemma4")
    assert vllm("v0.22.1", *parser) == []
    problem = only(vllm("v0.11.0", *parser))
    assert problem.kind is ProblemKind.BAD_VALUE
    assert {"hermes", "llama3_json"} <= set(problem.allowed)


def test_parser_of_a_plugin_is_not_judged():
    plugin = ("--tool-parser-plugin", "/plugins/mine.py")
    parser = ("--enable-auto-tool-choice", "--tool-call-parser", "mine")
    assert vllm("v0.22.1", *plugin, *parser) == []


def test_parser_without_automatic_choice_is_an_error():
    problem = only(vllm("v0.22.1", "--tool-call-parser", "gemma4"))
    assert problem.rule == "tool-parser-without-auto-tool-choice"
    assert problem.severity is Severity.ERROR


def test_enable_reasoning_is_deprecated_then_gone():
    warned = only(vllm("v0.9.2", "--enable-reasoning", "--reasoning-parser", "qwen3"))
    assert (warned.kind, warned.severity) == (ProblemKind.DEPRECATED, Severity.WARNING)
    gone = only(vllm("v0.10.0", "--enable-reasoning", "--reasoning-parser", "qwen3"))
    assert (gone.kind, gone.severity) == (ProblemKind.REMOVED, Severity.ERROR)
    for problem in (warned, gone):
        assert problem.suggestion == "--reasoning-parser alone"
        assert "deprecated from 0.9.0, unknown from 0.10.0" in problem.message


def test_limits_per_prompt_must_be_json():
    problem = only(vllm("v0.22.1", "--limit-mm-per-prompt", "image:0"))
    assert problem.kind is ProblemKind.NOT_JSON
    assert problem.suggestion == '{"image":0}'
    assert vllm("v0.22.1", "--limit-mm-per-prompt", '{"image":0}') == []


def test_option_of_an_older_entry_point_names_what_replaced_it():
    problem = only(vllm("v0.22.1", "--task", "embed"))
    assert problem.kind is ProblemKind.REMOVED
    assert "--runner" in problem.suggestion


@pytest.mark.parametrize("limits", ['{"smell":1}', '{"image":1,"smell":{"count":2}}'])
def test_a_limit_of_no_modality_has_no_effect(limits):
    problem = only(vllm("v0.22.1", "--limit-mm-per-prompt", limits))
    assert problem.rule == "modality-unknown"
    assert "smell is no modality" in problem.message
    assert "audio" in problem.allowed


def test_limits_beside_language_model_only_promise_what_is_refused():
    only_text = "--language-model-only"
    problem = only(vllm("v0.22.1", only_text, "--limit-mm-per-prompt", '{"image":1,"video":0}'))
    assert problem.rule == "language-model-only-with-limits"
    assert "takes no image" in problem.message
    assert vllm("v0.22.1", only_text, "--limit-mm-per-prompt", '{"image":0}') == []
    assert vllm("v0.22.1", only_text) == []
    assert vllm("v0.22.1", "--limit-mm-per-prompt", '{"image":1,"audio":2}') == []
