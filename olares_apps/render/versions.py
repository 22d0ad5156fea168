"""Version numbers of archives: one number per archive, monotone per app over all generations.

A spec names the version of its oldest generation's archive; the archive of the next newer
generation has the patch number after it. So a device that upgrades its system also sees an
upgrade of the app, and one file name never means two contents.
"""

from collections.abc import Iterable
from typing import Literal

from semver import Version

from olares_apps.errors import RenderError
from olares_apps.spec.types import VERSION_CHARACTERS

__all__ = ["Level", "archive_version", "bump", "greatest", "next_version"]

Level = Literal["patch", "minor", "major"]


def archive_version(base: str, index: int) -> str:
    """Return the version of generation number ``index`` (0 is the oldest) of a spec's version.

    Raises RenderError when the result no longer fits into a device's version column.
    """
    version = Version.parse(base)
    return _fitting(version.replace(patch=version.patch + index))


def bump(version: str, level: Level) -> str:
    """Return ``version`` raised by one step; the parts behind the raised one become 0."""
    steps = {"patch": Version.bump_patch, "minor": Version.bump_minor, "major": Version.bump_major}
    return _fitting(steps[level](Version.parse(version)))


def greatest(versions: Iterable[str]) -> str | None:
    """Return the greatest version by number (1.10.0 is above 1.9.0), or None when there is none."""
    return max(versions, key=Version.parse, default=None)


def next_version(spec_version: str, published: Iterable[str], level: Level) -> str:
    """Return the version that a spec gets for its next publish.

    It is one step above every published archive of the app, whatever its generation. An app
    that was never published keeps the version that its spec names, and so does a spec whose
    version is above all published ones already.
    """
    newest = greatest(published)
    if newest is None or Version.parse(spec_version) > Version.parse(newest):
        return spec_version
    return bump(newest, level)


def _fitting(version: Version) -> str:
    text = str(version)
    if len(text) > VERSION_CHARACTERS:
        raise RenderError(
            f"version {text} has {len(text)} characters, limit {VERSION_CHARACTERS}",
            hint="raise the minor or major number by hand: it resets the patch number",
        )
    return text
