"""Translations, links and release notes."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from olares_apps.checks.context import ChartContext
from olares_apps.checks.documents import Document
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.rules.manifest import is_web_address
from olares_apps.checks.shape import as_list, as_maps, as_text, dig, shown
from olares_apps.findings import Severity
from olares_apps.spec.loader import free_texts
from olares_apps.spec.types import Locale

__all__ = ["rules"]

rules = RuleBook(Group.TEXT)

_LOCALE: Final = TypeAdapter[str](Locale)
_DEFAULT: Final = "en-US"
_KEYS: Final = (
    ("metadata", "title"),
    ("metadata", "description"),
    ("spec", "fullDescription"),
    ("spec", "upgradeDescription"),
)
_TRANSLATED: Final = frozenset(("metadata", "spec", "entrances"))
_MARKDOWN: Final = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]\n]{0,500})\]\((?P<target>[^)\n]{0,2000})(?P<end>\)?)"
)
_AROUND_IMAGE: Final = re.compile(r"(?<=\))\]\(\s{0,9}(?:<\s{0,9}>)?\s{0,9}\)")
"""The end of a link around a picture, without an address."""
_CODE: Final = re.compile(
    r"```.{0,9000}?```|~~~.{0,9000}?~~~|(?P<tick>`{1,2})(?!`)[^\n]{1,500}?(?P=tick)", re.DOTALL
)
_BARE: Final = re.compile(r"(?<![\w(\"'<=])h?tt?ps?:/{1,3}[^\s)\]>\"'`]*")
_SECTION: Final = re.compile(r"^[\W_]*v?(\d+\.\d+\.\d+)\b", re.MULTILINE)


@rules.error(
    "spec-locale",
    "Devices look texts up by full tags, and show nothing for a language without them.",
    "OAC validate.go; insilo playbook",
)
def _locale(context: ChartContext) -> Iterator[Found]:
    """A list that differs from the folders is a warning."""
    listed = [as_text(item) for item in context.list_at("spec", "locale")]
    for index, tag in enumerate(listed):
        fault = _locale_fault(tag)
        if fault:
            yield context.in_manifest(
                f"locale {shown(tag)} {fault}",
                "spec",
                "locale",
                index,
                hint=fault.partition("; ")[2],
            )
    folders = set(context.translations)
    for index, tag in enumerate(listed):
        if not _locale_fault(tag) and tag not in folders and tag != _DEFAULT:
            yield context.in_manifest(
                f"locale {tag} listed but i18n/{tag}/OlaresManifest.yaml missing",
                "spec",
                "locale",
                index,
                hint="add the file or take the locale out",
                severity=Severity.WARNING,
            )
    for tag in sorted(folders - set(listed)):
        if listed:
            yield context.in_manifest(
                f"i18n/{tag} exists but spec.locale does not list {tag}",
                "spec",
                "locale",
                hint=f"add {tag} to spec.locale",
                severity=Severity.WARNING,
            )
    for path in sorted(context.files):
        parts = path.split("/")
        if len(parts) == 3 and parts[0] == "i18n" and parts[1] not in folders:
            yield Found(
                f"i18n/{parts[1]} has no OlaresManifest.yaml",
                path,
                hint=f"add i18n/{parts[1]}/OlaresManifest.yaml",
                severity=Severity.WARNING,
            )


@lru_cache(maxsize=256)
def _locale_fault(tag: str) -> str:
    """Return what is wrong with a locale tag, empty for a full one."""
    try:
        _LOCALE.validate_python(tag)
    except ValidationError as error:
        return error.errors()[0]["msg"].removeprefix("Value error, ")
    return ""


@rules.warning(
    "i18n-keys",
    "A text that a translation leaves out is shown in the default language.",
    "public charts with whole manifests, or none, below i18n",
)
def _keys(context: ChartContext) -> Iterator[Found]:
    for tag, document in context.translations.items():
        if document.problem:
            continue
        missing = [
            ".".join(path)
            for path in _KEYS
            if as_text(dig(context.manifest, *path)) and not as_text(dig(document.data, *path))
        ]
        if missing:
            yield context.in_document(
                document.file,
                f"locale {tag} has no {', '.join(missing)}: the default text is shown",
                (missing[0].partition(".")[0],),
                hint="translate it, or repeat the default text",
                severity=Severity.INFO,
            )
        extra = sorted(set(document.data) - _TRANSLATED)
        if extra:
            yield context.in_document(
                document.file,
                f"locale {tag} holds {', '.join(extra)}, a translation has metadata and spec only",
                (extra[0],),
                hint="remove them",
            )


@rules.warning(
    "locale-out-of-step",
    "A reader of a translation must not learn less than one of the default language.",
    "docs/specs.md",
)
def _step(context: ChartContext) -> Iterator[Found]:
    """Only with a spec: its texts come in parts that can be counted."""
    if context.spec is None:
        return
    spec = context.spec.spec
    for tag, page in spec.locales.items():
        if spec.text.about.strip() and not page.about.strip():
            yield context.in_spec(
                f"locales.{tag} has no about, the default language has one",
                ("locales", tag),
                hint="translate it",
            )
        if len(page.limits) != len(spec.text.limits):
            yield context.in_spec(
                f"locales.{tag} has {len(page.limits)} limits, the default language has "
                f"{len(spec.text.limits)}",
                ("locales", tag, "limits"),
                hint="translate each of them",
            )


@rules.warning(
    "i18n-title",
    "The default language's title is shown instead of the manifest's.",
    "public charts whose translated title is an older one",
)
def _title(context: ChartContext) -> Iterator[Found]:
    document = context.translations.get(_DEFAULT)
    title = as_text(dig(context.manifest, "metadata", "title"))
    other = as_text(dig(document.data, "metadata", "title")) if document else ""
    if document and other and title and other != title:
        yield context.in_document(
            document.file,
            f"title {shown(other)} differs from metadata.title {shown(title)}",
            ("metadata", "title"),
            hint="write one title in both",
        )


@rules.warning("link-form", "A link that is no address leads nowhere.", "public charts")
def _links(context: ChartContext) -> Iterator[Found]:
    yield from _addresses(context)
    if context.spec is not None:
        loaded = context.spec
        for name, text in free_texts(loaded.spec):
            steps = tuple(int(step) if step.isdecimal() else step for step in name.split("."))
            for piece, fault in _link_faults(text):
                spot = loaded.positions.inside(steps, piece) or loaded.positions.nearest(steps)
                yield Found(f"{name}: {fault}", str(loaded.path), spot.line, _LINK_HINT)
        return
    documents: list[Document] = [context.manifests[False], *context.translations.values()]
    for document in documents:
        for path in _KEYS[1:]:
            for piece, fault in _link_faults(as_text(dig(document.data, *path))):
                yield context.in_document(
                    document.file,
                    f"{'.'.join(path)}: {fault}",
                    path,
                    hint=_LINK_HINT,
                    piece=piece,
                )


_LINK_HINT: Final = "write [text](https://address)"


def _addresses(context: ChartContext) -> Iterator[Found]:
    for key in ("website", "sourceCode", "doc", "featuredImage"):
        value = dig(context.manifest, "spec", key)
        if value and not is_web_address(value):
            yield context.in_manifest(
                f"spec.{key} {shown(value)} is no absolute http or https address",
                "spec",
                key,
                hint="write the full address",
            )
    for index, item in as_maps(dig(context.manifest, "spec", "license")):
        if item.get("url") and not is_web_address(item["url"]):
            yield context.in_manifest(
                f"spec.license[{index}].url {shown(item['url'])} is no address",
                "spec",
                "license",
                index,
                "url",
                hint="write the full address",
            )
    for index, item in enumerate(as_list(dig(context.manifest, "spec", "promoteImage"))):
        if not is_web_address(item):
            yield context.in_manifest(
                f"spec.promoteImage[{index}] {shown(item)} is no address",
                "spec",
                "promoteImage",
                index,
            )


def _link_faults(text: str) -> Iterator[tuple[str, str]]:
    """Yield piece and fault of every link that is not one; code holds none."""
    prose = _CODE.sub(lambda code: "x" * len(code[0]), text)
    for found in _MARKDOWN.finditer(prose):
        piece = text[found.start() : found.end()]
        target = found["target"].strip().split(" ")[0].strip("<>").strip()
        if not found["end"]:
            yield piece[:60], f"the link {shown(piece[:60])} is not closed"
        elif not target:
            yield piece, f"the link {shown(piece)} has no address"
        elif not target.startswith(("#", "mailto:")) and not is_web_address(target):
            yield piece, f"the link {shown(target)} is no absolute address"
        elif not found["text"].strip() and not found["image"]:
            yield piece, f"the link {shown(piece)} has no text to click"
    for found in _AROUND_IMAGE.finditer(prose):
        yield found[0], "the link around a picture has no address"
    for found in _BARE.finditer(text):
        written = found[0].rstrip(".,;:!?*_")
        if not _is_good(written):
            yield written, f"{shown(written)} is no address"


def _is_good(written: str) -> bool:
    try:
        parts = urlsplit(written)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and ":///" not in written
    except ValueError:
        return False


@rules.warning(
    "release-notes-missing",
    "An update without notes tells the owner of a device nothing.",
    "public charts without upgradeDescription",
)
def _notes(context: ChartContext) -> Iterator[Found]:
    if context.spec is not None:
        spec = context.spec.spec
        versions = [release.version for release in spec.releases]
        if versions and spec.version not in versions:
            spot = context.spec.positions.nearest(("releases",))
            yield Found(
                f"releases has no notes for version {spec.version} (newest: {versions[0]})",
                str(context.spec.path),
                spot.line,
                f"add an entry with version: '{spec.version}'",
            )
        return
    notes = as_text(dig(context.manifest, "spec", "upgradeDescription"))
    document = context.manifests[False]
    if not document.exists or document.problem:
        return
    if not notes.strip():
        yield context.in_manifest(
            "spec.upgradeDescription is missing", "spec", hint="say what changed in this version"
        )
        return
    first = _SECTION.search(notes)
    if first is None or notes[: first.start()].strip():
        return  # notes without a version are those of the current one
    versions = _SECTION.findall(notes)
    own = as_text(dig(context.manifest, "metadata", "version"))
    if own and own not in versions:
        yield context.in_manifest(
            f"spec.upgradeDescription has no notes for version {own} (newest: {versions[0]})",
            "spec",
            "upgradeDescription",
            hint=f"add a section for {own}",
        )
