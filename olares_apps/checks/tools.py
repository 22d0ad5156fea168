"""Other programs of the machine, behind one small interface, so that tests can hand in theirs."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

__all__ = ["SystemTools", "ToolRun", "Tools"]

_TIMEOUT_SECONDS: Final = 60
_MOST_CHARACTERS: Final = 200_000
_FORWARDED: Final = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL")


@dataclass(frozen=True, slots=True)
class ToolRun:
    """How a program ended: its status, and what it printed (stdout, then stderr)."""

    status: int
    output: str


class Tools(Protocol):
    """Finds and runs programs."""

    def find(self, name: str) -> str | None:
        """Return the path of a program, or None when the machine does not have it."""

    def run(self, argv: Sequence[str], folder: Path) -> ToolRun:
        """Run a program in ``folder`` and return how it ended."""


@dataclass(frozen=True, slots=True)
class SystemTools:
    """The programs on the PATH; ``OLAPPS_HELM`` and ``OLAPPS_OLARES_CLI`` name others.

    ``environ`` is the environment to look into. Programs get only what they need of it: no
    cluster configuration, no secrets.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def find(self, name: str) -> str | None:
        """Return the path of a program, or None when the machine does not have it."""
        named = self.environ.get("OLAPPS_" + name.replace("-", "_").upper())
        return named or shutil.which(name, path=self.environ.get("PATH", ""))

    def run(self, argv: Sequence[str], folder: Path) -> ToolRun:
        """Run a program; one that does not end within a minute has status 124."""
        environment = {key: self.environ[key] for key in _FORWARDED if key in self.environ}
        try:
            done = subprocess.run(
                list(argv),
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ToolRun(124, f"did not end within {_TIMEOUT_SECONDS} s")
        except OSError as error:
            return ToolRun(126, f"cannot be started: {error.strerror}")
        return ToolRun(done.returncode, done.stdout.decode("utf-8", "replace")[:_MOST_CHARACTERS])
