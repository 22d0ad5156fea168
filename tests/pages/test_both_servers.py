"""The Python server and the Worker serve the same pages with the same headers."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.market import MemoryStore
from support.pages import build_page_candidate
from support.serving import serving
from support.worker import build_bundle, require_worker, running

from olares_apps.market.http_store import HttpStore
from olares_apps.market.publish import publish

PATHS = ("/", "/leaderboard", "/apps/demoalpha", "/share/demoalpha.png", "/icons/demoalpha.png")
ABSENT = ("/apps/demonone", "/share/demonone.png", "/apps/", "/apps/demoalpha/x")
HEADERS = (
    "access-control-allow-origin",
    "cache-control",
    "content-length",
    "content-security-policy",
    "content-type",
    "etag",
    "referrer-policy",
    "x-content-type-options",
)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory) -> Iterator[tuple[str, str]]:
    """Publish the same apps to both; the Worker's store mirrors what the local one holds."""
    require_worker()
    folder: Path = tmp_path_factory.mktemp("worker")
    local = MemoryStore()
    with running(build_bundle(folder), folder / "state") as worker:
        remote: HttpStore = worker.store()
        candidates = [build_page_candidate("demoalpha"), build_page_candidate("demobravo")]
        for store in (local, remote):
            publish(store, candidates, publisher="tests")
        with serving(local) as url:
            yield url, worker.url


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_both_give_the_same_page_with_the_same_headers(addresses, method, path):
    plain = {"accept-encoding": "identity"}
    here, there = (
        httpx.request(method, f"{url}{path}", headers=plain, trust_env=False) for url in addresses
    )
    assert here.status_code == there.status_code == 200
    assert here.content == there.content
    assert {k: here.headers.get(k) for k in HEADERS} == {k: there.headers.get(k) for k in HEADERS}


@pytest.mark.parametrize("path", PATHS)
def test_both_save_the_body_of_a_page_that_is_known(addresses, path):
    for url in addresses:
        etag = httpx.head(f"{url}{path}", trust_env=False).headers["etag"]
        again = httpx.get(f"{url}{path}", headers={"if-none-match": etag}, trust_env=False)
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ABSENT)
def test_both_say_in_json_that_there_is_no_such_page(addresses, path):
    for url in addresses:
        reply = httpx.get(f"{url}{path}", trust_env=False)
        assert reply.status_code == 404
        assert "error" in reply.json()
