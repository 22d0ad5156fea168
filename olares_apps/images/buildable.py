"""Whether the build that a recipe asks for can work: engine, patches, base, options, targets."""

from collections.abc import Callable, Iterator
from typing import Final

from olares_apps.errors import Problem, nearest
from olares_apps.images.bases import (
    CUDA_RELEASES,
    SYSTEMS,
    architectures_of,
    first_with,
    release_of,
)
from olares_apps.images.load import LoadedRecipe
from olares_apps.images.options import OptionTable, option_table

__all__ = ["CHECKS", "Found"]

Found = Iterator[tuple[bool, Problem]]
"""Problems, each with whether it is an error."""

# The Dockerfile configures a source tree with CMake and copies what it built to bin/.
_COMPILED: Final = ("llamacpp",)
_MANAGER: Final = "apt-get"
# The oldest CMake that compiles ggml's CUDA code.
_CMAKE: Final = (3, 18)
# What CMake reads as a switch, with what it means.
_SWITCH: Final = {
    **dict.fromkeys(("ON", "YES", "TRUE", "Y", "1"), True),
    **dict.fromkeys(("OFF", "NO", "FALSE", "N", "0"), False),
}
_CUDA: Final = "GGML_CUDA"
# Options that the recipe sets itself from other fields.
_DERIVED: Final = {
    "CMAKE_CUDA_ARCHITECTURES": "architectures",
    "CMAKE_BUILD_TYPE": "the Dockerfile, which builds Release",
    "LLAMA_BUILD_NUMBER": "build",
    "LLAMA_BUILD_COMMIT": "source.commit",
}
_CMAKE_OWN: Final = "CMAKE_"


def _engine(loaded: LoadedRecipe) -> Found:
    engine = loaded.recipe.engine
    if engine not in _COMPILED:
        message = f"the Dockerfile compiles {' or '.join(_COMPILED)}; {engine} is built otherwise"
        hint = "name the finished image in the spec, without a recipe"
        yield True, loaded.problem("engine", message, hint)


def _patches(loaded: LoadedRecipe) -> Found:
    for index, patch in enumerate(loaded.recipe.patches):
        if patch in loaded.missing:
            hint = "paths are relative to the workspace's folder"
            yield True, loaded.problem(f"patches.{index}", f"there is no file {patch}", hint)


def _cuda(loaded: LoadedRecipe) -> Found:
    recipe = loaded.recipe
    release, known = release_of(recipe.cuda), CUDA_RELEASES
    if release > known[-1]:
        message = f"CUDA {_dotted(release)} is newer than what is known of its architectures"
        yield False, loaded.problem("cuda", message, f"known up to {_dotted(known[-1])}")
    elif release not in known:
        listed = ", ".join(_dotted(item) for item in known)
        message = f"there are no base images of CUDA {_dotted(release)}"
        yield True, loaded.problem("cuda", message, f"known: {listed}")
        return
    compiled = architectures_of(release)
    for index, name in enumerate(recipe.architectures):
        if name in compiled:
            continue
        first = first_with(name)
        if first is None:
            message, hint = f"there is no compute capability {name}", ", ".join(compiled)
        elif first > release:
            message = f"CUDA {_dotted(release)} cannot compile for {name}"
            hint = f"CUDA {_dotted(first)} is the first that can"
        else:
            message = f"CUDA {_dotted(release)} no longer compiles for {name}"
            hint = f"it compiles for {', '.join(compiled)}"
        # Of a release that is not known yet, only what never existed is sure.
        sure = release <= known[-1]
        yield sure, loaded.problem(f"architectures.{index}", message, hint)


