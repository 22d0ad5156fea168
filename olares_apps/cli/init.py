"""`olapps init`: a workspace that renders, checks, publishes and syncs at once."""

import re
from pathlib import Path

import click

from olares_apps.cli.options import output_option

__all__ = ["command"]

_CONFIG = """\
# The workspace: who publishes, where things are, and to which market.
schema = 1

[publisher]
name = "{name}"
website = "https://example.org"
# Where devices find the icons, as <icons>/<app>.png; `olapps market serve` answers /icons/.
icons = "http://127.0.0.1:8765/icons"

[market]
default = "local"

[market.stores]
local = "dir:.market"

[market.source]
id = "{name}"
label = "{name}"
"""
_IGNORE = "# The local market is published state, not source.\n.market/\ndist/\n"
DEFAULT_SPEC = "qwen36-35b-a3b-mtp"


@click.command()
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--spec",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"Shipped spec to begin with; several are possible. Default: {DEFAULT_SPEC}.",
)
@click.option("--all", "everything", is_flag=True, help="Begin with all shipped specs.")
@click.option("--empty", is_flag=True, help="Begin with one example spec that explains the fields.")
@output_option()
def command(
    folder: Path, names: tuple[str, ...], everything: bool, empty: bool, output: str
) -> None:
    """Make a new workspace in FOLDER, by default here."""
    from olares_apps.cli import output as out
    from olares_apps.cli.shipped import SCHEMA_FILE, example, shipped, shipped_names
    from olares_apps.engines.registry import spec_model
    from olares_apps.errors import UsageError
    from olares_apps.render.folder import write_file
    from olares_apps.spec.config import CONFIG_FILE
    from olares_apps.spec.schema import schema_text

    if bool(names) + everything + empty > 1:
        raise UsageError("--spec, --all and --empty are three ways to begin: give one of them")
    if (folder / CONFIG_FILE).exists():
        raise UsageError(
            f"{folder / CONFIG_FILE} exists: this is a workspace already",
            hint="change into it and run olapps list",
        )
    chosen = shipped_names() if everything else list(dict.fromkeys(names)) or [DEFAULT_SPEC]
    specs = [example()] if empty else [shipped(spec) for spec in chosen]
    name = "-".join(re.findall("[a-z0-9]+", folder.resolve().name.lower()))
    files: dict[str, bytes] = {
        CONFIG_FILE: _CONFIG.format(name=name[:40].strip("-") or "my-market").encode(),
        ".gitignore": _IGNORE.encode(),
        SCHEMA_FILE: schema_text(spec_model()).encode(),
        **{path: data for spec in specs for path, data in spec.items()},
    }
    taken = [path for path in files if (folder / path).exists() and path != ".gitignore"]
    above = {parent for path in files for parent in (folder / path).parents}
    blocked = sorted(str(path) for path in above if path.exists() and not path.is_dir())
    if taken or blocked:
        found = blocked[0] if blocked else folder / taken[0]
        raise UsageError(f"{found} is in the way", hint="choose an empty folder")
    for path, data in files.items():
        if not (folder / path).exists():
            write_file(folder / path, data)
    if output == "json":
        out.print_json({"workspace": str(folder), "files": sorted(files)})
        return
    click.echo(f"made a workspace in {folder} with {len(specs)} spec(s)")
    click.echo(f"next: cd {folder} && olapps render && olapps publish && olapps market sync")
