"""`olapps image`: custom images from recipes."""

from collections.abc import Mapping
from typing import Final

import click

from olares_apps.cli.lazy import LazyGroup

__all__ = ["command"]

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "list": ("image.list_recipes", "List the recipes of the workspace."),
    "render": ("image.render", "Write Dockerfile and workflow of a recipe."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Build files of custom images, from the recipes in the workspace's images folder."""
