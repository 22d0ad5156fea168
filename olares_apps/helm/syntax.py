"""The tree of a parsed template.

``start`` and ``end`` are character offsets in the file, so that a message can show the very
text of an expression and its line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from olares_apps.helm.lexer import Source

__all__ = [
    "Action",
    "Block",
    "Bool",
    "Break",
    "Chain",
    "Command",
    "Continue",
    "Definition",
    "Dot",
    "Expression",
    "Field",
    "FunctionName",
    "If",
    "Nil",
    "Node",
    "Number",
    "Parsed",
    "Pipe",
    "Range",
    "String",
    "TemplateCall",
    "Text",
    "Variable",
    "With",
]


@dataclass(slots=True)
class Node:
    """Anything with a place in the file."""

    start: int
    end: int


# Operands


@dataclass(slots=True)
class Dot(Node):
    """The current value, ``.``."""


@dataclass(slots=True)
class Nil(Node):
    """The word ``nil``."""


@dataclass(slots=True)
class Bool(Node):
    """``true`` or ``false``."""

    value: bool


@dataclass(slots=True)
class String(Node):
    """A quoted or raw string, unquoted."""

    value: str


@dataclass(slots=True)
class Number(Node):
    """A number or character constant, read in every way that its text allows."""

    integer: int | None
    real: float
    is_real: bool
    """The text says that it is a float (``1.0``), even when its value is whole."""


@dataclass(slots=True)
class Field(Node):
    """``.a.b``: fields of the current value."""

    names: tuple[str, ...]


@dataclass(slots=True)
class Variable(Node):
    """``$x`` or ``$x.a.b``; ``name`` has its dollar sign."""

    name: str
    names: tuple[str, ...]


@dataclass(slots=True)
class Chain(Node):
    """``(pipeline).a.b``: fields of the value of an expression."""

    operand: "Expression"
    names: tuple[str, ...]


@dataclass(slots=True)
class FunctionName(Node):
    """The name of a function."""

    name: str


@dataclass(slots=True)
class Command(Node):
    """Operands next to each other: a function and its arguments, or one value."""

    operands: "tuple[Expression, ...]"


@dataclass(slots=True)
class Pipe(Node):
    """Commands joined by ``|``, with the variables that receive the last value."""

    variables: tuple[str, ...]
    assigns: bool
    """True for ``=``, False for ``:=`` and for a pipe without variables."""
    commands: tuple[Command, ...]


Expression: TypeAlias = (
    Dot | Nil | Bool | String | Number | Field | Variable | Chain | FunctionName | Pipe
)


# Statements


@dataclass(slots=True)
class Text(Node):
    """Literal text."""

    text: str


@dataclass(slots=True)
class Action(Node):
    """``{{ pipeline }}``: print the value, unless it went to a variable."""

    pipe: Pipe


@dataclass(slots=True)
class If(Node):
    """``{{ if }} ... {{ else }} ... {{ end }}``; ``else if`` is an If in ``orelse``."""

    pipe: Pipe
    body: "Block"
    orelse: "Block"


@dataclass(slots=True)
class With(Node):
    """``{{ with }} ... {{ end }}``: an If whose body sees the value as the current one."""

    pipe: Pipe
    body: "Block"
    orelse: "Block"


@dataclass(slots=True)
class Range(Node):
    """``{{ range }} ... {{ else }} ... {{ end }}``."""

    pipe: Pipe
    body: "Block"
    orelse: "Block"


@dataclass(slots=True)
class Break(Node):
    """``{{ break }}``."""


@dataclass(slots=True)
class Continue(Node):
    """``{{ continue }}``."""


@dataclass(slots=True)
class TemplateCall(Node):
    """``{{ template "name" pipeline }}``, also what remains of a ``{{ block }}``."""

    name: str
    pipe: Pipe | None


Statement: TypeAlias = Text | Action | If | With | Range | Break | Continue | TemplateCall
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """One named template: the whole file, or what a ``define`` or ``block`` encloses.

    ``start`` is the character offset where it begins.
    """

    name: str
    source: Source
    body: Block
    start: int = 0

    @property
    def is_empty(self) -> bool:
        """Tell whether it holds nothing but white space; Go lets such a one be replaced."""
        return all(isinstance(node, Text) and not node.text.strip() for node in self.body)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed file: its own body, the templates defined in it, the functions it names."""

    root: Definition
    definitions: Mapping[str, Definition]
    functions: tuple[FunctionName, ...]
