"""What a template uses, read from its text without running it: functions, values, context.

The checks ask here which functions a device must know, which ``.Values`` must exist, and
whether a template survives without them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from olares_apps.helm.parser import parse
from olares_apps.helm.syntax import (
    Action,
    Block,
    Chain,
    Command,
    Dot,
    Expression,
    Field,
    FunctionName,
    If,
    Node,
    Parsed,
    Pipe,
    Range,
    String,
    TemplateCall,
    Variable,
    With,
)

__all__ = [
    "ContextUse",
    "FunctionUse",
    "NamedTemplateUse",
    "TemplateUses",
    "ValueUse",
    "template_uses",
]

# Functions whose result is their last argument when that is set: they provide a fallback.
_FALLBACKS = frozenset({"coalesce", "default", "dig", "or", "ternary"})
# Functions that pass a missing value on without failing, or only ask about it.
_QUESTIONS = frozenset({"empty", "hasKey", "kindIs", "kindOf", "not", "typeIs", "typeOf"})
_ANY_ITEM = "*"
_Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A function that is called, and the line."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class NamedTemplateUse:
    """A named template: ``how`` is ``define``, ``template`` or ``include``.

    A ``block`` counts as a ``define`` and a ``template``. ``name`` is empty when it is computed.
    """

    how: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class ContextUse:
    """A name of the context other than ``.Values``, such as ``.Chart.AppVersion``."""

    path: _Path
    line: int

    @property
    def name(self) -> str:
        """Return the dotted name, with its leading dot."""
        return "." + ".".join(self.path)


@dataclass(frozen=True, slots=True)
class ValueUse:
    """A value that is read.

    ``path`` leaves out ``Values``; ``*`` stands for an item of a list or map, or for a computed
    key. ``guarded`` tells whether a missing value is provided for: the read has a fallback
    (``default``, ``coalesce``, ``dig`` ...), is only asked about (``if``, ``hasKey``), or stands
    where a condition has shown that the value is there. ``needs`` is the longest parent that
    must be there for the read not to be a nil pointer; empty when none must, because of
    parentheses or a condition.
    """

    path: _Path
    line: int
    guarded: bool
    needs: _Path

    @property
    def dotted(self) -> str:
        """Return the path with dots, without ``.Values``."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class TemplateUses:
    """Everything that a template uses, each in the order of the text."""

    functions: tuple[FunctionUse, ...]
    values: tuple[ValueUse, ...]
    context: tuple[ContextUse, ...]
    named_templates: tuple[NamedTemplateUse, ...]

    @property
    def function_names(self) -> frozenset[str]:
        """Return the names of the functions, without duplicates."""
        return frozenset(use.name for use in self.functions)

    @property
    def value_paths(self) -> frozenset[str]:
        """Return the dotted paths of the values, without duplicates."""
        return frozenset(use.dotted for use in self.values)


def template_uses(text: str, *, file: str = "text") -> TemplateUses:
    """Return what a template uses.

    The body of a ``define`` is read as if it were given the chart's own context, as most are.
    Raises :class:`TemplateSyntaxError` for a text that does not parse; a function that no
    profile knows is no error here.
    """
    parsed = parse(file, text)
    reader = _Reader(parsed)
    for definition in (parsed.root, *parsed.definitions.values()):
        reader.scope = _Scope({"$": ()}, frozenset())
        reader.block(definition.body, ())
    return reader.result()


@dataclass(frozen=True, slots=True)
class _Scope:
    """What is known at a place: paths held by variables, and values shown to be there."""

    variables: dict[str, _Path | None]
    present: frozenset[_Path]


