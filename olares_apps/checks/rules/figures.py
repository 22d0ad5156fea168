"""Figures in free text that must follow from records, files and memory: speed, drafts, sizes."""

import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.asides import is_denied
from olares_apps.checks.context import ChartContext
from olares_apps.checks.contradictions import Contradiction, told_once
from olares_apps.checks.prose import Clause
from olares_apps.checks.rule import Group, RuleBook
from olares_apps.checks.shape import size
from olares_apps.checks.sizes import gpu_need, known_sizes
from olares_apps.checks.wording import is_beside, matches, mentions, number_of, place_of

__all__ = ["rules"]

rules = RuleBook(Group.TEXT, "public charts whose page describes another build than the one served")

# Reading a prompt is much faster than writing, and records hold the latter.
_OF_PROMPT: Final = re.compile(r"prefill|prompt processing|预填充|提示词处理", re.IGNORECASE)
_DEVICE: Final = re.compile(
    r"\b(?:[RG]TX \d{4}(?: Ti| Super)?|[ABHL]\d{2}0|M[1-9] (?:Pro|Max|Ultra)|MI\d{3}X?|Radeon"
    r"|Jetson|DGX Spark|Strix Halo|MacBook|Mac Studio|CPU)\b",
    re.IGNORECASE | re.ASCII,
)
_GIB: Final = 2**30
_GB: Final = 10**9
_UNITS: Final = {"GB": (_GB,), "GiB": (_GIB,), "G": (_GB, _GIB)}
_PARTS: Final = ("weights", "kv")
"""Parts of the memory whose size a text may state, as the wording calls them."""
_NEAR: Final = 18
"""Characters around a size that say whose memory is meant."""
_NEXT: Final = re.compile(r"[\d,，;；、+]| and | plus ")
_ABOUT: Final = 0.05
_ABOUT_WORDS: Final = ("about", "~", "\u2248", "around", "约")


@rules.error("text-speed", "A speed on a page is a measured one, with its record.")
@told_once
def _speed(context: ChartContext) -> Iterator[Contradiction]:
    """Only with a spec: foreign charts carry no records to compare with."""
    if context.spec is None:
        return
    records = context.spec.spec.bench
    known = [record.tps for record in records]
    known += [speed for record in records for speed in record.tps_range or ()]
    known += [run.tps for record in records for run in record.details]
    for clause in context.prose.clauses:
        if _OF_PROMPT.search(clause.text) or _is_elsewhere(context, clause.text):
            continue
        for found in matches("speed", clause.text):
            said = number_of(found)
            if not any(_rounds(said, speed) for speed in known):
                listed = ", ".join(f"{record.id} {record.tps:g}" for record in records) or "none"
                yield Contradiction(
                    clause,
                    *place_of(found),
                    f"{said} t/s, bench records {listed}",
                    "add the record, or name its figure by a placeholder",
                )


@rules.error("text-acceptance", "The share of accepted drafts on a page is a measured one.")
@told_once
def _acceptance(context: ChartContext) -> Iterator[Contradiction]:
    """Only with a record that says how many drafts were accepted."""
    records = context.spec.spec.bench if context.spec else ()
    known = [record.acceptance for record in records if record.acceptance is not None]
    for run in (run for record in records for run in record.details):
        if run.drafted and run.accepted is not None:
            known.append(100 * run.accepted / run.drafted)
    if not known:
        return
    for clause in context.prose.clauses:
        if not (mentions("acceptance", clause.text) and mentions("speculation", clause.text)):
            continue
        for found in matches("percent", clause.text):
            said = number_of(found)
            if not any(_rounds(said, share) for share in known):
                listed = ", ".join(f"{share:.4g}" for share in dict.fromkeys(known))
                yield Contradiction(
                    clause,
                    *place_of(found),
                    f"{said} % of drafts accepted, bench records {listed}",
                    "add the record, or name its figure by a placeholder",
                )


