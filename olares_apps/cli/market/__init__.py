"""`olapps market`: look at, serve and repair a market."""

from collections.abc import Mapping
from typing import Final

import click

from olares_apps.cli.lazy import LazyGroup

__all__ = ["command"]

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "status": ("market.status", "Show what is on offer now."),
    "history": ("market.history", "List the revisions, newest first."),
    "sync": ("market.sync", "Play a device that syncs and would install."),
    "verify": ("market.verify", "Read every stored object and compare digests."),
    "rollback": ("market.rollback", "Offer an older revision again."),
    "remove": ("market.remove", "Take apps off the market."),
    "gc": ("market.gc", "Remove what old revisions and interrupted publishes left."),
    "mirror": ("market.mirror", "Copy a market with its history."),
    "serve": ("market.serve", "Serve a market to devices on this network."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Look at, serve and repair a market."""
