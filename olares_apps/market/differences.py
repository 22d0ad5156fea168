"""One text as a difference from another: what to copy out of it, and what is new.

A market's lists, pages and revisions name every app, and a publish changes a few of them. So
their next text is almost the last one. A difference is a JSON list of steps; ``[offset, length]``
copies bytes of the base, a string stands for its UTF-8.

It is made in linear time: both texts are cut into pieces where their entries end, and a piece
that stands once in the base says where it comes from. One that stands often is looked for where
the last copy ended.
"""

import json
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

__all__ = ["MEDIA_TYPE", "MOST_BYTES", "MOST_STEPS", "difference"]

MEDIA_TYPE: Final = "application/vnd.olapps.difference+json"
MOST_STEPS: Final = 10_000
"""Steps that a server takes; see `LIMITS` of the Worker."""
MOST_BYTES: Final = 1024 * 1024
"""Bytes that a server takes, before they are packed."""

Step = str | tuple[int, int]

# An entry of JSON ends at a comma, one of HTML at a bracket or a line. All of them are ASCII, so
# no character is cut.
_PIECES: Final = re.compile(rb"[^,>\n]*[,>\n]|[^,>\n]+")
# Bytes. A shorter copy takes as much room as what it copies.
_SHORTEST_COPY: Final = 24
# Places of a piece that have no number, and how many pieces behind a copy the next one may begin.
_NOWHERE, _MANY, _NEAR = -1, -2, 4


def difference(base: bytes, new: bytes) -> bytes | None:
    """Return the steps that make ``new`` out of ``base``, or None where there is no use in them.

    That is for what is no UTF-8, and for a difference that no server would take.
    """
    steps = _steps(_PIECES.findall(base), _PIECES.findall(new))
    if steps is None or len(steps) > MOST_STEPS:
        return None
    text = json.dumps(steps, separators=(",", ":"), ensure_ascii=False).encode()
    return text if len(text) <= MOST_BYTES else None


def _steps(old: Sequence[bytes], new: Sequence[bytes]) -> list[Step] | None:
    starts = list(accumulate(map(len, old), initial=0))
    places = _places(old)
    steps: list[Step] = []
    at = written = following = 0
    while at < len(new):
        place = places.get(new[at], _NOWHERE)
        if place == _MANY:
            place = _near(old, following, new[at])
        if place == _NOWHERE:
            at += 1
            continue
        # What is the same before it, and was passed by because it stands more than once.
        while place > 0 and at > written and old[place - 1] == new[at - 1]:
            place, at = place - 1, at - 1
        end, until = at, place
        while end < len(new) and until < len(old) and new[end] == old[until]:
            end, until = end + 1, until + 1
        length = starts[until] - starts[place]
        if length >= _SHORTEST_COPY:
            if not _add(steps, new[written:at]):
                return None
            steps.append((starts[place], length))
            written, following = end, until
        at = end
    return steps if _add(steps, new[written:]) else None


def _near(old: Sequence[bytes], place: int, piece: bytes) -> int:
    """Return where a piece stands that follows ``place`` soon."""
    for near in range(place, min(place + _NEAR, len(old))):
        if old[near] == piece:
            return near
    return _NOWHERE


def _places(old: Sequence[bytes]) -> dict[bytes, int]:
    """Return where each piece stands that stands once; the others have `_MANY`."""
    places: dict[bytes, int] = {}
    for place, piece in enumerate(old):
        places[piece] = _MANY if piece in places else place
    return places


def _add(steps: list[Step], pieces: Sequence[bytes]) -> bool:
    """Add the text of some pieces; False when it is none."""
    try:
        text = b"".join(pieces).decode()
    except UnicodeDecodeError:
        return False
    if text:
        steps.append(text)
    return True
