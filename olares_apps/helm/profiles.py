"""The two engines that render a chart: Helm, and the device's first pass over it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from olares_apps.errors import nearest
from olares_apps.helm.calls import Function
from olares_apps.helm.errors import UnknownFunction
from olares_apps.helm.functions.clock import CLOCK
from olares_apps.helm.functions.core import CORE
from olares_apps.helm.functions.data import DATA
from olares_apps.helm.functions.encoding import ENCODING
from olares_apps.helm.functions.hydration import HYDRATION_FUNCTIONS
from olares_apps.helm.functions.numbers import NUMBERS
from olares_apps.helm.functions.templating import TEMPLATING
from olares_apps.helm.functions.text import REGEX, TEXT
from olares_apps.helm.parser import first_unknown, parse
from olares_apps.helm.syntax import Parsed

__all__ = ["HELM", "HYDRATION", "Profile"]


@dataclass(frozen=True, eq=False)
class Profile:
    """What an engine can do.

    ``shows_no_value`` tells whether ``<no value>`` stays in the output, which Helm removes.
    ``whole_numbers`` tells whether whole numbers of values.yaml are ints; Helm makes every
    number a float64. ``renders_other_files`` tells whether files outside ``templates/`` are
    templates too.
    """

    name: str
    functions: Mapping[str, Function]
    shows_no_value: bool
    whole_numbers: bool
    renders_other_files: bool

    def parse(self, name: str, text: str) -> Parsed:
        """Parse a template and check that every function it names exists.

        Raises :class:`TemplateSyntaxError`, or :class:`UnknownFunction` with a hint.
        """
        parsed = parse(name, text)
        unknown = first_unknown(parsed, self.functions)
        if unknown is not None:
            line, column = parsed.root.source.position(unknown.start)
            hint = self._hint(unknown.name)
            raise UnknownFunction(unknown.name, file=name, line=line, column=column, hint=hint)
        return parsed

    def _hint(self, name: str) -> str | None:
        if self is not HELM and name in HELM.functions:
            return f"Helm has {name}, the device's first rendering pass does not"
        close = nearest(name, self.functions)
        return f"did you mean {close}?" if close else None


HELM: Final = Profile(
    "helm",
    {**CORE, **TEXT, **REGEX, **NUMBERS, **DATA, **ENCODING, **CLOCK, **TEMPLATING},
    shows_no_value=False,
    whole_numbers=False,
    renders_other_files=False,
)
"""Helm 3 and 4: what installs and upgrades an app."""

HYDRATION: Final = Profile(
    "hydration",
    HYDRATION_FUNCTIONS,
    shows_no_value=True,
    whole_numbers=True,
    renders_other_files=True,
)
"""The device's first rendering pass: an app that fails it never appears in the market."""
