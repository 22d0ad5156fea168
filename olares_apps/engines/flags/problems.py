"""What can be wrong with an argument list: kinds, their severities and the record."""

from dataclasses import dataclass
from enum import StrEnum

from olares_apps.findings import Severity

__all__ = ["FlagProblem", "ProblemKind"]


class ProblemKind(StrEnum):
    """What is wrong with an argument."""

    UNKNOWN = "unknown"
    """The build has no such option, or the argument belongs to none."""
    REMOVED = "removed"
    """The build refuses an option that earlier ones had."""
    DEPRECATED = "deprecated"
    """Still taken, but another form is the right one."""
    MISSING_VALUE = "missing_value"
    """Nothing follows, or what follows is the next option."""
    BAD_VALUE = "bad_value"
    """A value that the build refuses or reads as something else."""
    UNEXPECTED_VALUE = "unexpected_value"
    """A value after a switch."""
    REPEATED = "repeated"
    """Given twice; only the last one counts."""
    NOT_JSON = "not_json"
    """Text where JSON is due, or JSON of the wrong type."""
    JSON_UNKNOWN_KEY = "json_unknown_key"
    """A key that the object does not have."""
    CONFLICT = "conflict"
    """Options that do not go together, or lack one that they need."""

    @property
    def severity(self) -> Severity:
        """Return how bad it is: whether the server refuses to start, or starts otherwise."""
        mild = self in (ProblemKind.DEPRECATED, ProblemKind.REPEATED)
        return Severity.WARNING if mild else Severity.ERROR


@dataclass(frozen=True, slots=True)
class FlagProblem:
    """One fault of an argument list.

    ``flag`` is the option as written, ``value`` the offending value, ``position`` its index
    in the list (of the option, from 0; None when an option is missing). ``allowed`` are the
    values or names that the build takes, ``suggestion`` what to write instead. ``rule`` is a
    stable id in kebab-case, the same for every problem of a kind or of a cross-flag rule.
    """

    kind: ProblemKind
    flag: str
    message: str
    severity: Severity
    rule: str
    value: str | None = None
    position: int | None = None
    allowed: tuple[str, ...] = ()
    suggestion: str | None = None

    @classmethod
    def of(
        cls,
        kind: ProblemKind,
        flag: str,
        message: str,
        *,
        value: str | None = None,
        position: int | None = None,
        allowed: tuple[str, ...] = (),
        suggestion: str | None = None,
    ) -> "FlagProblem":
        """Return a problem of a kind, with the kind's severity and rule id."""
        return cls(
            kind=kind,
            flag=flag,
            message=message,
            severity=kind.severity,
            rule="flag-" + kind.value.replace("_", "-"),
            value=value,
            position=position,
            allowed=allowed,
            suggestion=suggestion,
        )
