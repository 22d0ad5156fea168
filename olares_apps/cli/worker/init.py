"""`olapps worker init`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import output_option, root_option

if TYPE_CHECKING:
    from olares_apps.worker.target import Target

__all__ = ["command"]


@click.command()
@click.argument("folder", default="worker", metavar="[DIR]")
@click.option("--account", default="", metavar="ID", help="Cloudflare account; npx wrangler whoami")
@root_option
@output_option()
def command(folder: str, account: str, root: Path | None, output: str) -> None:
    """Write the Worker's folder DIR of the workspace, by default worker, and say what comes next.

    The names come from [worker] of olapps.toml; without it they are made from the id of the market
    and written there. In a folder that is there the sources are brought up to this olapps, and the
    wrangler configuration stays as it is. Nothing is run, and nothing leaves this machine.
    """
    from olares_apps.cli.stores import workspace_root
    from olares_apps.errors import UsageError
    from olares_apps.render.folder import write_file
    from olares_apps.spec.config import CONFIG_FILE
    from olares_apps.spec.toml_source import read_config
    from olares_apps.worker.sources import CONFIG, shipped_sources
    from olares_apps.worker.target import Target, render_config

    top = workspace_root(root)
    text = (top / CONFIG_FILE).read_text(encoding="utf-8")
    config = read_config(text.encode(), Path(CONFIG_FILE))
    if config.worker is None:
        name = config.market.source.id[:50].rstrip("-").removesuffix("-market")
        lines = ["", "[worker]", f'name = "{name}-market"']
        lines += [f'folder = "{folder}"'] if folder != "worker" else []
        lines += [f'account = "{account}"'] if account else []
        text = text.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
        config = read_config(text.encode(), Path(CONFIG_FILE))
    worker = config.worker
    if worker is None or (account and account != worker.account):
        raise UsageError(f"{CONFIG_FILE} has another account or no Worker", hint="change it there")
    target = Target(worker.name, worker.bucket or worker.name, worker.account)
    place = top / worker.folder
    files = dict(shipped_sources())
    files[CONFIG] = render_config(files[CONFIG].decode(), target).encode()
    files[".gitignore"] = b"node_modules/\n.wrangler/\ndist/\n"
    if (place / CONFIG).is_file():
        del files[CONFIG]
    foreign = place.is_dir() and any(place.iterdir()) and not (place / CONFIG).is_file()
    if foreign:
        raise UsageError(f"{place} is not empty and holds no {CONFIG}", hint="name another DIR")
    changed = [path for path, data in files.items() if _differs(place / path, data)]
    for path in changed:
        write_file(place / path, files[path])
    if text != (top / CONFIG_FILE).read_text(encoding="utf-8"):
        write_file(top / CONFIG_FILE, text.encode())
    steps = _steps(worker.folder, target)
    if output == "json":
        out.print_json(
            {
                "folder": str(place),
                "worker": target.name,
                "bucket": target.bucket,
                "account": target.account,
                "files": sorted(changed),
                "next": steps,
            }
        )
        return
    click.echo(f"{place}: {len(changed)} files written; Worker {target.name}, R2 {target.bucket}")
    click.echo("next, with Node 20.3 or newer:")
    for step in steps:
        click.echo(f"  {step}")


def _differs(path: Path, data: bytes) -> bool:
    return not path.is_file() or path.read_bytes() != data


def _steps(folder: str, target: "Target") -> list[str]:
    account = [] if target.account else ["npx wrangler whoami   # account id into olapps.toml"]
    return [
        f"cd {folder} && npm ci --ignore-scripts",
        "npx wrangler login",
        *account,
        f"npx wrangler r2 bucket create {target.bucket}",
        "olapps worker token create laptop --scope publish,rollback,collect",
        "olapps worker deploy",
        "npx wrangler secret put TOKENS < tokens.json",
    ]
