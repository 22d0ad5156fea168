"""`olapps market gc`."""

import click

from olares_apps.cli import output as out
from olares_apps.cli.durations import duration
from olares_apps.cli.market.rollback import confirm
from olares_apps.cli.options import market_option, output_option

__all__ = ["command"]


@click.command()
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Revisions to keep, with all that they reach; a Worker keeps 10 to 20.",
)
@click.option(
    "--older-than",
    callback=duration,
    default="24h",
    show_default=True,
    metavar="DURATION",
    help="Everything younger stays; 24h or more.",
)
@click.option("--dry-run", is_flag=True, help="Count what would go and remove nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@market_option
@output_option()
def command(
    keep: int, older_than: int, dry_run: bool, yes: bool, market: str | None, output: str
) -> None:
    """Remove what neither a device nor a rollback can reach any more.

    Old revisions go with their prepared answers, and so does what interrupted publishes left
    behind. The archives of every version stay, for devices that still ask for them. It may run
    beside publishers, and be interrupted at any time.
    """
    from olares_apps.cli.progress import progress
    from olares_apps.cli.stores import store_for
    from olares_apps.market.gc import Collected
    from olares_apps.market.retention import Retention

    retention = Retention(keep, older_than)
    store = store_for(market)
    if not dry_run:
        question = f"Remove from {store.url} what its last {keep} revisions do not reach?"
        confirm(question, yes, "this removes old revisions for ever")
    found = Collected()
    with progress("collecting") as advance:
        for found in store.collect(retention, dry_run=dry_run):
            advance(found.removed, None, f"{found.looked} objects looked at")
    if output == "json":
        out.print_json(
            {
                "market": store.url,
                "dry_run": dry_run,
                "keep": keep,
                "older_than_hours": older_than // 3600,
                "looked": found.looked,
                "removed": found.removed,
                "bytes": found.bytes,
            }
        )
        return
    verb = "would remove" if dry_run else "removed"
    click.echo(
        f"{verb} {found.removed} of {found.looked} objects, {found.bytes / 1e6:.1f} MB "
        f"({store.url}, last {keep} revisions kept)"
    )
