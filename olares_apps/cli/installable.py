"""Apps that no device can install: shown and checked, never packed or published."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olares_apps.cli import output as out

if TYPE_CHECKING:
    from olares_apps.spec.loader import LoadedSpec

__all__ = ["installable"]


def installable(specs: "Sequence[LoadedSpec]", *, named: bool) -> "list[LoadedSpec]":
    """Return the specs that a device can install.

    Of the others one line goes to stderr each, unless they were asked for by name: then
    CheckFailed is raised with their reasons.
    """
    from olares_apps.errors import CheckFailed

    refused = [item for item in specs if item.spec.not_installable]
    lines = [f"{item.spec.app}: not installable: {item.spec.not_installable}" for item in refused]
    if named and lines:
        raise CheckFailed("\n".join(lines), hint="the spec says so in not_installable")
    for line in lines:
        out.note(f"{line}; left out")
    return [item for item in specs if not item.spec.not_installable]
