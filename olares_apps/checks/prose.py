"""Free texts of a chart or spec, cut into clauses, and the facts that they must not contradict.

A clause that compares or tells history ("instead of 32K", "b8667 -> b8740") states nothing
about what runs now, so it is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from re import Match
from typing import TYPE_CHECKING, Any, Final

from olares_apps.checks.asides import Own
from olares_apps.checks.launch import Server
from olares_apps.checks.shape import as_maps, as_text, dig
from olares_apps.checks.wording import COUNTED, CUT, is_exempt, narrow
from olares_apps.checks.workloads import of_kind
from olares_apps.findings import Severity
from olares_apps.spec.loader import free_texts

if TYPE_CHECKING:
    from olares_apps.checks.context import ChartContext

__all__ = ["Clause", "Prose", "quant_labels"]

_MOST_CHARACTERS: Final = 200_000
_MOST_CLAUSES: Final = 4000
_LONGEST_CLAUSE: Final = 2000
_KV_FLAGS: Final = (
    "--cache-type-k",
    "--cache-type-v",
    "--cache-type-k-draft",
    "--cache-type-v-draft",
    "--kv-cache-dtype",
)
_DIGIT: Final = re.compile(r"\d|\{\{ ?ctx")
"""What stands for a number: digits, or the placeholder of the context."""
_PRONOUN: Final = re.compile(r"\s*(?:(?:It|They|Its|That one)\b|它|其(?![他余它中实]))", re.ASCII)
_SECTION: Final = re.compile(r"^[\W_]*v?(\d+\.\d+\.\d+)\b", re.MULTILINE)
_QUANT: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:UD-)?(?:I?Q[1-8](?:_[A-Z0-9]+)+|NVFP4|MXFP4|AWQ|GPTQ)(?![A-Za-z0-9_])"
)


@lru_cache(maxsize=512)
def _claims(text: str) -> tuple[tuple[str, str, str], ...]:
    """Return the clauses of a text that hold a number and state something of the present.

    Each comes as it is read, with narrow digits, as it is written, and with the clause before
    it when it begins with a pronoun. Kept, because the charts of all generations carry the
    same texts.
    """
    found, last = [], ""
    for whole in CUT.split(text):
        written = whole[:_LONGEST_CLAUSE]
        if _DIGIT.search(written) or COUNTED.search(written):
            read = narrow(written)
            if not is_exempt(read):
                found.append((read, written, last if _PRONOUN.match(written) else ""))
        last = written or last
    return tuple(found)


def quant_labels(text: str) -> list[Match[str]]:
    """Return where quantisation labels stand in a file name or text."""
    return list(_QUANT.finditer(text))


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of text that states something.

    ``text`` is as it is read, ``written`` as it stands in the file, of the same length.
    ``field`` is the dotted path of its text; ``path`` the same in steps. ``is_title`` texts are
    so short that any number in them is a claim. ``before`` is the clause that a pronoun at the
    beginning points back to.
    """

    text: str
    written: str
    field: str
    path: tuple[str | int, ...]
    file: str
    is_title: bool = False
    before: str = ""


