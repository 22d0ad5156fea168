"""Candidates: what somebody wants to publish, and whether the archives are what they claim."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from olares_apps.errors import ArchiveError
from olares_apps.generations import GENERATIONS
from olares_apps.market import canonical
from olares_apps.market.details import card, detail_document
from olares_apps.market.entries import ArchiveEntry, FileEntry
from olares_apps.render.archive import Archive, Unpacked, pack, unpack
from olares_apps.render.chart import ChartTree
from olares_apps.spec.types import VERSION_CHARACTERS, app_id

if TYPE_CHECKING:
    from olares_apps.market.pages.build import PageDraft

__all__ = [
    "Candidate",
    "CandidateArchive",
    "Icon",
    "archive_faults",
    "candidate_archive",
    "name_faults",
    "shape_faults",
    "unpacked_faults",
]

# Contract 5.6: PNG or WebP, at most 512 KB.
_ICON_BYTES: Final = 512 * 1024
_ICON_TYPES: Final[Mapping[str, Callable[[bytes], bool]]] = {
    "image/png": lambda data: data[:8] == b"\x89PNG\r\n\x1a\n",
    "image/webp": lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
}
_APP: Final = re.compile(r"[a-z][a-z0-9]{0,29}", re.ASCII)
_VERSION: Final = re.compile(r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Icon:
    """The picture of an app, served under ``/icons/<app>.png``; made by `Icon.of`."""

    data: bytes
    entry: FileEntry

    @classmethod
    def of(cls, data: bytes, name: str = "icon") -> "Icon":
        """Return an icon; raises ArchiveError unless it is PNG or WebP of at most 512 KiB."""
        kind = next((kind for kind, fits in _ICON_TYPES.items() if fits(data)), None)
        if kind is None:
            raise ArchiveError(f"{name} is neither PNG nor WebP", hint="convert it to PNG, 256x256")
        if len(data) > _ICON_BYTES:
            raise ArchiveError(
                f"{name} has {len(data)} bytes, limit {_ICON_BYTES}", hint="scale it to 256x256"
            )
        return cls(data, FileEntry(canonical.digest(data), len(data), kind))


@dataclass(frozen=True, slots=True)
class CandidateArchive:
    """One archive on its way to the market, for one generation.

    ``content`` is the digest of the chart rendered at version 0.0.0, so it says whether
    anything but the version changed. ``detail`` is the detail document (contract 2.5).
    """

    generation: str
    version: str
    data: bytes
    sha256: str
    tar_sha256: str
    content: str
    detail: Mapping[str, Any]

    def entry(self, published: int) -> ArchiveEntry:
        """Return what a revision records; ``published`` in ms."""
        return ArchiveEntry(
            version=self.version,
            sha256=self.sha256,
            size=len(self.data),
            tar_sha256=self.tar_sha256,
            content=self.content,
            detail=canonical.digest(canonical.encode(self.detail)),
            published=published,
            card=card(self.detail),
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """One app on its way to the market.

    A generation without an archive keeps what it offers; so does a missing icon. ``notes`` are
    the release notes of this version, ``page`` is what its page for people is made from.
    ``not_installable`` says why no device can install it: then it has no archives, and is listed.
    """

    app: str
    title: str
    archives: Sequence[CandidateArchive]
    icon: Icon | None = None
    notes: str = ""
    not_installable: str = ""
    page: "PageDraft | None" = None

    @property
    def id(self) -> str:
        """Return the app's id on a device."""
        return app_id(self.app)


def candidate_archive(
    tree: ChartTree, *, content: str, archive: Archive | None = None
) -> CandidateArchive:
    """Return the candidate for a rendered chart, packing it unless ``archive`` is given.

    Raises ArchiveError and MarketError as `pack` and `detail_document` do.
    """
    packed = archive or pack(tree)
    return CandidateArchive(
        generation=tree.generation,
        version=tree.version,
        data=packed.data,
        sha256=packed.sha256,
        tar_sha256=packed.tar_sha256,
        content=content,
        detail=detail_document(tree),
    )


def shape_faults(candidate: Candidate) -> list[str]:
    """Return what is wrong with a candidate before its archives are looked into."""
    faults = name_faults(candidate.app)
    if not candidate.archives:
        faults.append("has no archive")
    known = [generation.name for generation in GENERATIONS]
    order = [archive.generation for archive in candidate.archives]
    faults += [f"generation '{name}' is unknown" for name in order if name not in known]
    faults += [f"generation {name} has two archives" for name in known if order.count(name) > 1]
    for archive in candidate.archives:
        if any(not name.strip() for name in archive.detail.get("categories") or ()):
            faults.append(f"a category of the chart for {archive.generation} is empty")
        version = archive.version
        if not version:
            faults.append(f"the version for {archive.generation} is empty")
        elif not _VERSION.fullmatch(version):
            faults.append(f"version '{version}' is not MAJOR.MINOR.PATCH without leading zeros")
        elif len(version) > VERSION_CHARACTERS:
            faults.append(
                f"version {version} has {len(version)} characters, limit {VERSION_CHARACTERS}"
            )
    return faults


def name_faults(app: str) -> list[str]:
    """Return what is wrong with the name of an app."""
    if _APP.fullmatch(app):
        return []
    return [f"'{app}' is no app name: a-z and 0-9, 1 to 30, a letter first"]


def archive_faults(app: str, archive: CandidateArchive) -> list[str]:
    """Return what contradicts the entry inside an archive: unpacked, read, compared."""
    name = f"{app}-{archive.version}.tgz"
    if canonical.digest(archive.data) != archive.sha256:
        return [f"archive {name}: its bytes are not those of its sha256"]
    try:
        return unpacked_faults(unpack(archive.data, name=name), app, archive.version, name)
    except ArchiveError as error:
        return [f"archive {error}"]


def unpacked_faults(unpacked: Unpacked, app: str, version: str, name: str) -> list[str]:
    """Return every place inside an archive that names another app or version."""
    expected = {
        ("Chart.yaml", "name"): app,
        ("Chart.yaml", "version"): version,
        ("OlaresManifest.yaml", "metadata.name"): app,
        ("OlaresManifest.yaml", "metadata.version"): version,
    }
    faults = []
    if unpacked.root != app:
        faults.append(f"archive {name}: its top folder is {unpacked.root}, expected {app}")
    documents: dict[str, Any] = {}
    for file in dict.fromkeys(file for file, _ in expected):
        try:
            documents[file] = _yaml(unpacked.files, file)
        except ValueError as error:
            faults.append(f"archive {name}: {file} {error}")
    for (file, path), wanted in expected.items():
        if file not in documents:
            continue
        found = documents[file]
        for key in path.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if found != wanted:
            faults.append(f"archive {name} contains {file} {path} {found!r}, expected '{wanted}'")
    return faults


def _yaml(files: Mapping[str, bytes], name: str) -> Any:
    import yaml

    if name not in files:
        raise ValueError("is missing")
    try:
        return yaml.load(files[name], Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"is not YAML: {str(error).splitlines()[0]}") from error