def _system(loaded: LoadedRecipe) -> Found:
    name, release = loaded.recipe.system, release_of(loaded.recipe.cuda)
    usable = [
        other
        for other, system in SYSTEMS.items()
        if system.manager == _MANAGER and system.cmake >= _CMAKE and system.first <= release
    ]
    hint = f"write {' or '.join(usable)}"
    system = SYSTEMS.get(name)
    if system is None:
        guess = nearest(name, usable)
        message = f"no base image ends with '{name}'"
        yield True, loaded.problem("system", message, f"did you mean {guess}?" if guess else hint)
    elif system.manager != _MANAGER:
        message = f"{name} installs packages with {system.manager}, the Dockerfile with {_MANAGER}"
        yield True, loaded.problem("system", message, hint)
    elif system.cmake < _CMAKE:
        message = f"the CMake of {name} is {_dotted(system.cmake)}, CUDA needs {_dotted(_CMAKE)}"
        yield True, loaded.problem("system", message, hint)
    elif system.first > release:
        message = f"there is no base image of CUDA {_dotted(release)} on {name}"
        yield True, loaded.problem("system", message, hint)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _options(loaded: LoadedRecipe) -> Found:
    recipe = loaded.recipe
    table = option_table(recipe.engine, recipe.build)
    for name, value in recipe.cmake.items():
        field = f"cmake.{name}"
        if name in _DERIVED:
            yield True, loaded.problem(field, f"is set from {_DERIVED[name]}", "remove it")
        elif table is not None:
            yield from _option(loaded, table, name, value)


def _option(loaded: LoadedRecipe, table: OptionTable, name: str, value: str) -> Found:
    field = f"cmake.{name}"
    if name in table.retired:
        use, stops = table.retired[name], name in table.refused
        message = f"is retired at {table.build} and " + (
            f"was replaced by {use}" if use else "has no effect"
        )
        hint = f"write {use}" if use else "remove it"
        yield stops, loaded.problem(field, message, hint)
    elif name in table.names:
        if name not in table.texts and value.upper() not in _SWITCH:
            yield True, loaded.problem(field, f"'{value}' is neither ON nor OFF", 'write "ON"')
    elif not name.startswith(_CMAKE_OWN):
        guess = nearest(name, sorted(table.names))
        near = table.build if table.exact else f"{table.build}, the nearest build with a table"
        hint = f"did you mean {guess}?" if guess else "remove it, or name the right build"
        # A fork may have options of its own, so only a table of that very build is sure.
        yield table.exact, loaded.problem(field, f"is no CMake option of {near}", hint)


def _gpu(loaded: LoadedRecipe) -> Found:
    recipe = loaded.recipe
    if recipe.engine not in _COMPILED:
        return
    table = option_table(recipe.engine, recipe.build)
    old = [name for name, use in (table.retired if table else {}).items() if use == _CUDA]
    stated = [value for name in (_CUDA, *old) if (value := recipe.cmake.get(name)) is not None]
    if not stated:
        message = f"{_CUDA} is not set: the server would compute on the CPU"
        yield True, loaded.problem("cmake", message, f'write {_CUDA}: "ON"')
    elif _SWITCH.get(recipe.cmake.get(_CUDA, "").upper()) is False:
        message = f"{_CUDA} is off: the server would compute on the CPU"
        yield True, loaded.problem(f"cmake.{_CUDA}", message, 'write "ON"')


def _targets(loaded: LoadedRecipe) -> Found:
    recipe = loaded.recipe
    table = option_table(recipe.engine, recipe.build)
    for index, name in enumerate(recipe.targets):
        field = f"targets.{index}"
        if name in recipe.targets[:index]:
            yield True, loaded.problem(field, f"{name} is listed twice", "remove it")
        elif table is not None and name not in table.programs:
            guess = nearest(name, sorted(table.programs))
            near = table.build if table.exact else f"{table.build}, the nearest build with a table"
            hint = f"did you mean {guess}?" if guess else "name a program, such as llama-server"
            yield table.exact, loaded.problem(field, f"'{name}' is no program of {near}", hint)


CHECKS: Final[tuple[Callable[[LoadedRecipe], Found], ...]] = (
    _engine,
    _patches,
    _cuda,
    _system,
    _options,
    _gpu,
    _targets,
)
"""The checks of this module, in the order in which their findings are told."""
