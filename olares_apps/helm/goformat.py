"""Go's ``fmt``: how values print, ``printf`` verbs, and quoting.

A number of a values file is a float64, and ``%v`` of a float64 turns to an exponent from a
million on: ``1.048576e+06``. That is the trap that these functions must reproduce.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from math import isinf, isnan
from typing import Any

from olares_apps.helm.govalues import NIL, Struct, check_size, type_name

__all__ = ["format_value", "go_float", "go_print", "go_println", "go_quote", "go_sprintf"]

_QUOTED = {
    **{"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"},
    **{"\v": "\\v", '"': '\\"', "\\": "\\\\"},
}
_VERB = re.compile(
    r"%(?P<flags>[-+# 0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?(?:\[(?P<index>\d+)\])?"
    r"(?P<verb>.?)",
    re.DOTALL,
)
_MAX_WIDTH = 1_000_000


def go_float(value: float, *, least: int = -4, most: int = 6) -> str:
    """Return the shortest text of a float64, with an exponent outside ``10**least..10**most``.

    The defaults are those of ``%v``; encoding/json uses -6 and 21.
    """
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    sign, digits, _ = (shortest := Decimal(repr(value)).normalize()).as_tuple()
    exponent = shortest.adjusted()
    if least <= exponent < most:
        return f"{shortest:f}"
    text = "".join(map(str, digits))
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def go_quote(text: str) -> str:
    """Return the text as a double-quoted Go string (``%q``), which is also valid YAML."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quote_character, text)) + '"'


