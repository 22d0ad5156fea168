"""The local server: a real uvicorn that gives the same answers as the stored ones."""

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.serving import serving
from support.specs import build_file_tree
from support.workspaces import (
    DEMO,
    OLAPPS,
    PNG,
    SECOND_SPEC,
    build_workspace,
    edit,
    good,
    olapps,
)

from olares_apps.market.answers import MAX_BODY_BYTES, Answers
from olares_apps.market.store import open_store
from olares_apps.spec.types import app_id

ID = app_id(DEMO)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("server") / "ws"
    build_workspace(root, files={"apps/second.yaml": SECOND_SPEC, f"icons/{DEMO}.png": PNG})
    good("publish", cwd=root)
    return root


@pytest.fixture(scope="module")
def url(root) -> Iterator[str]:
    with serving(f"dir:{root}/.market") as url:
        yield url


@pytest.fixture(scope="module")
def client(url) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url) as client:
        yield client


def details(*ids: object, version: str = "1.12.6") -> bytes:
    return json.dumps({"app_ids": list(ids), "version": version}).encode()


CHART = f"/applications/{DEMO}/chart"
FILE = f"?fileName={DEMO}-1.0.1.tgz&version=1.0.1"
REQUESTS: list[tuple[str, str, bytes]] = [
    *[
        ("GET", f"/api/v1/appstore/{kind}{query}", b"")
        for kind in ("hash", "info")
        for query in ("", "?version=1.12.5", "?version=1.12.6-20260801", "?version=abc&x=%00")
    ],
    ("POST", "/api/v1/applications/info", details(ID, app_id("demosecond"))),
    ("POST", "/api/v1/applications/info", details(ID, "ffffffff", version="1.12.4")),
    ("POST", "/api/v1/applications/info", details()),
    ("POST", "/api/v1/applications/info", details(1, None)),
    ("POST", "/api/v1/applications/info", b"{"),
    ("POST", "/api/v1/applications/info", b"[]"),
    ("POST", "/api/v1/applications/info", b""),
    ("POST", "/api/v1/applications/info", b"[" * 20_000),
    ("POST", "/api/v1/applications/info", b"\xff\xfe"),
    ("GET", "/api/v1/applications/info", b""),
    ("GET", "/api/v2/catalog?source_id=mine", b""),
    ("GET", "/api/v2/taxonomy", b""),
    ("GET", "/api/v2/applications", b""),
    ("GET", "/api/v2/applications?version=1.12.7&page=1&size=1", b""),
    ("GET", "/api/v2/applications?page=-1&size=x", b""),
    ("GET", "/api/v2/browse/applications?olares_version=1.12.7", b""),
    ("GET", f"/api/v1{CHART}{FILE}", b""),
    ("GET", f"/api/v2{CHART}{FILE}", b""),
    ("GET", f"/api/v1{CHART}?fileName={DEMO}-9.9.9.tgz", b""),
    ("GET", f"/api/v1{CHART}?fileName=../../head.json", b""),
    ("GET", "/api/v1/applications/..%2F..%2Fhead.json/chart", b""),
    ("GET", f"/icons/{DEMO}.png", b""),
    ("GET", "/icons/demosecond.png", b""),
    ("GET", "/icons/../head.json", b""),
    ("GET", "/health", b""),
    ("GET", "/health%3Fx", b""),
    ("GET", "/health%23x", b""),
    ("GET", "/health/", b""),
    ("GET", "/health//", b""),
    ("GET", "/nothing/%E2%82%AC", b""),
    ("POST", "/health", b""),
    ("PUT", "/health", b"x"),
    ("DELETE", "/api/v2/catalog", b""),
    ("TRACE", "/health", b""),
    ("BREW", "/health", b""),
    ("OPTIONS", "/api/v1/appstore/info", b""),
    ("OPTIONS", "/nothing", b""),
]


@pytest.mark.parametrize(("method", "target", "body"), REQUESTS, ids=lambda value: str(value)[:60])
def test_http_gives_the_stored_answer(root, client, method, target, body):
    request = client.build_request(method, target, content=body)
    answers = Answers(open_store(f"dir:{root}/.market"))
    expected = answers.respond(
        method, request.url.path, dict(request.url.params.multi_items()), body
    )
    reply = client.send(request)
    assert (reply.status_code, reply.content) == (expected.status, expected.body)
    for name, value in expected.headers.items():
        assert reply.headers[name] == value
    assert "content-encoding" not in reply.headers
    if method == "GET":
        head = client.head(target)
        assert (head.status_code, head.content) == (reply.status_code, b"")
        assert head.headers["content-length"] == str(len(reply.content))
        assert head.headers["content-type"] == reply.headers["content-type"]


@pytest.mark.parametrize(
    "target", ["/api/v1/appstore/info", f"/api/v2{CHART}{FILE}", f"/icons/{DEMO}.png"]
)
def test_an_etag_saves_the_body(client, target):
    first = client.get(target)
    etag = first.headers.get("etag")
    if etag is None:
        assert first.headers["cache-control"] == "no-store"
        return
    for given in (etag, f'"other", {etag}', f"W/{etag}"):
        again = client.get(target, headers={"if-none-match": given})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
    assert client.get(target, headers={"if-none-match": '"other"'}).status_code == 200


