"""Image references taken apart, and the credentials that Docker keeps for their registries."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from olares_apps.errors import UsageError

__all__ = ["ImageName", "docker_config", "parse_image", "stored_credentials"]

# The public registry has three names: in references, for requests and in Docker's config file.
_DOCKER_HUB: Final = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})
_DOCKER_HOST: Final = "registry-1.docker.io"
_DOCKER_KEY: Final = "https://index.docker.io/v1/"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class ImageName:
    """An image: ``host`` to ask, ``path`` there, and the tag or digest that is wanted."""

    image: str
    host: str
    path: str
    reference: str

    @property
    def base(self) -> str:
        """Return the address of the registry; only a loopback registry is asked without TLS."""
        scheme = "http" if self.host.rpartition(":")[0] in _LOOPBACK else "https"
        return f"{scheme}://{self.host}"

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the names under which Docker's config file may hold credentials for it."""
        if self.host == _DOCKER_HOST:
            return (_DOCKER_KEY, "docker.io", "index.docker.io", _DOCKER_HOST)
        return (self.host, f"https://{self.host}", f"https://{self.host}/v2/")


def parse_image(image: str) -> ImageName:
    """Take a reference with a registry apart; raises UsageError for one without."""
    name, _, digest = image.partition("@")
    host, slash, rest = name.partition("/")
    path, colon, tag = rest.rpartition(":")
    if not colon:
        path, tag = rest, ""
    if not slash or not path:
        raise UsageError(
            f"image {image!r} names no registry", hint="write docker.io/owner/name:tag"
        )
    if host in _DOCKER_HUB:
        host = _DOCKER_HOST
        path = path if "/" in path else f"library/{path}"
    return ImageName(image, host, path, digest or tag or "latest")


def docker_config(environ: Mapping[str, str], home: Path) -> Path:
    """Return Docker's config file: in ``$DOCKER_CONFIG``, else in ``~/.docker``."""
    folder = environ.get("DOCKER_CONFIG")
    return (Path(folder) if folder else home / ".docker") / "config.json"


def stored_credentials(config: Path, name: ImageName) -> tuple[str, str] | None:
    """Return user and password that Docker's config file holds for a registry, if any.

    Credentials behind a helper program are not looked up; a file that cannot be read counts
    as empty.
    """
    try:
        auths = json.loads(config.read_text(encoding="utf-8"))["auths"]
        entry = next((auths[key] for key in name.keys if key in auths), None)
        if not isinstance(entry, dict):
            return None
        if isinstance(entry.get("username"), str) and isinstance(entry.get("password"), str):
            return entry["username"], entry["password"]
        user, colon, password = (
            base64.b64decode(entry["auth"], validate=True).decode().partition(":")
        )
    except (OSError, ValueError, KeyError, TypeError, binascii.Error):
        return None
    return (user, password) if colon else None