@dataclass(slots=True)
class _Reader:
    parsed: Parsed
    scope: _Scope = field(default_factory=lambda: _Scope({}, frozenset()))
    values: list[tuple[int, ValueUse]] = field(default_factory=list)
    context: list[tuple[int, ContextUse]] = field(default_factory=list)
    named: list[tuple[int, NamedTemplateUse]] = field(default_factory=list)

    def result(self) -> TemplateUses:
        functions = [FunctionUse(n.name, self.line(n)) for n in self.parsed.functions]
        for name, definition in self.parsed.definitions.items():
            line = self.parsed.root.source.line(definition.start)
            self.named.append((definition.start, NamedTemplateUse("define", name, line)))
        return TemplateUses(
            tuple(functions),
            tuple(use for _, use in sorted(self.values, key=lambda pair: pair[0])),
            tuple(use for _, use in sorted(self.context, key=lambda pair: pair[0])),
            tuple(use for _, use in sorted(self.named, key=lambda pair: pair[0])),
        )

    def line(self, node: Node) -> int:
        return self.parsed.root.source.line(node.start)

    # Statements

    def block(self, body: Block, dot: _Path | None) -> None:
        for node in body:
            match node:
                case Action():
                    self.pipe(node.pipe, dot)
                case If() | With():
                    self.condition(node, dot)
                case Range():
                    self.loop(node, dot)
                case TemplateCall():
                    self.named.append(
                        (node.start, NamedTemplateUse("template", node.name, self.line(node)))
                    )
                    if node.pipe is not None:
                        self.pipe(node.pipe, dot)

    def condition(self, node: If | With, dot: _Path | None) -> None:
        outer = self.scope
        self.scope = _Scope(dict(outer.variables), outer.present)
        value = self.pipe(node.pipe, dot, guarded=True)
        inside = self.scope
        shown = self.shown_by(node.pipe, dot)
        self.scope = _Scope(dict(inside.variables), inside.present | shown)
        self.block(node.body, value if isinstance(node, With) else dot)
        self.scope = _Scope(inside.variables, inside.present)
        self.block(node.orelse, dot)
        self.scope = outer

    def loop(self, node: Range, dot: _Path | None) -> None:
        outer = self.scope
        self.scope = _Scope(dict(outer.variables), outer.present)
        value = self.pipe(node.pipe, dot, guarded=True)
        item = None if value is None else (*value, _ANY_ITEM)
        names = node.pipe.variables
        for name in names:
            self.scope.variables[name] = None
        if names:
            self.scope.variables[names[-1]] = item
        shown = self.shown_by(node.pipe, dot) | ({item} if item else set())
        self.scope = _Scope(self.scope.variables, self.scope.present | shown)
        self.block(node.body, item)
        self.scope = outer
        self.block(node.orelse, dot)

    def shown_by(self, pipe: Pipe, dot: _Path | None) -> frozenset[_Path]:
        """Return the values that must be there, parents included, for a condition to hold."""
        found: set[_Path] = set()
        if len(pipe.commands) == 1:
            self.show(pipe.commands[0], dot, found)
        return frozenset(path[:end] for path in found for end in range(1, len(path) + 1))

    def show(self, command: Command, dot: _Path | None, found: set[_Path]) -> None:
        first, *arguments = command.operands
        if isinstance(first, FunctionName):
            if first.name == "hasKey" and len(arguments) == 2 and isinstance(arguments[1], String):
                parent = self.path_of(arguments[0], dot)
                if parent is not None:
                    found.add((*parent, arguments[1].value))
            elif first.name in ("and", "eq", "index", "gt", "ge", "lt", "le"):
                if first.name == "index":
                    path = self.indexed(arguments, dot)
                    found |= {path} if path else set()
                for argument in arguments:
                    self.show(Command(first.start, first.end, (argument,)), dot, found)
            return
        if isinstance(first, Pipe):
            if len(first.commands) == 1:
                self.show(first.commands[0], dot, found)
            return
        path = self.path_of(first, dot)
        if path:
            found.add(path)

    # Expressions

    def pipe(self, pipe: Pipe, dot: _Path | None, *, guarded: bool = False) -> _Path | None:
        """Read a pipeline; ``guarded`` tells whether its value may be missing."""
        value = None
        last = len(pipe.commands) - 1
        for index, command in enumerate(pipe.commands):
            later = pipe.commands[index + 1 :]
            spared = guarded and index == last
            spared = spared or any(_provides(following) for following in later[:1])
            value = self.command(command, dot, value, guarded=spared)
        for name in pipe.variables:
            self.scope.variables[name] = value
        return value

    def command(
        self, command: Command, dot: _Path | None, final: _Path | None, *, guarded: bool
    ) -> _Path | None:
        first, *arguments = command.operands
        if not isinstance(first, FunctionName):
            for argument in arguments:
                self.operand(argument, dot)
            return self.operand(first, dot, guarded=guarded)
        name = first.name
        spared = (
            name in _FALLBACKS or name in _QUESTIONS or (guarded and name in ("and", "eq", "ne"))
        )
        if name in ("index", "get") and arguments:
            return self.lookup(command, arguments, dot, guarded=guarded)
        if name == "include":
            template = arguments[0] if arguments else None
            shown = template.value if isinstance(template, String) else ""
            self.named.append((first.start, NamedTemplateUse("include", shown, self.line(first))))
        if name == "dig" and len(arguments) > 2:
            keys = [a.value if isinstance(a, String) else _ANY_ITEM for a in arguments[:-2]]
            parent = self.path_of(arguments[-1], dot)
            if parent is not None:
                self.note((*parent, *keys), command, guarded=True, needs=parent)
        if name == "hasKey" and arguments and isinstance(arguments[0], Field):
            # The function wants a map: a nil that is not in parentheses is refused.
            path = self.path_of(arguments.pop(0), dot)
            if path is not None:
                self.note(path, command, guarded=True, needs=path)
        reads = [self.operand(argument, dot, guarded=spared) for argument in arguments]
        if name == "default" and (final is not None or len(reads) > 1):
            return final if final is not None else reads[1]
        return None

    def lookup(
        self, command: Command, arguments: Sequence[Expression], dot: _Path | None, *, guarded: bool
    ) -> _Path | None:
        for argument in arguments[1:]:
            self.operand(argument, dot)
        path = self.indexed(arguments, dot)
        if path is None:
            self.operand(arguments[0], dot)
            return None
        self.note(path, command, guarded=guarded, needs=path[:-1])
        return path

    def indexed(self, arguments: Sequence[Expression], dot: _Path | None) -> _Path | None:
        parent = self.path_of(arguments[0], dot) if arguments else None
        if parent is None:
            return None
        return (*parent, *(a.value if isinstance(a, String) else _ANY_ITEM for a in arguments[1:]))

    def operand(
        self, node: Expression, dot: _Path | None, *, guarded: bool = False
    ) -> _Path | None:
        match node:
            case Pipe():
                return self.pipe(node, dot, guarded=guarded)
            case Chain():
                inner = self.operand(node.operand, dot, guarded=True)
                if inner is None:
                    return inner
                path = (*inner, *node.names)
                # The value in parentheses may be nil: the first name after them is safe.
                needs = path[:-1] if len(node.names) > 1 else ()
                return self.note(path, node, guarded=guarded, needs=needs)
        path_or_none = self.path_of(node, dot)
        if path_or_none is None:
            return None
        held = isinstance(node, Variable) and len(node.names) <= 1
        return self.note(
            path_or_none, node, guarded=guarded, needs=() if held else path_or_none[:-1]
        )

    def path_of(self, node: Expression, dot: _Path | None) -> _Path | None:
        """Return the path that an operand reads from the context, None when there is none."""
        match node:
            case Field():
                return None if dot is None else (*dot, *node.names)
            case Variable():
                held = self.scope.variables.get(node.name)
                return None if held is None else (*held, *node.names)
            case Chain():
                inner = self.path_of(node.operand, dot)
                return None if inner is None else (*inner, *node.names)
            case Pipe(commands=(Command(operands=(single,)),)):
                return self.path_of(single, dot)
            case Pipe(commands=(Command(operands=(FunctionName(name="index" | "get"), *rest)),)):
                return self.indexed(rest, dot)
            case Dot():
                return dot
        return None

    def note(self, path: _Path, node: Node, *, guarded: bool, needs: _Path) -> _Path | None:
        """Record the read of a context path, unless it is the context or ``.Values`` itself."""
        line = self.line(node)
        if path and path[0] == "Values":
            if len(path) > 1:
                present = self.scope.present
                needs = () if needs in present else needs
                use = ValueUse(path[1:], line, guarded or path in present, needs[1:])
                self.values.append((node.start, use))
        elif path:
            self.context.append((node.start, ContextUse(path, line)))
        return path


def _provides(command: Command) -> bool:
    """Tell whether the next command of a pipeline copes with a missing value."""
    first = command.operands[0]
    return isinstance(first, FunctionName) and first.name in _FALLBACKS | _QUESTIONS
