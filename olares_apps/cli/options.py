"""Options that several commands share: declared once, the same everywhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

__all__ = [
    "generation_option",
    "hardware_option",
    "market_option",
    "names_argument",
    "output_option",
    "root_option",
]

F = TypeVar("F", bound=Callable[..., Any])


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Complete spec names of the workspace around the current folder; never fails."""
    from olares_apps.cli.stores import workspace_root
    from olares_apps.errors import OlappsError
    from olares_apps.spec.workspace import load_config

    try:
        root = workspace_root(ctx.params.get("root"))
        folder = root / load_config(root).workspace.specs
        files = (path for path in folder.glob("*.yaml") if not path.name.endswith(".lock.yaml"))
        names = sorted(path.stem for path in files)
    except (OlappsError, OSError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def names_argument(command: F) -> F:
    """Add ``[NAME]...``: spec names or app names."""
    return click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_names)(
        command
    )


def output_option(*more: str) -> Callable[[F], F]:
    """Add ``--output``; ``more`` are forms besides text and json."""
    return click.option(
        "--output",
        envvar="OLAPPS_OUTPUT",
        type=click.Choice(["text", "json", *more]),
        default="text",
        show_default=True,
        help="Form of the result on stdout.",
    )


def root_option(command: F) -> F:
    """Add ``--workspace``."""
    return click.option(
        "--workspace",
        "root",
        envvar="OLAPPS_WORKSPACE",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder with olapps.toml; by default the nearest one above the current folder.",
    )(command)


def generation_option(command: F) -> F:
    """Add ``--generation``, which may be given several times."""
    return click.option(
        "--generation",
        "generations",
        multiple=True,
        metavar="NAME",
        help="Only this generation, for example olares-1.12.6; by default all of the workspace.",
    )(command)


def hardware_option(command: F) -> F:
    """Add ``--hardware``."""
    return click.option(
        "--hardware",
        metavar="PROFILE",
        help="The specs as they are on another hardware profile, for example rtx-3090.",
    )(command)


def market_option(command: F) -> F:
    """Add ``--market``."""
    return click.option(
        "--market",
        envvar="OLAPPS_MARKET",
        metavar="NAME|ADDRESS",
        help="Market of olapps.toml by name, or an address such as dir:PATH.",
    )(command)
