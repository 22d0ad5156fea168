"""What a market costs on Cloudflare: measured per sync, and the tables that follow from it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Final

import httpx
import pytest
from support.market import build_candidate, hands
from support.worker import Worker, running

from olares_apps.generations import OlaresVersion
from olares_apps.market.device.sync import sync
from olares_apps.market.device.transport import HttpTransport
from olares_apps.market.publish import publish

SYNCS_PER_DAY: Final = 24 * 60 // 5
DAYS: Final = 30
MILLION: Final = 10**6
FREE_REQUESTS_PER_DAY: Final = 100_000
PAID_DOLLARS, PAID_REQUESTS, DOLLARS_PER_MILLION = 5.0, 10 * MILLION, 0.30
FREE_READS, DOLLARS_PER_MILLION_READS = 10 * MILLION, 0.36
PAID_CPU_MS, DOLLARS_PER_MILLION_CPU_MS = 30 * MILLION, 0.02
ROOT: Final = Path(__file__).parents[2]


def requests(apps: int, *, v2: bool) -> int:
    """Return the requests of one sync that downloads nothing."""
    return 2 + ceil(apps / 10) + (2 + ceil(apps / 100) if v2 else 0)


def reads(apps: int) -> int:
    """Return how often a warm isolate asks R2 during one sync: for the head, with details."""
    return ceil(apps / 10)


def dollars(devices: int, apps: int) -> float:
    """Return the price of a month on the paid plan, with the v2 routes."""
    sent = devices * SYNCS_PER_DAY * DAYS * requests(apps, v2=True)
    read = devices * SYNCS_PER_DAY * DAYS * reads(apps)
    more = max(0, sent - PAID_REQUESTS) / MILLION * DOLLARS_PER_MILLION
    # R2 bills whole millions.
    return (
        PAID_DOLLARS + more + ceil(max(0, read - FREE_READS) / MILLION) * DOLLARS_PER_MILLION_READS
    )


class _Meter:
    def __init__(self) -> None:
        self.paths: list[str] = []
        self.operations = 0

    def __call__(self, response: httpx.Response) -> None:
        self.paths.append(response.request.url.path)
        self.operations += int(response.headers["x-r2-operations"])


@contextmanager
def _market(bundle: Path, state: Path, apps: int) -> Iterator[Worker]:
    names = [f"demo{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(apps)]
    with running(bundle, state, around="test/counted.js", head_cache_seconds=30) as worker:
        candidates = [build_candidate(name) for name in names]
        publish(worker.store(), candidates, publisher="t", hands=hands())
        yield worker


def _sync(worker: Worker, version: str) -> _Meter:
    meter = _Meter()
    with httpx.Client(timeout=60, event_hooks={"response": [meter]}) as client:
        report = sync(
            HttpTransport(client, worker.url),
            worker.url,
            OlaresVersion.parse(version),
            lint=lambda *chart: (),
        )
    assert report.problems == []
    return meter


@pytest.mark.parametrize("apps", [1, 12])
def test_a_sync_sends_and_reads_what_the_tables_say(
    bundle: Path, tmp_path: Path, apps: int
) -> None:
    with _market(bundle, tmp_path / "state", apps) as worker:
        for version, v2 in (("1.12.6", False), ("1.12.7", True)):
            _sync(worker, version)
            warm = _sync(worker, version)
            # The simulator downloads every archive each time; a device only those that changed.
            charts = [path for path in warm.paths if path.endswith("/chart")]
            assert len(charts) == apps
            assert len(warm.paths) - len(charts) == requests(apps, v2=v2)
            assert warm.operations == reads(apps)


def _table(file: str, first: str) -> list[list[str]]:
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf"^\| {re.escape(first)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert found, f"{file}: no table that begins with '{first}'"
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in found[1].splitlines()]


def _per_day(apps: int, *, v2: bool) -> int:
    return SYNCS_PER_DAY * requests(apps, v2=v2)


def test_the_table_of_devices_on_the_free_plan_follows_from_the_limits() -> None:
    rows = _table("docs/worker.md", "apps")
    assert len(rows) > 3
    for row in rows:
        apps = int(row[0])
        old, new = _per_day(apps, v2=False), _per_day(apps, v2=True)
        assert row == [
            str(apps),
            f"{old:,}",
            str(FREE_REQUESTS_PER_DAY // old),
            f"{new:,}",
            str(FREE_REQUESTS_PER_DAY // new),
        ]
        # What the free plan carries stays within the free operations of R2.
        devices = FREE_REQUESTS_PER_DAY // new
        assert devices * SYNCS_PER_DAY * DAYS * reads(apps) < FREE_READS


def test_the_table_of_costs_follows_from_the_prices() -> None:
    rows = _table("README.md", "devices")
    assert len(rows) > 3
    for row in rows:
        devices, apps = (int(cell.replace(",", "")) for cell in row[:2])
        per_day = devices * _per_day(apps, v2=True)
        read = devices * SYNCS_PER_DAY * DAYS * reads(apps)
        fits = per_day <= FREE_REQUESTS_PER_DAY and read <= FREE_READS
        price = "$0" if fits else f"${dollars(devices, apps):.2f}"
        assert row[2:] == [f"{per_day:,}", f"{read / MILLION:.1f} million", price]
    sent = devices * DAYS * _per_day(apps, v2=True)
    cpu = (sent - PAID_CPU_MS) / MILLION * DOLLARS_PER_MILLION_CPU_MS
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"would add ${cpu:.2f} to the last row" in text
    ten = FREE_REQUESTS_PER_DAY // _per_day(10, v2=True)
    assert f"carries a market of ten apps for {ten} devices" in text
