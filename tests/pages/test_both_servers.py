"""The Python server and the Worker serve the same pages with the same headers."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.market import MemoryStore
from support.pages import build_listing, build_page_candidate
from support.serving import serving
from support.worker import build_bundle, require_worker, running

from olares_apps.market.http_store import HttpStore
from olares_apps.market.mirror import mirror
from olares_apps.market.publish import publish

PATHS = ("/", "/leaderboard", "/apps/demoalpha", "/share/demoalpha.png", "/icons/demoalpha.png")
LISTED = ("/apps/demolisted", "/share/demolisted.png", "/icons/demolisted.png")
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
    """Publish to the Worker; the local store mirrors it, pages name the address they came to."""
    require_worker()
    folder: Path = tmp_path_factory.mktemp("worker")
    local = MemoryStore()
    with running(build_bundle(folder), folder / "state") as worker:
        remote: HttpStore = worker.store()
        candidates = [build_page_candidate("demoalpha"), build_page_candidate("demobravo")]
        publish(remote, candidates, publisher="tests")
        publish(remote, [build_listing()], publisher="tests")
        mirror(remote, local)
        with serving(local) as url:
            yield url, worker.url


@pytest.mark.parametrize("path", PATHS + LISTED)
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
def test_both_say_alike_that_there_is_no_such_page(addresses, path):
    here, there = (httpx.get(f"{url}{path}", trust_env=False) for url in addresses)
    assert (here.status_code, there.status_code) == (404, 404)
    assert here.content == there.content
    assert here.headers["content-type"] == there.headers["content-type"]
    if path.startswith("/apps/"):
        assert "text/html" in here.headers["content-type"]
        assert '<a href="/">' in here.text
    else:
        assert "error" in here.json()


def test_neither_shows_a_device_what_cannot_be_installed(addresses):
    for url in addresses:
        seen = httpx.get(f"{url}/api/v2/applications", trust_env=False).json()
        assert [item["name"] for item in seen["data"]["items"]] == ["demoalpha", "demobravo"]
        chart = f"{url}/api/v1/applications/demolisted/chart?fileName=demolisted-1.0.0.tgz"
        assert httpx.get(chart, trust_env=False).status_code == 404


def test_a_page_names_the_address_that_it_was_published_to(addresses):
    _, worker = addresses
    for path in ("/", "/apps/demoalpha"):
        assert f">{worker}</code>" in httpx.get(f"{worker}{path}", trust_env=False).text
