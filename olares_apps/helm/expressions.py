"""The value of an expression: pipelines, fields, variables and function calls.

The rules that matter to charts (what a missing key is, when a nil stops the rendering, how
arguments are checked against parameter types) are those of Go's ``text/template/exec.go``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.helm.calls import AuthorStopped, CallFailed, Function
from olares_apps.helm.errors import AuthorError, ExecutionError, LimitExceeded, NilAccess
from olares_apps.helm.govalues import (
    NIL,
    SIZE_LIMIT,
    MapWithMethods,
    NilMap,
    StringMap,
    Struct,
    TooLarge,
    is_true,
    type_name,
)
from olares_apps.helm.limits import Budget
from olares_apps.helm.syntax import (
    Bool,
    Chain,
    Command,
    Definition,
    Dot,
    Expression,
    Field,
    FunctionName,
    Nil,
    Node,
    Number,
    Pipe,
    String,
    Variable,
)

__all__ = ["Expressions", "Frame", "go_and", "go_or"]

_ABSENT: Final = object()
_LARGE = 64 * 1024
_ASSIGNABLE = ("map[string]interface {}", "chartutil.Values")
_CAN_BE_NIL = frozenset({"interface {}", "map[string]interface {}"})


def _nil_hint(name: str) -> str:
    return f"give the parent a default in values.yaml, or write ((...).{name} | default ...)"


def go_and(first: Any, *others: Any) -> Any:
    """Stand for ``and``; the evaluator stops at the first false argument itself."""
    raise AssertionError


def go_or(first: Any, *others: Any) -> Any:
    """Stand for ``or``; the evaluator stops at the first true argument itself."""
    raise AssertionError


_SHORT_CIRCUITS = (go_and, go_or)


@dataclass(slots=True)
class Frame:
    """One running template: its text for messages, its output, its variables."""

    definition: Definition
    out: list[str]
    variables: list[tuple[str, Any]]


class Expressions:
    """Evaluates expressions inside the running template; ``current`` is its frame."""

    def __init__(self, functions: Mapping[str, Function], budget: Budget) -> None:
        self.functions, self.budget = functions, budget
        self.frame: Frame | None = None

    @property
    def current(self) -> Frame:
        """Return the running template."""
        assert self.frame is not None  # noqa: S101 - statements run inside run()
        return self.frame

    def _step(self, node: Node) -> None:
        over = self.budget.overdrawn()
        if over is not None:
            source = self.current.definition.source
            raise LimitExceeded(*over, file=source.name, line=source.line(node.start))

    def _pipe(self, dot: Any, pipe: Pipe) -> Any:
        value: Any = _ABSENT
        for command in pipe.commands:
            value = self._command(dot, command, value)
            if value is NIL:
                value = None
        for name in pipe.variables:
            if pipe.assigns:
                self._assign(name, value, pipe)
            else:
                self.current.variables.append((name, value))
        return value

    def _assign(self, name: str, value: Any, node: Node) -> None:
        variables = self.current.variables
        for index in range(len(variables) - 1, -1, -1):
            if variables[index][0] == name:
                variables[index] = (name, value)
                return
        raise self._fault(ExecutionError, f"undefined variable: {name}", node)

    def _command(self, dot: Any, command: Command, final: Any) -> Any:
        first = command.operands[0]
        match first:
            case FunctionName():
                return self._function(dot, first, command, command.operands[1:], final)
            case Field():
                return self._fields(dot, dot, first.names, first, command.operands[1:], final)
            case Chain() | Variable() if first.names:
                receiver = self._receiver(dot, first)
                return self._fields(dot, receiver, first.names, first, command.operands[1:], final)
        if len(command.operands) > 1 or final is not _ABSENT:
            shown = self._source(first)
            raise self._fault(
                ExecutionError, f"can't give argument to non-function {shown}", command
            )
        if isinstance(first, Nil):
            raise self._fault(ExecutionError, "nil is not a command", first)
        return self._operand(dot, first)

    def _receiver(self, dot: Any, node: Chain | Variable) -> Any:
        if isinstance(node, Variable):
            return self._variable(node)
        if isinstance(node.operand, Nil):
            raise self._fault(ExecutionError, "indirection through explicit nil", node)
        return self._operand(dot, node.operand)

    def _operand(self, dot: Any, node: Expression) -> Any:
        """Return the value of an operand that has no arguments of its own."""
        match node:
            case Field():
                return self._fields(dot, dot, node.names, node, (), _ABSENT)
            case String() | Bool():
                return node.value
            case Pipe():
                return self._pipe(dot, node)
            case Variable(names=()):
                return self._variable(node)
            case Variable() | Chain():
                receiver = self._receiver(dot, node)
                return self._fields(dot, receiver, node.names, node, (), _ABSENT)
            case FunctionName():
                return self._function(dot, node, node, (), _ABSENT)
            case Number():
                return node.real if node.is_real else node.integer
            case Dot():
                return dot
        return None

    def _variable(self, node: Variable) -> Any:
        for name, value in reversed(self.current.variables):
            if name == node.name:
                return value
        raise self._fault(ExecutionError, f"undefined variable: {node.name}", node)

    def _fields(
        self,
        dot: Any,
        receiver: Any,
        names: tuple[str, ...],
        node: Expression,
        arguments: Sequence[Expression],
        final: Any,
    ) -> Any:
        last = len(names) - 1
        for index, name in enumerate(names):
            if index < last:
                receiver = self._field(dot, receiver, name, node, (), _ABSENT)
            else:
                receiver = self._field(dot, receiver, name, node, arguments, final)
        return receiver

    def _field(
        self,
        dot: Any,
        receiver: Any,
        name: str,
        node: Expression,
        arguments: Sequence[Expression],
        final: Any,
    ) -> Any:
        if receiver is None:
            return None
        if receiver is NIL:
            raise self._fault(
                NilAccess, f"nil pointer evaluating interface {{}}.{name}", node, _nil_hint(name)
            )
        if isinstance(receiver, (Struct, MapWithMethods)) and (
            method := receiver.methods.get(name)
        ):
            return self._call(dot, method, name, node, arguments, final)
        has_arguments = bool(arguments) or final is not _ABSENT
        if isinstance(receiver, dict):
            if has_arguments:
                reason = f"{name} is not a method but has arguments"
                raise self._fault(ExecutionError, reason, node)
            if isinstance(receiver, StringMap):
                return receiver.get(name, "")
            value = receiver.get(name)
            return NIL if value is None else value
        if isinstance(receiver, Struct) and name in receiver.fields:
            if has_arguments:
                reason = f"{name} has arguments but cannot be invoked as function"
                raise self._fault(ExecutionError, reason, node)
            return receiver.fields[name]
        reason = f"can't evaluate field {name} in type {type_name(receiver)}"
        raise self._fault(ExecutionError, reason, node)

    # Calls

    def _function(
        self,
        dot: Any,
        node: FunctionName,
        whole: Node,
        arguments: Sequence[Expression],
        final: Any,
    ) -> Any:
        function = self.functions[node.name]
        if function.call in _SHORT_CIRCUITS:
            return self._short_circuit(dot, function, node.name, whole, arguments, final)
        return self._call(dot, function, node.name, whole, arguments, final)

    def _short_circuit(
        self,
        dot: Any,
        function: Function,
        name: str,
        node: Node,
        arguments: Sequence[Expression],
        final: Any,
    ) -> Any:
        """Evaluate ``and`` or ``or``: arguments after the one that decides are not run."""
        self._check_count(function, name, node, len(arguments), final)
        value: Any = None
        for argument in arguments:
            value = self._argument(dot, argument, "interface {}")
            if is_true(value) == (function.call is go_or):
                return value
        return value if final is _ABSENT else final

    def _check_count(
        self, function: Function, name: str, node: Node, given: int, final: Any
    ) -> None:
        fixed = len(function.parameters)
        total = given + (final is not _ABSENT)
        if function.variadic is None and total != fixed:
            reason = f"wrong number of args for {name}: want {fixed} got {total}"
        elif total < fixed:
            reason = f"wrong number of args for {name}: want at least {fixed} got {given}"
        else:
            return
        raise self._fault(ExecutionError, reason, node)

    def _call(
        self,
        dot: Any,
        function: Function,
        name: str,
        node: Node,
        arguments: Sequence[Expression],
        final: Any,
    ) -> Any:
        self._step(node)
        self._check_count(function, name, node, len(arguments), final)
        types = function.parameters
        fixed = len(types)
        values = [
            self._argument(dot, argument, types[i] if i < fixed else function.variadic or "")
            for i, argument in enumerate(arguments)
        ]
        if final is not _ABSENT:
            index = len(values)
            wanted = types[index] if index < fixed else function.variadic or ""
            values.append(self._checked(final, wanted, node))
        try:
            if function.wants_evaluation:
                result = function.call(self, *values)
            else:
                result = function.call(*values)
        except AuthorStopped as error:
            raise self._fault(AuthorError, str(error), node) from None
        except TooLarge:
            raise self._limit("output_bytes", SIZE_LIMIT, node) from None
        except CallFailed as error:
            raise self._fault(ExecutionError, f"error calling {name}: {error}", node) from None
        except (ArithmeticError, LookupError, TypeError, ValueError, re.error) as error:
            raise self._fault(ExecutionError, f"error calling {name}: {error}", node) from None
        if isinstance(result, (str, list)) and len(result) > _LARGE:
            self.budget.written += len(result)
        return result

    def _limit(self, limit: str, allowed: float, node: Node) -> LimitExceeded:
        source = self.current.definition.source
        return LimitExceeded(limit, allowed, file=source.name, line=source.line(node.start))

    def _argument(self, dot: Any, node: Expression, wanted: str) -> Any:
        if isinstance(node, Nil):
            if wanted in _CAN_BE_NIL:
                return self._checked(None, wanted, node)
            raise self._fault(ExecutionError, f"cannot assign nil to {wanted}", node)
        if isinstance(node, (String, Bool, Number)) and wanted != "interface {}":
            return self._literal(node, wanted)
        return self._checked(self._operand(dot, node), wanted, node)

    def _literal(self, node: String | Bool | Number, wanted: str) -> Any:
        match node, wanted:
            case String(value=text), "string":
                return text
            case Bool(value=flag), "bool":
                return flag
            case Number(integer=int()), "int":
                return node.integer
            case Number(), "float64":
                return node.real
        kind = {"int": "integer", "float64": "float"}.get(wanted, wanted)
        raise self._fault(ExecutionError, f"expected {kind}; found {self._source(node)}", node)

    def _checked(self, value: Any, wanted: str, node: Node) -> Any:
        """Return the value if Go would accept it for a parameter of type ``wanted``."""
        if wanted == "interface {}":
            return None if value is NIL else value
        if value is None:
            if wanted in _CAN_BE_NIL:
                return NilMap()
            raise self._fault(ExecutionError, f"invalid value; expected {wanted}", node)
        actual = type_name(value)
        if actual != wanted and (wanted, actual) != _ASSIGNABLE:
            reason = f"wrong type for value; expected {wanted}; got {actual}"
            hint = "convert it with toString" if wanted == "string" else None
            raise self._fault(ExecutionError, reason, node, hint)
        return value

    # Faults

    def _source(self, node: Node) -> str:
        return self.current.definition.source.text[node.start : node.end]

    def _fault(
        self, kind: type[ExecutionError], reason: str, node: Node, hint: str | None = None
    ) -> ExecutionError:
        source = self.current.definition.source
        line, column = source.position(node.start)
        return kind(
            reason,
            file=source.name,
            line=line,
            column=column,
            expression=self._source(node),
            hint=hint,
        )
