"""Canonical JSON: one value has exactly one text, so a digest of the text names the value.

Sorted keys, no spaces, UTF-8, integers that every JSON reader keeps exactly, and no floats:
two writers print 0.1 differently. Reading is strict in the same way, and a key that stands
twice is an error instead of a silent choice.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NoReturn

__all__ = ["decode", "digest", "encode", "milliseconds", "parse_time", "time_text"]

# JavaScript, which serves the same documents, keeps integers exactly up to this one.
_LARGEST_INTEGER: Final = 2**53 - 1
_NANOSECONDS: Final = 10**9


def encode(value: object) -> bytes:
    """Return the canonical text of a value; raises ValueError that names what JSON cannot carry."""
    if not _exact(value):
        raise ValueError(_explain(value, ""))
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"holds the lone surrogate U+{ord(text[error.start]):04X}") from error


def decode(data: bytes) -> Any:
    """Return the value of a JSON text; raises ValueError for anything that `encode` never writes.

    The order of keys and white space are not checked: a digest over the bytes does that.
    """
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_unique,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("is nested too deep") from error


def digest(data: bytes) -> str:
    """Return the sha256 of ``data`` in lower-case hex."""
    return sha256(data).hexdigest()


def time_text(nanoseconds: int) -> str:
    """Return a time (ns since 1970, UTC) as RFC 3339 with nine fractional digits.

    Nine digits are the one form that every reader on a device takes (contract 2.3).
    """
    seconds, rest = divmod(nanoseconds, _NANOSECONDS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def parse_time(text: str) -> int:
    """Return the nanoseconds of a time that `time_text` wrote; raises ValueError for others."""
    moment, dot, rest = text.partition(".")
    if dot and len(rest) == 10 and rest.endswith("Z") and rest[:9].isdecimal() and rest.isascii():
        seconds = datetime.strptime(f"{moment}+0000", "%Y-%m-%dT%H:%M:%S%z").timestamp()
        value = int(seconds) * _NANOSECONDS + int(rest[:9])
        if time_text(value) == text:
            return value
    raise ValueError(f"'{text}' is not a time such as 2026-01-31T12:00:00.000000000Z")


def milliseconds(nanoseconds: int) -> int:
    """Return a time in whole milliseconds, as the v2 answers give it."""
    return nanoseconds // 10**6


def _exact(value: object) -> bool:
    """Say whether every part of a value has one exact form; `_explain` says which has not."""
    # Almost all of a catalogue is text in objects: that case takes no further call.
    if isinstance(value, dict):
        for key, item in value.items():
            if type(key) is not str or not (type(item) is str or _exact(item)):
                return False
        return True
    if isinstance(value, list | tuple):
        return all(type(item) is str or _exact(item) for item in value)
    if isinstance(value, bool | str | None):
        return True
    if isinstance(value, int):
        return -_LARGEST_INTEGER <= value <= _LARGEST_INTEGER
    return False


def _explain(value: object, path: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{path or 'value'}: {value} is beyond 2^53-1"
    parts: Iterable[tuple[object, object, str]] = ()
    if isinstance(value, dict):
        parts = ((key, item, f"{path}.{key}" if path else key) for key, item in value.items())
    elif isinstance(value, list | tuple):
        parts = (("", item, f"{path}[{index}]") for index, item in enumerate(value))
    for key, item, place in parts:
        if type(key) is not str:
            return f"{path or 'value'}: key {key!r} is not text"
        if not _exact(item):
            return _explain(item, place)
    return f"{path or 'value'}: {type(value).__name__} has no canonical form"


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"holds the key '{twice}' twice")
    return found


def _no_float(text: str) -> NoReturn:
    raise ValueError(f"holds the number {text}, which has no exact form")
