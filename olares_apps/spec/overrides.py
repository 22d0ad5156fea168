"""Overrides: the same spec with single values changed, checked like the file itself."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import yaml

from olares_apps.errors import SpecError, UsageError
from olares_apps.spec.fields import FieldError, put
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
        if not equals or not all(field.split(".")):
            raise UsageError(f"'{change}' is not FIELD=VALUE", hint="for example engine.ctx=131072")
        try:
            put(data, field, _value(field, text))
        except FieldError as error:
            raise UsageError(str(error)) from None
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    try:
        return load_spec(text, path=loaded.path, model=type(loaded.spec))
    except SpecError as error:
        # Lines of the text made here mean nothing to who wrote the file.
        place = PurePath(f"{loaded.path} with --set")
        raise SpecError(
            [replace(p, file=place, line=None, column=None) for p in error.problems],
            hint=error.hint,
        ) from None


def _value(field: str, text: str) -> Any:
    try:
        data = read_mapping(f"value: {text}", PurePath("--set"))
    except SpecError:
        data = {}
    if data.keys() != {"value"}:
        raise UsageError(
            f"--set {field}: {text!r} is not one YAML value", hint="quote text: FIELD='\"a: b\"'"
        )
    return data["value"]
