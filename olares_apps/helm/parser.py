"""Parser of Go's text/template: tokens to the tree of :mod:`olares_apps.helm.syntax`.

It accepts and refuses what Go does (``text/template/parse``), but leaves the question whether
a function exists to the caller: that depends on the profile, the tree does not.
"""

from collections.abc import Callable, Container
from functools import lru_cache
from typing import NoReturn

from olares_apps.helm.lexer import Source, Token, tokenize
from olares_apps.helm.literals import read_number, unquote
from olares_apps.helm.syntax import (
    Action,
    Block,
    Bool,
    Break,
    Chain,
    Command,
    Continue,
    Definition,
    Dot,
    Expression,
    Field,
    FunctionName,
    If,
    Nil,
    Number,
    Parsed,
    Pipe,
    Range,
    Statement,
    String,
    TemplateCall,
    Text,
    Variable,
    With,
)

__all__ = ["first_unknown", "parse"]

_MAX_NESTING = 100
_NOT_EXECUTABLE = (Bool, Dot, Nil, Number, String)
_OPERANDS = frozenset(
    {"word", "string", "raw", "char", "number", "variable", "field", "dot", "nil", "open"},
)


@lru_cache(maxsize=512)
def parse(name: str, text: str) -> Parsed:
    """Parse one template file; ``name`` is for messages and for ``template "name"``.

    Raises :class:`TemplateSyntaxError` with the line of the fault.
    """
    return _Parser(Source(name, text)).file()