def test_errors_are_json(client):
    for target in ("/nothing", "/favicon.ico", "/index.html", f"/api/v1{CHART}?fileName=x"):
        reply = client.get(target)
        assert reply.status_code == 404
        assert reply.headers["content-type"].startswith("application/json")
        assert reply.json()


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 3_000_000])
def test_an_oversized_body_is_refused_with_an_answer(client, size):
    reply = client.post("/api/v1/applications/info", content=b"x" * size)
    assert reply.status_code == 413
    assert client.get("/health").status_code == 200


def test_a_client_that_goes_away_in_the_middle_harms_nobody(client, url):
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(
            b"POST /api/v1/applications/info HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"
        )
    assert client.get("/health").status_code == 200


def unmoved(headers: httpx.Headers) -> dict[str, str]:
    """Headers without the one that changes with every second."""
    return {name: value for name, value in headers.items() if name != "date"}


def test_the_page_lists_apps_and_the_address(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none';")
    assert "Demo Qwen One" in page.text
    assert "https://market.example.org</code>" in page.text
    assert unmoved(client.head("/").headers) == unmoved(page.headers)


def test_an_empty_market_is_served(tmp_path):
    with serving(f"dir:{tmp_path}/none") as url:
        assert httpx.get(f"{url}/health").json()["status"] == "empty"
        assert httpx.get(url).status_code == 503
        assert httpx.get(f"{url}/api/v1/appstore/hash").status_code != 200
        outcome = olapps("market", "sync", url, cwd=tmp_path)
        assert outcome.code == 1
        assert "the whole source is dropped" in outcome.err
    assert not (tmp_path / "none").exists()


def test_a_damaged_market_is_a_500_that_names_the_object(tmp_path):
    root = build_workspace(tmp_path)
    good("publish", cwd=root)
    (root / ".market/head.json").write_bytes(b"{")
    with serving(f"dir:{root}/.market") as url:
        reply = httpx.get(f"{url}/api/v1/appstore/hash")
        assert reply.status_code == 500
        assert "head.json" in reply.text
        assert "damaged" in httpx.get(url).text


def test_a_publish_shows_at_once(tmp_path):
    root = build_workspace(tmp_path)
    good("publish", cwd=root)
    with serving(f"dir:{root}/.market") as url:
        before = httpx.get(f"{url}/api/v1/appstore/hash").json()["hash"]
        edit(root / "apps/demo.yaml", ("ctx: 32768", "ctx: 16384"))
        good("publish", "--bump", "patch", cwd=root)
        assert httpx.get(f"{url}/api/v1/appstore/hash").json()["hash"] != before
        old = httpx.get(f"{url}/api/v1{CHART}{FILE}")
        assert old.content[:2] == b"\x1f\x8b"


@pytest.mark.parametrize("release", ["1.12.3", "1.12.6", "1.12.7-20260901"])
def test_a_device_sees_the_same_over_http_as_in_the_store(root, url, release):
    over_http, stored = (
        good("market", "sync", source, "--olares", release, "--output", "json", cwd=root).json
        for source in (url, f"dir:{root}/.market")
    )
    assert over_http.pop("source") == url
    assert stored.pop("source") == f"dir:{root}/.market"
    assert over_http == stored
    assert over_http["ok"]


def test_a_base_path_and_a_trailing_slash_are_kept_apart(root, url):
    good("market", "sync", f"{url}/", cwd=root)
    outcome = olapps("market", "sync", f"{url}/elsewhere", cwd=root)
    assert outcome.code == 1
    assert "404" in outcome.err


class TestCommand:
    def test_it_serves_until_interrupted(self, root):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        with subprocess.Popen(
            [OLAPPS, "market", "serve", "--port", str(port)],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            try:
                transport = httpx.HTTPTransport(retries=8)
                with httpx.Client(transport=transport) as client:
                    assert client.get(f"http://127.0.0.1:{port}/health").json()["apps"] == 2
                busy = olapps("market", "serve", "--port", port, cwd=root)
                assert busy.code == 2
                assert f"cannot listen on 127.0.0.1:{port}" in busy.err
            finally:
                running.send_signal(2)
            out, err = running.communicate(timeout=20)
        assert running.returncode == 130
        assert out == ""
        assert "Traceback" not in err
        assert f"http://127.0.0.1:{port}" in err

    def test_an_address_that_is_not_ours_is_an_error(self, root):
        outcome = olapps("market", "serve", "--host", "192.0.2.1", cwd=root)
        assert outcome.code == 2
        assert "192.0.2.1" in outcome.err

    def test_a_folder_of_another_tool_is_not_served(self, root, tmp_path):
        build_file_tree(tmp_path, {"index.html": "mine"})
        outcome = olapps("market", "serve", "--market", f"dir:{tmp_path}", cwd=root)
        assert outcome.code == 1
        assert "is not a market" in outcome.err
