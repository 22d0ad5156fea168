"""Where a workspace keeps its Worker, and which one it is."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from olares_apps.cli.stores import workspace_root
from olares_apps.errors import UsageError
from olares_apps.spec.config import CONFIG_FILE, WorkspaceConfig
from olares_apps.spec.workspace import load_config
from olares_apps.worker.target import Target

if TYPE_CHECKING:
    from olares_apps.worker.tokens import Entry

__all__ = ["Workshop", "open_workshop"]


@dataclass(frozen=True, slots=True)
class Workshop:
    """The Worker's folder of a workspace and the Worker that olapps.toml names.

    ``foreign_icons`` says that devices would look for icons elsewhere; empty when they would not.
    """

    folder: Path
    target: Target
    foreign_icons: str

    @property
    def tokens(self) -> Path:
        """Return the file with the entries of the tokens."""
        return self.folder / "tokens.json"

    def read_tokens(self) -> "list[Entry]":
        """Return the entries; none when there is no file. Raises UsageError."""
        from olares_apps.worker.tokens import decode

        return decode(self.tokens.read_bytes(), str(self.tokens)) if self.tokens.is_file() else []


def open_workshop(root: Path | None) -> Workshop:
    """Return the workshop of the workspace; raises WorkspaceError, or UsageError without one."""
    top = workspace_root(root)
    config = load_config(top)
    worker = config.worker
    if worker is None:
        raise UsageError(f"{top / CONFIG_FILE} names no Worker", hint="run olapps worker init")
    return Workshop(
        top / worker.folder,
        Target(worker.name, worker.bucket or worker.name, worker.account),
        _foreign_icons(config),
    )


def _foreign_icons(config: WorkspaceConfig) -> str:
    """Say that icons are not on the host of any market of the workspace, if so."""
    markets = (config.market.default, *config.market.stores.values())
    hosts = {urlsplit(item).netloc for item in markets} - {""}
    icons = urlsplit(config.publisher.icons).netloc
    if icons in hosts:
        return ""
    return (
        f"[publisher] icons are at {icons}, no market of olapps.toml is there"
        f" ({', '.join(sorted(hosts)) or 'none has a web address'})"
    )
