"""Findings as text for people, as JSON for programs, as annotations for GitHub."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from olares_apps.findings import Finding, Severity, count_by_severity

__all__ = ["as_annotations", "as_json", "as_text_report", "summary_line"]

Paint = Callable[[str, str], str]
"""Colours a text: takes the text and the name of a style, such as ``error`` or ``dim``."""

_COMMANDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
}


def _plain(text: str, _style: str) -> str:
    return text


def as_text_report(findings: Sequence[Finding], *, charts: int, paint: Paint = _plain) -> str:
    """Return findings grouped by app, and a summary line; ``charts`` is how many were checked.

    ``paint`` colours pieces; without it the text is plain. Ends with a line break.
    """
    lines: list[str] = []
    for app, group in groupby(findings, key=lambda finding: finding.app):
        lines.append(paint(app or "this machine", "title"))
        for finding in group:
            lines += _lines(finding, paint)
        lines.append("")
    lines.append(summary_line(findings, charts))
    return "\n".join(lines) + "\n"


def _lines(finding: Finding, paint: Paint) -> list[str]:
    where = finding.file
    if where and finding.line is not None:
        where += f":{finding.line}"
    about = " ".join(part for part in (where, _brackets(finding.generation)) if part)
    head = f"  {paint(f'{finding.severity.value:<7}', finding.severity.value)} {finding.rule}"
    lines = [f"{head}  {paint(about, 'dim')}" if about else head]
    lines.append(f"          {_one_line(finding.message)}")
    if finding.hint:
        lines.append(f"          {paint('-> ' + _one_line(finding.hint), 'dim')}")
    return lines


def _brackets(text: str) -> str:
    return f"[{text}]" if text else ""


def _one_line(text: str) -> str:
    """Return text without line breaks and control characters, which could imitate a report."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text.replace("\n", " "))


def summary_line(findings: Iterable[Finding], charts: int) -> str:
    """Return one line that says how many charts were checked and what was found."""
    counts = count_by_severity(findings)
    checked = f"{charts} chart{'' if charts == 1 else 's'} checked"
    if not any(counts.values()):
        return f"{checked}: no findings"
    parts = [
        f"{number} {name}{'' if number == 1 or name == 'info' else 's'}"
        for name, number in counts.items()
        if number
    ]
    return f"{checked}: {', '.join(parts)}"


def as_json(findings: Sequence[Finding], *, charts: int) -> dict[str, Any]:
    """Return the record that ``--output json`` prints."""
    counts = count_by_severity(findings)
    return {
        "schema": 1,
        "findings": [finding.as_dict() for finding in findings],
        "summary": {"charts": charts, **counts, "ok": counts[Severity.ERROR.value] == 0},
    }


def as_annotations(findings: Sequence[Finding], *, charts: int) -> str:
    """Return workflow commands of GitHub Actions, one a line, then the summary as a notice."""
    lines = []
    for finding in findings:
        properties = {
            "file": finding.file,
            "line": "" if finding.line is None else str(finding.line),
            "title": " ".join(filter(None, (finding.rule, finding.app, finding.generation))),
        }
        stated = ",".join(f"{k}={_property(v)}" for k, v in properties.items() if v)
        message = finding.message + (f" -> {finding.hint}" if finding.hint else "")
        lines.append(f"::{_COMMANDS[finding.severity]} {stated}::{_data(message)}")
    lines.append(f"::notice title=olapps check::{_data(summary_line(findings, charts))}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
