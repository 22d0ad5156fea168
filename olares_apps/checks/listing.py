"""What a chart's folder or archive holds, entry by entry, before anything trusts it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Entry", "EntryKind", "Fault", "FaultKind", "GzipFacts", "Listing", "Published"]


class EntryKind(StrEnum):
    """What an entry of a folder or an archive is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    ``path`` is as stored; of an archive it begins with the top folder. ``mode`` holds the
    permission bits, ``target`` where a link points, ``leaves`` whether that is outside the
    chart or nowhere. ``mtime`` is seconds since 1970.
    """

    path: str
    kind: EntryKind
    mode: int = 0o644
    size: int = 0
    target: str = ""
    leaves: bool = False
    mtime: int = 0


class FaultKind(StrEnum):
    """What is wrong with a folder or an archive as a whole."""

    PACKING = "packing"
    """It is not one gzip around one tar."""
    SIZE = "size"
    """It is larger, or has more entries, than is read."""
    CONTENT = "content"
    """Something in it cannot be read, or is not what it says."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a folder or an archive is not what it should be.

    ``loses`` says that files of it were not read, so nothing can be said of what is missing.
    """

    kind: FaultKind
    message: str
    loses: bool = True


@dataclass(frozen=True, slots=True)
class GzipFacts:
    """What the header of a gzip file says: a stored name, and seconds since 1970."""

    stored_name: str = ""
    mtime: int = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder or an archive.

    ``name`` is the file name of an archive or the name of a folder; ``size`` the bytes of the
    archive. ``roots`` are the top folders of an archive. ``faults`` say what is wrong with it.
    """

    name: str
    is_archive: bool
    size: int = 0
    sha256: str = ""
    roots: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    faults: tuple[Fault, ...] = ()
    gzip: GzipFacts = field(default_factory=GzipFacts)

    @property
    def is_complete(self) -> bool:
        """Say whether everything in it was read."""
        return not any(fault.loses for fault in self.faults)

    def of_kind(self, *kinds: EntryKind) -> Iterator[Entry]:
        """Yield the entries of some kinds."""
        return (entry for entry in self.entries if entry.kind in kinds)


@dataclass(frozen=True, slots=True)
class Published:
    """What a market holds of one app.

    ``archives`` maps each published version to the sha256 of its archive, or to "" when that
    is not known. ``values`` and ``entrances`` are those of the newest version, None when
    unknown.
    """

    archives: dict[str, str]
    values: dict[str, object] | None = None
    entrances: tuple[str, ...] | None = None
