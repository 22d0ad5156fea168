"""`olapps market remove`."""

import click

from olares_apps.cli import output as out
from olares_apps.cli.market.rollback import confirm, who
from olares_apps.cli.options import market_option, output_option

__all__ = ["command"]


@click.command()
@click.argument("apps", nargs=-1, required=True, metavar="APP...")
@click.option("--note", default="", metavar="TEXT", help="Why; kept in the history.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@market_option
@output_option()
def command(apps: tuple[str, ...], note: str, yes: bool, market: str | None, output: str) -> None:
    """Take apps off the market. Devices that installed them keep them.

    A tombstone keeps the versions, so an app that comes back continues above them.
    """
    from olares_apps.cli.stores import store_for
    from olares_apps.market.retreat import remove

    store = store_for(market)
    confirm(f"Remove {', '.join(apps)} from {store.url}?", yes)
    moved = remove(store, apps, publisher=who(), note=note)
    if output == "json":
        out.print_json(moved.as_dict())
        return
    for change in moved.changes:
        click.echo(f"removed {change.app} {', '.join(change.before.values())}")
    if not moved.changes:
        click.echo("nothing to remove: these apps are off the market already")
