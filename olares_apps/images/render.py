"""A recipe to a Dockerfile and the workflow that builds it: pure, the same bytes everywhere."""

from collections.abc import Mapping
from typing import Final

from olares_apps.checks.images import parse_image
from olares_apps.engines.flags.files import build_number
from olares_apps.images.load import LoadedRecipe
from olares_apps.images.model import ImageRecipe
from olares_apps.images.options import option_table
from olares_apps.render.templates import Templates

__all__ = ["render_recipe"]

_PACKAGES: Final = ("build-essential", "ca-certificates", "cmake", "git", "ninja-build")


def render_recipe(loaded: LoadedRecipe, templates: Templates) -> dict[str, str]:
    """Return the files of a recipe by path relative to the workspace.

    They are a Dockerfile, whose build context is the workspace, and a GitHub workflow. Raises
    RenderError when a template cannot be filled in.
    """
    recipe, name = loaded.recipe, loaded.name
    dockerfile = f"{loaded.path.parent.as_posix()}/{name}.Dockerfile"
    image = parse_image(recipe.image)
    context = {
        "recipe": recipe,
        "name": name,
        "path": loaded.path.as_posix(),
        "dockerfile": dockerfile,
        "registry": image.registry if image else "docker.io",
        "packages": sorted({*_PACKAGES, *recipe.packages}),
        "options": _options(recipe),
    }
    return {
        dockerfile: templates.render("images/Dockerfile.jinja", context),
        f".github/workflows/image-{name}.yaml": templates.render("images/workflow.jinja", context),
    }


def _options(recipe: ImageRecipe) -> Mapping[str, str]:
    """Return every CMake option: the recipe's own and those that follow from other fields.

    A shallow clone cannot count commits, so the number that ``--version`` prints is given.
    """
    derived = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CUDA_ARCHITECTURES": recipe.cuda_architectures,
    }
    number = _number(recipe)
    if number is not None:
        derived |= {
            "LLAMA_BUILD_COMMIT": recipe.source.commit[:7],
            "LLAMA_BUILD_NUMBER": str(number),
        }
    return dict(sorted({**recipe.cmake, **derived}.items()))


def _number(recipe: ImageRecipe) -> int | None:
    """Return the number of commits of the build, None where it is not known for sure."""
    known = build_number(recipe.engine, recipe.build)
    table = option_table(recipe.engine, recipe.build)
    return known or (table.number if table and table.build == recipe.build else None)
