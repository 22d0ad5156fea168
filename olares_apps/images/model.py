"""The recipe: one closed, typed description of how a custom image is built."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StrictStr

from olares_apps.spec.models import Closed
from olares_apps.spec.types import Identifier, Image, Revision, Text

__all__ = ["BaseDigests", "ImageRecipe", "Source"]

_FULL_COMMIT: Final = 40


def _sorted_once(values: list[str]) -> list[str]:
    if sorted(set(values), key=lambda item: float(item.rstrip("af"))) != values:
        raise ValueError("must be in rising order, each once")
    return values


# What stands in the Dockerfile between quotes or bare holds nothing that ends a word.
Repo = Annotated[StrictStr, Field(pattern=r"^https://[\w.~:@/-]+$", max_length=300)]
License = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9.+() -]+$", max_length=100)]
PatchFile = Annotated[StrictStr, Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$", max_length=200)]
Program = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][\w-]*$", max_length=80)]
Build = Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=60)]
System = Annotated[StrictStr, Field(pattern=r"^[a-z]+[0-9.]*$", max_length=30)]
Commit = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{7,40}$")]
CudaVersion = Annotated[StrictStr, Field(pattern=r"^\d{2}\.\d{1,2}\.\d{1,2}$")]
Capability = Annotated[StrictStr, Field(pattern=r"^[1-9]\d?\.\d[af]?$")]
Digest = Annotated[StrictStr, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
# A value stands between double quotes in a shell word: what ends such a word is refused.
OptionValue = Annotated[StrictStr, Field(pattern=r'^[^"`$\\\n\r]*$', max_length=200)]
OptionName = Annotated[StrictStr, Field(pattern=r"^[A-Z][A-Z0-9_]{1,80}$")]


class Source(Closed):
    """The source tree that an image is built from."""

    repo: Repo
    """Git repository."""
    commit: Commit
    """Commit, 7 to 40 hexadecimal digits; the whole 40 make a shallow clone possible."""
    ref: Revision | None = None
    """Branch or tag that holds the commit; needed for a short commit off the default branch."""
    license: License
    """SPDX name of the source's licence."""

    @property
    def is_whole(self) -> bool:
        """Say whether the commit is written in full."""
        return len(self.commit) == _FULL_COMMIT


class BaseDigests(Closed):
    """Digests of the two base images; without them a base is known by its tag alone."""

    devel: Digest
    """Of the image with the compiler."""
    runtime: Digest
    """Of the image that the server runs in."""


class ImageRecipe(Closed):
    """How one image is built."""

    image: Image
    """The image that comes out, with registry and tag; specs name it so."""
    engine: Identifier = "llamacpp"
    """Engine that runs in it."""
    build: Build
    """Build whose flag table and CMake options apply."""
    source: Source
    """What is built."""
    patches: list[PatchFile] = Field(default_factory=list)
    """Patch files of the workspace, applied in this order with ``git apply``."""
    cuda: CudaVersion
    """CUDA version of the base images, for example ``13.1.0``."""
    system: System = "ubuntu22.04"
    """Distribution of the base images as their tags write it."""
    base_digests: BaseDigests | None = None
    """Digests of the base images."""
    architectures: Annotated[
        list[Capability], AfterValidator(_sorted_once), Field(min_length=1, max_length=12)
    ]
    """Compute capabilities to compile for, for example ``12.0``."""
    cmake: dict[OptionName, OptionValue] = Field(default_factory=dict)
    """CMake options by name, as text: ``GGML_CUDA: "ON"``."""
    packages: list[Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9+.-]*$")]] = Field(
        default_factory=list
    )
    """Further packages of the distribution that the build needs."""
    targets: Annotated[list[Program], Field(min_length=1)]
    """CMake targets; their programs end up in ``/app``, the first one is the entry point."""
    user: Annotated[int, Field(ge=1, le=65535)] | None = None
    """User id that the image runs as; by default root."""
    notes: Text = ""
    """Where the recipe comes from and what is known of it."""

    @property
    def tag(self) -> str:
        """Return the tag of the image."""
        return self.image.partition("@")[0].rpartition(":")[2]

    @property
    def devel(self) -> str:
        """Return the base image of the build stage."""
        return self._base("devel")

    @property
    def runtime(self) -> str:
        """Return the base image of the final stage."""
        return self._base("runtime")

    @property
    def cuda_architectures(self) -> str:
        """Return the value of ``CMAKE_CUDA_ARCHITECTURES``: ``86;120``."""
        return ";".join(re.sub(r"\.", "", item) for item in self.architectures)

    def _base(self, kind: str) -> str:
        name = f"docker.io/nvidia/cuda:{self.cuda}-{kind}-{self.system}"
        return f"{name}@{getattr(self.base_digests, kind)}" if self.base_digests else name
