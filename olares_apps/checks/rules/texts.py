"""Numbers in free text that contradict what runs: context, quantisation, port, build, speed."""

import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.images import parse_image
from olares_apps.checks.prose import Clause, kv_names, quant_labels
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_maps, as_text, dig, size
from olares_apps.checks.sizes import known_sizes
from olares_apps.checks.wording import WORDINGS, matches, mentions, names_program, number_of

__all__ = ["rules"]

rules = RuleBook(Group.TEXT, "public charts whose page describes another build than the one served")

_TOKENS: Final = re.compile(
    r"(?<![\w.,/$-])(?P<number>\d{1,4}(?:\.\d)?\s?(?:[KkM]|万)|\d{1,3}(?:,\d{3})+|\d{4,8})"
    r"(?![\w/%-])",
    re.ASCII,
)
_BUILD: Final = re.compile(
    r"(?<![\w:/-])(?:b\d{4,5}|(?:master|main)-[0-9a-f]{7,40})(?!\w)", re.ASCII
)
_IMAGE: Final = re.compile(r"(?<![\w/.])(?:[\w.-]+/)+[\w.-]+:[\w][\w.-]*", re.ASCII)
_FLAG: Final = re.compile(r"(?<![!-~])[`'\"(（]*(--[a-z][a-z0-9-]+)[ =]([^\s`'\"),;，。；）、]+)")
# Reading a prompt is much faster than writing, and records hold the latter.
_OF_PROMPT: Final = re.compile(r"prefill|prompt processing|预填充|提示词处理", re.IGNORECASE)
_TEN_THOUSAND: Final = "万"
_GIB: Final = 2**30
_GB: Final = 10**9
_UNITS: Final = {"GB": (_GB,), "GiB": (_GIB,), "G": (_GB, _GIB)}
_NEAR: Final = 18
"""Characters around a size that say whose memory is meant."""
_NEXT: Final = re.compile(r"[\d,，;；、+]| and | plus ")
_ABOUT: Final = 0.05
_ABOUT_WORDS: Final = ("about", "~", "\u2248", "around", "约")


@rules.error("text-context", "Users choose an app by the context that its page promises.")
def _context(context: ChartContext) -> Iterator[Found]:
    """A clause that tells a measurement may name the context of one."""
    prose = context.prose
    known = prose.contexts
    automatic = any(server.ctx == 0 for server in context.servers)
    if not known and not automatic:
        return
    for clause in prose.clauses:
        for found in _TOKENS.finditer(clause.text):
            said = found["number"]
            amounts = _amounts(said)
            if not amounts or not _is_context(clause, found):
                continue
            if _matches(amounts, known):
                yield from _per_slot(context, clause, said, amounts)
            elif not _is_measured(context, clause, amounts):
                yield from _other_context(context, clause, found, automatic=automatic)


def _other_context(
    context: ChartContext, clause: Clause, found: re.Match[str], *, automatic: bool
) -> Iterator[Found]:
    """Yield the finding about a context that is not the configured one; the model's own is none."""
    prose, said = context.prose, found["number"]
    if automatic:
        if not mentions("native", clause.text[max(0, found.start() - 40) : found.start()]):
            yield prose.found(
                clause,
                said,
                f"ctx not set (auto-fit, minimum 4096) but the text claims {said}",
                "set the context, or leave the number out",
            )
    elif not mentions("native", clause.text):
        listed = ", ".join(map(str, sorted(prose.contexts)))
        yield prose.found(clause, said, f"context {said}, config {listed}")


def _is_measured(context: ChartContext, clause: Clause, amounts: frozenset[int]) -> bool:
    """Say whether a clause tells a measurement at this context; foreign charts have no records."""
    if not mentions("measured", clause.text):
        return False
    return context.spec is None or _matches(amounts, context.prose.measured_contexts)


def _per_slot(
    context: ChartContext, clause: Clause, said: str, amounts: frozenset[int]
) -> Iterator[Found]:
    for server in context.servers:
        slots = server.parallel
        unified = server.parsed is not None and server.parsed.is_on("--kv-unified")
        if server.engine != "llamacpp" or not slots or slots < 2 or not server.ctx or unified:
            continue
        share = server.ctx // slots
        if _matches(amounts, {server.ctx}) and not _matches(amounts, {share}):
            yield context.prose.found(
                clause,
                said,
                f"context per slot = {share} (--parallel {slots}), the text says {said}",
                "set parallel to 1, or name the context of one slot",
            )


