"""Headers of servers that mean well, and of those that do not."""

from datetime import UTC, datetime

import pytest

from olares_apps.lock.network import retry_after

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
