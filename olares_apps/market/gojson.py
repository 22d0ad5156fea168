"""JSON as a Go program decodes it into typed structs: a description of types and its decoder.

Rules of encoding/json that matter here: a struct field is matched by exact key first, then
without regard to case; an unknown key is ignored; ``null`` and absence leave the zero value;
an integer takes no fraction, no exponent and no text; a value of the wrong type is an error
for the whole decode, though decoding goes on to find more of them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeAlias

__all__ = ["Kind", "ListOf", "MapOf", "Number", "Struct", "Type", "decode", "parse"]

_INT64: Final = 2**63
_RFC3339: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})", re.ASCII
)


class Number(str):
    """A JSON number as it was written; Go decides by its text what it fits into."""

    __slots__ = ()


class Kind(Enum):
    """Scalar types, and ``ANY`` for a value that Go keeps as it is."""

    STRING = "a string"
    INT = "a whole number"
    BOOL = "true or false"
    TIME = "an RFC 3339 time"
    ANY = "anything"


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with free keys and values of one type."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array of one type."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class Struct:
    """An object with known fields."""

    fields: Mapping[str, "Type"]


Type: TypeAlias = Kind | MapOf | ListOf | Struct

_ZERO: Final = {Kind.STRING: "", Kind.INT: 0, Kind.BOOL: False, Kind.TIME: None, Kind.ANY: None}


def parse(body: bytes) -> tuple[Any, list[str]]:
    """Return the value of a JSON text and the keys that stand twice in an object of it.

    Numbers stay text (`Number`); of a repeated key the last one counts, as in Go. Raises
    ValueError when it is no JSON.
    """
    repeated: list[str] = []

    def pairs(found: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in found:
            if key in result:
                repeated.append(key)
            result[key] = value
        return result

    try:
        value = json.loads(
            body.decode("utf-8", "replace"),
            object_pairs_hook=pairs,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_no_constant,
        )
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    return value, repeated


def decode(value: Any, kind: Type, path: str = "") -> tuple[Any, list[tuple[str, str]]]:
    """Return the decoded value and the faults as (path, message); any fault fails the decode."""
    faults: list[tuple[str, str]] = []
    return _decode(value, kind, path, faults), faults


def _decode(value: Any, kind: Type, path: str, faults: list[tuple[str, str]]) -> Any:
    match kind:
        case Kind():
            return _scalar(value, kind, path, faults)
        case ListOf(item):
            if value is None:
                return []
            if not isinstance(value, list):
                return _wrong(value, "a list", path, faults, [])
            return [_decode(v, item, f"{path}[{i}]", faults) for i, v in enumerate(value)]
        case MapOf(item):
            if value is None:
                return {}
            if not isinstance(value, dict):
                return _wrong(value, "an object", path, faults, {})
            return {k: _decode(v, item, _below(path, k), faults) for k, v in value.items()}
        case Struct(fields):
            if value is not None and not isinstance(value, dict):
                _wrong(value, "an object", path, faults, None)
                value = None
            found = _by_field(value or {}, fields)
            return {
                name: _decode(found.get(name), item, _below(path, name), faults)
                for name, item in fields.items()
            }


def _by_field(value: Mapping[str, Any], fields: Mapping[str, Type]) -> dict[str, Any]:
    folded = {name.casefold(): name for name in reversed(list(fields))}
    found: dict[str, Any] = {}
    for key, item in value.items():
        name = key if key in fields else folded.get(key.casefold())
        if name is not None and (item is not None or name not in found):
            found[name] = item
    return found


def _scalar(value: Any, kind: Kind, path: str, faults: list[tuple[str, str]]) -> Any:
    if kind is Kind.ANY:
        return value
    if value is None:
        return _ZERO[kind]
    match kind:
        case Kind.STRING:
            good = isinstance(value, str) and not isinstance(value, Number)
        case Kind.BOOL:
            good = isinstance(value, bool)
        case Kind.INT:
            good = isinstance(value, Number) and bool(re.fullmatch(r"-?\d+", value))
            good = good and -_INT64 <= int(value) < _INT64
            value = int(value) if good else value
        case Kind.TIME:
            good = isinstance(value, str) and not isinstance(value, Number) and _is_time(value)
    return value if good else _wrong(value, kind.value, path, faults, _ZERO[kind])


def _is_time(text: str) -> bool:
    if not _RFC3339.fullmatch(text):
        return False
    try:
        datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return False
    return True


def _wrong(value: Any, expected: str, path: str, faults: list[tuple[str, str]], zero: Any) -> Any:
    shown = value if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)
    faults.append((path or "the answer", f"is {_short(shown)}, expected {expected}"))
    return zero


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")
