"""`olapps image list`: the recipes of the workspace."""

from pathlib import Path

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import output_option, root_option

__all__ = ["command"]


@click.command(name="list")
@output_option()
@root_option
def command(output: str, root: Path | None) -> None:
    """List the image recipes of the workspace."""
    from olares_apps.cli.stores import workspace_root
    from olares_apps.images.load import load_recipes
    from olares_apps.spec.workspace import load_config

    folder = workspace_root(root)
    recipes = load_recipes(folder, load_config(folder).workspace.images)
    if output == "json":
        rows = [{"name": name, **item.recipe.model_dump()} for name, item in recipes.items()]
        out.print_json({"recipes": rows})
        return
    if not recipes:
        out.note("no recipe in this workspace")
    out.table(
        ["recipe", "image", "build", "commit", "cuda", "architectures"],
        [
            [
                name,
                item.recipe.image,
                item.recipe.build,
                item.recipe.source.commit,
                item.recipe.cuda,
                " ".join(item.recipe.architectures),
            ]
            for name, item in recipes.items()
        ],
    )
