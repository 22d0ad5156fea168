"""One set of recorded requests and answers that every server of a market must give.

The record holds a small market and what `Answers` says to each request, byte for byte. Both
servers replay it: the Python one and the Worker. To record again after a change of the answers::

    PYTHONPATH=tests python -m support.conformance
"""

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from support.market import OLD, PNG, MemoryStore, build_candidate, hands

from olares_apps.market.answers import MAX_BODY_BYTES, MAX_IDS, Answer, Answers
from olares_apps.market.canonical import digest
from olares_apps.market.publish import publish
from olares_apps.market.records import Head
from olares_apps.market.retreat import remove

Json = dict[str, Any]

RECORD: Final = Path(__file__).parents[1] / "worker" / "conformance.json"
HEADERS: Final = (
    "content-type",
    "content-length",
    "content-disposition",
    "content-encoding",
    "cache-control",
    "etag",
    "allow",
    "access-control-allow-origin",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "x-content-type-options",
)
HOSTILE: Final = '`${x}` </script> \\ \u2028 " {{ x }} 🦙'
ALPHA, BRAVO, CHARLIE = "4d6544d7", "13a24119", "6fd3b0ca"
HASH, INFO = "/api/v1/appstore/hash", "/api/v1/appstore/info"
DETAILS = "/api/v1/applications/info"
CHART = "/api/v1/applications/demoalpha/chart"
VERSIONS = (
    "1.12.3 1.12.5 1.12.6 1.12.7 2.0.0 v1.12.5 1.11.0 1.12.6-20260801 1.12.6+x abc 1.12 "
    "1.12.6- 99999.0.0 100000.0.0 1.12.6%0A %D9%A1.12.6 1.12.5%22%7F%C3%A9"
).split()


def build_market() -> MemoryStore:
    """Return a market with two revisions of one app, a second app and a removed one."""
    store = MemoryStore()
    made = hands()
    publish(
        store,
        [
            build_candidate("demoalpha", "1.0.0", icon=PNG),
            build_candidate("demobravo", generations=(OLD,), categories=("AI", HOSTILE)),
            build_candidate("democharlie"),
        ],
        publisher="t",
        hands=made,
    )
    update = build_candidate("demoalpha", "1.0.2", image="b2", description=HOSTILE)
    publish(store, [update], publisher="t", hands=made)
    remove(store, ["democharlie"], publisher="t", hands=made)
    return store


def requests() -> Iterable[Json]:
    """Yield what is asked: a method and a target, perhaps a body and a known etag."""
    for query in [*(f"?version={version}" for version in VERSIONS), "", "?version=", "?v=1"]:
        yield _ask("GET", HASH + query)
        yield _ask("GET", "/api/v2/catalog" + query)
    for query in ("", "?version=1.12.5", "?version=1.12.6-20260801", "?version=1.11.0"):
        yield _ask("GET", INFO + query)
        yield _ask("GET", "/api/v2/applications" + query)
    yield _ask("GET", f"{HASH}?version=1.12.3&version=1.12.6")
    for query in ("olares_version=1.12.5", "version=&olares_version=1.12.6", "version=1.12.6"):
        yield _ask("GET", f"/api/v2/taxonomy?{query}")
    for source in ("mine", "my%22one%20%F0%9F%A6%99", "x" * 200, "x" * 201, ""):
        yield _ask("GET", f"/api/v2/catalog?source_id={source}")
    for page in (
        "size=1",
        "size=1&page=2",
        "size=1&page=3",
        "page=2",
        "size=0",
        "size=-1",
        "size=x",
        "size=2&page=0",
        "size=999999999&page=999999999",
        "size=1234567890",
        "size=%D9%A1",
        "size=1&version=1.12.5",
    ):
        yield _ask("GET", f"/api/v2/applications?{page}")
        yield _ask("GET", f"/api/v2/browse/applications?{page}")
    for version in ("1.12.5", "1.12.6", "1.11.0", "x", None):
        asked = {"app_ids": [ALPHA, BRAVO, "ffffffff", ALPHA, CHARLIE]}
        yield _ask("POST", DETAILS, asked | ({} if version is None else {"version": version}))
    for ids in ([], ["__proto__", "constructor", ""], [HOSTILE, "\ud800", "\x7f\x00é"]):
        yield _ask("POST", DETAILS, {"app_ids": ids})
    yield _ask("POST", DETAILS, {"app_ids": [f"{n:08x}" for n in range(MAX_IDS)]})
    yield _ask("POST", DETAILS, {"app_ids": [f"{n:08x}" for n in range(MAX_IDS + 1)]})
    for wrong in ({}, [], None, 5, {"app_ids": "x"}, {"app_ids": [5]}, {"app_ids": None}):
        yield _ask("POST", DETAILS, wrong)
    yield _ask("POST", DETAILS, {"app_ids": [], "version": 1.12})
    yield _ask("POST", DETAILS, {"app_ids": [], "version": None, "extra": 1})
    for text in ("", "{", "[" * 500, "app_ids=x", '{"app_ids":[]} x'):
        yield {"method": "POST", "target": DETAILS, "body": text}
    yield {"method": "POST", "target": DETAILS, "body": " " * (MAX_BODY_BYTES + 1)}
    for prefix in ("/api/v1", "/api/v2"):
        for version in ("1.0.0", "1.0.1", "1.0.2", "1.0.3", "9.9.9", ""):
            file = f"demoalpha-{version}.tgz"
            path = f"{prefix}/applications/demoalpha/chart"
            yield _ask("GET", f"{path}?fileName={file}&version=other")
            yield _ask("GET", f"{path}?version={version}")
    yield _ask("GET", CHART)
    yield _ask("GET", f"{CHART}?fileName=..%2F..%2Fhead.json")
    yield _ask("GET", f"{CHART}?fileName=__proto__")
    yield _ask("GET", f"{CHART}?fileName={'x' * 400}%C3%A9")
    yield _ask("GET", f"{CHART}?fileName=demobravo-1.0.0.tgz")
    yield _ask("GET", "/api/v2/applications/demobravo/chart?version=1.0.0")
    yield _ask("GET", "/api/v2/applications/democharlie/chart?version=1.0.0")
    yield _ask("GET", "/api/v1/applications/constructor/chart?version=1.0.0")
    for icon in ("demoalpha.png", "demoalpha.webp", "demobravo.png", "demoalpha.gif", "x.png"):
        yield _ask("GET", f"/icons/{icon}")
    for path in ("/health", "/nowhere", f"{HASH}/", "/api/v3/catalog", "/api/v1", "/icons/"):
        yield _ask("GET", path)
    for target in (HASH, f"{CHART}?version=1.0.2", "/icons/demoalpha.png", DETAILS, "/nowhere"):
        for method in ("HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"):
            if (method, target) != ("POST", DETAILS):
                yield _ask(method, target)
    yield _ask("GET", DETAILS)


