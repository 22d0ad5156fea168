"""The evaluator: runs parsed templates on values, as Go's text/template does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from olares_apps.helm.calls import Function
from olares_apps.helm.errors import ExecutionError, LimitExceeded
from olares_apps.helm.expressions import Expressions, Frame
from olares_apps.helm.goformat import format_value
from olares_apps.helm.govalues import NIL, SIZE_LIMIT, TooLarge, is_true
from olares_apps.helm.limits import Budget
from olares_apps.helm.syntax import (
    Action,
    Block,
    Break,
    Continue,
    Definition,
    If,
    Node,
    Range,
    TemplateCall,
    Text,
    With,
)

__all__ = ["NO_VALUE", "Environment", "Evaluation"]

NO_VALUE: Final = "<no value>"
"""What Go prints for a value that is not there; Helm removes this text from its output."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What functions know beside their arguments: a clock and a source of chance.

    Both are fixed, so that a chart renders to the same text every time.
    """

    now: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    random: Random = field(default_factory=lambda: Random(0))  # noqa: S311


class Evaluation(Expressions):
    """Runs templates that know each other, with one set of functions and one budget.

    ``templates`` maps the names that ``template`` and ``include`` use to definitions.
    """

    def __init__(
        self,
        templates: Mapping[str, Definition],
        functions: Mapping[str, Function],
        budget: Budget,
        environment: Environment,
    ) -> None:
        super().__init__(functions, budget)
        self.templates, self.environment = templates, environment

    # Templates

    def run(self, definition: Definition, dot: Any) -> str:
        """Run one template with ``dot`` as the current value; return its text.

        Raises :class:`ExecutionError` or :class:`LimitExceeded`.
        """
        outer = self.frame
        frame = Frame(definition, [], [("$", dot)])
        self._enter(frame, outer)
        try:
            self._block(dot, definition.body)
        except RecursionError:
            raise self._too_deep(definition) from None
        finally:
            self.frame = outer
            self.budget.depth -= 1
        return "".join(frame.out)

    def _enter(self, frame: Frame, outer: Frame | None) -> None:
        self.budget.depth += 1
        if self.budget.depth > self.budget.limits.depth:
            self.budget.depth -= 1
            raise self._too_deep((outer or frame).definition)
        self.frame = frame

    def _too_deep(self, definition: Definition) -> LimitExceeded:
        source = definition.source
        line = source.line(definition.start)
        return LimitExceeded("depth", self.budget.limits.depth, file=source.name, line=line)

    # Statements; True and False say that a loop was left or continued, None that it goes on

    def _block(self, dot: Any, body: Block) -> bool | None:
        for node in body:
            if type(node) is Text:
                self._write(node.text)
                continue
            signal = _STATEMENTS[type(node)](self, dot, node)
            if signal is not None:
                return signal
        return None

    def _write(self, text: str) -> None:
        self.current.out.append(text)
        self.budget.written += len(text)

    def _action(self, dot: Any, node: Action) -> None:
        value = self._pipe(dot, node.pipe)
        if not node.pipe.variables:
            if value is None:
                self._write(NO_VALUE)
            else:
                self._write(value if type(value) is str else self._printed(value, node.pipe))

    def _printed(self, value: Any, node: Node) -> str:
        try:
            return format_value(value)
        except TooLarge:
            raise self._limit("output_bytes", SIZE_LIMIT, node) from None

    def _if(self, dot: Any, node: If) -> bool | None:
        mark = len(self.current.variables)
        chosen = node.body if is_true(self._pipe(dot, node.pipe)) else node.orelse
        signal = self._block(dot, chosen)
        del self.current.variables[mark:]
        return signal

    def _with(self, dot: Any, node: With) -> bool | None:
        mark = len(self.current.variables)
        value = self._pipe(dot, node.pipe)
        signal = self._block(value, node.body) if is_true(value) else self._block(dot, node.orelse)
        del self.current.variables[mark:]
        return signal

    def _range(self, dot: Any, node: Range) -> bool | None:
        variables = self.current.variables
        mark = len(variables)
        value = self._pipe(dot, node.pipe)
        names = node.pipe.variables
        inner = len(variables)
        items: Sequence[tuple[Any, Any]] | range
        if isinstance(value, dict):
            items = [(key, value[key]) for key in sorted(value)]
        elif isinstance(value, (list, bytes)):
            items = list(enumerate(value))
        elif value is None:
            items = ()
        elif isinstance(value, int) and not isinstance(value, bool):
            if len(names) > 1:
                reason = f"can't use {value} to iterate over more than one variable"
                raise self._fault(ExecutionError, reason, node.pipe)
            items = range(max(value, 0))
        else:
            reason = f"range can't iterate over {self._printed(value, node.pipe)}"
            raise self._fault(ExecutionError, reason, node.pipe)
        for item in items:
            self._step(node)
            index, element = item if isinstance(item, tuple) else (None, item)
            element = NIL if element is None else element
            if names:
                self._bind(node, inner, (index, element))
            signal = self._block(element, node.body)
            del variables[inner:]
            if signal:
                break
        signal = None if items else self._block(dot, node.orelse)
        del variables[mark:]
        return signal

    def _bind(self, node: Range, top: int, pair: tuple[Any, Any]) -> None:
        """Give the loop variables, the last ones declared below ``top``, their next values."""
        names = node.pipe.variables
        for offset, value in enumerate(pair[-len(names) :]):
            if node.pipe.assigns:
                self._assign(names[offset], value, node.pipe)
            else:
                self.current.variables[top - len(names) + offset] = (names[offset], value)

    def _break(self, dot: Any, node: Break) -> bool:
        return True

    def _continue(self, dot: Any, node: Continue) -> bool:
        return False

    def _template(self, dot: Any, node: TemplateCall) -> None:
        self._step(node)
        definition = self.templates.get(node.name)
        if definition is None:
            raise self._fault(ExecutionError, f'template "{node.name}" not defined', node)
        value = None if node.pipe is None else self._pipe(dot, node.pipe)
        # Its text is counted again when it is written here: it was held twice.
        self._write(self.run(definition, value))


_STATEMENTS: dict[type, Callable[[Evaluation, Any, Any], bool | None]] = {
    Action: Evaluation._action,
    Break: Evaluation._break,
    Continue: Evaluation._continue,
    If: Evaluation._if,
    Range: Evaluation._range,
    TemplateCall: Evaluation._template,
    With: Evaluation._with,
}
