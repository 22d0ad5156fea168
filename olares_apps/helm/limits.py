"""The bounds of a rendering: a chart whose templates loop must end with a clear error."""

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Budget", "Limits"]

_CLOCK_EVERY_STEPS = 2000


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one rendering: a chart that needs more does not end, or should not.

    ``steps`` counts statements, calls and loop turns; ``output_bytes`` the text written, the
    text passed between templates included; ``seconds`` the time by ``clock``, for a slow
    machine or a costly function; ``depth`` the templates that include each other.
    """

    steps: int = 1_000_000
    output_bytes: int = 16 * 2**20
    seconds: float = 20.0
    depth: int = 100
    clock: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Budget:
    """What is left of the limits; one budget serves all the files of a chart."""

    limits: Limits
    steps: int = 0
    written: int = 0
    depth: int = 0
    _check_at: int = 0
    _deadline: float = 0.0

    def __post_init__(self) -> None:
        self._deadline = self.limits.clock() + self.limits.seconds

    def overdrawn(self) -> tuple[str, float] | None:
        """Count one step; return the limit that is exceeded and its value, if any is."""
        self.steps += 1
        limits = self.limits
        if self.steps > limits.steps:
            return "steps", limits.steps
        if self.written > limits.output_bytes:
            return "output_bytes", limits.output_bytes
        if self.steps >= self._check_at:
            self._check_at = self.steps + _CLOCK_EVERY_STEPS
            if limits.clock() > self._deadline:
                return "seconds", limits.seconds
        return None
