"""How long a client waits for a server that does not answer."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Patience"]

# Seconds.
_LONGEST_RETRY_AFTER: Final = 60.0
_NOTICED: Final = 3.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to try again; ``sleep`` takes seconds, ``jitter`` is from 0 to 1.

    The waits of a request add up to 36 s at most, 18 s on average, unless the server asks for
    longer ones. Where nobody ever answered there are only ``attempts_to_meet`` tries: the address
    may be wrong. ``tell`` gets a line when a wait is long enough to be noticed.
    """

    attempts: int = 10
    attempts_to_meet: int = 5
    first: float = 0.2
    longest: float = 8.0
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = field(default=random.SystemRandom().random)
    tell: Callable[[str], None] = lambda text: None

    def wait(self, attempt: int, asked: float, problem: str) -> None:
        """Wait before try number ``attempt + 1``, at least the ``asked`` seconds."""
        backoff = min(self.longest, self.first * 2**attempt)
        seconds = max(backoff * self.jitter(), min(asked, _LONGEST_RETRY_AFTER))
        if backoff >= _NOTICED or seconds >= _NOTICED:
            self.tell(f"{problem}; trying again in {seconds:.0f} s")
        self.sleep(seconds)
