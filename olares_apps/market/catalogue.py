"""Which app a device is offered, per set of answers, and the hash of a set.

A set is what one kind of device sees: one per generation, ``any`` for a request that names
no version (every app once, with its newest archive), ``none`` for a release that is older
than every generation and must not be offered what it cannot install.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from semver import Version

from olares_apps.generations import OlaresVersion
from olares_apps.market import canonical
from olares_apps.market.entries import AppEntry, ArchiveEntry
from olares_apps.market.records import Revision, Window

__all__ = ["ANY", "FALLBACK", "NONE", "Offer", "View", "set_for", "set_names", "view"]

ANY: Final = "any"
NONE: Final = "none"
FALLBACK: Final = OlaresVersion(1, 12, 3)
"""The version that a device itself falls back to when it cannot tell its own (contract 2.1)."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One app as one set lists it."""

    name: str
    app: AppEntry
    archive: ArchiveEntry
    constraint: str


@dataclass(frozen=True, slots=True)
class View:
    """A revision as one set of devices sees it; ``offers`` are ordered by name."""

    name: str
    revision: Revision
    offers: tuple[Offer, ...]

    @property
    def newest_first(self) -> list[Offer]:
        """Return the offers by time of publishing, newest first, ties by name."""
        return sorted(self.offers, key=lambda offer: (-offer.archive.published, offer.name))

    @property
    def modified(self) -> int:
        """Return when the list last changed, in ms: an app came, changed or was removed."""
        entries = self.revision.apps.values()
        return max([self.revision.source.modified, *(entry.modified for entry in entries)])

    def hash(self, visible: Mapping[str, Any]) -> str:
        """Return the digest of everything that a device of this set can get.

        ``visible`` is what the lists show, without times. The digests of archives, details
        and icons stand for their bytes. No clock takes part: the same content gives the same
        hash whenever, wherever and by whomever it is published (contract 10.2).
        """
        objects = {
            offer.name: {
                "id": offer.app.id,
                "version": offer.archive.version,
                "chart": offer.archive.sha256,
                "detail": offer.archive.detail,
                "labels": list(offer.archive.card.labels),
                "icon": offer.app.icon.sha256 if offer.app.icon else None,
            }
            for offer in self.offers
        }
        return canonical.digest(canonical.encode({"objects": objects, "visible": visible}))


def set_names(windows: Iterable[Window]) -> list[str]:
    """Return the names of all sets."""
    return [*(window.name for window in windows), ANY, NONE]


def set_for(windows: Iterable[Window], version: OlaresVersion) -> str:
    """Return the set that a device of ``version`` is answered from."""
    return next((window.name for window in windows if window.accepts(version)), NONE)


def view(revision: Revision, name: str) -> View:
    """Return what the set called ``name`` offers."""
    constraints = {window.name: window.constraint for window in revision.generations}
    offers = []
    for app, entry in revision.live():
        served = {key: entry.current[key] for key in constraints if key in entry.current}
        generation = _newest(served) if name == ANY else name
        if generation in served:
            offers.append(Offer(app, entry, served[generation], constraints[generation]))
    return View(name, revision, tuple(offers))


def _newest(archives: Mapping[str, ArchiveEntry]) -> str | None:
    return max(archives, key=lambda name: Version.parse(archives[name].version), default=None)
