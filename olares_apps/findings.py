"""The finding: one result of a check, the same record for every check and command."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

__all__ = ["Finding", "Severity", "count_by_severity", "worst"]


class Severity(StrEnum):
    """How bad a finding is: only ``ERROR`` stops a publish and makes a check exit 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Return 0 for the worst severity, larger numbers for milder ones."""
        return list(type(self)).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check.

    ``file`` is relative to the workspace or to the chart's root, with forward slashes;
    ``line`` counts from 1. ``generation`` is empty when the finding holds for all of them.
    """

    rule: str
    severity: Severity
    message: str
    app: str = ""
    generation: str = ""
    file: str = ""
    line: int | None = None
    hint: str = ""

    def as_dict(self) -> dict[str, str | int | None]:
        """Return the record with stable keys, as ``--output json`` prints it."""
        return asdict(self) | {"severity": self.severity.value}


def worst(findings: Iterable[Finding]) -> Severity | None:
    """Return the gravest severity among the findings, or None when there are none."""
    return min((f.severity for f in findings), key=lambda s: s.rank, default=None)


def count_by_severity(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how many findings there are of each severity, zero included."""
    counts = {severity.value: 0 for severity in Severity}
    for finding in findings:
        counts[finding.severity.value] += 1
    return counts
