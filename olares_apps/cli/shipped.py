"""The shipped specs as a new workspace takes them over, each with the files that it needs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import olares_apps
from olares_apps.engines.registry import spec_model
from olares_apps.errors import UnknownName
from olares_apps.images.load import load_recipe
from olares_apps.render import asset_paths
from olares_apps.spec.loader import load_spec

__all__ = ["EXAMPLE", "SCHEMA_FILE", "example", "shipped", "shipped_names"]

SCHEMA_FILE: Final = "schema/app.schema.json"
EXAMPLE: Final = "example"
_PACKAGE: Final = Path(olares_apps.__file__).parent
_MODELINE: Final = "# yaml-language-server: $schema="


def shipped_names() -> list[str]:
    """Return the names of the shipped specs in alphabetical order."""
    return sorted(path.stem for path in (_PACKAGE / "apps").glob("*.yaml") if "." not in path.stem)


def shipped(name: str) -> Mapping[str, bytes]:
    """Return a shipped spec and what it needs, by paths of the new workspace.

    That is its lock, its image recipe with the patches of that, and the files that it puts into
    its chart. Raises UnknownName for a spec that is not shipped.
    """
    if name not in shipped_names():
        raise UnknownName("shipped spec", name, shipped_names())
    path = _PACKAGE / "apps" / f"{name}.yaml"
    text = path.read_text(encoding="utf-8")
    spec = load_spec(text, path=path, model=spec_model()).spec
    needed = list(asset_paths(spec))
    if spec.engine.recipe:
        recipe = f"images/{spec.engine.recipe}.yaml"
        needed += [recipe, *load_recipe(_data(recipe), Path(recipe)).recipe.patches]
    lock = path.with_suffix(".lock.yaml")
    return {
        f"apps/{name}.yaml": _for_workspace(text).encode(),
        **({f"apps/{lock.name}": lock.read_bytes()} if lock.is_file() else {}),
        **{file: _data(file) for file in needed},
    }


def example() -> Mapping[str, bytes]:
    """Return the example spec, which explains its fields, by its path in the new workspace."""
    return {f"apps/{EXAMPLE}.yaml": (_PACKAGE / "cli" / "example.yaml").read_bytes()}


def _data(path: str) -> bytes:
    """Return a file that shipped specs name: recipes and patches lie below ``images``."""
    folder, _, rest = path.partition("/")
    if folder != "images":
        raise UnknownName("shipped file", path, [])
    installed = _PACKAGE / "_images"
    top = installed if installed.is_dir() else _PACKAGE.parent / "images"
    return (top / rest).read_bytes()


def _for_workspace(text: str) -> str:
    """Return a spec's text with the line for editors that fits the new workspace."""
    first, rest = text.split("\n", 1)
    return f"{_MODELINE}../{SCHEMA_FILE}\n{rest}" if first.startswith(_MODELINE) else text
