"""The syntax of Go's regular expressions: from a pattern to a program."""

import re
import unicodedata
from functools import lru_cache

from olares_apps.helm.calls import CallFailed
from olares_apps.helm.regex import WORD_CHARACTERS, CharacterTest, Op, Regex

__all__ = ["compile_regex"]

_MAX_PROGRAM = 5_000
_MAX_REPEAT = 1000
_DIGITS = frozenset("0123456789")
_SPACES = frozenset("\t\n\f\r ")
_PERL: dict[str, frozenset[str]] = {"d": _DIGITS, "w": WORD_CHARACTERS, "s": _SPACES}
_POSIX: dict[str, frozenset[str]] = {
    "alnum": WORD_CHARACTERS - {"_"},
    "alpha": WORD_CHARACTERS - {"_"} - _DIGITS,
    "blank": frozenset(" \t"),
    "cntrl": frozenset(map(chr, [*range(32), 127])),
    "digit": _DIGITS,
    "graph": frozenset(map(chr, range(33, 127))),
    "lower": frozenset("abcdefghijklmnopqrstuvwxyz"),
    "print": frozenset(map(chr, range(32, 127))),
    "punct": frozenset(map(chr, range(33, 127))) - (WORD_CHARACTERS - {"_"}),
    "space": _SPACES | {"\v"},
    "upper": frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "word": WORD_CHARACTERS,
    "xdigit": _DIGITS | frozenset("abcdefABCDEF"),
}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASSERTIONS = {"A": "begin", "z": "end", "b": "word", "B": "not_word"}


@lru_cache(maxsize=256)
def compile_regex(pattern: str) -> Regex:
    """Compile a pattern; raises :class:`CallFailed` for what Go's regexp does not accept."""
    compiler = _Compiler(pattern)
    body = compiler.alternatives(frozenset())
    if compiler.position < len(pattern):
        raise compiler.refuse("unexpected )")
    program = [Op("save", first=0), *body, Op("save", first=1), Op("match")]
    return Regex(_absolute(program), compiler.groups, compiler.names)


def _absolute(program: list[Op]) -> list[Op]:
    """Turn the relative targets of jumps and splits into absolute ones."""
    return [
        op._replace(first=index + op.first, second=index + op.second)
        if op.kind in ("jump", "split")
        else op
        for index, op in enumerate(program)
    ]


