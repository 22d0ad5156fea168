"""Any server image: the spec says what runs, how it is asked, and what it downloads."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from olares_apps.engines.base import (
    MODEL_FOLDER,
    Engine,
    EngineFetch,
    Launch,
    ServerProbe,
    StoredFile,
    load_seconds,
)
from olares_apps.errors import RenderError
from olares_apps.spec.models import AppSpec, Closed, EngineSettings
from olares_apps.spec.placeholders import expand
from olares_apps.spec.quantity import parse_quantity
from olares_apps.spec.types import ArgumentText, Folder, Quantity

__all__ = ["ENGINE", "Container", "ContainerSettings"]

_MIB: Final = 2**20
_GB: Final = 10**9


class Probe(Closed):
    """How to ask whether the server is up."""

    path: Annotated[ArgumentText, Field(pattern=r"^/[\x21-\x7e]*$")] | None = None
    """Path that answers with 200; without one, an open port is enough."""
    seconds: Annotated[int, Field(ge=1, le=86400)] | None = None
    """Seconds that a start may take; by default from the size of the model."""


class ContainerSettings(EngineSettings):
    """Settings of a server of any kind.

    Command and arguments may name places: ``{{ target }}``, ``{{ drafter }}``, ``{{ mmproj }}``
    and ``{{ extra }}`` of model files, ``{{ models }}`` of the folder that all of them lie in.
    Files of the workspace are put into the container by ``config_files``.
    """

    type: Literal["container"]
    """Name of the engine."""
    command: list[ArgumentText] = Field(default_factory=list)
    """What runs, one list item per word; by default the image's entry point."""
    args: list[ArgumentText] = Field(default_factory=list)
    """Its arguments, one list item per argument."""
    ctx: Annotated[int, Field(ge=1, le=2**26)] | None = None
    """Context in tokens, for texts; the arguments must agree with it."""
    openai_api: bool = False
    """The server speaks the OpenAI API, with the alias as model id."""
    gpu: bool = True
    """The server needs the GPU."""
    gpu_share: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the card's memory that the server takes whatever the model needs."""
    scratch: list[Folder] = Field(default_factory=list)
    """Folders of the container that begin empty at every start."""
    shm: Quantity | None = None
    """Size of a memory volume at ``/dev/shm``."""
    cache_env: dict[Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")], ArgumentText] = Field(
        default={"HF_HOME": f"{MODEL_FOLDER}/huggingface"}
    )
    """Variables that keep what the server downloads (``model.repos``) on the model volume."""
    probe: Probe = Probe()
    """Start-up and liveness of the server."""

    @property
    def context_tokens(self) -> int | None:
        """Return the stated context in tokens."""
        return self.ctx


class Container(Engine[ContainerSettings]):
    """The engine object: registered under the entry point ``container``."""

    name = "container"
    settings = ContainerSettings

    def launch(self, spec: AppSpec[ContainerSettings], files: Sequence[StoredFile]) -> Launch:
        """Return what the container runs.

        Raises RenderError when downloads would be lost, and SpecError for a placeholder that
        no file answers to.
        """
        settings, places = spec.engine, _places(files)
        command, args, further = (
            [
                expand(item, places, f"engine.{name}.{index}")
                for index, item in enumerate(getattr(settings, name))
            ]
            for name in ("command", "args", "extra_args")
        )
        repos = [None if item.size_gb is None else item.size_gb * _GB for item in spec.model.repos]
        known = [round(size) for size in repos if size is not None]
        total = sum(known) if len(known) == len(repos) else None
        loaded = [item.about for item in files] + ([total] if repos else [])
        seconds = settings.probe.seconds or load_seconds(loaded)
        return Launch(
            command=command,
            argv=[*args, *further],
            probe=ServerProbe(settings.probe.path or "", seconds),
            scratch=settings.scratch,
            gpu=settings.gpu,
            gpu_share=settings.gpu_share if settings.gpu else None,
            shm_mib=-(-parse_quantity(settings.shm) // _MIB) if settings.shm else None,
            fetch=_fetch(settings, total) if repos else None,
        )

    def facts(self, spec: AppSpec[ContainerSettings]) -> Mapping[str, object]:
        """Return the facts of this engine that texts may name."""
        return {"build": spec.engine.build or "", "openai_api": spec.engine.openai_api}


ENGINE = Container()


def _places(files: Sequence[StoredFile]) -> Mapping[str, object]:
    """Return where files lie, by role: of several, the first."""
    places: dict[str, object] = {"models": MODEL_FOLDER}
    for item in files:
        places.setdefault(item.role, item.path)
    return places


def _fetch(settings: ContainerSettings, size: int | None) -> EngineFetch:
    inside = [value for value in settings.cache_env.values() if value.startswith(MODEL_FOLDER)]
    if not inside:
        raise RenderError(
            "the server downloads model.repos, but no variable of engine.cache_env points below "
            f"{MODEL_FOLDER}: the model would be lost at every restart",
            field="engine.cache_env",
            hint=f"set HF_HOME to {MODEL_FOLDER}/huggingface, or what this server reads",
        )
    return EngineFetch(size=size, env=settings.cache_env)
