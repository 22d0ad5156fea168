"""What an engine is: settings that become arguments, environment and probes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from olares_apps.spec.models import AppSpec, EngineSettings

__all__ = ["Engine", "Launch", "ServerProbe", "StoredFile"]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A model file where the server container sees it.

    ``path`` is absolute inside the container; ``folder`` is relative to the model volume
    and keyed by repository and revision, so that two apps never share a file by accident.
    """

    role: str
    repo: str
    revision: str
    remote: str
    folder: str
    path: str
    size: int | None
    sha256: str | None


@dataclass(frozen=True, slots=True)
class ServerProbe:
    """How to ask the server whether it is up, and how long loading may take (seconds)."""

    path: str
    load_seconds: int


@dataclass(frozen=True, slots=True)
class Launch:
    """What the server container runs.

    ``argv`` is the argument list as the server process receives it, without the binary.
    ``config`` holds the ConfigMap keys that people look for (``CTX_SIZE``); an argument
    equal to a value named in ``refers`` is written in the chart as ``$(KEY)``, so that
    chart and process cannot disagree: ``refers`` maps an index of ``argv`` to a key.
    """

    command: Sequence[str]
    argv: Sequence[str]
    probe: ServerProbe
    config: Mapping[str, str] = field(default_factory=dict)
    refers: Mapping[int, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


SettingsT = TypeVar("SettingsT", bound=EngineSettings)


class Engine(Protocol[SettingsT]):
    """One inference server. Built-in engines and plug-ins register the same way."""

    name: str
    settings: type[EngineSettings]

    def launch(self, spec: AppSpec[SettingsT], files: Sequence[StoredFile]) -> Launch:
        """Turn the settings of a spec into what the container runs."""
        ...

    def facts(self, spec: AppSpec[SettingsT]) -> Mapping[str, object]:
        """Return what texts may name besides the common facts (``kv``, ``draft_n`` ...)."""
        ...
