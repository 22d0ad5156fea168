"""Numbers in free text that contradict what runs: quantisation, port, draft, build, flags."""

import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.asides import stretch
from olares_apps.checks.context import ChartContext
from olares_apps.checks.contradictions import Contradiction, told_once
from olares_apps.checks.images import parse_image
from olares_apps.checks.prose import Clause, quant_labels
from olares_apps.checks.rule import Group, RuleBook
from olares_apps.checks.wording import (
    is_beside,
    matches,
    mentions,
    names_program,
    number_of,
    place_of,
)

__all__ = ["rules"]

rules = RuleBook(Group.TEXT, "public charts whose page describes another build than the one served")

_BUILD: Final = re.compile(
    r"(?<![\w:/.-])(?:[a-z0-9]+-)*?(b\d{4,5}|(?:master|main)-[0-9a-f]{7,40})(?!\w|\.\w)",
    re.ASCII,
)
_KV_TYPE: Final = re.compile(
    r"(?<![\w-])(?:q[458]_[01]|turbo[234](?:_\w+)?|bf16|fp?16|fp8(?:_e\dm\d)?)(?!\w)",
    re.ASCII | re.IGNORECASE,
)
_IMAGE: Final = re.compile(r"(?<![\w/.])(?:[\w.-]+/)+[\w.-]+:[\w][\w.-]*", re.ASCII)
_FLAG: Final = re.compile(r"(?<![!-~])[`'\"(（]*(--[a-z][a-z0-9-]+)[ =]([^\s`'\"),;，。；）、]+)")
_WEB_PORTS: Final = frozenset((22, 80, 443))
"""Ports of the ways to an app; only a sentence that says so makes them the server's."""


@rules.error("text-quant", "The page must name the quantisation of the file that is served.")
@told_once
def _quant(context: ChartContext) -> Iterator[Contradiction]:
    prose = context.prose
    for clause in prose.clauses:
        for found in quant_labels(clause.text):
            label = found[0]
            if is_beside("part", clause.text, *found.span()) or _is_of_cache(clause, found):
                continue
            if prose.quants and not any(_same(label, own) for own in prose.quants):
                listed = ", ".join(sorted(prose.quants))
                yield Contradiction(clause, *found.span(), f"quant {label}, config {listed}")
        if prose.kv_types and mentions("cache", clause.text):
            yield from _kv(clause, prose.kv_types)


def _kv(clause: Clause, known: frozenset[str]) -> Iterator[Contradiction]:
    """Yield cache types that are not configured; beside a right one, 16 bits are the measure."""
    said = [found for found in _KV_TYPE.finditer(clause.text) if _is_of_cache(clause, found)]
    has_right = any(_kv_type(found) in known for found in said)
    for found in said:
        kind = _kv_type(found)
        if is_beside("part", clause.text, *found.span()) or kind in known:
            continue
        if kind.startswith("fp8") and any(own.startswith("fp8") for own in known):
            continue
        if not (has_right and kind.endswith("f16")):
            listed = "/".join(sorted(known))
            yield Contradiction(clause, *found.span(), f"KV cache {kind}, config {listed}")


def _kv_type(found: re.Match[str]) -> str:
    """Return a cache type as arguments write it."""
    return found[0].lower().replace("fp16", "f16")


def _is_of_cache(clause: Clause, found: re.Match[str]) -> bool:
    """Say whether a type is that of the KV cache; most quantisations cannot be."""
    is_type = _KV_TYPE.fullmatch(found[0]) is not None
    return is_type and is_beside("cache", clause.text, *found.span(), reach=100)


def _same(label: str, own: str) -> bool:
    said, real = label.removeprefix("UD-").upper(), own.removeprefix("UD-").upper()
    return said == real or real.startswith(f"{said}_") or said.startswith(f"{real}_")


@rules.error("text-port", "A client that is set up by the page must reach the server.")
@told_once
def _port(context: ChartContext) -> Iterator[Contradiction]:
    """A warning where the sentence does not say that the port is the server's."""
    prose = context.prose
    if not prose.ports or not context.servers:
        return
    for clause in prose.clauses:
        if names_program(clause.text, but=prose.own_words) or mentions("relay", clause.text):
            continue
        for found in matches("port", clause.text):
            said = number_of(found)
            is_sure = mentions("api", clause.text)
            if int(said) in prose.ports or (int(said) in _WEB_PORTS and not is_sure):
                continue
            listed = ", ".join(map(str, sorted(prose.ports)))
            message = f"port {said}, config {listed}"
            yield Contradiction(clause, *place_of(found), message, is_sure=is_sure)


