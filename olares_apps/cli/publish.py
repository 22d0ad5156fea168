"""`olapps publish`: what changed goes to the market, in one step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import market_option, names_argument, output_option, root_option

if TYPE_CHECKING:
    from olares_apps.errors import SpecError
    from olares_apps.market.workflow_report import AppResult, WorkflowReport
    from olares_apps.render.chart import ChartTree
    from olares_apps.spec.loader import LoadedSpec

__all__ = ["command"]


@click.command()
@names_argument
@click.option(
    "--bump",
    type=click.Choice(["patch", "minor", "major"]),
    help="Raise the version of what changed; without it the version in the spec is used.",
)
@click.option("--note", metavar="TEXT", help="Release notes; by default the parts that changed.")
@click.option(
    "--keep-going",
    is_flag=True,
    help="Publish what can be; what cannot keeps what it offers, is named, and gives exit code 1.",
)
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing anywhere.")
@market_option
@root_option
@output_option()
def command(
    names: tuple[str, ...],
    bump: Any,
    note: str | None,
    keep_going: bool,
    dry_run: bool,
    market: str | None,
    root: Path | None,
    output: str,
) -> None:
    """Publish the specs NAME, or all of them, as far as their content changed.

    Apps that are not named stay as they are; those that no device can install only get a page. The
    market moves to its new state at once or not at all; then the specs get their new versions and
    notes, and the charts are rendered again.
    """
    from urllib.parse import urlsplit

    from olares_apps.cli.belongings import is_this_machine
    from olares_apps.cli.installable import refuse_named
    from olares_apps.cli.kitchen import WorkspaceKitchen
    from olares_apps.cli.progress import progress
    from olares_apps.cli.stores import store_for
    from olares_apps.cli.workbench import open_workbench
    from olares_apps.errors import CheckFailed, UsageError
    from olares_apps.market.commit import Hands
    from olares_apps.market.records import Source
    from olares_apps.market.workflow import publish_specs
    from olares_apps.market.workflow_report import Request

    if note is not None and not note.strip():
        raise UsageError("--note is empty", hint="leave it out for notes that name what changed")
    bench = open_workbench(root)
    config = bench.workspace.config
    store = store_for(market, bench.workspace.root)
    icons = bench.publisher.icons
    if is_this_machine(icons) and urlsplit(store.url).netloc and not is_this_machine(store.url):
        raise UsageError(
            f"[publisher] icons are at {icons}, which no device can reach; the charts would say so",
            hint=f'write icons = "{store.url}/icons" into olapps.toml',
        )
    source = config.market.source
    request = Request(
        level=bump,
        note=note,
        dry_run=dry_run,
        publisher=config.publisher.name,
        source=Source(id=source.id, label=source.label),
        keep_going=keep_going,
    )
    broken: Mapping[str, SpecError] = {}
    if keep_going:
        specs, broken = bench.workspace.sort_out(names)
    else:
        specs = bench.workspace.select(names)
    if names:
        refuse_named(specs)

    @cache
    def checks() -> "Callable[[LoadedSpec, Sequence[ChartTree]], None]":
        # The checks are a large part of the program: a publish without a change needs none.
        from olares_apps.cli.checking import publish_gate
        from olares_apps.cli.published import Shelf

        return publish_gate(bench, Shelf(store))

    def gate(loaded: "LoadedSpec", charts: "Sequence[ChartTree]") -> None:
        checks()(loaded, charts)

    with progress("publishing") as advance:
        steps = count(1)
        report = publish_specs(
            store,
            specs,
            WorkspaceKitchen(bench, gate),
            request,
            hands=Hands(on_step=lambda name: advance(next(steps), None, name[:60])),
        )
    messages = {name: error.message for name, error in broken.items()}
    report = replace(report, failed={**messages, **report.failed})
    for app in report.apps:
        if app.reason:
            out.note(f"{app.app}: {app.reason}")
    if output == "json":
        out.print_json({"store": store.url, **report.as_dict()})
    else:
        _print_text(store.url, report)
    if report.failed:
        raise CheckFailed(_not_updated(report.failed), hint="correct what is named, publish again")


def _not_updated(failed: "Mapping[str, str]") -> str:
    count = "1 app" if len(failed) == 1 else f"{len(failed)} apps"
    return "\n".join(
        [f"{count} not updated:", *(f"{name}: {reason}" for name, reason in sorted(failed.items()))]
    )


def _print_text(url: str, report: "WorkflowReport") -> None:
    changed = [app for app in report.apps if app.action != "unchanged"]
    if not report.changed and not report.apps:
        return
    if not report.changed:
        click.echo(f"nothing changed: {len(report.apps)} apps are published as they are ({url})")
        return
    out.table(
        ["APP", "ACTION", "BEFORE", "AFTER", "FILES"],
        [
            [a.app, a.action, _versions(a.before), _versions(a.after), str(len(a.files))]
            for a in changed
        ],
    )
    for line in _digests(changed):
        click.echo(line)
    if report.dry_run:
        click.echo("dry run: nothing was written")
    elif report.market:
        click.echo(
            f"published revision {report.revision} to {url}; "
            f"{report.market.verified} objects read back and equal"
        )


def _versions(versions: Any) -> str:
    return ", ".join(versions.values()) or "-"


def _digests(apps: "Sequence[AppResult]") -> list[str]:
    return [
        f"{app.app}-{version}.tgz  sha256:{digest}"
        for app in apps
        for version, digest in app.digests.items()
    ]
