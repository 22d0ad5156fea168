"""Both servers under the project's own OpenAPI file: no 5xx, nothing undocumented, no write.

Schemathesis draws requests from the file, right ones and wrong ones, and compares the answers with
what the file says of status, media type, headers and body.
"""

import json
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi
from support.market import MemoryStore, hands
from support.pages import build_page_candidate
from support.serving import serving
from support.worker import Worker, make_token, running

from olares_apps.market.canonical import digest
from olares_apps.market.differences import MEDIA_TYPE
from olares_apps.market.publish import publish
from olares_apps.market.verify import verify

SCHEMA = schemathesis.openapi.from_path(Path(__file__).parents[2] / "docs" / "openapi.yaml")
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
WRITING = sum("publish" in (operation.tags or ()) for operation in OPERATIONS)
EVERYTHING = (make_token(scopes=("publish", "rollback", "collect")),)
DIGEST, BODY = "0" * 64, b"[]"
# An object that is there, so that some differences get as far as their steps.
BASE = f"responses/{DIGEST}/files.json"
# What is there: a name that is drawn almost never is.
THERE = {"app": "demoalpha", "digest": DIGEST, "file": "files.json"}
STEPS = st.lists(
    st.text(max_size=5) | st.lists(st.integers(-1, 3) | st.just(2**53), min_size=1, max_size=3),
    max_size=3,
)
LOOK = settings(
    max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


# What an answer must keep to. That every wrong request is refused is not promised: a device that
# sends an odd field gets an answer all the same.
CHECKS = [
    checks.not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_headers_conformance,
    openapi.response_schema_conformance,
]
SENDERS = count(int(ip_address("10.0.0.1")))
Look = Callable[[schemathesis.Case, schemathesis.Response], None]


def _explore(tag: str, url: str, look: Look | None = None, **headers: str) -> int:
    """Send what the file allows and what it does not to every operation; return how many."""
    chosen = [operation for operation in OPERATIONS if tag in (operation.tags or ())]
    for operation in chosen:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @LOOK
            @given(operation.as_strategy(generation_mode=mode), st.booleans())
            def ask(case: schemathesis.Case, there: bool) -> None:
                known = {k: THERE[k] for k in case.path_parameters or () if k in THERE}
                if there and known:
                    case.path_parameters = {**case.path_parameters, **known}
                # Each from an address of its own, or wrong tokens would soon shut out all.
                sender = {"CF-Connecting-IP": str(ip_address(next(SENDERS)))}
                reply = case.call(base_url=url, headers={**sender, **headers})
                case.validate_response(reply, checks=CHECKS)
                if look:
                    look(case, reply)

            try:
                ask()
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE, operation.label
    return len(chosen)


def _keys(worker: Worker) -> list[str]:
    store = worker.store()
    return [
        key for prefix in ("blobs/sha256", "revisions", "responses") for key in store.list(prefix)
    ]


@pytest.fixture(scope="module")
def worker(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A Worker with one app and an object that differences start from."""
    with running(bundle, tmp_path_factory.mktemp("state"), tokens=EVERYTHING) as started:
        publish(started.store(), [build_page_candidate()], publisher="t", hands=hands())
        started.store().put_if_absent(BASE, BODY)
        yield started


def test_the_worker_answers_readers_as_its_file_says(worker: Worker) -> None:
    assert _explore("read", worker.url) == len(OPERATIONS) - WRITING


def test_the_worker_takes_no_write_without_a_token(worker: Worker) -> None:
    before = worker.store().read_head(), _keys(worker)
    statuses: dict[str, set[int]] = {}

    def look(case: schemathesis.Case, reply: schemathesis.Response) -> None:
        statuses.setdefault(f"{case.method} {case.path}", set()).add(reply.status_code)

    assert _explore("publish", worker.url, look) == WRITING
    secured = {op.label for op in OPERATIONS if op.definition.raw.get("security")}
    assert len(secured) == 6
    assert {label: statuses[label] for label in secured} == {key: {401} for key in secured}
    assert (worker.store().read_head(), _keys(worker)) == before


def test_the_worker_answers_publishers_as_its_file_says(worker: Worker) -> None:
    before = worker.store().read_head()
    assert _explore("publish", worker.url, **worker.bearer()) == WRITING
    assert worker.store().read_head() == before
    assert verify(worker.store()).problems == []


def test_the_worker_takes_differences_as_its_file_says(worker: Worker) -> None:
    put = next(op for op in OPERATIONS if op.method == "put" and "{file}" in op.path)
    seen = set[int]()

    @settings(LOOK, max_examples=60)
    @given(st.sampled_from([BASE, BASE.replace("0", "1")]), STEPS, st.booleans())
    def ask(base: str, steps: list[Any], right: bool) -> None:
        named = digest(BODY if right else b"")
        headers = {"X-Base": base, "Content-Type": MEDIA_TYPE, "X-Content-Sha256": named}
        case = put.Case(
            path_parameters={**THERE, "file": "new.json"},
            headers=headers,
            body=json.dumps(steps).encode(),
            media_type=MEDIA_TYPE,
        )
        reply = case.call(base_url=worker.url, headers=worker.bearer())
        case.validate_response(reply, checks=CHECKS)
        seen.add(reply.status_code)

    ask()
    assert seen >= {201, 400, 424}


def test_the_local_server_answers_as_the_file_says() -> None:
    store = MemoryStore()
    publish(store, [build_page_candidate()], publisher="t", hands=hands())
    with serving(store) as url:
        assert _explore("read", url) == len(OPERATIONS) - WRITING
