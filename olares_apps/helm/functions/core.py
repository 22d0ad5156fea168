"""The functions that Go's text/template brings itself (``text/template/funcs.go``)."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus

from olares_apps.helm.calls import CallFailed, Function, fn
from olares_apps.helm.expressions import go_and, go_or
from olares_apps.helm.goformat import go_print, go_println, go_sprintf
from olares_apps.helm.govalues import StringMap, deep_equal, is_true, kind_of, type_name

__all__ = ["CORE", "byte_length", "index_value"]

_COMPARABLE = {"bool": "bool", "int": "int", "int64": "int", "float64": "float", "string": "string"}
_HTML_ESCAPES = str.maketrans(
    {"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_JS_ESCAPES = str.maketrans(
    {
        **{"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E"},
        **{"&": "\\u0026", "=": "\\u003D"},
        **{chr(code): f"\\u{code:04X}" for code in range(32)},
    }
)


def _basic_kind(value: Any) -> str | None:
    return _COMPARABLE.get(kind_of(value))


def _incompatible(left: Any, right: Any) -> CallFailed:
    return CallFailed(
        f"incompatible types for comparison: {type_name(left)} and {type_name(right)}"
    )


def _equal(left: Any, *others: Any) -> bool:
    if not others:
        raise CallFailed("missing argument for comparison")
    kind = _basic_kind(left)
    for right in others:
        other = _basic_kind(right)
        if kind != other:
            if left is not None and right is not None:
                raise _incompatible(left, right)
        elif kind is not None:
            if left == right:
                return True
        elif left is None or right is None:
            if left is right:
                return True
        elif kind_of(left) != kind_of(right) or isinstance(right, (dict, list, bytes)):
            raise CallFailed(f"non-comparable type {type_name(right)}")
        elif deep_equal(left, right):
            return True
    return False


def _less(left: Any, right: Any) -> bool:
    kind, other = _basic_kind(left), _basic_kind(right)
    if kind is None or other is None or (kind == other == "bool"):
        raise CallFailed("invalid type for comparison")
    if kind != other:
        raise _incompatible(left, right)
    if kind == "string":
        return bool(left.encode() < right.encode())
    return bool(left < right)


def _less_or_equal(left: Any, right: Any) -> bool:
    return _less(left, right) or _equal(left, right)


def byte_length(text: str) -> int:
    """Return the length of a text in bytes, which is what Go's ``len`` counts."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def _length(value: Any) -> int:
    if isinstance(value, str):
        return byte_length(value)
    if isinstance(value, (list, dict, bytes)):
        return len(value)
    raise CallFailed("len of nil pointer" if value is None else f"len of type {type_name(value)}")


def _position(index: Any, length: int) -> int:
    if not isinstance(index, int) or isinstance(index, bool):
        raise CallFailed(f"cannot index slice/array with type {type_name(index)}")
    if not 0 <= index <= length:
        raise CallFailed(f"index out of range: {index}")
    return index


def index_value(value: Any, *indexes: Any) -> Any:
    """Return ``value[i][j]...``; a key that a map does not have gives nil."""
    if value is None:
        raise CallFailed("index of untyped nil")
    for index in indexes:
        if value is None:
            raise CallFailed("index of nil pointer")
        if isinstance(value, str):
            value = value.encode(errors="replace")
        if isinstance(value, (list, bytes)):
            value = value[_position(index, len(value))]
        elif isinstance(value, dict):
            if not isinstance(index, str):
                reason = f"value has type {type_name(index)}; should be string"
                raise CallFailed(
                    "value is nil; should be of type string" if index is None else reason
                )
            value = value.get(index, "" if isinstance(value, StringMap) else None)
        else:
            raise CallFailed(f"can't index item of type {type_name(value)}")
    return value


def _slice(value: Any, *indexes: Any) -> Any:
    if value is None:
        raise CallFailed("slice of untyped nil")
    if len(indexes) > 3:
        raise CallFailed(f"too many slice indexes: {len(indexes)}")
    data: Any = value.encode() if isinstance(value, str) else value
    if not isinstance(data, (list, bytes)):
        raise CallFailed(f"can't slice item of type {type_name(value)}")
    bounds = [0, len(data)]
    for place, index in enumerate(indexes[:2]):
        bounds[place] = _position(index, len(data))
    if bounds[0] > bounds[1]:
        raise CallFailed(f"invalid slice index: {bounds[0]} > {bounds[1]}")
    if isinstance(data, list):
        return type(data)(data[bounds[0] : bounds[1]])
    part = data[bounds[0] : bounds[1]]
    return part.decode(errors="replace") if isinstance(value, str) else part


def _escape_js(*values: Any) -> str:
    return go_print(*values).translate(_JS_ESCAPES)


def _escape_html(*values: Any) -> str:
    return go_print(*values).translate(_HTML_ESCAPES)


def _call(function: Any, *arguments: Any) -> Any:
    if function is None:
        raise CallFailed("call of nil")
    raise CallFailed(f"non-function of type {type_name(function)}")


CORE: Final[Mapping[str, Function]] = {
    "and": fn("any any...", go_and),
    "call": fn("any any...", _call),
    "eq": fn("any any...", _equal),
    "ge": fn("any any", lambda left, right: not _less(left, right)),
    "gt": fn("any any", lambda left, right: not _less_or_equal(left, right)),
    "html": fn("any...", _escape_html),
    "index": fn("any any...", index_value),
    "js": fn("any...", _escape_js),
    "le": fn("any any", _less_or_equal),
    "len": fn("any", _length),
    "lt": fn("any any", _less),
    "ne": fn("any any", lambda left, right: not _equal(left, right)),
    "not": fn("any", lambda value: not is_true(value)),
    "or": fn("any any...", go_or),
    "print": fn("any...", go_print),
    "printf": fn("string any...", go_sprintf),
    "println": fn("any...", go_println),
    "slice": fn("any any...", _slice),
    "urlquery": fn("any...", lambda *values: quote_plus(go_print(*values))),
}
"""Every profile has these; a profile's own function of the same name replaces one."""
