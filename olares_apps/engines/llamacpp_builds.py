"""How builds of llama.cpp's server spell what the settings say in neutral words.

A build is a release number (``b9254``), a commit (``ad27757``) or the name of a fork or
branch. It is read from the image's tag unless the spec names it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from olares_apps.spec.models import EngineSettings

__all__ = ["Dialect", "build_of", "dialect_of"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The spellings of one family of builds.

    ``spec_types`` maps a neutral speculative method to the value of ``--spec-type``; a method
    that is missing does not exist there. ``load_modes`` maps a load mode to arguments.
    """

    spec_types: Mapping[str, str]
    load_modes: Mapping[str, Sequence[str]]


_NGRAM: Final = {name: name for name in ("ngram-simple", "ngram-mod", "ngram-cache")}
_DRAFT: Final = {name: f"draft-{name}" for name in ("mtp", "eagle3", "dflash")}
_SWITCHES: Final = {"mmap": ["--mmap"], "no-mmap": ["--no-mmap"], "mlock": ["--mlock"]}
_MODES: Final = {
    "mmap": ["--load-mode", "mmap"],
    "no-mmap": ["--load-mode", "none"],
    "mlock": ["--load-mode", "mmap+mlock"],
}
# Mainline: `draft-` names from b9254 on (before: `draft`, `eagle3`, and no MTP at all);
# `--load-mode` from b10405 on, and the three switches are gone by b10950.
_EARLY: Final = Dialect({"draft": "draft", "eagle3": "eagle3", **_NGRAM}, _SWITCHES)
_MAY_2026: Final = Dialect({"draft": "draft-simple", **_DRAFT, **_NGRAM}, _SWITCHES)
_CURRENT: Final = Dialect(_MAY_2026.spec_types, _MODES)
_BY_NUMBER: Final = ((10405, _CURRENT), (9254, _MAY_2026), (0, _EARLY))
# Branches and forks that spell methods their own way.
_BY_NAME: Final = {
    "mtp-clean": Dialect({"mtp": "mtp", **_EARLY.spec_types}, _SWITCHES),
    "buun": Dialect({**_MAY_2026.spec_types, "dflash": "dflash"}, _SWITCHES),
    "beellama": Dialect({**_MAY_2026.spec_types, "dflash": "dflash"}, _SWITCHES),
}
# Images whose tag does not name the build: repository (without registry) to build.
_BY_IMAGE: Final = {"aamsellem/llamacpp-mtp": "mtp-clean"}
_IMAGE: Final = re.compile(r"[^/]+/(?P<repository>[^:@]+)(?::(?P<tag>[\w.-]+))?(?:@.+)?", re.ASCII)
_RELEASE: Final = re.compile(r"b(\d{4,6})")
_TAG: Final = re.compile(r"(?:^|[-_.])(b\d{4,6}|[0-9a-f]{7,40})(?=$|[-_.])")


def build_of(settings: EngineSettings) -> str:
    """Return the build that an image holds: as stated, else by repository, else by its tag.

    An image that is named by digest alone says nothing about its build: the result is empty.
    """
    if settings.build:
        return settings.build
    image = _IMAGE.fullmatch(settings.image)
    repository, tag = (image["repository"], image["tag"] or "") if image else ("", "")
    found = _TAG.search(tag)
    return _BY_IMAGE.get(repository) or (found[1] if found else tag)


def dialect_of(build: str) -> Dialect:
    """Return the spellings of a build; a commit or an unknown name counts as mainline of b9254."""
    release = _RELEASE.fullmatch(build)
    if release:
        return next(d for first, d in _BY_NUMBER if int(release[1]) >= first)
    return _BY_NAME.get(build, _MAY_2026)
