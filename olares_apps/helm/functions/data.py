"""Sprig's functions on values of any type, maps and lists."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from olares_apps.helm.calls import CallFailed, Function, fn
from olares_apps.helm.functions.numbers import to_int64
from olares_apps.helm.goformat import format_value
from olares_apps.helm.govalues import (
    NilMap,
    StringList,
    TooLarge,
    check_size,
    deep_equal,
    is_empty,
    kind_of,
    type_name,
)

__all__ = ["DATA", "coalesce", "dig"]

_MAX_COMPARISONS = 10_000_000


# Any value


def _default(fallback: Any, *given: Any) -> Any:
    return fallback if not given or is_empty(given[0]) else given[0]


def coalesce(*values: Any) -> Any:
    """Return the first value that is not empty."""
    return next((value for value in values if not is_empty(value)), None)


def _deep_copy(value: Any) -> Any:
    if value is None:
        raise CallFailed("call on a nil value")
    check_size(value)
    return _copy(value)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def _type_is_like(wanted: str, value: Any) -> bool:
    return type_name(value) in (wanted, f"*{wanted}")


# Maps


def _dict(*items: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for index in range(0, len(items), 2):
        result[format_value(items[index])] = items[index + 1] if index + 1 < len(items) else ""
    return result


def _set(target: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    if isinstance(target, NilMap):
        raise CallFailed("assignment to entry in nil map")
    target[key] = value
    return target


def _unset(target: dict[str, Any], key: str) -> dict[str, Any]:
    target.pop(key, None)
    return target


def _omit(source: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in source.items() if key not in keys}


def _pick(source: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: source[key] for key in keys if key in source}


def _keys(*sources: dict[str, Any]) -> StringList:
    return StringList(key for source in sources for key in sorted(source))


def dig(*arguments: Any) -> Any:
    """Return the value at a path of keys: ``dig "a" "b" fallback map``."""
    if len(arguments) < 3:
        raise CallFailed("dig needs at least three arguments")
    *keys, fallback, value = arguments
    for key in keys:
        if type(value) is not dict:
            shown = type_name(value) if value is not None else "nil"
            raise CallFailed(
                f"interface conversion: interface {{}} is {shown}, not map[string]interface {{}}"
            )
        if not isinstance(key, str):
            raise CallFailed(
                f"interface conversion: interface {{}} is {type_name(key)}, not string"
            )
        if key not in value:
            return fallback
        value = value[key]
    return value


def _merge(overwrite: bool) -> Callable[..., dict[str, Any]]:
    def run(target: dict[str, Any], *sources: dict[str, Any]) -> dict[str, Any]:
        for source in sources:
            check_size(source)
            _merge_into(target, source, overwrite)
        return target

    return run


def _merge_into(target: dict[str, Any], source: dict[str, Any], overwrite: bool) -> None:
    """Fill empty or, with ``overwrite``, all keys of ``target`` (dario.cat/mergo's rules)."""
    for key, value in source.items():
        known = target.get(key)
        if isinstance(value, dict) and isinstance(known, dict) and known:
            _merge_into(known, value, overwrite)
        elif (overwrite and value is not None) or is_empty(known):
            target[key] = value


# Lists


def _items(value: Any, action: str) -> list[Any]:
    if not isinstance(value, list):
        kind = "nil" if value is None else kind_of(value)
        raise CallFailed(f"Cannot {action} on type {kind}")
    return value


def _on_list(action: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose first argument must be a list."""

    def run(value: Any, *others: Any) -> Any:
        return body(_items(value, action), *others)

    return run


def _has(needle: Any, haystack: Any) -> bool:
    if haystack is None:
        return False
    return any(deep_equal(needle, item) for item in _items(haystack, "find has"))


def _without(items: list[Any], *omitted: Any) -> list[Any]:
    if len(items) * len(omitted) > _MAX_COMPARISONS:
        raise TooLarge
    return [item for item in items if not any(deep_equal(item, other) for other in omitted)]


def _unique(items: list[Any]) -> list[Any]:
    if len(items) ** 2 > _MAX_COMPARISONS:
        raise TooLarge
    result: list[Any] = []
    for item in items:
        if not any(deep_equal(item, known) for known in result):
            result.append(item)
    return result


def _concat(*lists: Any) -> list[Any]:
    return [item for value in lists for item in _items(value, "concat")]


def _slice(items: list[Any], *bounds: Any) -> Any:
    if not items:
        return None
    start = int(to_int64(bounds[0])) if bounds else 0
    end = int(to_int64(bounds[1])) if len(bounds) > 1 else len(items)
    if not 0 <= start <= end <= len(items):
        raise CallFailed("reflect.Value.Slice: slice index out of bounds")
    return type(items)(items[start:end])


def _chunk(size: int, value: Any) -> list[Any]:
    items = _items(value, "chunk")
    if size < 1:
        raise CallFailed("chunk size must be positive")
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


_LISTS: Final = {
    "append": ("any any", _on_list("push", lambda items, item: [*items, item])),
    "chunk": ("int any", _chunk),
    "compact": ("any", _on_list("compact", lambda items: [i for i in items if not is_empty(i)])),
    "first": ("any", _on_list("find first", lambda items: items[0] if items else None)),
    "has": ("any any", _has),
    "initial": ("any", _on_list("find initial", lambda items: list(items[:-1]))),
    "last": ("any", _on_list("find last", lambda items: items[-1] if items else None)),
    "prepend": ("any any", _on_list("prepend", lambda items, item: [item, *items])),
    "push": ("any any", _on_list("push", lambda items, item: [*items, item])),
    "rest": ("any", _on_list("find rest", lambda items: list(items[1:]))),
    "reverse": ("any", _on_list("find reverse", lambda items: items[::-1])),
    "slice": ("any any...", _on_list("slice", _slice)),
    "uniq": ("any", _on_list("find uniq", _unique)),
    "without": ("any any...", _on_list("find without", _without)),
}

DATA: Final[Mapping[str, Function]] = {
    "all": fn("any...", lambda *values: not any(map(is_empty, values))),
    "any": fn("any...", lambda *values: not all(map(is_empty, values))),
    "coalesce": fn("any...", coalesce),
    "concat": fn("any...", _concat),
    "deepCopy": fn("any", _deep_copy),
    "deepEqual": fn("any any", deep_equal),
    "default": fn("any any...", _default),
    "dict": fn("any...", _dict),
    "dig": fn("any...", dig),
    "empty": fn("any", is_empty),
    "get": fn("map string", lambda source, key: source.get(key, "")),
    "hasKey": fn("map string", lambda source, key: key in source),
    "keys": fn("map...", _keys),
    "kindIs": fn("string any", lambda wanted, value: kind_of(value) == wanted),
    "kindOf": fn("any", kind_of),
    "list": fn("any...", lambda *items: list(items)),
    "merge": fn("map map...", _merge(False)),
    "mergeOverwrite": fn("map map...", _merge(True)),
    "mustDeepCopy": fn("any", _deep_copy),
    "mustMerge": fn("map map...", _merge(False)),
    "mustMergeOverwrite": fn("map map...", _merge(True)),
    "omit": fn("map string...", _omit),
    "pick": fn("map string...", _pick),
    "pluck": fn("string map...", lambda key, *maps: [m[key] for m in maps if key in m]),
    "set": fn("map string any", _set),
    "ternary": fn("any any bool", lambda yes, no, condition: yes if condition else no),
    "toString": fn("any", format_value),
    "tuple": fn("any...", lambda *items: list(items)),
    "typeIs": fn("string any", lambda wanted, value: type_name(value) == wanted),
    "typeIsLike": fn("string any", _type_is_like),
    "typeOf": fn("any", type_name),
    "unset": fn("map string", _unset),
    "values": fn("map", lambda source: [source[key] for key in sorted(source)]),
    **{name: fn(*row) for name, row in _LISTS.items()},
    **{f"must{name.title()}": fn(*row) for name, row in _LISTS.items()},
}
