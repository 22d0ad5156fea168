"""`olapps market verify`."""

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import market_option, output_option

__all__ = ["command"]


@click.command()
@market_option
@output_option()
def command(market: str | None, output: str) -> int:
    """Read every object that a market's history reaches and compare its digest."""
    from olares_apps.cli.stores import store_for
    from olares_apps.market.verify import verify

    found = verify(store_for(market))
    if output == "json":
        out.print_json(found.as_dict())
    else:
        for problem in found.problems:
            out.error(problem)
        click.echo(f"{found.revisions} revisions, {found.objects} objects read")
    return 0 if found.ok else 1
