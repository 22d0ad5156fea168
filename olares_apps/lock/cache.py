"""Answers of hubs and registries on disk, so that the same fact is fetched once.

What is keyed by a commit or a digest never changes. What a branch or a tag stands for does:
those answers are read only when the network must not be asked.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

__all__ = ["DAMAGED", "Cache", "cache_folder"]

DAMAGED: Final = (TypeError, KeyError, ValueError, AttributeError)
"""What reading a kept value raises when something else changed it: then it is not there."""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the cache: ``$XDG_CACHE_HOME/olapps``, else ``~/.cache/olapps``."""
    given = environ.get("XDG_CACHE_HOME", "")
    top = Path(given) if given and Path(given).is_absolute() else Path.home() / ".cache"
    return top / "olapps"


class Cache:
    """A folder of JSON documents. None as folder keeps nothing.

    A document that cannot be read counts as absent, one that cannot be written is not kept:
    a cache never stops anything.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, kind: str, *key: str) -> Any:
        """Return a kept document, None when there is none."""
        path = self._path(kind, key)
        if path is None:
            return None
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["key"] == list(key):
                return kept["value"]
        return None

    def put(self, kind: str, *key: str, value: Any) -> None:
        """Keep a document, in one step."""
        path = self._path(kind, key)
        if path is None:
            return
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}.{uuid4().hex[:8]}")
            partial.write_text(json.dumps({"key": list(key), "value": value}), encoding="utf-8")
            partial.replace(path)

    def _path(self, kind: str, key: tuple[str, ...]) -> Path | None:
        if self._folder is None:
            return None
        name = sha256("\0".join(key).encode()).hexdigest()
        return self._folder / kind / name[:2] / f"{name}.json"
