"""The workspace: a folder with olapps.toml, its specs, and the rules between them."""

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from olares_apps.errors import Problem, SpecError, UnknownName, WorkspaceError
from olares_apps.spec.config import CONFIG_FILE, WorkspaceConfig
from olares_apps.spec.fleet import fleet_problems
from olares_apps.spec.loader import Facts, LoadedSpec, SpecParts, load_spec
from olares_apps.spec.models import AppSpec
from olares_apps.spec.toml_source import read_config
from olares_apps.spec.yaml_source import MAX_BYTES

__all__ = ["Each", "Workspace", "find_root", "load_config", "load_workspace"]

Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Applies a function to every item and returns the results in order."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*", re.ASCII)
_ENDINGS: Final = (".yaml", ".yml")
_APP: Final = re.compile(r"""^app:[ \t]*["']?([a-z0-9]+)""", re.MULTILINE)


@dataclass(frozen=True)
class Workspace:
    """A loaded workspace.

    ``specs`` holds the usable specs by name, in alphabetical order. ``broken`` holds the
    errors of the others by name: files that cannot be loaded, and specs that clash with
    another one. The latter are in ``clashing`` as well: each for itself is sound. ``apps`` maps
    app names, also those of broken specs as far as they can be read, to spec names.
    """

    root: Path
    config: WorkspaceConfig
    specs: Mapping[str, LoadedSpec]
    broken: Mapping[str, SpecError]
    apps: Mapping[str, str]
    clashing: Mapping[str, LoadedSpec]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return everything that is wrong with any spec, in the order of the files."""
        found = {problem: None for error in self.broken.values() for problem in error.problems}
        return tuple(found)

    def folder(self, name: str) -> Path:
        """Return the path of one of the workspace's folders, such as ``charts``."""
        path: str = getattr(self.config.workspace, name)
        return self.root / path

    def select(self, names: Sequence[str] = ()) -> list[LoadedSpec]:
        """Return the specs of these names, or all of them when none is given.

        A name is a spec name, an app name or the path of a spec file; each spec comes once, in
        the order asked for.
        Raises UnknownName with a suggestion, and SpecError with the problems of every selected
        spec that is broken.
        """
        found, broken = self.sort_out(names)
        if broken:
            problems = dict.fromkeys(p for error in broken.values() for p in error.problems)
            raise SpecError(list(problems))
        return found

    def sort_out(
        self, names: Sequence[str] = ()
    ) -> tuple[list[LoadedSpec], Mapping[str, SpecError]]:
        """Return the usable specs of these names, or of all, and the errors of the others.

        Raises UnknownName with a suggestion.
        """
        wanted = [self._resolve(name) for name in names] or sorted({*self.specs, *self.broken})
        wanted = list(dict.fromkeys(wanted))
        return (
            [self.specs[name] for name in wanted if name in self.specs],
            {name: self.broken[name] for name in wanted if name in self.broken},
        )

    def app_of(self, name: str) -> str:
        """Return the app of a spec, also of a broken one; the spec's name when it says none."""
        return next((app for app, spec in self.apps.items() if spec == name), name)

    def _resolve(self, name: str) -> str:
        """Return the spec of a name, of an app's name, or of the path of its file."""
        path = Path(name)
        is_file = (
            path.suffix in _ENDINGS and path.resolve().parent == self.folder("specs").resolve()
        )
        wanted = path.stem if is_file else name
        if wanted in self.specs or wanted in self.broken:
            return wanted
        if wanted in self.apps:
            return self.apps[wanted]
        raise UnknownName("spec", name, [*self.specs, *self.broken, *self.apps])


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above ``start`` that holds an olapps.toml.

    Raises WorkspaceError when there is none.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG_FILE).is_file():
            return folder
    raise WorkspaceError(
        f"no {CONFIG_FILE} in {start} or any folder above it",
        hint="run olapps init to make a workspace, or change into one",
    )


def load_config(root: Path) -> WorkspaceConfig:
    """Return what the olapps.toml at ``root`` says; raises WorkspaceError when it cannot."""
    file = root / CONFIG_FILE
    try:
        data = file.read_bytes()
    except OSError as error:
        raise WorkspaceError(
            f"{file} cannot be read: {error.strerror}",
            hint="run olapps init to make a workspace, or change into one",
        ) from None
    return read_config(data, PurePath(CONFIG_FILE))


