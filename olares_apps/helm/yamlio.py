"""YAML and JSON as Helm reads and writes them.

Helm's reader (``sigs.k8s.io/yaml`` over go-yaml v2) keeps to YAML 1.1 with some changes:
``on`` and ``y`` are booleans, ``0777`` is octal, ``1e3`` is a number without a point, dates and
``1:30`` stay strings, keys are strings. The parser here is libyaml's; only the reading of plain
scalars differs from PyYAML's. Unlike Helm, which takes the last one, a key that is there twice
is an error: the device's first rendering pass refuses it.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

import yaml

from olares_apps.errors import Problem
from olares_apps.helm.errors import YamlError
from olares_apps.helm.goformat import go_float
from olares_apps.helm.govalues import NIL, Struct, check_size

__all__ = ["Numbers", "from_json", "load_yaml", "read_yaml", "to_json", "to_yaml"]

_MAX_NODES = 200_000
_MAX_DEPTH = 200
_KEPT_CHARACTERS = 2**15
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset("true True TRUE y Y yes Yes YES on On ON".split())
_FALSE = frozenset("false False FALSE n N no No NO off Off OFF".split())
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TIMESTAMP = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]|[ \t]+)\d{1,2}:\d{1,2}:\d{1,2}.*)?")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TAG = "tag:yaml.org,2002:"
_TYPED = frozenset(f"{_TAG}{name}" for name in ("int", "float", "bool"))
_NO_TAG = (None, "!")


class Numbers(Enum):
    """What a number becomes: an int where it is whole, or always Go's float64."""

    NATURAL = "natural"
    FLOAT64 = "float64"


def load_yaml(
    text: str,
    *,
    file: str,
    first_line: int = 1,
    numbers: Numbers = Numbers.NATURAL,
    yes_is_bool: bool = True,
) -> Any:
    """Read the first document of a YAML text; mapping keys become strings.

    ``first_line`` is the line of ``file`` that the text begins on. ``yes_is_bool`` is False for
    go-yaml v3, which the device's first rendering pass uses: there ``on`` is a string.
    Raises :class:`YamlError` for text that is not YAML, keys that occur twice, anchors that
    contain themselves or expand without bounds, and nesting deeper than 200 levels.
    """
    try:
        parser = yaml.CSafeLoader(text)
        try:
            return _Builder(parser.get_event, numbers, yes_is_bool, first_line).document()
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "invalid"
        if not isinstance(error, _Fault):
            message = f"not YAML: {message}"
        line = first_line if mark is None else mark.line + first_line
        column = None if mark is None else mark.column + 1
    except yaml.reader.ReaderError as error:
        message = f"not YAML: the character {chr(error.character)!r} is not allowed"
        line, column = text.count("\n", 0, error.position) + first_line, None
    raise YamlError(Problem(message, file=PurePosixPath(file), line=line, column=column))


def read_yaml(text: str, *, file: str, yes_is_bool: bool = True) -> Any:
    """Read like :func:`load_yaml`; the same text gives the same object, which nobody may change.

    Every pass over a chart reads the same few short files again.
    """
    if len(text) > _KEPT_CHARACTERS:
        return load_yaml(text, file=file, yes_is_bool=yes_is_bool)
    return _read_kept(text, file, yes_is_bool)


@lru_cache(maxsize=64)
def _read_kept(text: str, file: str, yes_is_bool: bool) -> Any:
    return load_yaml(text, file=file, yes_is_bool=yes_is_bool)


def _digits(text: str) -> str:
    """Return the text without the underscores that may stand between digits."""
    return text if text.startswith("_") else text.replace("_", "")


class _Fault(yaml.MarkedYAMLError):
    """Valid YAML that is refused here."""


def _fault(place: Any, message: str) -> _Fault:
    """Return the refusal of a node or event."""
    return _Fault(problem=message, problem_mark=place.start_mark)


_UNFINISHED = object()


