"""`olapps pack`: archives as a market would publish them, without publishing."""

from pathlib import Path

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import (
    generation_option,
    hardware_option,
    names_argument,
    output_option,
    root_option,
)

__all__ = ["command"]


@click.command()
@names_argument
@click.option("--all", "everything", is_flag=True, help="All specs; the default without a name.")
@click.option(
    "--out",
    "folder",
    envvar="OLAPPS_PACK_OUT",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the archives; by default dist, or dist/PROFILE with --hardware.",
)
@generation_option
@hardware_option
@root_option
@output_option()
def command(
    names: tuple[str, ...],
    everything: bool,
    folder: Path | None,
    generations: tuple[str, ...],
    hardware: str | None,
    root: Path | None,
    output: str,
) -> None:
    """Pack specs into APP-VERSION.tgz archives, the same bytes on every machine.

    Apps that no device can install are left out; naming one is an error.
    """
    from olares_apps.cli.installable import installable
    from olares_apps.cli.pool import fan_out
    from olares_apps.cli.workbench import open_workbench
    from olares_apps.errors import UsageError
    from olares_apps.render.archive import pack
    from olares_apps.render.folder import write_file

    if names and everything:
        raise UsageError("give names or --all, not both")
    bench = open_workbench(root)
    wanted = bench.wanted(generations)
    folder = folder or Path("dist", hardware or "")
    blocked = [path for path in (folder, *folder.parents) if path.exists() and not path.is_dir()]
    if blocked:
        raise UsageError(f"{blocked[-1]} is a file and in the way of the archives")
    per_spec = fan_out(
        lambda loaded: [(g, pack(tree)) for g, tree in bench.charts_of(loaded, wanted)],
        installable(bench.select(names, hardware=hardware), named=bool(names)),
    )
    archives = [item for found in per_spec for item in found]
    for _, archive in archives:
        write_file(folder / archive.name, archive.data)
    if output == "json":
        out.print_json(
            {
                "archives": [
                    {
                        "file": str(folder / archive.name),
                        "generation": generation.name,
                        "bytes": len(archive.data),
                        "sha256": archive.sha256,
                        "tar_sha256": archive.tar_sha256,
                    }
                    for generation, archive in archives
                ]
            }
        )
        return
    for generation, archive in archives:
        click.echo(
            f"{folder / archive.name}  {len(archive.data)} bytes  {generation.name}  "
            f"sha256:{archive.sha256}"
        )
