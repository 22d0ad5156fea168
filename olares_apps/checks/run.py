"""Applying rules: all findings of a chart or a fleet, in a stable order."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.documents import Unreadable
from olares_apps.checks.fleet import Fleet
from olares_apps.checks.refused import Refused
from olares_apps.checks.rule import Applies, Found, Group, Rule
from olares_apps.checks.table import RULES, get_rule
from olares_apps.errors import UsageError
from olares_apps.findings import Finding, Severity

__all__ = ["Lowered", "lower", "merge", "run_fleet", "run_refused", "run_rules"]

MOST_PER_RULE: Final = 50
"""Findings of one rule in one chart; a chart with more has one cause."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A severity that a workspace gives a rule, and why: ``reason`` is printed with findings.

    ``apps`` are the ones that it holds for; empty for all.
    """

    severity: Severity
    reason: str
    apps: frozenset[str] = frozenset()


def run_rules(
    context: ChartContext,
    *,
    select: Collection[str] | None = None,
    groups: Collection[Group] | None = None,
    severities: Mapping[str, Lowered] | None = None,
) -> list[Finding]:
    """Return everything that the rules find in a chart, worst first, then by file and line.

    ``select`` names the rules to run (default: all of charts but those of the group tool),
    ``groups`` narrows them, ``severities`` are those that a workspace changed. Raises
    UnknownName for a rule that does not exist.
    """
    applies = frozenset(kind for kind in Applies if kind.to(context))
    named = None if select is None else tuple(select)
    rules = _selected(named, None if groups is None else frozenset(groups), applies)
    if context.listing is not None and not context.listing.is_complete:
        # What was not read would be taken for missing.
        rules = tuple(rule for rule in rules if rule.group is Group.ARCHIVE)
    found = [finding for rule in rules for finding in _findings(rule, context)]
    return _sorted(lower(found, severities or {}))


def run_fleet(fleet: Fleet, *, severities: Mapping[str, Lowered] | None = None) -> list[Finding]:
    """Return what the rules of the group fleet find in several charts beside each other."""
    return _run_group(Group.FLEET, fleet, severities or {})


def run_refused(
    refused: Refused, *, severities: Mapping[str, Lowered] | None = None
) -> list[Finding]:
    """Return what is to be said of a spec that has no chart."""
    return _run_group(Group.SPEC, refused, severities or {})


def _run_group(
    group: Group, subject: Fleet | Refused, severities: Mapping[str, Lowered]
) -> list[Finding]:
    found = [
        _finding(rule, None, item)
        for rule in RULES.values()
        if rule.group is group
        for item in rule.check(subject)
    ]
    return _sorted(lower(found, severities))


@lru_cache(maxsize=64)
def _selected(
    select: tuple[str, ...] | None, groups: frozenset[Group] | None, applies: frozenset[Applies]
) -> tuple[Rule, ...]:
    """Return the rules to run; charts of a kind have the same ones."""
    rules = [get_rule(name) for name in select] if select is not None else list(RULES.values())
    if groups is not None:
        rules = [rule for rule in rules if rule.group in groups]
    elif select is None:
        rules = [rule for rule in rules if rule.group is not Group.TOOL]
    return tuple(rule for rule in rules if rule.group.is_of_charts and rule.applies in applies)


def _findings(rule: Rule, context: ChartContext) -> list[Finding]:
    found: dict[Found, None] = {}
    try:
        for item in rule.check(context):
            found[item] = None
            if len(found) > MOST_PER_RULE:
                break
    except Unreadable:
        pass  # it needs what cannot be read; what it found before still holds
    findings = [_finding(rule, context, item) for item in list(found)[:MOST_PER_RULE]]
    if len(found) > MOST_PER_RULE:
        more = Found(f"and more: only the first {MOST_PER_RULE} are listed")
        findings.append(_finding(rule, context, more))
    return findings


def _finding(rule: Rule, context: ChartContext | None, found: Found) -> Finding:
    return Finding(
        rule=rule.id,
        severity=found.severity or rule.severity,
        message=found.message,
        app=found.app or (context.app if context else ""),
        generation=context.generation_name if context else "",
        file=found.file,
        line=found.line,
        hint=found.hint,
    )


def lower(findings: Iterable[Finding], severities: Mapping[str, Lowered]) -> list[Finding]:
    """Return findings with the severities that a workspace chose, its reason in the message.

    Raises UsageError for a rule without a reason or a severity above that of the rule.
    """
    for name, lowered in severities.items():
        rule = get_rule(name)
        if not lowered.reason.strip():
            raise UsageError(
                f"checks.severity.{name} has no reason", hint="say why the rule may be broken here"
            )
        if lowered.severity.rank < rule.severity.rank:
            raise UsageError(
                f"checks.severity.{name} is {lowered.severity}, above the rule's {rule.severity}"
            )
        if lowered.severity is Severity.ERROR:
            raise UsageError(
                f"checks.severity.{name} is error, which changes nothing",
                hint="severities are only lowered: name warning, info or off, or remove the entry",
            )
    result = []
    for finding in findings:
        lowered_to = severities.get(finding.rule)
        if lowered_to and lowered_to.apps and finding.app not in lowered_to.apps:
            lowered_to = None
        if lowered_to and finding.severity.rank < lowered_to.severity.rank:
            message = f"{finding.message} (lowered from {finding.severity}: {lowered_to.reason})"
            finding = replace(finding, severity=lowered_to.severity, message=message)
        result.append(finding)
    return result


def merge(per_generation: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Return the findings of one app's charts, those that all of them share only once.

    A finding that every generation has keeps no generation.
    """
    if len(per_generation) < 2:
        return _sorted(item for findings in per_generation for item in findings)
    keys = [{_key(item) for item in findings} for findings in per_generation]
    shared = set.intersection(*keys)
    result: dict[Any, Finding] = {}
    for findings in per_generation:
        for item in findings:
            if _key(item) in shared:
                result.setdefault(_key(item), replace(item, generation=""))
            else:
                result.setdefault((*_key(item), item.generation), item)
    return _sorted(result.values())


def _key(finding: Finding) -> tuple[Any, ...]:
    return (finding.rule, finding.severity, finding.message, finding.file, finding.app)


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(
        findings,
        key=lambda f: (
            f.app,
            f.severity.rank,
            f.file,
            f.line or 0,
            f.rule,
            f.message,
            f.generation,
        ),
    )
