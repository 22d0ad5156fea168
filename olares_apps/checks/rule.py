"""What a rule is: one line of the rule table, with the function that applies it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from olares_apps.findings import Severity

if TYPE_CHECKING:
    from olares_apps.checks.context import ChartContext

__all__ = ["Applies", "Found", "Group", "Rule", "RuleBook"]


class Group(StrEnum):
    """What a rule looks at."""

    SPEC = "spec"
    """A spec that cannot be used, so that there is no chart."""
    DATA = "data"
    """Chart.yaml, values.yaml, the manifest and the layout of the chart."""
    OBJECTS = "objects"
    """Templates and the Kubernetes objects that they render to."""
    TEXT = "text"
    """What people read: descriptions, notes, translations."""
    ARCHIVE = "archive"
    """The packed chart, byte by byte."""
    FLEET = "fleet"
    """All apps of a workspace beside each other."""
    ENGINE = "engine"
    """Arguments of the inference server against what its build accepts."""
    RUNTIME = "runtime"
    """Whether the app can start, load and stay: probes, memory, images, drivers."""
    TOOL = "tool"
    """Findings of other programs, where the machine has them."""

    @property
    def is_of_charts(self) -> bool:
        """Say whether its rules are asked about one chart at a time."""
        return self not in (Group.SPEC, Group.FLEET)


class Applies(StrEnum):
    """Which charts a rule is asked about."""

    BOTH = "every chart"
    OLD = "charts for olares-1.12.3"
    NEW = "charts for olares-1.12.6"
    MANIFEST_012 = "manifest 0.12.0 and later"
    V3 = "apiVersion v3"

    def to(self, context: "ChartContext") -> bool:
        """Say whether a chart is one of those that the rule is asked about."""
        match self:
            case Applies.OLD:
                return context.targets_old
            case Applies.NEW:
                return context.targets_new
            case Applies.MANIFEST_012:
                return context.is_literal
            case Applies.V3:
                return context.api_version == "v3"
            case _:
                return True


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found, before it becomes a finding.

    ``file`` is relative to the chart's root, ``line`` counts from 1. ``severity`` None means
    that of the rule.
    """

    message: str
    file: str = ""
    line: int | None = None
    hint: str = ""
    severity: Severity | None = None
    app: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    ``id`` keeps its meaning for ever once released. ``reason`` says in one line what breaks;
    ``source`` is where the rule is known from. ``blocks_install`` says that a device refuses
    the chart or that the app never appears on it. ``check`` takes a ``ChartContext``, a
    ``Fleet`` for rules of the group fleet, or a ``Refused`` for those of the group spec, and
    yields everything that it finds; it must end without an error on any input.
    """

    id: str
    severity: Severity
    applies: Applies
    group: Group
    reason: str
    source: str
    check: Callable[[Any], Iterable[Found]]
    blocks_install: bool = False


Check = Callable[[Any], Iterable[Found]]


class RuleBook:
    """The rules of one module, in the order in which they are written.

    Used as a decorator of the function that applies a rule::

        rules = RuleBook(Group.DATA, "OAC validate.go")

        @rules.error("entrance-count", "An app has 1 to 10 entrances.", blocks=True)
        def _count(context: ChartContext) -> Iterator[Found]: ...
    """

    def __init__(self, group: Group, source: str = "") -> None:
        self.rules: list[Rule] = []
        self._group, self._source = group, source

    def add(
        self,
        severity: Severity,
        name: str,
        reason: str,
        source: str = "",
        *,
        applies: Applies = Applies.BOTH,
        group: Group | None = None,
        blocks: bool = False,
    ) -> Callable[[Check], Check]:
        """Return a decorator that makes a function a rule; ``source`` defaults to the book's."""

        def register(check: Check) -> Check:
            self.rules.append(
                Rule(
                    name,
                    severity,
                    applies,
                    group or self._group,
                    reason,
                    source or self._source,
                    check,
                    blocks,
                )
            )
            return check

        return register

    def error(
        self, name: str, reason: str, source: str = "", **more: Any
    ) -> Callable[[Check], Check]:
        """Make a function a rule of severity error."""
        return self.add(Severity.ERROR, name, reason, source, **more)

    def warning(
        self, name: str, reason: str, source: str = "", **more: Any
    ) -> Callable[[Check], Check]:
        """Make a function a rule of severity warning."""
        return self.add(Severity.WARNING, name, reason, source, **more)

    def info(
        self, name: str, reason: str, source: str = "", **more: Any
    ) -> Callable[[Check], Check]:
        """Make a function a rule of severity info."""
        return self.add(Severity.INFO, name, reason, source, **more)
