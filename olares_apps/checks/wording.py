"""What a text says: the patterns of all languages asked at once, for texts mix languages."""

import re
from collections.abc import Iterable
from functools import lru_cache
from re import Match
from typing import Final

from olares_apps.checks.wording_tables import COUNTED, COUNTS, WORDINGS, Wording

__all__ = [
    "COUNTED",
    "CUT",
    "is_beside",
    "is_between",
    "is_exempt",
    "matches",
    "mentions",
    "names_program",
    "narrow",
    "number_of",
    "place_of",
]

CUT: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n|(?<=[^\s|]) - |(?<=\S) — ")
"""Where one clause ends and the next begins; an empty cell of a table is no end."""
# Programs that people run beside the app; a port or a size next to their name is theirs.
_PROGRAMS: Final = re.compile(
    r"\b(?:Open[- ]?WebUI|Ollama|LM Studio|SillyTavern|ComfyUI|Grafana|Prometheus|Redis|Postgres\w*"
    r"|MySQL|nginx|Jupyter\w*|Home Assistant|n8n|Dify|Lobe ?Chat|AnythingLLM|LibreChat|Qdrant|SSH"
    r"|Langfuse|LiteLLM|Docker|Portainer|Traefik|Caddy)\b",
    re.IGNORECASE | re.ASCII,
)


def names_program(text: str, *, but: str) -> bool:
    """Say whether a text names another program; ``but`` are words of the app itself."""
    return any(found[0].lower() not in but.lower() for found in _PROGRAMS.finditer(text))


_NARROW: Final = {
    wide: wide - 0xFEE0
    for wide in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B), 0xFF0E)
}


def narrow(text: str) -> str:
    """Return a text with full-width digits, letters and points as ASCII, of the same length."""
    return text if text.isascii() else text.translate(_NARROW)


_ALL: Final = tuple(WORDINGS.values())
_OF_ASCII: Final = (WORDINGS["en-US"],)


def _spoken(text: str) -> Iterable[Wording]:
    """Return the tables that can find something: letters of ASCII alone are no Chinese."""
    return _OF_ASCII if text.isascii() else _ALL


def is_exempt(text: str) -> bool:
    """Say whether a clause compares or tells history, so that its numbers claim nothing."""
    return any(wording.exempt.search(text) for wording in _spoken(text))


def mentions(field: str, text: str) -> bool:
    """Say whether a pattern of any language is found in a text."""
    return any(getattr(wording, field).search(text) for wording in _spoken(text))


@lru_cache(maxsize=2048)
def matches(field: str, text: str) -> tuple[Match[str], ...]:
    """Return what a pattern of each language finds in a text.

    Kept, because the charts of all generations carry the same texts.
    """
    return tuple(
        found for wording in _spoken(text) for found in getattr(wording, field).finditer(text)
    )


def is_beside(field: str, text: str, start: int, end: int, *, reach: int = 48) -> bool:
    """Say whether the words around a number say that it is about something.

    ``field`` names the patterns ``*_before`` and ``*_after``; ``reach`` is how many characters
    the first may look back.
    """
    before = text[max(0, start - reach) : start]
    return any(
        getattr(wording, f"{field}_before").search(before)
        or getattr(wording, f"{field}_after").match(text, end)
        for wording in _spoken(text)
    )


def is_between(field: str, text: str, start: int, end: int) -> bool:
    """Say whether a number stands between what one language writes before and behind it."""
    before = text[max(0, start - 24) : start]
    return any(
        getattr(wording, f"{field}_before").search(before)
        and getattr(wording, f"{field}_after").match(text, end)
        for wording in _spoken(text)
    )


def place_of(found: Match[str]) -> tuple[int, int]:
    """Return where the number of a match begins and ends."""
    return found.span(found.lastindex or 0)


def number_of(found: Match[str]) -> str:
    """Return the number in a match, the first group that took part; words become digits."""
    said = next((group for group in found.groups() if group), "")
    return str(COUNTS.get(said.lower(), said))
