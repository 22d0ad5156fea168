"""Image registries for tests: a loopback stand-in with faults, and Debian's real one.

Both speak the V2 API with the token flow; the stand-in takes scripts of faults per path as
:class:`FlakyHub` does.
"""

import base64
import contextlib
import hashlib
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from support.flaky_hub import Answer, FlakyHub, Request

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
BASIC = "Basic " + base64.b64encode(b"me:secret").decode()


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class ImageBlobs:
    """One image as its registry stores it: blobs, manifests by digest, and the top one."""

    def __init__(
        self,
        platforms: Mapping[str, Sequence[str]],
        *,
        as_index: bool = True,
        layer: bytes = b"layer",
    ) -> None:
        self.blobs: dict[str, bytes] = {digest_of(layer): layer}
        self.manifests: dict[str, tuple[str, bytes]] = {}
        entries: list[dict[str, Any]] = []
        for architecture, environment in platforms.items():
            config = json.dumps(
                {
                    "architecture": architecture,
                    "os": "linux",
                    "config": {"Env": list(environment)},
                    "rootfs": {"type": "layers", "diff_ids": []},
                }
            ).encode()
            self.blobs[digest_of(config)] = config
            manifest = {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": {"mediaType": CONFIG, "digest": digest_of(config), "size": len(config)},
                "layers": [{"mediaType": LAYER, "digest": digest_of(layer), "size": len(layer)}],
            }
            data = json.dumps(manifest).encode()
            self.manifests[digest_of(data)] = (MANIFEST, data)
            self.size = len(config) + len(layer)
            entries.append(
                {
                    "mediaType": MANIFEST,
                    "digest": digest_of(data),
                    "size": len(data),
                    "platform": {"architecture": architecture, "os": "linux"},
                }
            )
        if as_index:
            data = json.dumps(
                {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
            ).encode()
            self.manifests[digest_of(data)] = (INDEX, data)
        self.digest = next(reversed(self.manifests))

    @property
    def top(self) -> tuple[str, bytes]:
        return self.manifests[self.digest]


class FakeRegistry(FlakyHub):
    """A registry with token auth; ``private`` names need the user ``me``."""

    def __init__(self, *, private: Sequence[str] = ()) -> None:
        super().__init__()
        self._private = frozenset(private)

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def add_image(self, name: str, tag: str, image: ImageBlobs) -> None:
        self._types = getattr(self, "_types", {})
        for reference, (kind, data) in {**image.manifests, tag: image.top}.items():
            path = f"/v2/{name}/manifests/{reference}"
            self.serve(path, data)
            self._types[path] = kind
        for digest, data in image.blobs.items():
            self.serve(f"/v2/{name}/blobs/{digest}", data)

    def _answer_to(self, request: Request) -> tuple[Answer, bytes]:
        if request.path == "/token":
            return self._token(request)
        answer, content = super()._answer_to(request)
        if request.headers.get("authorization") not in ("Bearer anybody", "Bearer me"):
            name = request.path.removeprefix("/v2/").partition("/manifests")[0]
            challenge = (
                f'Bearer realm="{self.url}/token?name={name}",service="fake",'
                f'scope="repository:{name}:pull"'
            )
            return Answer(status=401, headers={"WWW-Authenticate": challenge}), b"{}"
        name = request.path.removeprefix("/v2/").rpartition("/")[0].rpartition("/")[0]
        if name in self._private and request.headers["authorization"] != "Bearer me":
            return Answer(status=403), b"{}"
        if answer.status is None and "manifests" in request.path:
            kind = self._types[request.path]
            headers = {
                "Content-Type": kind,
                "Docker-Content-Digest": digest_of(content),
                **answer.headers,
            }
            answer = replace(answer, headers=headers)
        return answer, content

    def _token(self, request: Request) -> tuple[Answer, bytes]:
        self.requests.append(request)
        script = self._scripts.get("/token")
        if script:
            answer = script.popleft()
            return answer, answer.body or b""
        given = request.headers.get("authorization")
        if given is None:
            return Answer(), b'{"token": "anybody"}'
        if given == BASIC:
            return Answer(), b'{"access_token": "me"}'
        return Answer(status=401), b"{}"


def write_docker_config(
    folder: Path, host: str, user: str = "me", password: str = "secret"
) -> Path:
    """Write a Docker config file with credentials for one registry."""
    folder.mkdir(parents=True, exist_ok=True)
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    path = folder / "config.json"
    path.write_text(json.dumps({"auths": {host: {"auth": auth}}}))
    return path


def real_registry_missing() -> str | None:
    """Say what a test with the real registry lacks, None when all is there."""
    for program in ("docker-registry", "openssl"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


class _Tokens:
    """The smallest token server: signs what is asked for, pushes only for the user ``me``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scopes: list[str] = []
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
                *("-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=test"),
            ],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        body = "".join(
            line
            for line in (folder / "cert.pem").read_text().splitlines()
            if not line.startswith("-")
        )
        self._header = _part({"typ": "JWT", "alg": "RS256", "x5c": [body]})
        tokens = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query)
                scope = query.get("scope", [""])[0]
                tokens.scopes.append(scope)
                may_push = self.headers.get("Authorization") == BASIC
                data = json.dumps({"token": tokens.sign(scope, may_push)}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Nothing to print."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/token"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def sign(self, scope: str, may_push: bool) -> str:
        kind, _, rest = scope.partition(":")
        name, _, actions = rest.rpartition(":")
        allowed = [item for item in actions.split(",") if item == "pull" or may_push]
        now = int(time.time())
        claims = {
            "iss": "test",
            "sub": "me" if may_push else "",
            "aud": "registry",
            "exp": now + 300,
            "nbf": now - 30,
            "iat": now,
            "jti": str(now),
            "access": [{"type": kind, "name": name, "actions": allowed}] if name else [],
        }
        signed = f"{self._header}.{_part(claims)}"
        signature = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", str(self.folder / "key.pem")],
            input=signed.encode(),
            check=True,
            capture_output=True,
        ).stdout
        return f"{signed}.{_base64url(signature)}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _part(document: Mapping[str, Any]) -> str:
    return _base64url(json.dumps(document).encode())


class RealRegistry:
    """Debian's docker-registry on loopback, behind a token server."""

    def __init__(self, host: str, tokens: _Tokens) -> None:
        self.host, self.tokens = host, tokens

    def push(self, name: str, tag: str, image: ImageBlobs) -> None:
        with httpx.Client(base_url=f"http://{self.host}") as client:
            token = self.tokens.sign(f"repository:{name}:pull,push", may_push=True)
            client.headers["Authorization"] = f"Bearer {token}"
            for digest, data in image.blobs.items():
                begun = client.post(f"/v2/{name}/blobs/uploads/").raise_for_status()
                place = httpx.URL(begun.headers["location"]).copy_merge_params({"digest": digest})
                client.put(
                    place, content=data, headers={"Content-Type": "application/octet-stream"}
                ).raise_for_status()
            for digest, (kind, data) in image.manifests.items():
                for reference in (digest, tag) if digest == image.digest else (digest,):
                    client.put(
                        f"/v2/{name}/manifests/{reference}",
                        content=data,
                        headers={"Content-Type": kind},
                    ).raise_for_status()


@contextlib.contextmanager
def real_registry(folder: Path) -> Iterator[RealRegistry]:
    """Run a real registry until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    tokens = _Tokens(folder)
    config = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": host, "secret": "test"},
        "auth": {
            "token": {
                "realm": tokens.url,
                "service": "registry",
                "issuer": "test",
                "rootcertbundle": str(folder / "cert.pem"),
            }
        },
    }
    (folder / "config.yml").write_text(json.dumps(config))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["docker-registry", "serve", str(folder / "config.yml")], stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"http://{host}/v2/").status_code == 401:
                    break
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, "the registry does not come up"
            time.sleep(0.05)
        yield RealRegistry(host, tokens)
    finally:
        process.terminate()
        process.wait(timeout=10)
        tokens.close()
