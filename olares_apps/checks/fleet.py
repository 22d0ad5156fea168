"""All apps of a workspace beside each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from olares_apps.checks.context import ChartContext

__all__ = ["Fleet"]


@dataclass(eq=False)
class Fleet:
    """The charts of a workspace or market; an app may be there once per generation."""

    charts: Sequence[ChartContext]

    @cached_property
    def apps(self) -> Sequence[ChartContext]:
        """Return one chart per app, the first of each name."""
        found: dict[str, ChartContext] = {}
        for chart in self.charts:
            found.setdefault(chart.app, chart)
        return list(found.values())

    def repeated(
        self, values: Iterable[tuple[ChartContext, str]]
    ) -> list[tuple[str, ChartContext, ChartContext]]:
        """Return each value that a later app shares with an earlier one: value, first, later."""
        first: dict[str, ChartContext] = {}
        found = []
        for chart, value in values:
            if not value:
                continue
            other = first.setdefault(value, chart)
            if other is not chart:
                found.append((value, other, chart))
        return found
