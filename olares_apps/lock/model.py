"""The lock as data: closed models, strict, in the order in which they are written."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator

from olares_apps.errors import OlappsError
from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.spec.models import Closed
from olares_apps.spec.types import ModelPath, RepoId, Sha256

__all__ = ["SCHEMA", "FilePart", "Lock", "LockedFile", "LockedImage", "Origin", "Platform"]

SCHEMA: Final = 1

Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0, le=2**50)]


class Origin(Closed):
    """Where a fact comes from and when it was had."""

    state: Literal["verified", "stated"]
    """``verified``: fetched from the source. ``stated``: written by hand in the spec."""
    source: str
    """Address that answered, or the spec."""
    at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    """Time of the answer, UTC."""


class FilePart(Closed):
    """One stored file: a whole model, or one part of a split one."""

    file: ModelPath
    """Path inside the repository."""
    size: Bytes
    """Size in bytes."""
    sha256: Sha256 | None = None
    """Digest of the content; the hub states it for large files."""


class LockedFile(Closed):
    """One model file of the spec, all its parts included."""

    role: Literal["target", "mmproj", "drafter", "extra"]
    """What the engine does with it."""
    repo: RepoId
    """Repository on the hub."""
    file: ModelPath
    """Path that the spec names; of a split model, the first part."""
    requested: str
    """Revision that the spec names."""
    commit: Commit
    """Commit that the revision stood for."""
    gated: bool
    """Whether access is granted one by one."""
    licence: str | None = None
    """Licence that the repository declares."""
    origin: Origin
    """Where these facts come from."""
    parts: Annotated[list[FilePart], Field(min_length=1)]
    """Files to download, in order."""
    gguf: dict[str, Any] | None = None
    """Header facts of all parts together, of a GGUF file."""
    mtp_tensors: bool | None = None
    """Whether a safetensors index names MTP tensors; None when the file is no such index."""
    mtp_layers: int | None = None
    """MTP layers that config.json beside a safetensors index declares."""
    others: dict[str, Bytes] = Field(default_factory=dict)
    """Other GGUF files of the repository and their sizes, for what else would fit."""

    @field_validator("gguf")
    @classmethod
    def _readable(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        if value is not None:
            try:
                GgufFacts.from_dict(value)
            except OlappsError as error:
                raise ValueError(error.message) from None
        return value

    @property
    def size(self) -> int:
        """Return the size of all parts in bytes."""
        return sum(part.size for part in self.parts)

    @property
    def facts(self) -> GgufFacts | None:
        """Return the header facts, None when the file is no GGUF."""
        return None if self.gguf is None else GgufFacts.from_dict(self.gguf)


def _find(files: Sequence[LockedFile], repo: str, file: str) -> LockedFile | None:
    return next((item for item in files if (item.repo, item.file) == (repo, file)), None)


class Platform(Closed):
    """One architecture of an image."""

    architecture: str
    """``amd64``, ``arm64`` ..., with the variant after a slash where there is one."""
    digest: Digest
    """Digest of the manifest of that architecture."""
    size: Bytes
    """Bytes to download: configuration and layers, compressed."""
    cuda: str | None = None
    """CUDA version that the image's configuration declares."""


class LockedImage(Closed):
    """One container image of the app."""

    image: str
    """Reference as the spec writes it."""
    digest: Digest
    """Digest that the reference stood for."""
    origin: Origin
    """Where these facts come from."""
    platforms: list[Platform]
    """Architectures, in alphabetical order."""


class Lock(Closed):
    """Everything that is known from outside about one spec."""

    schema_: Annotated[Literal[1], Field(alias="schema")] = SCHEMA
    """Form of the file."""
    files: list[LockedFile] = Field(default_factory=list)
    """Model files in the order of the spec."""
    images: list[LockedImage] = Field(default_factory=list)
    """Images, the server's first."""
    alternatives: list[LockedFile] = Field(default_factory=list)
    """The model in other repositories that the spec names, in its order."""

    def alternative(self, repo: str, file: str) -> LockedFile | None:
        """Return the facts of an alternative of the spec, None when it is not locked."""
        return _find(self.alternatives, repo, file)

    def file(self, repo: str, file: str) -> LockedFile | None:
        """Return the facts of a file of the spec, None when it is not locked."""
        return _find(self.files, repo, file)

    def image(self, image: str) -> LockedImage | None:
        """Return the facts of an image, None when it is not locked."""
        return next((item for item in self.images if item.image == image), None)

    def facts(self, role: str = "target") -> GgufFacts | None:
        """Return the header facts of the first file of a role."""
        return next((item.facts for item in self.files if item.role == role), None)

    def parts(self) -> Mapping[tuple[str, str], tuple[LockedFile, FilePart]]:
        """Return every stored file by repository and path."""
        return {(item.repo, part.file): (item, part) for item in self.files for part in item.parts}
