"""The brief of an app: what the catalogue and the leaderboard say of it, kept in the revision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from olares_apps.bench.grouping import Row, headline
from olares_apps.market.pages.facts import PageFacts

__all__ = ["Brief"]


@dataclass(frozen=True, slots=True)
class Brief:
    """One app in a list: ``gpu_memory`` in bytes, ``ctx`` in tokens. ``icon`` is the digest of the
    icon that
    was drawn for the app, ``look`` that of the templates its page was made with.
    """

    summary: str
    model: str
    kind: str
    engine: str
    quant: str | None
    modalities: tuple[str, ...]
    gpu_memory: int | None
    ctx: int | None
    icon: str | None
    look: str
    rows: tuple[Row, ...]

    @property
    def headline(self) -> Row | None:
        """Return the speed to name the app by."""
        return headline(self.rows, self.ctx)

    @classmethod
    def of(cls, facts: PageFacts, gpu_memory: int | None, *, icon: str | None, look: str) -> Self:
        """Return the brief of an app; ``gpu_memory`` is what its manifest asks for, in bytes."""
        return cls(
            summary=facts.summary,
            model=facts.model,
            kind=facts.kind,
            engine=facts.engine,
            quant=facts.quant,
            modalities=facts.modalities,
            gpu_memory=gpu_memory,
            ctx=facts.ctx,
            icon=icon,
            look=look,
            rows=tuple(facts.rows),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {
            "modalities": list(self.modalities),
            "rows": [row.to_json() for row in self.rows],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the stored form; raises TypeError or KeyError for another one."""
        rows = tuple(Row.from_json(row) for row in data["rows"])
        return cls(**{**data, "modalities": tuple(data["modalities"]), "rows": rows})
