"""Rules between options: what a rule is, and running those of an engine."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from olares_apps.engines.flags.behaviour import BuildBehaviour, behaviours
from olares_apps.engines.flags.model import FlagTable
from olares_apps.engines.flags.parse import ParsedArgs, Setting
from olares_apps.engines.flags.problems import FlagProblem, ProblemKind
from olares_apps.findings import Severity

__all__ = ["Clash", "FlagRule", "Launch", "conflict", "run_rules"]


@dataclass(frozen=True, slots=True)
class Launch:
    """What a rule looks at: the parsed arguments, their table, and how the build behaves.

    ``behaviour`` is None for engines other than llama.cpp. ``build`` is the build as the
    image names it, which may have no table of its own.
    """

    parsed: ParsedArgs
    table: FlagTable
    build: str
    behaviour: BuildBehaviour | None


@dataclass(frozen=True, slots=True)
class Clash:
    """What a rule found; severity None means that of the rule."""

    message: str
    setting: Setting | None = None
    flag: str = ""
    value: str | None = None
    allowed: tuple[str, ...] = ()
    suggestion: str | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class FlagRule:
    """One rule: stable id, engine, severity, reason in a line, source, and its function."""

    id: str
    engine: str
    severity: Severity
    reason: str
    source: str
    find: Callable[[Launch], Iterable[Clash]]


def run_rules(
    rules: Iterable[FlagRule], parsed: ParsedArgs, table: FlagTable, build: str | None = None
) -> list[FlagProblem]:
    """Return what the rules of the table's engine find, in rule order."""
    name = build or table.build
    behaviour = behaviours(name) if table.engine == "llamacpp" else None
    if behaviour and behaviour.name:
        name = behaviour.name
    launch = Launch(parsed, table, name, behaviour)
    return [
        conflict(rule, clash)
        for rule in rules
        if rule.engine == table.engine
        for clash in rule.find(launch)
    ]


def conflict(rule: FlagRule, clash: Clash) -> FlagProblem:
    """Return a clash as a problem of kind ``conflict`` with the rule's id."""
    setting = clash.setting
    return FlagProblem(
        kind=ProblemKind.CONFLICT,
        flag=clash.flag or (setting.written if setting else ""),
        message=clash.message,
        severity=clash.severity or rule.severity,
        rule=rule.id,
        value=clash.value if clash.value is not None else (setting.value if setting else None),
        position=setting.position if setting else None,
        allowed=clash.allowed,
        suggestion=clash.suggestion,
    )
