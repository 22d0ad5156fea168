"""How a build of llama.cpp's server spells what the settings say in neutral words.

What exists in a build is read from its flag table; the tables here only list the spellings
that a thing has had, the one to prefer first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from olares_apps.engines.flags.model import FlagTable
from olares_apps.engines.flags.tables import builds_with, find_table
from olares_apps.errors import RenderError

__all__ = ["Spelling", "spelling_of"]

_METHODS: Final[Mapping[str, Sequence[str]]] = {
    "mtp": ("draft-mtp", "mtp"),
    "draft": ("draft-simple", "draft"),
    "eagle3": ("draft-eagle3", "eagle3"),
    "dflash": ("draft-dflash", "dflash"),
}
# Flags by meaning: the draft's length and model, by method where methods have their own.
_FLAGS: Final[Mapping[str, Sequence[str]]] = {
    "n_max": ("--spec-draft-n-max", "--draft-max"),
    "n_min": ("--spec-draft-n-min", "--draft-min"),
    "ngram-mod n_max": ("--spec-ngram-mod-n-max", "--spec-draft-n-max", "--draft-max"),
    "ngram-mod n_min": ("--spec-ngram-mod-n-min", "--spec-draft-n-min", "--draft-min"),
    "ngram-simple n_max": ("--spec-ngram-simple-size-m", "--spec-draft-n-max", "--draft-max"),
    "ngram-simple n_min": (),
}
# Load mode -> the value of today's option, and the switches of older builds.
_LOAD_MODES: Final = {
    "mmap": ("mmap", ("--mmap",)),
    "no-mmap": ("none", ("--no-mmap",)),
    "mlock": ("mmap+mlock", ("--mlock",)),
    "no-mmap-mlock": ("mlock", ("--no-mmap", "--mlock")),
}


@dataclass(frozen=True)
class Spelling:
    """The spellings of one build.

    ``build`` names it as flag tables do, empty when it is not known. ``exact`` says that the
    table was made from this build: then what it lacks does not exist, else it may.
    """

    build: str
    exact: bool
    table: FlagTable | None

    def has(self, flag: str) -> bool:
        """Return whether the build takes a flag."""
        found = self.table.find(flag) if self.table else None
        return found is not None and found.flag.removed is None

    def method(self, name: str) -> str | None:
        """Return the value of ``--spec-type`` for a speculative method.

        None when builds of that age draft as soon as a draft model is named. Raises
        RenderError when the build does not have the method.
        """
        candidates = _METHODS.get(name, (name,))
        flag = self.table.first(["--spec-type"]) if self.table else None
        known = flag.values if flag else ()
        found = next((item for item in candidates if item in known), None)
        if found or not self.exact:
            return found or candidates[0]
        if name == "draft":
            return None
        raise RenderError(
            f"engine.speculative.method {name} does not exist in build {self.build} "
            f"(--spec-type takes {', '.join(known) or 'nothing'})",
            hint="choose another method or an image of another build",
        )

    def draft_length(self, method: str, field: str) -> str:
        """Return the flag for ``n_max`` or ``n_min``; raises RenderError when there is none."""
        names = _FLAGS.get(f"{method} {field}", _FLAGS[field])
        found = next((name for name in names if self.has(name)), None)
        if not names or (found is None and self.exact):
            raise RenderError(f"engine.speculative.{field} has no meaning for method {method} here")
        return found or names[0]

    def drafter(self, method: str) -> str:
        """Return the flag that names a file to draft with: a fork has its own for MTP heads."""
        return "--mtp-head" if method == "mtp" and self.has("--mtp-head") else "--model-draft"

    def load_mode(self, mode: str) -> list[str]:
        """Return the arguments for a load mode: one option today, switches in older builds."""
        word, switches = _LOAD_MODES[mode]
        return ["--load-mode", word] if self.has("--load-mode") else list(switches)

    def own(self, field: str, flag: str) -> str:
        """Return a flag that only some builds have; raises RenderError when this one lacks it."""
        if self.has(flag) or not self.exact:
            return flag
        others = ", ".join(builds_with("llamacpp", [flag]))
        raise RenderError(
            f"{field} is {flag}, which build {self.build} does not have (known to {others})",
            hint="remove it, or choose an image of another build",
        )


@lru_cache(maxsize=256)
def spelling_of(name: str) -> Spelling:
    """Return the spellings of a build, named as such or by an image."""
    match = find_table("llamacpp", name)
    return Spelling(match.build or "", match.exact, match.table)
