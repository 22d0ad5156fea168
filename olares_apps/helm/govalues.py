"""Go's values in Python: kinds, type names, truth, emptiness and equality.

=====================  =================================================================
Go                     Python
=====================  =================================================================
nil                    ``None``
string, bool           ``str``, ``bool``
int, int64, float64    ``int``, :class:`Int64`, ``float``
[]interface {}         ``list``
[]string, []int        :class:`StringList`, :class:`IntList`
map[string]interface   ``dict``
map[string]string      :class:`StringMap`
[]uint8                ``bytes``
struct with methods    :class:`Struct`
=====================  =================================================================

A field that is missing from a map is :data:`NIL`, a nil that knows its type: reading a field
of it fails in Go, while reading a field of an untyped nil gives nil.
"""

from collections.abc import Mapping
from typing import Any, Final

from olares_apps.helm.calls import CallFailed, Function, fn

__all__ = [
    "NIL",
    "SIZE_LIMIT",
    "Files",
    "Int64",
    "IntList",
    "MapWithMethods",
    "Methods",
    "NilMap",
    "StringList",
    "StringMap",
    "Struct",
    "TooLarge",
    "Values",
    "check_size",
    "deep_equal",
    "is_empty",
    "is_true",
    "kind_of",
    "type_name",
    "wrap_int64",
]


SIZE_LIMIT: Final = 16 * 2**20
"""The size in bytes, roughly, of the largest value that is printed, copied or compared."""


class TooLarge(CallFailed):
    """A value grew beyond :data:`SIZE_LIMIT`, or contains itself."""


class _TypedNil:
    """The type of :data:`NIL`."""

    def __repr__(self) -> str:
        return "NIL"

    def __bool__(self) -> bool:
        return False


NIL: Final = _TypedNil()
"""The nil of type ``interface {}``; it becomes ``None`` at the end of every pipeline."""


class Int64(int):
    """An ``int64``, what Sprig's arithmetic returns; Go keeps it apart from ``int``."""


class StringList(list[Any]):
    """A ``[]string``."""


class IntList(list[Any]):
    """A ``[]int``."""


class StringMap(dict[str, Any]):
    """A ``map[string]string``: a missing key gives an empty string, not nil."""


class NilMap(dict[str, Any]):
    """What an untyped nil becomes for a function that wants a map; it cannot be written to."""


Methods = Mapping[str, Function]


class Struct:
    """A Go struct: a fixed set of fields and methods; any other name is an error.

    ``text`` is what printing it gives, when it has a ``String`` method in Go.
    """

    __slots__ = ("fields", "methods", "text", "type")

    def __init__(
        self,
        type: str,  # noqa: A002 - Go's word for it
        fields: Mapping[str, Any],
        methods: Methods | None = None,
        text: str | None = None,
    ) -> None:
        self.type, self.fields, self.methods, self.text = type, fields, methods or {}, text


class MapWithMethods(dict[str, Any]):
    """A Go map type that has methods; a method hides a key of the same name."""

    def __init__(self, content: Mapping[str, Any], methods: Methods) -> None:
        super().__init__(content)
        self.methods = methods


class Files(MapWithMethods):
    """Helm's ``.Files``: path to content in bytes."""


class Values(MapWithMethods):
    """Helm's ``.Values``; it passes for a plain map, but ``dig`` refuses it."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content, {"AsMap": fn("", lambda: dict(self))})


_TYPES: dict[type, tuple[str, str]] = {
    type(None): ("<nil>", "invalid"),
    _TypedNil: ("interface {}", "invalid"),
    str: ("string", "string"),
    bool: ("bool", "bool"),
    int: ("int", "int"),
    Int64: ("int64", "int64"),
    float: ("float64", "float64"),
    bytes: ("[]uint8", "slice"),
    list: ("[]interface {}", "slice"),
    StringList: ("[]string", "slice"),
    IntList: ("[]int", "slice"),
    dict: ("map[string]interface {}", "map"),
    NilMap: ("map[string]interface {}", "map"),
    StringMap: ("map[string]string", "map"),
    Files: ("engine.files", "map"),
    Values: ("chartutil.Values", "map"),
}


def type_name(value: Any) -> str:
    """Return Go's name of the value's type, such as ``[]interface {}``."""
    return value.type if isinstance(value, Struct) else _TYPES[type(value)][0]


def kind_of(value: Any) -> str:
    """Return Go's kind of the value: ``map``, ``slice``, ``int``, ``struct`` ..."""
    if isinstance(value, Struct):
        return "ptr" if value.type.startswith("*") else "struct"
    return _TYPES[type(value)][1]


def is_true(value: Any) -> bool:
    """Tell whether ``if`` takes the value for true: not zero, not empty, not nil."""
    return True if isinstance(value, Struct) else bool(value)


def is_empty(value: Any) -> bool:
    """Tell whether Sprig's ``default`` replaces the value; the opposite of true."""
    return not is_true(value)


def check_size(value: Any) -> None:
    """Raise :class:`TooLarge` for a value that is too large to be walked through.

    Maps and lists can hold one another many times over, so a few lines of template can build
    a value whose text would fill any memory.
    """
    size, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        size += 16
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
            size += 16 * len(item)
        elif isinstance(item, list):
            waiting.extend(item)
        if size > SIZE_LIMIT:
            raise TooLarge(f"a value is larger than {SIZE_LIMIT} bytes or contains itself")


def deep_equal(left: Any, right: Any) -> bool:
    """Compare like Go's ``reflect.DeepEqual``: values of different types are never equal.

    Raises :class:`TooLarge` for maps and lists beyond :data:`SIZE_LIMIT`.
    """
    if isinstance(left, (dict, list)) and isinstance(right, (dict, list)):
        check_size(left)
    return _same(left, right)


def _same(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(
            _same(item, right[key]) for key, item in left.items()
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def wrap_int64(value: int) -> Int64:
    """Return an int64; a value outside 64 bits wraps around, as in Go."""
    return Int64((value + 2**63) % 2**64 - 2**63)
