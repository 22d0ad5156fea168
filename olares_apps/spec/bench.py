"""Measured speeds as a spec records them: figures with the protocol that they belong to."""

from typing import Annotated, Final

from pydantic import Field, PlainValidator

from olares_apps.spec.closed import Closed
from olares_apps.spec.quantity import plain_number
from olares_apps.spec.types import (
    Identifier,
    Image,
    Line,
    ModelPath,
    Text,
    Version,
    check_line,
)

__all__ = ["LONGEST_CONTEXT", "BenchRecord", "BenchRun", "Protocol", "SamplerValue"]

LONGEST_CONTEXT: Final = 2**26
"""Tokens; more than any model takes, so that a larger figure is a slip of the pen."""

# Speeds are shown with two decimals, so a smaller one would be zero; no server is faster.
Speed = Annotated[float, Field(ge=0.01, le=10**6)]
Tokens = Annotated[int, Field(gt=0, le=LONGEST_CONTEXT)]
TokensBefore = Annotated[int, Field(ge=0, le=LONGEST_CONTEXT)]
# A run drafts at most some dozen tokens for each that it generates.
Drafted = Annotated[int, Field(ge=0, le=2**32)]
# Seeds are 32 bits wide, the widest of what samplers take; -1 is a random one.
SamplerValue = Annotated[float, Field(ge=-(2**32), le=2**32)]

_LARGEST: Final = 2**40


def _setting(value: object) -> str:
    """Return a setting as text, so that equal values are equal however they were written."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        if not abs(value) <= _LARGEST:
            raise ValueError(f"is out of range; allowed: {-_LARGEST} to {_LARGEST}")
        return plain_number(value)
    if not isinstance(value, str):
        raise ValueError("must be one line of text, a number, true or false")
    return check_line(value)


SettingValue = Annotated[
    str,
    PlainValidator(
        _setting,
        json_schema_input_type=str | bool | Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)],
    ),
]


class BenchRun(Closed):
    """One measured run."""

    tps: Speed
    """Decoding speed in tokens per second."""
    drafted: Drafted | None = None
    """Tokens that the draft proposed."""
    accepted: Drafted | None = None
    """Drafted tokens that the model accepted."""
    seconds: Annotated[float, Field(gt=0, le=10**7)] | None = None
    """Wall time of the run in seconds."""


class Protocol(Closed):
    """How a speed was measured; two records compare only when their protocols agree."""

    prompt: Text
    """What the model was asked for."""
    tokens: Tokens
    """Tokens generated per run."""
    streams: Annotated[int, Field(gt=0, le=65536)] = 1
    """Requests at a time."""
    sampler: dict[str, SamplerValue] = Field(default_factory=dict)
    """Sampler settings, for example ``temp: 0.6``."""
    warmup: Line | None = None
    """What ran before the first counted run, ``none`` for nothing; null when not recorded."""
    filled_ctx: TokensBefore | None = None
    """Tokens already in the context when decoding began; null when not recorded."""


class BenchRecord(Closed):
    """A measured speed with its protocol and provenance."""

    id: Identifier
    """Name of the record inside the spec; texts write its hyphens as ``_``."""
    ctx: Tokens | None
    """Configured context in tokens; null when the source does not say."""
    tps: Speed
    """Mean decoding speed in tokens per second."""
    tps_range: Annotated[list[Speed], Field(min_length=2, max_length=2)] | None = None
    """Slowest and fastest run, when the single runs are not listed."""
    runs: Annotated[int, Field(gt=0, le=10**6)] | None = None
    """Number of runs behind the mean; null when the source does not say."""
    details: list[BenchRun] = Field(default_factory=list)
    """The single runs, when the source lists them."""
    acceptance: Annotated[float, Field(ge=0, le=100)] | None = None
    """Accepted share of the drafted tokens in per cent."""
    protocol: Protocol
    """How it was measured."""
    settings: dict[Identifier, SettingValue] = Field(default_factory=dict)
    """Settings of the run that its speed depends on and that no other field tells, for example
    ``drafted-tokens: 8``. Rankings say where they differ."""
    hardware: Line = "olares-one"
    """Hardware profile it ran on."""
    image: Image | None
    """Image it ran in; null when the source does not say."""
    model_file: ModelPath | None
    """Model file it ran with; null when the source does not say."""
    version: Version | None = None
    """Version of the app at that time."""
    source: Line
    """Where the figure was published."""
    tables: list[Identifier] = Field(default_factory=list)
    """Published comparisons that the figure stood in; ``olapps leaderboard --table`` shows them."""
