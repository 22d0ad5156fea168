"""Recipes of a workspace: strict reading, with file and line for everything that is wrong."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final

from pydantic import ValidationError

from olares_apps.errors import Problem, SpecError, UnknownName
from olares_apps.images.model import ImageRecipe
from olares_apps.spec.positions import Positions
from olares_apps.spec.translate import problems_of
from olares_apps.spec.yaml_source import MAX_BYTES, decode, read_mapping, unify_line_ends

__all__ = ["LoadedRecipe", "load_recipe", "load_recipes", "recipe_called", "recipe_for"]

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class LoadedRecipe:
    """A recipe with the file it came from; ``missing`` are patches that its workspace lacks."""

    recipe: ImageRecipe
    path: PurePath
    positions: Positions
    missing: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return the recipe's name: the file's name without its ending."""
        return self.path.stem

    def problem(self, field: str, message: str, hint: str | None = None) -> Problem:
        """Return a problem of one field (dotted) with its line."""
        steps = [int(step) if step.isdecimal() else step for step in field.split(".")]
        spot = self.positions.nearest(steps)
        return Problem(message, self.path, spot.line, spot.column, field=field, hint=hint)


def load_recipe(data: bytes, path: PurePath) -> LoadedRecipe:
    """Return the recipe of a file's content; raises SpecError with every problem found."""
    text = unify_line_ends(decode(data, path))
    values = read_mapping(text, path)
    positions = Positions(text, path)
    try:
        return LoadedRecipe(ImageRecipe.model_validate(values), path, positions)
    except ValidationError as error:
        raise SpecError(problems_of(error, values, positions, path, ImageRecipe)) from None


def load_recipes(root: Path, folder: str) -> dict[str, LoadedRecipe]:
    """Return the recipes of the workspace at ``root`` by name; the folder need not exist.

    Raises SpecError with the problems of all files.
    """
    found: dict[str, LoadedRecipe] = {}
    problems: list[Problem] = []
    for file in sorted((root / folder).glob("*.yaml")):
        path = PurePath(file.relative_to(root).as_posix())
        if not _NAME.fullmatch(path.stem):
            problems.append(Problem(f"'{path.stem}' is no recipe name: a-z, 0-9, hyphens", path))
            continue
        try:
            found[path.stem] = _read(root, path)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return found


def recipe_for(name: str, root: Path, folder: str) -> LoadedRecipe:
    """Return the recipe that a spec names; the others of the folder are not read.

    Raises UnknownName when there is none of that name, SpecError when it is broken.
    """
    file = root / folder / f"{name}.yaml"
    if not file.is_file():
        raise UnknownName(
            "image recipe", name, sorted(path.stem for path in (root / folder).glob("*.yaml"))
        )
    return _read(root, PurePath(file.relative_to(root).as_posix()))


def _read(root: Path, path: PurePath) -> LoadedRecipe:
    try:
        with (root / path).open("rb") as stream:
            loaded = load_recipe(stream.read(MAX_BYTES + 1), path)
    except OSError as error:
        raise SpecError([Problem(f"cannot be read: {error.strerror}", path)]) from None
    missing = (patch for patch in loaded.recipe.patches if not (root / patch).is_file())
    return replace(loaded, missing=frozenset(missing))


def recipe_called(name: str, recipes: Mapping[str, LoadedRecipe]) -> LoadedRecipe:
    """Return one recipe by its name or its image; raises UnknownName for any other."""
    for loaded in recipes.values():
        if name in (loaded.name, loaded.recipe.image):
            return loaded
    raise UnknownName("image recipe", name, list(recipes))
