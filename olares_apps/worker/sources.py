"""The Worker's sources, as they travel with the package, and a folder that is made of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import olares_apps
from olares_apps.errors import UsageError

__all__ = ["CONFIG", "differing", "shipped_sources"]

CONFIG: Final = "wrangler.jsonc"
_FILES: Final = (
    CONFIG,
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "scripts/start.mjs",
)


def shipped_sources() -> Mapping[str, bytes]:
    """Return the files that a deployment needs, by path; `CONFIG` names no curator's Worker yet.

    The packages that they need are pinned with their digests in ``package-lock.json``.
    """
    package = Path(olares_apps.__file__).parent
    installed = package / "_worker"
    folder = installed if installed.is_dir() else package.parent / "market_worker"
    sources = sorted(path for path in (folder / "src").glob("*.*") if path.is_file())
    if not sources:
        raise UsageError(f"the Worker is missing: {folder}", hint="install the package again")
    paths = [*(folder / name for name in _FILES), *sources]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def differing(folder: Path) -> list[str]:
    """Return the files of a folder that are not as shipped; its configuration is its own."""
    shipped = {path: data for path, data in shipped_sources().items() if path != CONFIG}
    present = {path.relative_to(folder).as_posix() for path in (folder / "src").glob("*.*")}
    changed = {path for path, data in shipped.items() if not _holds(folder / path, data)}
    return sorted(changed | (present - shipped.keys()))


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data
