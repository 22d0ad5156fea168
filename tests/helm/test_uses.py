"""What a template uses, told without running it, and checked against a run."""

from typing import Any

import pytest

from olares_apps.helm import (
    HELM,
    ExecutionError,
    TemplateSyntaxError,
    render_text,
    template_uses,
)


def reads(text: str) -> list[tuple[str, bool, str]]:
    """Return path, guard and needed parent of every value that the text reads."""
    return [(v.dotted, v.guarded, ".".join(v.needs)) for v in template_uses(text).values]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ .Values.a }}", [("a", False, "")]),
        ("{{ .Values.a.b.c }}", [("a.b.c", False, "a.b")]),
        ('{{ .Values.a | default "x" }}', [("a", True, "")]),
        ('{{ .Values.a.b | default "x" | quote }}', [("a.b", True, "a")]),
        ('{{ default "x" .Values.a.b }}', [("a.b", True, "a")]),
        ('{{ coalesce .Values.a .Values.b "x" }}', [("a", True, ""), ("b", True, "")]),
        ('{{ (.Values.a).b | default "x" }}', [("a.b", True, ""), ("a", True, "")]),
        ("{{ (.Values.a).b.c }}", [("a.b.c", False, "a.b"), ("a", True, "")]),
        ("{{ (default (dict) .Values.a).b }}", [("a.b", False, ""), ("a", True, "")]),
        ('{{ index .Values "a" "b-c" }}', [("a.b-c", False, "a")]),
        ('{{ (index .Values "a-b").c }}', [("a-b.c", False, ""), ("a-b", True, "")]),
        ('{{ get .Values.a "b" | default "x" }}', [("a.b", True, "a")]),
        ('{{ dig "b" "c" "x" .Values.a }}', [("a.b.c", True, "a"), ("a", True, "")]),
        ("{{ $.Values.a.b }}", [("a.b", False, "a")]),
        ("{{ $x := .Values.a }}{{ $x.b }}", [("a", False, ""), ("a.b", False, "")]),
        ("{{ $x := .Values.a }}{{ $x.b.c }}", [("a", False, ""), ("a.b.c", False, "a.b")]),
        ("{{ $v := .Values }}{{ $v.a.b }}", [("a.b", False, "a")]),
        ("{{ with .Values }}{{ .a }}{{ end }}", [("a", False, "")]),
        (
            "{{ with .Values.a }}{{ .b.c }}{{ $.Values.d }}{{ end }}",
            [("a", True, ""), ("a.b.c", False, "a.b"), ("d", False, "")],
        ),
        (
            "{{ if .Values.a }}{{ .Values.a.b }}{{ else }}{{ .Values.a.b }}{{ end }}",
            [("a", True, ""), ("a.b", False, ""), ("a.b", False, "a")],
        ),
        (
            "{{ if .Values.a.b }}{{ .Values.a.b }}{{ .Values.a.c }}{{ end }}",
            [("a.b", True, "a"), ("a.b", True, ""), ("a.c", False, "")],
        ),
        (
            '{{ if and (hasKey .Values "a") (eq .Values.b "x") }}{{ .Values.a.c }}{{ end }}',
            [("b", True, ""), ("a.c", False, "")],
        ),
        (
            "{{ if not .Values.a }}{{ .Values.a.b }}{{ end }}",
            [("a", True, ""), ("a.b", False, "a")],
        ),
        ('{{ hasKey .Values.a "b" }}', [("a", True, "a")]),
        (
            "{{ range $k, $v := .Values.a }}{{ $k }}{{ $v.b }}{{ .c.d }}{{ end }}",
            [("a", True, ""), ("a.*.b", False, ""), ("a.*.c.d", False, "a.*.c")],
        ),
        ("{{ range .Values.a }}{{ . }}{{ end }}", [("a", True, ""), ("a.*", True, "")]),
        ('{{ printf "%s" .Values.a.b }}', [("a.b", False, "a")]),
        ('{{ include "x" .Values.a }}', [("a", False, "")]),
        ('{{ define "x" }}{{ .Values.a }}{{ end }}', [("a", False, "")]),
        ("{{ index .Values .Release.Name }}", [("*", False, "")]),
        ("{{ .Values | toYaml }}{{ . }}{{ $ }}", []),
        ("{{ if .Values.a }}{{ $x := .Values.b }}{{ end }}", [("a", True, ""), ("b", False, "")]),
    ],
)
def test_values_with_their_guards_and_needed_parents(
    text: str, expected: list[tuple[str, bool, str]]
) -> None:
    assert reads(text) == expected


