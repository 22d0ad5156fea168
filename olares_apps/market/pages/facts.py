"""The facts of an app's page: plain data, stored with the app in the market.

They come from the spec, its lock and the memory model while the app is published, and they
hold everything that a page shows and the archives do not say. So a later publisher can make
the page again without spec or lock. No floats: figures are decimal text or whole numbers.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from olares_apps.bench.grouping import Row
from olares_apps.fit.memory_model import MemoryEstimate
from olares_apps.fit.sweep import Device, context_sweep
from olares_apps.fit.verdict import DEFAULT_THRESHOLDS, Thresholds
from olares_apps.hardware import HardwareProfile
from olares_apps.lock.model import Lock
from olares_apps.lock.need import FitCase, fit_case, known_need
from olares_apps.spec.models import AppSpec
from olares_apps.spec.placeholders import expand

__all__ = ["FileFact", "MemoryFact", "PageFacts", "PartFact", "ReleaseFact", "page_facts"]

_GB = 10**9


class _Fact(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PartFact(_Fact):
    """One share of the GPU memory, in bytes."""

    name: str
    bytes: int


class SweepFact(_Fact):
    """What another context would need: tokens, bytes, and whether that fits."""

    ctx: int
    need: int
    state: Literal["fits", "tight", "does-not-fit"]


class MemoryFact(_Fact):
    """GPU memory in bytes: the need, what the card leaves to an app, and where it goes.

    ``basis`` says what the need rests on; ``parts`` add up to it unless it was measured.
    """

    need: int
    usable: int
    basis: Literal["measured", "computed", "stated"]
    parts: tuple[PartFact, ...] = ()
    sweep: tuple[SweepFact, ...] = ()


class FileFact(_Fact):
    """A model file or repository: size in bytes, digest and commit where they are known."""

    role: str
    repo: str
    file: str | None
    quant: str | None
    size: int | None
    sha256: str | None
    revision: str


class LicenseFact(_Fact):
    """A licence: of what, its name and its address."""

    what: str
    text: str
    url: str


class ReleaseFact(_Fact):
    """What changed in one version."""

    version: str
    notes: str


class PageFacts(_Fact):
    """Everything that an app's page shows besides its archives."""

    schema_: Annotated[Literal[1], Field(alias="schema")] = 1
    app: str
    title: str
    alias: str
    summary: str
    about: str
    limits: tuple[str, ...]
    model: str
    kind: str
    modalities: tuple[str, ...]
    ctx: int | None
    native_ctx: int
    engine: str
    image: str
    image_digest: str | None
    port: int
    hardware: str
    gpu: str
    memory: MemoryFact | None
    files: tuple[FileFact, ...]
    bench: tuple[dict[str, Any], ...]
    licenses: tuple[LicenseFact, ...]
    releases: tuple[ReleaseFact, ...]
    developer: str
    website: str | None
    source_code: str | None
    not_installable: str | None = None

    @property
    def rows(self) -> list[Row]:
        """Return the measured speeds."""
        return [Row.from_json(item) for item in self.bench]

    @property
    def quant(self) -> str | None:
        """Return the quantisation of the served model."""
        return next((item.quant for item in self.files if item.role == "target"), None)

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        fields = self.model_dump(mode="json", by_alias=True)
        # Without a reason no field: facts of apps that can be installed keep their text.
        if self.not_installable is None:
            del fields["not_installable"]
        return fields


