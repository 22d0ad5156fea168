"""`olapps market sync`."""

from typing import TYPE_CHECKING

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import output_option

if TYPE_CHECKING:
    from olares_apps.market.device.report import AppReport, SourceReport

__all__ = ["command"]


@click.command()
@click.argument("source", required=False, metavar="[URL|STORE|NAME]")
@click.option(
    "--olares", default="1.12.6", show_default=True, metavar="VERSION", help="Release to play."
)
@click.option(
    "--installed",
    multiple=True,
    metavar="APP=VERSION",
    help="An app that the device already runs, to see whether it is offered an update.",
)
@click.option("--requests", "show_requests", is_flag=True, help="List the requests made.")
@output_option()
def command(
    source: str | None,
    olares: str,
    installed: tuple[str, ...],
    show_requests: bool,
    output: str,
) -> int:
    """Play a device that syncs a market: what it lists, what it would install, and why not.

    SOURCE is the address of a running market, a store such as dir:PATH, or a market of
    olapps.toml. Exits with 1 when an app of it would not install.
    """
    from olares_apps.cli.checking import install_lint
    from olares_apps.cli.stores import store_for
    from olares_apps.connections import open_client
    from olares_apps.generations import OlaresVersion
    from olares_apps.market.device.stored import StoreTransport
    from olares_apps.market.device.sync import sync
    from olares_apps.market.device.transport import HttpTransport

    version = OlaresVersion.parse(olares)
    reported = olares.removeprefix("v")
    have = _installed(installed)
    if source and source.startswith(("http://", "https://")):
        with open_client() as client:
            report = sync(
                HttpTransport(client, source),
                source,
                version,
                lint=install_lint,
                installed=have,
                reported=reported,
            )
    else:
        store = store_for(source)
        report = sync(
            StoreTransport(store),
            store.url,
            version,
            lint=install_lint,
            installed=have,
            reported=reported,
        )
    if output == "json":
        out.print_json(dict(report.as_dict()))
    else:
        _print_text(report, show_requests)
    return 0 if report.ok else 1


def _installed(items: tuple[str, ...]) -> dict[str, str]:
    from olares_apps.errors import UsageError
    from olares_apps.helm import CallFailed, parse_version

    found = {}
    for item in items:
        name, equals, version = item.partition("=")
        if not (name and equals and version):
            raise UsageError(f"'{item}' is not APP=VERSION", hint="for example demoapp=1.0.2")
        try:
            parse_version(version)
        except CallFailed as error:
            raise UsageError(f"'{item}': {error}", hint="for example demoapp=1.0.2") from None
        found[name] = version
    return found


def _print_text(report: "SourceReport", show_requests: bool) -> None:
    generation = report.generation or "no generation of this market"
    click.echo(f"{report.source} as seen by Olares {report.olares} ({generation})")
    if show_requests:
        for request in report.requests:
            click.echo(f"  {out.clean(request)}")
    out.table(
        ["APP", "VERSION", "APPEARS", "INSTALLS", "UPDATE"],
        [
            [
                app.name or app.id,
                app.version or "-",
                "yes" if app.appears else "no",
                "yes" if app.installs else "no",
                _update(app),
            ]
            for app in report.apps
        ],
    )
    for problem in report.problems:
        out.error(problem)
    for note in report.notes:
        out.note(f"note: {note}")
    for app in report.apps:
        _print_problems(app)
    if not report.apps and not report.problems:
        click.echo("the source lists no app for this release")


def _update(app: "AppReport") -> str:
    if app.downgrade_from:
        return f"no, {app.downgrade_from} is newer"
    return f"from {app.update_from}" if app.update_from else "-"


def _print_problems(app: "AppReport") -> None:
    for problem in app.problems:
        out.error(f"{app.name or app.id}: {problem}")
    for note in app.notes:
        out.note(f"note: {app.name or app.id}: {note}")
