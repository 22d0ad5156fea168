"""Entries: what a market records about one app and its archives.

Times are whole milliseconds since 1970 (UTC), as the device's API gives them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, cast

from olares_apps.market import canonical
from olares_apps.market.fields import SCHEMA, Fields

__all__ = [
    "AppEntry",
    "AppState",
    "ArchiveEntry",
    "Card",
    "FileEntry",
    "Ledger",
    "LedgerEntry",
    "PageEntry",
    "archive_name",
]

Json = dict[str, Any]
LIVE: Final = "live"
LISTED: Final = "listed"
REMOVED: Final = "removed"
AppState = Literal["live", "listed", "removed"]


def archive_name(app: str, version: str) -> str:
    """Return the file name under which a device asks for an archive."""
    return f"{app}-{version}.tgz"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A blob that is served as a file: icon or page. ``size`` in bytes, ``type`` a media type."""

    sha256: str
    size: int
    type: str

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"sha256": self.sha256, "size": self.size, "type": self.type}

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        entry = cls(fields.sha256("sha256"), fields.integer("size"), fields.text("type"))
        fields.end()
        return entry


@dataclass(frozen=True, slots=True)
class Card:
    """What the lists of a market show of an archive, so that no list has to open details."""

    description: str
    icon: str
    categories: tuple[str, ...]
    cfg_type: str = "app"
    featured_image: str = ""
    labels: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "description": self.description,
            "icon": self.icon,
            "categories": list(self.categories),
            "cfg_type": self.cfg_type,
            "featured_image": self.featured_image,
            "labels": list(self.labels),
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        card = cls(
            description=fields.text("description"),
            icon=fields.text("icon"),
            categories=fields.texts("categories"),
            cfg_type=fields.text("cfg_type"),
            featured_image=fields.text("featured_image"),
            labels=fields.texts("labels"),
        )
        fields.end()
        return card


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One published archive.

    ``sha256`` and ``size`` (bytes) are of the ``.tgz``, ``tar_sha256`` of the tar inside it,
    which stays equal where another zlib packs differently. ``content`` is the digest of the
    chart without its version, ``detail`` the blob of the detail document, ``published`` in ms.
    """

    version: str
    sha256: str
    size: int
    tar_sha256: str
    content: str
    detail: str
    published: int
    card: Card

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "version": self.version,
            "sha256": self.sha256,
            "size": self.size,
            "tar_sha256": self.tar_sha256,
            "content": self.content,
            "detail": self.detail,
            "published": self.published,
            "card": self.card.to_json(),
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        entry = cls(
            version=fields.text("version"),
            sha256=fields.sha256("sha256"),
            size=fields.integer("size"),
            tar_sha256=fields.sha256("tar_sha256"),
            content=fields.sha256("content"),
            detail=fields.sha256("detail"),
            published=fields.integer("published"),
            card=fields.one("card", Card.from_json),
        )
        fields.end()
        return entry


@dataclass(frozen=True, slots=True)
class PageEntry:
    """The page of an app for people, as its publisher made it.

    ``facts`` is the blob it was made from, ``html`` the finished page, ``csp`` the content
    security policy it is served with, ``share`` the picture that links to it show. ``brief`` is
    what the catalogue and the leaderboard say of the app (`market.pages.brief`): with it here,
    a publisher prepares those without reading anything of the apps of others.
    """

    facts: str
    html: FileEntry
    csp: str
    share: FileEntry
    brief: Mapping[str, Any]

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "facts": self.facts,
            "html": self.html.to_json(),
            "csp": self.csp,
            "share": self.share.to_json(),
            "brief": dict(self.brief),
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        entry = cls(
            facts=fields.sha256("facts"),
            html=fields.one("html", FileEntry.from_json),
            csp=fields.text("csp"),
            share=fields.one("share", FileEntry.from_json),
            brief=fields.object("brief"),
        )
        fields.end()
        return entry


@dataclass(frozen=True, slots=True)
class AppEntry:
    """One app of the catalogue.

    A ``live`` app is on offer to devices. A ``listed`` one has a page for people that says why it
    cannot be installed, and no device ever sees it. A ``removed`` one is a tombstone.

    ``current`` maps generation names to the archive on offer; it is empty unless the app is live.
    ``greatest`` is the highest version ever published, over all generations and through
    rollbacks, empty when there was none: a later publish must be above it. ``modified`` (ms) is
    when its offer last changed, 0 when it never had one. ``ledger`` is the blob that lists every
    archive the app ever had. ``notes`` are the release notes of the newest publish, so that an
    interrupted one can finish its spec. ``page`` is missing where the publisher prepared none.
    """

    id: str
    title: str
    state: AppState
    greatest: str
    modified: int
    ledger: str
    current: Mapping[str, ArchiveEntry] = field(default_factory=dict)
    icon: FileEntry | None = None
    notes: str = ""
    page: PageEntry | None = None

    @property
    def live(self) -> bool:
        """Say whether the app is on offer."""
        return self.state == LIVE

    @property
    def shown(self) -> bool:
        """Say whether people see the app in the market's pages."""
        return self.state != REMOVED

    def to_json(self) -> Json:
        """Return the stored form."""
        # Without a page no field: records from before there were pages keep their text.
        page = {"page": self.page.to_json()} if self.page else {}
        return page | {
            "id": self.id,
            "title": self.title,
            "state": self.state,
            "greatest": self.greatest,
            "modified": self.modified,
            "ledger": self.ledger,
            "current": {name: entry.to_json() for name, entry in self.current.items()},
            "icon": self.icon.to_json() if self.icon else None,
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        state = fields.text("state")
        if state not in (LIVE, LISTED, REMOVED):
            raise fields.fault("state", f"is '{state}', expected {LIVE}, {LISTED} or {REMOVED}")
        entry = cls(
            id=fields.text("id"),
            title=fields.text("title"),
            state=cast(AppState, state),
            greatest=fields.text("greatest"),
            modified=fields.integer("modified"),
            ledger=fields.sha256("ledger"),
            current=fields.mapping("current", ArchiveEntry.from_json),
            icon=fields.optional("icon", FileEntry.from_json),
            notes=fields.text("notes"),
            page=fields.one("page", PageEntry.from_json) if fields.has("page") else None,
        )
        if entry.live != bool(entry.current):
            raise fields.fault("current", f"does not fit the state {state}")
        if state == LISTED and entry.page is None:
            raise fields.fault("page", f"is missing for the state {state}")
        fields.end()
        return entry


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One archive of an app's history and the generation it was made for."""

    generation: str
    archive: ArchiveEntry

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"generation": self.generation, **self.archive.to_json()}

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        generation = fields.text("generation")
        return cls(generation, ArchiveEntry.from_json(fields))


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every archive that an app ever had, by file name; only ever grows."""

    app: str
    charts: Mapping[str, LedgerEntry] = field(default_factory=dict)

    def adding(self, generation: str, archive: ArchiveEntry) -> "Ledger":
        """Return a ledger with one archive more."""
        name = archive_name(self.app, archive.version)
        return Ledger(self.app, {**self.charts, name: LedgerEntry(generation, archive)})

    def encode(self) -> bytes:
        """Return the stored form."""
        charts = {name: entry.to_json() for name, entry in self.charts.items()}
        return canonical.encode({"schema": SCHEMA, "app": self.app, "charts": charts})

    @classmethod
    def decode(cls, data: bytes, what: str) -> Self:
        """Read the stored form; ``what`` names it in the StoreCorrupt that it may raise."""
        fields = Fields.read(data, what)
        ledger = cls(fields.text("app"), fields.mapping("charts", LedgerEntry.from_json))
        fields.end()
        return ledger
