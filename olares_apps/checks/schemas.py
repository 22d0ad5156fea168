"""Strict Kubernetes schemas, from the optional package kubernetes-validate; read once each."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

__all__ = ["VERSION", "available", "schema_faults"]

VERSION: Final = "1.33"
"""Kubernetes version whose schemas count."""
_FOLDER: Final = f"kubernetes-json-schema/v{VERSION}.0-local-strict"
_MOST: Final = 10
_KIND: Final = re.compile(r"[a-z0-9]{1,63}")
_API_VERSION: Final = re.compile(r"(?:[a-z0-9.-]{1,253}/)?v[a-z0-9]{1,20}")


def available() -> bool:
    """Say whether the schemas are on this machine."""
    return find_spec("kubernetes_validate") is not None and find_spec("jsonschema") is not None


def schema_faults(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield dotted path and message of what an object's schema has against it.

    Kinds without a schema, such as custom resources, have no fault.
    """
    validator = _validator(str(data.get("kind")).lower(), str(data.get("apiVersion")))
    if validator is None:
        return
    for count, error in enumerate(validator.iter_errors(data)):
        if count == _MOST:
            return
        yield ".".join(map(str, error.path)), str(error.message)


@lru_cache(maxsize=256)
def _validator(kind: str, api_version: str) -> Any:
    """Return the validator of a kind, None when there is no schema for it."""
    if not _KIND.fullmatch(kind) or not _API_VERSION.fullmatch(api_version):
        return None
    group, _, version = api_version.rpartition("/")
    name = "-".join([kind, *([group.partition(".")[0]] if group else []), version])
    contents = import_module("kubernetes_validate.utils").schema_contents
    try:
        schema = contents(f"{_FOLDER}/{name}.json", VERSION)
    except (OSError, ValueError):
        return None
    referencing, validators = import_module("referencing"), import_module("jsonschema.validators")
    registry = referencing.Resource.from_contents(schema) @ _definitions()
    return validators.Draft202012Validator(schema, registry=registry)


@cache
def _definitions() -> Any:
    referencing = import_module("referencing")
    contents = import_module("kubernetes_validate.utils").schema_contents
    definitions = contents(f"{_FOLDER}/_definitions.json", VERSION)
    return referencing.Resource.from_contents(definitions) @ referencing.Registry()
