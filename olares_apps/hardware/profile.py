"""The hardware profile and its loader.

A profile is a YAML file: every fact is ``{value, source}``, and what is not known is null.
A workspace can add profiles, or replace shipped ones, with files of the same form.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from olares_apps.errors import UnknownName, UsageError, nearest

__all__ = [
    "CudaCeiling",
    "HardwareProfile",
    "ProfileError",
    "load_profile",
    "profile_names",
    "read_profile",
]

MIB: Final = 2**20


class ProfileError(UsageError):
    """A profile file that cannot be used; the message names the file and the field."""


@dataclass(frozen=True, slots=True)
class CudaCeiling:
    """The newest CUDA version that the device's driver runs, and since which month."""

    since: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class HardwareProfile:
    """One device's budget. None means not known.

    Memory of the GPU is MiB: ``reported`` is what the driver states for the card,
    ``usable`` what a program gets of it. ``ram_gb`` is GB, ``memory_bandwidth_gbs`` GB/s.
    ``shares_memory`` says that GPU and host draw on the same memory. ``sources`` maps
    field names to where their value comes from.
    """

    name: str
    title: str
    gpu: str
    gpu_memory_reported_mib: int
    gpu_memory_usable_mib: int
    compute_capability: str
    memory_bandwidth_gbs: int | None
    cuda_ceilings: tuple[CudaCeiling, ...]
    cpu_cores: int | None
    ram_gb: int | None
    architecture: str | None
    shares_memory: bool
    sources: Mapping[str, str]

    @property
    def usable_bytes(self) -> int:
        """Return the GPU memory that a program gets, in bytes."""
        return self.gpu_memory_usable_mib * MIB

    @property
    def reported_bytes(self) -> int:
        """Return the GPU memory that the driver states, in bytes."""
        return self.gpu_memory_reported_mib * MIB

    @property
    def cuda_ceiling(self) -> str | None:
        """Return the newest CUDA version of the latest known driver, such as ``13.2``."""
        latest = max(self.cuda_ceilings, key=lambda ceiling: ceiling.since, default=None)
        return latest.value if latest else None

    @property
    def sm(self) -> str:
        """Return the compute capability as a compiler target, such as ``sm_120``."""
        return "sm_" + self.compute_capability.replace(".", "")


def profile_names(folder: Path | None = None) -> tuple[str, ...]:
    """Return the names of all profiles, those of ``folder`` included, in order."""
    return tuple(sorted(_files(folder)))


def load_profile(name: str, folder: Path | None = None) -> HardwareProfile:
    """Return the profile called ``name``; a file in ``folder`` wins over a shipped one.

    Raises UnknownName, or ProfileError for a file that cannot be used.
    """
    known = _files(folder)
    if name not in known:
        raise UnknownName("hardware profile", name, sorted(known))
    file = known[name]
    return read_profile(name, file.read_text(encoding="utf-8"), str(file.name))


def _files(folder: Path | None) -> Mapping[str, Traversable]:
    own = _profiles_in(folder) if folder is not None and folder.is_dir() else {}
    return {**_shipped(), **own}


@cache
def _shipped() -> Mapping[str, Traversable]:
    return _profiles_in(files("olares_apps.hardware") / "profiles")


def _profiles_in(place: Traversable) -> Mapping[str, Traversable]:
    return {
        file.name.removesuffix(".yaml"): file
        for file in place.iterdir()
        if file.name.endswith(".yaml")
    }


def read_profile(name: str, text: str, file: str) -> HardwareProfile:
    """Read one profile from YAML ``text``; ``file`` is for messages.

    Raises ProfileError.
    """
    import yaml

    try:
        raw = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except yaml.YAMLError as error:
        raise ProfileError(f"{file}: not YAML: {error}") from None
    if not isinstance(raw, dict):
        raise ProfileError(f"{file}: a profile is a mapping of fields")
    reader = _Reader(file, raw)
    profile = HardwareProfile(
        name=name,
        title=reader.title(),
        gpu=reader.required("gpu", _is_text),
        gpu_memory_reported_mib=reader.required("gpu_memory_reported_mib", _is_count),
        gpu_memory_usable_mib=reader.required("gpu_memory_usable_mib", _is_count),
        compute_capability=reader.required("compute_capability", _is_version),
        memory_bandwidth_gbs=reader.fact("memory_bandwidth_gbs", _is_count),
        cuda_ceilings=reader.ceilings(),
        cpu_cores=reader.fact("cpu_cores", _is_count),
        ram_gb=reader.fact("ram_gb", _is_count),
        architecture=reader.fact("architecture", lambda value: value in ("amd64", "arm64")),
        shares_memory=bool(reader.fact("shares_memory", lambda value: isinstance(value, bool))),
        sources=reader.sources,
    )
    reader.refuse_unknown()
    if profile.gpu_memory_usable_mib > profile.gpu_memory_reported_mib:
        raise ProfileError(f"{file}: gpu_memory_usable_mib is above gpu_memory_reported_mib")
    return profile


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_version(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d{1,2}\.\d{1,2}", value) is not None


class _Reader:
    """Takes fields out of a raw mapping and remembers which were asked for."""

    def __init__(self, file: str, raw: Mapping[Any, Any]) -> None:
        self._file = file
        self._raw = raw
        self._asked: set[str] = set()
        self.sources: dict[str, str] = {}

    def title(self) -> str:
        self._asked.add("title")
        title = self._raw.get("title")
        if not isinstance(title, str) or not title.strip():
            raise ProfileError(f"{self._file}: title is missing")
        return title

    def fact(self, field: str, is_valid: Callable[[object], bool]) -> Any:
        """Return the value of a ``{value, source}`` pair; None when absent or null."""
        self._asked.add(field)
        pair = self._raw.get(field)
        if pair is None:
            return None
        if not isinstance(pair, dict) or set(pair) != {"value", "source"}:
            raise ProfileError(f"{self._file}: {field} must have value and source")
        if not _is_text(pair["source"]):
            raise ProfileError(f"{self._file}: {field}.source must say where the value is from")
        if pair["value"] is not None and not is_valid(pair["value"]):
            raise ProfileError(f"{self._file}: {field} cannot be {pair['value']!r}")
        self.sources[field] = pair["source"]
        return pair["value"]

    def required(self, field: str, is_valid: Callable[[object], bool]) -> Any:
        value = self.fact(field, is_valid)
        if value is None:
            raise ProfileError(f"{self._file}: {field} is missing")
        return value

    def ceilings(self) -> tuple[CudaCeiling, ...]:
        self._asked.add("cuda_ceilings")
        listed = self._raw.get("cuda_ceilings") or []
        found: list[CudaCeiling] = []
        for item in listed if isinstance(listed, list) else [listed]:
            if not isinstance(item, dict) or set(item) != {"since", "value", "source"}:
                raise ProfileError(
                    f"{self._file}: each of cuda_ceilings must have since, value and source"
                )
            is_month = re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", str(item["since"]))
            if not is_month or not _is_version(item["value"]) or not _is_text(item["source"]):
                raise ProfileError(
                    f"{self._file}: cuda_ceilings: since is YYYY-MM, value a quoted version"
                )
            found.append(CudaCeiling(str(item["since"]), item["value"], item["source"]))
        return tuple(found)

    def refuse_unknown(self) -> None:
        for field in self._raw:
            if field not in self._asked:
                close = nearest(str(field), self._asked)
                raise ProfileError(
                    f"{self._file}: unknown field '{field}'",
                    hint=f"did you mean {close}?" if close else None,
                )
