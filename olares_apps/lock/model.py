"""The lock as data: closed models, strict, in the order in which they are written."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from olares_apps.errors import OlappsError
from olares_apps.fit.gguf_facts import FactsError, GgufFacts
from olares_apps.fit.gguf_shards import shard_names
from olares_apps.fit.model_check import require_model
from olares_apps.fit.vllm_budget import VllmFacts
from olares_apps.spec.models import Closed
from olares_apps.spec.types import ModelPath, RepoId, Sha256

__all__ = [
    "SCHEMA",
    "Checkpoint",
    "FilePart",
    "Lock",
    "LockedFile",
    "LockedImage",
    "LockedRepo",
    "Origin",
    "Platform",
]

SCHEMA: Final = 1
_INDEX: Final = ".safetensors.index.json"
_SHAPE: Final = frozenset(item.name for item in fields(VllmFacts)) - {"weight_bytes"}

Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0, le=2**50)]
Count = Annotated[int, Field(ge=0, lt=2**31)]
CudaVersion = Annotated[str, Field(pattern=r"^\d{1,3}\.\d{1,3}(\.\d{1,3})?$")]


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


class Checkpoint(Closed):
    """What config.json and the safetensors files of a model say together."""

    architectures: list[str] = Field(default_factory=list)
    """Model classes that config.json names."""
    quant_method: str | None = None
    """Quantisation method of config.json."""
    mtp_layers: Count = 0
    """MTP layers that config.json declares."""
    mtp_tensors: bool = False
    """Whether the files hold tensors of an MTP head."""
    weight_bytes: Bytes
    """Size of the safetensors files that the server loads, in bytes."""
    shape: dict[str, Count | bool] | None = None
    """What decides the KV cache, as ``VllmFacts`` names it; None when config.json does not say."""

    @field_validator("shape")
    @classmethod
    def _known(cls, value: dict[str, int | bool] | None) -> dict[str, int | bool] | None:
        unknown = sorted((value or {}).keys() - _SHAPE)
        if unknown:
            raise ValueError(f"unknown {unknown[0]}")
        return value

    @property
    def facts(self) -> VllmFacts | None:
        """Return the facts for vLLM's budget, None when the shape is not known."""
        if self.shape is None:
            return None
        # Booleans and integers of the lock are those of the fields.
        return VllmFacts(weight_bytes=self.weight_bytes, **self.shape)  # type: ignore[arg-type]


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
    checkpoint: Checkpoint | None = None
    """What the checkpoint of a safetensors file or index says."""
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

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        self._check_parts()
        facts = self.facts
        if facts is not None and facts.file_size != self.size:
            raise ValueError(
                f"the header facts are of a file of {facts.file_size} bytes, the parts have "
                f"{self.size}"
            )
        if facts is not None and self.role == "target":
            try:
                require_model(facts)
            except FactsError as error:
                raise ValueError(error.message) from None
        return self

    def _check_parts(self) -> None:
        """Raise ValueError unless the parts are those of the file."""
        names = [part.file for part in self.parts]
        if self.file.endswith(_INDEX):
            if names[0] != self.file:
                raise ValueError(f"the first part is {names[0]}, not the index {self.file}")
            return
        # By hand one size can be stated, of the first part.
        wanted = list(shard_names(self.file))[: 1 if self.origin.state == "stated" else None]
        if self.file != wanted[0]:
            raise ValueError(f"{self.file} is a part: the first one, {wanted[0]}, names the model")
        if names != wanted:
            raise ValueError(f"the parts of {self.file} are not those that its name promises")

    @property
    def size(self) -> int:
        """Return the size of all parts in bytes."""
        return sum(part.size for part in self.parts)

    @property
    def facts(self) -> GgufFacts | None:
        """Return the header facts, None when the file is no GGUF."""
        return None if self.gguf is None else GgufFacts.from_dict(self.gguf)


class LockedRepo(Closed):
    """One repository that the server downloads itself."""

    role: Literal["target", "drafter", "extra"]
    """What the engine does with it."""
    repo: RepoId
    """Repository on the hub."""
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
    size: Bytes
    """Bytes that the server downloads."""
    checkpoint: Checkpoint | None = None
    """What its checkpoint says; None when it has no safetensors files."""


def _find(files: Sequence[LockedFile], repo: str, file: str) -> LockedFile | None:
    return next((item for item in files if (item.repo, item.file) == (repo, file)), None)


class Platform(Closed):
    """One architecture of an image."""

    architecture: Annotated[str, Field(pattern=r"^[a-z0-9_.-]{1,32}(/[a-z0-9_.-]{1,32})?$")]
    """``amd64``, ``arm64`` ..., with the variant after a slash where there is one."""
    digest: Digest
    """Digest of the manifest of that architecture."""
    size: Bytes
    """Bytes to download: configuration and layers, compressed."""
    cuda: CudaVersion | None = None
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
    repos: list[LockedRepo] = Field(default_factory=list)
    """Repositories that the server downloads, in the order of the spec."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        keys: Mapping[str, list[str]] = {
            "file": [f"{item.repo} {item.file}" for item in self.files],
            "image": [item.image for item in self.images],
            "alternative": [f"{item.repo} {item.file}" for item in self.alternatives],
            "repository": [item.repo for item in self.repos],
        }
        for kind, names in keys.items():
            repeated = next((name for name in names if names.count(name) > 1), None)
            if repeated is not None:
                raise ValueError(f"the {kind} {repeated} stands there twice")
        return self

    def repo(self, repo: str) -> LockedRepo | None:
        """Return the facts of a repository that the server downloads, None when not locked."""
        return next((item for item in self.repos if item.repo == repo), None)

    def checkpoint(self, role: str) -> Checkpoint | None:
        """Return the checkpoint of the first repository or file of a role that has one."""
        known: tuple[LockedRepo | LockedFile, ...] = (*self.repos, *self.files)
        return next(
            (item.checkpoint for item in known if item.role == role and item.checkpoint), None
        )

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
