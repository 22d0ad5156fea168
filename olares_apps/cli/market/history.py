"""`olapps market history`."""

from itertools import islice

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import market_option, output_option

__all__ = ["command"]


@click.command()
@click.option("--limit", type=click.IntRange(min=1), help="Only the newest ones.")
@market_option
@output_option()
def command(limit: int | None, market: str | None, output: str) -> None:
    """List the revisions of a market, newest first."""
    from olares_apps.cli.stores import store_for
    from olares_apps.market.history import history

    entries = list(islice(history(store_for(market)), limit))
    if output == "json":
        out.print_json({"revisions": [entry.as_dict() for entry in entries]})
        return
    rows = []
    for entry in entries:
        data, revision = entry.as_dict(), entry.revision
        changes = ", ".join(
            f"{change.app} {'/'.join(change.after.values()) or 'removed'}"
            for change in revision.changes
        )
        created = str(data["created"])[:19]
        action = revision.action
        if revision.restores:
            action += f" of {revision.restores[:12]}"
        rows.append([entry.identity[:12], created, action, revision.publisher, changes])
    out.table(["REVISION", "CREATED (UTC)", "ACTION", "PUBLISHER", "CHANGES"], rows)