def load_workspace(
    root: Path,
    *,
    model: type[AppSpec[Any]],
    facts: Facts | None = None,
    each: Each = lambda work, items: list(map(work, items)),
) -> Workspace:
    """Load the workspace at ``root``.

    ``model`` comes from the registry of engines; with ``facts``, placeholders of the texts are
    checked too. ``each`` applies a function to every item, perhaps in several processes. A
    broken spec does not hide the others: it is kept aside in ``broken``. Raises WorkspaceError
    when there is no workspace, olapps.toml is wrong, or there is no spec at all.
    """
    config = load_config(root)
    specs: dict[str, LoadedSpec] = {}
    broken: dict[str, SpecError] = {}
    apps: dict[str, str] = {}

    def load(file: Path) -> LoadedSpec:
        path = PurePath(file.relative_to(root).as_posix())
        _check_name(path)
        return load_spec(_read_spec(file, path), path=path, model=model, facts=facts)

    def attempt(file: Path) -> SpecParts | None:
        try:
            with _without_collections():
                return load(file).parts()
        except SpecError:  # its places would not survive the way between processes
            return None

    files = _spec_files(root, config.workspace.specs)
    for file, parts in zip(files, each(attempt, files), strict=True):
        try:
            loaded = LoadedSpec.of_parts(parts, model) if parts else load(file)
            specs[loaded.name] = loaded
            apps.setdefault(loaded.spec.app, loaded.name)
        except SpecError as error:
            broken[file.stem] = error
            app = _app_in(file)
            if app:
                apps.setdefault(app, file.stem)
    clashes = fleet_problems(specs.values())
    clashing = {name: specs.pop(name) for name in clashes}
    return Workspace(
        root, config, specs, dict(sorted({**broken, **clashes}.items())), apps, clashing
    )


def _app_in(file: Path) -> str | None:
    """Return the app's name that a broken spec states, None when that cannot be told."""
    if not file.is_file():  # a pipe would be waited for
        return None
    try:
        with file.open("rb") as stream:
            found = _APP.search(stream.read(MAX_BYTES).decode(errors="replace"))
    except OSError:
        return None
    return found[1] if found else None


@contextmanager
def _without_collections() -> Iterator[None]:
    """Pause the garbage collector: a parsed file is thousands of objects and no cycle.

    Looking for cycles among them takes half of the time that a thousand specs need.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _spec_files(root: Path, folder: str) -> list[Path]:
    """Return the spec files of a workspace in alphabetical order.

    Hidden files are no specs, nor are the locks that lie beside them.
    """
    try:
        files = [
            file
            for file in (root / folder).iterdir()
            if file.suffix in _ENDINGS
            and not file.name.startswith(".")
            and not file.name.endswith(".lock.yaml")
        ]
    except NotADirectoryError:
        raise WorkspaceError(f"{folder} is no folder", hint="specs live in it") from None
    except OSError as error:
        raise WorkspaceError(
            f"the folder {folder} with the specs cannot be read: {error.strerror}",
            hint="make it, or name another one in olapps.toml under [workspace] specs",
        ) from None
    if not files:
        raise WorkspaceError(
            f"the folder {folder} holds no spec",
            hint="a spec is a file such as my-model.yaml; olapps init writes a first one",
        )
    return sorted(files)


def _check_name(path: PurePath) -> None:
    if path.suffix == ".yml":
        message, hint = "a spec's file name ends in .yaml", f"rename it to {path.stem}.yaml"
    elif not _NAME.fullmatch(path.stem):
        message = f"'{path.stem}' is no spec name: only a-z, 0-9 and hyphens"
        hint = f"rename it to {re.sub('[^a-z0-9]+', '-', path.stem.lower()).strip('-')}.yaml"
    else:
        return
    raise SpecError([Problem(message, path, hint=hint)])


def _read_spec(file: Path, path: PurePath) -> bytes:
    try:
        # Opening anything but a file could wait for ever.
        if not file.is_file():
            raise SpecError([Problem("is no file that can be read", path)])
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError([Problem(f"cannot be read: {error.strerror}", path)]) from None
