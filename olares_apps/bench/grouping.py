"""Which measured speeds compare, and their order: the one grouping for pages and terminal.

Two speeds compare only when everything that was asked for and everything it ran on agree:
prompt, tokens, sampler, warm-up, filled context, requests at a time, and hardware. What did
not agree stands in another group, never in one ranking. The configured context, the engine's
image, the model file and the settings of the run are what is compared, so they stand in the rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, Self

from olares_apps.spec.facts import decimal_text
from olares_apps.spec.models import BenchRecord
from olares_apps.spec.quantity import plain_number

__all__ = ["Conditions", "Group", "Row", "group_rows", "headline", "speed_order"]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What two speeds must share to be ranked together.

    ``tokens`` are generated per run, ``filled_ctx`` tokens stood in the context before them, and
    ``warmup`` ran before the first one; None is not recorded, which is a condition of its own.
    ``sampler`` is ``name=value`` by name.
    """

    hardware: str
    prompt: str
    tokens: int
    streams: int
    sampler: str
    warmup: str | None
    filled_ctx: int | None

    @classmethod
    def of(cls, record: BenchRecord) -> Self:
        """Return the conditions of a bench record."""
        protocol = record.protocol
        sampler = (f"{key}={plain_number(value)}" for key, value in protocol.sampler.items())
        return cls(
            hardware=record.hardware,
            prompt=" ".join(protocol.prompt.split()),
            tokens=protocol.tokens,
            streams=protocol.streams,
            sampler=" ".join(sorted(sampler)),
            warmup=protocol.warmup,
            filled_ctx=protocol.filled_ctx,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One measured speed of one app; ``tps`` (tokens per second) and ``acceptance`` (per cent)
    are decimal text, as every figure that has to survive JSON unchanged. ``ctx`` is the
    configured context in tokens; it, ``runs``, ``image`` and ``model_file`` are None where the
    source does not say. ``settings`` are further ones of the run by name.
    """

    app: str
    title: str
    conditions: Conditions
    tps: str
    ctx: int | None
    runs: int | None
    acceptance: str | None
    slowest: str | None
    fastest: str | None
    image: str | None
    model_file: str | None
    version: str | None
    source: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, app: str, title: str, record: BenchRecord) -> Self:
        """Return the row of a bench record of the app called ``app``."""
        runs = [run.tps for run in record.details]
        low, high = record.tps_range or ((min(runs), max(runs)) if runs else (None, None))
        return cls(
            app=app,
            title=title,
            conditions=Conditions.of(record),
            tps=decimal_text(record.tps),
            ctx=record.ctx,
            runs=record.runs or len(record.details) or None,
            acceptance=None if record.acceptance is None else decimal_text(record.acceptance),
            slowest=None if low is None else decimal_text(low),
            fastest=None if high is None else decimal_text(high),
            image=record.image,
            model_file=record.model_file,
            version=record.version,
            source=record.source,
            settings=dict(record.settings),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stored form: no floats."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the stored form; raises TypeError for other fields than it has.

        Older forms know no settings.
        """
        return cls(**{**data, "conditions": Conditions(**data["conditions"])})


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that compare, fastest first; equal speeds by app and context."""

    conditions: Conditions
    rows: tuple[Row, ...]

    @property
    def apps(self) -> int:
        """Return how many apps are in it: a group of one ranks nothing."""
        return len({row.app for row in self.rows})


def headline(rows: Sequence[Row], ctx: int | None) -> Row | None:
    """Return the speed that stands for an app: the first one at the context ``ctx`` (tokens) that
    it is configured for, else the first of all. None when nothing was measured.
    """
    return next((row for row in rows if row.ctx == ctx), rows[0] if rows else None)


def speed_order(row: Row) -> tuple[Decimal, str, int]:
    """Return the key that puts rows in order: fastest first, equal speeds by app and context."""
    return (-Decimal(row.tps), row.app, row.ctx or 0)


def group_rows(rows: Iterable[Row]) -> list[Group]:
    """Return the groups: those with the most apps first, then by their fastest row."""
    found: dict[Conditions, list[Row]] = {}
    for row in rows:
        found.setdefault(row.conditions, []).append(row)
    groups = [
        Group(conditions, tuple(sorted(members, key=speed_order)))
        for conditions, members in found.items()
    ]
    return sorted(groups, key=lambda group: (-group.apps, *speed_order(group.rows[0])))
