"""What a table of wording holds: the patterns of one language, and numbers in letters.

``\\w`` and ``\\b`` mean ASCII: Chinese writes no space between a number and the next word.
"""

import re
from dataclasses import dataclass
from re import Pattern
from typing import Final

__all__ = ["COUNTS", "FLAGS", "Wording"]


@dataclass(frozen=True, slots=True)
class Wording:
    """The patterns of one language.

    ``exempt`` matches what compares or tells history. What ends in ``_before`` ends before the
    number that it is about, what ends in ``_after`` begins behind it.

    ``context_*`` is about a context length, ``request_*`` about that of one request, ``output``
    about that of an answer, ``native`` about the model's own limit; ``shared`` says that several
    requests have it. ``at_*`` stands around a length at which something is so, ``at_other`` says
    that it is none of the context, ``served`` that the server runs at it, ``effect`` that
    something changes as the context fills. Of ``port``, ``speed``, ``draft``, ``parallel`` and
    ``percent`` the one group that matched is the number. ``average`` says that a draft is no
    longest one, ``acceptance`` that a percentage is that of drafts, ``queue`` that requests wait,
    ``speculation`` and ``cache`` what a clause is about, ``measured`` that it tells a
    measurement, ``api`` that a port is the server's, ``relay`` that a port leads to another.
    ``part_*`` is about a drafter or projector, ``cache_*`` about the KV cache. ``build`` has
    the number of a build, ``tag`` an image's tag. ``size`` has a number and a unit; ``gpu`` and
    ``host`` say whose memory is meant, ``demand`` that it is asked for, ``card_*`` that it is
    what a card has and ``suits`` that such a card is enough. ``weights_*`` and ``kv_*`` say
    which part of the memory a size is that of, ``thing_*`` that it is that of a file or device
    which is no part of the app.
    """

    exempt: Pattern[str]
    context_before: Pattern[str]
    context_after: Pattern[str]
    request_before: Pattern[str]
    request_after: Pattern[str]
    output: Pattern[str]
    native: Pattern[str]
    shared: Pattern[str]
    at_before: Pattern[str]
    at_after: Pattern[str]
    at_other: Pattern[str]
    served: Pattern[str]
    effect: Pattern[str]
    port: Pattern[str]
    speed: Pattern[str]
    draft: Pattern[str]
    average: Pattern[str]
    parallel: Pattern[str]
    queue: Pattern[str]
    percent: Pattern[str]
    acceptance: Pattern[str]
    speculation: Pattern[str]
    cache: Pattern[str]
    cache_before: Pattern[str]
    cache_after: Pattern[str]
    build: Pattern[str]
    tag: Pattern[str]
    size: Pattern[str]
    gpu: Pattern[str]
    host: Pattern[str]
    demand: Pattern[str]
    card_before: Pattern[str]
    card_after: Pattern[str]
    suits: Pattern[str]
    weights_before: Pattern[str]
    weights_after: Pattern[str]
    kv_before: Pattern[str]
    kv_after: Pattern[str]
    thing_before: Pattern[str]
    thing_after: Pattern[str]
    measured: Pattern[str]
    api: Pattern[str]
    relay: Pattern[str]
    part_before: Pattern[str]
    part_after: Pattern[str]


FLAGS: Final = re.IGNORECASE | re.ASCII
COUNTS: Final = {
    **dict(
        zip("one two three four five six seven eight nine ten".split(), range(1, 11), strict=True)
    ),
    **dict(zip("一二三四五六七八九十", range(1, 11), strict=True)),
    **{"single": 1, "两": 2, "twelve": 12, "sixteen": 16},
}
"""Numbers in letters."""
