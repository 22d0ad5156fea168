"""The errors of the package: data, an exit code and a hint, never a traceback.

Tree::

    OlappsError                     exit 1  the operation failed
    |-- UsageError                  exit 2  the command or its input is wrong
    |   |-- UnknownName             a spec, market, profile or rule that does not exist
    |   `-- WorkspaceError          no workspace, or one that cannot be read
    |-- SpecError                   exit 1  a spec that cannot be used; carries problems
    |-- RenderError                 exit 1  a chart that cannot be rendered
    |-- ArchiveError                exit 1  an archive that cannot be made or trusted
    |-- CheckFailed                 exit 1  findings of severity error
    |-- FetchError                  exit 1  an outside fact that cannot be had
    `-- MarketError                 exit 1  a market that refuses or cannot be trusted
        |-- StoreCorrupt            head, revision or blob does not hold what it must
        |-- Conflict                somebody else published first
        `-- VersionRefused          not greater than published, or other bytes under it

Only ``olares_apps.cli.main`` turns an error into an exit status.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePath
from typing import ClassVar

__all__ = [
    "ArchiveError",
    "CheckFailed",
    "Conflict",
    "FetchError",
    "MarketError",
    "OlappsError",
    "Problem",
    "RenderError",
    "SpecError",
    "StoreCorrupt",
    "UnknownName",
    "UsageError",
    "VersionRefused",
    "WorkspaceError",
    "nearest",
]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that looks most like ``name``, or None when none is close."""
    folded = {item.casefold(): item for item in known}
    found = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


class OlappsError(Exception):
    """Base of every error the package raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UsageError(OlappsError):
    """The command line, the configuration or a value given on it is wrong."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that nothing answers to; the message suggests the nearest known one."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        self.suggestion = nearest(name, known)
        if self.suggestion:
            hint = f"did you mean {self.suggestion}?"
        elif known:
            listed = ", ".join(sorted(known)[:12])
            hint = f"known: {listed}" + (" ..." if len(known) > 12 else "")
        else:
            hint = f"there is no {kind} yet"
        super().__init__(f"unknown {kind} '{name}'", hint=hint)


class WorkspaceError(UsageError):
    """There is no workspace here, or it cannot be read."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a file: where it is, what it is and what to do.

    ``line`` and ``column`` count from 1; ``field`` is a dotted path such as
    ``engine.ctx``; ``value`` is the offending value as written.
    """

    message: str
    file: PurePath | None = None
    line: int | None = None
    column: int | None = None
    field: str | None = None
    value: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = str(self.file) if self.file else ""
        if self.line is not None:
            where += f":{self.line}"
        head = ": ".join(part for part in (where, self.field, self.message) if part)
        return f"{head} ({self.hint})" if self.hint else head


class SpecError(OlappsError):
    """A spec that cannot be used; every problem found is reported, not only the first."""

    def __init__(self, problems: Sequence[Problem], *, hint: str | None = None) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems), hint=hint)


class RenderError(OlappsError):
    """A template or a value that does not give a chart.

    ``field`` is the dotted path of the spec's field that is at fault, where one is.
    """

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        self.field = field
        super().__init__(message, hint=hint)


class ArchiveError(OlappsError):
    """An archive that is too large, unsafe to unpack, or not what its name says."""


class CheckFailed(OlappsError):
    """Checks found errors; the findings were reported already."""


class FetchError(OlappsError):
    """A fact from a model hub or an image registry that cannot be had."""


class MarketError(OlappsError):
    """A market that refuses an operation or cannot be trusted."""


class StoreCorrupt(MarketError):
    """Head, revision or blob does not hold what its name or digest promises."""


class Conflict(MarketError):
    """Head moved while this publish was being prepared, and a retry did not settle it."""


class VersionRefused(MarketError):
    """A version that is not greater than a published one, or other bytes under it."""
