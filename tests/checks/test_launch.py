"""Finding the server of a chart and the arguments that it really gets."""

import pytest
from support.check_charts import DEPLOYMENT, Chart, flagship, vllm_chart
from support.foreign_charts import catalogue_chart, legacy_market_chart
from support.mutation import bash

from olares_apps.checks.launch import Server
from olares_apps.checks.shell import expand_kubelet, find_command, shell_defaults


def server(chart: Chart) -> Server:
    (found,) = chart.context().servers
    return found


def test_arguments_of_a_direct_start_are_expanded_as_the_kubelet_does() -> None:
    found = server(flagship())
    assert found.engine == "llamacpp"
    assert found.argv[found.argv.index("--ctx-size") + 1] == "262144"
    assert found.argv[found.argv.index("--alias") + 1] == "qwen3.6-35b-a3b-mtp"
    assert (found.ctx, found.parallel, found.draft_length, found.ports) == (262144, 1, 3, {8000})


def test_arguments_of_a_start_script_are_expanded_as_a_shell_does() -> None:
    found = server(legacy_market_chart())
    assert found.command is not None
    assert found.command.binary == "/app/llama-server"
    assert found.command.complete
    assert found.value("--model") == "/shared/Demo-35B-A3B-UD-Q3_K_XL.gguf"
    assert (found.ctx, found.draft_length, found.alias) == (262144, 3, "demo")


def test_a_script_in_a_configmap_is_followed_and_a_list_variable_split() -> None:
    found = server(catalogue_chart())
    assert found.argv == (
        *("-hf", "owner/repo-GGUF:UD-Q4_K_XL", "--host", "0.0.0.0", "--port", "8081"),
        *("-c", "131072", "-ngl", "all", "-fa", "on", "-np", "1"),
    )
    assert (found.ctx, found.parallel) == (131072, 1)


def test_an_image_that_starts_the_server_itself_is_known_by_its_name() -> None:
    found = server(vllm_chart())
    assert (found.engine, found.ctx, found.alias) == ("vllm", 32768, "demo")


@pytest.mark.parametrize("flag", ["-m", "--model"])
def test_an_image_that_starts_the_server_itself_takes_short_flags_too(flag: str) -> None:
    """``-m`` names a model there, and a module only behind a Python."""
    text = vllm_chart()[DEPLOYMENT].decode()
    head, rest = text.split("          image: ", 1)
    old = rest[: rest.index("          env:")]
    arguments = [flag, "/models/D.gguf", "--port", "8080", "-fa", "--spec-type", "mtp"]
    listed = "".join(f"            - {word!r}\n" for word in arguments)
    image = "ghcr.io/ggml-org/llama.cpp:server-cuda-b11434"
    new = f'"{image}"\n          args:\n{listed}'
    chart = vllm_chart().with_file(DEPLOYMENT, f"{head}          image: {rest.replace(old, new)}")
    found = server(chart)
    assert (found.engine, found.argv) == ("llamacpp", tuple(arguments))
    told = {item.rule for item in chart.check()}
    assert {"flag-bad-value", "parallel-unset"} <= told


def test_a_context_that_nobody_set_is_zero() -> None:
    chart = flagship().without_lines(DEPLOYMENT, '"--ctx-size"', "$(CTX_SIZE)")
    assert server(chart).ctx == 0


def test_a_variable_of_the_server_counts_for_a_missing_flag() -> None:
    chart = flagship().without_lines(DEPLOYMENT, '"--ctx-size"', "$(CTX_SIZE)")
    text = "            - configMapRef:"
    chart = chart.replaced(
        DEPLOYMENT,
        "          envFrom:\n",
        "          env:\n"
        '            - {name: LLAMA_ARG_CTX_SIZE, value: "8192"}\n          envFrom:\n',
    )
    assert text in chart[DEPLOYMENT].decode()
    assert server(chart).ctx == 8192


def test_a_chart_without_a_known_server_has_none() -> None:
    chart = bash("exec python3 app.py --port 8000")(flagship())
    assert chart.context().servers == []


@pytest.mark.parametrize(
    ("script", "argv", "complete"),
    [
        ("llama-server -m a.gguf", ("-m", "a.gguf"), True),
        ("exec /app/llama-server --port ${PORT:-8000} | tee log", ("--port", "8000"), True),
        ('A="--jinja --mlock"\nllama-server $A', ("--jinja", "--mlock"), True),
        ("X=1\nexport Y=$X\nllama-server -np $Y && sleep 1", ("-np", "1"), True),
        (
            "llama-server \\\n  --alias 'two words' \\\n  -c 4096",
            ("--alias", "two words", "-c", "4096"),
            True,
        ),
        ("""llama-server --kw '{"a": "b c"}'""", ("--kw", '{"a": "b c"}'), True),
        ('llama-server "${ARGS[@]}" -c 1', ("-c", "1"), False),
        ("llama-server -c $UNSET", ("-c", "$UNSET"), False),
        ("python3 -m vllm.entrypoints.openai.api_server --model x", ("--model", "x"), True),
        ("vllm serve x --port 1 > log 2>&1", ("x", "--port", "1"), True),
    ],
)
def test_a_command_line_is_found_in_a_script(
    script: str, argv: tuple[str, ...], complete: bool
) -> None:
    found = find_command(script, {})
    assert found is not None
    assert (found.argv, found.complete) == (argv, complete)


@pytest.mark.parametrize(
    "script",
    [
        "",
        "echo llama-server is next",
        "# llama-server -c 1",
        "my-llama-server-old x",
        "llama-server 'open",
    ],
)
def test_what_only_mentions_a_server_is_no_command(script: str) -> None:
    assert find_command(script, {}) is None


def test_defaults_of_messages_do_not_count() -> None:
    script = 'echo "${A:-1}"\nX="${B:-2}"\n# ${C:-3}\n'
    assert shell_defaults(script) == [("B", "2")]


def test_the_kubelet_leaves_unknown_names_and_doubled_signs() -> None:
    assert expand_kubelet("$(A) $$(A) $(B) $5", {"A": "1"}) == "1 $(A) $(B) $5"
