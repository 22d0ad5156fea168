"""Which market a command talks to."""

import os
from pathlib import Path

from olares_apps.cli import output as out
from olares_apps.errors import WorkspaceError
from olares_apps.market.store import Store, open_store
from olares_apps.spec.workspace import find_root, load_config

__all__ = ["is_address", "store_for", "workspace_root"]


def is_address(text: str) -> bool:
    """Say whether a market is given by address and needs no workspace to be found."""
    return text.startswith(("dir:", "http://", "https://"))


def workspace_root(root: Path | None = None) -> Path:
    """Return the workspace: the given one, $OLAPPS_WORKSPACE, or the one around the folder.

    Raises WorkspaceError when there is none.
    """
    named = root or os.environ.get("OLAPPS_WORKSPACE")
    return Path(named).resolve() if named else find_root(Path.cwd())


def store_for(market: str | None, root: Path | None = None) -> Store:
    """Return the store that a command names, or the default of the workspace around it.

    An address given on the command line is relative to the current folder, one from
    olapps.toml to the workspace. Raises WorkspaceError, UnknownName or UsageError.
    """
    if market and is_address(market):
        return open_store(market, base=Path.cwd(), tell=out.note)
    try:
        top = workspace_root(root)
    except WorkspaceError as error:
        raise WorkspaceError(
            error.message, hint="or name a market by address: --market dir:PATH"
        ) from None
    return open_store(load_config(top).market.address(market), base=top, tell=out.note)
