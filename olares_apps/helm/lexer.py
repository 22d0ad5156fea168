"""Tokens of Go's text/template: literal text outside, words inside ``{{ }}``.

The rules (trim markers, comments, what may follow an identifier) are those of Go's
``text/template/parse``.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from olares_apps.helm.errors import TemplateSyntaxError

__all__ = ["KEYWORDS", "Source", "Token", "tokenize"]

KEYWORDS = frozenset(
    "block break continue define else end if nil range template with".split(),
)
_SPACE = " \t\r\n"
_LEFT, _RIGHT = "{{", "}}"
_TERMINATORS = frozenset(" \t\r\n.,|:)(")

_INSIDE = re.compile(
    r"""
      (?P<close> [ \t\r\n]-\}\} | \}\} )
    | (?P<space> (?: [ \t\r\n] (?! -\}\} ) )+ )
    | (?P<string> "(?: \\[^\n] | [^"\\\n] )*" )
    | (?P<raw> `[^`]*` )
    | (?P<char> '(?: \\[^\n] | [^'\\\n] )*' )
    | (?P<variable> \$\w* )
    | (?P<field> \.(?!\d)\w+ )
    | (?P<number>
        [+-]? (?: 0[xX][0-9a-fA-F_.]*(?:[pP][+-]?[0-9_]*)? | 0[oO][0-7_]* | 0[bB][01_]*
                | (?: \d[\d_]*(?:\.[\d_]*)? | \.\d[\d_]* ) (?:[eE][+-]?[\d_]*)? ) i? )
    | (?P<dot> \. )
    | (?P<word> \w+ )
    | (?P<declare> := )
    | (?P<assign> = )
    | (?P<pipe> \| )
    | (?P<open> \( )
    | (?P<shut> \) )
    | (?P<other> [!-~] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Source:
    """The text of one template file, with its name for messages."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column (both from 1) of a character offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, offset: int) -> int:
        """Return the line (from 1) of a character offset."""
        return bisect_right(self._line_starts, offset)

    def error(self, reason: str, offset: int, expression: str = "") -> TemplateSyntaxError:
        """Return a syntax error at ``offset``."""
        line, column = self.position(offset)
        return TemplateSyntaxError(
            reason, file=self.name, line=line, column=column, expression=expression
        )


class Token(NamedTuple):
    """One token: its kind (``text``, ``open_action``, ``word`` ...), text and place."""

    kind: str
    value: str
    start: int
    end: int


def tokenize(source: Source) -> list[Token]:
    """Split a template into tokens, ending with one of kind ``eof``.

    Raises :class:`TemplateSyntaxError` for an action or comment that is not closed and for
    characters that no token begins with.
    """
    text, tokens, position = source.text, [], 0
    while (left := text.find(_LEFT, position)) >= 0:
        inner = left + len(_LEFT)
        trims = text[inner : inner + 1] == "-" and text[inner + 1 : inner + 2] in tuple(_SPACE)
        literal = text[position:left].rstrip(_SPACE) if trims else text[position:left]
        if literal:
            tokens.append(Token("text", literal, position, position + len(literal)))
        inner += 2 if trims else 0
        if text.startswith("/*", inner):
            position = _after_comment(source, inner)
            continue
        tokens.append(Token("open_action", _LEFT, left, inner))
        position = _scan_action(source, left, inner, tokens)
    if position < len(text):
        tokens.append(Token("text", text[position:], position, len(text)))
    tokens.append(Token("eof", "", len(text), len(text)))
    return tokens


def _after_close(text: str, start: int, end: int) -> int:
    """Return where text goes on after a right delimiter, trimmed if it has a marker."""
    if end - start == len(_RIGHT):
        return end
    while end < len(text) and text[end] in _SPACE:
        end += 1
    return end


def _after_comment(source: Source, start: int) -> int:
    text = source.text
    closed = text.find("*/", start + 2)
    if closed < 0:
        raise source.error("unclosed comment", start)
    end = _INSIDE.match(text, closed + 2)
    if end is None or end.lastgroup != "close":
        raise source.error("comment ends before closing delimiter", closed)
    return _after_close(text, end.start(), end.end())


def _scan_action(source: Source, left: int, start: int, tokens: list[Token]) -> int:
    """Append the tokens of one action; return where the text after it begins."""
    text, position, depth = source.text, start, 0
    while match := _INSIDE.match(text, position):
        kind, value = match.lastgroup or "", match.group()
        end = match.end()
        if kind == "close":
            if depth:
                raise source.error("unclosed left paren", position)
            tokens.append(Token("close_action", value, position, end))
            return _after_close(text, position, end)
        if kind in ("word", "field", "variable", "dot", "number"):
            _check_terminator(source, kind, position, end)
            if kind == "word" and value in KEYWORDS:
                kind = value
        elif kind == "open":
            depth += 1
        elif kind == "shut":
            depth -= 1
            if depth < 0:
                raise source.error("unexpected right paren", position)
        elif kind == "other":
            _check_other(source, value, position)
        tokens.append(Token(kind, value, position, end))
        position = end
    if position >= len(text):
        raise source.error("unclosed action", left)
    raise source.error(f"unrecognized character in action: {text[position]!r}", position)


def _check_terminator(source: Source, kind: str, start: int, end: int) -> None:
    following = source.text[end : end + 1]
    if kind == "number":
        if following == "_" or following.isalnum():
            raise source.error("bad number syntax", start, source.text[start : end + 1])
    elif following and following not in _TERMINATORS and not source.text.startswith(_RIGHT, end):
        raise source.error(f"bad character {following!r}", end)


def _check_other(source: Source, value: str, start: int) -> None:
    match value:
        case '"':
            raise source.error("unterminated quoted string", start)
        case "`":
            raise source.error("unterminated raw quoted string", start)
        case "'":
            raise source.error("unterminated character constant", start)
        case ":":
            raise source.error("expected :=", start)
        case "+" | "-":
            raise source.error("bad number syntax", start, value)
