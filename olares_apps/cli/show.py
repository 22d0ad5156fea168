"""`olapps show`: one spec with everything that follows from it."""

import shlex
from pathlib import Path
from typing import Any

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import complete_names, output_option, root_option

__all__ = ["command"]


@click.command()
@click.argument("name", shell_complete=complete_names)
@root_option
@output_option()
def command(name: str, root: Path | None, output: str) -> None:
    """Show the spec NAME: its facts, the server's arguments and the files it downloads."""
    from olares_apps.cli.workbench import all_facts, open_workbench
    from olares_apps.engines.files import stored_files
    from olares_apps.engines.registry import get_engine
    from olares_apps.generations import GENERATIONS
    from olares_apps.lock.apply import exact_files
    from olares_apps.render.versions import archive_version

    bench = open_workbench(root)
    loaded = bench.workspace.select([name])[0]
    lock = bench.lock(loaded)
    spec = bench.with_lock(loaded).spec
    files = exact_files(stored_files(spec.model.files), lock)
    launch = get_engine(spec.engine.type).launch(spec, files)
    versions = {
        item.name: archive_version(spec.version, GENERATIONS.index(item))
        for item in bench.generations
    }
    result: dict[str, Any] = {
        "name": loaded.name,
        "app": spec.app,
        "id": spec.id,
        "title": spec.title,
        "file": str(loaded.path),
        "versions": versions,
        "not_installable": spec.not_installable,
        "image": spec.engine.image,
        "command": [*launch.command, *launch.argv],
        "files": [
            {
                "repo": file.repo,
                "revision": file.revision,
                "path": file.path,
                "size": file.size,
                "sha256": file.sha256,
            }
            for file in files
        ],
        "facts": all_facts(spec),
    }
    if output == "json":
        out.print_json(result)
        return
    click.echo(f"{loaded.name} ({spec.app}, id {spec.id}): {spec.title}")
    out.table(["GENERATION", "VERSION"], [[key, value] for key, value in versions.items()])
    if spec.not_installable:
        click.echo(f"not installable: {spec.not_installable}")
    click.echo(f"image    {spec.engine.image}")
    for file in files:
        size = "" if file.size is None else f", {file.size / 10**9:.2f} GB"
        click.echo(
            f"file     {file.repo} {file.remote} ({file.revision[:12]}{size}) -> {file.path}"
        )
    click.echo("command  " + shlex.join(result["command"]))
    click.echo("facts")
    for key, value in _flat(result["facts"]):
        click.echo(f"  {key} = {value}")


def _flat(facts: Any, prefix: str = "") -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    for key, value in sorted(facts.items()):
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            rows += _flat(value, f"{name}.")
        elif value is not None:
            rows.append((name, value))
    return rows
