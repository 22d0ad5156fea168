"""From numbers in texts that differ from the configuration to findings, each cause once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Final

from olares_apps.checks.asides import is_aside
from olares_apps.checks.places import line_of_piece
from olares_apps.checks.prose import Clause
from olares_apps.checks.rule import Found
from olares_apps.findings import Severity

if TYPE_CHECKING:
    from olares_apps.checks.context import ChartContext

__all__ = ["Contradiction", "told_once"]

_LISTED: Final = 5
"""Further places that a finding names."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A number in a clause, from ``start`` to ``end``, that is not the configured one.

    One that is not sure is a warning.
    """

    clause: Clause
    start: int
    end: int
    message: str
    hint: str = "write the value of the configuration, or a placeholder"
    is_sure: bool = True


def told_once(
    check: "Callable[[ChartContext], Iterator[Contradiction]]",
) -> "Callable[[ChartContext], Iterator[Found]]":
    """Make a search for contradictions a rule.

    What is not about the app is left out. The same wrong value in several texts (a translation
    repeats it) is one cause: its finding is that of the first and names the further places.
    """

    @wraps(check)
    def rule(context: "ChartContext") -> Iterator[Found]:
        causes: dict[str, list[Contradiction]] = {}
        for item in check(context):
            before = f"{item.clause.before};" if item.clause.before else ""
            start, end = len(before) + item.start, len(before) + item.end
            if not is_aside(before + item.clause.text, start, end, context.prose.own):
                causes.setdefault(item.message, []).append(item)
        for items in causes.values():
            yield _found(context, items)

    return rule


def _found(context: "ChartContext", items: list[Contradiction]) -> Found:
    first, line = items[0], _line(context, items[0])
    one_per_clause = {item.clause: item for item in items if item.clause != first.clause}
    further = dict.fromkeys(_place(context, item, first) for item in one_per_clause.values())
    further.pop(f"line {line}", None)
    also = ""
    if further:
        more = f" and {len(further) - _LISTED} more" if len(further) > _LISTED else ""
        also = f" (also in {', '.join(list(further)[:_LISTED])}{more})"
    is_sure = any(item.is_sure for item in items)
    return Found(
        f"{first.clause.field}: {first.message}{also}",
        first.clause.file,
        line,
        first.hint,
        context.prose.severity if is_sure else Severity.WARNING,
    )


def _place(context: "ChartContext", item: Contradiction, first: Contradiction) -> str:
    """Return where a contradiction stands: the file, else the field, else the line."""
    clause = item.clause
    if clause.file != first.clause.file:
        return clause.file
    return clause.field if clause.field != first.clause.field else f"line {_line(context, item)}"


def _line(context: "ChartContext", item: Contradiction) -> int | None:
    clause = item.clause
    piece = clause.written[item.start : item.end]
    loaded = context.spec
    if loaded is None:
        return line_of_piece(context.text(clause.file), clause.path, piece)
    positions = loaded.positions
    whole = positions.inside(clause.path, clause.written)
    # The same number may stand in an earlier sentence, where it is right.
    is_whole = whole is not None and clause.written in whole.written
    spot = whole if is_whole else positions.inside(clause.path, piece)
    return (spot or positions.nearest(clause.path)).line
