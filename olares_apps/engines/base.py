"""What an engine is: settings that become arguments, environment and probes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final, Generic, TypeVar

from olares_apps.engines.flags.files import load_table
from olares_apps.engines.flags.tables import TableMatch, find_table
from olares_apps.spec.models import AppSpec, EngineSettings

__all__ = [
    "ASSET_FOLDER",
    "MODEL_FOLDER",
    "Engine",
    "EngineFetch",
    "Launch",
    "ServerProbe",
    "StoredFile",
    "load_seconds",
    "package_table",
    "package_templates",
]

MODEL_FOLDER: Final = "/models"
"""Where the server container sees the model volume."""
ASSET_FOLDER: Final = "/config"
"""Where the server container sees the workspace files that its settings name."""

# The start-up budget covers loading alone: the download runs before the server, outside the
# probe. The rate is that of a slow disk shared with other apps, in bytes per second; the base
# covers the start of CUDA and a first compilation of kernels. A server that fails ends by
# itself, so a long budget costs nothing; a short one kills a slow load for ever.
_LOAD_RATE: Final = 50 * 10**6
_LOAD_BASE_SECONDS: Final = 300
# Taken for files of unknown size: more than fits on the cards that the charts are made for.
_UNKNOWN_FILE_BYTES: Final = 24 * 10**9


def load_seconds(sizes: Sequence[int | None]) -> int:
    """Return the seconds that a server may take to load files of these sizes (bytes)."""
    size = sum(_UNKNOWN_FILE_BYTES if size is None else size for size in sizes)
    return _LOAD_BASE_SECONDS + -(-size // _LOAD_RATE)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A model file where the server container sees it.

    ``path`` is absolute inside the container; ``folder`` is relative to the model volume
    and keyed by repository and revision, so that two apps never share a file by accident.
    ``size`` (bytes) and ``sha256`` are exact facts that the download is verified with;
    ``about`` is the best known size in bytes, good for budgets only.
    """

    role: str
    repo: str
    revision: str
    remote: str
    folder: str
    path: str
    size: int | None
    sha256: str | None
    about: int | None = None


@dataclass(frozen=True, slots=True)
class ServerProbe:
    """How to ask the server whether it is up, and how long loading may take (seconds).

    ``path`` is asked by HTTP; when it is empty, a TCP connection is enough. What the server
    downloads itself is not counted here: the chart adds it by :class:`EngineFetch`.
    """

    path: str
    load_seconds: int


@dataclass(frozen=True, slots=True)
class EngineFetch:
    """A model that the server downloads itself when it starts.

    ``size`` is what it downloads in bytes, when known; ``env`` are further variables that point
    its cache below :data:`MODEL_FOLDER`, so that a restart finds what was downloaded.
    """

    size: int | None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Launch:
    """What the server container runs.

    ``argv`` is the argument list as the server process receives it, without the binary.
    ``config`` holds the ConfigMap keys that people look for (``CTX_SIZE``); an argument
    equal to a value named in ``refers`` is written in the chart as ``$(KEY)``, so that
    chart and process cannot disagree: ``refers`` maps an index of ``argv`` to a key.
    ``scratch`` names folders of the container that need an empty volume. ``assets`` maps a
    file name below :data:`ASSET_FOLDER` to the workspace file that is carried there verbatim.
    ``gpu`` says whether the server needs the GPU. An empty ``command`` keeps the image's own
    entry point. ``mounts`` maps an absolute file of the container to the workspace file that is
    put there alone, beside what the image holds in that folder. ``shm_mib`` is the size of the
    memory volume at ``/dev/shm`` in MiB. ``fetch`` is set when the server downloads its model.
    ``gpu_share`` is the share of the card's memory (0 to 1) that the server takes whatever the
    model needs, None when it takes what the model needs.
    """

    command: Sequence[str]
    argv: Sequence[str]
    probe: ServerProbe
    config: Mapping[str, str] = field(default_factory=dict)
    refers: Mapping[int, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    scratch: Sequence[str] = ()
    assets: Mapping[str, str] = field(default_factory=dict)
    gpu: bool = True
    mounts: Mapping[str, str] = field(default_factory=dict)
    shm_mib: int | None = None
    fetch: EngineFetch | None = None
    gpu_share: float | None = None


SettingsT = TypeVar("SettingsT", bound=EngineSettings)


class Engine(Generic[SettingsT], ABC):
    """One inference server. Built-in engines and plug-ins register the same way.

    A subclass sets ``name``, which is also its entry point and the ``type`` of its settings,
    and ``settings``, their model.
    """

    name: str
    settings: type[EngineSettings]

    @abstractmethod
    def launch(self, spec: AppSpec[SettingsT], files: Sequence[StoredFile]) -> Launch:
        """Turn the settings of a spec into what the container runs."""

    def facts(self, spec: AppSpec[SettingsT]) -> Mapping[str, object]:
        """Return what texts may name besides the common facts (``kv``, ``draft_n`` ...)."""
        return {}

    def flag_table(self, settings: SettingsT) -> TableMatch | None:
        """Return the options that the build accepts, None for an engine without tables.

        Engines of this package have their tables as data; a plug-in reads its own, for example
        with :func:`package_table`.
        """
        match = find_table(self.name, settings.build_name)
        return match if match.table else None

    def templates(self) -> Mapping[str, str]:
        """Return page-text templates by name below ``engines/<name>/`` (``en-US/runs.md``).

        Those of this package's engines lie in the templates folder; a plug-in returns its own,
        for example with :func:`package_templates`. A workspace overrides single ones.
        """
        return {}


def package_templates(package: str, folder: str = "templates") -> Mapping[str, str]:
    """Return the ``.md`` files of a folder of a package as page-text templates."""
    top = files(package) / folder
    return {
        f"{locale.name}/{item.name}": item.read_text(encoding="utf-8")
        for locale in top.iterdir()
        if locale.is_dir()
        for item in locale.iterdir()
        if item.name.endswith(".md")
    }


def package_table(package: str, name: str) -> TableMatch:
    """Return the flag table in a file of a package, for every build of its engine."""
    text = (files(package) / name).read_text(encoding="utf-8")
    table = load_table(text, lambda base: (files(package) / f"{base}.json").read_text("utf-8"))
    return TableMatch(table.engine, table.build, table, True, table.build, True, table.build)
