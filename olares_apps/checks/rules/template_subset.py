"""What templates may use: the functions and names that every pass of a device has."""

from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.findings import Severity
from olares_apps.helm import HELM, HYDRATION

__all__ = ["STUBS", "rules"]

rules = RuleBook(Group.OBJECTS)

STUBS: Final = frozenset(
    "b64enc b64dec sha256sum genCA genSelfSignedCert genSignedCert lookup include tpl".split()
)
"""Functions that the first pass has in name only (contract 3.3)."""
_RANDOM: Final = frozenset(
    "randAlphaNum randAlpha randNumeric randAscii uuidv4 genPrivateKey genPassword".split()
)
_NO_CONTEXT: Final = frozenset(("Files", "Template", "Subcharts"))
_CHART_FIELDS: Final = frozenset(("Name", "Version"))


@rules.warning(
    "template-function-subset",
    "The device's first pass knows a part of Helm's functions, and some only in name.",
    "chart-repo chart_template.go",
)
def _functions(context: ChartContext) -> Iterator[Found]:
    """Functions that Helm does not have either are errors."""
    told = set()
    for path, template in context.templates.items():
        for use in template.uses.functions:
            if use.name in told or (use.name in HYDRATION.functions and use.name not in STUBS):
                continue
            told.add(use.name)
            if use.name not in HELM.functions:
                yield Found(
                    f'function "{use.name}" does not exist',
                    path,
                    use.line,
                    "correct its name",
                    Severity.ERROR,
                )
            elif use.name in STUBS:
                yield Found(
                    f'function "{use.name}" has no effect in the device\'s first pass',
                    path,
                    use.line,
                    "write the value out",
                )
            else:
                yield Found(
                    f'function "{use.name}" is not known to the device\'s first pass',
                    path,
                    use.line,
                    "use .Values paths, if, eq, quote and default only",
                )


@rules.error(
    "template-context-subset",
    "The first pass has Values, Release, Chart and Capabilities; .Files ends in an error.",
    "chart-repo TemplateData; official charts",
    blocks=True,
)
def _context(context: ChartContext) -> Iterator[Found]:
    for path, template in context.templates.items():
        for use in template.uses.context:
            head, rest = use.path[0], use.path[1:]
            if head in _NO_CONTEXT:
                yield Found(
                    f".{head} does not exist in the device's first pass",
                    path,
                    use.line,
                    "write the content into the template",
                )
            elif head == "Chart" and rest and rest[0] not in _CHART_FIELDS:
                yield Found(
                    f"{use.name} is empty in the device's first pass (it has Name and Version)",
                    path,
                    use.line,
                    "write the value out",
                    Severity.WARNING,
                )


@rules.error(
    "random-secret",
    "A random value changes with every render; clients and data keep the old one.",
    "chart-repo; Helm",
)
def _random(context: ChartContext) -> Iterator[Found]:
    """A lookup beside it keeps the value at upgrades, but not in the first pass: a warning."""
    for path, template in context.templates.items():
        names = template.uses.function_names
        for use in template.uses.functions:
            if use.name in _RANDOM:
                yield Found(
                    f"{use.name} gives another value at each render",
                    path,
                    use.line,
                    "let the app make its secret at first start, or take .Values.os or an env",
                    Severity.WARNING if "lookup" in names else None,
                )
