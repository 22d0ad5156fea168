"""Where templates come from: the package's own, single files overridden by a workspace.

Names are paths relative to the templates folder: ``chart/templates/*.yaml`` become the
chart's Kubernetes objects, ``text/<locale>/*`` its texts, ``engines/<engine>/<locale>/*`` what
only that engine's pages say, ``scripts/*`` is carried verbatim.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import olares_apps
from olares_apps.engines.registry import engines
from olares_apps.errors import RenderError
from olares_apps.render.environment import Renderer

__all__ = ["Templates", "load_templates", "shipped_folder"]

# Folder -> the ending of its templates; anything else there (notes, backups) is not one.
_KINDS: Final = {
    "chart": ".yaml",
    "engines": ".md",
    "images": ".jinja",
    "scripts": ".sh",
    "text": ".md",
}


class Templates:
    """A set of template texts by name; compiled on first use and then kept."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = dict(sorted(files.items()))
        self._renderer = Renderer(self.files)

    def override(self, files: Mapping[str, str]) -> "Templates":
        """Return a new set in which ``files`` replace or add single templates."""
        return Templates(self.files | dict(files)) if files else self

    def names(self, prefix: str) -> list[str]:
        """Return the names that begin with ``prefix``, sorted."""
        return [name for name in self.files if name.startswith(prefix)]

    def text(self, name: str) -> str:
        """Return a template as written; raises RenderError when there is none."""
        if name not in self.files:
            raise RenderError(f"template {name} does not exist")
        return self.files[name]

    def render(self, name: str, context: Mapping[str, object]) -> str:
        """Fill in a template; raises RenderError with its name and line."""
        self.text(name)
        return self._renderer.render(name, context)


def load_templates(workspace: Path | None = None) -> Templates:
    """Return the package's templates, overridden by the files of a workspace's folder.

    ``workspace`` is the templates folder of a workspace; it need not exist. Raises RenderError
    for a file that cannot be read.
    """
    built_in = _built_in()
    return built_in.override(_read(workspace)) if workspace else built_in


def shipped_folder() -> Path:
    """Return the package's own folder of templates; raises RenderError when it is missing."""
    package = Path(olares_apps.__file__).parent
    installed = package / "_templates"
    folder = installed if installed.is_dir() else package.parent / "templates"
    if not folder.is_dir():
        raise RenderError(f"the templates are missing: {folder}", hint="install the package again")
    return folder


@cache
def _built_in() -> Templates:
    return Templates(_plug_ins() | _read(shipped_folder()))


def _plug_ins() -> dict[str, str]:
    """Return the templates that engines of other packages bring with them."""
    return {
        f"engines/{name}/{path}": text
        for name, engine in engines().items()
        for path, text in engine.templates().items()
    }


def _read(folder: Path) -> dict[str, str]:
    files: dict[str, str] = {}
    paths = (
        path for kind, ending in _KINDS.items() for path in (folder / kind).rglob(f"*{ending}")
    )
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.name.startswith(".") or not path.is_file():
            continue
        try:
            # Universal newlines: a checkout with CRLF must give the same charts.
            files[name] = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise RenderError(f"template {path} cannot be read: {error}") from error
    return files
