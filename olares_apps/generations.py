"""Generations: families of Olares releases that take one kind of manifest.

Source: the Olares contract, sections 1.2, 1.3 and 5.4. A device of Olares 1.12.3 to
1.12.5 takes manifest 0.10.0 with apiVersion v2 (proven there, refused later); from
1.12.6 on it takes 0.12.0 with apiVersion v3.
"""

import re
from dataclasses import dataclass
from typing import Final

from olares_apps.errors import UnknownName, UsageError

__all__ = ["GENERATIONS", "Generation", "OlaresVersion", "generation_for", "get_generation"]


@dataclass(frozen=True, slots=True, order=True)
class OlaresVersion:
    """An Olares release as a device reports it, for example ``1.12.6`` or ``1.12.6-20260801``."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> "OlaresVersion":
        """Read a release number; a nightly's suffix is ignored as its base decides.

        Raises UsageError when ``text`` is no release number.
        """
        found = re.fullmatch(r"v?(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?:[-+][\w.+-]{1,40})?", text, re.A)
        if not found:
            raise UsageError(
                f"'{text}' is not an Olares version", hint="write it as 1.12.5 or 1.12.6"
            )
        return cls(*(int(part) for part in found.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True, slots=True)
class Generation:
    """One kind of chart, and the releases that install it.

    ``first`` is the oldest release, ``before`` the first release that no longer takes
    it (None for the newest generation); ``constraint`` is what a chart declares.
    """

    name: str
    manifest_version: str
    api_version: str
    first: OlaresVersion
    before: OlaresVersion | None
    constraint: str

    def accepts(self, version: OlaresVersion) -> bool:
        """Say whether a device of ``version`` installs charts of this generation."""
        return self.first <= version and (self.before is None or version < self.before)


# Oldest first: the order decides which archive gets the lower version number.
GENERATIONS: Final = (
    Generation(
        name="olares-1.12.3",
        manifest_version="0.10.0",
        api_version="v2",
        first=OlaresVersion(1, 12, 3),
        before=OlaresVersion(1, 12, 6),
        constraint=">=1.12.3-0,<1.12.6",
    ),
    Generation(
        name="olares-1.12.6",
        manifest_version="0.12.0",
        api_version="v3",
        first=OlaresVersion(1, 12, 6),
        before=None,
        constraint=">=1.12.6-0",
    ),
)


def get_generation(name: str) -> Generation:
    """Return the generation called ``name``; raises UnknownName for any other."""
    for generation in GENERATIONS:
        if generation.name == name:
            return generation
    raise UnknownName("generation", name, [generation.name for generation in GENERATIONS])


def generation_for(version: OlaresVersion) -> Generation | None:
    """Return the generation that a device of ``version`` installs, or None for an older one."""
    return next((g for g in GENERATIONS if g.accepts(version)), None)
