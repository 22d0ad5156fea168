"""A template function: its Go parameter types, and how it fails."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["AuthorStopped", "CallFailed", "Function", "fn"]

_PARAMETER_TYPES = {
    "any": "interface {}",
    "bool": "bool",
    "float64": "float64",
    "int": "int",
    "map": "map[string]interface {}",
    "string": "string",
}


class CallFailed(Exception):
    """A function refuses its arguments; the evaluator adds file, line and expression."""


class AuthorStopped(CallFailed):
    """The chart called ``fail``, or ``required`` had no value."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function, with the Go types that its arguments must have.

    Template functions in Go are typed: a number where a string is expected stops the
    rendering, and a chart that passes here must pass there.
    """

    call: Callable[..., Any]
    parameters: tuple[str, ...]
    variadic: str | None = None
    """The type of the repeated last parameter, None when there is none."""
    wants_evaluation: bool = False
    """``call`` receives the running evaluation before the arguments."""


def fn(parameters: str, call: Callable[..., Any], *, wants_evaluation: bool = False) -> Function:
    """Return a function with parameters as in ``"string int any..."``."""
    words = parameters.split()
    variadic = words.pop()[:-3] if words and words[-1].endswith("...") else None
    types = tuple(_PARAMETER_TYPES[word] for word in words)
    return Function(call, types, _PARAMETER_TYPES[variadic] if variadic else None, wants_evaluation)
