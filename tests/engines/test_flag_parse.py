"""Argument lists are split the way each engine splits them."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olares_apps.engines.flags import (
    ProblemKind,
    ValueForm,
    check_argv,
    check_conflicts,
    find_table,
    parse_argv,
)

LLAMACPP = find_table("llamacpp", "b11434").table
VLLM = find_table("vllm", "0.33.0").table
MTP_CONFIG = '{"method":"mtp","num_speculative_tokens":3}'


def kinds(argv, table):
    return [problem.kind for problem in check_argv(argv, table)]


def test_short_names_and_underscores_are_the_same_option():
    argv = ["-c", "4096", "--batch_size", "512", "--n_gpu_layers", "99", "-np", "1"]
    parsed = parse_argv(argv, LLAMACPP)
    assert check_argv(argv, LLAMACPP) == []
    assert dict(parsed.values) == {
        "--ctx-size": ["4096"],
        "--batch-size": ["512"],
        "--gpu-layers": ["99"],
        "--parallel": ["1"],
    }
    assert parsed.value("--n-gpu-layers") == parsed.value("-ngl") == "99"
    assert parsed.number("--ctx-size") == 4096
    assert parsed.last("-np").position == 6


def test_negated_names_turn_off_and_the_last_form_counts():
    parsed = parse_argv(["--no-context-shift", "-nkvo", "--kv-offload"], LLAMACPP)
    assert parsed.has("--context-shift")
    assert not parsed.is_on("--context-shift")
    assert parsed.is_on("--kv-offload")
    assert parsed.last("--kv-unified") is None


@pytest.mark.parametrize("value", ["-1", "-0.5", "- a dash", "-"])
def test_values_may_begin_with_a_dash(value):
    argv = ["--seed", value] if value == "-1" else ["--chat-template", value]
    assert parse_argv(argv, LLAMACPP).settings[0].values == (value,)
    assert check_argv(argv, LLAMACPP) == []


def test_llama_server_takes_no_equals_sign():
    problem = check_argv(["--ctx-size=4096"], LLAMACPP)[0]
    assert problem.kind is ProblemKind.UNKNOWN
    assert problem.suggestion == "--ctx-size 4096"


def test_vllm_takes_equals_underscores_and_dotted_keys():
    argv = [
        "serve",
        "example-org/demo",
        "--max_model_len=32k",
        "--compilation-config.cudagraph_mode",
        "FULL",
        "--attention-config.flash_attn_version=2",
        "-O3",
    ]
    parsed = parse_argv(argv, VLLM)
    assert check_argv(argv, VLLM) == []
    assert [item.text for item in parsed.positionals] == ["example-org/demo"]
    assert parsed.value("--max-model-len") == "32k"
    assert parsed.last("--compilation-config").path == ("cudagraph_mode",)
    assert parsed.value("--optimization-level") == "3"


def test_keys_of_dotted_options_are_checked_too():
    problem = check_argv(["demo", "--compilation-config.cudagraph_mod", "FULL"], VLLM)[0]
    assert problem.kind is ProblemKind.JSON_UNKNOWN_KEY
    assert problem.suggestion == "cudagraph_mode"
    assert kinds(["demo", "--max-model-len.x", "1"], VLLM) == [ProblemKind.UNKNOWN]


def test_lists_of_vllm_take_every_following_word():
    argv = ["demo", "--served-model-name", "a", "b", "--port", "8000"]
    assert parse_argv(argv, VLLM).values["--served-model-name"] == ["a", "b"]
    assert check_argv(argv, VLLM) == []


@pytest.mark.parametrize(
    ("argv", "table", "kind", "suggestion"),
    [
        (["--ctx-size"], LLAMACPP, ProblemKind.MISSING_VALUE, None),
        (["--ctx-size", "--jinja"], LLAMACPP, ProblemKind.MISSING_VALUE, None),
        (["--flash-attn"], LLAMACPP, ProblemKind.MISSING_VALUE, "--flash-attn on"),
        (["--jinja", "true"], LLAMACPP, ProblemKind.UNEXPECTED_VALUE, "--jinja"),
        (["--jinja", "false"], LLAMACPP, ProblemKind.UNEXPECTED_VALUE, "--no-jinja"),
        (["--ctx-sise", "1"], LLAMACPP, ProblemKind.UNKNOWN, "--ctx-size"),
        (["word"], LLAMACPP, ProblemKind.UNKNOWN, None),
        (["-c", "1", "--ctx-size", "2"], LLAMACPP, ProblemKind.REPEATED, None),
        (["--temp", "hot"], LLAMACPP, ProblemKind.BAD_VALUE, None),
        (["--n-gpu-layers", "most"], LLAMACPP, ProblemKind.BAD_VALUE, None),
        (["--mlock"], LLAMACPP, ProblemKind.REMOVED, "--load-mode mlock (or mmap+mlock)"),
        (["m", "--enforce-eager=true"], VLLM, ProblemKind.UNEXPECTED_VALUE, "--enforce-eager"),
        (["m", "--port", "--host", "x"], VLLM, ProblemKind.MISSING_VALUE, None),
        (["m", "--max-model-len", "lots"], VLLM, ProblemKind.BAD_VALUE, None),
        (["m", "--ctx-size", "4096"], VLLM, ProblemKind.UNKNOWN, "--max-model-len"),
        (["m", "another"], VLLM, ProblemKind.UNKNOWN, None),
    ],
)
def test_each_fault_has_its_kind_place_and_suggestion(argv, table, kind, suggestion):
    problems = check_argv(argv, table)
    assert [problem.kind for problem in problems] == [kind]
    assert problems[0].suggestion == suggestion
    assert argv[problems[0].position].startswith(problems[0].flag)


def test_kinds_of_speculation_add_up_over_repeats_and_commas():
    argv = ["--spec-type", "draft-mtp", "--spec-type", "ngram-mod,ngram-cache", "-np", "1"]
    assert check_argv(argv, LLAMACPP) == []
    assert parse_argv(argv, LLAMACPP).values["--spec-type"] == [
        "draft-mtp",
        "ngram-mod,ngram-cache",
    ]


def test_every_fault_of_a_list_is_reported_in_order():
    argv = ["--nope", "1", "--cache-type-k", "q9", "--port", "x", "--draft", "3"]
    assert kinds(argv, LLAMACPP) == [
        ProblemKind.UNKNOWN,
        ProblemKind.BAD_VALUE,
        ProblemKind.BAD_VALUE,
        ProblemKind.REMOVED,
    ]
    positions = [problem.position for problem in check_argv(argv, LLAMACPP)]
    assert positions == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("argv", "rule"),
    [
        (["--spec-type", "draft-simple"], "drafter-missing"),
        (["--spec-type", "draft-mtp,draft-simple", "-md", "d"], "speculation-kinds-exclude"),
        (["--spec-type", "none,draft-mtp"], "speculation-kinds-exclude"),
        (["--spec-draft-n-max", "3"], "draft-depth-without-speculation"),
        (["--batch-size", "512", "--ubatch-size", "2048"], "ubatch-above-batch"),
        (["--ubatch-size", "4096"], "ubatch-above-batch"),
        (["--cache-type-k", "iq4_nl"], "cache-type-without-cuda-kernel"),
        (["--ctx-size", "-5"], "number-refused"),
        (["--batch-size", "0"], "number-refused"),
        (["--batch-size", "-1", "--ubatch-size", "512"], "number-refused"),
        (
            ["--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-draft-n-min", "4"],
            "draft-depth-reversed",
        ),
        (["--special"], "control-tokens-shown"),
    ],
)
def test_options_that_do_not_go_together_are_found_once(argv, rule):
    parsed = parse_argv([*argv, "--parallel", "1"], LLAMACPP)
    assert [problem.rule for problem in check_conflicts(parsed, LLAMACPP)] == [rule]


@pytest.mark.parametrize(
    ("build", "argv", "fact"),
    [
        ("b9254", ["--spec-type", "draft-eagle3", "-md", "d"], "only from b9606"),
        ("b10745", ["--spec-type", "draft-mtp"], "b10749 or later"),
        ("b9254", ["--spec-type", "draft-mtp", "-md", "d"], "from b9549"),
    ],
)
def test_kinds_that_a_build_lists_but_cannot_run_are_named(build, argv, fact):
    table = find_table("llamacpp", build).table
    problems = check_conflicts(parse_argv([*argv, "-np", "1"], table), table, build=build)
    assert [problem.rule for problem in problems] == ["speculation-not-in-build"]
    assert fact in problems[0].message


def test_old_and_new_loading_options_exclude_each_other_where_both_exist():
    table = find_table("llamacpp", "b10739").table
    argv = ["--mlock", "--load-mode", "mmap", "-np", "1"]
    problems = check_conflicts(parse_argv(argv, table), table)
    assert [problem.rule for problem in problems] == ["loading-set-twice"]
    assert kinds(argv, table) == [ProblemKind.DEPRECATED]


@pytest.mark.parametrize(
    ("argv", "rule"),
    [
        (["m", "--enable-auto-tool-choice"], "auto-tool-choice-without-parser"),
        (
            "m --no-enable-chunked-prefill --max-num-batched-tokens 9 --max-model-len 4096".split(),
            "batched-tokens-below-context",
        ),
        (
            ["m", "--spec-method=mtp", "--speculative-config", MTP_CONFIG],
            "speculative-config-twice",
        ),
        (["m", "--speculative-config", '{"method":"mtp"}'], "speculative-config-incomplete"),
        (
            ["m", "--enforce-eager", "--compilation-config", '{"cudagraph_mode":"FULL"}'],
            "eager-with-cudagraph",
        ),
        (["--port", "8000"], "model-not-named"),
    ],
)
def test_options_of_vllm_that_do_not_go_together_are_found_once(argv, rule):
    assert [problem.rule for problem in check_conflicts(parse_argv(argv, VLLM), VLLM)] == [rule]


def plain_text():
    return st.text("abcdefghijklmnopqrstuvwxyz0123456789/._ '\"{}=:", min_size=1, max_size=12)


def value_of(flag):
    """Return a strategy for one valid argument of a flag."""
    if flag.form is ValueForm.INT:
        return st.integers(-(10**9), 10**12).map(str)
    if flag.form is ValueForm.SIZE:
        return st.sampled_from(["1", "32k", "4096", "2M"])
    if flag.form is ValueForm.FLOAT:
        return st.floats(0, 100, allow_nan=False).map(lambda number: f"{number:.4f}")
    if flag.form is ValueForm.JSON:
        return st.just("{}")
    if flag.values:
        return st.sampled_from(flag.values)
    return plain_text()


@st.composite
def setting_lists(draw, table):
    usable = [
        flag
        for flag in table.flags
        if flag.removed is None and flag.deprecated is None and flag.form is not ValueForm.PAIR
    ]
    chosen = draw(st.lists(st.sampled_from(usable), max_size=12, unique_by=lambda flag: flag.name))
    made = []
    for flag in chosen:
        name = draw(st.sampled_from(flag.names))
        value = draw(value_of(flag)) if flag.takes_value else None
        made.append((flag.name, name, value))
    return made


def rendered(made):
    return [part for _, name, value in made for part in (name, value) if part is not None]


@pytest.mark.parametrize(("table", "head"), [(LLAMACPP, []), (VLLM, ["demo"])])
def test_a_rendered_list_parses_back_to_its_settings(table, head):
    @settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(setting_lists(table))
    def holds(made):
        argv = head + rendered(made)
        parsed = parse_argv(argv, table)
        assert parsed.leftovers == ()
        assert [item.flag.name for item in parsed.settings] == [
            canonical for canonical, _, _ in made
        ]
        assert [item.value for item in parsed.settings] == [value for _, _, value in made]
        assert all(argv[item.position] == item.written for item in parsed.settings)
        assert check_argv(argv, table) == []

    holds()


@pytest.mark.parametrize("table", [LLAMACPP, VLLM])
def test_any_list_of_words_is_judged_without_failing(table):
    words = st.one_of(
        plain_text(),
        st.sampled_from([name for flag in table.flags for name in flag.names][:80]),
        st.sampled_from(["--", "-", "--=", "--a.b=c", "-O", "-Ox", "", "\n", "--x\ty"]),
        st.text(max_size=6),
    )

    @settings(max_examples=150, deadline=None)
    @given(st.lists(words, max_size=10))
    def holds(argv):
        parsed = parse_argv(argv, table)
        problems = [*check_argv(argv, table), *check_conflicts(parsed, table)]
        for problem in problems:
            assert problem.message
            assert problem.position is None or 0 <= problem.position < len(argv)

    holds()