@rules.error("text-draft", "The stated draft length is the one that runs.")
@told_once
def _draft(context: ChartContext) -> Iterator[Contradiction]:
    known = {server.draft_length for server in context.servers if server.draft_length is not None}
    if not known:
        return
    for clause in context.prose.clauses:
        if not mentions("speculation", clause.text):
            continue
        for found in matches("draft", clause.text):
            said = int(number_of(found))
            first, last = stretch(clause.text, found.start())
            if said not in known and not mentions("average", clause.text[first:last]):
                listed = ", ".join(map(str, sorted(known)))
                yield Contradiction(clause, *place_of(found), f"n-max {said}, config {listed}")


@rules.error("text-parallel", "The stated number of requests at a time is the one that is served.")
@told_once
def _parallel(context: ChartContext) -> Iterator[Contradiction]:
    """A measurement may have had another number, and requests that wait are not served.

    What slots share is the context: a sentence about that is left to the rule for contexts.
    """
    known = {server.slots for server in context.servers if server.slots}
    if not known:
        return
    records = context.spec.spec.bench if context.spec else ()
    measured = {record.protocol.streams for record in records}
    for clause in context.prose.clauses:
        for found in matches("parallel", clause.text):
            said = int(number_of(found))
            first, last = stretch(clause.text, found.start())
            is_shared = mentions("shared", clause.text[first:last])
            if said in known or is_shared or mentions("queue", clause.text):
                continue
            is_measured = mentions("measured", clause.text)
            if is_measured and (context.spec is None or said in measured):
                continue
            listed = ", ".join(map(str, sorted(known)))
            yield Contradiction(clause, *place_of(found), f"parallel {said}, config {listed}")


@rules.error("text-build", "The build that a page names is the one in the image.")
@told_once
def _build(context: ChartContext) -> Iterator[Contradiction]:
    prose = context.prose
    images = [s.container.image for s in context.servers if s.engine == "llamacpp"]
    if not images:
        return
    for clause in prose.clauses:
        places = [(found[1], *found.span(1)) for found in _BUILD.finditer(clause.text)]
        for found in matches("build", clause.text):
            places.append((f"b{number_of(found)}", *place_of(found)))
        for said, start, end in places:
            if said not in prose.builds and not any(said in image for image in images):
                message = f"build {said}, image {', '.join(images)}"
                yield Contradiction(clause, start, end, message)


# A row of a table with a bare number in it tells what was measured, and with which image.
_MEASURED_ROW: Final = re.compile(r"\s*\|(?:[^|]*\|)*?\s*\d[\d.,]*\s*\|")


@rules.error("text-image", "The image that a page names is the one that runs.")
@told_once
def _image(context: ChartContext) -> Iterator[Contradiction]:
    prose = context.prose
    running = {
        (server.image.repository, server.image.tag)
        for server in context.servers
        if server.image and server.image.tag
    }
    for clause in prose.clauses:
        if _MEASURED_ROW.match(clause.text):
            continue
        for found in _IMAGE.finditer(clause.text):
            name = parse_image(found[0].rstrip("."))
            tags = {tag for repository, tag in running if name and repository == name.repository}
            if name and tags and name.tag not in tags:
                message = f"image tag {name.tag}, config {', '.join(sorted(tags))}"
                yield Contradiction(clause, *found.span(), message)
        for found in matches("tag", clause.text):
            said = number_of(found)
            tags = {tag for _, tag in running}
            # A build in the tag is a matter of the rule for builds.
            if tags and not _BUILD.search(said) and not any(tag.startswith(said) for tag in tags):
                message = f"image tag {said}, config {', '.join(sorted(tags))}"
                yield Contradiction(clause, *place_of(found), message)


@rules.error("text-flag", "A flag that a page quotes has the value that the server gets.")
@told_once
def _flag(context: ChartContext) -> Iterator[Contradiction]:
    prose = context.prose
    for clause in prose.clauses:
        for found in _FLAG.finditer(clause.text):
            flag, said = found[1], found[2].rstrip(".:`*")
            for server in context.servers:
                given = server.parsed.value(flag) if server.parsed else None
                if (
                    given is not None
                    and given != said
                    and not said.startswith(("-", "$", "<", "{"))
                ):
                    message = f"{flag} {said}, config {given}"
                    yield Contradiction(clause, *found.span(1), message)
