"""Both servers under the project's own OpenAPI file: no 5xx, nothing undocumented, no write."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.market import MemoryStore, hands
from support.pages import build_page_candidate
from support.serving import serving
from support.worker import Worker, make_token, running

from olares_apps.market.canonical import digest
from olares_apps.market.differences import MEDIA_TYPE
from olares_apps.market.publish import publish
from olares_apps.market.verify import verify

OPENAPI: Mapping[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "docs" / "openapi.yaml").read_text(encoding="utf-8")
)
EVERYTHING = (make_token(scopes=("publish", "rollback", "collect")),)
APP, DIGEST = "demoalpha", "0" * 64
QUERY = st.one_of(st.sampled_from(["1.12.6", "revisions", "1", ""]), st.text(max_size=20))
BODY = b"[]"
# An object that is there, so that some differences get as far as their steps.
BASE = f"responses/{DIGEST}/files.json"
HEADER = st.sampled_from(["*", '"x"', DIGEST, "", BASE, digest(BODY)])
STEPS = st.lists(
    st.text(max_size=5) | st.lists(st.integers(-1, 3) | st.just(2**53), min_size=1, max_size=3),
    max_size=3,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
LOOK = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def _resolve(node: Any) -> Any:
    """Return a node of the file with its references replaced."""
    if isinstance(node, dict):
        if "$ref" in node:
            found: Any = OPENAPI
            for part in node["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            return _resolve(found)
        return {name: _resolve(item) for name, item in node.items()}
    return [_resolve(item) for item in node] if isinstance(node, list) else node


OPERATIONS = [
    (method.upper(), path, _resolve(operation))
    for path, methods in OPENAPI["paths"].items()
    for method, operation in methods.items()
]


@st.composite
def asked(draw: st.DrawFn, tag: str) -> tuple[str, str, Mapping[str, Any], Mapping[str, Any]]:
    """Draw a request of an operation: method, path, what is sent, and the operation."""
    chosen = [item for item in OPERATIONS if tag in item[2]["tags"]]
    method, path, operation = draw(st.sampled_from(chosen))
    sent: dict[str, Any] = {"params": {}, "headers": {}}
    for field in operation.get("parameters", ()):
        name, form = field["name"], field["schema"].get("pattern")
        if field["in"] == "path":
            known = {"app": APP, "digest": DIGEST}.get(name, "files.json")
            value = draw(st.just(known) | st.from_regex(re.compile(form, re.ASCII), fullmatch=True))
            path = path.replace("{" + name + "}", value)
        elif draw(st.booleans()):
            sent["params" if field["in"] == "query" else "headers"][name] = draw(
                QUERY if field["in"] == "query" else HEADER
            )
    body = operation.get("requestBody")
    if body and "application/json" in body["content"]:
        wish = {"app_ids": [APP], "keep": 10, "dry_run": True}
        sent["json"] = draw(JSON | st.just(wish))
    elif body:
        kind = draw(st.sampled_from(sorted(body["content"])))
        sent["headers"]["Content-Type"] = kind
        steps = STEPS.map(lambda steps: json.dumps(steps).encode())
        sent["content"] = draw(
            st.binary(max_size=40) | (steps if kind == MEDIA_TYPE else st.just(BODY))
        )
    return method, path, sent, operation


def _judge(reply: httpx.Response, operation: Mapping[str, Any]) -> None:
    """Check status, media type and body of an answer against the file."""
    documented = operation["responses"].get(str(reply.status_code))
    shown = f"{reply.request.method} {reply.request.url}: {reply.status_code} {reply.text[:200]}"
    assert reply.status_code < 500, shown
    assert documented is not None, shown
    kinds = documented.get("content", {})
    kind = reply.headers.get("content-type")
    assert (kind in kinds) if kinds else not reply.content, shown
    schema = kinds.get(kind, {}).get("schema")
    if schema:
        jsonschema_rs.validate(schema, reply.json())


def _keys(worker: Worker) -> list[str]:
    store = worker.store()
    return [
        key for prefix in ("blobs/sha256", "revisions", "responses") for key in store.list(prefix)
    ]


def test_the_worker_answers_as_its_file_says_and_takes_no_write_without_a_token(
    bundle: Path, tmp_path: Path
) -> None:
    with running(bundle, tmp_path / "state", tokens=EVERYTHING) as worker:
        publish(worker.store(), [build_page_candidate()], publisher="t", hands=hands())
        worker.store().put_if_absent(BASE, BODY)
        before = worker.store().read_head(), _keys(worker)
        seen = set[int]()
        client = httpx.Client(base_url=worker.url, timeout=60)
        worker.clients.append(client)

        @LOOK
        @given(asked("publish"))
        def without_a_token(wish: Any) -> None:
            method, path, sent, operation = wish
            reply = client.request(method, path, **sent)
            _judge(reply, operation)
            assert reply.status_code == 401 if operation.get("security") else method == "GET"

        @LOOK
        @given(asked("publish"))
        def with_one(wish: Any) -> None:
            method, path, sent, operation = wish
            headers = sent["headers"] | worker.bearer()
            _judge(client.request(method, path, **sent | {"headers": headers}), operation)

        put = next(o for m, p, o in OPERATIONS if m == "PUT" and "{file}" in p)

        @LOOK
        @given(st.sampled_from([BASE, BASE.replace("0", "1")]), STEPS, st.booleans())
        def as_a_difference(base: str, steps: list[Any], right: bool) -> None:
            named = digest(BODY if right else b"")
            headers = {"X-Base": base, "Content-Type": MEDIA_TYPE, "X-Content-Sha256": named}
            path = f"/api/publish/v1/objects/responses/{DIGEST}/new.json"
            sent = json.dumps(steps).encode()
            reply = client.put(path, content=sent, headers=headers | worker.bearer())
            _judge(reply, put)
            seen.add(reply.status_code)

        @LOOK
        @given(asked("read"))
        def reading(wish: Any) -> None:
            method, path, sent, operation = wish
            _judge(client.request(method, path, **sent), operation)

        without_a_token()
        assert (worker.store().read_head(), _keys(worker)) == before
        with_one()
        as_a_difference()
        assert seen >= {201, 400, 424}
        reading()
        assert worker.store().read_head() == before[0]
        assert verify(worker.store()).problems == []


def test_the_local_server_answers_as_the_file_says() -> None:
    store = MemoryStore()
    publish(store, [build_page_candidate()], publisher="t", hands=hands())
    with serving(store) as url, httpx.Client(base_url=url, timeout=60) as client:

        @LOOK
        @given(asked("read"))
        def reading(wish: Any) -> None:
            method, path, sent, operation = wish
            _judge(client.request(method, path, **sent), operation)

        reading()
