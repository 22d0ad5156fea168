"""The hand-made functions of the device's first rendering pass (hydration).

They carry the names of Helm's functions and often differ: ``eq`` never fails but 1 and 1.0 are
different, ``ternary`` takes the condition first, ``initial`` is about a text, ``b64enc`` does
nothing. Source: ``beclab/market@5dd012b:internal/v2/appinfo/hydrationfn/chart_template.go``,
and for the names that are newer than it the list of what is known to be present.
"""

import posixpath
from collections.abc import Callable, Mapping
from string import ascii_letters, ascii_lowercase, digits
from typing import Any, Final

from olares_apps.helm.calls import CallFailed, Function, fn
from olares_apps.helm.functions.clock import random_text
from olares_apps.helm.functions.core import CORE, byte_length, index_value
from olares_apps.helm.functions.data import coalesce, dig
from olares_apps.helm.functions.encoding import quiet_json, quiet_yaml
from olares_apps.helm.functions.templating import fail
from olares_apps.helm.functions.text import (
    cut_bytes,
    indent,
    regex_find_all,
    regex_match,
    regex_replace,
    regex_split,
    repeat,
    title,
)
from olares_apps.helm.goformat import format_value, go_quote, go_sprintf
from olares_apps.helm.govalues import (
    NilMap,
    StringList,
    StringMap,
    deep_equal,
    kind_of,
    type_name,
)

__all__ = ["HYDRATION_FUNCTIONS"]


def _is_blank(value: Any) -> bool:
    return value is None or value == ""


def _to_bool(value: Any) -> bool:
    """Zero, false, nil and the empty text are false; empty lists and maps are true."""
    return not _is_blank(value) and not (isinstance(value, (bool, int, float)) and not value)


def _required(message: str, value: Any) -> Any:
    if _is_blank(value):
        fail(message)
    return value


def _quote(value: Any) -> str:
    return '""' if value is None else go_quote(format_value(value))


def _join(separator: str, value: Any) -> str:
    if value is None:
        return ""
    return (
        separator.join(map(format_value, value)) if isinstance(value, list) else format_value(value)
    )


def _to_int(value: Any) -> int:
    if isinstance(value, float):
        return int(value)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return 0
    return value if type(value) is int else 0


def _to_float(value: Any) -> float:
    try:
        return float(value) if type(value) in (str, int, float) else 0.0
    except ValueError:
        return 0.0


def _arithmetic(on_ints: Callable[[int, int], int], on_floats: Any = None) -> Function:
    """Return an operation on two ints or two floats; anything else gives 0."""

    def run(left: Any, right: Any) -> Any:
        if type(left) is int and type(right) is int:
            return on_ints(left, right)
        if on_floats and type(left) is float and type(right) is float:
            return on_floats(left, right)
        return 0

    return fn("any any", run)


def _divide(left: int, right: int) -> int:
    if right == 0:
        return 0
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    if right == 0:
        return 0
    return -(abs(left) % abs(right)) if left < 0 else left % abs(right)


def _ordering(compare: Callable[[Any, Any], bool]) -> Function:
    """Return a comparison of two values of one type; other pairs compare as false."""

    def run(left: Any, right: Any) -> bool:
        return (
            type(left) is type(right) and type(left) in (int, float, str) and compare(left, right)
        )

    return fn("any any", run)


def _equal(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, (dict, list)):
        raise CallFailed(f"runtime error: comparing uncomparable type {type_name(left)}")
    return bool(left == right)


def _item(position: int) -> Callable[[Any], Any]:
    """Return a function that picks an item of a list and leaves other values alone."""

    def run(value: Any) -> Any:
        return (value[position] if value else None) if isinstance(value, list) else value

    return run


def _has(needle: Any, haystack: Any) -> bool:
    return isinstance(haystack, list) and any(deep_equal(needle, item) for item in haystack)


