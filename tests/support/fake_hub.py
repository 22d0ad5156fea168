"""A loopback model hub with the answers that huggingface_hub asks for, and faults on request.

    with FakeHub() as hub:
        hub.add_repo("owner/name", {"model.gguf": content})
        Hub(endpoint=hub.url, ...)

Model files may be :class:`Sparse`: a header whose file claims its full size.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.flaky_hub import Answer, FlakyHub, Request, _Handler, file_url_path, refuse
from support.gguf_files import Shape, Tensor, gguf_header, metadata_of, model_source

# Read when huggingface_hub is imported: no request but the tests' own.
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_XET"] = "1"

COMMIT = "c0ffee" + "0" * 34
TOKEN = "hf_test_token"

# Headers and body leave in two packets: without this each answer waits for an acknowledgement.
_Handler.disable_nagle_algorithm = True


class Sparse:
    """Bytes that begin with ``head`` and go on with zeros up to ``size``."""

    def __init__(self, head: bytes, size: int) -> None:
        self.head, self.size = head, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, span: slice) -> bytes:
        start, end, _ = span.indices(self.size)
        assert end - start < 2**26, "a test reads a whole sparse file"
        found = self.head[start:end]
        return found + bytes(end - start - len(found))


def sparse_model(
    shape: Shape, head: str = "full", *, size: int | None = None, **types: Any
) -> Sparse:
    """A model of a real shape: its header, and a body that is not there."""
    source = model_source(shape, head, **types)
    return Sparse(source.read(0, 2**26), size or source.size)


@dataclass
class Repo:
    commit: str
    gated: bool
    private: bool


class FakeHub(FlakyHub):
    """The hub; ``script`` sets faults for any path, of the API too."""

    def __init__(self) -> None:
        super().__init__()
        self.repos: dict[str, Repo] = {}
        self.moved: dict[str, str] = {}

    def add_repo(
        self,
        repo: str,
        files: Mapping[str, bytes | Sparse],
        *,
        commit: str = COMMIT,
        branch: str = "main",
        gated: bool = False,
        private: bool = False,
        licence: str | None = "apache-2.0",
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """Add a repository with one commit; ``sizes`` makes the hub state other sizes."""
        self.repos[repo] = Repo(commit, gated, private)
        siblings: list[dict[str, Any]] = []
        for name, content in files.items():
            size = (sizes or {}).get(name, len(content))
            item: dict[str, Any] = {"rfilename": name, "size": size, "blobId": "0" * 40}
            if name.endswith((".gguf", ".safetensors")):
                item["lfs"] = {"sha256": digest(content), "size": size, "pointerSize": 133}
            siblings.append(item)
            for revision in (commit, branch):
                self._contents[file_url_path(repo, name, revision)] = content  # type: ignore[assignment]
        page = {
            "id": repo,
            "modelId": repo,
            "sha": commit,
            "private": private,
            "gated": "manual" if gated else False,
            "tags": ["gguf", *([f"license:{licence}"] if licence else [])],
            "createdAt": "2026-01-01T00:00:00.000Z",
            "lastModified": "2026-01-01T00:00:00.000Z",
            "siblings": siblings,
        }
        for path in (f"/api/models/{repo}", *self._revisions(repo, branch, commit)):
            self.serve(path, json.dumps(page).encode())

    @staticmethod
    def _revisions(repo: str, *revisions: str) -> list[str]:
        return [f"/api/models/{repo}/revision/{revision}" for revision in revisions]

    def move_repo(self, old: str, new: str) -> None:
        """Let the hub answer for ``old`` with a redirect to ``new``."""
        self.moved[old] = new

    def page(self, repo: str, revision: str = "main") -> str:
        """The API path that is asked for a repository."""
        return f"/api/models/{repo}/revision/{revision}"

    def _answer_to(self, request: Request) -> tuple[Answer, bytes]:
        answer, content = super()._answer_to(request)
        path = request.path
        is_api = path.startswith("/api/models/")
        owner_name = "/".join(path.removeprefix("/api/models").strip("/").split("/")[:2])
        if owner_name in self.moved:
            there = self.url + path.replace(owner_name, self.moved[owner_name])
            return Answer(status=307, headers={"Location": there}, body=b""), b""
        repo = self.repos.get(owner_name)
        if answer.status is not None and (not is_api or path in self._contents):
            return answer, content
        if is_api and repo is None:
            return refuse(401, x_error_code="RepoNotFound"), b"{}"
        if is_api and path not in self._contents:
            return refuse(404, x_error_code="RevisionNotFound"), b"{}"
        authorised = request.headers.get("authorization") == f"Bearer {TOKEN}"
        if repo and not authorised:
            if repo.private:
                return refuse(401, x_error_code="RepoNotFound"), b"{}"
            if repo.gated and not is_api:
                return refuse(401, x_error_code="GatedRepo"), b"{}"
        if answer.etag is None:
            answer = replace(answer, etag=f'"{digest(content)[:32]}"')
        return answer, content


@contextmanager
def hub_of_the_environment(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[FakeHub]:
    """Run a hub that commands find by the environment; caches and logins are below a folder."""
    with FakeHub() as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        monkeypatch.setenv("HF_TOKEN", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setenv("DOCKER_CONFIG", str(folder / "docker"))
        yield fake


def digest(content: bytes | Sparse) -> str:
    head = content.head if isinstance(content, Sparse) else content
    return hashlib.sha256(
        head + str(len(content)).encode() * isinstance(content, Sparse)
    ).hexdigest()


def split_model(shape: Shape, count: int, head: str = "full") -> dict[str, bytes | Sparse]:
    """A split model: metadata in the first part, the tensors dealt out over all."""
    from support.gguf_files import data_bytes, tensors_of

    tensors: list[Tensor] = tensors_of(shape, head)
    step = -(-len(tensors) // count)
    files: dict[str, bytes | Sparse] = {}
    for number in range(count):
        own = tensors[number * step : (number + 1) * step]
        keys: dict[str, Any] = metadata_of(shape, head) if number == 0 else {}
        keys |= {"split.no": number, "split.count": count, "split.tensors.count": len(tensors)}
        header = gguf_header(keys, own)
        size = len(header) + data_bytes(own)
        files[f"Demo-{number + 1:05}-of-{count:05}.gguf"] = Sparse(header, size)
    return files
