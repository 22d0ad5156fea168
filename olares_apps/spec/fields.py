"""One value of a spec changed by its dotted field: in plain data, or in a validated spec."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

__all__ = ["FieldError", "detach", "put", "steps_of", "value_at", "with_value"]

Steps = tuple[str | int, ...]


class FieldError(ValueError):
    """A field that leads nowhere; the message says where it breaks off."""


def steps_of(field: str) -> Steps:
    """Return the keys and indexes of a dotted field: ``model.files.0.file``."""
    return tuple(int(part) if part.isdecimal() else part for part in field.split("."))


def put(data: Any, field: str, value: Any) -> None:
    """Set a value in plain data; mappings on the way are made. Raises FieldError."""
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
        raise FieldError(f"{field}: {'.'.join(parents)} holds no fields")


def detach(data: Any, field: str) -> None:
    """Copy the containers on the way to a field, so that ``put`` changes no data shared with it."""
    for step in steps_of(field)[:-1]:
        try:
            child = data[step]
        except (KeyError, IndexError, TypeError):
            return  # put() says that the field leads nowhere
        if not isinstance(child, dict | list):
            return
        data[step] = child = child.copy()
        data = child


def _child(place: Any, part: str, field: str) -> Any:
    if isinstance(place, dict):
        return place[part]
    if isinstance(place, list) and part.isdecimal() and int(part) < len(place):
        return place[int(part)]
    raise FieldError(f"{field}: there is no {part}")


def value_at(spec: BaseModel, field: str) -> Any:
    """Return the value of a dotted field of a spec; raises FieldError when there is none."""
    place: Any = spec
    for step in steps_of(field):
        if isinstance(place, BaseModel):
            known = step in type(place).model_fields
        elif isinstance(place, list):
            known = isinstance(step, int) and step < len(place)
        else:
            known = isinstance(place, Mapping) and step in place
        if not known:
            raise FieldError(f"{field}: there is no {step}")
        place = getattr(place, str(step)) if isinstance(place, BaseModel) else place[step]
    return place


def with_value(node: Any, steps: Sequence[str | int], value: Any) -> Any:
    """Return a copy of a spec with the value at ``steps`` replaced; it must be a valid one."""
    if not steps:
        return value
    head, *rest = steps
    if isinstance(node, BaseModel):
        name = str(head)
        return node.model_copy(update={name: with_value(getattr(node, name), rest, value)})
    copy: Any = list(node) if isinstance(node, list) else dict(node)
    copy[head] = with_value(copy[head], rest, value)
    return copy
