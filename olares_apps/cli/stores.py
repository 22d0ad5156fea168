"""Which market a command talks to."""

from pathlib import Path

from olares_apps.errors import WorkspaceError
from olares_apps.market.store import Store, open_store
from olares_apps.spec.workspace import find_root, load_config

__all__ = ["is_address", "store_for", "store_of"]


def is_address(text: str) -> bool:
    """Say whether a market is given by address and needs no workspace to be found."""
    return text.startswith(("dir:", "http://", "https://"))


def store_of(root: Path, address: str) -> Store:
    """Return the store at an address; a relative folder lies in the workspace."""
    return open_store(address, base=root)


def store_for(market: str | None, root: Path | None = None) -> Store:
    """Return the store that a command names, or the default of the workspace around it.

    An address given on the command line is relative to the current folder, one from
    olapps.toml to the workspace. Raises WorkspaceError, UnknownName or UsageError.
    """
    if market and is_address(market):
        return open_store(market, base=Path.cwd())
    try:
        top = root or find_root(Path.cwd())
    except WorkspaceError as error:
        raise WorkspaceError(
            error.message, hint="or name a market by address: --market dir:PATH"
        ) from None
    return open_store(load_config(top).market.address(market), base=top)
