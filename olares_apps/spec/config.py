"""olapps.toml: what a workspace says about itself."""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, StrictStr, model_validator

from olares_apps.errors import UnknownName, nearest
from olares_apps.generations import GENERATIONS
from olares_apps.spec.models import Closed
from olares_apps.spec.types import Identifier, Line, Url

__all__ = [
    "CONFIG_FILE",
    "ChecksConfig",
    "FitConfig",
    "Folders",
    "MarketConfig",
    "PublisherConfig",
    "SeverityChange",
    "SourceConfig",
    "WorkerConfig",
    "WorkspaceConfig",
]

CONFIG_FILE: Final = "olapps.toml"
_ADDRESS: Final = re.compile(r"dir:.|https?://.")
_NAMES: Final = [generation.name for generation in GENERATIONS]


def _folder(value: str) -> str:
    parts = value.replace("\\", "/").split("/")
    if not value or value.startswith("/") or ":" in parts[0] or ".." in parts:
        raise ValueError("must be a folder inside the workspace")
    return value


def _address(value: str) -> str:
    if not _ADDRESS.match(value):
        raise ValueError("must be dir:FOLDER or a web address that begins with https://")
    return value


def _generation(value: str) -> str:
    if value not in _NAMES:
        guess = nearest(value, _NAMES)
        raise ValueError(f"is no generation; did you mean {guess or ' or '.join(_NAMES)}?")
    return value


Folder = Annotated[StrictStr, AfterValidator(_folder)]
Address = Annotated[StrictStr, AfterValidator(_address)]
GenerationName = Annotated[StrictStr, AfterValidator(_generation)]


class PublisherConfig(Closed):
    """Who publishes: defaults for all specs of the workspace."""

    name: Line
    """Name that the market shows as submitter."""
    website: Url
    """Home page of the publisher."""
    icons: Url
    """Address under which ``<app>.png`` is served."""

    def values(self) -> dict[str, str]:
        """Return the plain values; ``icons`` has no trailing slash."""
        return {**self.model_dump(), "icons": self.icons.rstrip("/")}


class Folders(Closed):
    """Where the workspace keeps things, relative to its root."""

    specs: Folder = "apps"
    """Spec files."""
    charts: Folder = "charts"
    """Rendered charts."""
    icons: Folder = "icons"
    """Icons, ``<app>.png``."""
    screenshots: Folder = "screenshots"
    """Copies of the screenshots that specs name, under their own names; need not exist."""
    templates: Folder = "templates"
    """Templates that replace single built-in ones; the folder need not exist."""
    images: Folder = "images"
    """Image recipes; the folder need not exist."""


class SourceConfig(Closed):
    """How the market presents itself to devices."""

    id: Identifier = "olapps"
    """Id of the source, which a device keeps for ever."""
    label: Annotated[Line, Field(max_length=50)] = "olapps"
    """Name for people, at most 50 characters."""


class MarketConfig(Closed):
    """The markets that this workspace publishes to."""

    default: Line = "dir:.market"
    """Market that commands use unless one is named: a name of ``stores`` or an address."""
    stores: dict[Identifier, Address] = Field(default_factory=dict)
    """Further markets by name."""
    source: SourceConfig = SourceConfig()
    """How the market presents itself."""

    def address(self, name: str | None = None) -> str:
        """Return the address of a market by name, of an address itself, or of the default.

        Raises UnknownName for a name that is neither.
        """
        wanted = name or self.default
        found = self.stores.get(wanted)
        if found is None and not _ADDRESS.match(wanted):
            raise UnknownName("market", wanted, list(self.stores))
        return found or wanted


def _account(value: str) -> str:
    if value and not re.fullmatch("[0-9a-f]{32}", value):
        raise ValueError("must be the 32 hex digits of a Cloudflare account")
    return value


class WorkerConfig(Closed):
    """The Cloudflare Worker that serves the market; deploys go there and nowhere else."""

    name: Identifier
    """Name of the Worker, the first part of its workers.dev address."""
    bucket: Identifier | None = None
    """Name of the R2 bucket; by default that of the Worker."""
    account: Annotated[StrictStr, AfterValidator(_account)] = ""
    """Id of the Cloudflare account, 32 hex digits; needed to deploy."""
    folder: Folder = "worker"
    """Where the Worker's sources and configuration are."""


class SeverityChange(Closed):
    """Another severity for a rule, with the reason for it."""

    level: Literal["error", "warning", "info", "off"]
    """New severity; ``off`` silences the rule."""
    reason: Line
    """Why; reports show it."""
    apps: list[Identifier] = Field(default_factory=list)
    """Apps or specs that it holds for; by default all of the workspace."""


class ChecksConfig(Closed):
    """How checks behave in this workspace."""

    severity: dict[str, SeverityChange] = Field(default_factory=dict)
    """Changes by rule id."""


class FitConfig(Closed):
    """When a model counts as fitting into GPU memory."""

    error_below_mib: Annotated[int, Field(ge=0, le=2**20)] = 256
    """Free GPU memory in MiB below which a model does not fit: an error."""
    warn_below_mib: Annotated[int, Field(ge=0, le=2**20)] = 1024
    """Free GPU memory in MiB below which it is tight: a warning; not below the former."""

    @model_validator(mode="after")
    def _grow(self) -> Self:
        if self.error_below_mib > self.warn_below_mib:
            raise ValueError(
                f"error_below_mib {self.error_below_mib} is above "
                f"warn_below_mib {self.warn_below_mib}"
            )
        return self


class WorkspaceConfig(Closed):
    """A whole olapps.toml."""

    schema_: Literal[1] = Field(alias="schema")
    """Version of this file's form; 1."""
    publisher: PublisherConfig
    """Who publishes."""
    workspace: Folders = Folders()
    """Where things are."""
    market: MarketConfig = MarketConfig()
    """Where to publish."""
    worker: WorkerConfig | None = None
    """The market's Worker."""
    checks: ChecksConfig = ChecksConfig()
    """How checks behave."""
    fit: FitConfig = FitConfig()
    """Margins of GPU memory."""
    generations: Annotated[list[GenerationName], Field(min_length=1)] = _NAMES
    """Generations to render; by default all."""
