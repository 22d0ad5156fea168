"""CI publishes without a secret: tokens that a provider on this machine has signed."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest
from support.market import build_candidate, hands
from support.worker import Worker, run_tool, running

from olares_apps.errors import MarketError
from olares_apps.market.http_store import HttpStore
from olares_apps.market.publish import publish
from olares_apps.market.retreat import remove

AUDIENCE, REPOSITORY, REF = "https://market.example", "me/market", "refs/heads/main"
FIRST = build_candidate("demoalpha", "1.0.0")


@contextmanager
def _provider(keys: bytes) -> Iterator[tuple[str, list[str]]]:
    """Serve public keys; yield their address and the requests that came."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("content-length", str(len(keys)))
            self.end_headers()
            self.wfile.write(keys)

        def log_message(self, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/jwks", asked
        finally:
            server.shutdown()


def _store(worker: Worker, token: str) -> HttpStore:
    worker.clients.append(httpx.Client(timeout=60))
    return HttpStore(worker.clients[-1], worker.url, token=token)


def test_a_signed_token_publishes_as_far_as_its_rule_goes_and_shows_in_no_log(
    bundle: Path, tmp_path: Path
) -> None:
    good = {
        "iss": "https://issuer.example",
        "aud": AUDIENCE,
        "repository": REPOSITORY,
        "ref": REF,
        "exp": int(time.time()) + 300,
    }
    claims = [good, good | {"ref": "refs/heads/other"}, good | {"exp": int(time.time()) - 300}]
    signed = json.loads(run_tool("test/sign.mjs", json.dumps(claims)).stdout)
    allowed, elsewhere, expired = signed["tokens"]
    with _provider(json.dumps(signed["keys"]).encode()) as (address, asked):
        oidc = {
            "audience": AUDIENCE,
            "issuer": good["iss"],
            "jwks": address,
            "rules": [{"repository": REPOSITORY, "ref": REF, "scopes": ["publish"]}],
        }
        with running(bundle, tmp_path / "state", tokens=(), oidc=oidc) as worker:
            made = hands()
            report = publish(_store(worker, allowed), [FIRST], publisher="ci", hands=made)
            assert report.changed
            with pytest.raises(MarketError, match="may not rollback"):
                remove(_store(worker, allowed), ["demoalpha"], publisher="ci", hands=made)
            update = build_candidate("demoalpha", "1.0.2", image="b2")
            for token, reason in ((elsewhere, "no rule lets me/market"), (expired, "it expired")):
                with pytest.raises(MarketError, match=reason):
                    publish(_store(worker, token), [update], publisher="ci", hands=made)
    assert asked == ["/jwks"]
    for token in signed["tokens"]:
        assert not any(part in worker.log for part in token.split("."))
