"""Both servers give the recorded answers, byte for byte (see support/conformance.py)."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.conformance import (
    HEADERS,
    RECORD,
    Json,
    expectations,
    recorded_market,
    requests,
    unpack,
)
from support.market import MemoryStore
from support.worker import Worker, running, seed

from olares_apps.market.canonical import digest
from olares_apps.market.server import build_app

CONTENT: Json = json.loads(RECORD.read_text())


def test_the_record_is_what_the_answers_say_today() -> None:
    bodies: dict[str, Any] = {}
    found = expectations(recorded_market(CONTENT), requests(), bodies)
    assert found == CONTENT["requests"]
    assert {key: CONTENT["bodies"][key] for key in bodies} == bodies


def _headers(asked: Json) -> dict[str, str]:
    # An edge packs JSON for those who take it; a device takes what the answer's length says.
    known = asked.get("if_none_match")
    return {"Accept-Encoding": "identity"} | ({"If-None-Match": known} if known else {})


def _send(client: httpx.Client, base: str, asked: Json) -> httpx.Response:
    return client.request(
        asked["method"],
        base + asked["target"],
        content=asked["body"].encode() if "body" in asked else None,
        headers=_headers(asked),
    )


def _faults(asked: Json, reply: httpx.Response) -> list[str]:
    expected = asked["answer"]
    name = f"{asked['method']} {asked['target'][:120]} {asked.get('body', '')[:80]}"
    faults = []
    if reply.status_code != expected["status"]:
        faults.append(f"{name}: {reply.status_code}, expected {expected['status']}")
    for header in HEADERS:
        found, wanted = reply.headers.get(header), expected["headers"].get(header)
        # HTTP lets a server leave the length out where there is no body to measure.
        silent = header == "content-length" and expected["status"] in (204, 304)
        if found != wanted and not silent:
            faults.append(f"{name}: {header} is {found}, expected {wanted}")
    body = CONTENT["bodies"][expected["sha256"]] if expected["status"] != 304 else ""
    headless = asked["method"] == "HEAD"
    if not headless and digest(reply.content) != digest(unpack(body)):
        faults.append(f"{name}: {reply.content[:200]!r}, expected {unpack(body)[:200]!r}")
    return faults


@pytest.fixture(scope="module")
def filled(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    state = tmp_path_factory.mktemp("filled")
    seed(state, RECORD)
    with running(bundle, state) as worker:
        yield worker


def test_the_worker_gives_the_recorded_answers(filled: Worker) -> None:
    with httpx.Client() as client:
        faults = [
            fault
            for asked in CONTENT["requests"]
            for fault in _faults(asked, _send(client, filled.url, asked))
        ]
    assert faults == [], "\n".join(faults)
    assert len(CONTENT["requests"]) > 200


def test_a_worker_without_a_publish_says_so_as_recorded(worker: Worker) -> None:
    with httpx.Client() as client:
        faults = [
            fault
            for asked in CONTENT["empty"]
            for fault in _faults(asked, _send(client, worker.url, asked))
        ]
    assert faults == [], "\n".join(faults)


@pytest.mark.parametrize("part", ["requests", "empty"])
def test_the_python_server_gives_the_recorded_answers(part: str) -> None:
    store = recorded_market(CONTENT) if part == "requests" else MemoryStore()

    async def replay() -> list[str]:
        transport = httpx.ASGITransport(build_app(store))
        async with httpx.AsyncClient(transport=transport, base_url="http://market") as client:
            faults = []
            for asked in CONTENT[part]:
                reply = await client.request(
                    asked["method"],
                    asked["target"],
                    content=asked["body"].encode() if "body" in asked else None,
                    headers=_headers(asked),
                )
                faults += _faults(asked, reply)
            return faults

    assert asyncio.run(replay()) == []
