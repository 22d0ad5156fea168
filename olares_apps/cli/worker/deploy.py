"""`olapps worker deploy`."""

import os
from pathlib import Path

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import output_option, root_option

__all__ = ["command"]


@click.command()
@click.option("--dry-run", is_flag=True, help="Build and measure what would be uploaded.")
@root_option
@output_option()
def command(dry_run: bool, root: Path | None, output: str) -> None:
    """Deploy the Worker of the workspace with the wrangler that its folder pins.

    Only to the Worker, bucket and account that olapps.toml names, and without taking away
    variables that were set elsewhere. Secrets are neither read nor printed.
    """
    import shlex

    from olares_apps.cli.worker.workshop import open_workshop
    from olares_apps.errors import MarketError, UsageError
    from olares_apps.worker import wrangler
    from olares_apps.worker.sources import CONFIG, differing
    from olares_apps.worker.target import ACCOUNT_VARIABLE, disagreements, parse_config

    shop = open_workshop(root)
    file = shop.folder / CONFIG
    if not file.is_file():
        raise UsageError(f"{file} is missing", hint="run olapps worker init")
    config = parse_config(file.read_text(encoding="utf-8"), str(file))
    if reasons := disagreements(config, shop.target, os.environ):
        raise MarketError(
            "\n".join(f"{file}: {reason}" for reason in reasons),
            hint="nothing was deployed; make olapps.toml and the configuration say the same",
        )
    if not dry_run and not shop.target.account:
        raise UsageError(
            "olapps.toml names no Cloudflare account under [worker]",
            hint='npx wrangler whoami prints the id; account = "..." keeps deploys in it',
        )
    for path in differing(shop.folder):
        out.note(f"note: {path} is not that of this olapps; olapps worker init brings it")
    if shop.foreign_icons:
        out.note(f"note: {shop.foreign_icons}")
    node = wrangler.find_node(os.environ)
    missing = wrangler.wrangler_problems(shop.folder, node)
    command = wrangler.deploy_command(node or "node", dry_run=dry_run)
    line = f"cd {shlex.quote(str(shop.folder))} && {shlex.join(command)}"
    if missing:
        raise MarketError("\n".join(missing), hint=f"then run this again, or: {line}")
    out.note(line)
    account = {ACCOUNT_VARIABLE: shop.target.account} if shop.target.account else {}
    done = wrangler.run(command, shop.folder, {**os.environ, **account})
    size = sum(path.stat().st_size for path in (shop.folder / wrangler.BUILT).glob("*.js"))
    for text in done.text.splitlines():
        out.note(text)
    if output == "json":
        out.print_json(
            {
                "worker": shop.target.name,
                "bucket": shop.target.bucket,
                "dry_run": dry_run,
                "bytes": size if dry_run else None,
                "addresses": list(done.addresses),
            }
        )
    elif dry_run:
        click.echo(f"would deploy {shop.target.name}: {size} bytes of JavaScript")
    else:
        click.echo("\n".join(done.addresses) or f"deployed {shop.target.name}")
