"""Threads that take turns, so that a test can choose or search their interleaving."""

import threading

__all__ = ["Turns"]


class Turns:
    """Lets threads run one store operation at a time, in an order that a test chooses."""

    def __init__(self, order: list[int], count: int) -> None:
        self.order, self.position = order, 0
        self.running = set(range(count))
        self.condition = threading.Condition()

    def _next(self) -> int:
        """Return whose turn it is; who is done is passed over, and the end is round robin."""
        alive = sorted(self.running)
        if self.position < len(self.order):
            return alive[self.order[self.position] % len(alive)]
        return alive[self.position % len(alive)]

    def wait(self, who: int) -> None:
        with self.condition:
            self.condition.wait_for(lambda: self._next() == who, timeout=30)
            self.position += 1
            self.condition.notify_all()

    def done(self, who: int) -> None:
        with self.condition:
            self.running.discard(who)
            self.condition.notify_all()
