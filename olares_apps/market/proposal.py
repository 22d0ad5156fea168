"""What a publish would make of one spec: whether it changed, its next version, its new text.

Content is compared as it renders at version 0.0.0, so the tool's own edits of a spec do not
count as a change, and a change of a template does. A version that somebody raised by hand
above everything published is a wish to publish, whatever the content.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from semver import Version

from olares_apps.errors import Problem, SpecError, VersionRefused
from olares_apps.generations import GENERATIONS
from olares_apps.market.entries import AppEntry
from olares_apps.render.versions import Level, bump
from olares_apps.spec.edit import add_release, set_version
from olares_apps.spec.loader import LoadedSpec
from olares_apps.spec.models import AppSpec

__all__ = [
    "COMPARED_VERSION",
    "Intent",
    "Proposal",
    "base_version",
    "default_note",
    "edited",
    "propose",
]

COMPARED_VERSION: Final = "0.0.0"
"""Version at which charts are rendered to be compared; no archive has it."""


class Intent(StrEnum):
    """What a publish wants with a spec."""

    NEW = "new"
    UPDATE = "update"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The version that a spec gets; ``published`` is what is on offer, by generation."""

    intent: Intent
    version: str
    published: Mapping[str, str]


def propose(
    spec: AppSpec[Any],
    digests: Mapping[str, str],
    entry: AppEntry | None,
    level: Level | None,
) -> Proposal:
    """Compare a spec with what is published and choose its version.

    ``digests`` maps generations to the digest of the chart at :data:`COMPARED_VERSION`. Raises
    VersionRefused when the content changed, its version is taken, and ``level`` is None, and
    when the spec stands below what is on offer: it was written before somebody else's change,
    which a bump would take off the market again.
    """
    if entry is None:
        return Proposal(Intent.NEW, spec.version, {})
    published = {name: archive.version for name, archive in entry.current.items()}
    contents = {name: archive.content for name, archive in entry.current.items()}
    intent = Intent.UPDATE if entry.live else Intent.NEW
    if not entry.greatest or Version.parse(spec.version) > Version.parse(entry.greatest):
        return Proposal(intent, spec.version, published)
    if entry.live and all(contents.get(name) == digest for name, digest in digests.items()):
        return Proposal(Intent.UNCHANGED, spec.version, published)
    upcoming = bump(entry.greatest, level or "patch")
    base = base_version(entry)
    if base and Version.parse(spec.version) < Version.parse(base):
        raise VersionRefused(
            f"{spec.app}: version {spec.version} is lower than {base}, which is on offer, so this "
            f"spec lacks a change: one published from elsewhere, or a republished rollback; "
            f"published up to {entry.greatest}, next allowed {upcoming}",
            hint=f'take that change over, write version: "{base}", then publish with --bump',
        )
    if level is None:
        raise VersionRefused(
            f"{spec.app}: the content changed, but version {spec.version} is not greater than "
            f"published {entry.greatest}; next allowed {upcoming}",
            hint="add --bump patch, minor or major",
        )
    return Proposal(intent, upcoming, published)


def base_version(entry: AppEntry) -> str | None:
    """Return the version that a spec of this app has, or None when nothing is on offer.

    An archive of generation number i has the spec's patch number plus i.
    """
    for index, generation in enumerate(GENERATIONS):
        archive = entry.current.get(generation.name)
        if archive:
            version = Version.parse(archive.version)
            return str(version.replace(patch=max(version.patch - index, 0)))
    return None


def edited(text: str, loaded: LoadedSpec, version: str, note: str | None, default: str) -> str:
    """Return a spec's text for ``version``: its number, and a release entry that has notes.

    An entry that is there already keeps its notes; ``note`` then must not say otherwise.
    Raises SpecError when it does, or when the text cannot be edited safely.
    """
    note = note and note.replace("\r\n", "\n")
    if version != loaded.spec.version:
        text = set_version(text, version, path=loaded.path)
    listed = next((r for r in loaded.spec.releases if r.version == version), None)
    if listed and note in (None, listed.notes):
        return text
    if listed:
        message = f"has other notes for version {version} already"
        hint = "leave out --note, or change them there"
        raise loaded.located(SpecError([Problem(message, field="releases", hint=hint)]))
    return add_release(text, version, note if note is not None else default, path=loaded.path)


# What a reader calls the parts of a chart, by path; the first match counts.
_PARTS: Final[Sequence[tuple[str, str]]] = (
    ("templates/deployment", "server"),
    ("templates/config", "server"),
    ("templates/scripts", "model download"),
    ("templates/", "Kubernetes objects"),
    ("Chart.yaml", "page"),
    ("i18n/", "page"),
    ("OlaresManifest.yaml", "page and resources"),
)


def default_note(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Return release notes for who gave none: the parts of the chart that differ.

    Both charts are rendered at the same version.
    """
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    parts = dict.fromkeys(
        next((word for prefix, word in _PARTS if path.startswith(prefix)), "chart")
        for path in changed
    )
    if "page" in parts and "page and resources" in parts:
        del parts["page"]
    return f"Changed: {', '.join(parts)}." if parts else "Rebuilt."
