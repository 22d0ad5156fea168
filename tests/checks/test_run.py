"""Running rules: all findings, their order, lowered severities, findings of two generations."""

import pytest
from support.check_charts import (
    APP,
    DEPLOYMENT,
    MANIFEST,
    Chart,
    find,
    flagship,
    legacy_flagship,
    rules_of,
)

from olares_apps.checks import Group, Lowered, merge, run_rules
from olares_apps.errors import UnknownName, UsageError
from olares_apps.findings import Finding, Severity


def broken() -> Chart:
    return (
        flagship()
        .replaced(MANIFEST, "apiTimeout: 0", "apiTimeout: 15")
        .replaced(MANIFEST, 'openMethod: "window"', 'openMethod: "windows"')
        .replaced(DEPLOYMENT, "type: Recreate", "type: RollingUpdate")
    )


def test_all_findings_are_reported_errors_first() -> None:
    findings = broken().check()
    assert [finding.rule for finding in findings] == [
        "entrance-enum",
        "hostpath-strategy",
        "api-timeout",
    ]


def test_a_finding_names_app_generation_file_line_and_advice() -> None:
    found = find(broken().check(), "hostpath-strategy")
    assert found.app == APP
    assert found.generation == "olares-1.12.6"
    assert found.file == DEPLOYMENT
    line = broken()[DEPLOYMENT].decode().splitlines()[(found.line or 0) - 1]
    assert line.strip() == "strategy:"
    assert found.hint == "write strategy: {type: Recreate}"


def test_only_selected_rules_run() -> None:
    assert rules_of(run_rules(broken().context(), select=["api-timeout"])) == {"api-timeout"}
    assert rules_of(run_rules(broken().context(), groups=[Group.OBJECTS])) == {"hostpath-strategy"}


def test_an_unknown_rule_cannot_be_selected() -> None:
    with pytest.raises(UnknownName):
        run_rules(broken().context(), select=["no-such-rule"])


def test_a_rule_for_another_generation_is_not_asked() -> None:
    chart = legacy_flagship().replaced(DEPLOYMENT, "type: Recreate", "type: RollingUpdate")
    assert chart.check() == []


def test_a_lowered_severity_shows_its_reason() -> None:
    lowered = {"hostpath-strategy": Lowered(Severity.WARNING, "read-only folder")}
    found = find(run_rules(broken().context(), severities=lowered), "hostpath-strategy")
    assert found.severity is Severity.WARNING
    assert "read-only folder" in found.message
    assert "lowered from error" in found.message


def test_a_severity_is_never_raised_and_never_lowered_without_a_reason() -> None:
    with pytest.raises(UsageError, match="above"):
        run_rules(broken().context(), severities={"api-timeout": Lowered(Severity.ERROR, "x")})
    with pytest.raises(UsageError, match="no reason"):
        run_rules(broken().context(), severities={"api-timeout": Lowered(Severity.INFO, " ")})
    with pytest.raises(UnknownName):
        run_rules(broken().context(), severities={"api-timeot": Lowered(Severity.INFO, "x")})


def test_findings_that_both_generations_share_are_told_once() -> None:
    change = ("apiTimeout: 0", "apiTimeout: 15")
    both = [chart.replaced(MANIFEST, *change).check() for chart in (flagship(), legacy_flagship())]
    (shared,) = merge(both)
    assert (shared.rule, shared.generation) == ("api-timeout", "")


def test_findings_of_one_generation_keep_its_name() -> None:
    merged = merge([broken().check(), legacy_flagship().check()])
    assert {finding.generation for finding in merged} == {"olares-1.12.6"}


def test_a_rule_that_finds_the_same_everywhere_stops_at_fifty() -> None:
    chart = flagship()
    for number in range(80):
        chart = chart.with_file(f"notes/{number}.bak", "x")
    findings: list[Finding] = [f for f in chart.check() if f.rule == "stray-file"]
    assert len(findings) == 51
    assert "only the first 50" in "".join(finding.message for finding in findings)
