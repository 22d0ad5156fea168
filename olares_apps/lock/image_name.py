"""Image references taken apart."""

from dataclasses import dataclass
from typing import Final

from olares_apps.errors import UsageError

__all__ = ["ImageName", "parse_image"]

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
    if "/" in digest or (slash and host.count(":") > 1 and not host.startswith("[")):
        raise UsageError(
            "the image holds a user name or password", hint="put them into Docker's config file"
        )
    if not slash or not path:
        raise UsageError(
            f"image {image!r} names no registry", hint="write docker.io/owner/name:tag"
        )
    if host in _DOCKER_HUB:
        host = _DOCKER_HOST
        path = path if "/" in path else f"library/{path}"
    return ImageName(image, host, path, digest or tag or "latest")
