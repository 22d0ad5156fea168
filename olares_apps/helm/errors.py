"""The errors of the template renderer: where it stopped, on which expression, and why.

Tree, below :class:`olares_apps.errors.RenderError`::

    TemplateError            file, line, column, expression, reason
    |-- TemplateSyntaxError  the text does not parse
    |   `-- UnknownFunction  a function that the profile does not have
    `-- ExecutionError       the template fails on these values
        |-- NilAccess        a field of a value that is not there
        `-- AuthorError      the chart's own ``fail`` or ``required``
    LimitExceeded            rendering was stopped: steps, output, time or depth
    YamlError                text that is not YAML, or YAML with a key twice
    ChartError               Chart.yaml, values or a sub-chart that cannot be used
    ManifestError            rendered text that is not a list of Kubernetes objects
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from olares_apps.errors import Problem, RenderError

__all__ = [
    "AuthorError",
    "ChartError",
    "ExecutionError",
    "LimitExceeded",
    "ManifestError",
    "NilAccess",
    "TemplateError",
    "TemplateSyntaxError",
    "UnknownFunction",
    "YamlError",
]


class TemplateError(RenderError):
    """A template that cannot be parsed or executed.

    ``line`` and ``column`` count from 1; ``expression`` is the source text of the offending
    expression, empty when the fault is not in one; ``reason`` is the message without position.
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str,
        line: int,
        column: int,
        expression: str = "",
        hint: str | None = None,
    ) -> None:
        self.reason, self.file, self.line, self.column = reason, file, line, column
        self.expression = expression
        at = f" at <{expression}>" if expression else ""
        super().__init__(f"{file}:{line}:{column}:{at} {reason}", hint=hint)

    @property
    def problem(self) -> Problem:
        """Return the error as a problem record, for lists of problems and findings."""
        return Problem(
            self.reason,
            file=PurePosixPath(self.file),
            line=self.line,
            column=self.column,
            value=self.expression or None,
            hint=self.hint,
        )


class TemplateSyntaxError(TemplateError):
    """The text is not a template: an action that is not closed, a wrong token, no ``end``."""


class UnknownFunction(TemplateSyntaxError):
    """A function that the profile does not have; Go reports it when it parses the file."""

    def __init__(
        self, name: str, *, file: str, line: int, column: int, hint: str | None = None
    ) -> None:
        self.name = name
        super().__init__(
            f'function "{name}" not defined',
            file=file,
            line=line,
            column=column,
            expression=name,
            hint=hint,
        )


class ExecutionError(TemplateError):
    """The template does not work with these values."""


class NilAccess(ExecutionError):
    """A field is read from a value that is not there (Helm: ``nil pointer evaluating``)."""


class AuthorError(ExecutionError):
    """The chart itself stopped the rendering with ``fail`` or ``required``."""


class LimitExceeded(RenderError):
    """Rendering was stopped because it did not end in the bounds it was given.

    ``limit`` names the bound (``steps``, ``output_bytes``, ``seconds`` or ``depth``) and
    ``allowed`` is its value.
    """

    def __init__(self, limit: str, allowed: float, *, file: str = "", line: int = 0) -> None:
        self.limit, self.allowed, self.file, self.line = limit, allowed, file, line
        where = f"{file}:{line}: " if file else ""
        super().__init__(
            f"{where}rendering stopped: more than {allowed:,.10g} {_UNITS[limit]}",
            hint="a template that loops or includes itself never ends; look at the line named here",
        )


_UNITS = {
    "steps": "steps",
    "output_bytes": "bytes of text",
    "seconds": "seconds",
    "depth": "templates inside each other",
}


class YamlError(RenderError):
    """Text that is not YAML, or a mapping that has one key twice; ``problem`` says where."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem), hint=problem.hint)


class ChartError(RenderError):
    """A chart whose Chart.yaml, values or sub-charts cannot be used."""


class ManifestError(RenderError):
    """Rendered text that is not a list of Kubernetes objects; every problem is listed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
