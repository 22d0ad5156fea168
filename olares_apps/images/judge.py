"""What is wrong or doubtful in a recipe, before two hours of compiling show it."""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from olares_apps.engines.flags.tables import build_of_image, known_builds
from olares_apps.errors import Problem, nearest
from olares_apps.images.buildable import CHECKS, Found
from olares_apps.images.load import LoadedRecipe

__all__ = ["Verdict", "judge", "twins"]

_FLOATING: Final = re.compile(r"latest|main|master|nightly|dev|edge|stable")
_COMMIT: Final = re.compile(r"(?:^|[-_])([0-9a-f]{7,40})$")


class Verdict(NamedTuple):
    """What a recipe's judge found: errors make an image that is not what it says."""

    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def judge(loaded: LoadedRecipe) -> Verdict:
    """Return everything that is wrong with a recipe, and everything doubtful."""
    found = [item for check in _CHECKS for item in check(loaded)]
    return Verdict(
        tuple(problem for is_error, problem in found if is_error),
        tuple(problem for is_error, problem in found if not is_error),
    )


def twins(recipes: Mapping[str, LoadedRecipe]) -> tuple[Problem, ...]:
    """Return a problem for each recipe that makes the image of one before it."""
    makers: dict[str, LoadedRecipe] = {}
    found = []
    for loaded in recipes.values():
        first = makers.setdefault(loaded.recipe.image.partition("@")[0], loaded)
        if first is not loaded:
            message = f"{first.path} makes the image {loaded.recipe.image} too"
            found.append(loaded.problem("image", message, "give one of them another tag"))
    return tuple(found)


def _tag(loaded: LoadedRecipe) -> Found:
    recipe = loaded.recipe
    if _FLOATING.fullmatch(recipe.tag):
        hint = f"name the commit in it, for example {recipe.build}-{recipe.source.commit[:7]}"
        yield (
            True,
            loaded.problem("image", f"the tag '{recipe.tag}' says nothing of the source", hint),
        )
    named = _COMMIT.search(recipe.tag)
    if named and not _same_commit(named[1], recipe.source.commit):
        message = f"the tag names commit {named[1]}, the source is {recipe.source.commit}"
        yield True, loaded.problem("image", message, "build the commit that the tag names")


def _same_commit(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _build(loaded: LoadedRecipe) -> Found:
    recipe = loaded.recipe
    known = build_of_image(recipe.engine, recipe.source.commit)
    if known and known.exact and known.name != recipe.build:
        message = f"commit {recipe.source.commit} is build {known.name}, not {recipe.build}"
        yield True, loaded.problem("build", message, f"write {known.name}")
    if not known_builds(recipe.engine):
        hint = "its flags cannot be checked"
        yield False, loaded.problem("engine", f"there are no flag tables of {recipe.engine}", hint)
    elif not build_of_image(recipe.engine, recipe.build):
        guess = nearest(recipe.build, known_builds(recipe.engine))
        hint = f"did you mean {guess}?" if guess else "docs/flag-tables.md says how to make a table"
        yield True, loaded.problem("build", f"no flag table stands for '{recipe.build}'", hint)


def _commit(loaded: LoadedRecipe) -> Found:
    source = loaded.recipe.source
    if not source.is_whole:
        message = f"commit {source.commit} is short: the build must clone the whole history"
        yield False, loaded.problem("source.commit", message, "write all 40 digits")


def _bases(loaded: LoadedRecipe) -> Found:
    if loaded.recipe.base_digests is None:
        message = "the base images are named by tag, which can move"
        yield False, loaded.problem("cuda", message, "add base_digests")


_CHECKS: Final[tuple[Callable[[LoadedRecipe], Found], ...]] = (
    _tag,
    _build,
    _commit,
    _bases,
    *CHECKS,
)
