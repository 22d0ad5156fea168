"""`olapps worker`: the market as a Cloudflare Worker."""

from collections.abc import Mapping
from typing import Final

import click

from olares_apps.cli.lazy import LazyGroup

__all__ = ["command"]

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "init": ("worker.init", "Write the Worker's folder and say what to do next."),
    "token": ("worker.token", "Give out and take back tokens for publishing."),
    "deploy": ("worker.deploy", "Deploy the Worker, or try it with --dry-run."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Run the market as a Cloudflare Worker."""
