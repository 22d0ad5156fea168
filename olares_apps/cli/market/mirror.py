"""`olapps market mirror`."""

from pathlib import Path

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import output_option, root_option

__all__ = ["command"]


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@root_option
@output_option()
def command(source: str, target: str, root: Path | None, output: str) -> None:
    """Copy the market SRC with its history to DST, where that is empty or an older copy of it.

    Both are addresses or markets of olapps.toml. Run it again after an interruption, or to follow
    a market that goes on. DST never goes back, and a DST with a history of its own is refused.
    """
    from olares_apps.cli.progress import progress
    from olares_apps.cli.stores import store_for
    from olares_apps.market.mirror import mirror

    with progress("copying") as advance:
        done = mirror(store_for(source, root), store_for(target, root), on_step=advance)
    if output == "json":
        out.print_json(done.as_dict())
    elif done.revisions:
        click.echo(
            f"copied {done.revisions} revisions, {done.objects} objects, "
            f"{done.bytes / 1e6:.1f} MB to {done.target}; live revision {done.revision}"
        )
    else:
        click.echo(f"{done.target} has everything: live revision {done.revision}")
