"""Apps with pages, for tests: facts without a spec, candidates that carry them."""

from dataclasses import replace
from typing import Any

from support.market import build_candidate

from olares_apps.bench.grouping import Conditions, Row
from olares_apps.market.candidates import Candidate
from olares_apps.market.pages.build import PageDraft
from olares_apps.market.pages.facts import (
    FileFact,
    LicenseFact,
    MemoryFact,
    PageFacts,
    PartFact,
    ReleaseFact,
    SweepFact,
)

GIB = 2**30
CONDITIONS = Conditions(
    hardware="olares-one",
    prompt="a game as one page",
    tokens=2000,
    streams=1,
    sampler="temp=0.6",
    warmup="none",
    filled_ctx=None,
)


def build_row(app: str = "demoalpha", tps: str = "100.5", **changes: Any) -> Row:
    """Return a measured speed."""
    row = Row(
        app=app,
        title=app.title(),
        conditions=CONDITIONS,
        tps=tps,
        ctx=32768,
        runs=5,
        acceptance="86.6",
        slowest="98",
        fastest="103",
        image="docker.io/example/server:b1",
        model_file="model-Q4.gguf",
        version="1.0.0",
        source="measured by its author",
    )
    return replace(row, **changes)


def build_facts(app: str = "demoalpha", **changes: Any) -> PageFacts:
    """Return the facts of a page with something in every section."""
    memory = MemoryFact(
        need=21 * GIB,
        usable=24 * GIB,
        basis="computed",
        parts=(PartFact(name="weights", bytes=17 * GIB), PartFact(name="kv cache", bytes=4 * GIB)),
        sweep=(
            SweepFact(ctx=8192, need=18 * GIB, state="fits"),
            SweepFact(ctx=32768, need=21 * GIB, state="tight"),
            SweepFact(ctx=262144, need=30 * GIB, state="does-not-fit"),
        ),
    )
    fields: dict[str, Any] = {
        "app": app,
        "title": app.title(),
        "alias": "demo-model",
        "summary": "A small model for tests.",
        "about": "# Heading\n\nA text with `code` and a [link](https://model.example/).",
        "limits": ("One request at a time.",),
        "model": "Demo 8B",
        "kind": "8B dense",
        "modalities": ("text",),
        "ctx": 32768,
        "native_ctx": 262144,
        "engine": "llamacpp",
        "image": "docker.io/example/server:b1",
        "image_digest": f"sha256:{'ab' * 32}",
        "port": 8000,
        "hardware": "Olares One",
        "gpu": "RTX 5090",
        "memory": memory,
        "files": (
            FileFact(
                role="target",
                repo="example/demo",
                file="model-Q4.gguf",
                quant="Q4_K_M",
                size=17 * GIB,
                sha256="cd" * 32,
                revision="ef" * 20,
            ),
        ),
        "bench": (build_row(app).to_json(),),
        "licenses": (LicenseFact(what="model", text="MIT", url="https://model.example/l"),),
        "releases": (ReleaseFact(version="1.0.0", notes="First release."),),
        "developer": "example",
        "website": "https://model.example/",
        "source_code": None,
    }
    return PageFacts(**fields | changes)


def build_listing(app: str = "demolisted", reason: str = "no device can install it") -> Candidate:
    """Return a candidate that has a page and no archive."""
    facts = build_facts(app, not_installable=reason)
    detail = build_candidate(app, title=facts.title).archives[-1].detail
    draft, icon = PageDraft.of(facts, detail).with_icon(None, None)
    return Candidate(app, facts.title, [], icon, page=draft, not_installable=reason)


def build_page_candidate(
    app: str = "demoalpha", version: str = "1.0.0", *, facts: PageFacts | None = None, **chart: Any
) -> Candidate:
    """Return a candidate whose page is made from ``facts``, with a drawn icon."""
    facts = facts or build_facts(app)
    candidate = build_candidate(app, version, title=facts.title, **chart)
    draft, icon = PageDraft.of(facts, candidate.archives[-1].detail).with_icon(None, None)
    return replace(candidate, page=draft, icon=icon)
