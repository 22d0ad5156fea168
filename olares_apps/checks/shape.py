"""Reading data of unknown shape: charts come from anyone, and a rule must not fail on them."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from olares_apps.spec.quantity import parse_cpu, parse_quantity

__all__ = ["as_list", "as_map", "as_maps", "as_text", "cpu", "dig", "shown", "size", "walk"]

_SHOWN_CHARACTERS = 80


def as_map(value: Any) -> Mapping[str, Any]:
    """Return a mapping, empty for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> Sequence[Any]:
    """Return a list, empty for anything else."""
    return value if isinstance(value, list) else ()


def as_maps(value: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the mappings of a list with their indexes."""
    return [(index, item) for index, item in enumerate(as_list(value)) if isinstance(item, dict)]


def as_text(value: Any) -> str:
    """Return a text or the plain form of a number; empty for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return ""


def dig(value: Any, *path: str | int) -> Any:
    """Return what lies at a path of keys and indexes, None where the path breaks."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -1 <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def walk(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield every value below ``value`` that is neither a mapping nor a list, with its path."""
    stack = [(path, value)]
    while stack:
        here, item = stack.pop()
        if isinstance(item, dict):
            stack += [((*here, key), child) for key, child in reversed(item.items())]
        elif isinstance(item, list):
            stack += [((*here, index), child) for index, child in reversed([*enumerate(item)])]
        else:
            yield here, item


def size(value: Any) -> int | None:
    """Return a memory or disk quantity in bytes, None when it is none."""
    try:
        return parse_quantity(as_text(value))
    except (ValueError, ArithmeticError):
        return None


def cpu(value: Any) -> Decimal | None:
    """Return a CPU quantity in cores, None when it is none."""
    try:
        return parse_cpu(as_text(value))
    except (ValueError, ArithmeticError):
        return None


def shown(value: Any) -> str:
    """Return a value as a message shows it: quoted, on one line, cut when it is long."""
    text = value if isinstance(value, str) else str(value)
    text = text.replace("\n", " ").encode("utf-8", "replace").decode()
    return f"'{text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + '...'}'"
