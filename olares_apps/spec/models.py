"""The spec: one closed, typed description of one app.

Everything that a chart says twice is said here once. Field docstrings are the field
reference (``docs/specs.md`` is generated from them), so they state units and defaults.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Final, Generic, Literal, TypeVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from olares_apps.spec.bench import BenchRecord, BenchRun, Protocol
from olares_apps.spec.closed import Closed
from olares_apps.spec.rules import conflicts
from olares_apps.spec.structure import (
    Entrance,
    FurtherEntrance,
    InitStep,
    Service,
    Setting,
    Support,
    Variant,
    Volume,
)
from olares_apps.spec.types import (
    Alias,
    AppName,
    ArgumentText,
    Cpu,
    EnvName,
    FilePath,
    Identifier,
    Image,
    Line,
    Locale,
    ModelPath,
    Port,
    Quantity,
    RepoId,
    Revision,
    Sentence,
    Sha256,
    Text,
    Title,
    Url,
    Version,
    app_id,
)

__all__ = [
    "CONFLICT",
    "AppSpec",
    "AppText",
    "BenchRecord",
    "BenchRun",
    "Closed",
    "EngineSettings",
    "EngineT",
    "Entrance",
    "License",
    "Licenses",
    "MeasuredMemory",
    "MemoryPart",
    "Model",
    "ModelAlternative",
    "ModelFile",
    "ModelRepo",
    "Protocol",
    "Release",
    "Resources",
]

CONFLICT: Final = "conflict"
"""Type of the error for fields that are right alone and wrong together."""


class License(Closed):
    """A licence by name and address."""

    text: Line
    """Name of the licence, for example ``Apache-2.0``."""
    url: Url
    """Where its text is."""


class Licenses(Closed):
    """The licences that a reader of the page needs: of the model and of the engine."""

    model: License
    """Licence of the model weights."""
    engine: License
    """Licence of the inference server."""


class ModelFile(Closed):
    """One file of a model repository that the app downloads."""

    role: Literal["target", "mmproj", "drafter", "extra"] = "target"
    """What the engine does with it."""
    repo: RepoId
    """Repository on the model hub, ``OWNER/NAME``."""
    file: ModelPath
    """Path of the file inside the repository; of a split GGUF, the first part."""
    stored_as: ModelPath | None = None
    """Name on the device when it must differ from the remote one."""
    quant: Line | None = None
    """Quantisation label as people know it, for example ``UD-Q3_K_XL``."""
    size_gb: Annotated[float, Field(gt=0, le=2000)] | None = None
    """Stated size in GB (10^9 bytes), for texts and budgets until the exact size is known."""
    size: Annotated[int, Field(gt=0, le=2 * 10**12)] | None = None
    """Exact size in bytes; the device refuses a file of another size."""
    sha256: Sha256 | None = None
    """Digest of the file; the device refuses other content."""
    revision: Revision = "main"
    """Commit (preferred) or branch to download from."""


class ModelRepo(Closed):
    """One model repository that the server itself downloads, whole, when it starts."""

    role: Literal["target", "drafter", "extra"] = "target"
    """What the engine does with it."""
    repo: RepoId
    """Repository on the model hub, ``OWNER/NAME``."""
    revision: Revision = "main"
    """Commit (preferred) or branch to download from."""
    quant: Line | None = None
    """Quantisation label as people know it, for example ``NVFP4``."""
    size_gb: Annotated[float, Field(gt=0, le=2000)] | None = None
    """Stated size of what the server downloads in GB (10^9 bytes), for texts and budgets."""


class ModelAlternative(Closed):
    """The same model in another repository; the app does not download it."""

    repo: RepoId
    """Repository on the model hub, ``OWNER/NAME``."""
    file: ModelPath
    """Path of the file inside the repository; of a split GGUF, the first part."""
    revision: Revision = "main"
    """Commit or branch to look at."""


class Model(Closed):
    """The model that the app serves, as its page names it."""

    name: Line
    """Name for people, for example ``Qwen3.6 35B-A3B``."""
    kind: Line
    """Class of the model in a few words, for example ``35B MoE-A3B + MTP``."""
    native_ctx: Annotated[int, Field(ge=256, le=2**26)]
    """Longest context the model was trained for, in tokens."""
    modalities: list[Literal["text", "vision", "audio", "speech", "image", "video"]] = Field(
        default=["text"]
    )
    """What goes in and comes out."""
    files: list[ModelFile] = Field(default_factory=list)
    """Files to download, the target first."""
    folder: Literal["app", "shared"] = "app"
    """Where they lie: in the app's own folder, or in the one that all apps share, where a second
    app finds them too. Releases before 1.12.6 have no shared folder."""
    console: bool = False
    """On releases from 1.12.6 on, Model Console downloads the files and shows its progress at an
    entrance of its own, for public models. The first version should have it: a further entrance
    changes the addresses of those that exist."""
    repos: list[ModelRepo] = Field(default_factory=list)
    """Repositories that the server downloads itself, for engines that do."""
    alternatives: list[ModelAlternative] = Field(default_factory=list)
    """The model in other repositories: ``olapps lock`` reads their headers, and findings name
    those that carry an MTP head which the target lacks."""


class MemoryPart(Closed):
    """One part of a stated GPU memory need."""

    part: Line
    """What takes the memory, for example ``weights`` or ``kv cache``."""
    gb: Annotated[float, Field(gt=0, le=2000)]
    """Its size in GB (10^9 bytes)."""


class MeasuredMemory(Closed):
    """GPU memory that the running server was seen to take, and in which configuration.

    It counts, before any estimate, for a spec with exactly this configuration; the fields
    below ``files`` are compared where the engine has such a setting.
    """

    mib: Annotated[int, Field(gt=0, le=2**22)]
    """GPU memory of the server in MiB, after a prompt near the full context."""
    source: Line
    """Who measured it, when and how, or where it was published."""
    hardware: Line = "olares-one"
    """Hardware profile it was measured on."""
    build: Line
    """Build or image of the server: ``b11434``, or a whole image reference."""
    files: Annotated[list[ModelPath], Field(min_length=1)]
    """What was loaded: files as ``model.files`` names them, repositories as ``model.repos``."""
    ctx: Annotated[int, Field(gt=0, le=2**26)]
    """Configured context in tokens."""
    kv: Line
    """Type of the KV cache, for example ``q4_0``, or ``q8_0/q4_0`` for keys and values."""
    parallel: Annotated[int, Field(gt=0, le=65536)]
    """Slots, or the most requests at a time."""
    ubatch: Annotated[int, Field(gt=0, le=2**26)] = 512
    """Physical batch in tokens."""
    draft_n: Annotated[int, Field(ge=0, le=65536)] = 0
    """Most tokens drafted per step; 0 without speculation."""


class Resources(Closed):
    """What the server container asks for and may use at most."""

    cpu: Cpu = "4"
    """CPU request in cores."""
    memory: Quantity = "24Gi"
    """Memory request."""
    cpu_limit: Cpu = "16"
    """CPU limit in cores."""
    memory_limit: Quantity = "40Gi"
    """Memory limit; the shared memory of an engine that uses it comes on top."""
    gpu_memory: Quantity | None = None
    """GPU memory that the app needs; by default computed from the model and its settings."""
    gpu_memory_parts: list[MemoryPart] = Field(default_factory=list)
    """A stated memory sum from a source; used when nothing better is known."""
    gpu_measured: list[MeasuredMemory] = Field(default_factory=list)
    """Measured GPU memory by configuration; one that matches the spec wins over every estimate."""
    disk: Quantity | None = None
    """Disk that the app needs; by default computed from the files it downloads."""


class Release(Closed):
    """What changed in one version."""

    version: Version
    """The version, quoted."""
    notes: Text
    """What changed, for the owner of a device; may hold placeholders."""


class AppText(Closed):
    """Free text of the page. Numbers come from the spec through placeholders."""

    summary: Sentence
    """One plain sentence."""
    about: Text = ""
    """Longer description, Markdown."""
    limits: list[Text] = Field(default_factory=list)
    """What the app cannot do, one sentence each."""


class EngineSettings(Closed):
    """What every engine has in common; each engine adds its own settings."""

    context_field: ClassVar[str] = "ctx"
    """Name of the setting that :attr:`context_tokens` reads."""

    type: Line
    """Name of the engine."""
    image: Image
    """Container image of the server, with registry and tag."""
    build: Line | None = None
    """Build whose flag table applies; by default that of the recipe, else read from the image's
    tag."""
    recipe: Identifier | None = None
    """Recipe of the workspace's folder ``images`` that the image is built from: its CUDA version,
    architectures and build then count for the app (docs/images.md)."""
    port: Port = 8000
    """Port that the server listens on; entrance, Service and probes follow."""
    env: dict[EnvName, ArgumentText] = Field(default_factory=dict)
    """Further environment variables of the server."""
    extra_args: list[ArgumentText] = Field(default_factory=list)
    """Arguments that the typed settings do not cover, one list item per argument."""

    @property
    def context_tokens(self) -> int | None:
        """Return the configured context in tokens, or None when the engine has none."""
        return None

    @property
    def build_name(self) -> str:
        """Return what the flag table is looked up by: the stated build, else the image."""
        return self.build or self.image

    @classmethod
    def reserved_arguments(cls) -> Mapping[str, str]:
        """Return the flags that ``extra_args`` must not hold, with what to set instead.

        Keys are flags as the server spells them, short forms and aliases included
        (``--ctx-size``, ``-c``); values are dotted fields of the spec (``engine.ctx``).
        """
        return {}


EngineT = TypeVar("EngineT", bound=EngineSettings)


class AppSpec(Closed, Generic[EngineT]):
    """One app, completely."""

    app: AppName
    """Olares app name: folder, chart, Deployment and Service are named so."""
    version: Version
    """Version of the oldest generation's archive; newer generations follow it by one each."""
    title: Title
    """Title in the market, at most 30 bytes."""
    alias: Alias
    """Model id that the API answers to."""
    text: AppText
    """Free text in English."""
    locales: dict[Locale, AppText] = Field(default_factory=dict)
    """Free text in further languages; what is derived needs no entry."""
    categories: list[Line] = Field(default=["AI"], min_length=1)
    """Categories of the market's sidebar."""
    icon: Url | None = None
    """Icon address; by default the market's own icon of that app."""
    screenshots: list[Url] = Field(default_factory=list, max_length=8)
    """Addresses of screenshots, 1440x900 each; copies in ``screenshots/`` are checked."""
    developer: Line
    """Who made the app."""
    website: Url | None = None
    """Home page; by default the target model's repository."""
    source_code: Url | None = None
    """Source of the engine or the app."""
    licenses: Licenses
    """Licences of model and engine."""
    model: Model
    """The model that the app serves."""
    engine: EngineT
    """The inference server and its settings."""
    resources: Resources = Resources()
    """What the server container asks for."""
    entrance: Entrance = Entrance()
    """How the app is reached."""
    entrances: Annotated[list[FurtherEntrance], Field(max_length=9)] = Field(default_factory=list)
    """Further entrances, in the order of the desktop."""
    services: list[Service] = Field(default_factory=list)
    """Further ports of the server."""
    volumes: list[Volume] = Field(default_factory=list)
    """Folders of the device beside the one for models."""
    config_files: dict[FilePath, ModelPath] = Field(default_factory=dict)
    """Files of the workspace that the server finds at an absolute path, byte for byte."""
    settings: dict[EnvName, Setting] = Field(default_factory=dict)
    """What the owner of the device may change, by the name of the variable."""
    init: list[InitStep] = Field(default_factory=list)
    """Steps that run before the server, after the download."""
    run_as_user: Annotated[int, Field(ge=1, le=65534)] | None = None
    """User id of the server when its image does not run as root."""
    support: Support = Support()
    """Machines that it runs on."""
    not_installable: Line | None = None
    """Why no device can install it. Such an app is shown in the pages and never offered."""
    variants: dict[Identifier, Variant] = Field(default_factory=dict)
    """What is different on other hardware profiles, by the profile's name."""
    hardware: Line = "olares-one"
    """Hardware profile that the settings were chosen for."""
    bench: list[BenchRecord] = Field(default_factory=list)
    """Measured speeds; the first is the headline."""
    releases: list[Release] = Field(default_factory=list)
    """Release notes, newest first."""

    @property
    def id(self) -> str:
        """Return the app's id on a device."""
        return app_id(self.app)

    @property
    def target(self) -> ModelFile | None:
        """Return the file of the served model, or None when the engine fetches it itself."""
        return next(self.files("target"), None)

    def files(self, role: str) -> Iterator[ModelFile]:
        """Yield the model files of one role in spec order."""
        return (item for item in self.model.files if item.role == role)

    def repos(self, role: str) -> Iterator[ModelRepo]:
        """Yield the repositories of one role that the server downloads, in spec order."""
        return (item for item in self.model.repos if item.role == role)

    @property
    def entrance_title(self) -> str:
        """Return the title under the icon: letters, digits, spaces and hyphens, at most 30."""
        if self.entrance.title:
            return self.entrance.title
        kept = re.sub(r"[^A-Za-z0-9 -]+", "", self.title)
        return " ".join(kept.split()) or self.app

    @model_validator(mode="after")
    def _agree(self) -> "AppSpec[EngineT]":
        found = conflicts(self)
        if found:
            message = "; ".join(f"{item.field}: {item.message}" for item in found)
            raise PydanticCustomError(CONFLICT, "{message}", {"message": message})
        return self
