"""An argument list under construction, and the spelling of values in it."""

import json
from pathlib import PurePosixPath
from typing import Any

from olares_apps.engines.base import ASSET_FOLDER

__all__ = ["Arguments", "json_text"]


class Arguments:
    """An argument list under construction.

    ``refers`` maps an index of ``argv`` to the key of ``config`` that holds the same value;
    ``assets`` maps names below the asset folder to the workspace files carried there.
    """

    def __init__(self) -> None:
        self.argv: list[str] = []
        self.refers: dict[int, str] = {}
        self.config: dict[str, str] = {}
        self.assets: dict[str, str] = {}

    def word(self, value: str, *, key: str | None = None) -> None:
        """Append one argument; ``key`` publishes it in the ConfigMap."""
        self.argv.append(value)
        if key:
            self.refers[len(self.argv) - 1] = key
            self.config[key] = value

    def add(self, flag: str, value: str, *, key: str | None = None) -> None:
        """Append a flag and its value; ``key`` publishes the value in the ConfigMap."""
        self.argv.append(flag)
        self.word(value, key=key)

    def switch(self, on: str, off: str | None, value: bool | None) -> None:
        """Append the switch for a set value; None leaves it to the build."""
        flag = None if value is None else on if value else off
        if flag:
            self.argv.append(flag)

    def file(self, flag: str, path: str) -> None:
        """Append a flag and the place of a workspace file, which the chart then carries."""
        name = PurePosixPath(path).name
        self.assets[name] = path
        self.add(flag, f"{ASSET_FOLDER}/{name}")


def json_text(value: Any) -> str:
    """Return JSON on one line with sorted keys, so that layout of a spec changes no chart."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
