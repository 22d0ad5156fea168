"""The records of a market: what a store holds, typed, with one text form each.

Everything but the head is immutable and named by its content. A revision is the complete
catalogue of one moment; the archives that it no longer offers stay listed in ledgers, one
blob per app, so the revision's size depends on the number of apps and not on their history.

Times are nanoseconds since 1970 (UTC) unless a field says milliseconds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from olares_apps.errors import MarketError, UsageError
from olares_apps.generations import GENERATIONS, Generation, OlaresVersion
from olares_apps.market import canonical
from olares_apps.market.entries import AppEntry
from olares_apps.market.fields import SCHEMA, Fields

__all__ = ["WINDOWS", "Change", "Head", "Revision", "Source", "Window", "drawn_anew"]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Window:
    """A generation as stored with a revision, so that a reader needs no table of its own.

    It serves releases from ``first`` up to but not including ``before`` (None: no end).
    """

    name: str
    first: str
    before: str | None
    constraint: str

    @classmethod
    def of(cls, generation: Generation) -> Self:
        """Return the stored form of a generation."""
        before = str(generation.before) if generation.before else None
        return cls(generation.name, str(generation.first), before, generation.constraint)

    def accepts(self, version: OlaresVersion) -> bool:
        """Say whether a device of ``version`` is served from this generation."""
        first, before = OlaresVersion.parse(self.first), self.before
        return first <= version and (before is None or version < OlaresVersion.parse(before))

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "name": self.name,
            "first": self.first,
            "before": self.before,
            "constraint": self.constraint,
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        window = cls(
            name=fields.text("name"),
            first=fields.text("first"),
            before=fields.optional_text("before"),
            constraint=fields.text("constraint"),
        )
        try:
            window.accepts(OlaresVersion.parse(window.first))
        except UsageError as error:
            raise fields.fault("", str(error)) from error
        fields.end()
        return window


WINDOWS: Final = tuple(Window.of(item) for item in GENERATIONS)
"""The generations that this release of olapps publishes for."""


@dataclass(frozen=True, slots=True)
class Source:
    """How the market names itself on a device (contract 2.6, 2.7). ``modified`` in ms."""

    id: str = "market.olapps"
    label: str = "olapps market"
    icon: str = ""
    modified: int = 0

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"id": self.id, "label": self.label, "icon": self.icon, "modified": self.modified}

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        source = cls(
            id=fields.text("id"),
            label=fields.text("label"),
            icon=fields.text("icon"),
            modified=fields.integer("modified"),
        )
        fields.end()
        return source


@dataclass(frozen=True, slots=True)
class Change:
    """What one revision did to one app: versions per generation before and after."""

    app: str
    action: str
    before: Mapping[str, str]
    after: Mapping[str, str]

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "app": self.app,
            "action": self.action,
            "before": dict(self.before),
            "after": dict(self.after),
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the stored form; raises StoreCorrupt."""
        change = cls(
            app=fields.text("app"),
            action=fields.text("action"),
            before=fields.text_map("before"),
            after=fields.text_map("after"),
        )
        fields.end()
        return change