def _set(target: Any, key: str, value: Any) -> Any:
    if isinstance(target, dict) and not isinstance(target, NilMap):
        target[key] = value
    return value


def _index(value: Any, *indexes: Any) -> Any:
    """Index as Go does, but texts like ``_0`` count for lists and a wrong place gives nil."""
    if value is None:
        raise CallFailed("index of untyped nil")
    for index in indexes:
        if index is None:
            raise CallFailed("index of untyped nil")
        if isinstance(value, (list, str)):
            items = value.encode() if isinstance(value, str) else value
            if isinstance(index, str):
                try:
                    index = int(index.removeprefix("_"))
                except ValueError:
                    raise CallFailed("can't index item with string") from None
            if not isinstance(index, int):
                raise CallFailed(f"can't index item with {type_name(index)}")
            if not 0 <= index < len(items):
                return None
            value = items[index]
        else:
            value = index_value(value, index)
    return value


def _length(value: Any) -> int:
    if isinstance(value, str):
        return byte_length(value)
    return len(value) if isinstance(value, (list, dict, bytes)) else 0


def _pem(label: str, comment: str) -> str:
    return f"-----BEGIN {label}-----\n# {comment}\n-----END {label}-----\n"


def _placeholder(kind: str) -> Callable[..., StringMap]:
    def run(name: str, *_: Any) -> StringMap:
        return StringMap(
            Cert=_pem("CERTIFICATE", f"{kind} Cert for {name}"),
            Key=_pem("PRIVATE KEY", f"{kind} Key for {name}"),
        )

    return run


def _pretty_json(value: Any) -> str:
    return quiet_json(value, indent=2)


def _nospace(text: str) -> str:
    return text.replace(" ", "")


def _wordwrap(width: int, text: str) -> str:
    if byte_length(text) <= width:
        return text
    return cut_bytes(text, None, width) + "\n" + cut_bytes(text, width, None)


def _trunc(length: int, text: str) -> str:
    if length < 0:
        raise CallFailed(f"slice bounds out of range [:{length}]")
    return cut_bytes(text, None, length)


def _initial(text: str) -> str:
    return text[:1].upper() if text[:1].isascii() else text[:1]


