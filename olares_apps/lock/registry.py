"""Image registries by the V2 API: does an image exist, for what, how large, which CUDA.

Source: the OCI distribution specification 1.1, and the token flow of the distribution project
(``WWW-Authenticate: Bearer realm, service, scope``). Only manifests and configurations are
fetched, never layers.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

from olares_apps.errors import FetchError, nearest
from olares_apps.lock.cache import DAMAGED, Cache
from olares_apps.lock.errors import ImageDenied, ImageMissing, Offline, RegistryFailed
from olares_apps.lock.image_name import ImageName, parse_image
from olares_apps.lock.network import Network

if TYPE_CHECKING:
    import httpx

__all__ = ["ImageFacts", "PlatformFacts", "Registry"]

_INDEXES: Final = frozenset(
    {
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    }
)
_MANIFESTS: Final = frozenset(
    {
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    }
)
_ACCEPT: Final = ", ".join(sorted(_INDEXES | _MANIFESTS))
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_CHALLENGE: Final = re.compile(r'(\w+)="([^"]*)"')
_CUDA: Final = re.compile(r"\d{1,2}\.\d{1,2}(?:\.\d{1,3})?")
_REQUIRED: Final = re.compile(r"cuda>=(\d{1,2}\.\d{1,2})")
# Another name whenever other facts are read out of an image: what was kept before is not those.
_KEPT_AS: Final = "image-by-index"
_MOST_PLATFORMS: Final = 64
_MOST_TAGS: Final = 1000

Credentials = Callable[[ImageName], tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """One architecture: ``size`` is bytes to download, ``cuda`` the declared version."""

    architecture: str
    digest: str
    size: int
    cuda: str | None


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """An image: what its tag stands for, and its architectures in alphabetical order."""

    image: str
    host: str
    digest: str
    platforms: tuple[PlatformFacts, ...]


class Registry:
    """Asks registries; safe to use from several threads."""

    def __init__(
        self,
        *,
        cache: Cache,
        credentials: Credentials = lambda name: None,
        network: Network | None = None,
        offline: bool = False,
    ) -> None:
        self._cache, self._credentials, self._offline = cache, credentials, offline
        self._network = network or Network()
        self._network.failure = RegistryFailed

    def image(self, image: str) -> ImageFacts:
        """Return the facts of an image.

        Raises ImageMissing, ImageDenied, RegistryFailed, TooManyRequests, Offline, or
        UsageError for a reference without a registry.
        """
        name = parse_image(image)
        is_pinned = name.reference.startswith("sha256:")
        if (self._offline or is_pinned) and (kept := self._cache.get(_KEPT_AS, image)):
            with suppress(*DAMAGED):
                platforms = tuple(PlatformFacts(**item) for item in kept["platforms"])
                return ImageFacts(kept["image"], kept["host"], kept["digest"], platforms)
        if self._offline:
            raise Offline(f"the image {image}")
        facts = _Visit(self._network, name, self._credentials(name)).facts()
        self._cache.put(_KEPT_AS, image, value=asdict(facts))
        return facts


class _Visit:
    """Requests for one image, with the token that the registry gave for it."""

    def __init__(
        self, network: Network, name: ImageName, credentials: tuple[str, str] | None
    ) -> None:
        self._network, self._name, self._credentials = network, name, credentials
        self._authorization: str | None = None

    def facts(self) -> ImageFacts:
        try:
            digest, kind, top = self._manifest(self._name.reference)
        except ImageMissing:
            raise ImageMissing(self._name.image, self._near_tag()) from None
        if kind in _INDEXES:
            listed = [item for item in _list(top, "manifests") if _is_runnable(item)]
            found = [self._platform(item) for item in listed[:_MOST_PLATFORMS]]
        else:
            found = [self._described(digest, top, {})]
        if not found:
            raise RegistryFailed(f"the image {self._name.image} has no Linux manifest")
        platforms = tuple(sorted(found, key=lambda item: (item.architecture, item.digest)))
        return ImageFacts(self._name.image, self._name.host, digest, platforms)

    def _near_tag(self) -> str | None:
        """Return the tag that the image has and that looks most like the wanted one."""
        wanted = self._name.reference
        if wanted.startswith("sha256:"):
            return None
        try:
            answer = self._get(f"tags/list?n={_MOST_TAGS}", "application/json")
            listed = json.loads(answer.content).get("tags")
        except (FetchError, ValueError, AttributeError, RecursionError):
            return None  # the answer to the question is known; this would only have helped
        tags = [tag for tag in listed if isinstance(tag, str)] if isinstance(listed, list) else []
        bare = wanted.removeprefix("v")
        return next((tag for tag in (bare, f"v{bare}") if tag in tags), nearest(wanted, tags))

    def _platform(self, item: Mapping[str, Any]) -> PlatformFacts:
        digest, kind, manifest = self._manifest(str(item.get("digest")))
        if kind in _INDEXES:
            raise RegistryFailed(f"the image {self._name.image} nests one index in another")
        listed = item.get("platform")
        return self._described(digest, manifest, listed if isinstance(listed, dict) else {})

    def _described(
        self, digest: str, manifest: Mapping[str, Any], listed: Mapping[str, Any]
    ) -> PlatformFacts:
        """Read the configuration that a manifest names: architecture and environment.

        ``listed`` is the platform under which an index lists the manifest. It wins: a device
        chooses by it and does not look into the configuration before it starts.
        """
        stated = manifest.get("config")
        if not isinstance(stated, dict) or not _DIGEST.fullmatch(str(stated.get("digest"))):
            raise RegistryFailed(f"the image {self._name.image} names no configuration")
        answer = self._get(f"blobs/{stated['digest']}", "application/json")
        config = _document(answer.content, stated["digest"], self._name.image)
        layers = _list(manifest, "layers")
        size = sum(_size(item) for item in (stated, *layers))
        settings = config.get("config")
        return PlatformFacts(
            self._architecture(listed if listed.get("architecture") else config),
            digest,
            size,
            declared_cuda(settings.get("Env") if isinstance(settings, dict) else None),
        )

    def _architecture(self, platform: Mapping[str, Any]) -> str:
        """Return ``amd64`` or ``arm/v7``; raises RegistryFailed where no Linux runs."""
        architecture, system = platform.get("architecture"), platform.get("os", "linux")
        if system != "linux" or not isinstance(architecture, str) or architecture == "unknown":
            raise RegistryFailed(
                f"{self._name.image} is no image for Linux: it is for "
                f"{_shown(system)}/{_shown(architecture)}",
                hint="name the digest of an image, not that of an attestation or a signature",
            )
        variant = platform.get("variant")
        if not variant or (architecture, variant) == ("arm64", "v8"):
            return architecture
        return f"{architecture}/{variant}"

    def _manifest(self, reference: str) -> tuple[str, str, Mapping[str, Any]]:
        """Return digest, media type and content of a manifest."""
        if reference.startswith("sha256:") and not _DIGEST.fullmatch(reference):
            raise RegistryFailed(f"{reference!r} is no digest")
        answer = self._get(f"manifests/{reference}", _ACCEPT)
        actual = "sha256:" + sha256(answer.content).hexdigest()
        stated = answer.headers.get("docker-content-digest", actual)
        wanted = reference if reference.startswith("sha256:") else stated
        if actual != stated or actual != wanted:
            raise RegistryFailed(
                f"{self._name.host} sends a manifest of {self._name.image} with another digest",
                hint="a proxy may have changed it: run the command again",
            )
        document = _document(answer.content, actual, self._name.image)
        kind = document.get("mediaType") or answer.headers.get("content-type", "").partition(";")[0]
        if not isinstance(kind, str) or kind not in _INDEXES | _MANIFESTS:
            raise RegistryFailed(f"the image {self._name.image} is of the unknown kind {kind}")
        return actual, str(kind), document

    def _get(self, what: str, accept: str) -> "httpx.Response":
        address = f"{self._name.base}/v2/{self._name.path}/{what}"
        answer = self._send(address, accept)
        if answer.status_code == 401 and self._authorization is None:
            self._authorization = self._authorise(answer.headers.get("www-authenticate", ""))
            answer = self._send(address, accept)
        if answer.status_code == 404:
            raise ImageMissing(self._name.image)
        if answer.status_code in (401, 403):
            raise ImageDenied(self._name.image, has_credentials=self._credentials is not None)
        if answer.status_code != 200:
            raise RegistryFailed(f"{address} answers {answer.status_code}")
        return answer

    def _send(self, address: str, accept: str) -> "httpx.Response":
        secret = {"Authorization": self._authorization} if self._authorization else {}
        return self._network.fetch(address, {"Accept": accept}, secret)

    def _authorise(self, challenge: str) -> str:
        """Answer a 401: with stored credentials, or with a token that anybody gets."""
        scheme = challenge.partition(" ")[0].casefold()
        if scheme == "basic" and self._credentials:
            return self._basic()
        asked = dict(_CHALLENGE.findall(challenge))
        realm = urlsplit(asked.get("realm", ""))
        if scheme != "bearer" or realm.scheme not in ("http", "https") or not realm.hostname:
            raise ImageDenied(self._name.image, has_credentials=self._credentials is not None)
        is_safe = realm.scheme == "https" or self._name.base.startswith("http:")
        query = {"scope": asked.get("scope") or f"repository:{self._name.path}:pull"}
        if "service" in asked:
            query["service"] = asked["service"]
        joint = "&" if realm.query else "?"
        address = f"{asked['realm']}{joint}{urlencode(query)}"
        secret = {"Authorization": self._basic()} if self._credentials and is_safe else {}
        answer = self._network.fetch(address, {}, secret)
        if answer.status_code in (400, 401, 403):
            raise ImageDenied(self._name.image, has_credentials=self._credentials is not None)
        try:
            found = json.loads(answer.content)
            token = found.get("token") or found.get("access_token")
        except (ValueError, AttributeError, RecursionError):
            token = None
        is_token = isinstance(token, str) and token.isascii() and token.isprintable()
        if answer.status_code != 200 or not is_token:
            raise RegistryFailed(f"{realm.hostname} gives no token for {self._name.image}")
        return f"Bearer {token}"

    def _basic(self) -> str:
        pair = ":".join(self._credentials or ()).encode()
        return "Basic " + base64.b64encode(pair).decode()


def declared_cuda(environment: object) -> str | None:
    """Return the CUDA version of an image's environment: CUDA_VERSION, else NVIDIA's demand."""
    if not isinstance(environment, list):
        return None
    values = dict(
        item.split("=", 1) for item in environment if isinstance(item, str) and "=" in item
    )
    if found := _CUDA.match(values.get("CUDA_VERSION", "")):
        return found[0]
    required = _REQUIRED.search(values.get("NVIDIA_REQUIRE_CUDA", ""))
    return required[1] if required else None


def _is_runnable(item: Mapping[str, Any]) -> bool:
    """Return whether an entry is for Linux, and no signature or attestation."""
    platform = item.get("platform")
    if not isinstance(platform, dict):
        return True
    return platform.get("os") == "linux" and platform.get("architecture") != "unknown"


def _list(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = document.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _shown(value: object) -> str:
    is_word = isinstance(value, str) and value.isascii() and value.isprintable()
    return str(value)[:32] if value and is_word else "unknown"


def _size(item: Mapping[str, Any]) -> int:
    size = item.get("size")
    return size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else 0


def _document(content: bytes, digest: str, image: str) -> Mapping[str, Any]:
    if "sha256:" + sha256(content).hexdigest() != digest:
        raise RegistryFailed(f"a part of the image {image} has another digest than stated")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RegistryFailed(f"a manifest of the image {image} is no JSON document")
    return found
