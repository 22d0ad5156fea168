"""Headers of servers that mean well, and of those that do not."""

from datetime import UTC, datetime

import httpx
import pytest

from olares_apps.lock.network import Network, retry_after

NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Tue, 01 Dec 2026 10:01:00 GMT", 60.0),
        ("Tue, 01 Dec 2026 10:01:00", 60.0),
        ("Tue, 01 Dec 2026 09:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("inf", None),
        ("nan", None),
        ("\u00b2", None),
        ("\u0663", None),
        ("9" * 400, None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", None),
        ("Tue, 01 Dec 1900 10:01:00 GMT", 0.0),
        ("Tue, 99 Dec 2026 10:01:00 GMT", None),
    ],
)
def test_what_a_server_asks_to_wait(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, lambda: NOW) == seconds


class Clock:
    """Time that passes only between chunks."""

    def __init__(self, seconds_each: float) -> None:
        self.now, self.step = 0.0, seconds_each

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.mark.parametrize(
    ("size", "seconds_each", "taken"),
    [(1, 1.0, 60), (100, 1.0, 66), (2048, 1.0, 500), (65536, 50.0, 500)],
)
def test_an_answer_that_trickles_ends_and_a_slow_one_does_not(
    size: int, seconds_each: float, taken: int
) -> None:
    network = Network(clock=Clock(seconds_each))
    chunks = network.paced(b"x" * size for _ in range(500))
    got: list[bytes] = []
    if taken == 500:
        got.extend(chunks)
    else:
        with pytest.raises(httpx.ReadTimeout, match="slower than 1024 bytes per second"):
            got.extend(chunks)
    assert len(got) == taken