@dataclass(frozen=True, slots=True)
class Revision:
    """One complete state of a market; its name is the sha256 of its text.

    ``parent`` is the revision that it replaced, ``restores`` the older one whose content a
    rollback or a republish brought back. ``answers`` maps the path of every prepared answer (below
    ``responses/<revision>/``) to its sha256, ``hash`` is over all that devices can see.
    """

    parent: str | None
    created: int
    action: str = "publish"
    publisher: str = ""
    note: str = ""
    restores: str | None = None
    source: Source = Source()
    generations: tuple[Window, ...] = WINDOWS
    apps: Mapping[str, AppEntry] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    hash: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)

    def live(self) -> Iterable[tuple[str, AppEntry]]:
        """Yield the apps on offer, ordered by name."""
        return ((name, entry) for name, entry in sorted(self.apps.items()) if entry.live)

    def listed(self) -> Iterable[tuple[str, AppEntry]]:
        """Yield the apps that only people see, ordered by name."""
        return (
            (name, entry)
            for name, entry in sorted(self.apps.items())
            if entry.shown and not entry.live
        )

    def encode(self) -> bytes:
        """Return the stored form."""
        return canonical.encode(
            {
                "schema": SCHEMA,
                "parent": self.parent,
                "created": canonical.time_text(self.created),
                "action": self.action,
                "publisher": self.publisher,
                "note": self.note,
                "restores": self.restores,
                "source": self.source.to_json(),
                "generations": [window.to_json() for window in self.generations],
                "apps": {name: entry.to_json() for name, entry in self.apps.items()},
                "changes": [change.to_json() for change in self.changes],
                "hash": self.hash,
                "answers": dict(self.answers),
            }
        )

    @classmethod
    def decode(cls, data: bytes, what: str) -> Self:
        """Read the stored form; ``what`` names it in the StoreCorrupt that it may raise."""
        fields = Fields.read(data, what)
        revision = cls(
            parent=fields.optional_text("parent"),
            created=fields.time("created"),
            action=fields.text("action"),
            publisher=fields.text("publisher"),
            note=fields.text("note"),
            restores=fields.optional_text("restores"),
            source=fields.one("source", Source.from_json),
            generations=tuple(Window.from_json(item) for item in fields.each("generations")),
            apps=fields.mapping("apps", AppEntry.from_json),
            changes=tuple(Change.from_json(item) for item in fields.each("changes")),
            hash=fields.sha256("hash"),
            answers=fields.text_map("answers"),
        )
        fields.end()
        return revision

    def head(self, identity: str) -> "Head":
        """Return the head that makes this revision, named ``identity``, the live one."""
        return Head(
            revision=identity,
            hash=self.hash,
            updated=self.created,
            apps=sum(entry.live for entry in self.apps.values()),
            source=self.source.id,
            label=self.source.label,
            generations=self.generations,
            answers=self.answers,
        )


def drawn_anew(live: Revision) -> bool:
    """Say whether the next revision draws the generations of a live one anew.

    Raises MarketError when it has one that this olapps does not know: its apps would be lost.
    """
    names = {window.name for window in live.generations}
    unknown = sorted(names - {generation.name for generation in GENERATIONS})
    if unknown:
        raise MarketError(
            f"the market has the generation {', '.join(unknown)}, which this olapps does not know",
            hint="update olapps; nothing was changed",
        )
    return live.generations != WINDOWS


@dataclass(frozen=True, slots=True)
class Head:
    """The pointer to the live revision, and what a server needs to find its answers.

    Everything in it follows from the revision, so a damaged head loses nothing.
    """

    revision: str
    hash: str
    updated: int
    apps: int
    source: str
    label: str
    generations: tuple[Window, ...]
    answers: Mapping[str, str]

    def encode(self) -> bytes:
        """Return the stored form."""
        return canonical.encode(
            {
                "schema": SCHEMA,
                "revision": self.revision,
                "hash": self.hash,
                "updated": canonical.time_text(self.updated),
                "apps": self.apps,
                "source": self.source,
                "label": self.label,
                "generations": [window.to_json() for window in self.generations],
                "answers": dict(self.answers),
            }
        )

    @classmethod
    def decode(cls, data: bytes, what: str) -> Self:
        """Read the stored form; ``what`` names it in the StoreCorrupt that it may raise."""
        fields = Fields.read(data, what)
        head = cls(
            revision=fields.sha256("revision"),
            hash=fields.sha256("hash"),
            updated=fields.time("updated"),
            apps=fields.integer("apps"),
            source=fields.text("source"),
            label=fields.text("label"),
            generations=tuple(Window.from_json(item) for item in fields.each("generations")),
            answers=fields.text_map("answers"),
        )
        fields.end()
        return head
