"""Overrides: the same spec with single values changed, checked like the file itself."""

from collections.abc import Sequence
from typing import Any

import yaml

from olares_apps.errors import UsageError
from olares_apps.spec.loader import LoadedSpec, load_spec
from olares_apps.spec.yaml_source import read_mapping

__all__ = ["override"]


def override(loaded: LoadedSpec, changes: Sequence[str]) -> LoadedSpec:
    """Return the spec with every ``FIELD=VALUE`` applied; the value is read as YAML.

    Raises UsageError for a change of another form or a field that has no parent, SpecError
    when the result is no valid spec.
    """
    data = read_mapping(loaded.text, loaded.path)
    for change in changes:
        field, equals, text = change.partition("=")
        if not equals or not field:
            raise UsageError(f"'{change}' is not FIELD=VALUE", hint="for example engine.ctx=131072")
        _put(data, field, read_mapping(f"value: {text}", loaded.path)["value"])
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    return load_spec(text, path=loaded.path, model=type(loaded.spec))


def _put(data: Any, field: str, value: Any) -> None:
    *parents, last = field.split(".")
    place = data
    for part in parents:
        if isinstance(place, dict) and part not in place:
            place[part] = {}
        place = _child(place, part, field)
    if isinstance(place, list):
        _child(place, last, field)
        place[int(last)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise UsageError(f"{field}: {'.'.join(parents)} holds no fields")


def _child(place: Any, part: str, field: str) -> Any:
    if isinstance(place, dict):
        return place[part]
    if isinstance(place, list) and part.isdecimal() and int(part) < len(place):
        return place[int(part)]
    raise UsageError(f"{field}: there is no {part}")