def _is_elsewhere(context: ChartContext, text: str) -> bool:
    """Say whether a text speaks of another device than the one that the app is made for."""
    profile = context.profile
    own = f"{profile.title} {profile.gpu}".lower() if profile else ""
    return bool(own) and any(hit[0].lower() not in own for hit in _DEVICE.finditer(text))


def _rounds(written: str, real: float) -> bool:
    digits = len(written.partition(".")[2])
    return round(real, digits) == float(written) or int(real) == float(written)


@rules.error("text-size", "A size on a page follows from the files and the memory that are used.")
@told_once
def _size(context: ChartContext) -> Iterator[Contradiction]:
    """Only with a spec; the card's and the host's memory count as known."""
    if context.spec is None:
        return
    if not known_sizes(context):
        return
    for clause in context.prose.clauses:
        for found in matches("size", clause.text):
            written, word = filter(None, found.groups())
            if is_beside("thing", clause.text, *found.span()):
                continue
            if _is_demand(context, clause.text, found, float(written), _UNITS[word][-1]):
                continue
            if _is_of_card(clause.text, found):
                yield from _card(context, clause, found, float(written), word)
                continue
            near = clause.text[max(0, found.start() - 8) : found.start()].lower()
            loose = any(about in near for about in _ABOUT_WORDS)
            known = _sizes_of(context, clause.text, found)
            if any(
                _close(float(written), amount / unit, written, loose)
                for unit in _UNITS[word]
                for amount in known
            ):
                continue
            unit = _UNITS[word][0]
            listed = ", ".join(f"{amount / unit:.1f}" for amount in dict.fromkeys(known[:6]))
            yield Contradiction(
                clause,
                *found.span(),
                f"{written} {word}, config {listed} {word}",
                "write a size that the spec accounts for, or a placeholder",
            )


def _sizes_of(context: ChartContext, text: str, found: re.Match[str]) -> list[float]:
    """Return the sizes in bytes that a size may be: those of the part that it is said to be of."""
    for part in _PARTS:
        if is_beside(part, text, *found.span()):
            sizes = known_sizes(context, of_part=part)
            if sizes:
                return sizes
    return known_sizes(context, of_gpu=_is_of_gpu(text, found))


def _is_of_card(text: str, found: re.Match[str]) -> bool:
    """Say whether a size is what a graphics card has."""
    return is_beside("card", text, *found.span())


def _card(
    context: ChartContext, clause: Clause, found: re.Match[str], said: float, word: str
) -> Iterator[Contradiction]:
    """Yield the finding about a card that is said to be enough and is smaller than the need."""
    need, unit = gpu_need(context), _UNITS[word][-1]
    if (
        is_denied(clause.text)
        or not need
        or not mentions("suits", clause.text)
        or said * _GIB >= need
    ):
        return
    message = f"a card of {said:g} {word}, the app needs {need / unit:.1f} {word}"
    yield Contradiction(clause, *found.span(), message, "name a card that is large enough")


def _beside(text: str, found: re.Match[str]) -> str:
    """Return a size with the words beside it, up to the next one."""
    before = _NEXT.split(text[max(0, found.start() - _NEAR) : found.start()])[-1]
    after = _NEXT.split(text[found.end() : found.end() + _NEAR])[0]
    return before + found[0] + after


def _is_of_gpu(text: str, found: re.Match[str]) -> bool:
    """Say whether the words beside a size speak of the GPU."""
    return mentions("gpu", _beside(text, found))


def _is_demand(
    context: ChartContext, text: str, found: re.Match[str], said: float, unit: int
) -> bool:
    """Say whether a text asks for as much of the host as the app does, or more.

    Such a number is a round one of the author; one below what the app asks for is wrong.
    """
    beside = _beside(text, found)
    if mentions("gpu", beside) or not mentions("host", beside) or not mentions("demand", text):
        return False
    spec = context.spec.spec if context.spec else None
    asked = size(spec.resources.memory) if spec else None
    return asked is None or said * unit >= asked


def _close(said: float, real: float, written: str, loose: bool) -> bool:
    return _rounds(written, real) or (loose and abs(said - real) <= real * _ABOUT)