HYDRATION_FUNCTIONS: Final[Mapping[str, Function]] = {
    **CORE,
    "add": _arithmetic(lambda a, b: a + b, lambda a, b: a + b),
    "and": fn("any...", lambda *values: all(map(_to_bool, values))),
    "b64dec": fn("string", str),
    "b64enc": fn("string", str),
    "base": fn(
        "string", lambda path: posixpath.basename(path.rstrip("/")) or (path and "/") or "."
    ),
    "cat": fn("any...", lambda *values: "".join(map(format_value, values))),
    "coalesce": fn("any...", coalesce),
    "compact": fn("string", _nospace),
    "contains": fn("string string", lambda part, text: part in text),
    "default": fn("any any", lambda fallback, value: fallback if _is_blank(value) else value),
    "dig": fn("any...", dig),
    "dir": fn("string", lambda path: posixpath.normpath(posixpath.dirname(path) or ".")),
    "div": _arithmetic(_divide, lambda a, b: a / b if b else 0),
    "empty": fn("any", lambda value: _is_blank(value) or (type(value) is int and value == 0)),
    "eq": fn("any any", _equal),
    "fail": fn("string", fail),
    "first": fn("any", _item(0)),
    "float64": fn("any", _to_float),
    "genCA": fn("string int", _placeholder("CA")),
    "genSelfSignedCert": fn("string any any int", _placeholder("Self-signed")),
    "genSignedCert": fn("string any any int any", _placeholder("Signed")),
    "gt": _ordering(lambda a, b: a > b),
    "gte": _ordering(lambda a, b: a >= b),
    "has": fn("any any", _has),
    "hasKey": fn("map string", lambda source, key: key in source),
    "hasPrefix": fn("string string", lambda part, text: text.startswith(part)),
    "hasSuffix": fn("string string", lambda part, text: text.endswith(part)),
    "include": fn("string any", lambda name, value: ""),
    "indent": fn("int string", indent),
    "index": fn("any any...", _index),
    "initial": fn("string", _initial),
    "int": fn("any", _to_int),
    "join": fn("string any", _join),
    "keys": fn("map", lambda source: StringList(sorted(source))),
    "kindOf": fn("any", lambda value: "nil" if value is None else kind_of(value)),
    "last": fn("any", _item(-1)),
    "len": fn("any", _length),
    "list": fn("any...", lambda *items: list(items)),
    "lookup": fn("string string string string", lambda *_: {}),
    "lower": fn("string", str.lower),
    "lt": _ordering(lambda a, b: a < b),
    "lte": _ordering(lambda a, b: a <= b),
    "mod": _arithmetic(_remainder),
    "mul": _arithmetic(lambda a, b: a * b, lambda a, b: a * b),
    "ne": fn("any any", lambda left, right: not _equal(left, right)),
    "nindent": fn("int string", lambda count, text: "\n" + indent(count, text)),
    "nospace": fn("string", _nospace),
    "not": fn("any", lambda value: not _to_bool(value)),
    "or": fn("any...", lambda *values: any(map(_to_bool, values))),
    "printf": fn("string any...", go_sprintf),
    "quote": fn("any", _quote),
    "randAlpha": fn("int", random_text(ascii_lowercase), wants_evaluation=True),
    "randAlphaNum": fn("int", random_text(ascii_lowercase + digits), wants_evaluation=True),
    "randAscii": fn("int", random_text(ascii_letters + digits), wants_evaluation=True),
    "randNumeric": fn("int", random_text(digits), wants_evaluation=True),
    "regexFindAll": fn("string string int", regex_find_all),
    "regexMatch": fn("string string", regex_match),
    "regexReplaceAll": fn(
        "string string string", lambda pattern, new, text: regex_replace(pattern, text, new)
    ),
    "regexSplit": fn("string string int", regex_split),
    "repeat": fn("int string", repeat),
    "replace": fn("string string string", lambda old, new, text: text.replace(old, new)),
    "required": fn("string any", _required),
    "set": fn("any string any", _set),
    "sha256sum": fn("string", lambda text: f"sha256-{text}"),
    "split": fn("string string", lambda separator, text: StringList(text.split(separator))),
    "splitList": fn(
        "string string", lambda separator, text: StringList(text.split(separator) if text else [])
    ),
    "squote": fn("any", lambda value: "''" if value is None else f"'{format_value(value)}'"),
    "sub": _arithmetic(lambda a, b: a - b, lambda a, b: a - b),
    "ternary": fn("any any any", lambda condition, yes, no: yes if _to_bool(condition) else no),
    "title": fn("string", title),
    "toBool": fn("any", _to_bool),
    "toFloat64": fn("any", _to_float),
    "toInt": fn("any", lambda value: value if type(value) is int else 0),
    "toJson": fn("any", quiet_json),
    "toPrettyJson": fn("any", _pretty_json),
    "toString": fn("any", format_value),
    "toYaml": fn("any", quiet_yaml),
    "tpl": fn("string any", lambda text, value: text),
    "trim": fn("string", str.strip),
    "trimAll": fn("string string", lambda characters, text: text.strip(characters)),
    "trimPrefix": fn("string string", lambda part, text: text.removeprefix(part)),
    "trimSuffix": fn("string string", lambda part, text: text.removesuffix(part)),
    "trunc": fn("int string", _trunc),
    "typeOf": fn("any", lambda value: "nil" if value is None else type_name(value)),
    "untitle": fn("string", lambda text: text[:1].lower() + text[1:]),
    "upper": fn("string", str.upper),
    "values": fn("map", lambda source: [source[key] for key in sorted(source)]),
    "wordwrap": fn("int string", _wordwrap),
}
