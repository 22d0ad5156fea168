"""What a simulated device says about a source."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["AppReport", "SourceReport"]


@dataclass(slots=True)
class AppReport:
    """One app of the source as the device sees it.

    ``appears``: it would be listed in the market. ``installs``: pressing the button would
    work. ``update_from`` is the installed version when the device would offer an update,
    ``downgrade_from`` when it is above the one on offer: such a device keeps what it has.
    ``problems`` say what is in the way, ``notes`` what is worth knowing.
    """

    id: str
    name: str = ""
    version: str = ""
    title: str = ""
    appears: bool = False
    installs: bool = False
    update_from: str | None = None
    downgrade_from: str | None = None
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, problem: str) -> None:
        """Record why the app does not appear or install."""
        self.problems.append(problem)


@dataclass(slots=True)
class SourceReport:
    """A whole sync: the source's own problems and one report per app.

    ``notes`` are what a device tolerates and a curator should know.
    """

    source: str
    olares: str
    generation: str
    hash: str = ""
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    apps: list[AppReport] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Say whether the source syncs and every app of it would install."""
        return not self.problems and all(app.installs for app in self.apps)

    def as_dict(self) -> Mapping[str, Any]:
        """Return the report with stable keys, as ``--output json`` prints it."""
        return {**asdict(self), "ok": self.ok}
