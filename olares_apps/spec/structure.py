"""Parts of a spec that shape the chart beside the server: ports, folders, settings, variants.

Sources: the Olares contract, sections 5.1, 5.5, 6.2 and 8.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, StrictInt, StrictStr

from olares_apps.spec.closed import Closed
from olares_apps.spec.types import (
    ArgumentText,
    EntranceTitle,
    EnvName,
    Folder,
    Identifier,
    Image,
    Line,
    Port,
    RelativeFolder,
)

__all__ = [
    "ACCELERATORS",
    "CONSOLE",
    "CONSOLE_TITLE",
    "Entrance",
    "FurtherEntrance",
    "InitStep",
    "Service",
    "Setting",
    "Support",
    "Variant",
    "Volume",
]

# The modes that every release with accelerator modes knows, with the architecture each needs.
ACCELERATORS: Final = {
    "nvidia": "amd64",
    "nvidia-gb10": "arm64",
    "amd-gpu": "amd64",
    "apple-m": "arm64",
    "cpu": None,
}

CONSOLE: Final = "console"
"""Name of Model Console's Deployment, container and entrance; its Service is ``APP-console``."""
CONSOLE_TITLE: Final = "Model Console"
"""Title of its entrance."""


# The device compares numbers as 64-bit floats, which hold whole numbers exactly up to here.
Whole = Annotated[StrictInt, Field(ge=-(2**53), le=2**53)]


class _Access(Closed):
    """Who opens an entrance, how, and what lies behind it."""

    auth_level: Literal["public", "private", "internal"] = "internal"
    """Who gets in: everybody, logged-in users, or the device's own network."""
    open_method: Literal["default", "iframe", "window"] = "window"
    """How the desktop opens it."""
    service: Identifier | None = None
    """Name of a further service that it leads to; by default the server's own port."""


class Entrance(_Access):
    """How a person or a client reaches the app."""

    title: EntranceTitle | None = None
    """Title under the icon; by default the app's title without the characters not allowed."""


class FurtherEntrance(_Access):
    """One more entrance. The first version should have it: adding one changes the addresses of
    those that exist."""

    name: Identifier
    """Name of the entrance, unique in the app."""
    title: EntranceTitle
    """Title under its icon."""
    invisible: bool = False
    """No icon on the desktop; the address works all the same."""


class Service(Closed):
    """A further port of the server, reachable in the cluster as ``APP-NAME``."""

    name: Identifier
    """Name of the port; the Service is called ``APP-NAME``."""
    port: Port
    """Port that the server listens on."""


class Volume(Closed):
    """A folder of the device that the server sees."""

    source: Literal["app-data", "app-cache", "user-data"]
    """The app's own folder, its cache, or the user's home, which the user can browse."""
    folder: RelativeFolder
    """Folder below the source; it is created when it is missing."""
    mounts: Annotated[list[Folder], Field(min_length=1)]
    """Where the container sees it, one or several places."""


class InitStep(Closed):
    """A step that runs before the server and must succeed; it sees the server's folders."""

    name: Identifier
    """Name of the container."""
    image: Image
    """Its image, of docker.io: devices let no other registry's images run as root."""
    command: Annotated[list[ArgumentText], Field(min_length=1)]
    """What it runs, one list item per word."""


class Setting(Closed):
    """A value that the owner of the device may change in the app's settings.

    With ``field`` it changes a value of the server's arguments, and left empty it is what the
    spec says. Without, the server gets a variable, and only while a value is set.
    """

    description: Line
    """What it does, for the owner."""
    field: Line | None = None
    """Field of the spec that it changes, for example ``engine.ctx``."""
    type: Literal["string", "int", "bool", "url", "password", "quantity"] | None = None
    """Kind of value; by default that of the field, and string without one."""
    min: Whole | None = None
    """Smallest number."""
    max: Whole | None = None
    """Largest number."""
    choices: list[Whole | StrictStr] = Field(default_factory=list)
    """The only values allowed."""
    required: bool = False
    """The app cannot be installed without a value."""
    source: EnvName | None = None
    """Variable of the user or the system that gives the value, for example
    ``OLARES_USER_HUGGINGFACE_TOKEN``."""

    def extremes(self) -> list[tuple[tuple[str | int, ...], int | str]]:
        """Return the values at the ends of what is allowed, with their place in the setting."""
        ends: list[tuple[tuple[str | int, ...], int | str]] = [
            (("choices", index), choice) for index, choice in enumerate(self.choices)
        ]
        if self.min is not None:
            ends.append((("min",), self.min))
        if self.max is not None:
            ends.append((("max",), self.max))
        return ends


class Support(Closed):
    """The machines that the image runs on."""

    arch: list[Literal["amd64", "arm64"]] = Field(default=["amd64"], min_length=1)
    """CPU architectures of the image."""
    accelerators: list[Literal["nvidia", "nvidia-gb10", "amd-gpu", "apple-m", "cpu"]] = Field(
        default=["nvidia"], min_length=1
    )
    """What a server that computes on the GPU may run on; releases before 1.12.6 know only
    nvidia."""


class Variant(Closed):
    """What is different on one device."""

    set: Annotated[dict[StrictStr, JsonValue], Field(min_length=1)]
    """Dotted fields and their values there, for example ``engine.ctx: 65536``. A model file with
    another name takes nothing over from the one it replaces, and stated memory does not outlive a
    change of engine or model: state size, quant and memory again."""