def _ask(method: str, target: str, body: Any = ...) -> Json:
    asked: Json = {"method": method, "target": target}
    return asked if body is ... else asked | {"body": json.dumps(body)}


def respond(answers: Answers, asked: Mapping[str, Any]) -> Answer:
    """Return what `Answers` says to a recorded request."""
    parts = urlsplit(asked["target"])
    return answers.respond(
        asked["method"],
        unquote(parts.path),
        dict(parse_qsl(parts.query, keep_blank_values=True)),
        asked.get("body", "").encode(),
        if_none_match=asked.get("if_none_match", ""),
    )


def expectation(answer: Answer) -> Json:
    """Return the recorded form of an answer: status, headers that matter, the body's digest."""
    headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    if answer.status == 204:
        # A server may leave it out, and HTTP says that it should.
        headers.pop("content-length", None)
    return {"status": answer.status, "headers": headers, "sha256": digest(answer.body)}


def pack(data: bytes) -> str | Json:
    """Return bytes as text where they are text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def unpack(packed: str | Json) -> bytes:
    """Return the bytes that `pack` was given."""
    return packed.encode() if isinstance(packed, str) else base64.b64decode(packed["base64"])


def recorded_market(record: Json) -> MemoryStore:
    """Return the market of a record."""
    store = MemoryStore()
    store.objects = {key: unpack(data) for key, data in record["objects"].items()}
    store.head = record["head"].encode()
    return store


def expectations(store: MemoryStore, asked: Iterable[Json], bodies: dict[str, Any]) -> list[Json]:
    """Return requests with their answers, each answer with an etag asked for again with tags.

    The bodies go into ``bodies`` by digest: many answers share one.
    """
    answers, found = Answers(store), []
    for request in asked:
        answer = respond(answers, request)
        bodies[digest(answer.body)] = pack(answer.body)
        found.append(request | {"answer": expectation(answer)})
        etag = answer.headers.get("etag")
        if etag and request["method"] in ("GET", "HEAD"):
            for tags in (f'"other", W/{etag}', "*", '"*"'):
                known = request | {"if_none_match": tags}
                found.append(known | {"answer": expectation(respond(answers, known))})
    return found


def empty_requests() -> Iterable[Json]:
    """Yield what is asked of a market without a publish."""
    for target in (HASH, INFO, "/api/v2/catalog", "/api/v2/applications", CHART, "/health"):
        yield _ask("GET", target)
    yield _ask("GET", "/icons/demoalpha.png")
    yield _ask("POST", DETAILS, {"app_ids": []})


def record(store: MemoryStore) -> Json:
    """Return the whole record of a market: of its objects, those that the head can reach."""
    assert store.head is not None
    live = Head.decode(store.head, "head").revision
    kept = ("blobs/", f"responses/{live}/")
    bodies: dict[str, Any] = {}
    return {
        "head": store.head.decode(),
        "objects": {
            key: pack(data) for key, data in sorted(store.objects.items()) if key.startswith(kept)
        },
        "requests": expectations(store, requests(), bodies),
        "empty": expectations(MemoryStore(), empty_requests(), bodies),
        "bodies": dict(sorted(bodies.items())),
    }


def render(content: Json) -> str:
    """Return the text of a record; one request or object a line, so that a diff can be read."""
    return "{\n" + ",\n".join(f"{json.dumps(k)}: {_block(v)}" for k, v in content.items()) + "\n}\n"


def _block(value: Any) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(item) for item in value) + "\n]"
    if isinstance(value, dict):
        fields = (f"{json.dumps(key)}: {json.dumps(item)}" for key, item in value.items())
        return "{\n" + ",\n".join(fields) + "\n}"
    return json.dumps(value)


if __name__ == "__main__":
    RECORD.write_text(render(record(build_market())))
