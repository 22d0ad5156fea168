"""Placeholders: facts in, everything else untouched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.specs import MINIMAL, PATH, spec_text

from olares_apps.engines.registry import spec_model
from olares_apps.errors import SpecError
from olares_apps.spec.loader import load_spec
from olares_apps.spec.placeholders import escape, expand, problems

FACTS = {
    "ctx": 262144,
    "kv": "q4_0",
    "quant": None,
    "bench": {"ctx_32k": {"tps": "249.3"}, "32k": {"tps": "1"}},
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ ctx }} tokens", "262144 tokens"),
        ("{{ctx}}{{kv}}", "262144q4_0"),
        ("{{\n  ctx\n}}", "262144"),
        ("{{ bench.ctx_32k.tps }}", "249.3"),
        ("{{ bench.32k.tps }}", "1"),
        (r"\{{ ctx }}", "{{ ctx }}"),
        (r"\\{{ ctx }}", r"\{{ ctx }}"),
        ('{"n":{{ ctx }}}', '{"n":262144}'),
    ],
)
def test_placeholders_become_facts(text: str, result: str) -> None:
    assert expand(text, FACTS, "text.about") == result


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Values.olaresEnv.X }}",
        "{{- if .Values.x -}}",
        "an unclosed {{- if",
        '{{"x"}}',
        "{{ if .x }}yes{{ else if eq .a 1 }}",
        "{{ messages[0]['content'] }}",
        "{{{ ctx }}}",
        "{{",
        "{{ ",
        "}} {% for %} {# c #} $(CTX_SIZE) \\ \t 🔥",
    ],
)
def test_braces_around_anything_else_are_text(text: str) -> None:
    assert expand(text, FACTS, "text.about") == text


@pytest.mark.parametrize(
    ("text", "value", "message", "hint"),
    [
        ("a {{ ctxx }}", "{{ ctxx }}", "names no fact", "did you mean {{ ctx }}?"),
        ("{{ bench.ctx_32k.tp }}", "{{ bench.ctx_32k.tp }}", "names no", "bench.ctx_32k.tps"),
        ("{{ zzz }}", "{{ zzz }}", "names no fact", r"write \{{"),
        ("{{ bench }}", "{{ bench }}", "a group of facts", "bench.ctx_32k.tps"),
        ("{{ quant }}", "{{ quant }}", "has no value", "fill in"),
        ("{{ ctx", "{{ ctx", "never closes", "write {{ ctx }}"),
        ("{{ ctx }", "{{ ctx", "never closes", "write {{ ctx }}"),
        ("{{ cxt is here", "{{ cxt", "never closes", "close it with }}"),
        ("{{ ctx | upper }}", "{{ ctx", "no placeholder", "write {{ ctx }}"),
    ],
)
def test_faults_name_the_piece_and_the_repair(
    text: str, value: str, message: str, hint: str
) -> None:
    with pytest.raises(SpecError) as caught:
        expand(text, FACTS, "text.about")
    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == ("text.about", value)
    assert message in problem.message
    assert hint in (problem.hint or "")
    assert problems(text, FACTS, "text.about") == [problem]


def test_every_fault_of_a_text_is_told() -> None:
    found = problems("{{ a }} {{ ctx }} {{ b }}", FACTS, "x")
    assert [problem.value for problem in found] == ["{{ a }}", "{{ b }}"]


def test_a_loaded_spec_names_the_line_inside_the_text() -> None:
    text = spec_text(
        (
            "  summary: A demo on your own device.",
            "  summary: x\n  about: |\n    one\n    {{ ctxx }}",
        )
    )
    with pytest.raises(SpecError) as caught:
        load_spec(text, path=PATH, model=spec_model(), facts=lambda spec: FACTS)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.column) == (PATH, 9, 5)
    assert problem.field == "text.about"


def test_errors_of_later_steps_get_their_line() -> None:
    loaded = load_spec(MINIMAL, path=PATH, model=spec_model())
    with pytest.raises(SpecError) as caught:
        expand("{{ nope }}", FACTS, "model.files.0.quant")
    (problem,) = loaded.located(caught.value).problems
    assert (problem.file, problem.line) == (PATH, 18)


@given(st.text())
def test_escaped_text_comes_out_as_it_was(text: str) -> None:
    assert expand(escape(text), FACTS, "x") == text


@given(st.text(alphabet='{} \\a.-|\n"ctx'))
def test_expansion_changes_nothing_but_placeholders_and_escapes(text: str) -> None:
    if problems(text, FACTS, "x"):
        return
    result = expand(text, FACTS, "x")
    if "\\{{" not in text and "ctx" not in text:
        assert result == text


@given(st.text(), st.text())
def test_a_placeholder_between_any_texts_is_found(before: str, after: str) -> None:
    assert expand(escape(before) + " {{ ctx }} " + escape(after), FACTS, "x") == (
        f"{before} 262144 {after}"
    )
