"""Number functions of Sprig; what cannot be read as a number counts as zero."""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from olares_apps.helm.calls import CallFailed, Function, fn
from olares_apps.helm.goformat import format_value
from olares_apps.helm.govalues import Int64, wrap_int64

__all__ = ["NUMBERS", "to_int64"]


def to_int64(value: Any) -> Int64:
    """Convert like spf13/cast: floats are cut, texts read with Go's prefixes, the rest is 0."""
    if isinstance(value, str):
        return Int64(_read_int(value))
    if isinstance(value, float):
        return wrap_int64(int(value)) if math.isfinite(value) else Int64(0)
    return wrap_int64(int(value)) if isinstance(value, int) else Int64(0)


def _read_int(text: str) -> int:
    whole, point, zeros = text.partition(".")
    if point and zeros.strip("0") == "":
        text = whole
    digits = text.lstrip("+-")
    try:
        octal = len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567_"
        value = int(text, 8) if octal else int(text, 0)
    except ValueError:
        return 0
    return value if -(2**63) <= value < 2**63 else 0


def _to_float(value: Any) -> float:
    try:
        return float(value) if isinstance(value, (str, int, float)) else 0.0
    except ValueError:
        return 0.0


def _atoi(text: str) -> int:
    try:
        return int(text) if text.isascii() and text.strip() == text else 0
    except ValueError:
        return 0


def _divide(left: Any, right: Any) -> Int64:
    a, b = to_int64(left), to_int64(right)
    if b == 0:
        raise CallFailed("runtime error: integer divide by zero")
    quotient = abs(int(a)) // abs(int(b))
    return wrap_int64(quotient if (a < 0) == (b < 0) else -quotient)


def _remainder(left: Any, right: Any) -> Int64:
    a, b = to_int64(left), to_int64(right)
    if b == 0:
        raise CallFailed("runtime error: integer divide by zero")
    rest = abs(int(a)) % abs(int(b))
    return Int64(-rest if a < 0 else rest)


def _product(first: Any, *others: Any) -> Int64:
    return reduce(lambda a, b: wrap_int64(a * to_int64(b)), others, to_int64(first))


def _round(value: Any, places: int, *edge: float) -> float:
    power = 10.0**places
    scaled = power * _to_float(value)
    fraction = math.modf(scaled)[0]
    whole = math.ceil(scaled) if fraction >= (edge[0] if edge else 0.5) else math.floor(scaled)
    return whole / power


def _exactly(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[..., float]:
    """Return a float operation that counts in decimal, as Sprig's ``addf`` and others do."""

    def run(first: Any, *others: Any) -> float:
        decimals = [Decimal(repr(_to_float(value))) for value in (first, *others)]
        return float(reduce(operation, decimals))

    return run


def _add_floats(*values: Any) -> float:
    return _exactly(lambda a, b: a + b)(0.0, *values)


def _quotient(left: Decimal, right: Decimal) -> Decimal:
    if right == 0:
        raise CallFailed("decimal division by 0")
    return round(left / right, 16)


def _octal(value: Any) -> Int64:
    try:
        return wrap_int64(int(format_value(value), 8))
    except ValueError:
        return Int64(0)


NUMBERS: Final[Mapping[str, Function]] = {
    "add": fn("any...", lambda *values: wrap_int64(sum(map(to_int64, values)))),
    "add1": fn("any", lambda value: wrap_int64(to_int64(value) + 1)),
    "add1f": fn("any", lambda value: _add_floats(value, 1)),
    "addf": fn("any...", _add_floats),
    "atoi": fn("string", _atoi),
    "biggest": fn("any any...", lambda *values: max(map(to_int64, values))),
    "ceil": fn("any", lambda value: float(math.ceil(_to_float(value)))),
    "div": fn("any any", _divide),
    "divf": fn("any any...", _exactly(_quotient)),
    "float64": fn("any", _to_float),
    "floor": fn("any", lambda value: float(math.floor(_to_float(value)))),
    "int": fn("any", lambda value: int(to_int64(value))),
    "int64": fn("any", to_int64),
    "max": fn("any any...", lambda *values: max(map(to_int64, values))),
    "maxf": fn("any any...", lambda *values: max(map(_to_float, values))),
    "min": fn("any any...", lambda *values: min(map(to_int64, values))),
    "minf": fn("any any...", lambda *values: min(map(_to_float, values))),
    "mod": fn("any any", _remainder),
    "mul": fn("any any...", _product),
    "mulf": fn("any any...", _exactly(lambda a, b: a * b)),
    "round": fn("any int float64...", _round),
    "sub": fn("any any", lambda a, b: wrap_int64(to_int64(a) - to_int64(b))),
    "subf": fn("any any...", _exactly(lambda a, b: a - b)),
    "toDecimal": fn("any", _octal),
}
