"""Public bug reports as inputs of a check: a change, the rule that must object, the facts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.check_charts import Chart

from olares_apps.findings import Finding, Severity

__all__ = ["Case", "matching"]


@dataclass(frozen=True)
class Case:
    """One expectation: of the changed chart ``rule`` says all ``facts``, at ``file``.

    ``rule`` empty means that no error may be found.
    """

    make: Callable[[], Chart]
    edit: Callable[[Chart], Chart] = lambda chart: chart
    rule: str = ""
    facts: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR
    file: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)

    def findings(self) -> list[Finding]:
        """Return the findings of the changed chart."""
        return self.edit(self.make()).check(**self.context)


def matching(case: Case) -> list[Finding]:
    """Return the findings that meet an expectation; without a rule those that break it."""
    if not case.rule:
        return [f for f in case.findings() if f.severity is Severity.ERROR]
    return [
        finding
        for finding in case.findings()
        if finding.rule == case.rule
        and finding.severity is case.severity
        and all(fact in f"{finding.message} {finding.hint}" for fact in case.facts)
        and (case.file is None or finding.file == case.file)
    ]
