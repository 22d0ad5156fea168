"""`olapps check`: everything that a device, a GPU or a reader would trip over."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import (
    complete_names,
    generation_option,
    hardware_option,
    output_option,
    root_option,
)

if TYPE_CHECKING:
    from olares_apps.cli.checking import Checked
    from olares_apps.findings import Finding

__all__ = ["command"]

_STYLES = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
    "info": {"fg": "cyan"},
    "title": {"bold": True},
    "dim": {"dim": True},
}


@click.command()
@click.argument(
    "names", nargs=-1, metavar="[NAME|PATH.tgz|CHART_DIR]...", shell_complete=complete_names
)
@click.option("--all", "everything", is_flag=True, help="All specs; the default without a name.")
@click.option("--explain", metavar="RULE", help="Say what a rule means and where it comes from.")
@click.option(
    "--tools/--no-tools",
    default=True,
    show_default=True,
    help="Ask Helm, the Kubernetes schemas and olares-cli too, where the machine has them.",
)
@click.option(
    "--market",
    metavar="NAME|ADDRESS",
    help="Compare updates with what this market holds: versions, entrances, values.",
)
@generation_option
@hardware_option
@root_option
@output_option("github")
def command(
    names: tuple[str, ...],
    everything: bool,
    explain: str | None,
    tools: bool,
    market: str | None,
    generations: tuple[str, ...],
    hardware: str | None,
    root: Path | None,
    output: str,
) -> int:
    """Check specs, or charts that anybody made, and say what to change.

    Exits with 1 when there is a finding of severity error. Everything is reported at once.
    """
    from olares_apps.checks.discover import find_charts
    from olares_apps.cli.checking import Checked, check_paths, check_specs
    from olares_apps.cli.published import Shelf
    from olares_apps.cli.stores import store_for
    from olares_apps.cli.workbench import open_workbench
    from olares_apps.errors import UsageError

    if explain:
        from olares_apps.checks.explain import explain as explain_rule

        click.echo(explain_rule(explain), nl=False)
        return 0
    named = [Path(name) for name in names if _is_path(name)]
    paths = list(dict.fromkeys(chart for path in named for chart in find_charts(path)))
    specs = [name for name in names if not _is_path(name)]
    if everything and names:
        raise UsageError("give names or --all, not both")
    shelf = Shelf(store_for(market, root)) if market else None
    done = [check_paths(paths, tools=tools, shelf=shelf)] if paths else []
    if specs or not paths:
        bench = open_workbench(root)
        selected, refused = bench.sort_out(specs, hardware=hardware)
        found = check_specs(
            bench,
            selected,
            bench.wanted(generations),
            refused=refused,
            tools=tools,
            everything=not specs,
            variants=hardware is None,
            shelf=shelf,
        )
        if output == "github":
            found = replace(found, findings=[_located(f, bench.charts) for f in found.findings])
        done.append(found)
    silenced = {name: reason for item in done for name, reason in item.silenced.items()}
    result = Checked(
        [finding for item in done for finding in item.findings],
        sum(item.charts for item in done),
        silenced,
    )
    _print(result, output)
    return 1 if any(finding.severity == "error" for finding in result.findings) else 0


def _is_path(name: str) -> bool:
    """Say whether an argument names a chart on disk; the path of a spec ends in .yaml."""
    if name.endswith((".yaml", ".yml")) and not Path(name).is_dir():
        return False
    return "/" in name or name.endswith((".tgz", ".tar.gz")) or Path(name).is_dir()


def _located(finding: "Finding", charts: Path) -> "Finding":
    """Return the finding with its file as the repository knows it.

    A file of a chart lies in the rendered chart; a spec or lock is named by its own path already.
    """
    folders: Sequence[Path] = sorted(charts.glob(f"{finding.generation or '*'}/{finding.app}"))
    path = folders[0] / finding.file if folders and finding.file else None
    if path is None or not path.is_file():
        return finding
    return replace(finding, file=Path(os.path.relpath(path)).as_posix())


def _print(result: "Checked", output: str) -> None:
    from olares_apps.checks import report

    if output == "json":
        data = report.as_json(result.findings, charts=result.charts)
        out.print_json({**data, "silenced": dict(result.silenced)})
        return
    if output == "github":
        click.echo(report.as_annotations(result.findings, charts=result.charts), nl=False)
    else:
        coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        text = (
            report.as_text_report(result.findings, charts=result.charts, paint=_paint)
            if coloured
            else report.as_text_report(result.findings, charts=result.charts)
        )
        click.echo(text, nl=False)
    for name, reason in result.silenced.items():
        out.note(f"{name} is off in this workspace: {reason}")


def _paint(text: str, style: str) -> str:
    return click.style(text, **_STYLES.get(style, {}))  # type: ignore[arg-type]
