"""Judging one value against what a flag takes."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olares_apps.engines.flags.model import Flag, FlagTable, JsonKey, JsonShape, ValueForm
from olares_apps.engines.flags.problems import ProblemKind
from olares_apps.errors import nearest

__all__ = ["ValueFault", "value_faults"]

_INT = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SIZE = re.compile(r"[+-]?\d+(\.\d+)?[kKmMgGtT]?")
_EXPONENT = re.compile(r"[+-]?\d+(\.\d+)?[eE][+-]?\d+")

# common_arg_utils::is_truthy, is_falsey and is_autoy of llama.cpp (b8740 to b11434): further
# spellings that its on|off|auto options take. Documented are only the three words.
_SWITCH_SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(("true", "1", "enabled"), "on"),
    **dict.fromkeys(("false", "0", "disabled"), "off"),
    "-1": "auto",
}


@dataclass(frozen=True, slots=True)
class ValueFault:
    """One fault of a value: what kind, what to say, what is allowed, what to write."""

    kind: ProblemKind
    message: str
    allowed: tuple[str, ...] = ()
    suggestion: str | None = None
    value: str | None = None


def value_faults(
    flag: Flag, value: str, table: FlagTable, *, path: tuple[str, ...] = (), is_open: bool = False
) -> list[ValueFault]:
    """Return what is wrong with a value of a flag.

    ``path`` holds the keys of a dotted form (the value is then that of the key). ``is_open``
    is set when an option loads further values, so that the listed ones are not all.
    """
    if path:
        return list(_dotted(flag, value, table, path))
    judge = _JUDGES.get(flag.form)
    if judge is None or (is_open and flag.form in (ValueForm.ENUM, ValueForm.LIST)):
        return []
    return list(judge(flag, value, table))


def _bad(message: str, allowed: tuple[str, ...] = (), suggestion: str | None = None) -> ValueFault:
    return ValueFault(ProblemKind.BAD_VALUE, message, allowed, suggestion)


def _whole(flag: Flag, value: str, table: FlagTable) -> Iterator[ValueFault]:
    if _INT.fullmatch(value) or value in flag.values:
        return
    words = f" or {', '.join(flag.values)}" if flag.values else ""
    if _EXPONENT.fullmatch(value) and math.isfinite(float(value)) and float(value).is_integer():
        digits = str(int(float(value)))
        yield _bad(
            f"{value} is a number in exponent form, which is not read as a whole number: "
            f"write {digits}",
            flag.values,
            digits,
        )
    else:
        yield _bad(f"{value!r} is not a whole number{words}", flag.values)


def _size(flag: Flag, value: str, table: FlagTable) -> Iterator[ValueFault]:
    if not _SIZE.fullmatch(value) and value not in flag.values:
        yield from _whole(flag, value, table)


def _decimal(flag: Flag, value: str, table: FlagTable) -> Iterator[ValueFault]:
    if not _FLOAT.fullmatch(value) and value not in flag.values:
        words = f" or {', '.join(flag.values)}" if flag.values else ""
        yield _bad(f"{value!r} is not a number{words}", flag.values)


def _word(flag: Flag, value: str, table: FlagTable) -> Iterator[ValueFault]:
    if not flag.values or value in flag.values:
        return
    spelled = _SWITCH_SPELLINGS.get(value)
    if table.engine == "llamacpp" and "on" in flag.values and spelled in flag.values:
        yield ValueFault(
            ProblemKind.DEPRECATED,
            f"{value!r} is an undocumented spelling: write {spelled}",
            flag.values,
            spelled,
        )
    else:
        yield _not_allowed(flag, value, table)


def _name(flag: Flag, value: str, table: FlagTable) -> Iterator[ValueFault]:
    if not _is_name(value, flag.values):
        yield _not_allowed(flag, value, table)


def _is_name(value: str, names: tuple[str, ...]) -> bool:
    return value.upper() in names or value.lower() == "auto"


def _items(flag: Flag, value: str, table: FlagTable) -> Iterator[ValueFault]:
    if not flag.values:
        return
    for item in [value] if flag.many else value.split(","):
        if item not in flag.values:
            yield _not_allowed(flag, item, table)


def _not_allowed(flag: Flag, value: str, table: FlagTable) -> ValueFault:
    hints = table.value_hints.get(flag.name, {})
    hint = hints.get(value)
    suggestion = hint if hint in flag.values else nearest(value, flag.values)
    return _bad(
        f"{value!r} is not valid for {table.build} (allowed: {', '.join(flag.values)})",
        flag.values,
        suggestion,
    )


def _pair(flag: Flag, value: str, table: FlagTable) -> Iterator[ValueFault]:
    yield from _whole(flag, value, table)


def _json(flag: Flag, value: str, table: FlagTable) -> Iterator[ValueFault]:
    shape = table.shapes.get(flag.shape or "")
    if shape is not None and shape.takes_text and not value.lstrip().startswith("{"):
        return
    try:
        found = json.loads(value)
    except ValueError as error:
        yield _no_json(flag, value, table, str(error))
        return
    if flag.shape is None:
        return
    if not isinstance(found, dict):
        yield ValueFault(
            ProblemKind.NOT_JSON,
            f"must be a JSON object, got {_type_name(found)} {value!r}",
        )
    elif shape is not None:
        yield from _keys(found, shape, table, prefix="")


def _no_json(flag: Flag, value: str, table: FlagTable, error: str) -> ValueFault:
    pairs = _pairs_in_text(value)
    suggestion = json.dumps(pairs, separators=(",", ":")) if pairs else None
    what = "a JSON object" if flag.shape else "JSON"
    message = f"must be {what}, got the text {value!r} ({error})"
    if suggestion:
        message += f"; write {suggestion}"
    hints = table.value_hints.get(flag.name, {})
    for key, item in pairs.items():
        if (own := hints.get(key)) and table.find(own):
            word = {True: "on", False: "off"}.get(item, item) if isinstance(item, bool) else item
            message += f" or {own} {word}"
    return ValueFault(ProblemKind.NOT_JSON, message, suggestion=suggestion)


_TEXT_PAIR = re.compile(r"\{?\s*[\"']?(\w+)[\"']?\s*[=:]\s*[\"']?([\w.-]+)[\"']?\s*\}?")


def _pairs_in_text(value: str) -> dict[str, Any]:
    """Return the object that texts such as ``image:0`` or ``{a:1}`` stand for; may be empty."""
    pairs: dict[str, Any] = {}
    for part in value.strip().strip("{}").split(","):
        found = _TEXT_PAIR.fullmatch(part.strip())
        if not found:
            return {}
        key, text = found.groups()
        try:
            pairs[key] = json.loads(text)
        except ValueError:
            pairs[key] = text
    return pairs


def _keys(
    found: Mapping[str, Any], shape: JsonShape, table: FlagTable, prefix: str
) -> Iterator[ValueFault]:
    for written, value in found.items():
        name = written.replace("-", "_") if shape.folds_dashes else written
        key = shape.keys.get(name)
        if key is None:
            yield ValueFault(
                ProblemKind.JSON_UNKNOWN_KEY,
                f"{shape.name} of {table.build} has no key {prefix + written!r}",
                tuple(shape.keys),
                nearest(name, shape.keys),
                value=written,
            )
        elif value is not None:
            yield from _json_value(prefix + written, value, key, table)


def _json_value(name: str, value: Any, key: JsonKey, table: FlagTable) -> Iterator[ValueFault]:
    if key.form == "enum":
        yield from _json_word(name, value, key, table)
    elif key.form == "object" and isinstance(value, dict):
        shape = table.shapes.get(key.shape or "")
        if shape is not None:
            yield from _keys(value, shape, table, prefix=f"{name}.")
    elif not _fits(value, key.form):
        yield _bad(f"{name} must be {_FORM_NAMES[key.form]}, got {_type_name(value)} {value!r}")


def _json_word(name: str, value: Any, key: JsonKey, table: FlagTable) -> Iterator[ValueFault]:
    word = str(value)
    if not isinstance(value, str) and word in key.numbers:
        yield ValueFault(
            ProblemKind.DEPRECATED,
            f'{name}: {word} is an internal number that may change; write "{key.numbers[word]}"',
            key.values,
            key.numbers[word],
            value=word,
        )
    elif isinstance(value, str) and word in key.deprecated:
        yield ValueFault(
            ProblemKind.DEPRECATED,
            f'{name}: "{word}" is deprecated in {table.build}; write "{key.deprecated[word]}"',
            key.values,
            key.deprecated[word],
            value=word,
        )
    elif key.values and (isinstance(value, bool | float | list | dict) or not _is_word(word, key)):
        yield ValueFault(
            ProblemKind.BAD_VALUE,
            f"{name}: {word!r} is not valid for {table.build} (allowed: {', '.join(key.values)})",
            key.values,
            _like(word, key.values),
            value=word,
        )


def _like(word: str, words: tuple[str, ...]) -> str | None:
    """Return the word that is meant: a longer name that ends in it, or the nearest one."""
    longer = next((item for item in words if item.endswith(f"_{word}")), None)
    return longer or nearest(word, words)


def _is_word(word: str, key: JsonKey) -> bool:
    # Enums of upper-case names are Python enums that vLLM looks up by name.
    is_enum = all(value.isupper() for value in key.values)
    if key.numbers:  # the words of such enums have no "auto"
        return word.upper() in key.values
    return word in key.values or (is_enum and _is_name(word, key.values))


def _dotted(
    flag: Flag, value: str, table: FlagTable, path: tuple[str, ...]
) -> Iterator[ValueFault]:
    if flag.form is not ValueForm.JSON:
        yield ValueFault(
            ProblemKind.UNKNOWN, f"{flag.name} takes no JSON, so it has no key {path[0]!r}"
        )
        return
    shape = table.shapes.get(flag.shape or "")
    if shape is None:
        return
    try:
        leaf: Any = json.loads(value)
    except ValueError:
        leaf = value
    for key in reversed(path):
        leaf = {key: leaf}
    yield from _keys(leaf, shape, table, prefix="")


_FORM_NAMES = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "list": "a list",
    "object": "an object",
}

# vLLM's models convert text to numbers and numbers to booleans, so only containers differ.
_FITS: Mapping[str, tuple[type, ...]] = {
    "bool": (bool, int, str),
    "int": (bool, int, float, str),
    "float": (bool, int, float, str),
    "string": (str,),
    "list": (list,),
    "object": (dict,),
}


def _fits(value: Any, form: str) -> bool:
    return isinstance(value, _FITS.get(form, (object,)))


def _type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "the text", bool: "the boolean"}
    return "null" if value is None else names.get(type(value), "the number")


_JUDGES: Mapping[ValueForm, Callable[[Flag, str, FlagTable], Iterator[ValueFault]]] = {
    ValueForm.INT: _whole,
    ValueForm.SIZE: _size,
    ValueForm.FLOAT: _decimal,
    ValueForm.ENUM: _word,
    ValueForm.NAME: _name,
    ValueForm.LIST: _items,
    ValueForm.JSON: _json,
    ValueForm.PAIR: _pair,
}
