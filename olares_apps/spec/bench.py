"""Measured speeds as a spec records them: figures with the protocol that they belong to."""

from typing import Annotated

from pydantic import Field

from olares_apps.spec.closed import Closed
from olares_apps.spec.types import Identifier, Image, Line, ModelPath, Text, Version

__all__ = ["BenchRecord", "BenchRun", "Protocol"]


class BenchRun(Closed):
    """One measured run."""

    tps: Annotated[float, Field(gt=0)]
    """Decoding speed in tokens per second."""
    drafted: Annotated[int, Field(ge=0)] | None = None
    """Tokens that the draft proposed."""
    accepted: Annotated[int, Field(ge=0)] | None = None
    """Drafted tokens that the model accepted."""
    seconds: Annotated[float, Field(gt=0)] | None = None
    """Wall time of the run in seconds."""


class Protocol(Closed):
    """How a speed was measured; two records compare only when their protocols agree."""

    prompt: Text
    """What the model was asked for."""
    tokens: Annotated[int, Field(gt=0)]
    """Tokens generated per run."""
    streams: Annotated[int, Field(gt=0)] = 1
    """Requests at a time."""
    sampler: dict[str, float] = Field(default_factory=dict)
    """Sampler settings, for example ``temp: 0.6``."""
    warmup: Line = "none"
    """What ran before the first counted run."""
    filled_ctx: Annotated[int, Field(ge=0)] | None = None
    """Tokens already in the context when decoding began; null when not recorded."""


class BenchRecord(Closed):
    """A measured speed with its protocol and provenance."""

    id: Identifier
    """Name of the record inside the spec; texts write its hyphens as ``_``."""
    ctx: Annotated[int, Field(gt=0)]
    """Configured context in tokens."""
    tps: Annotated[float, Field(gt=0)]
    """Mean decoding speed in tokens per second."""
    tps_range: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    """Slowest and fastest run, when the single runs are not listed."""
    runs: Annotated[int, Field(gt=0)] | None = None
    """Number of runs behind the mean; null when the source does not say."""
    details: list[BenchRun] = Field(default_factory=list)
    """The single runs, when the source lists them."""
    acceptance: Annotated[float, Field(ge=0, le=100)] | None = None
    """Accepted share of the drafted tokens in per cent."""
    protocol: Protocol
    """How it was measured."""
    hardware: Line = "olares-one"
    """Hardware profile it ran on."""
    image: Image
    """Image it ran in."""
    model_file: ModelPath
    """Model file it ran with."""
    version: Version | None = None
    """Version of the app at that time."""
    source: Line
    """Where the figure was published."""
    tables: list[Identifier] = Field(default_factory=list)
    """Published comparisons that the figure stood in; ``olapps leaderboard --table`` shows them."""
