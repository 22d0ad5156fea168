"""Image references, what a tag promises, and what else may be known of an image."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from olares_apps.images.model import ImageRecipe

__all__ = ["ImageFacts", "ImageName", "cuda_of", "parse_image", "recipe_facts", "tag_fault"]


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What is known of one image beside its name. None and empty mean not known.

    ``cuda`` is the CUDA version such as ``13.1``; ``archs`` are compute capabilities such as
    ``sm_120``, ``ptx_archs`` those that are compiled on first start; ``tools`` are programs on
    its PATH; ``server`` is the path of its server; ``user`` the uid it runs as.
    """

    cuda: str | None = None
    archs: tuple[str, ...] = ()
    ptx_archs: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    server: str | None = None
    user: int | None = None


def recipe_facts(recipe: "ImageRecipe") -> ImageFacts:
    """Return what a recipe says of the image that it makes.

    An architecture without a letter is compiled for that card and as PTX, which newer cards
    compile on their first start; one with a letter is for that card alone.
    """
    return ImageFacts(
        cuda=".".join(recipe.cuda.split(".")[:2]),
        archs=tuple("sm_" + re.sub(r"\D", "", item) for item in recipe.architectures),
        ptx_archs=tuple(
            "sm_" + item.replace(".", "") for item in recipe.architectures if item[-1].isdigit()
        ),
    )


@dataclass(frozen=True, slots=True)
class ImageName:
    """An image reference in parts; ``registry`` is ``docker.io`` where none is written."""

    registry: str
    repository: str
    tag: str
    digest: str

    @property
    def is_trusted(self) -> bool:
        """Say whether admission lets the image run as root on every release: beclab's own."""
        return self.registry == "docker.io" and self.repository.startswith("beclab/")


_REFERENCE: Final = re.compile(
    r"(?:(?P<registry>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::\d{1,5})?)/)?"
    r"(?P<path>[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>[a-z0-9]{2,20}:[0-9a-f]{32,128}))?",
    re.ASCII,
)


def parse_image(text: str) -> ImageName | None:
    """Return an image reference in parts, None for a text that is none."""
    if len(text) > 512:
        return None
    found = _REFERENCE.fullmatch(text)
    if not found:
        return None
    registry, path = found["registry"] or "", found["path"]
    if registry and "." not in registry and ":" not in registry and registry != "localhost":
        registry, path = "", f"{registry}/{path}"
    if registry in ("", "index.docker.io", "registry-1.docker.io"):
        registry = "docker.io"
    if registry == "docker.io" and "/" not in path:
        path = f"library/{path}"
    return ImageName(registry, path, found["tag"] or "", found["digest"] or "")


# Images whose tags end in the number of the build.
_LLAMA_CPP: Final = ("ggml-org/llama.cpp", "ggml-org-llama.cpp")
# Words of a tag that name a moving target. A build number or a commit beside them fixes it.
_MOVING: Final = frozenset(
    "latest nightly main master edge stable dev develop devel preview head snapshot rolling "
    "canary beta alpha unstable testing next current".split()
)
_FIXED: Final = re.compile(
    r"(?:^|[-_.v])(?:b\d{3,6}|\d+\.\d+\.\d+[\w.]*|r\d+|(?=[0-9a-f]*\d)[0-9a-f]{7,40}|\d{8,})(?=$|[-_.])"
)
_RELEASE: Final = re.compile(r"v?\d+\.\d+\.\d+|b\d{3,6}")
# Variants of an image beside its version; they say nothing about when it was built.
_PARTIAL: Final = re.compile(r"v?\d+(?:\.\d+)?(?=$|[-_])")


def tag_fault(name: ImageName) -> tuple[str, bool] | None:
    """Return what is wrong with a tag, and whether it certainly moves; None for a fixed one."""
    if name.digest:
        return None
    tag = name.tag
    if not tag:
        return "has no tag, so it means latest", True
    parts = [part for part in re.split(r"[-_.]", tag.lower()) if part]
    fixed = bool(_FIXED.search(tag))
    if fixed:
        return None
    moving = next((part for part in parts if part in _MOVING), None)
    if moving or not any(character.isdigit() for character in tag):
        return f"has the floating tag '{tag}'", True
    if re.fullmatch(r"v?\d+", tag) and len(tag) > 5:
        return None
    if _PARTIAL.match(tag):
        return f"has the tag '{tag}', which moves with every patch release", False
    if re.fullmatch(r"[a-z]+(?:-[a-z]+)*-?(?:cuda|cu|rocm)\d+(?:\.\d+)?(?:-\w+)?", tag.lower()):
        return f"has the floating tag '{tag}'", True
    return None


def suggestion(name: ImageName, known: Sequence[str] = ()) -> str:
    """Return what to write instead of a floating tag."""
    if known:
        return f"pin a release, for example {known[0]}, or add @sha256:..."
    fixed = "-".join(word for word in name.tag.split("-") if word.lower() not in _MOVING)
    if name.repository.endswith(_LLAMA_CPP):
        return f"pin {fixed or 'server-cuda'}-bNNNN or add @sha256:..."
    return "pin a release or add @sha256:..."


_CUDA: Final = re.compile(
    r"(?:^|[-_./])(?:cuda|cu)[-_]?(\d{2})(?:[._]?(\d{1,2}))?(?:[._]\d+)?(?=$|[-_.])"
)


def cuda_of(name: ImageName, facts: ImageFacts | None) -> str | None:
    """Return the CUDA version of an image: the known one, else the one that its tag states.

    ``cu129`` is 12.9, ``cuda13.3`` is 13.3, ``cuda13`` is 13.
    """
    if facts is not None and facts.cuda:
        return facts.cuda
    found = _CUDA.search(name.tag.lower())
    if not found:
        return None
    major, minor = found.groups()
    return f"{major}.{int(minor)}" if minor else major
