"""Contexts in free text that contradict what runs, or what a single request may use."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from olares_apps.checks.asides import stretch
from olares_apps.checks.context import ChartContext
from olares_apps.checks.contradictions import Contradiction, told_once
from olares_apps.checks.prose import Clause
from olares_apps.checks.rule import Group, RuleBook
from olares_apps.checks.wording import is_beside, is_between, matches, mentions

__all__ = ["rules"]

rules = RuleBook(Group.TEXT, "public charts whose page describes another build than the one served")

_TOKENS: Final = re.compile(
    r"(?<![\w.,/$-])(?P<number>\d{1,4}(?:\.\d)?\s?(?:[KkM]|万)|\d{1,3}(?:,\d{3})+|\d{4,8}"
    r"|\{\{ ?ctx(?:_k)? ?\}\})"
    r"(?![\w/%]|-(?!tokens?\b|context\b))",
    re.ASCII,
)
_TEN_THOUSAND: Final = "万"


@rules.error("text-context", "Users choose an app by the context that its page promises.")
@told_once
def _context(context: ChartContext) -> Iterator[Contradiction]:
    """A clause that tells a measurement may name the context of one."""
    prose = context.prose
    known = prose.contexts
    configured = frozenset(server.ctx for server in context.servers if server.ctx)
    automatic = any(server.ctx == 0 for server in context.servers)
    if not known and not automatic:
        return
    divided: list[Contradiction] = []
    for clause in prose.clauses:
        for found in _TOKENS.finditer(clause.text):
            said = found["number"]
            if said.startswith("{"):
                divided += _of_placeholder(context, clause, found, configured)
                continue
            amounts = _amounts(said)
            if not amounts or _is_of_fill(clause, found, amounts, known):
                continue
            is_sure = _is_context(clause, found)
            if not is_sure and not _is_place(clause, found, amounts, known):
                continue
            if _matches(amounts, known):
                divided += _per_slot(context, clause, found, amounts, is_sure=is_sure)
            elif not _is_measured(context, clause, amounts):
                for item in _other_context(context, clause, found, automatic=automatic):
                    yield replace(item, is_sure=is_sure)
    # Slots that divide the context are one cause: what is not sure adds nothing to what is.
    yield from [item for item in divided if item.is_sure] or divided


def _of_placeholder(
    context: ChartContext, clause: Clause, found: re.Match[str], configured: frozenset[int]
) -> Iterator[Contradiction]:
    """The placeholder is the configured context: no single request has it where slots divide it.

    Said of a request it is wrong; said of nothing in particular readers take it for one's own.
    """
    is_sure = _is_of_request(clause, found)
    if is_sure or is_beside("context", clause.text, *found.span()):
        yield from _per_slot(context, clause, found, configured, is_sure=is_sure)


def _other_context(
    context: ChartContext, clause: Clause, found: re.Match[str], *, automatic: bool
) -> Iterator[Contradiction]:
    """Yield the finding about a context that is not the configured one; the model's own is none."""
    prose, said = context.prose, found["number"]
    if automatic:
        if not mentions("native", clause.text[max(0, found.start() - 40) : found.start()]):
            yield Contradiction(
                clause,
                *found.span("number"),
                f"ctx not set (auto-fit, minimum 4096) but the text claims {said}",
                "set the context, or leave the number out",
            )
    elif not mentions("native", clause.text):
        listed = ", ".join(map(str, sorted(prose.contexts)))
        message = f"context {said}, config {listed}"
        yield Contradiction(clause, *found.span("number"), message)


def _is_measured(context: ChartContext, clause: Clause, amounts: frozenset[int]) -> bool:
    """Say whether a clause tells a measurement at this context; foreign charts have no records."""
    if not mentions("measured", clause.text):
        return False
    return context.spec is None or _matches(amounts, context.prose.measured_contexts)


