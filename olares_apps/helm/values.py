"""Values of a chart: reading them, and laying one set over another as Helm does."""

from collections.abc import Mapping
from typing import Any, Final

from olares_apps.helm.errors import ChartError

__all__ = ["coalesce_values", "drop_removed", "lookup_path", "merge_values", "to_go"]

_REMOVED: Final = object()


def to_go(value: Any, where: str = "values") -> Any:
    """Return a copy of a Python value as a template sees it: every number is a float64.

    Values reach Helm through YAML or JSON, where a number has no other type.
    Raises :class:`ChartError` for a value that JSON does not have; ``where`` is its path.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, Mapping):
        copied: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ChartError(f"{where}: the key {key!r} is not a string")
            copied[key] = to_go(item, f"{where}.{key}")
        return copied
    if isinstance(value, (list, tuple)):
        return [to_go(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise ChartError(f"{where}: {type(value).__name__} is not a value of YAML or JSON")


def coalesce_values(given: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Fill ``given`` with the chart's defaults, in place, and return it.

    A null in ``given`` removes the default (Helm's ``CoalesceValues``), also the default of a
    sub-chart further in, so its key stays until :func:`drop_removed` takes it away.
    """
    for key, default in defaults.items():
        if key not in given:
            given[key] = default
        elif given[key] is None:
            given[key] = _REMOVED
        elif isinstance(given[key], dict) and isinstance(default, dict):
            coalesce_values(given[key], default)
    return given


def drop_removed(values: dict[str, Any]) -> None:
    """Take away the keys whose defaults were removed, in place and at every depth."""
    for key, value in list(values.items()):
        if value is _REMOVED:
            del values[key]
        elif isinstance(value, dict):
            drop_removed(value)


def merge_values(base: dict[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Lay ``overlay`` over ``base``, in place, and return it; a null is a value here.

    This is what the device's first rendering pass does.
    """
    for key, value in overlay.items():
        known = base.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            merge_values(known, value)
        else:
            base[key] = value
    return base


def lookup_path(values: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, None when there is none."""
    value: Any = values
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value
