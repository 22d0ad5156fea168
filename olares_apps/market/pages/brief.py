"""The brief of an app: what the catalogue and the leaderboard say of it, kept in the revision."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Self

from olares_apps.bench.grouping import Row, headline
from olares_apps.market.pages.facts import PageFacts

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Brief"]

_OPTIONAL: Final = ("subject", "address", "not_installable")
_FIGURE: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Brief:
    """One app in a list: ``gpu_memory`` in bytes, ``ctx`` in tokens.

    ``icon`` is the digest of the icon that was drawn for the app, ``look`` that of the templates
    its page was made with, ``subject`` that of what its share picture shows. ``address`` is where
    the market was found when the page was made. ``not_installable`` says why no device can install
    the app.
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
    subject: str | None = None
    address: str | None = None
    not_installable: str | None = None

    @property
    def headline(self) -> Row | None:
        """Return the speed to name the app by."""
        return headline(self.rows, self.ctx)

    @classmethod
    def of(
        cls,
        facts: PageFacts,
        gpu_memory: int | None,
        *,
        icon: str | None,
        look: str,
        subject: str | None = None,
        address: str | None = None,
    ) -> Self:
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
            subject=subject,
            address=address,
            not_installable=facts.not_installable,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        # Records from before there were these keep their text.
        kept = {k: v for k, v in fields.items() if v is not None or k not in _OPTIONAL}
        return kept | {
            "modalities": list(self.modalities),
            "rows": [row.to_json() for row in self.rows],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Brief":
        """Read the stored form; raises ValueError for another one.

        It may be another publisher's: every value is looked at before a page is made of it.
        """
        brief = _reader().validate_json(json.dumps(data), strict=True)
        for row in brief.rows:
            for figure in (row.tps, row.acceptance, row.slowest, row.fastest):
                if figure is not None and not _FIGURE.fullmatch(figure):
                    raise ValueError(f"'{figure[:40]}' is no figure")
        return brief


@cache
def _reader() -> "TypeAdapter[Brief]":
    from pydantic import TypeAdapter

    return TypeAdapter(Brief)