def page_facts(
    spec: AppSpec[Any],
    lock: Lock | None,
    profile: HardwareProfile,
    *,
    facts: dict[str, object],
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> PageFacts:
    """Return the page's facts of a spec to which its lock has been applied.

    ``facts`` answer the placeholders of its texts. Raises SpecError for a placeholder without
    a fact, UnknownName for a cache type that is not in the table.
    """
    image = lock.image(spec.engine.image) if lock else None
    return PageFacts(
        app=spec.app,
        title=spec.title,
        alias=spec.alias,
        summary=" ".join(expand(spec.text.summary, facts, "text.summary").split()),
        about=expand(spec.text.about, facts, "text.about"),
        limits=tuple(
            expand(text, facts, f"text.limits.{index}")
            for index, text in enumerate(spec.text.limits)
        ),
        model=spec.model.name,
        kind=spec.model.kind,
        modalities=tuple(spec.model.modalities),
        ctx=spec.engine.context_tokens,
        native_ctx=spec.model.native_ctx,
        engine=spec.engine.type,
        image=spec.engine.image,
        image_digest=image.digest if image else None,
        port=spec.engine.port,
        hardware=profile.title,
        gpu=profile.gpu,
        memory=_memory(spec, lock, profile, thresholds),
        files=_files(spec),
        bench=tuple(Row.of(spec.app, spec.title, item).to_json() for item in spec.bench),
        licenses=tuple(
            LicenseFact(what=what, text=item.text, url=str(item.url))
            for what, item in (("model", spec.licenses.model), ("server", spec.licenses.engine))
        ),
        releases=tuple(
            ReleaseFact(
                version=item.version, notes=expand(item.notes, facts, f"releases.{index}.notes")
            )
            for index, item in enumerate(spec.releases)
        ),
        developer=spec.developer,
        website=spec.website,
        source_code=spec.source_code,
        not_installable=spec.not_installable,
    )


def _files(spec: AppSpec[Any]) -> tuple[FileFact, ...]:
    files = [
        FileFact(
            role=item.role,
            repo=item.repo,
            file=item.file,
            quant=item.quant,
            size=item.size or _bytes(item.size_gb),
            sha256=item.sha256,
            revision=item.revision,
        )
        for item in spec.model.files
    ]
    repos = [
        FileFact(
            role=item.role,
            repo=item.repo,
            file=None,
            quant=item.quant,
            size=_bytes(item.size_gb),
            sha256=None,
            revision=item.revision,
        )
        for item in spec.model.repos
    ]
    return tuple(files + repos)


def _bytes(gb: float | None) -> int | None:
    return None if gb is None else round(gb * _GB)


def _memory(
    spec: AppSpec[Any], lock: Lock | None, profile: HardwareProfile, thresholds: Thresholds
) -> MemoryFact | None:
    usable = profile.usable_bytes
    case = fit_case(spec, lock)
    need = known_need(spec, lock, profile)
    if case and need is not None:
        found = case.estimate()
        parts, sweep = _parts(found), _sweep(case, found, Device(profile, thresholds))
        basis: Literal["measured", "computed"] = (
            "computed" if need == found.total_gpu else "measured"
        )
        return MemoryFact(need=need, usable=usable, basis=basis, parts=parts, sweep=sweep)
    if need is not None:
        return MemoryFact(need=need, usable=usable, basis="measured")
    stated = tuple(
        PartFact(name=part.part, bytes=round(part.gb * _GB))
        for part in spec.resources.gpu_memory_parts
    )
    if not stated:
        return None
    total = sum(part.bytes for part in stated)
    return MemoryFact(need=total, usable=usable, basis="stated", parts=stated)


def _parts(found: MemoryEstimate) -> tuple[PartFact, ...]:
    return tuple(
        PartFact(name=part.name.replace("-", " "), bytes=part.bytes)
        for part in found.parts
        if part.where == "gpu" and part.bytes
    )


def _sweep(case: FitCase, found: MemoryEstimate, device: Device) -> tuple[SweepFact, ...]:
    drafter = sum(
        part.bytes
        for part in found.parts
        if part.where == "gpu" and part.name.startswith("drafter-")
    )
    rest = Device(device.profile, device.thresholds, drafter)
    rows = context_sweep(case.facts, case.request, case.behaviour, rest)
    return tuple(
        SweepFact(ctx=row.ctx, need=row.verdict.need + drafter, state=row.verdict.state.value)
        for row in rows
    )