def first_unknown(parsed: Parsed, known: Container[str]) -> FunctionName | None:
    """Return the first function of the file that is not among the known ones."""
    return next((name for name in parsed.functions if name.name not in known), None)


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.index = 0
        self.variables = ["$"]
        self.loops = 0
        self.nesting = 0
        self.definitions: dict[str, Definition] = {}
        self.functions: list[FunctionName] = []

    # Tokens

    def next(self) -> Token:
        token = self.tokens[self.index]
        if token.kind != "eof":
            self.index += 1
        return token

    def peek(self) -> Token:
        return self.tokens[self.index]

    def skip_space(self) -> Token:
        while self.tokens[self.index].kind == "space":
            self.index += 1
        return self.tokens[self.index]

    def next_word(self) -> Token:
        self.skip_space()
        return self.next()

    def expect(self, kind: str, context: str) -> Token:
        token = self.next_word()
        if token.kind != kind:
            self.unexpected(token, context)
        return token

    def fail(self, reason: str, token: Token, expression: str = "") -> NoReturn:
        raise self.source.error(reason, token.start, expression)

    def unexpected(self, token: Token, context: str) -> NoReturn:
        shown = "EOF" if token.kind == "eof" else repr(token.value)
        self.fail(f"unexpected {shown} in {context}", token)

    def nested(self, token: Token, step: int) -> None:
        self.nesting += step
        if self.nesting > _MAX_NESTING:
            self.fail(f"more than {_MAX_NESTING} levels inside each other", token)

    # Statements

    def file(self) -> Parsed:
        body: list[Statement] = []
        while (token := self.peek()).kind != "eof":
            if token.kind == "open_action" and self._starts("define"):
                self.definition()
                continue
            node, stop = self.statement()
            if node is None:
                self.fail(f"unexpected {{{{{stop}}}}}", token)
            body.append(node)
        root = Definition(self.source.name, self.source, tuple(body))
        return Parsed(root, self.definitions, tuple(self.functions))

    def _starts(self, kind: str) -> bool:
        index = self.index + 1
        while self.tokens[index].kind == "space":
            index += 1
        return self.tokens[index].kind == kind

    def block(self) -> tuple[Block, str]:
        """Parse up to ``end`` or ``else``; return the body and which of them ended it."""
        body: list[Statement] = []
        while True:
            token = self.peek()
            if token.kind == "eof":
                self.fail("unexpected EOF: an {{ end }} is missing", token)
            node, stop = self.statement()
            if node is None:
                return tuple(body), stop
            body.append(node)

    def statement(self) -> tuple[Statement | None, str]:
        token = self.next()
        if token.kind == "text":
            return Text(token.start, token.end, token.value), ""
        if token.kind != "open_action":
            self.unexpected(token, "input")
        word = self.skip_space()
        control = _CONTROLS.get(word.kind)
        if control is not None:
            self.index += 1
            return control(self, token), ""
        if word.kind in ("end", "else"):
            self.index += 1
            if word.kind == "end" or self.skip_space().kind not in ("if", "with"):
                self.expect("close_action", word.kind)
            return None, word.kind
        pipe = self.pipeline("command", "close_action")
        return Action(token.start, self.tokens[self.index - 1].end, pipe), ""

    def if_(self, opened: Token) -> If:
        return If(opened.start, *self.control("if", opened))

    def with_(self, opened: Token) -> With:
        return With(opened.start, *self.control("with", opened))

    def range_(self, opened: Token) -> Range:
        return Range(opened.start, *self.control("range", opened))

    def control(self, context: str, opened: Token) -> tuple[int, Pipe, Block, Block]:
        self.nested(opened, 1)
        mark = len(self.variables)
        pipe = self.pipeline(context, "close_action")
        self.loops += context == "range"
        body, stop = self.block()
        self.loops -= context == "range"
        orelse: Block = ()
        if stop == "else":
            following = self.skip_space()
            if following.kind == context and context in ("if", "with"):
                self.index += 1
                orelse = (_CONTROLS[context](self, following),)
            elif following.kind in ("if", "with"):
                self.unexpected(following, f"else of {context}")
            else:
                orelse, stop = self.block()
                if stop != "end":
                    self.fail(f"expected end; found {{{{{stop}}}}}", self.peek())
        del self.variables[mark:]
        self.nested(opened, -1)
        return self.tokens[self.index - 1].end, pipe, body, orelse

    def break_(self, opened: Token) -> Break:
        return Break(opened.start, self._loop_word("break"))

    def continue_(self, opened: Token) -> Continue:
        return Continue(opened.start, self._loop_word("continue"))

    def _loop_word(self, word: str) -> int:
        close = self.expect("close_action", f"{{{{{word}}}}}")
        if not self.loops:
            self.fail(f"{{{{{word}}}}} outside {{{{range}}}}", close)
        return close.end

    def template_name(self, context: str) -> str:
        token = self.next_word()
        if token.kind not in ("string", "raw"):
            self.unexpected(token, context)
        return unquote(self.source, token)

    def template_call(self, opened: Token) -> TemplateCall:
        name = self.template_name("template clause")
        pipe = None
        if self.skip_space().kind == "close_action":
            self.index += 1
        else:
            pipe = self.pipeline("template clause", "close_action")
        return TemplateCall(opened.start, self.tokens[self.index - 1].end, name, pipe)

    def block_(self, opened: Token) -> TemplateCall:
        name = self.template_name("block clause")
        pipe = self.pipeline("block clause", "close_action")
        end = self.tokens[self.index - 1].end
        self.define(name, opened, "block clause")
        return TemplateCall(opened.start, end, name, pipe)

    def definition(self) -> None:
        opened = self.next()
        self.next_word()
        name = self.template_name("define clause")
        self.expect("close_action", "define clause")
        self.define(name, opened, "define clause")

    def define(self, name: str, opened: Token, context: str) -> None:
        self.nested(opened, 1)
        variables, self.variables = self.variables, ["$"]
        loops, self.loops = self.loops, 0
        body, stop = self.block()
        if stop != "end":
            self.fail(f"unexpected {{{{{stop}}}}} in {context}", self.peek())
        self.variables, self.loops = variables, loops
        self.nested(opened, -1)
        new, known = Definition(name, self.source, body, opened.start), self.definitions.get(name)
        if known is None or known.is_empty:
            self.definitions[name] = new
        elif not new.is_empty:
            self.fail(f'multiple definition of template "{name}"', opened)

    # Expressions

    def pipeline(self, context: str, end: str) -> Pipe:
        start = self.skip_space()
        variables, assigns = self.declarations(context)
        commands: list[Command] = []
        while True:
            token = self.skip_space()
            if token.kind == end:
                self.index += 1
                break
            if token.kind not in _OPERANDS:
                self.unexpected(token, context)
            commands.append(self.command())
        if not commands:
            self.fail(f"missing value for {context}", token)
        for stage, command in enumerate(commands[1:], 2):
            if isinstance(command.operands[0], _NOT_EXECUTABLE):
                self.fail(f"non executable command in pipeline stage {stage}", start)
        return Pipe(start.start, commands[-1].end, variables, assigns, tuple(commands))

    def declarations(self, context: str) -> tuple[tuple[str, ...], bool]:
        """Parse ``$x :=``, ``$x =`` or, in a range, ``$i, $x :=``, if one is there."""
        names: list[str] = []
        while (token := self.skip_space()).kind == "variable":
            mark = self.index
            self.index += 1
            following = self.skip_space()
            if following.kind in ("declare", "assign"):
                self.index += 1
                names.append(token.value)
                self.variables.append(token.value)
                return tuple(names), following.kind == "assign"
            if following.value != ",":
                self.index = mark
                break
            self.index += 1
            names.append(token.value)
            self.variables.append(token.value)
            if context != "range" or len(names) > 1:
                self.fail(f"too many declarations in {context}", token)
            if self.skip_space().kind not in ("variable", "close_action", "shut"):
                self.fail("range can only initialize variables", token)
        return tuple(names), False

    def command(self) -> Command:
        start = self.skip_space()
        operands: list[Expression] = []
        while True:
            self.skip_space()
            operand = self.operand()
            if operand is not None:
                operands.append(operand)
            token = self.peek()
            if token.kind in ("close_action", "shut"):
                break
            self.index += 1
            if token.kind == "pipe":
                break
            if token.kind != "space":
                self.unexpected(token, "operand")
        if not operands:
            self.fail("empty command", start)
        return Command(start.start, operands[-1].end, tuple(operands))

    def operand(self) -> Expression | None:
        node = self.term()
        if node is None or self.peek().kind != "field":
            return node
        if isinstance(node, _NOT_EXECUTABLE):
            self.fail("unexpected . after a term that has no fields", self.peek())
        names = []
        while self.peek().kind == "field":
            token = self.next()
            names.append(token.value[1:])
        match node:
            case Field():
                return Field(node.start, token.end, (*node.names, *names))
            case Variable():
                return Variable(node.start, token.end, node.name, (*node.names, *names))
        return Chain(node.start, token.end, node, tuple(names))

    def term(self) -> Expression | None:
        token = self.peek()
        start, end = token.start, token.end
        if token.kind not in _OPERANDS:
            return None
        self.index += 1
        match token.kind:
            case "word" if token.value in ("true", "false"):
                return Bool(start, end, token.value == "true")
            case "word":
                name = FunctionName(start, end, token.value)
                self.functions.append(name)
                return name
            case "dot":
                return Dot(start, end)
            case "nil":
                return Nil(start, end)
            case "variable":
                if token.value not in self.variables:
                    self.fail(f'undefined variable "{token.value}"', token, token.value)
                return Variable(start, end, token.value, ())
            case "field":
                return Field(start, end, (token.value[1:],))
            case "number":
                return read_number(self.source, token)
            case "char":
                value = unquote(self.source, token)
                if len(value) != 1:
                    self.fail("malformed character constant", token, token.value)
                return Number(start, end, ord(value), float(ord(value)), is_real=False)
            case "open":
                self.nested(token, 1)
                pipe = self.pipeline("parenthesized pipeline", "shut")
                self.nested(token, -1)
                return Pipe(
                    start,
                    self.tokens[self.index - 1].end,
                    pipe.variables,
                    pipe.assigns,
                    pipe.commands,
                )
        return String(start, end, unquote(self.source, token))


_CONTROLS: dict[str, Callable[[_Parser, Token], Statement]] = {
    "block": _Parser.block_,
    "break": _Parser.break_,
    "continue": _Parser.continue_,
    "if": _Parser.if_,
    "range": _Parser.range_,
    "template": _Parser.template_call,
    "with": _Parser.with_,
}
