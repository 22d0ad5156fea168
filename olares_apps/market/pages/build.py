"""An app's page, made when the app is published: its HTML, its picture, and what is stored."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self
from urllib.parse import urlsplit

from olares_apps.bench.grouping import group_rows, headline
from olares_apps.errors import StoreCorrupt
from olares_apps.market import canonical, objects
from olares_apps.market.candidates import Icon
from olares_apps.market.entries import AppEntry, FileEntry, PageEntry
from olares_apps.market.pages.brief import Brief
from olares_apps.market.pages.facts import PageFacts
from olares_apps.market.pages.look import HTML, gib, look_digest, write_page
from olares_apps.market.store import Store
from olares_apps.pictures.designs import DESIGN, Subject, draw_icon, draw_share

__all__ = ["PageDraft", "base_address", "build_page", "is_shown", "stored_draft"]

_COLOURS: Final = 7


@dataclass(frozen=True, slots=True)
class PageDraft:
    """What a publisher knows of an app's page: its facts, and the GPU memory (bytes) that its
    manifest asks for. ``base`` is the address of the market as the app's chart knows it, ``drawn``
    the digest of the icon that was drawn for the app, None when it has another one.
    """

    facts: PageFacts
    gpu_memory: int | None
    base: str = ""
    drawn: str | None = None

    @classmethod
    def of(cls, facts: PageFacts, detail: Mapping[str, Any]) -> Self:
        """Return the draft of an app whose archive has this detail document."""
        memory = int(detail["requiredGPU"]) or None
        return cls(facts, memory, base_address(facts.app, detail["icon"]))

    def with_icon(self, own: Icon | None, entry: AppEntry | None) -> tuple[Self, Icon | None]:
        """Return the icon to publish, and the draft that remembers whether it was drawn.

        ``own`` is the curator's. Without it one is drawn, unless somebody gave the market another
        one for the app: then there is none to publish.
        """
        given = entry.icon if entry else None
        drawn = entry.page.brief.get("icon") if entry and entry.page else None
        if own or (given and given.sha256 != drawn):
            return self, own
        icon = Icon.of(draw_icon(_subject(self.facts, None, "")))
        return replace(self, drawn=icon.entry.sha256), icon

    def is_shown_by(self, page: PageEntry | None) -> bool:
        """Say whether a page was made from the same, by templates that look the same."""
        return (
            page is not None
            and is_shown(self.facts, page)
            and page.brief.get("gpu_memory") == self.gpu_memory
        )


def is_shown(facts: PageFacts, page: PageEntry | None) -> bool:
    """Say whether a page was made from these facts, by templates that look the same."""
    return (
        page is not None
        and page.facts == canonical.digest(canonical.encode(facts.to_json()))
        and page.brief.get("look") == look_digest()
    )


def stored_draft(store: Store, name: str, page: PageEntry) -> PageDraft:
    """Return what the page of the app ``name`` was made from; raises StoreCorrupt."""
    what = f"page facts of {name}"
    data = objects.read_blob(store, page.facts, what)
    try:
        facts, brief = PageFacts.model_validate_json(data), Brief.from_json(page.brief)
    except ValueError as error:
        raise StoreCorrupt(
            f"{what} cannot be read: {error}", hint="publish the app again"
        ) from error
    return PageDraft(facts, brief.gpu_memory, brief.address or "", brief.icon)


def build_page(
    entry: AppEntry, draft: PageDraft, *, market: str, address: str = ""
) -> tuple[PageEntry, dict[str, bytes]]:
    """Return the page of an app as its entry names it, and the blobs that this takes.

    ``entry`` is the app as it will be in the catalogue, with the page that it has now: its share
    picture stays when it shows the same. ``market`` is the market's name, ``address`` where it is
    found, empty when only the charts may know it.
    """
    facts, known = draft.facts, entry.page
    stored = canonical.encode(facts.to_json())
    bases = [base_address(facts.app, item.card.icon) for item in entry.current.values()]
    base = address or next((found for found in [*bases, draft.base] if found), "")
    page = write_page("app.html", _context(entry, draft, market, base))
    blobs = {canonical.digest(data): data for data in (stored, page.data)}
    subject = _subject(facts, draft.gpu_memory, market)
    shown = canonical.digest(canonical.encode({"design": DESIGN, **_texts(asdict(subject))}))
    if known and known.brief.get("subject") == shown:
        share = known.share
    else:
        picture = draw_share(subject)
        share = _file(picture, "image/png")
        blobs[share.sha256] = picture
    brief = Brief.of(
        facts,
        draft.gpu_memory,
        icon=draft.drawn,
        look=look_digest(),
        subject=shown,
        address=base or None,
    )
    return PageEntry(
        facts=canonical.digest(stored),
        html=_file(page.data, HTML),
        csp=page.policy,
        share=share,
        brief=brief.to_json(),
    ), blobs


def base_address(name: str, icon: str) -> str:
    """Return the market's address as its charts know it, from an icon's; empty when unknown.

    A market serves icons below its root: those of another site, as a rule, have a longer path.
    """
    base, found, rest = icon.rpartition("/icons/")
    return base if found and rest == f"{name}.png" and not urlsplit(base).path else ""


def _texts(fields: Mapping[str, Any]) -> dict[str, str]:
    # As text, because stored records know no floats.
    return {name: repr(value) for name, value in fields.items()}


def _file(data: bytes, kind: str) -> FileEntry:
    return FileEntry(canonical.digest(data), len(data), kind)


def _subject(facts: PageFacts, gpu_memory: int | None, market: str) -> Subject:
    memory = facts.memory
    lines = [("GPU memory", f"{gib(gpu_memory)} GiB")] if gpu_memory else []
    lines += [("Context", f"{facts.ctx:,}")] if facts.ctx else []
    speed = headline(facts.rows, facts.ctx)
    lines += [("Tokens per second", speed.tps)] if speed else []
    share = memory.need / memory.usable if memory and memory.usable else None
    return Subject(facts.model, facts.title, share, tuple(lines), market)


def _context(entry: AppEntry, draft: PageDraft, market: str, base: str) -> Mapping[str, Any]:
    facts, memory = draft.facts, draft.facts.memory
    rows = facts.rows
    segments, used = [], 0
    if memory:
        shown = memory.parts or ()
        total = max(memory.usable, sum(part.bytes for part in shown), memory.need)
        for number, part in enumerate(shown):
            segments.append(
                {
                    "name": part.name,
                    "bytes": part.bytes,
                    "colour": number % _COLOURS,
                    "start": f"{used * 100 / total:.3f}",
                    "width": f"{part.bytes * 100 / total:.3f}",
                }
            )
            used += part.bytes
    return {
        "market": market,
        "root": "../",
        "here": "app",
        "base": base,
        "facts": facts,
        "headline": headline(rows, facts.ctx),
        "groups": group_rows(rows),
        "gpu_memory": draft.gpu_memory,
        "download": sum(file.size or 0 for file in facts.files),
        "icon": entry.icon is not None,
        "segments": segments,
        "free": max(memory.usable - memory.need, 0) if memory else 0,
        "archives": [
            {
                "generation": generation,
                "version": archive.version,
                "size": archive.size,
                "sha256": archive.sha256,
                "day": canonical.time_text(archive.published * 10**6)[:10],
            }
            for generation, archive in sorted(entry.current.items())
        ],
    }
