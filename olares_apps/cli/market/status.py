"""`olapps market status`."""

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import market_option, output_option

__all__ = ["command"]


@click.command()
@market_option
@output_option()
def command(market: str | None, output: str) -> None:
    """Show what a market offers now."""
    from olares_apps.cli.stores import store_for
    from olares_apps.market.history import status

    found = status(store_for(market))
    data = found.as_dict()
    if output == "json":
        out.print_json(data)
        return
    if found.state.head is None:
        click.echo(f"{found.url}: empty")
        return
    click.echo(f"{found.url}: revision {data['revision']}")
    click.echo(out.clean(f"updated {data['updated']} by {data['publisher'] or '-'}"))
    generations = sorted({name for versions in found.live.values() for name in versions})
    out.table(
        ["APP", *(name.upper() for name in generations)],
        [
            [app, *(versions.get(name, "-") for name in generations)]
            for app, versions in found.live.items()
        ],
    )
    if found.listed:
        click.echo(f"only listed, not installable: {', '.join(found.listed)}")
    if found.removed:
        click.echo(f"removed: {', '.join(found.removed)}")
    for warning in found.warnings:
        click.echo(f"warning: {warning}")
