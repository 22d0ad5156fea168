"""Where commands meet the checks: specs, charts found elsewhere, and the gate of a publish."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePath

from olares_apps.checks.context import ChartContext
from olares_apps.checks.fleet import Fleet
from olares_apps.checks.images import recipe_facts
from olares_apps.checks.refused import Refused
from olares_apps.checks.rule import Group
from olares_apps.checks.run import Lowered, lower, merge, run_fleet, run_refused, run_rules
from olares_apps.checks.source import read_source
from olares_apps.checks.table import RULES, get_rule
from olares_apps.checks.tools import SystemTools, Tools
from olares_apps.cli.belongings import own_icons, pictures, stray_charts
from olares_apps.cli.pool import fan_out
from olares_apps.cli.published import Shelf
from olares_apps.cli.workbench import Workbench
from olares_apps.errors import CheckFailed, OlappsError, UnknownName, UsageError
from olares_apps.findings import Finding, Severity
from olares_apps.generations import Generation, OlaresVersion
from olares_apps.hardware import load_profile
from olares_apps.render.chart import ChartTree
from olares_apps.spec.config import CONFIG_FILE, SeverityChange
from olares_apps.spec.loader import LoadedSpec
from olares_apps.spec.toml_source import config_fault

__all__ = [
    "Checked",
    "check_paths",
    "check_specs",
    "install_lint",
    "publish_gate",
    "severity_changes",
]


@dataclass(frozen=True, slots=True)
class Checked:
    """Findings, how many charts they are of, and the rules that the workspace turned off."""

    findings: Sequence[Finding]
    charts: int
    silenced: Mapping[str, str]


def check_specs(
    bench: Workbench,
    specs: Sequence[LoadedSpec],
    generations: Sequence[Generation],
    *,
    refused: Sequence[Refused] = (),
    tools: bool,
    everything: bool = False,
    variants: bool = False,
    shelf: Shelf | None = None,
) -> Checked:
    """Check the charts of specs, and all of them beside each other.

    With ``variants`` each spec is also checked as it is on the profiles that it has variants for.

    ``refused`` are specs that could not be used already; what cannot be rendered joins them.
    ``everything`` says that all of the workspace are there, so that charts of no spec can be
    told. ``shelf`` is the market that updates are compared with. With ``tools`` the real Helm,
    the Kubernetes schemas and the device's own linter take part where the machine has them.
    Raises WorkspaceError for severities that must not be.
    """
    changes = severity_changes(bench)
    lowered = _lowered(changes)
    system = SystemTools() if tools else None

    def check(loaded: LoadedSpec) -> tuple[int, list[Finding]]:
        try:
            charts = [chart for _, chart in bench.charts_of(loaded, generations)]
            found = _check(bench, loaded, charts, system, changes, shelf)
            if variants:
                found += _check_variants(bench, loaded, generations, found, changes)
            return len(charts), found
        except OlappsError as error:
            return 0, run_refused(bench.refused(loaded.name, error), severities=lowered)

    results = fan_out(check, specs)
    findings = [item for one in refused for item in run_refused(one, severities=lowered)]
    findings += _about_the_machine(item for _, found in results for item in found)
    findings += _check_fleet(bench, specs, changes, everything=everything)
    return Checked(findings, sum(charts for charts, _ in results), _silenced(changes))


def check_paths(paths: Sequence[Path], *, tools: bool, shelf: Shelf | None = None) -> Checked:
    """Check chart folders and archives that anybody made, each for itself.

    ``shelf`` is the market that updates are compared with.

    Files of findings are relative to the working directory; of an archive they are the archive
    itself, and the message names the member. Raises UsageError when the only path is no chart;
    among several that is a finding.
    """
    system = SystemTools() if tools else None

    def check(path: Path) -> list[Finding]:
        try:
            return _check_path(path, system, shelf)
        except UsageError as error:
            if len(paths) == 1:
                raise
            return [_unreadable(path, error)]

    findings = [item for found in fan_out(check, paths) for item in found]
    return Checked(_about_the_machine(findings), len(paths), {})


def _check_path(path: Path, tools: Tools | None, shelf: Shelf | None) -> list[Finding]:
    source = read_source(path)
    context = ChartContext(
        source.files,
        folder=source.folder,
        listing=source.listing,
        profile=_profile("olares-one"),
        tools=tools,
    )
    if shelf is not None:
        context.published = shelf.published(context.app, context.generation_name)
    found = run_rules(context, groups=_groups(tools is not None))
    place = Path(os.path.relpath(path))
    return [_placed(item, place, is_archive=source.listing.is_archive) for item in found]


def _placed(finding: Finding, chart: Path, *, is_archive: bool) -> Finding:
    """Return the finding with a file that is there: programs open what it names."""
    if _is_about_the_machine(finding):
        return finding
    if not is_archive:
        return replace(finding, file=(chart / finding.file).as_posix())
    member = f"{_place(finding)}: " if finding.file else ""
    return replace(finding, file=chart.as_posix(), line=None, message=f"{member}{finding.message}")


def _unreadable(path: Path, error: UsageError) -> Finding:
    rule = RULES["archive-content"]
    place = Path(os.path.relpath(path)).as_posix()
    return Finding(rule.id, rule.severity, error.message, app=path.name, file=place)


def publish_gate(
    bench: Workbench, shelf: Shelf
) -> Callable[[LoadedSpec, Sequence[ChartTree]], None]:
    """Return the function that stops a publish: it raises CheckFailed with what is wrong.

    ``shelf`` is the market that is published to. Raises WorkspaceError for severities that must
    not be.
    """
    changes = severity_changes(bench)

    def gate(loaded: LoadedSpec, charts: Sequence[ChartTree]) -> None:
        found = _check(bench, loaded, charts, None, changes, shelf)
        errors = [item for item in found if item.severity is Severity.ERROR]
        if errors:
            lines = [f"{item.app}: {_place(item)}: {item.message} ({item.rule})" for item in errors]
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
    bench: Workbench,
    loaded: LoadedSpec,
    charts: Sequence[ChartTree],
    tools: Tools | None,
    changes: Mapping[str, SeverityChange],
    shelf: Shelf | None,
) -> list[Finding]:
    profile, lock = _profile(loaded.spec.hardware), bench.lock(loaded)
    known, recipe = bench.with_lock(loaded), bench.recipe(loaded)
    images = {recipe.recipe.image: recipe_facts(recipe.recipe)} if recipe else {}
    shown = pictures(bench, known.spec)
    found = [
        run_rules(
            ChartContext.of_tree(
                chart,
                spec=known,
                lock=lock,
                profile=profile,
                thresholds=bench.thresholds,
                recipe=recipe,
                images=images,
                pictures=shown,
                published=shelf.published(chart.app, chart.generation) if shelf else None,
                tools=tools,
            ),
            groups=_groups(tools is not None),
            severities=_lowered(changes),
        )
        for chart in charts
    ]
    return _without_silenced(merge(found), changes)


def _check_variants(
    bench: Workbench,
    loaded: LoadedSpec,
    generations: Sequence[Generation],
    known: Sequence[Finding],
    changes: Mapping[str, SeverityChange],
) -> list[Finding]:
    """Return what is wrong with a spec on other profiles only, with the profile's name.

    The newest generation stands for all, and other programs are not asked again: they look at
    the form of charts, which is the same.
    """
    told = {_fault(item) for item in known}
    found: list[Finding] = []
    for profile in loaded.spec.variants:
        try:
            there = bench.on_profile(loaded, profile)
            charts = [chart for _, chart in bench.charts_of(there, generations[-1:])]
            items = _check(bench, there, charts, None, changes, None)
        except OlappsError as error:
            items = run_refused(bench.refused(loaded.name, error), severities=_lowered(changes))
        found += [
            replace(item, message=f"on {profile}: {item.message}", generation="")
            for item in items
            if item.severity is not Severity.INFO and _fault(item) not in told
        ]
    return found


def _fault(finding: Finding) -> tuple[str, Severity, str]:
    return finding.rule, finding.severity, finding.message


def _check_fleet(
    bench: Workbench,
    specs: Sequence[LoadedSpec],
    changes: Mapping[str, SeverityChange],
    *,
    everything: bool,
) -> list[Finding]:
    fleet = Fleet.of_specs(
        specs,
        icons=bench.publisher.icons,
        own_icons=own_icons(bench),
        strays=stray_charts(bench, specs) if everything else (),
    )
    found = run_fleet(fleet, severities=_lowered(changes))
    return _without_silenced(found, changes)


def _about_the_machine(findings: Iterable[Finding]) -> list[Finding]:
    """Say once, of no app, what is absent on this machine: it holds for every chart."""
    result: dict[Finding, None] = {}
    for item in findings:
        if _is_about_the_machine(item):
            item = replace(item, app="", generation="")
        result[item] = None
    return sorted(result, key=lambda item: item.app == "")


def _is_about_the_machine(finding: Finding) -> bool:
    return RULES[finding.rule].group is Group.TOOL and finding.severity is Severity.INFO


def _groups(tools: bool) -> list[Group]:
    return [group for group in Group if group.is_of_charts and (tools or group is not Group.TOOL)]


def severity_changes(bench: Workbench) -> Mapping[str, SeverityChange]:
    """Return the severities that olapps.toml changes, apps under their names.

    Raises WorkspaceError, with its line, for a change that names no rule or app, or raises one.
    """
    workspace = bench.workspace
    specs = {name: app for app, name in workspace.apps.items()}
    changes = {}
    for name, change in workspace.config.checks.severity.items():
        try:
            get_rule(name)
            lower((), _lowered({name: change}))
            unknown = [app for app in change.apps if app not in {*specs, *workspace.apps}]
            if unknown:
                raise UnknownName("app", unknown[0], [*workspace.apps, *specs])
        except UsageError as error:
            data = (workspace.root / CONFIG_FILE).read_bytes()
            field = ("checks", "severity", name)
            raise config_fault(
                data, PurePath(CONFIG_FILE), field, error.message, hint=error.hint
            ) from None
        apps = [specs.get(app, app) for app in change.apps]
        changes[name] = change.model_copy(update={"apps": apps})
    return changes


def _lowered(changes: Mapping[str, SeverityChange]) -> dict[str, Lowered]:
    return {
        name: Lowered(Severity(change.level), change.reason, frozenset(change.apps))
        for name, change in changes.items()
        if change.level != "off"
    }


def _without_silenced(
    findings: Iterable[Finding], changes: Mapping[str, SeverityChange]
) -> list[Finding]:
    off = {name: change.apps for name, change in changes.items() if change.level == "off"}
    return [
        item
        for item in findings
        if item.rule not in off or (off[item.rule] and item.app not in off[item.rule])
    ]


def _silenced(changes: Mapping[str, SeverityChange]) -> dict[str, str]:
    """Return what is turned off, and for which apps, with the reason."""
    return {
        " for ".join(filter(None, (name, ", ".join(change.apps)))): change.reason
        for name, change in changes.items()
        if change.level == "off"
    }