class _Builder:
    """Makes data of a parser's events; nodes in between would cost as much again."""

    def __init__(
        self, next_event: Callable[[], Any], numbers: Numbers, yes_is_bool: bool, first_line: int
    ) -> None:
        self.next, self.numbers, self.yes_is_bool = next_event, numbers, yes_is_bool
        self.first_line = first_line
        self.nodes = self.depth = 0
        # Name -> value, and how many nodes it stands for.
        self.anchors: dict[str, tuple[Any, int]] = {}

    def document(self) -> Any:
        """Return the first document, None when there is none."""
        self.next()  # the stream begins
        if type(self.next()) is yaml.StreamEndEvent:
            return None
        value = self.build(self.next())
        self.next()  # the document ends: what stands behind it must be a new one
        return value

    def build(self, event: Any) -> Any:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise self.too_large(event)
        kind = type(event)
        if kind is yaml.ScalarEvent:
            value = self.scalar(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = value, 1
            return value
        if kind is yaml.AliasEvent:
            return self.alias(event)
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _fault(event, f"more than {_MAX_DEPTH} levels inside each other")
        before = self.nodes
        if event.anchor is not None:
            self.anchors[event.anchor] = _UNFINISHED, 0
        value = self.sequence() if kind is yaml.SequenceStartEvent else self.mapping()
        if event.anchor is not None:
            self.anchors[event.anchor] = value, self.nodes - before + 1
        self.depth -= 1
        return value

    def too_large(self, event: Any) -> _Fault:
        return _fault(event, "the document is too large, or its anchors expand too far")

    def alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise yaml.MarkedYAMLError(
                problem="found undefined alias", problem_mark=event.start_mark
            )
        value, count = self.anchors[event.anchor]
        if value is _UNFINISHED:
            raise _fault(event, "an anchor contains itself")
        self.nodes += count - 1
        if self.nodes > _MAX_NODES:
            raise self.too_large(event)
        return deepcopy(value)

    def sequence(self) -> list[Any]:
        result = []
        while type(event := self.next()) is not yaml.SequenceEndEvent:
            result.append(self.build(event))
        return result

    def mapping(self) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        result: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while type(event := self.next()) is not yaml.MappingEndEvent:
            is_scalar = type(event) is yaml.ScalarEvent
            if is_scalar and event.value == "<<" and event.implicit[0]:
                merged = self.merge(self.next()) | merged
                continue
            key = self.key(event)
            line = event.start_mark.line
            if key in lines:
                both = f"lines {lines[key] + self.first_line} and {line + self.first_line}"
                raise _fault(event, f"duplicate key '{key}' ({both})")
            lines[key] = line
            result[key] = self.build(self.next())
        return merged | result if merged else result

    def merge(self, event: Any) -> dict[str, Any]:
        value = self.build(event)
        result: dict[str, Any] = {}
        for source in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(source, dict):
                raise _fault(event, "map merge requires map or sequence of maps as the value")
            result |= source
        return result

    def key(self, event: Any) -> str:
        value = self.build(event)
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return go_float(value)
        raise _fault(event, "a key must be a string, a number or a boolean")

    def scalar(self, event: Any) -> Any:
        text: str = event.value
        tag = event.tag
        if tag in _NO_TAG:
            return self.plain(event, text) if event.implicit[0] else text
        if tag in _TYPED:
            return self.plain(event, text)
        return None if tag == f"{_TAG}null" else text

    def plain(self, event: Any, text: str) -> Any:
        if text in _NULLS:
            return None
        if text[0].isalpha():
            if text in _TRUE:
                return True if self.yes_is_bool or text[0] in "tT" else text
            if text in _FALSE:
                return False if self.yes_is_bool or text[0] in "fF" else text
            return text
        digits = _digits(text)
        if _INTEGER.fullmatch(digits):
            return self.integer(digits)
        if _FLOAT.fullmatch(digits):
            value = float(digits)
            if not isfinite(value):
                return text
            whole = self.numbers is Numbers.NATURAL and value.is_integer() and digits.isdigit()
            return int(value) if whole else value
        if _SPECIAL.fullmatch(text):
            raise _fault(event, f"{text} is a number that JSON does not have")
        return text

    def integer(self, digits: str) -> int | float:
        body = digits.lstrip("+-")
        octal = len(body) > 1 and body[0] == "0" and body[1].isdigit()
        value = int(digits, 8) if octal else int(digits, 0)
        if self.numbers is Numbers.FLOAT64 or not -(2**63) <= value < 2**64:
            return float(value)
        return value


def _plain_data(value: Any) -> Any:
    """Return the value as encoding/json sees it: whole floats as ints, structs as maps."""
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e21:
            return int(Decimal(repr(value)))
        return value
    if isinstance(value, Struct):
        return {key: _plain_data(item) for key, item in value.fields.items()}
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _plain_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_data(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return None if value is NIL else value


def to_json(value: Any, *, indent: int | None = None, escape_html: bool = True) -> str:
    """Return the value as Go's encoding/json writes it: sorted keys, ``<>&`` escaped.

    Raises ValueError for a number that JSON does not have.
    """
    check_size(value)
    text = _json_text(_plain_data(value), "" if indent is None else " " * indent, "\n")
    for character in "<>&\u2028\u2029" if escape_html else "\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _json_text(value: Any, indent: str, line: str) -> str:
    """Return JSON text; ``line`` is a line break with the indentation of this level."""
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"json: unsupported value: {go_float(value)}")
        return re.sub(r"e-0(\d)$", r"e-\1", go_float(value, least=-6, most=21))
    if not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    if not value:
        return opened + closed
    inner = line + indent
    if isinstance(value, dict):
        colon = ": " if indent else ":"
        items = [
            f"{json.dumps(key, ensure_ascii=False)}{colon}{_json_text(value[key], indent, inner)}"
            for key in sorted(value)
        ]
    else:
        items = [_json_text(item, indent, inner) for item in value]
    if indent:
        return opened + inner + f",{inner}".join(items) + line + closed
    return opened + ",".join(items) + closed


def from_json(text: str) -> Any:
    """Read JSON; every number becomes a float64. Raises ValueError for anything else."""

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_int=float, parse_constant=refuse)


