"""Placeholders: facts of the spec inside free text, so that no number is written twice.

``{{ ctx }}`` and ``{{ bench.ctx_32k.tps }}`` are placeholders: a path of names between double
braces. A path that no fact answers to is an error. Two braces before anything that is no name
(``{{ .Values.x }}``, ``{{- if``, ``{{"x"}}``) are text and stay as they are, and so is an
expression that begins with a name which is no fact (``{{ if .x }}``). ``\\{{`` writes two
braces where a placeholder would be read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from olares_apps.errors import Problem, SpecError, nearest

__all__ = ["escape", "expand", "problems"]

_OPEN: Final = re.compile(
    r"""(?P<escaped>\\\{\{)
    |\{\{(?P<space>\s*)(?:(?P<path>[A-Za-z_]\w*(?:\.\w+)*)(?P<rest>\s*(?P<close>\}\})?))?""",
    re.ASCII | re.VERBOSE,
)
_SHOWN: Final = 40


def expand(text: str, facts: Mapping[str, object], where: str) -> str:
    """Return ``text`` with every placeholder replaced by the fact it names.

    ``where`` is the text's field in the spec, for messages. Raises SpecError that holds every
    problem of the text, each with the offending piece as its value.
    """
    if "{{" not in text:
        return text
    found: list[Problem] = []
    pieces: list[str] = []
    end = 0
    for match, value in _scan(text, facts):
        pieces.append(text[end : match.start()])
        end = match.end()
        if isinstance(value, _Fault):
            found.append(_problem(value, where))
        else:
            pieces.append(value)
    if found:
        raise SpecError(found)
    pieces.append(text[end:])
    return "".join(pieces)


def problems(text: str, facts: Mapping[str, object], where: str) -> list[Problem]:
    """Return what :func:`expand` would raise, without expanding."""
    if "{{" not in text:
        return []
    faults = (value for _, value in _scan(text, facts) if isinstance(value, _Fault))
    return [_problem(fault, where) for fault in faults]


def escape(text: str) -> str:
    """Return text that :func:`expand` turns back into ``text``, whatever it holds."""
    return text.replace("{{", r"\{{")


class _Fault:
    """A placeholder that cannot be replaced: the piece as written, what is wrong, what to do."""

    def __init__(self, written: str, message: str, hint: str) -> None:
        self.written, self.message, self.hint = written, message, hint


def _problem(fault: _Fault, where: str) -> Problem:
    return Problem(fault.message, field=where, value=fault.written, hint=fault.hint)


def _scan(text: str, facts: Mapping[str, object]) -> Iterator[tuple[re.Match[str], str | _Fault]]:
    """Yield every pair of opening braces with the text that takes its place."""
    for match in _OPEN.finditer(text):
        if match["escaped"]:
            yield match, "{{"
        elif match["path"] is None:
            yield match, match[0]
        elif match["close"]:
            yield match, _look_up(match, facts)
        else:
            yield match, _unfinished(text, match, facts)


def _look_up(match: re.Match[str], facts: Mapping[str, object]) -> str | _Fault:
    path = match["path"]
    value: object = facts
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return _unknown(match[0], path, facts)
        value = value[name]
    if value is None:
        return _Fault(
            match[0],
            f"{match[0]} has no value: the spec does not give it",
            f"fill in what {path} stands for or leave the placeholder out",
        )
    if isinstance(value, Mapping):
        names = list(_paths(value, f"{path}."))
        listed = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")
        return _Fault(match[0], f"{match[0]} is a group of facts", f"name one of: {listed}")
    return str(value)


def _unknown(written: str, path: str, facts: Mapping[str, object]) -> _Fault:
    guess = nearest(path, _paths(facts))
    hint = f"did you mean {{{{ {guess} }}}}? " if guess else ""
    return _Fault(
        written, f"{written} names no fact of the spec", hint + r"write \{{ for literal braces"
    )


def _unfinished(text: str, match: re.Match[str], facts: Mapping[str, object]) -> str | _Fault:
    """Judge braces with a name behind them that are not closed right after it."""
    rest = text[match.end() :].partition("{{")[0]
    inside, closed, _ = rest.partition("}}")
    known = match["path"].partition(".")[0] in facts
    if closed and not known:
        return match[0]
    shown = f"{match[0]}{inside}{closed}".partition("\n")[0][:_SHOWN]
    repair = f"write {{{{ {match['path']} }}}}" if known else "close it with }}"
    return _Fault(
        match[0].rstrip(),
        f"{shown} is no placeholder: only the name of a fact stands between the braces"
        if closed
        else f"{shown} opens a placeholder and never closes it",
        repair + r", or write \{{ for literal braces",
    )


def _paths(facts: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{name}.")
        else:
            yield prefix + name
