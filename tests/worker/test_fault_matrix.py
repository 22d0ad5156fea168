"""Every fault of a connection and a clock, once: nothing is lost, and nothing half visible.

The table of `docs/protocol.md`, *Faults*, is this module's; a test compares them.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest
from support.devices import listed, synced
from support.market import NEW, OLD, PNG, Clock, build_candidate, hands
from support.proxy import Answer, Exchange, proxied
from support.worker import Worker, running

from olares_apps.errors import MarketError
from olares_apps.market.history import history
from olares_apps.market.http_store import HttpStore
from olares_apps.market.patience import Patience
from olares_apps.market.publish import publish
from olares_apps.market.verify import verify

Spoil = Callable[[Exchange], None]

PAGE: Final = Path(__file__).parents[2] / "docs/protocol.md"
ROW: Final = re.compile(r"^\| ([^|]+) \| ([^|]+) \| (goes on|stops) \|$", re.MULTILINE)
CLIENT_SECONDS, LATE_SECONDS = 1.0, 1.5
DAY: Final = 24 * 60 * 60 * 10**9
WRITES: Final = ("PUT blobs", "PUT responses", "PUT revisions", "PUT head")
# More new apps than one request checks, so that the head answers 202 first.
NAMES: Final = [f"demo{letter}" for letter in "bcd"]
SECOND = [
    build_candidate("demoalpha", "1.0.2", image="b2", icon=PNG),
    *(build_candidate(name) for name in NAMES),
]
OLD_STATE = {"demoalpha": {OLD: "1.0.0", NEW: "1.0.1"}}
NEW_STATE = {
    "demoalpha": {OLD: "1.0.2", NEW: "1.0.3"},
    **{name: {OLD: "1.0.0", NEW: "1.0.1"} for name in NAMES},
}


def _once(spoil: Spoil, *, kinds: tuple[str, ...] = ()) -> Callable[[], Spoil]:
    """Spoil the first try of every request, or of the first request of each kind."""

    def fresh() -> Spoil:
        seen = set[str]()

        def maybe(exchange: Exchange) -> None:
            name = exchange.kind if kinds else f"{exchange.method} {exchange.path}"
            if name in seen or (kinds and exchange.kind not in kinds):
                exchange.reply(exchange.forward())
                return
            seen.add(name)
            spoil(exchange)

        return maybe

    return fresh


def _late(exchange: Exchange) -> None:
    answer = exchange.forward()
    time.sleep(LATE_SECONDS)
    exchange.reply(answer)


def _cut_back(exchange: Exchange) -> None:
    answer = exchange.forward()
    exchange.reply(answer, most=len(answer.body) // 2)


def _lost(exchange: Exchange) -> None:
    exchange.forward()


def _after(status: int) -> Spoil:
    def spoil(exchange: Exchange) -> None:
        exchange.forward()
        exchange.reply(Answer(status, body=b"<h1>error</h1>"))

    return spoil


def _instead(status: int, **headers: str) -> Spoil:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return lambda exchange: exchange.reply(Answer(status, named, b"<h1>error</h1>"))


def _twice(exchange: Exchange) -> None:
    exchange.forward()
    exchange.reply(exchange.forward())


def _other_bytes_back(exchange: Exchange) -> None:
    answer = exchange.forward()
    spoilt = answer.body[:-1] + b"?" if exchange.method == "GET" else answer.body
    exchange.reply(Answer(answer.status, answer.headers, spoilt))


def _other_bytes_there(exchange: Exchange) -> None:
    exchange.reply(exchange.forward(exchange.body[:-1] + b"?"))


def _again(times: int) -> Callable[[], Spoil]:
    """Give the first 202 of the head again and again, without asking the Worker."""

    def fresh() -> Spoil:
        said: list[Answer] = []

        def spoil(exchange: Exchange) -> None:
            if said and exchange.kind == "PUT head" and len(said) <= times:
                said.append(said[0])
                exchange.reply(said[0])
                return
            answer = exchange.forward()
            if answer.status == 202:
                said.append(answer)
            exchange.reply(answer)

        return spoil

    return fresh


@dataclass(frozen=True)
class Fault:
    """A fault; ``message`` is what the publisher stops with, empty when it goes on."""

    spoil: Callable[[], Spoil] = lambda: lambda exchange: exchange.reply(exchange.forward())
    message: str = ""
    clock: int = 0


FAULTS: Final = {
    "refused": Fault(_once(lambda exchange: None)),
    "slow": Fault(_once(_late, kinds=WRITES)),
    "cut on the way there": Fault(_once(Exchange.forward_half)),
    "cut on the way back": Fault(_once(_cut_back)),
    "answer lost": Fault(_once(_lost)),
    "5xx before": Fault(_once(_instead(503))),
    "5xx after": Fault(_once(_after(520))),
    "429": Fault(_once(_instead(429, retry_after="7"))),
    "sent twice": Fault(_once(_twice)),
    "202 repeated": Fault(_again(4)),
    "202 without end": Fault(_again(100), "does not get on with its checks"),
    "other bytes back": Fault(
        _once(_other_bytes_back), "is damaged|is not JSON|exists with other content"
    ),
    "other bytes there": Fault(_once(_other_bytes_there, kinds=WRITES[:3]), "wrong digest"),
    "clock a day behind": Fault(clock=-DAY),
    "clock a day ahead": Fault(clock=DAY, message="in the future: set this machine's clock"),
}


@contextmanager
def _bad_store(worker: Worker, spoil: Spoil) -> Iterator[tuple[HttpStore, list[float]]]:
    """A store behind a proxy, and the waits that it was asked for."""
    waits: list[float] = []
    with proxied(worker.url, spoil) as proxy, httpx.Client(timeout=CLIENT_SECONDS) as client:
        patience = Patience(attempts=8, first=0.01, sleep=waits.append)
        yield HttpStore(client, proxy.url, token=worker.tokens[0].text, patience=patience), waits


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_loses_nothing_and_shows_nothing_half(
    name: str, bundle: Path, tmp_path: Path
) -> None:
    fault = FAULTS[name]
    now = time.time_ns()
    with running(bundle, tmp_path / "state") as worker:
        first = [build_candidate("demoalpha", "1.0.0")]
        publish(worker.store(), first, publisher="t", hands=hands(Clock(now)))
        with _bad_store(worker, fault.spoil()) as (store, waits):
            seen: dict[str, object] = {}

            def look(step: str, worker: Worker = worker) -> None:
                if step in ("head.json", "verify"):
                    seen[step] = listed(worker.url)

            made = hands(Clock(now + fault.clock), on_step=look)
            if fault.message:
                with pytest.raises(MarketError, match=fault.message):
                    publish(store, SECOND, publisher="t", hands=made)
            else:
                report = publish(store, SECOND, publisher="t", hands=made)
                assert (report.changed, report.attempts) == (True, 1)
        assert seen.get("head.json", OLD_STATE) == OLD_STATE
        assert seen.get("verify", NEW_STATE) == NEW_STATE
        if name == "429":
            assert set(waits) == {7.0}
        store = worker.store()
        assert listed(worker.url) == (OLD_STATE if fault.message else NEW_STATE)
        assert verify(store).problems == []
        again = publish(store, SECOND, publisher="t", hands=hands(Clock(now)))
        assert again.changed is bool(fault.message)
        assert listed(worker.url) == NEW_STATE
        assert synced(worker.url).keys() == NEW_STATE.keys()
        newest, oldest = history(store)
        assert newest.revision.created > oldest.revision.created
        head, _ = store.read_head()
        assert head is not None
        assert head.updated == newest.revision.created
        assert verify(store).problems == []


def test_the_table_of_faults_is_that_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("\n## Faults\n")[2].partition("\n## ")[0]
    table = {name: outcome for name, _, outcome in ROW.findall(text)}
    assert table == {
        name: "stops" if fault.message else "goes on" for name, fault in FAULTS.items()
    }
