"""An app's page, made when the app is published: its HTML, its picture, and what is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from olares_apps.bench.grouping import group_rows, headline
from olares_apps.errors import StoreCorrupt
from olares_apps.market import canonical, objects
from olares_apps.market.candidates import Icon
from olares_apps.market.entries import AppEntry, FileEntry, PageEntry
from olares_apps.market.pages.brief import Brief
from olares_apps.market.pages.facts import PageFacts
from olares_apps.market.pages.look import HTML, gib, look_digest, write_page
from olares_apps.market.store import Store
from olares_apps.pictures.designs import Subject, draw_icon, draw_share

__all__ = ["PageDraft", "base_address", "build_page", "is_shown", "stored_draft"]

_COLOURS: Final = 7


@dataclass(frozen=True, slots=True)
class PageDraft:
    """What a publisher knows of an app's page: its facts, and the GPU memory (bytes) that its
    manifest asks for. ``icon`` is the one that was drawn for the app, None when it is not at
    hand: the brief then keeps the digest ``drawn``.
    """

    facts: PageFacts
    gpu_memory: int | None
    icon: Icon | None = None
    drawn: str | None = None

    @classmethod
    def of(cls, facts: PageFacts, detail: Mapping[str, Any]) -> Self:
        """Return the draft of an app whose archive has this detail document."""
        icon = Icon.of(draw_icon(_subject(facts, None, "")))
        return cls(facts, int(detail["requiredGPU"]) or None, icon)

    def icon_for(self, entry: AppEntry | None) -> Icon | None:
        """Return the drawn icon, unless somebody gave the market another one for the app."""
        given = entry.icon if entry else None
        drawn = entry.page.brief.get("icon") if entry and entry.page else None
        return self.icon if given is None or given.sha256 == drawn else None

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
    except (ValueError, TypeError, KeyError) as error:
        raise StoreCorrupt(
            f"{what} cannot be read: {error}", hint="publish the app again"
        ) from error
    return PageDraft(facts, brief.gpu_memory, drawn=brief.icon)


def build_page(
    entry: AppEntry, draft: PageDraft, *, market: str
) -> tuple[PageEntry, dict[str, bytes]]:
    """Return the page of an app as its entry names it, and the blobs that this takes.

    ``entry`` is the app as it will be in the catalogue, ``market`` the market's name.
    """
    facts = draft.facts
    stored = canonical.encode(facts.to_json())
    page = write_page("app.html", _context(entry, draft, market))
    share = draw_share(_subject(facts, draft.gpu_memory, market))
    brief = Brief.of(
        facts,
        draft.gpu_memory,
        icon=draft.icon.entry.sha256 if draft.icon else draft.drawn,
        look=look_digest(),
    )
    blobs = {canonical.digest(data): data for data in (stored, page.data, share)}
    return PageEntry(
        facts=canonical.digest(stored),
        html=_file(page.data, HTML),
        csp=page.policy,
        share=_file(share, "image/png"),
        brief=brief.to_json(),
    ), blobs


def base_address(name: str, icon: str) -> str:
    """Return the market's address as its charts know it, from an icon's; empty when unknown."""
    base, found, rest = icon.rpartition("/icons/")
    return base if found and rest == f"{name}.png" else ""


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


def _context(entry: AppEntry, draft: PageDraft, market: str) -> Mapping[str, Any]:
    facts, memory = draft.facts, draft.facts.memory
    rows = facts.rows
    icons = [archive.card.icon for archive in entry.current.values()]
    bases = [base for icon in icons if (base := base_address(facts.app, icon))]
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
        "base": bases[0] if bases else "",
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