def _per_slot(
    context: ChartContext,
    clause: Clause,
    found: re.Match[str],
    amounts: frozenset[int],
    *,
    is_sure: bool,
) -> Iterator[Contradiction]:
    """Yield the finding about a context that only all slots together have.

    What is not sure is left out where the page says elsewhere how the slots share it.
    """
    if mentions("shared", clause.text) and not _is_of_request(clause, found):
        return
    for server in context.servers:
        slots = server.parallel
        unified = server.parsed is not None and server.parsed.is_on("--kv-unified")
        if server.engine != "llamacpp" or not slots or slots < 2 or not server.ctx or unified:
            continue
        share = server.ctx // slots
        if not _matches(amounts, {server.ctx}) or _matches(amounts, {share}):
            continue
        if is_sure or not _says_share(context, share):
            yield Contradiction(
                clause,
                *found.span("number"),
                f"context per slot = {share} (--parallel {slots}), the text says {found['number']}",
                "set parallel to 1, or name the context of one slot",
                is_sure,
            )


def _says_share(context: ChartContext, share: int) -> bool:
    """Say whether the page tells that slots share the context, or how much each has."""
    return any(
        mentions("shared", clause.text)
        or any(
            _matches(_amounts(found["number"]), {share})
            for found in _TOKENS.finditer(clause.text)
            if not found["number"].startswith("{")
        )
        for clause in context.prose.clauses
    )


def _is_context(clause: Clause, found: re.Match[str]) -> bool:
    if clause.is_title:
        return not found["number"].isdecimal()
    beside = is_beside("context", clause.text, *found.span())
    return beside or _is_of_request(clause, found)


# Lengths in thousands of tokens that servers are run with; others stand for anything.
_LENGTHS: Final = frozenset(
    (16, 32, 64, 65, 96, 98, 128, 131, 160, 192, 196, 256, 262, 384, 393, 512, 524)
)
_AT: Final = re.compile(r"(\d{2,3})\s?[Kk]")


def _is_place(
    clause: Clause, found: re.Match[str], amounts: frozenset[int], known: frozenset[int]
) -> bool:
    """Say whether something is said to be so "at 262K", and nothing but the context can be meant.

    Below the configured context many things are so, unless the server is said to run at it. With
    which context a measurement was made is another matter.
    """
    length = _AT.fullmatch(found["number"])
    if length is None or int(length[1]) not in _LENGTHS or mentions("measured", clause.text):
        return False
    first, last = stretch(clause.text, found.start())
    part = clause.text[first:last]
    if not is_between("at", clause.text, *found.span()) or mentions("at_other", part):
        return False
    is_inside = min(amounts) < max(known, default=0) and not _matches(amounts, known)
    return not is_inside or mentions("served", part)


def _is_of_fill(
    clause: Clause, found: re.Match[str], amounts: frozenset[int], known: frozenset[int]
) -> bool:
    """Say whether a clause tells what changes as the context fills: at 128K the speed halves.

    A stated speed is a measurement, which has a record or is wrong.
    """
    before = clause.text[max(0, found.start() - 24) : found.start()]
    return (
        mentions("at_before", before)
        and mentions("effect", clause.text)
        and not matches("speed", clause.text)
        and min(amounts) <= max(known, default=0)
    )


def _is_of_request(clause: Clause, found: re.Match[str]) -> bool:
    """Say whether a number of tokens is what one request may use; its answer is another matter."""
    if not is_beside("request", clause.text, *found.span()):
        return False
    first, last = stretch(clause.text, found.start())
    return not mentions("output", clause.text[first:last])


def _amounts(said: str) -> frozenset[int]:
    """Return the numbers of tokens that a written length can stand for."""
    text = said.replace(",", "").replace(" ", "")
    if text.isdecimal():
        number = int(text)
        return frozenset((number,)) if number >= 1024 else frozenset()
    if text.endswith(_TEN_THOUSAND):
        return _ten_thousands(text.removesuffix(_TEN_THOUSAND))
    value = float(text[:-1])
    factors = (10**6, 2**20) if text[-1] == "M" else (1000, 1024)
    return frozenset(round(value * factor) for factor in factors)


def _ten_thousands(text: str) -> frozenset[int]:
    """Return every number of whole thousands that rounds to this many times ten thousand."""
    step = 10**4 // 10 ** len(text.partition(".")[2])
    first = round(float(text) * 10**4)
    return frozenset(range(first, first + step, 1000))


def _matches(amounts: frozenset[int], known: frozenset[int] | set[int]) -> bool:
    """Compare lengths as people write them: 262K and 256K both stand for 262144."""
    return any(
        said == ctx or (said % 1000 == 0 and said // 1000 == ctx // 1000)
        for said in amounts
        for ctx in known
    )
