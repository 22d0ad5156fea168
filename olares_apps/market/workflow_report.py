"""What a curator asks of a publish from specs, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olares_apps.market.proposal import Intent
from olares_apps.market.publish import PublishReport
from olares_apps.market.records import Source
from olares_apps.render.versions import Level

__all__ = ["AppResult", "Request", "WorkflowReport"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the curator asked for."""

    level: Level | None = None
    note: str | None = None
    dry_run: bool = False
    publisher: str = ""
    source: Source | None = None
    keep_going: bool = False


@dataclass(slots=True)
class AppResult:
    """What happened to one app: ``before`` and ``after`` map generations to versions.

    ``reason`` says why it is not on offer, for an app that no device can install.
    """

    name: str
    app: str
    action: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    digests: Mapping[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the record with stable keys, as ``--output json`` prints it."""
        return {
            "name": self.name,
            "app": self.app,
            "action": self.action,
            "before": dict(self.before),
            "after": dict(self.after),
            "digests": dict(self.digests),
            "files": self.files,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class WorkflowReport:
    """The whole publish; ``market`` is None when there was nothing to send to it.

    ``failed`` says by spec why it was left as it is; only a publish that keeps going has any.
    """

    apps: Sequence[AppResult]
    dry_run: bool
    revision: str | None
    market: PublishReport | None = None
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Say whether anything was published, finished or would be."""
        return bool(self.market) or any(app.action != Intent.UNCHANGED for app in self.apps)

    def as_dict(self) -> dict[str, Any]:
        """Return the report with stable keys, as ``--output json`` prints it."""
        return {
            "dry_run": self.dry_run,
            "changed": self.changed,
            "revision": self.revision,
            "market": self.market.as_dict() if self.market else None,
            "apps": [app.as_dict() for app in self.apps],
            "failed": dict(self.failed),
        }