class _Dumper(yaml.CSafeDumper):
    """go-yaml's choices: literal style for several lines, quotes only where needed."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode and implicit[0]:
            return f"{_TAG}{_reads_as(value)}"
        return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None if _reads_as(text) == "str" else '"'
    return dumper.represent_scalar(f"{_TAG}str", text, style=style)


def _represent_float(dumper: _Dumper, value: float) -> yaml.ScalarNode:
    return dumper.represent_scalar(f"{_TAG}float", go_float(value))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_float)


def _reads_as(text: str) -> str:
    """Return the type that YAML readers, old ones included, see in a plain scalar."""
    if text in _NULLS:
        return "null"
    if text in _TRUE or text in _FALSE:
        return "bool"
    digits = _digits(text)
    if _INTEGER.fullmatch(digits):
        return "int"
    if _TIMESTAMP.fullmatch(text):
        return "timestamp"
    if _FLOAT.fullmatch(digits):
        return "float" if isfinite(float(digits)) else "str"
    if _SPECIAL.fullmatch(text) or _SEXAGESIMAL.fullmatch(text):
        return "float"
    return "merge" if text == "<<" else "str"


def to_yaml(value: Any) -> str:
    """Return the value as Helm's ``toYaml`` writes it, without the last line break."""
    check_size(value)
    text: str = yaml.dump(
        _plain_data(value),
        Dumper=_Dumper,
        allow_unicode=True,
        default_flow_style=False,
        sort_keys=True,
        width=2**31 - 1,
    )
    return text.removesuffix("...\n").removesuffix("\n")
