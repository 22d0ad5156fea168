"""A chart in memory: Chart.yaml, default values, templates, other files and sub-charts."""

import io
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from olares_apps.helm.calls import CallFailed
from olares_apps.helm.errors import ChartError
from olares_apps.helm.semver_range import parse_version
from olares_apps.helm.values import lookup_path
from olares_apps.helm.yamlio import read_yaml

__all__ = ["Chart", "decode_text", "load_chart"]

_MAX_DEPTH = 8
_MAX_PACKED_BYTES = 32 * 2**20
_NOT_FILES = re.compile(
    r"templates/|charts/|(?:Chart\.(?:yaml|lock)|values\.yaml|values\.schema\.json)$"
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as Helm loads it.

    ``path`` is where it lies inside the outermost chart, empty or ending in a slash;
    ``templates`` and ``files`` are keyed by the path inside this chart.
    """

    name: str
    path: str
    metadata: Mapping[str, Any]
    values: Mapping[str, Any]
    templates: Mapping[str, str]
    files: Mapping[str, bytes]
    subcharts: tuple["Chart", ...] = field(default=())

    @property
    def is_library(self) -> bool:
        """Tell whether only its named templates are used."""
        return self.metadata.get("type") == "library"

    def enabled_subcharts(self, values: Mapping[str, Any]) -> tuple["Chart", ...]:
        """Return the sub-charts that condition and tags in Chart.yaml leave switched on."""
        disabled = {
            entry.get("alias") or entry["name"]
            for entry in self.metadata.get("dependencies") or ()
            if not _is_enabled(entry, values)
        }
        return tuple(chart for chart in self.subcharts if chart.name not in disabled)


def _is_enabled(entry: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    for path in str(entry.get("condition") or "").split(","):
        switch = lookup_path(values, path.strip()) if path.strip() else None
        if isinstance(switch, bool):
            return switch
    switches = [lookup_path(values, f"tags.{tag}") for tag in entry.get("tags") or ()]
    known = [switch for switch in switches if isinstance(switch, bool)]
    return any(known) if known else True


def decode_text(path: str, content: bytes) -> str:
    """Return the text of a file without a byte order mark.

    Raises :class:`ChartError` for bytes that are not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ChartError(f"{path}:{line}: not UTF-8 text") from None


def load_chart(files: Mapping[str, bytes], *, path: str = "", depth: int = 0) -> Chart:
    """Load a chart from its files, keyed by the path inside the chart, with forward slashes.

    Packed sub-charts (``charts/*.tgz``) are read too. ``values.schema.json`` is not enforced
    and ``.helmignore`` is not applied. Raises :class:`ChartError` or :class:`YamlError`.
    """
    if depth > _MAX_DEPTH:
        raise ChartError(f"{path}: more than {_MAX_DEPTH} charts inside each other")
    if "Chart.yaml" not in files:
        raise ChartError(f"{path or 'the chart'}: Chart.yaml is missing")
    metadata = _load_metadata(files["Chart.yaml"], f"{path}Chart.yaml")
    values = _load_values(files.get("values.yaml", b""), f"{path}values.yaml")
    templates = {
        name: decode_text(path + name, content)
        for name, content in files.items()
        if name.startswith("templates/")
    }
    others = {name: content for name, content in files.items() if not _NOT_FILES.match(name)}
    subcharts = _load_subcharts(files, path, depth)
    return Chart(
        name=metadata["name"],
        path=path,
        metadata=metadata,
        values=values,
        templates=templates,
        files=others,
        subcharts=_arranged(subcharts, metadata, path),
    )


@lru_cache(maxsize=16)
def _load_metadata(content: bytes, file: str) -> Mapping[str, Any]:
    metadata = read_yaml(decode_text(file, content), file=file)
    if not isinstance(metadata, dict):
        raise ChartError(f"{file}: not a mapping")
    for key in ("apiVersion", "name", "version"):
        value = metadata.get(key)
        if not isinstance(value, str) or not value:
            found = "missing" if value is None else f"{value!r} is not a text"
            raise ChartError(f"{file}: {key}: {found}", hint=f'write {key}: "..."')
    try:
        parse_version(metadata["version"])
    except CallFailed as error:
        raise ChartError(f"{file}: version: {error}") from None
    dependencies = metadata.get("dependencies") or []
    if not isinstance(dependencies, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in dependencies
    ):
        raise ChartError(f"{file}: dependencies: not a list of charts with names")
    return metadata


def _load_values(content: bytes, file: str) -> Mapping[str, Any]:
    # Whole numbers become floats where values are laid over each other.
    values = read_yaml(decode_text(file, content), file=file)
    if values is not None and not isinstance(values, dict):
        raise ChartError(f"{file}: not a mapping")
    return values or {}


def _load_subcharts(files: Mapping[str, bytes], path: str, depth: int) -> list[Chart]:
    folders: dict[str, dict[str, bytes]] = {}
    charts = []
    for name, content in sorted(files.items()):
        _, _, inner = name.partition("charts/") if name.startswith("charts/") else ("", "", "")
        folder, slash, rest = inner.partition("/")
        if folder.startswith(("_", ".")):
            continue
        if slash:
            folders.setdefault(folder, {})[rest] = content
        elif folder.endswith(".tgz"):
            unpacked = _unpack(f"{path}{name}", content)
            charts.append(load_chart(unpacked, path=f"{path}charts/{folder}/", depth=depth + 1))
    for folder, inside in folders.items():
        charts.append(load_chart(inside, path=f"{path}charts/{folder}/", depth=depth + 1))
    return charts


def _unpack(name: str, content: bytes) -> dict[str, bytes]:
    """Return the files of a packed chart without its top folder."""
    files: dict[str, bytes] = {}
    size = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            for member in archive:
                size += member.size
                if size > _MAX_PACKED_BYTES:
                    raise ChartError(f"{name}: larger than {_MAX_PACKED_BYTES} bytes unpacked")
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is not None:
                    files[member.name.removeprefix("./").partition("/")[2]] = stream.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ChartError(f"{name}: not a packed chart: {error}") from None
    return files


def _arranged(charts: list[Chart], metadata: Mapping[str, Any], path: str) -> tuple[Chart, ...]:
    """Give sub-charts the aliases of Chart.yaml and check that all declared ones are there."""
    result = []
    declared = metadata.get("dependencies") or []
    for chart in charts:
        aliases = [e.get("alias") or e["name"] for e in declared if e["name"] == chart.name]
        for alias in aliases or [chart.name]:
            if alias == chart.name:
                result.append(chart)
                continue
            metadata_here = {**chart.metadata, "name": alias}
            own_path = f"{path}charts/{alias}/"
            result.append(replace(chart, name=alias, path=own_path, metadata=metadata_here))
    missing = sorted({e["name"] for e in declared} - {chart.name for chart in charts})
    if missing:
        listed = ", ".join(missing)
        raise ChartError(f"{path}Chart.yaml: dependencies not found in charts/: {listed}")
    return tuple(result)
