"""Where commands meet the checks: specs, charts found elsewhere, and the gate of a publish."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from olares_apps.checks.context import ChartContext
from olares_apps.checks.fleet import Fleet
from olares_apps.checks.rule import Group
from olares_apps.checks.run import Lowered, merge, run_fleet, run_rules
from olares_apps.checks.source import read_source
from olares_apps.checks.table import RULES
from olares_apps.checks.tools import SystemTools, Tools
from olares_apps.cli.pool import fan_out
from olares_apps.cli.workbench import Workbench
from olares_apps.errors import CheckFailed
from olares_apps.findings import Finding, Severity
from olares_apps.generations import Generation, OlaresVersion
from olares_apps.hardware import load_profile
from olares_apps.render.chart import ChartTree
from olares_apps.spec.config import SeverityChange
from olares_apps.spec.loader import LoadedSpec

__all__ = ["Checked", "check_path", "check_specs", "install_lint", "publish_gate"]


@dataclass(frozen=True, slots=True)
class Checked:
    """Findings, how many charts they are of, and the rules that the workspace turned off."""

    findings: Sequence[Finding]
    charts: int
    silenced: Mapping[str, str]


def check_specs(
    bench: Workbench, specs: Sequence[LoadedSpec], generations: Sequence[Generation], *, tools: bool
) -> Checked:
    """Check the charts of specs, and all of them beside each other.

    With ``tools`` the real Helm, the Kubernetes schemas and the device's own linter take part
    where the machine has them. Raises what rendering raises.
    """
    changes = bench.workspace.config.checks.severity
    system = SystemTools() if tools else None

    def check(loaded: LoadedSpec) -> list[Finding]:
        charts = [chart for _, chart in bench.charts_of(loaded, generations)]
        return _check(bench, loaded, charts, system)

    findings = _about_the_machine(item for found in fan_out(check, specs) for item in found)
    if len(specs) > 1:
        findings += _check_fleet(bench, specs, changes)
    return Checked(findings, len(specs) * len(generations), _silenced(changes))


def check_path(path: Path, *, tools: bool) -> Checked:
    """Check a chart folder or an archive that anybody made.

    Raises UsageError when there is no chart at ``path``.
    """
    source = read_source(path)
    context = ChartContext(
        source.files,
        folder=source.folder,
        listing=source.listing,
        profile=_profile("olares-one"),
        tools=SystemTools() if tools else None,
    )
    return Checked(run_rules(context, groups=_groups(tools)), 1, {})


def publish_gate(bench: Workbench) -> Callable[[LoadedSpec, Sequence[ChartTree]], None]:
    """Return the function that stops a publish: it raises CheckFailed with what is wrong."""

    def gate(loaded: LoadedSpec, charts: Sequence[ChartTree]) -> None:
        found = _check(bench, loaded, charts, None)
        errors = [item for item in found if item.severity is Severity.ERROR]
        if errors:
            lines = [
                f"{item.app}: {_place(item)}: {item.message} ({item.rule})" for item in errors
            ]
            raise CheckFailed(
                "\n".join(lines), hint=f"olapps check {loaded.name} shows everything it found"
            )

    return gate


def _place(finding: Finding) -> str:
    """Return file and line of a finding, as editors open them."""
    return f"{finding.file}:{finding.line}" if finding.line is not None else finding.file


def install_lint(app: str, files: Mapping[str, bytes], olares: OlaresVersion) -> Sequence[str]:
    """Return the lint errors that stop the install of a chart on a device of ``olares``."""
    context = ChartContext(files, folder=app)
    blocking = {name for name, rule in RULES.items() if rule.blocks_install}
    return [
        f"{item.message} ({item.rule})"
        for item in run_rules(context, groups=_groups(tools=False))
        if item.severity is Severity.ERROR and item.rule in blocking
    ]


# Read once a run: checks of many specs ask for the same few.
_profile = cache(load_profile)


def _check(
    bench: Workbench, loaded: LoadedSpec, charts: Sequence[ChartTree], tools: Tools | None
) -> list[Finding]:
    changes = bench.workspace.config.checks.severity
    profile, lock = _profile(loaded.spec.hardware), bench.lock(loaded)
    known = bench.with_lock(loaded)
    found = [
        run_rules(
            ChartContext.of_tree(
                chart,
                spec=known,
                lock=lock,
                profile=profile,
                thresholds=bench.thresholds,
                tools=tools,
            ),
            groups=_groups(tools is not None),
            severities=_lowered(changes),
        )
        for chart in charts
    ]
    return [item for item in merge(found) if item.rule not in _silenced(changes)]


def _check_fleet(
    bench: Workbench, specs: Sequence[LoadedSpec], changes: Mapping[str, SeverityChange]
) -> list[Finding]:
    fleet = Fleet.of_specs(specs, icons=bench.publisher.icons)
    found = run_fleet(fleet, severities=_lowered(changes))
    return [item for item in found if item.rule not in _silenced(changes)]


def _about_the_machine(findings: Iterable[Finding]) -> list[Finding]:
    """Say once, of no app, what is absent on this machine: it holds for every chart."""
    result: dict[Finding, None] = {}
    for item in findings:
        if RULES[item.rule].group is Group.TOOL and item.severity is Severity.INFO:
            item = replace(item, app="", generation="")
        result[item] = None
    return sorted(result, key=lambda item: item.app == "")


def _groups(tools: bool) -> list[Group]:
    left_out = {Group.FLEET} if tools else {Group.FLEET, Group.TOOL}
    return [group for group in Group if group not in left_out]


def _lowered(changes: Mapping[str, SeverityChange]) -> dict[str, Lowered]:
    return {
        name: Lowered(Severity(change.level), change.reason)
        for name, change in changes.items()
        if change.level != "off"
    }


def _silenced(changes: Mapping[str, SeverityChange]) -> dict[str, str]:
    return {name: change.reason for name, change in changes.items() if change.level == "off"}
