"""The model hub: which commit a revision is, which files it has, and their headers.

Metadata is read as ``huggingface_hub`` does, with its names, endpoint, token and mirrors, over
requests that are bounded in time and size; headers by HTTP ranges, because only the first
megabytes of a file are wanted.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from olares_apps.errors import FetchError, UsageError
from olares_apps.fit.gguf_facts import FactsError, GgufFacts, facts_of
from olares_apps.fit.gguf_header import read_header
from olares_apps.fit.gguf_shards import merge_shards, missing_shards, shard_names
from olares_apps.lock.apply import is_commit
from olares_apps.lock.cache import DAMAGED, Cache
from olares_apps.lock.errors import (
    HubFailed,
    ModelFileMissing,
    Offline,
    RepoGated,
    RepoMissing,
    RepoMoved,
    RevisionMissing,
    ShardsMissing,
)
from olares_apps.lock.network import Network
from olares_apps.lock.ranges import RemoteFile

if TYPE_CHECKING:
    import httpx

__all__ = ["DEFAULT_ENDPOINT", "Hub", "RepoFacts"]

DEFAULT_ENDPOINT: Final = "https://huggingface.co"
_INDEX: Final = ".safetensors.index.json"
# What the hub says to a token that it does not know, under the status of a private repository.
_UNKNOWN_CREDENTIALS: Final = "Invalid credentials in Authorization header"
# Most headers are smaller than the first; the format's own limit is the second (bytes).
_SAFETENSORS_START: Final = 128 * 1024
_SAFETENSORS_MOST: Final = 100 * 10**6


@dataclass(frozen=True, slots=True)
class RepoFacts:
    """A repository at one commit; ``files`` maps a path to its size (bytes) and sha256."""

    repo: str
    commit: str
    gated: bool
    licence: str | None
    files: Mapping[str, tuple[int, str | None]]

    def ggufs(self) -> dict[str, int]:
        """Return the GGUF files and their sizes in bytes, by name."""
        return {name: size for name, (size, _) in sorted(self.files.items()) if _is_gguf(name)}


def _is_gguf(name: str) -> bool:
    return name.endswith(".gguf")


class Hub:
    """Asks one model hub; safe to use from several threads.

    ``endpoint`` is the hub or a mirror of it; ``token`` is only ever sent to that host.
    Raises UsageError for an endpoint that is no address or holds a user name.
    """

    def __init__(
        self,
        *,
        cache: Cache,
        endpoint: str | None = None,
        token: str | None = None,
        network: Network | None = None,
        offline: bool = False,
    ) -> None:
        self.endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")
        # It would end up in lock files, which are committed; a message must not show it either.
        if "@" in self.endpoint:
            raise UsageError(
                "HF_ENDPOINT holds a user name or password", hint="put the token into HF_TOKEN"
            )
        if "?" in self.endpoint or "#" in self.endpoint:
            raise UsageError(
                "HF_ENDPOINT holds more than an address",
                hint="write it without what stands behind ? or #; a token belongs into HF_TOKEN",
            )
        if not _is_address(self.endpoint):
            raise UsageError(
                f"HF_ENDPOINT {self.endpoint!r} is no address", hint="write https://HOST"
            )
        self._given_token = token
        self._cache, self._offline = cache, offline
        self._network = network or Network()
        self._network.failure = HubFailed
        self._read: dict[tuple[str, str], int] = {}

    @property
    def token(self) -> str | None:
        """Return the token that is sent: the given one, else that of huggingface_hub.

        Raises UsageError for a text that cannot be sent.
        """
        token = self._given_token
        if token is None:
            from huggingface_hub import get_token

            token = get_token()
        if token and not (token.isascii() and token.isprintable()):
            raise UsageError(
                "HF_TOKEN holds characters that no token has", hint="copy the token again"
            )
        return token

    @property
    def _secret(self) -> dict[str, str]:
        token = self.token
        return {"Authorization": f"Bearer {token}"} if token else {}

    def repo(self, repo: str, revision: str) -> RepoFacts:
        """Return what the hub says about a repository at a branch, tag or commit.

        Raises RepoMissing, RepoGated, RepoMoved, RevisionMissing, HubFailed, TooManyRequests
        or Offline.
        """
        _check_name(repo)
        key = (self.endpoint, repo, revision)
        if (self._offline or is_commit(revision)) and (kept := self._cache.get("repo", *key)):
            with suppress(*DAMAGED):
                return _repo_facts(kept)
        if self._offline:
            raise Offline(f"{repo} at {revision}")
        facts = self._ask(repo, revision)
        for name in {revision, facts.commit}:
            self._cache.put("repo", self.endpoint, repo, name, value=asdict(facts))
        return facts

    def parts(self, facts: RepoFacts, file: str) -> tuple[str, ...]:
        """Return the files behind the one that a spec names: parts, or an index and its shards.

        Raises ModelFileMissing with a suggestion, or ShardsMissing.
        """
        names = (file, *self._index_shards(facts, file)) if file.endswith(_INDEX) else None
        if names is None:
            names = shard_names(file)
        if not any(name in facts.files for name in names):
            raise ModelFileMissing(facts.repo, file, facts.commit[:12], facts.files)
        missing = [name for name in names if name not in facts.files]
        if missing:
            labels = missing_shards(file, facts.files) if _is_gguf(file) else missing
            raise ShardsMissing(facts.repo, file, facts.commit[:12], labels)
        return tuple(dict.fromkeys(names))

    def gguf(self, facts: RepoFacts, file: str) -> GgufFacts:
        """Return the header facts of a GGUF file, all parts read.

        Raises GgufError for a file that is none, and what :meth:`parts` and the reading of
        ranges raise.
        """
        key = (facts.repo, facts.commit, file)
        names = self.parts(facts, file)
        if kept := self._cache.get("gguf", self.endpoint, *key):
            # Kept by another version, or damaged: the facts are fetched again.
            with suppress(FactsError, *DAMAGED):
                known = GgufFacts.from_dict(kept)
                if known.file_size == sum(facts.files[name][0] for name in names):
                    return known
        if self._offline:
            raise Offline(f"the header of {file}")
        headers = [read_header(self._source(facts, name), first_chunk=2**20) for name in names]
        found = facts_of(merge_shards(headers))
        self._cache.put("gguf", self.endpoint, *key, value=found.to_dict())
        self._read[facts.repo, file] = sum(header.bytes_fetched for header in headers)
        return found

    def bytes_read(self, repo: str, file: str) -> int:
        """Return how many bytes of a file, all its parts together, were fetched so far.

        Zero for what the cache had.
        """
        return self._read.get((repo, file), 0)

    def document(self, facts: RepoFacts, file: str) -> dict[str, Any]:
        """Return a small JSON file of the repository; raises HubFailed when it is none."""
        key = (facts.repo, facts.commit, file)
        kept = self._cache.get("document", self.endpoint, *key)
        if kept is not None:
            with suppress(*DAMAGED):
                return dict(kept)
        if self._offline:
            raise Offline(f"{file} of {facts.repo}")
        address = self._address(facts, file)
        answer = self._network.fetch(address, {}, self._secret)
        if answer.status_code != 200:
            raise self._refusal(facts, file)(answer)
        try:
            found = json.loads(answer.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise HubFailed(f"{address} is no JSON document")
        self._cache.put("document", self.endpoint, *key, value=found)
        self._read[facts.repo, file] = len(answer.content)
        return found

    def tensors(self, facts: RepoFacts, file: str) -> tuple[str, ...]:
        """Return the names of the tensors of a safetensors file, or of an index of several.

        Raises HubFailed for a file that is neither, and what reading ranges raises.
        """
        if file.endswith(_INDEX):
            return tuple(self.document(facts, file).get("weight_map", ()))
        key = (facts.repo, facts.commit, file)
        if kept := self._cache.get("safetensors", self.endpoint, *key):
            with suppress(*DAMAGED):
                return tuple(kept)
        if self._offline:
            raise Offline(f"the header of {file}")
        if file not in facts.files:
            raise ModelFileMissing(facts.repo, file, facts.commit[:12], facts.files)
        header = self._safetensors_header(facts, file)
        names = sorted(name for name in header if name != "__metadata__")
        self._cache.put("safetensors", self.endpoint, *key, value=names)
        return tuple(names)

    def _safetensors_header(self, facts: RepoFacts, file: str) -> dict[str, Any]:
        """Read eight bytes of length and then that much JSON (the safetensors format)."""
        source = self._source(facts, file)
        start = source.read(0, min(_SAFETENSORS_START, source.size))
        length = int.from_bytes(start[:8], "little")
        if len(start) < 8 or length > min(_SAFETENSORS_MOST, source.size - 8):
            raise HubFailed(f"{file} of {facts.repo} is no safetensors file")
        rest = length + 8 - len(start)
        data = start[8 : length + 8]
        if rest > 0:
            data += source.read(len(start), rest)
        self._read[facts.repo, file] = len(start) + max(rest, 0)
        try:
            header = json.loads(data)
        except (ValueError, RecursionError):
            header = None
        if not isinstance(header, dict):
            raise HubFailed(f"{file} of {facts.repo} is no safetensors file")
        return header

    def _index_shards(self, facts: RepoFacts, file: str) -> list[str]:
        if file not in facts.files:
            raise ModelFileMissing(facts.repo, file, facts.commit[:12], facts.files)
        names = self.document(facts, file).get("weight_map")
        if not isinstance(names, dict) or not all(isinstance(item, str) for item in names.values()):
            raise HubFailed(f"{file} of {facts.repo} is no safetensors index")
        folder = file.rpartition("/")[0]
        return sorted({f"{folder}/{item}" if folder else item for item in names.values()})

    def _source(self, facts: RepoFacts, file: str) -> RemoteFile:
        return RemoteFile(
            self._network,
            self._address(facts, file),
            facts.files[file][0],
            token=self.token,
            refused=self._refusal(facts, file),
        )

    def _address(self, facts: RepoFacts, file: str) -> str:
        return f"{self.endpoint}/{facts.repo}/resolve/{facts.commit}/{quote(file)}"

    def _refusal(self, facts: RepoFacts, file: str) -> "Callable[[httpx.Response], FetchError]":
        def refused(response: "httpx.Response") -> FetchError:
            status, host = response.status_code, response.url.host
            if host != urlsplit(self.endpoint).hostname:
                return HubFailed(
                    f"{host}, where {self.endpoint} sends for {file} of {facts.repo}, "
                    f"answers {status}",
                    hint="run the command again; a proxy or firewall may stand before that host",
                )
            if status in (401, 403):
                code = response.headers.get("x-error-code")
                if facts.gated or code == "GatedRepo":
                    return RepoGated(facts.repo, has_token=bool(self.token))
                return HubFailed(
                    f"{self.endpoint} shows {facts.repo} and refuses {file} ({status})",
                    hint="set HF_TOKEN, or another one; its owner may have to grant access",
                )
            if status == 404 and file not in facts.files:
                return ModelFileMissing(facts.repo, file, facts.commit[:12], facts.files)
            if status == 404:
                return HubFailed(
                    f"{self.endpoint} lists {file} of {facts.repo} and does not have it",
                    hint="run the command again; a mirror may hold only a part of the files",
                )
            return HubFailed(f"{self._address(facts, file)} answers {status}")

        return refused

    def _ask(self, repo: str, revision: str) -> RepoFacts:
        """Read the hub's page of a repository: bounded like every other answer."""
        address = f"{self.endpoint}/api/models/{repo}/revision/{quote(revision, safe='')}"
        answer = self._network.fetch(f"{address}?blobs=true", {}, self._secret)
        if answer.status_code != 200:
            raise self._no_page(answer, repo, revision)
        try:
            return self._described(repo, _model_info(answer.json()))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise HubFailed(
                f"{self.endpoint} answers for {repo} with something that is no model page",
                hint="check HF_ENDPOINT: a login page may stand before the hub",
            ) from error

    def _no_page(self, answer: "httpx.Response", repo: str, revision: str) -> FetchError:
        status, code = answer.status_code, answer.headers.get("x-error-code", "")
        if answer.headers.get("x-error-message", "") == _UNKNOWN_CREDENTIALS:
            return HubFailed(
                f"{self.endpoint} refuses the token", hint="set another HF_TOKEN, or none"
            )
        if code == "GatedRepo":
            return RepoGated(repo, has_token=bool(self.token))
        if code == "RevisionNotFound":
            return RevisionMissing(repo, revision)
        if code == "RepoNotFound" or status == 401:
            return RepoMissing(repo)
        return HubFailed(
            f"{self.endpoint} answers {status} for {repo}",
            hint="check HF_ENDPOINT, and that a proxy or firewall lets the request through",
        )

    def _described(self, repo: str, info: Any) -> RepoFacts:
        if info.id != repo:
            raise RepoMoved(repo, info.id)
        if not isinstance(info.sha, str) or not is_commit(info.sha):
            raise ValueError("no commit")
        files = {
            item.rfilename: (item.size, item.lfs.sha256 if item.lfs else None)
            for item in info.siblings or ()
            if isinstance(item.size, int)
        }
        return RepoFacts(repo, info.sha, bool(info.gated), _licence(info), files)


def _model_info(data: dict[str, Any]) -> Any:
    from huggingface_hub import ModelInfo

    made: Callable[..., Any] = ModelInfo
    return made(**data)


def _check_name(repo: str) -> None:
    """Raise RepoMissing for a name that the hub gives to no repository."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(repo)
    except HFValidationError:
        raise RepoMissing(
            repo,
            f"{repo!r} is no name of a model repository",
            "write OWNER/NAME, as the hub shows it",
        ) from None


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _licence(info: Any) -> str | None:
    stated = info.card_data.get("license") if info.card_data else None
    if isinstance(stated, str):
        return stated
    tags = (tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:"))
    return next(tags, None)


def _repo_facts(kept: Mapping[str, Any]) -> RepoFacts:
    files = {name: (size, digest) for name, (size, digest) in kept["files"].items()}
    return RepoFacts(kept["repo"], kept["commit"], kept["gated"], kept["licence"], files)