def _is_context(clause: Clause, found: re.Match[str]) -> bool:
    if clause.is_title:
        return not found["number"].isdecimal()
    before = clause.text[max(0, found.start() - 40) : found.start()]
    return any(
        wording.context_after.match(clause.text, found.end())
        or wording.context_before.search(before)
        for wording in WORDINGS.values()
    )


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


@rules.error("text-quant", "The page must name the quantisation of the file that is served.")
def _quant(context: ChartContext) -> Iterator[Found]:
    prose = context.prose
    for clause in prose.clauses:
        about_cache = mentions("cache", clause.text)
        for label in dict.fromkeys(quant_labels(clause.text)):
            if (about_cache and re.fullmatch(r"Q[458]_[01]", label)) or _is_of_part(clause, label):
                continue
            if prose.quants and not any(_same(label, own) for own in prose.quants):
                listed = ", ".join(sorted(prose.quants))
                yield prose.found(clause, label, f"quant {label}, config {listed}")
        if about_cache and prose.kv_types:
            for kind in dict.fromkeys(kv_names(clause.text)):
                if kind not in prose.kv_types and kind not in ("f16", "bf16"):
                    listed = "/".join(sorted(prose.kv_types))
                    yield prose.found(clause, kind, f"KV cache {kind}, config {listed}")


def _is_of_part(clause: Clause, label: str) -> bool:
    """Say whether a quantisation is that of a drafter, a projector or another part."""
    start = clause.text.find(label)
    before, end = clause.text[:start], start + len(label)
    return any(
        wording.part_before.search(before) or wording.part_after.match(clause.text, end)
        for wording in WORDINGS.values()
    )


def _same(label: str, own: str) -> bool:
    said, real = label.removeprefix("UD-").upper(), own.removeprefix("UD-").upper()
    return said == real or real.startswith(f"{said}_") or said.startswith(f"{real}_")


@rules.error("text-port", "A client that is set up by the page must reach the server.")
def _port(context: ChartContext) -> Iterator[Found]:
    """A warning where the sentence does not say that the port is the server's."""
    prose = context.prose
    if not prose.ports or not context.servers:
        return
    for clause in prose.clauses:
        if names_program(clause.text, but=prose.own_words):
            continue
        for found in matches("port", clause.text):
            said = number_of(found)
            if int(said) not in prose.ports:
                listed = ", ".join(map(str, sorted(prose.ports)))
                is_sure = mentions("api", clause.text)
                yield prose.found(clause, said, f"port {said}, config {listed}", is_sure=is_sure)


@rules.error("text-draft", "The stated draft length is the one that runs.")
def _draft(context: ChartContext) -> Iterator[Found]:
    prose = context.prose
    known = {server.draft_length for server in context.servers if server.draft_length is not None}
    if not known:
        return
    for clause in prose.clauses:
        if not mentions("speculation", clause.text):
            continue
        for found in matches("draft", clause.text):
            said = int(number_of(found))
            if said not in known:
                listed = ", ".join(map(str, sorted(known)))
                yield prose.found(clause, found[0], f"n-max {said}, config {listed}")


@rules.error("text-build", "The build that a page names is the one in the image.")
def _build(context: ChartContext) -> Iterator[Found]:
    prose = context.prose
    images = [s.container.image for s in context.servers if s.engine == "llamacpp"]
    if not images:
        return
    for clause in prose.clauses:
        for said in dict.fromkeys(_BUILD.findall(clause.text)):
            if said not in prose.builds and not any(said in image for image in images):
                yield prose.found(clause, said, f"build {said}, image {', '.join(images)}")


@rules.error("text-image", "The image that a page names is the one that runs.")
def _image(context: ChartContext) -> Iterator[Found]:
    prose = context.prose
    running = {
        (server.image.repository, server.image.tag)
        for server in context.servers
        if server.image and server.image.tag
    }
    for clause in prose.clauses:
        for written in _IMAGE.findall(clause.text):
            name = parse_image(written.rstrip("."))
            tags = {tag for repository, tag in running if name and repository == name.repository}
            if name and tags and name.tag not in tags:
                yield prose.found(
                    clause, written, f"image tag {name.tag}, config {', '.join(tags)}"
                )


