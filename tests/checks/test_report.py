"""Findings as text, JSON and annotations."""

import json

from olares_apps.checks import as_annotations, as_json, as_text_report, summary_line
from olares_apps.findings import Finding, Severity

FINDINGS = [
    Finding(
        "entrance-port",
        Severity.ERROR,
        "entrances[0].port 0 is no port",
        app="demo",
        generation="olares-1.12.6",
        file="OlaresManifest.yaml",
        line=12,
        hint="write the port of the Service",
    ),
    Finding("image-digest", Severity.INFO, "tag 3.20 moves", app="demo"),
    Finding(
        "api-timeout", Severity.WARNING, "100%, sure\nsecond: line", app="other", file="a,b.yaml"
    ),
]


def test_text_is_grouped_by_app_and_ends_with_a_summary() -> None:
    assert as_text_report(FINDINGS, charts=2) == (
        "demo\n"
        "  error   entrance-port  OlaresManifest.yaml:12 [olares-1.12.6]\n"
        "          entrances[0].port 0 is no port\n"
        "          -> write the port of the Service\n"
        "  info    image-digest\n"
        "          tag 3.20 moves\n"
        "\n"
        "other\n"
        "  warning api-timeout  a,b.yaml\n"
        "          100%, sure second: line\n"
        "\n"
        "2 charts checked: 1 error, 1 warning, 1 info\n"
    )


def test_text_without_findings_is_one_line() -> None:
    assert as_text_report([], charts=1) == "1 chart checked: no findings\n"


def test_text_from_a_chart_cannot_imitate_the_report() -> None:
    evil = Finding("x", Severity.INFO, "a\x1b[31m\n  error   fake", app="demo")
    text = as_text_report([evil], charts=1)
    assert "\x1b" not in text
    assert "\n  error" not in text


def test_colours_are_put_around_pieces() -> None:
    text = as_text_report(FINDINGS[:1], charts=1, paint=lambda piece, style: f"<{style}>{piece}</>")
    assert "<title>demo</>" in text
    assert "<error>error  </>" in text


def test_the_summary_counts_in_singular_and_plural() -> None:
    assert summary_line(FINDINGS[:1] * 2, 3) == "3 charts checked: 2 errors"


def test_json_has_a_schema_number_and_stable_keys() -> None:
    record = json.loads(json.dumps(as_json(FINDINGS, charts=2)))
    assert record["schema"] == 1
    assert record["summary"] == {"charts": 2, "error": 1, "warning": 1, "info": 1, "ok": False}
    assert record["findings"][0] == {
        "rule": "entrance-port",
        "severity": "error",
        "message": "entrances[0].port 0 is no port",
        "app": "demo",
        "generation": "olares-1.12.6",
        "file": "OlaresManifest.yaml",
        "line": 12,
        "hint": "write the port of the Service",
    }


def test_annotations_escape_what_workflow_commands_read() -> None:
    lines = as_annotations(FINDINGS, charts=2).splitlines()
    assert lines == [
        "::error file=OlaresManifest.yaml,line=12,title=entrance-port demo olares-1.12.6::"
        "entrances[0].port 0 is no port -> write the port of the Service",
        "::notice title=image-digest demo::tag 3.20 moves",
        "::warning file=a%2Cb.yaml,title=api-timeout other::100%25, sure%0Asecond: line",
        "::notice title=olapps check::2 charts checked: 1 error, 1 warning, 1 info",
    ]
