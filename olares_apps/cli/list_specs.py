"""`olapps list`: the specs of the workspace, broken ones included."""

from pathlib import Path

import click

from olares_apps.cli import output
from olares_apps.cli.options import output_option, root_option

__all__ = ["command"]


@click.command()
@root_option
@output_option()
def command(root: Path | None, output: str) -> int:
    """List the specs of the workspace."""
    from olares_apps.cli.workbench import open_workbench

    workspace = open_workbench(root).workspace
    specs = [
        {
            "name": name,
            "app": loaded.spec.app,
            "version": loaded.spec.version,
            "title": loaded.spec.title,
            "engine": loaded.spec.engine.type,
            "ctx": loaded.spec.engine.context_tokens,
            "file": str(loaded.path),
            "not_installable": loaded.spec.not_installable,
        }
        for name, loaded in workspace.specs.items()
    ]
    broken = {name: [str(p) for p in error.problems] for name, error in workspace.broken.items()}
    if output == "json":
        _print_json(specs, broken)
        return 1 if broken else 0
    _print_text(specs, broken)
    return 1 if broken else 0


def _print_json(specs: list[dict[str, object]], broken: dict[str, list[str]]) -> None:
    output.print_json({"specs": specs, "broken": broken})


def _print_text(specs: list[dict[str, object]], broken: dict[str, list[str]]) -> None:
    columns = ["name", "app", "version", "engine", "ctx", "title"]
    rows = [[str("-" if spec[c] is None else spec[c]) for c in columns] for spec in specs]
    output.table([column.upper() for column in columns], rows)
    for spec in specs:
        if spec["not_installable"]:
            output.note(f"{spec['name']} is not installable: {spec['not_installable']}")
    for problems in broken.values():
        for problem in problems:
            output.error(problem)
