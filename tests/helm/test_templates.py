"""Templates: what errors say, what stops them, and what must come out untouched."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.helm_charts import chart_files

from olares_apps.errors import RenderError
from olares_apps.helm import (
    HELM,
    HYDRATION,
    AuthorError,
    ExecutionError,
    LimitExceeded,
    Limits,
    NilAccess,
    Profile,
    TemplateError,
    TemplateSyntaxError,
    UnknownFunction,
    render_chart,
    render_text,
)

PROFILES = pytest.mark.parametrize("profile", [HELM, HYDRATION], ids=lambda p: p.name)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
# The machine may be busy: an example that takes long is no failure.
steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def render(text: str, values: Any = None, profile: Profile = HELM, **options: Any) -> str:
    return render_text(text, {"Values": values or {}}, profile, file="x.yaml", **options)


# Positions and reasons


def test_an_error_names_file_line_column_and_expression() -> None:
    with pytest.raises(NilAccess) as caught:
        render("a: 1\nb: {{ .Values.new.key | quote }}\n")

    error = caught.value
    assert (error.file, error.line, error.column) == ("x.yaml", 2, 7)
    assert error.expression == ".Values.new.key"
    assert error.reason == "nil pointer evaluating interface {}.key"
    assert str(error) == f"x.yaml:2:7: at <.Values.new.key> {error.reason}"
    assert error.problem.line == 2
    assert "default" in (error.hint or "")


def test_an_error_in_a_helper_names_the_helper_s_file() -> None:
    files = chart_files(
        {
            "x.yaml": 'a: {{ include "h" . }}',
            "_h.tpl": '\n{{ define "h" }}\n{{ .Values.a.b }}{{ end }}',
        }
    )
    with pytest.raises(NilAccess) as caught:
        render_chart(files, values=None, release_name="r", namespace="n", profile=HELM)
    assert (caught.value.file, caught.value.line) == ("templates/_h.tpl", 3)


@pytest.mark.parametrize("text", ['{{ fail "no model" }}', '{{ required "no model" .Values.m }}'])
@PROFILES
def test_the_chart_s_own_refusal_is_told_apart(text: str, profile: Profile) -> None:
    with pytest.raises(AuthorError, match="no model"):
        render(text, profile=profile)


def test_an_unknown_function_suggests_the_nearest_one() -> None:
    with pytest.raises(UnknownFunction) as caught:
        render("{{ .Values.a | qoute }}")
    assert caught.value.name == "qoute"
    assert caught.value.hint == "did you mean quote?"


def test_a_function_of_helm_that_the_device_lacks_is_a_parse_error_that_says_so() -> None:
    with pytest.raises(UnknownFunction) as caught:
        render("\n{{ if false }}{{ dict }}{{ end }}", profile=HYDRATION)
    assert caught.value.name == "dict"
    assert caught.value.line == 2
    assert "first rendering pass" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\n{{ if true }}\nb", 3), ("a\n\n{{ .x", 3), ('{{\n\n"a', 3), ("{{/*\n\n", 1)],
)
def test_a_syntax_error_names_the_line(text: str, line: int) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        render(text)
    assert caught.value.line == line


# Text that must survive


@steady
@given(TEXT)
@PROFILES
def test_any_text_survives_quote(profile: Profile, text: str) -> None:
    rendered = render("a: {{ .Values.t | quote }}", {"t": text}, profile)
    expected = text if profile is HYDRATION else text.replace("<no value>", "")
    assert yaml.load(rendered, yaml.CSafeLoader) == {"a": expected}


@steady
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"], include_characters="\n\t")))
def test_text_survives_to_json_and_to_yaml(text: str) -> None:
    # Helm's toYaml takes the last line break away, also when it belongs to a text that ends there.
    value = {"list": [text], "map": {"key " + text: text}, "zzz": "end"}
    template = "a: {{ .Values.t | toJson }}\nb: {{ .Values.t | toYaml | nindent 2 }}"
    loaded = yaml.load(render(template, {"t": value}), yaml.CSafeLoader)
    assert loaded == {"a": value, "b": value}


@steady
@given(TEXT.filter(lambda text: "{{" not in text and "<no value>" not in text))
@PROFILES
def test_text_outside_actions_is_left_alone(profile: Profile, text: str) -> None:
    assert render(text, profile=profile) == text


@steady
@given(TEXT.filter(lambda text: "`" not in text and "\r" not in text))
def test_any_text_in_a_raw_string_is_printed_as_it_is(text: str) -> None:
    assert render("{{ `" + text + "` }}") == text.replace("<no value>", "")


@steady
@given(st.text())
def test_no_text_makes_the_parser_fail_in_an_unknown_way(text: str) -> None:
    for template in (text, "{{" + text + "}}", "{{ if " + text + "}}{{ end }}"):
        try:
            render(template)
        except RenderError:
            continue


@steady
@given(st.integers(-(2**53), 2**53))
def test_whole_numbers_of_values_survive_int_and_quote(number: int) -> None:
    rendered = render("{{ .Values.n | int64 }} {{ toJson .Values.n }}", {"n": number})
    assert rendered == f"{number} {number}"


def test_values_from_a_million_on_print_with_an_exponent_in_helm_only() -> None:
    files = chart_files(
        {"x.yaml": "{{ .Values.ctx }} {{ .Values.small }}"}, "ctx: 1048576\nsmall: 262144\n"
    )
    texts = {
        profile.name: render_chart(
            files, values=None, release_name="r", namespace="n", profile=profile
        )["templates/x.yaml"]
        for profile in (HELM, HYDRATION)
    }
    assert texts == {"helm": "1.048576e+06 262144", "hydration": "1048576 262144"}


# What must end

ENDLESS = {
    "loop": "{{ range 1000000000 }}{{ end }}",
    "nested-loops": "{{ range 9999 }}{{ range 9999 }}{{ range 9999 }}{{ end }}{{ end }}{{ end }}",
    "include-itself": '{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}',
    "template-itself": '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    "tpl-itself": '{{ $t := "{{ tpl .t . }}" }}{{ tpl $t (dict "t" $t) }}',
    "text-doubles": '{{ $s := "x" }}{{ range 99 }}{{ $s = print $s $s }}{{ end }}',
    "list-doubles": "{{ $s := list 1 }}{{ range 99 }}{{ $s = concat $s $s }}{{ end }}",
    "map-doubles": '{{ $s := 1 }}{{ range 99 }}{{ $s = dict "a" $s "b" $s }}{{ end }}{{ $s }}',
    "map-holds-itself": '{{ $s := dict }}{{ $_ := set $s "a" $s }}{{ toJson $s }}',
    "compare-doubles": (
        "{{ $s := list 1 }}{{ $t := list 1 }}{{ range 60 }}{{ $s = list $s $s }}"
        "{{ $t = list $t $t }}{{ end }}{{ has $s (list $t) }}"
    ),
    "repeat": '{{ repeat 1000000000 "x" }}',
    "indent": '{{ indent 1000000000 "x" }}',
    "until": "{{ until 1000000000 }}",
    "seq": "{{ seq 1 1000000000 }}",
    "random": "{{ randAlphaNum 1000000000 }}",
    "output": '{{ range 99999 }}{{ repeat 9999 "x" }}{{ end }}',
    "unique": "{{ uniq (until 99999) }}",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_template_without_end_is_stopped(name: str) -> None:
    limits = Limits(steps=20_000, output_bytes=1_000_000)
    with pytest.raises(LimitExceeded, match=r"^x\.yaml:1: rendering stopped: more than") as caught:
        render(ENDLESS[name], limits=limits)
    assert caught.value.limit in ("steps", "output_bytes", "depth")
    assert caught.value.exit_code == 1


def test_a_slow_template_is_stopped_by_the_clock() -> None:
    ticks = iter(range(10**9))
    limits = Limits(seconds=5, clock=lambda: float(next(ticks)))
    with pytest.raises(LimitExceeded) as caught:
        render("{{ range 999999 }}{{ print . }}{{ end }}", limits=limits)
    assert (caught.value.limit, caught.value.allowed) == ("seconds", 5)


def test_limits_are_of_the_chart_not_of_each_file() -> None:
    loop = "{{ range 600 }}{{ end }}"
    files = chart_files({"a.yaml": loop, "b.yaml": loop})
    options: dict[str, Any] = {
        "values": None,
        "release_name": "r",
        "namespace": "n",
        "profile": HELM,
    }
    assert render_chart(files, **options, limits=Limits(steps=2000))
    with pytest.raises(LimitExceeded, match="more than 1,000 steps"):
        render_chart(files, **options, limits=Limits(steps=1000))


@pytest.mark.parametrize("text", ["{{ " + "(" * 500 + "1" + ")" * 500 + " }}", "{{ if 1 }}" * 500])
def test_nesting_without_end_is_a_syntax_error(text: str) -> None:
    with pytest.raises(TemplateSyntaxError, match="levels inside each other"):
        render(text)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(a*)*b", "(.*a){12}b", "^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_no_regular_expression_runs_away(pattern: str) -> None:
    assert (
        render("{{ regexMatch .Values.p .Values.t }}", {"p": pattern, "t": "a" * 300 + "!"})
        == "false"
    )


def test_a_regular_expression_on_too_much_text_is_refused() -> None:
    with pytest.raises(ExecutionError, match="too large"):
        render('{{ regexFind "(ab|cd|ef)+x" (repeat 999999 "ab") }}')


@steady
@given(
    st.from_regex(
        r"\A(?:[ab.]|\[ab\]|\[\^a\]|\(a\|b\))(?:[*+?]|\{1,2\})?(?:[abc](?:[*+]\??)?){0,4}\Z"
    ),
    st.text("abc\n", max_size=9),
)
def test_regular_expressions_find_what_python_finds(pattern: str, text: str) -> None:
    found = re.search(pattern, text)
    rendered = render(
        "{{ regexMatch .Values.p .Values.t }}|{{ regexFind .Values.p .Values.t }}",
        {"p": pattern, "t": text},
    )
    assert rendered == (f"true|{found[0]}" if found else "false|")


# Chance and time


def test_time_and_chance_are_the_same_in_every_rendering() -> None:
    files = chart_files({"x.yaml": "{{ randAlphaNum 20 }} {{ uuidv4 }} {{ now }}"})
    options: dict[str, Any] = {
        "values": None,
        "release_name": "r",
        "namespace": "n",
        "profile": HELM,
    }
    first = render_chart(files, **options)
    assert render_chart(files, **options) == first
    assert render_chart(files, **options, seed=1) != first
    assert re.fullmatch(r"\w{20} [0-9a-f-]{36} 2000-01-01 .*", first["templates/x.yaml"])


def test_the_values_given_are_not_changed_by_a_template() -> None:
    values = {"map": {"a": 1}}
    render('{{ $_ := set .Values.map "b" 2 }}{{ $_ := unset .Values.map "a" }}', values)
    assert values == {"map": {"a": 1}}


def test_a_value_that_yaml_does_not_have_is_refused_with_its_path() -> None:
    with pytest.raises(RenderError, match=r"context\.Values\.a\[1\]: bytes"):
        render("x", {"a": [1, b"x"]})


def test_functions_left_to_helm_say_so_when_they_are_called() -> None:
    assert render("{{ if false }}{{ toToml .Values }}{{ end }}x") == "x"
    with pytest.raises(TemplateError, match="render with helm"):
        render("{{ toToml .Values }}")
