"""The leaderboard: measured speeds of a fleet, in groups that compare or as they were published."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from olares_apps.bench.grouping import Conditions, Row, group_rows, speed_order
from olares_apps.errors import UnknownName
from olares_apps.spec.models import AppSpec

__all__ = ["Board", "Entry", "ahead", "boards", "differences", "table_board"]

_SAID: Final = ("ctx", "runs", "image", "model_file")
_WORDS: Final = {
    "ctx": "configured context",
    "streams": "requests at a time",
    "warmup": "warm-up",
    "filled_ctx": "filled context",
    "model_file": "file",
}
# Long enough for an image, whose end tells versions apart.
_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class Entry:
    """One place on a board.

    ``lead`` is how much faster the first place is, in per cent of this row's speed; ``ratio``
    how much faster this row is than the row it is held against. Both are None for the row itself
    where there is none. ``differs`` says in what the run is unlike that of the first place.
    """

    place: int
    row: Row
    lead: int | None
    ratio: int | None
    differs: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return {
            "place": self.place,
            **self.row.to_json(),
            "leader_ahead_percent": self.lead,
            "against_percent": self.ratio,
            "differs": list(self.differs),
        }


@dataclass(frozen=True, slots=True)
class Board:
    """Places in order. ``comparable`` is false when the rows ran under different conditions."""

    title: str
    conditions: Conditions
    entries: tuple[Entry, ...]
    comparable: bool

    def to_json(self) -> dict[str, Any]:
        """Return the board as plain data."""
        return {
            "title": self.title,
            "comparable": self.comparable,
            "entries": [entry.to_json() for entry in self.entries],
        }


def ahead(faster: str, slower: str) -> int:
    """Return by how many per cent one speed is above another, rounded half up.

    Both are tokens per second as decimal text.
    """
    percent = (Decimal(faster) / Decimal(slower) - 1) * 100
    return int(percent.quantize(Decimal(1), ROUND_HALF_UP))


def differences(row: Row, first: Row) -> tuple[str, ...]:
    """Return in what a row is unlike the first, each with the row's own value.

    First the conditions, then what may differ inside a ranking and still has to be said:
    configured context, number of runs, image, model file, and the settings that one of the two
    records states.
    """
    pairs = [
        (field.name, getattr(row.conditions, field.name), getattr(first.conditions, field.name))
        for field in fields(Conditions)
    ]
    pairs += [(name, getattr(row, name), getattr(first, name)) for name in _SAID]
    pairs += [
        (name.replace("-", " "), row.settings.get(name), first.settings.get(name))
        for name in sorted({*row.settings, *first.settings})
    ]
    return tuple(
        f"{_WORDS.get(name, name)}: {_value(mine)}"
        for name, mine, theirs in pairs
        if mine != theirs
    )


def _value(value: object) -> str:
    if value is None:
        return "not recorded"
    text = str(value) or "none"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN].rstrip()}..."


def boards(specs: Iterable[AppSpec[Any]], against: str | None = None) -> list[Board]:
    """Return one board for each set of conditions, those with the most apps first.

    ``against`` is an app name: rows of a board on which it stands say their ratio to its fastest
    row there. Raises UnknownName for an app without a bench record.
    """
    rows = [Row.of(spec.app, spec.title, record) for spec in specs for record in spec.bench]
    _check(against, rows)
    return [
        _board(_title(group.conditions), group.rows, against, comparable=True)
        for group in group_rows(rows)
    ]


def table_board(specs: Iterable[AppSpec[Any]], table: str, against: str | None = None) -> Board:
    """Return a published comparison as one board, whatever the conditions of its rows.

    Raises UnknownName for a table that no record names, and for an app that is not in it.
    """
    found = [(spec, record) for spec in specs for record in spec.bench if record.tables]
    rows = [
        Row.of(spec.app, spec.title, record) for spec, record in found if table in record.tables
    ]
    if not rows:
        known = sorted({name for _, record in found for name in record.tables})
        raise UnknownName("table", table, known)
    _check(against, rows)
    rows.sort(key=speed_order)
    return _board(table, rows, against, comparable=len({row.conditions for row in rows}) == 1)


def _check(against: str | None, rows: Sequence[Row]) -> None:
    known = sorted({row.app for row in rows})
    if against is not None and against not in known:
        raise UnknownName("app with a bench record", against, known)


def _title(conditions: Conditions) -> str:
    sampler = conditions.sampler or "sampler not recorded"
    return (
        f"{conditions.prompt}: {conditions.tokens} tokens, {sampler}, "
        f"{conditions.streams} at a time, warm-up {_value(conditions.warmup)}, "
        f"filled context {_value(conditions.filled_ctx)}, on {conditions.hardware}"
    )


def _board(title: str, rows: Sequence[Row], against: str | None, *, comparable: bool) -> Board:
    first = rows[0]
    held = next((row for row in rows if row.app == against), None)
    entries = tuple(
        Entry(
            place=place,
            row=row,
            lead=None if row is first else ahead(first.tps, row.tps),
            ratio=None if held is None or row is held else ahead(row.tps, held.tps),
            differs=differences(row, first),
        )
        for place, row in enumerate(rows, start=1)
    )
    return Board(title, first.conditions, entries, comparable)
