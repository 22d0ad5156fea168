"""A chart before it is packed: plain files plus the data they were written from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

__all__ = ["ChartTree", "Publisher"]


@dataclass(frozen=True, slots=True)
class Publisher:
    """Who publishes: defaults that a workspace gives to all of its specs.

    ``icons`` is the address under which ``<app>.png`` is served, without a trailing slash.
    """

    name: str
    website: str
    icons: str


@dataclass(frozen=True, slots=True)
class ChartTree:
    """The rendered tree of one app for one generation.

    ``files`` maps paths relative to the chart's root (forward slashes) to content.
    ``manifest`` and ``i18n`` are the data that OlaresManifest.yaml and the locale files
    were dumped from: checks and market documents read them instead of parsing text.
    """

    app: str
    version: str
    generation: str
    files: Mapping[str, bytes]
    manifest: Mapping[str, Any] = field(default_factory=dict)
    i18n: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def digest(self) -> str:
        """Return a sha256 over paths and content, independent of order and packing."""
        total = sha256()
        for path in sorted(self.files):
            data = self.files[path]
            total.update(f"{len(path)}:{path}:{len(data)}:".encode())
            total.update(data)
        return total.hexdigest()