def build(path: tuple[str, ...], leaf: Any) -> dict[str, Any]:
    """Return nested maps that have a value at a path."""
    for name in reversed(path):
        leaf = {name: leaf}
    return leaf


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Values.a.b }}",
        '{{ .Values.a.b.c | default "x" }}',
        "{{ (.Values.a).b.c }}",
        "{{ (.Values.a.b).c }}",
        "{{ $x := .Values.a }}{{ $x.b.c }}",
        "{{ with .Values.a }}{{ .b.c }}{{ end }}",
        "{{ if .Values.a.b }}{{ .Values.a.b.c }}{{ end }}",
        '{{ if hasKey .Values "a" }}{{ .Values.a.b.c }}{{ end }}',
        "{{ $.Values.a.b }}",
        '{{ index .Values "a" "b" }}',
    ],
)
def test_a_template_needs_the_parents_that_are_named_and_no_others(text: str) -> None:
    needed = max((use.needs for use in template_uses(text).values), key=len)
    render_text(text, {"Values": build(needed, {})}, HELM)

    without = build(needed[:-1], {"other": 1})
    with pytest.raises(ExecutionError, match=r"nil pointer"):
        render_text(text, {"Values": without}, HELM)


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Values.a }}",
        "{{ (.Values.a).b }}",
        '{{ ((.Values.a).b).c | default "x" }}',
        "{{ $x := .Values.a }}{{ $x.b }}",
        "{{ if .Values.a }}{{ .Values.a.b }}{{ end }}",
        "{{ with .Values.a }}{{ .b }}{{ end }}",
        "{{ (default (dict) .Values.a).b }}",
        '{{ if and (hasKey .Values "a") .Values.b }}{{ .Values.a.b }}{{ end }}',
        "{{ range .Values.a }}{{ .b }}{{ end }}",
    ],
)
def test_a_template_that_needs_no_parents_runs_without_any_values(text: str) -> None:
    assert all(not use.needs for use in template_uses(text).values)
    render_text(text, {"Values": {}}, HELM)


def test_functions_context_and_named_templates_with_their_lines() -> None:
    uses = template_uses(
        '{{ define "h" }}\n{{ .Chart.AppVersion | quote }}{{ end }}\n'
        '{{ .Files.Get "x" }}\n{{ include "h" . }} {{ template "t" . }} {{ include .Values.n . }}\n'
        '{{ with .Release }}{{ .Name }}{{ end }}{{ nosuch "x" }}\n'
    )
    assert [(use.name, use.line) for use in uses.functions] == [
        ("quote", 2),
        ("include", 4),
        ("include", 4),
        ("nosuch", 5),
    ]
    assert uses.function_names == {"quote", "include", "nosuch"}
    assert [(use.name, use.line) for use in uses.context] == [
        (".Chart.AppVersion", 2),
        (".Files.Get", 3),
        (".Release", 5),
        (".Release.Name", 5),
    ]
    assert [(use.how, use.name, use.line) for use in uses.named_templates] == [
        ("define", "h", 1),
        ("include", "h", 4),
        ("template", "t", 4),
        ("include", "", 4),
    ]
    assert uses.value_paths == {"n"}
    assert [use.line for use in uses.values] == [4]


def test_text_without_actions_uses_nothing() -> None:
    uses = template_uses("a: b }} { {\n")
    assert (uses.functions, uses.values, uses.context, uses.named_templates) == ((), (), (), ())


def test_a_text_that_does_not_parse_is_an_error_with_its_file() -> None:
    with pytest.raises(TemplateSyntaxError, match=r"a\.yaml:2"):
        template_uses("\n{{ if }}", file="a.yaml")
