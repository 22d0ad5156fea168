"""Does an estimate fit a device, and what should the manifest ask for?

Thresholds: a start that is 60 MiB short loads, answers /health and dies at the first prompt,
so an error needs a reserve (256 MiB); 35B with f16 KV ran with 475 MiB left, so more than
that is a warning (1 GiB). Both are settings.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from olares_apps.errors import UsageError
from olares_apps.fit.memory_model import MemoryEstimate
from olares_apps.hardware import HardwareProfile

__all__ = [
    "DEFAULT_THRESHOLDS",
    "GIB",
    "FitState",
    "Measured",
    "Thresholds",
    "Verdict",
    "judge",
    "judge_need",
    "required_gpu_memory",
]

MIB: Final = 2**20
GIB: Final = 2**30


class FitState(StrEnum):
    """How a need compares with a device's budget."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does-not-fit"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Free memory in bytes below which a fit is an error, and below which it is a warning.

    Raises UsageError unless ``0 <= error_below <= warn_below``.
    """

    error_below: int = 256 * MIB
    warn_below: int = GIB

    def __post_init__(self) -> None:
        if not 0 <= self.error_below <= self.warn_below:
            raise UsageError(
                f"thresholds must grow: error below {self.error_below}, "
                f"warning below {self.warn_below} bytes"
            )


@dataclass(frozen=True, slots=True)
class Measured:
    """GPU memory that was measured on a device: bytes, and when, where and how."""

    gpu_bytes: int
    provenance: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison, in bytes.

    ``need`` is what was judged: the measured figure when there is one, else the estimate.
    ``free`` is below zero when the need exceeds the usable memory. ``warnings`` are those of
    the estimate; ``problems`` are settings with which the server does not start at all.
    ``impossible`` says why a measured figure was not believed; empty when it was.
    """

    state: FitState
    need: int
    estimated: int
    usable: int
    reported: int
    message: str
    measured: Measured | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    impossible: str = ""

    @property
    def free(self) -> int:
        """Return the bytes that stay free."""
        return self.usable - self.need

    @property
    def has_problem(self) -> bool:
        """Return whether this configuration must not be published."""
        return self.state is FitState.DOES_NOT_FIT or bool(self.problems)


DEFAULT_THRESHOLDS: Final = Thresholds()


def judge(
    estimate: MemoryEstimate,
    profile: HardwareProfile,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    *,
    measured: Measured | None = None,
    other_apps: int = 0,
) -> Verdict:
    """Compare an estimate with a device.

    A measured figure wins over the estimate, unless it is below what the weights and caches
    alone take: those are exact. ``other_apps`` is the GPU memory in bytes that
    other programs hold. On a device whose GPU and host share memory, host memory counts too.
    """
    estimated = estimate.total_gpu + (estimate.total_host if profile.shares_memory else 0)
    impossible = _impossible(measured, estimate) if measured else ""
    measured = None if impossible else measured
    need = measured.gpu_bytes if measured else estimated
    state, message = judge_need(need, profile, thresholds, other_apps=other_apps)
    return Verdict(
        state=state,
        need=need,
        estimated=estimated,
        usable=profile.usable_bytes - other_apps,
        reported=profile.reported_bytes,
        message=message,
        measured=measured,
        problems=estimate.problems,
        warnings=estimate.warnings,
        impossible=impossible,
    )


def _impossible(measured: Measured, estimate: MemoryEstimate) -> str:
    exact = sum(part.bytes for part in estimate.parts if part.where == "gpu" and part.is_exact)
    if measured.gpu_bytes >= exact:
        return ""
    return (
        f"the measured {measured.gpu_bytes / GIB:.1f} GiB ({measured.provenance}) are less than "
        f"weights and caches alone take, {exact / GIB:.1f} GiB"
    )


def judge_need(
    need: int,
    profile: HardwareProfile,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    *,
    other_apps: int = 0,
) -> tuple[FitState, str]:
    """Judge a need in bytes; returns the state and a message with every figure in GiB."""
    usable = profile.usable_bytes - other_apps
    free = usable - need
    if free < thresholds.error_below:
        state = FitState.DOES_NOT_FIT
    elif free < thresholds.warn_below:
        state = FitState.TIGHT
    else:
        state = FitState.FITS
    if free < 0:
        end = f"does not fit, {_gib(-free)} too much"
    elif state is FitState.DOES_NOT_FIT:
        end = f"does not fit, margin {_gib(free, 2)} below {_gib(thresholds.error_below, 2)}"
    elif state is FitState.TIGHT:
        end = f"tight, margin {_gib(free, 2)} below {_gib(thresholds.warn_below, 2)}"
    else:
        end = f"fits with {_gib(free)} margin"
    others = f", other apps {_gib(other_apps)}" if other_apps else ""
    message = (
        f"needs {_gib(need)}, quota {_gib(profile.reported_bytes, 2)}, usable after driver/vGPU "
        f"reserve {_gib(profile.usable_bytes, 2)}{others} -> {end}"
    )
    return state, message


def required_gpu_memory(need: int, profile: HardwareProfile) -> int:
    """Return the GPU memory that a manifest should ask for, in bytes.

    The need rounded up to a whole Gi, because that is what people read. Where that would pass
    the usable memory of the card, the need rounded up to a whole Mi: a device refuses an app
    that asks for more than it has. A need that does not fit is capped at the usable memory;
    it is the verdict that says so.
    """
    usable = profile.usable_bytes // MIB * MIB
    whole = -(-need // GIB) * GIB
    return whole if whole <= usable else min(-(-need // MIB) * MIB, usable)


def _gib(size: int, digits: int = 1) -> str:
    return f"{size / GIB:.{digits}f}GiB"
