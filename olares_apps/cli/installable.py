"""Apps that no device can install: shown and checked, never packed or offered to devices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olares_apps.cli import output as out

if TYPE_CHECKING:
    from olares_apps.spec.loader import LoadedSpec

__all__ = ["installable", "refuse_named"]


def installable(specs: "Sequence[LoadedSpec]", *, named: bool) -> "list[LoadedSpec]":
    """Return the specs that a device can install.

    Of the others one line goes to stderr each, unless they were asked for by name: then
    CheckFailed is raised with their reasons.
    """
    if named:
        refuse_named(specs)
    for line in _refused(specs):
        out.note(f"{line}; left out")
    return [item for item in specs if not item.spec.not_installable]


def refuse_named(specs: "Sequence[LoadedSpec]") -> None:
    """Raise CheckFailed with the reasons when a spec of those is not installable."""
    from olares_apps.errors import CheckFailed

    lines = _refused(specs)
    if lines:
        raise CheckFailed("\n".join(lines), hint="the spec says so in not_installable")


def _refused(specs: "Sequence[LoadedSpec]") -> list[str]:
    return [
        f"{item.spec.app}: not installable: {item.spec.not_installable}"
        for item in specs
        if item.spec.not_installable
    ]
