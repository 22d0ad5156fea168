"""Version ranges as Helm reads them: ``>=1.12.6-0``, ``~1.2``, ``^1 || 2.x``.

The rules are those of Masterminds/semver v3.
"""

import re
from dataclasses import dataclass

from semver import Version

from olares_apps.helm.calls import CallFailed

__all__ = ["VersionRange", "parse_version", "version_matches"]

_NUMBER = r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?"
_WILD = (
    r"v?([0-9]+|[xX*])(?:\.([0-9]+|[xX*]))?(?:\.([0-9]+|[xX*]))?"
    r"(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"
)
_ONE = re.compile(rf"\s*(=>|=<|>=|<=|!=|~>|[=><~^]?)\s*{_WILD}\s*(?:,|(?=\s|$|[=><~^!]))")
_HYPHEN = re.compile(rf"({_WILD})\s+-\s+({_WILD})")


def parse_version(text: str) -> Version:
    """Read a version; ``v1.2`` is taken for ``1.2.0``.

    Raises :class:`CallFailed` for a text that is no version.
    """
    match = re.fullmatch(_NUMBER, text)
    if match is None:
        raise CallFailed(f"invalid semantic version: {text!r}")
    major, minor, patch, prerelease, build = match.groups()
    try:
        return Version(int(major), int(minor or 0), int(patch or 0), prerelease, build)
    except ValueError as error:
        raise CallFailed(f"invalid semantic version: {text!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class _Bound:
    """One comparison; ``given`` counts the numbers that are written out (0 to 3)."""

    operator: str
    version: Version
    given: int

    def allows(self, version: Version, prereleases: bool) -> bool:
        bound, given = self.version, self.given
        if version.prerelease and not prereleases and self.operator != "!=":
            return False
        numbers = (version.major, version.minor, version.patch)
        prefix = numbers[:given] == (bound.major, bound.minor, bound.patch)[:given]
        match self.operator:
            case "" | "=":
                return prefix and (given < 3 or version.compare(bound) == 0)
            case "!=":
                if version.prerelease and not prereleases and given < 3:
                    return False
                return not prefix if given < 3 else version.compare(bound) != 0
            case ">":
                return version.compare(bound) > 0 and not (given < 3 and prefix)
            case "<":
                return version.compare(bound) < 0
            case ">=":
                return version.compare(bound) >= 0
            case "<=":
                return version.compare(bound) <= 0 or (given < 3 and prefix)
        return version.compare(bound) >= 0 and self._is_near(version)

    def _is_near(self, version: Version) -> bool:
        """Tell whether ``~`` or ``^`` reaches as far as the version."""
        bound, given = self.version, self.given
        if self.operator in ("~", "~>"):
            same_major = given == 0 or version.major == bound.major
            return same_major and (given < 2 or version.minor == bound.minor)
        if bound.major or given < 2:
            return given == 0 or version.major == bound.major
        if version.major:
            return False
        if bound.minor or given < 3:
            return version.minor == bound.minor
        return version.minor == 0 and version.patch == bound.patch


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A range: one of the ``alternatives`` must allow a version in all its bounds."""

    alternatives: tuple[tuple[_Bound, ...], ...]

    @classmethod
    def parse(cls, text: str) -> "VersionRange":
        """Read a range; raises :class:`CallFailed` for a text that is none."""
        text = _HYPHEN.sub(lambda m: f">={m[1]} <={m[7]}", text)
        return cls(tuple(_bounds(part, text) for part in text.split("||")))

    def allows(self, version: Version) -> bool:
        """Tell whether the version is in the range.

        A pre-release is in it only when the alternative names a pre-release somewhere.
        """
        for bounds in self.alternatives:
            prereleases = any(bound.version.prerelease for bound in bounds)
            if all(bound.allows(version, prereleases) for bound in bounds):
                return True
        return False


def _bounds(text: str, whole: str) -> tuple[_Bound, ...]:
    bounds, position = [], 0
    text = text.strip()
    while position < len(text):
        match = _ONE.match(text, position)
        if match is None:
            break
        operator, *numbers, prerelease, build = match.groups()
        known = []
        for number in numbers:
            if number is None or number in "xX*":
                break
            known.append(int(number))
        major, minor, patch = [*known, 0, 0, 0][:3]
        suffixes = ((prerelease or "")[1:] or None, (build or "")[1:] or None)
        version = Version(major, minor, patch, *suffixes)
        operator = {"=>": ">=", "=<": "<="}.get(operator, operator)
        bounds.append(_Bound(operator, version, len(known)))
        position = match.end()
    if not bounds or position < len(text):
        raise CallFailed(f"improper constraint: {whole}")
    return tuple(bounds)


def version_matches(constraint: str, version: str) -> bool:
    """Tell whether a version lies in a range, such as ``>=1.12.6-0`` or ``~1.2 || ^3``.

    Raises :class:`CallFailed` when one of them cannot be read.
    """
    return VersionRange.parse(constraint).allows(parse_version(version))
