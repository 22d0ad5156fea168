"""`olapps image render`: Dockerfile and workflow of recipes, written or compared."""

from collections.abc import Sequence
from pathlib import Path

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import output_option, root_option

__all__ = ["command"]


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write below this folder; by default into the workspace.",
)
@click.option("--check", "compare", is_flag=True, help="Write nothing; fail when a file is stale.")
@output_option()
@root_option
def command(
    names: Sequence[str], folder: Path | None, compare: bool, output: str, root: Path | None
) -> None:
    """Write the Dockerfile and the build workflow of image recipes; all without a NAME.

    A NAME is a recipe or the image that it makes. While any of them has an error, such as a CMake
    option that the build does not have, nothing is written.
    """
    from olares_apps.cli.stores import workspace_root
    from olares_apps.errors import CheckFailed, SpecError
    from olares_apps.images.judge import judge, twins
    from olares_apps.images.load import load_recipes, recipe_called
    from olares_apps.images.render import render_recipe
    from olares_apps.render.folder import write_file
    from olares_apps.render.templates import load_templates
    from olares_apps.spec.workspace import load_config

    top = workspace_root(root)
    folders = load_config(top).workspace
    recipes = load_recipes(top, folders.images)
    chosen = [recipe_called(name, recipes) for name in names] or list(recipes.values())
    verdicts = [judge(loaded) for loaded in chosen]
    for problem in [problem for verdict in verdicts for problem in verdict.warnings]:
        out.note(f"warning: {problem}")
    errors = [problem for verdict in verdicts for problem in verdict.errors]
    errors += twins(recipes)
    if errors:
        raise SpecError(errors)
    templates = load_templates(top / folders.templates)
    target = folder or top
    files = {path: text for item in chosen for path, text in render_recipe(item, templates).items()}
    stale = [path for path, text in files.items() if _read(target / path) != text]
    if not compare:
        for path in stale:
            write_file(target / path, files[path].encode())
    if output == "json":
        out.print_json({"folder": str(target), "files": sorted(files), "changed": sorted(stale)})
    else:
        word = "stale" if compare else "wrote"
        for path in stale:
            click.echo(f"{word} {target / path}")
        if not stale:
            click.echo(f"{len(files)} file(s) up to date")
    if compare and stale:
        raise CheckFailed(
            f"{len(stale)} file(s) are stale", hint="run olapps image render and commit the result"
        )


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