@dataclass(eq=False)
class Prose:
    """The clauses of one app and what it really runs."""

    context: "ChartContext"
    severity: Severity = field(init=False)

    def __post_init__(self) -> None:
        self.severity = Severity.ERROR if self.context.spec else Severity.WARNING

    @cached_property
    def clauses(self) -> Sequence[Clause]:
        """Return the clauses that claim something about the present."""
        found: list[Clause] = []
        for file, path, text, is_title in self._texts():
            name = _dotted(path)
            for piece, written, before in _claims(text[:_MOST_CHARACTERS]):
                found.append(Clause(piece, written, name, path, file, is_title, before))
                if len(found) >= _MOST_CLAUSES:
                    return found
        return found

    def _texts(self) -> Iterator[tuple[str, tuple[str | int, ...], str, bool]]:
        """Yield file, path and text of everything that people read."""
        loaded = self.context.spec
        if loaded is None:
            documents = [
                self.context.manifests[False],
                *self.context.translations.values(),
            ]
            for document in documents:
                yield from _manifest_texts(document.file, document.data)
            return
        spec, file = loaded.spec, str(loaded.path)
        yield file, ("title",), spec.title, True
        if spec.entrance.title:
            yield file, ("entrance", "title"), spec.entrance.title, True
        for name, text in free_texts(spec):
            steps = tuple(int(step) if step.isdecimal() else step for step in name.split("."))
            if steps[0] == "releases" and spec.releases[int(steps[1])].version != spec.version:
                continue
            yield file, steps, text, False

    # Facts

    @property
    def servers(self) -> Sequence[Server]:
        """Return the servers."""
        return self.context.servers

    @cached_property
    def contexts(self) -> frozenset[int]:
        """Return every number of tokens that a text may give as the context of the server."""
        known = {server.ctx for server in self.servers if server.ctx}
        known |= {ctx // n for s in self.servers if (ctx := s.ctx) and (n := s.parallel) and n > 1}
        return frozenset(known)

    @cached_property
    def measured_contexts(self) -> frozenset[int]:
        """Return the contexts of the spec's measurements, configured and filled ones."""
        records = self.context.spec.spec.bench if self.context.spec else ()
        known = {record.ctx for record in records if record.ctx}
        return frozenset(known | {r.protocol.filled_ctx for r in records if r.protocol.filled_ctx})

    @cached_property
    def own_words(self) -> str:
        """Return what the app and its model are called."""
        names = [self.context.app, as_text(dig(self.context.manifest, "metadata", "title"))]
        return " ".join([*names, *(server.alias or "" for server in self.servers)])

    @cached_property
    def own(self) -> Own:
        """Return what tells the app from what else a text speaks of."""
        names = [self.own_words, *(name for s in self.servers for name in s.model_names)]
        versions = {as_text(dig(self.context.manifest, "metadata", "version"))}
        if self.context.spec:
            model = self.context.spec.spec.model
            versions.add(self.context.spec.spec.version)
            names += [model.name, model.kind, *(item.file for item in model.files)]
            names += [item.repo for item in model.repos]
        return Own(" ".join(names), frozenset(versions))

    @cached_property
    def quants(self) -> frozenset[str]:
        """Return the quantisation labels of the model files."""
        names = [name for server in self.servers for name in server.model_names]
        if self.context.spec:
            model = self.context.spec.spec.model
            for file in model.files:
                names += [file.file, file.quant or ""]
            for repo in model.repos:
                names += [repo.repo, repo.quant or ""]
        return frozenset(label[0] for name in names for label in quant_labels(name.upper()))

    @cached_property
    def kv_types(self) -> frozenset[str]:
        """Return the types of the KV cache, that of the draft included."""
        found = {s.value(flag) for s in self.servers for flag in _KV_FLAGS}
        for server in self.servers:
            is_complete = server.command is not None and server.command.complete
            if server.engine == "llamacpp" and server.parsed and is_complete:
                found |= {server.value(flag) or "f16" for flag in _KV_FLAGS[:2]}
        return frozenset(value for value in found if value and value != "auto")

    @cached_property
    def ports(self) -> frozenset[int]:
        """Return every port that the app uses."""
        found = {port for server in self.servers for port in server.ports}
        found |= {p for s in self.servers for p in s.container.ports.values()}
        for service in of_kind(self.context.objects, "Service"):
            for _, item in as_maps(dig(service.data, "spec", "ports")):
                found |= {
                    p for p in (item.get("port"), item.get("targetPort")) if isinstance(p, int)
                }
        entrances = as_maps(self.context.manifest.get("entrances"))
        found |= {item["port"] for _, item in entrances if isinstance(item.get("port"), int)}
        return frozenset(found)

    @cached_property
    def builds(self) -> frozenset[str]:
        """Return the llama.cpp builds that the images stand for."""
        found = set()
        for server in self.servers:
            tag = server.image.tag if server.image else ""
            found |= set(re.findall(r"(?<![a-z0-9])b\d{4,5}(?!\d)", tag))
            if server.table and server.table.build:
                found.add(server.table.build)
        return frozenset(found)


def _manifest_texts(
    file: str, data: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str | int, ...], str, bool]]:
    for path, is_title in (
        (("metadata", "title"), True),
        (("metadata", "description"), False),
        (("spec", "fullDescription"), False),
        (("spec", "upgradeDescription"), False),
    ):
        text = as_text(dig(data, *path))
        if path[-1] == "upgradeDescription":
            text = _current_notes(text, as_text(dig(data, "metadata", "version")))
        yield file, path, text, is_title
    for index, item in as_maps(data.get("entrances")):
        yield file, ("entrances", index, "title"), as_text(item.get("title")), True


def _current_notes(text: str, version: str) -> str:
    """Return the section of the newest version; sections of older ones are history."""
    heads = list(_SECTION.finditer(text[:_MOST_CHARACTERS]))
    if not heads:
        return text
    if text[: heads[0].start()].strip():
        return text[: heads[0].start()]
    for index, head in enumerate(heads):
        if head[1] == version or (not version and index == 0):
            end = heads[index + 1].start() if index + 1 < len(heads) else len(text)
            return text[head.start() : end]
    return ""


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path))
