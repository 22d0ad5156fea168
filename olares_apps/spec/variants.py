"""Variants: a spec as it is on another hardware profile, by rules that the spec states.

A variant is the file's data with single values replaced, checked like the file itself. What a
variant sets is reported where the variant says it.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import PurePath
from typing import Any, Final

from olares_apps.spec.fields import FieldError, detach, put, steps_of
from olares_apps.spec.positions import FieldPath, Positions

__all__ = ["RedirectedPositions", "apply_variant", "variant_places"]

# Facts of one file that mean nothing for another.
_OF_A_FILE: Final = ("stored_as", "quant", "size_gb", "size", "sha256", "revision")
# Fields of a file that make it another one.
_NAMES: Final = ("file", "repo")
# Facts of one image that mean nothing for another.
_OF_AN_IMAGE: Final = ("build", "recipe")
# Memory that was stated for the engine and model of the base.
_STATED_MEMORY: Final = ("gpu_memory", "gpu_memory_parts")

Steps = tuple[str | int, ...]


class RedirectedPositions(Positions):
    """Places of a spec some of whose values come from another part of the same file."""

    def __init__(self, text: str, path: PurePath, moved: Mapping[Steps, Steps]) -> None:
        super().__init__(text, path)
        self._moved = moved

    def _find(self, path: FieldPath) -> Any:
        steps = tuple(path)
        for source, target in self._moved.items():
            if steps[: len(source)] == source:
                return super()._find((*target, *steps[len(source) :]))
        return super()._find(path)


def variant_places(name: str, changes: Mapping[str, Any]) -> dict[Steps, Steps]:
    """Return where the values of a variant stand in the file, by the fields they replace."""
    places: dict[Steps, Steps] = {
        steps_of(field): ("variants", name, "set", field) for field in changes
    }
    return places | {("hardware",): ("variants", name)}


def apply_variant(data: Mapping[str, Any], name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec's data as it is on the profile ``name``; raises FieldError.

    The result has no variants of its own.
    """
    result = dict(data)
    result.pop("variants", None)
    for field in _stale(data, changes):
        detach(result, field)
        _drop(result, field)
    for field, value in changes.items():
        if field.split(".")[0] in ("app", "version", "variants", "hardware", "releases"):
            raise FieldError(f"{field}: is the same on every device")
        detach(result, field)
        put(result, field, deepcopy(value))
    result["hardware"] = name
    return result


def _stale(data: Mapping[str, Any], changes: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields whose stated value was about something that a variant replaces."""
    for field in changes:
        *parents, last = field.split(".")
        if parents[:2] == ["model", "files"] and len(parents) == 3 and last in _NAMES:
            yield from (".".join((*parents, fact)) for fact in _OF_A_FILE)
    if "engine.image" in changes:
        yield from (f"engine.{fact}" for fact in _OF_AN_IMAGE)
    if any(field.split(".")[0] in ("engine", "model") for field in changes):
        yield from (f"resources.{name}" for name in _STATED_MEMORY if "resources" in data)


def _drop(data: Any, field: str) -> None:
    *parents, last = steps_of(field)
    for step in parents:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return  # put() says that the field leads nowhere
    if isinstance(data, dict):
        data.pop(last, None)
