"""What differs between the charts of the generations, as a table.

Sources: the Olares contract, sections 1.2, 5.3, 5.4 and 7. The older generation is apiVersion
v2 without sub-charts: a linter of that time wants sub-charts there, the devices do not, and
every public chart of that generation is made so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from olares_apps.errors import RenderError
from olares_apps.generations import Generation

__all__ = ["SERVER", "Traits", "runs_on_gpu", "traits_of"]

SERVER: Final = "server"
"""Name of the server's container; newer devices inject the GPU by container name."""


@dataclass(frozen=True, slots=True)
class Traits:
    """How a generation wants its charts.

    ``gpu_inject`` is the value of the injection annotation. ``accelerator`` says that the
    resources stand in an accelerator block, else in flat fields. ``replicas`` says that the
    platform scales the workload through values. ``common_folder`` says that charts may ask for
    the folder that all apps share. ``env_rules`` says that a variable's declaration may hold the
    values that are allowed. ``console`` says that Model Console may do the download.
    """

    gpu_inject: str
    accelerator: bool
    replicas: bool
    common_folder: bool
    env_rules: bool
    console: bool


_TRAITS: Final[Mapping[str, Traits]] = {
    "olares-1.12.3": Traits(
        "true",
        accelerator=False,
        replicas=False,
        common_folder=False,
        env_rules=False,
        console=False,
    ),
    "olares-1.12.6": Traits(
        SERVER,
        accelerator=True,
        replicas=True,
        common_folder=True,
        env_rules=True,
        console=True,
    ),
}


def traits_of(generation: Generation) -> Traits:
    """Return the traits of a generation; raises RenderError for one without any."""
    try:
        return _TRAITS[generation.name]
    except KeyError:
        raise RenderError(f"no chart can be made for generation {generation.name}") from None


def runs_on_gpu(modes: Sequence[str], traits: Traits) -> bool:
    """Say whether a server that may run on these modes gets a GPU in charts of a generation.

    Releases without accelerator modes know only cards of nvidia.
    """
    return any(mode != "cpu" for mode in modes) if traits.accelerator else "nvidia" in modes
