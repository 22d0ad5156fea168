"""Judging an argument list against the flag table of the build that will read it."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from olares_apps.engines.flags.dialect import dialect_of
from olares_apps.engines.flags.model import Flag, FlagTable
from olares_apps.engines.flags.parse import Leftover, ParsedArgs, Setting, parse_argv
from olares_apps.engines.flags.problems import FlagProblem, ProblemKind
from olares_apps.engines.flags.tables import builds_with
from olares_apps.engines.flags.values import ValueFault, value_faults

__all__ = ["check_argv", "check_parsed"]

_LEAST_ALIKE: Final = 0.78
"""Share of equal letters from which on a flag is taken for a misspelled one."""


def check_argv(argv: Sequence[str], table: FlagTable) -> list[FlagProblem]:
    """Return everything that the build would refuse or misread, in argument order.

    ``argv`` is the list as the server process receives it, without the binary. Rules between
    flags are in ``conflicts.check_conflicts``.
    """
    return check_parsed(parse_argv(argv, table))


def check_parsed(parsed: ParsedArgs) -> list[FlagProblem]:
    """Return what ``check_argv`` returns, for a list that was parsed already."""
    problems = [
        *(_leftover(item, parsed.table) for item in parsed.leftovers),
        *(problem for item in parsed.settings for problem in _setting(item, parsed)),
        *_repeats(parsed),
    ]
    return sorted(problems, key=lambda problem: problem.position or 0)


def _leftover(item: Leftover, table: FlagTable) -> FlagProblem:
    name, equals, value = item.text.partition("=")
    if not item.is_option:
        return FlagProblem.of(
            ProblemKind.UNKNOWN,
            item.text,
            f"{item.text!r} belongs to no option of {table.engine} {table.build}",
            position=item.position,
        )
    dialect = dialect_of(table.engine)
    if equals and dialect.find(table, dialect.fold(name)):
        return FlagProblem.of(
            ProblemKind.UNKNOWN,
            item.text,
            f"{table.engine} takes no '=' in an option: write {name} and {value} as two arguments",
            value=value,
            position=item.position,
            suggestion=f"{name} {value}",
        )
    suggestion = _suggest(dialect.fold(name), table)
    hint = f"; did you mean {suggestion}?" if suggestion else ""
    elsewhere = _elsewhere(table, (dialect.fold(name),))
    return FlagProblem.of(
        ProblemKind.UNKNOWN,
        item.text,
        f"{name} is not a flag of {table.engine} {table.build}{elsewhere}{hint}",
        value=item.value,
        position=item.position,
        suggestion=suggestion,
    )


def _elsewhere(table: FlagTable, names: Sequence[str], value: str | None = None) -> str:
    """Return where else an option or value is known, for the message."""
    others = [build for build in builds_with(table.engine, names, value) if build != table.build]
    if not others:
        return ""
    shown = others if len(others) < 6 else [*others[:2], "...", others[-1]]
    return f" (known to {', '.join(shown)})"


def _suggest(name: str, table: FlagTable) -> str | None:
    known = table.suggestions.get(name)
    if known is None:
        return _alike(name, table.names())
    match = table.find(known)
    if match is None or match.flag.removed is not None:
        return None
    others = [alias for alias in match.flag.names if alias != known and len(alias) <= 4]
    return f"{known} ({others[0]})" if others else known


def _alike(name: str, known: Sequence[str]) -> str | None:
    """Return the flag that a misspelled one stands for, None when none is really close.

    Leading dashes make any two flags look alike, so only the words count, and nearly all of
    their letters must be there; a flag that switches off stands for no other one.
    """
    off = _words(name).startswith("no-")
    words = {
        word: item for item in reversed(known) if (word := _words(item)).startswith("no-") == off
    }
    found = get_close_matches(_words(name), words, n=1, cutoff=_LEAST_ALIKE)
    return words[found[0]] if found else None


def _words(name: str) -> str:
    return name.lstrip("-").replace("_", "-").casefold()


def _setting(item: Setting, parsed: ParsedArgs) -> Iterator[FlagProblem]:
    flag, table = item.flag, parsed.table
    if flag.removed is not None:
        use = f": use {flag.removed}" if flag.removed else ""
        yield _problem(item, ProblemKind.REMOVED, f"{item.written} was removed{use}", table)
        return
    if flag.deprecated is not None:
        use = f": use {flag.deprecated}" if flag.deprecated else ""
        yield _problem(item, ProblemKind.DEPRECATED, f"{item.written} is deprecated{use}", table)
    if item.missing:
        yield _missing(item, table)
    if item.surplus is not None:
        yield _surplus(item)
    is_open = flag.opened_by is not None and parsed.has(flag.opened_by)
    for value in item.values:
        for fault in value_faults(flag, value, table, path=item.path, is_open=is_open):
            yield _value_problem(item, value, fault, table)


def _problem(item: Setting, kind: ProblemKind, message: str, table: FlagTable) -> FlagProblem:
    flag = item.flag
    note = table.notes.get(flag.name)
    return FlagProblem.of(
        kind,
        item.written,
        f"{message} ({note})" if note else message,
        value=item.value,
        position=item.position,
        suggestion=(flag.removed if kind is ProblemKind.REMOVED else flag.deprecated) or None,
    )


def _missing(item: Setting, table: FlagTable) -> FlagProblem:
    flag = item.flag
    allowed = f" ({', '.join(flag.values)})" if flag.values else ""
    note = table.notes.get(flag.name)
    message = f"{item.written} needs a value{allowed}" + (f", {note}" if note else "")
    if item.followed_by is not None:
        message += f"; {item.followed_by} would be read as its value"
    return FlagProblem.of(
        ProblemKind.MISSING_VALUE,
        item.written,
        message,
        value=item.followed_by,
        position=item.position,
        allowed=flag.values,
        suggestion=f"{item.written} {_usual(flag)}" if _usual(flag) else None,
    )


def _usual(flag: Flag) -> str | None:
    return "on" if "on" in flag.values else None


def _surplus(item: Setting) -> FlagProblem:
    off = item.flag.negated[0] if item.flag.negated else None
    wants_off = (item.surplus or "").lower() in ("false", "off", "no", "0", "disabled")
    write = (off or "no such argument at all") if wants_off else item.written
    return FlagProblem.of(
        ProblemKind.UNEXPECTED_VALUE,
        item.written,
        f"{item.written} is a switch and takes no value, got {item.surplus!r}: write {write}",
        value=item.surplus,
        position=item.position,
        suggestion=off if wants_off else item.flag.name,
    )


def _value_problem(item: Setting, value: str, fault: ValueFault, table: FlagTable) -> FlagProblem:
    message = f"{item.written} {fault.message}"
    if fault.kind is ProblemKind.BAD_VALUE and not fault.message.startswith("must"):
        message = f"{item.written}: {fault.message}"
    if fault.kind is ProblemKind.BAD_VALUE and fault.allowed and not item.path:
        message += _elsewhere(table, item.flag.names, fault.value or value)
    if fault.kind is ProblemKind.BAD_VALUE and fault.allowed and fault.suggestion:
        message += f"; did you mean {fault.suggestion}?"
    return FlagProblem.of(
        fault.kind,
        item.written,
        message,
        value=fault.value or value,
        position=item.position,
        allowed=fault.allowed,
        suggestion=fault.suggestion,
    )


def _repeats(parsed: ParsedArgs) -> Iterator[FlagProblem]:
    seen: dict[tuple[str, tuple[str, ...]], Setting] = {}
    for item in parsed.settings:
        flag = item.flag
        if flag.repeatable or flag.removed is not None:
            continue
        first = seen.setdefault((flag.name, item.path), item)
        if first is not item:
            yield FlagProblem.of(
                ProblemKind.REPEATED,
                item.written,
                f"{item.written} is given twice (as {first.written} at position "
                f"{first.position}): only the last value counts",
                value=item.value,
                position=item.position,
            )