class _Compiler:
    """Recursive descent from pattern to program; targets are relative, so parts can be moved."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.position = pattern, 0
        self.groups = 0
        self.names: dict[str, int] = {}
        self.depth = 0

    def refuse(self, reason: str) -> CallFailed:
        return CallFailed(f"error parsing regexp: {reason}: `{self.pattern}`")

    def accept(self, text: str) -> bool:
        if self.pattern.startswith(text, self.position):
            self.position += len(text)
            return True
        return False

    def take(self) -> str:
        if self.position >= len(self.pattern):
            raise self.refuse("unexpected end")
        self.position += 1
        return self.pattern[self.position - 1]

    def alternatives(self, flags: frozenset[str]) -> list[Op]:
        self.depth += 1
        if self.depth > 50:
            raise self.refuse("expression nests too deeply")
        program, flags = self.sequence(flags)
        if self.accept("|"):
            rest = self.alternatives(flags)
            program = [
                Op("split", first=1, second=len(program) + 2),
                *program,
                Op("jump", first=len(rest) + 1),
                *rest,
            ]
        self.depth -= 1
        if len(program) > _MAX_PROGRAM:
            raise self.refuse("expression too large")
        return program

    def sequence(self, flags: frozenset[str]) -> tuple[list[Op], frozenset[str]]:
        program: list[Op] = []
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            if scoped := re.compile(r"\(\?([ims]*)(?:-([ims]+))?\)").match(
                self.pattern, self.position
            ):
                self.position = scoped.end()
                flags = (flags | set(scoped[1])) - set(scoped[2] or "")
                continue
            program += self.repeated(self.atom(flags))
        return program, flags

    def repeated(self, program: list[Op]) -> list[Op]:
        counted = re.compile(r"\{(\d+)(,(\d*))?\}").match(self.pattern, self.position)
        if counted:
            self.position = counted.end()
            least = int(counted[1])
            most = least if counted[2] is None else int(counted[3]) if counted[3] else None
        elif self.position < len(self.pattern) and self.pattern[self.position] in "*+?":
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self.take()]
        else:
            return program
        lazy = self.accept("?")
        if re.compile(r"[*+?]|\{\d+(,\d*)?\}").match(self.pattern, self.position):
            raise self.refuse("invalid nested repetition operator")
        if least > _MAX_REPEAT or (most is not None and not least <= most <= _MAX_REPEAT):
            raise self.refuse("invalid repeat count")
        size = len(program)
        if size * max(least, most or 0, 1) > _MAX_PROGRAM:
            raise self.refuse("expression too large")
        if most is None:
            tail = [_split(1, size + 2, lazy), *program, Op("jump", first=-size - 1)]
        else:
            tail = []
            for _ in range(most - least):
                tail = [_split(1, size + len(tail) + 1, lazy), *program, *tail]
        return program * least + tail

    def atom(self, flags: frozenset[str]) -> list[Op]:
        character = self.take()
        match character:
            case "(":
                return self.group(flags)
            case "[":
                return [Op("test", self.bracket(flags))]
            case ".":
                return [Op("test", _any if "s" in flags else _any_but_newline)]
            case "^":
                return [Op("line_begin" if "m" in flags else "begin")]
            case "$":
                return [Op("line_end" if "m" in flags else "end")]
            case "\\":
                return self.escape(flags)
            case "*" | "+" | "?":
                raise self.refuse(f"missing argument to repetition operator: {character}")
        return [Op("test", _one_of(frozenset(character), "i" in flags))]

    def group(self, flags: frozenset[str]) -> list[Op]:
        index = 0
        if named := re.compile(r"\?P?<(\w+)>").match(self.pattern, self.position):
            self.position = named.end()
            index = self.groups = self.groups + 1
            if self.names.setdefault(named[1], index) != index:
                raise self.refuse("duplicate capture group name")
        elif inline := re.compile(r"\?([ims]*)(?:-([ims]+))?:").match(self.pattern, self.position):
            self.position = inline.end()
            flags = (flags | set(inline[1])) - set(inline[2] or "")
        elif self.accept("?"):
            raise self.refuse("invalid or unsupported Perl syntax")
        else:
            index = self.groups = self.groups + 1
        program = self.alternatives(flags)
        if not self.accept(")"):
            raise self.refuse("missing closing )")
        if not index:
            return program
        return [Op("save", first=2 * index), *program, Op("save", first=2 * index + 1)]

    def escape(self, flags: frozenset[str]) -> list[Op]:
        character = self.take()
        if character in _ASSERTIONS:
            return [Op(_ASSERTIONS[character])]
        if (test := self.escaped_class(character)) is not None:
            return [Op("test", test)]
        if character == "Q":
            quoted, _, _ = self.pattern[self.position :].partition("\\E")
            self.position = min(self.position + len(quoted) + 2, len(self.pattern))
            return [Op("test", _one_of(frozenset(c), "i" in flags)) for c in quoted]
        return [Op("test", _one_of(frozenset(self.escaped(character)), "i" in flags))]

    def escaped_class(self, character: str) -> CharacterTest | None:
        if (known := _PERL.get(character.lower())) is not None:
            return known.__contains__ if character.islower() else _not(known.__contains__)
        if character not in "pP":
            return None
        name = re.compile(r"\{(\^?)(\w+)\}|()(\w)").match(self.pattern, self.position)
        if name is None or (name[2] or name[4]) not in _CATEGORIES:
            raise self.refuse("invalid character class range")
        self.position = name.end()
        wanted = name[2] or name[4]
        negated = (character == "P") != bool(name[1])

        def test(candidate: str) -> bool:
            return unicodedata.category(candidate).startswith(wanted) != negated

        return test

    def escaped(self, character: str) -> str:
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character == "x":
            digits = re.compile(r"([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\}").match(
                self.pattern, self.position
            )
            if digits and int(digits[1] or digits[2], 16) <= 0x10FFFF:
                self.position = digits.end()
                return chr(int(digits[1] or digits[2], 16))
        elif not character.isalnum() and character.isascii():
            return character
        raise self.refuse(f"invalid escape sequence: \\{character}")

    def bracket(self, flags: frozenset[str]) -> CharacterTest:
        negated = self.accept("^")
        tests: list[CharacterTest] = []
        first = True
        while first or not self.accept("]"):
            first = False
            if posix := re.compile(r"\[:(\^?)(\w+):\]").match(self.pattern, self.position):
                if posix[2] not in _POSIX:
                    raise self.refuse("invalid character class range")
                self.position = posix.end()
                known = _POSIX[posix[2]].__contains__
                tests.append(_not(known) if posix[1] else known)
                continue
            low = self.take()
            if low == "\\":
                low = self.take()
                if (test := self.escaped_class(low)) is not None:
                    tests.append(test)
                    continue
                low = self.escaped(low)
            high = low
            if self.pattern[self.position : self.position + 1] == "-" and (
                self.pattern[self.position + 1 : self.position + 2] not in ("]", "")
            ):
                self.position += 1
                high = self.take()
                high = self.escaped(self.take()) if high == "\\" else high
            if high < low:
                raise self.refuse("invalid character class range")
            tests.append(_between(low, high, "i" in flags))
        return _either(tests, negated)


_CATEGORIES = frozenset(
    (
        "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C"
    ).split()
)


def _split(first: int, second: int, lazy: bool) -> Op:
    if lazy:
        first, second = second, first
    return Op("split", first=first, second=second)


def _any(character: str) -> bool:
    return True


def _any_but_newline(character: str) -> bool:
    return character != "\n"


def _not(test: CharacterTest) -> CharacterTest:
    return lambda character: not test(character)


def _one_of(characters: frozenset[str], fold: bool) -> CharacterTest:
    if fold:
        characters = frozenset(c for each in characters for c in (each.lower(), each.upper()))
    return characters.__contains__


def _between(low: str, high: str, fold: bool) -> CharacterTest:
    if fold:
        return lambda c: low <= c <= high or low <= c.lower() <= high or low <= c.upper() <= high
    return lambda character: low <= character <= high


def _either(tests: list[CharacterTest], negated: bool) -> CharacterTest:
    return lambda character: any(test(character) for test in tests) != negated