def _quote_character(character: str) -> str:
    if character in _QUOTED:
        return _QUOTED[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def format_value(value: Any) -> str:
    """Return the text of a value as ``%v`` prints it."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        check_size(value)
    return _text(value, "v", "", None)


def go_print(*values: Any) -> str:
    """Join the values, with a space between two of which neither is a string (``Sprint``)."""
    parts: list[str] = []
    for index, value in enumerate(values):
        if index and not isinstance(value, str) and not isinstance(values[index - 1], str):
            parts.append(" ")
        parts.append(format_value(value))
    return "".join(parts)


def go_println(*values: Any) -> str:
    """Join the values with spaces and end the line (``Sprintln``)."""
    return " ".join(map(format_value, values)) + "\n"


def go_sprintf(layout: str, *values: Any) -> str:
    """Format as Go's ``Sprintf``: mistakes are shown in the text, they are no errors."""
    position, jumped = 0, False

    def take() -> Any:
        nonlocal position
        if position >= len(values):
            raise IndexError
        position += 1
        return values[position - 1]

    def replace(match: re.Match[str]) -> str:
        nonlocal position, jumped
        flags, verb = match["flags"], match["verb"]
        if not verb:
            return "%!(NOVERB)"
        if verb == "%":
            return "%"
        try:
            width = _size(match["width"], take)
            precision = None if match["precision"] is None else _size(match["precision"], take) or 0
        except ValueError:
            return "%!(BADWIDTH)"
        except IndexError:
            return f"%!{verb}(BADWIDTH)"
        if match["index"]:
            position, jumped = int(match["index"]) - 1, True
            if not 0 <= position < len(values):
                return f"%!{verb}(BADINDEX)"
        if position >= len(values):
            return f"%!{verb}(MISSING)"
        value = take()
        if isinstance(value, (list, dict)):
            check_size(value)
        if width is not None and width < 0:
            flags, width = flags + "-", -width
        return _text(value, verb, flags, width, precision)

    text = _VERB.sub(replace, layout)
    if position < len(values) and not jumped:
        extra = ", ".join(
            "<nil>" if value is None else f"{type_name(value)}={format_value(value)}"
            for value in values[position:]
        )
        text += f"%!(EXTRA {extra})"
    return text


def _size(text: str, take: Callable[[], Any]) -> int | None:
    if text == "":
        return None
    size = take() if text == "*" else int(text)
    if not isinstance(size, int) or abs(size) > _MAX_WIDTH:
        raise ValueError
    return size


def _pad(text: str, flags: str, width: int | None) -> str:
    if width is None or len(text) >= width:
        return text
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _text(
    value: Any, verb: str, flags: str, width: int | None, precision: int | None = None
) -> str:
    if verb == "T":
        return _pad(type_name(value), flags, width)
    if value is None or value is NIL:
        return _pad("<nil>", flags, width) if verb == "v" else f"%!{verb}(<nil>)"
    if isinstance(value, bytes) and verb in "sqxX":
        value = value.decode(errors="replace")
    if isinstance(value, str):
        text = _string(value, verb, flags, precision)
    elif isinstance(value, bool):
        text = str(value).lower() if verb in "tv" else None
    elif isinstance(value, int):
        return _integer(value, verb, flags, width, precision)
    elif isinstance(value, float):
        return _float(value, verb, flags, width, precision)
    elif isinstance(value, Struct):
        if value.text is not None:
            text = value.text
        else:
            items = [_text(item, verb, flags, width, precision) for item in value.fields.values()]
            text = ("&" if value.type.startswith("*") else "") + "{" + " ".join(items) + "}"
    elif isinstance(value, dict):
        return (
            "map["
            + " ".join(
                f"{_text(key, verb, flags, width, precision)}:"
                f"{_text(value[key], verb, flags, width, precision)}"
                for key in sorted(value)
            )
            + "]"
        )
    else:
        items = [_text(item, verb, flags, width, precision) for item in value]
        return "[" + " ".join(items) + "]"
    return _bad_verb(value, verb) if text is None else _pad(text, flags, width)


def _bad_verb(value: Any, verb: str) -> str:
    return f"%!{verb}({type_name(value)}={format_value(value)})"


def _string(value: str, verb: str, flags: str, precision: int | None) -> str | None:
    if precision is not None and verb in "vsq":
        value = value[:precision]
    match verb:
        case "v":
            return go_quote(value) if "#" in flags else value
        case "s":
            return value
        case "q":
            return f"`{value}`" if "#" in flags and "`" not in value else go_quote(value)
        case "x" | "X":
            data = value.encode(errors="replace")
            text = data.hex(" ") if " " in flags else data.hex()
            return text.upper() if verb == "X" else text
    return None


def _integer(value: int, verb: str, flags: str, width: int | None, precision: int | None) -> str:
    if verb not in "vdboOxXcqU":
        return _bad_verb(value, verb)
    if verb in "cqU":
        character = chr(value) if 0 <= value <= 0x10FFFF else "\ufffd"
        text = {
            "c": character,
            "q": "'" + _quote_character(character).replace('\\"', '"').replace("'", "\\'") + "'",
            "U": f"U+{value:04X}",
        }[verb]
        return _pad(text, flags, width)
    base = {"v": "d", "O": "o"}.get(verb, verb)
    digits = format(abs(value), base)
    if precision is not None:
        digits = digits.rjust(precision, "0")
    prefix = {"b": "0b", "o": "0", "x": "0x", "X": "0X", "O": "0o"}.get(verb, "")
    if verb != "O" and "#" not in flags:
        prefix = ""
    return _number(value < 0, prefix, digits, flags, width, zeros=precision is None)


def _float(value: float, verb: str, flags: str, width: int | None, precision: int | None) -> str:
    if verb not in "veEfFgG":
        return _bad_verb(value, verb)
    if isnan(value) or isinf(value):
        text = "NaN" if isnan(value) else "Inf"
        return _number(value < 0, "", text, flags, width, zeros=False)
    if verb in "vgG" and precision is None:
        digits = go_float(abs(value))
        digits = digits.upper() if verb == "G" else digits
    else:
        verb = "g" if verb == "v" else verb
        digits = f"%.{6 if precision is None else precision}{verb}" % abs(value)
    negative = str(value).startswith("-")
    return _number(negative, "", digits, flags, width, zeros=True)


def _number(
    negative: bool, prefix: str, digits: str, flags: str, width: int | None, *, zeros: bool
) -> str:
    sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
    if zeros and width is not None and "0" in flags and "-" not in flags:
        digits = digits.rjust(width - len(sign) - len(prefix), "0")
    return _pad(sign + prefix + digits, flags, width)