@rules.error("text-flag", "A flag that a page quotes has the value that the server gets.")
def _flag(context: ChartContext) -> Iterator[Found]:
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
                    yield prose.found(clause, found[0].strip(), f"{flag} {said}, config {given}")


@rules.error("text-speed", "A speed on a page is a measured one, with its record.")
def _speed(context: ChartContext) -> Iterator[Found]:
    """Only with a spec: foreign charts carry no records to compare with."""
    if context.spec is None:
        return
    records = context.spec.spec.bench
    known = [record.tps for record in records]
    known += [speed for record in records for speed in record.tps_range or ()]
    known += [run.tps for record in records for run in record.details]
    for clause in context.prose.clauses:
        if _OF_PROMPT.search(clause.text):
            continue
        for found in matches("speed", clause.text):
            said = number_of(found)
            if not any(_rounds(said, speed) for speed in known):
                listed = ", ".join(f"{record.id} {record.tps:g}" for record in records) or "none"
                yield context.prose.found(
                    clause,
                    said,
                    f"{said} t/s, bench records {listed}",
                    "add the record, or name its figure by a placeholder",
                )


def _rounds(written: str, real: float) -> bool:
    digits = len(written.partition(".")[2])
    return round(real, digits) == float(written) or int(real) == float(written)


@rules.error("text-size", "A size on a page follows from the files and the memory that are used.")
def _size(context: ChartContext) -> Iterator[Found]:
    """Only with a spec; the card's and the host's memory count as known."""
    if context.spec is None:
        return
    if not known_sizes(context):
        return
    for clause in context.prose.clauses:
        for found in matches("size", clause.text):
            written, word = filter(None, found.groups())
            if _is_demand(context, clause.text, found, float(written), _UNITS[word][-1]):
                continue
            near = clause.text[max(0, found.start() - 8) : found.start()].lower()
            loose = any(about in near for about in _ABOUT_WORDS)
            known = known_sizes(context, of_gpu=_is_of_gpu(clause.text, found))
            if any(
                _close(float(written), amount / unit, written, loose)
                for unit in _UNITS[word]
                for amount in known
            ):
                continue
            unit = _UNITS[word][0]
            listed = ", ".join(f"{amount / unit:.1f}" for amount in dict.fromkeys(known[:6]))
            yield context.prose.found(
                clause,
                found[0],
                f"{written} {word}, config {listed} {word}",
                "write a size that the spec accounts for, or a placeholder",
            )


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


_ENTITY: Final = re.compile(r"&(?:amp|lt|gt|quot|apos|#3[49]|#x2[27]);")
_RESIDUE: Final = frozenset(("None", "undefined", "<no value>", "<nil>"))


@rules.warning(
    "template-residue",
    "Entities and words such as None come from a template engine, not from an author.",
    "IBM/mcp-context-forge#4605; ansible/ansible#7984",
)
def _residue(context: ChartContext) -> Iterator[Found]:
    """Entities that the spec itself holds are left alone."""
    own = context.spec.text if context.spec else ""
    for path in (
        ("metadata", "description"),
        ("spec", "fullDescription"),
        ("spec", "upgradeDescription"),
    ):
        found = _ENTITY.search(as_text(dig(context.manifest, *path)))
        if found and found[0] not in own:
            yield context.in_manifest(
                f"{'.'.join(path)} holds the entity {found[0]}",
                *path,
                piece=found[0],
                hint="write the character itself",
            )
    for workload in context.workloads:
        for container in workload.all_containers:
            entries = as_maps(container.data.get("env"))
            words = [(as_text(item.get("name")), as_text(item.get("value"))) for _, item in entries]
            words += [("image", container.image)]
            words += [("an argument", word) for word in container.words("args")]
            for name, value in words:
                if value in _RESIDUE:
                    yield context.in_object(
                        workload.item,
                        f"{name} of container {container.name} is the word {value}",
                        value,
                        hint="leave out what has no value",
                        field=context.field_of_variable(name),
                    )
