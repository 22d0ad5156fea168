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
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

import yaml

from olares_apps.errors import Problem
from olares_apps.helm.errors import YamlError
from olares_apps.helm.goformat import go_float
from olares_apps.helm.govalues import NIL, Struct, check_size

__all__ = ["Numbers", "from_json", "load_yaml", "to_json", "to_yaml"]

_MAX_NODES = 200_000
_MAX_DEPTH = 200
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset("true True TRUE y Y yes Yes YES on On ON".split())
_FALSE = frozenset("false False FALSE n N no No NO off Off OFF".split())
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TIMESTAMP = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]|[ \t]+)\d{1,2}:\d{1,2}:\d{1,2}.*)?")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LINE_PREFIX = re.compile(r"^[ ?-]*", re.MULTILINE)
_WIDE_PREFIX = re.compile(r"^[ ?-]{41}", re.MULTILINE)
_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"


class Numbers(Enum):
    """What a number becomes: an int where it is whole, or always Go's float64."""

    NATURAL = "natural"
    FLOAT64 = "float64"


class _Loader(yaml.CSafeLoader):
    """libyaml's parser; it leaves the meaning of plain scalars to :func:`_plain`."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return _PLAIN if kind is yaml.ScalarNode and implicit[0] else f"{_TAG}str"


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
        _check_depth(text)
        loader = _Loader(text)
        try:
            node = loader.get_node() if loader.check_node() else None
        finally:
            loader.dispose()
        return None if node is None else _Builder(numbers, yes_is_bool, first_line).build(node)
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


def _check_depth(text: str) -> None:
    """Refuse nesting that would exhaust the stack of the C parser."""
    # A block inside a block begins further right, or at the same place for a list in a map.
    brackets = text.count("[") + text.count("{")
    if brackets + 2 * 40 + 2 <= _MAX_DEPTH and not _WIDE_PREFIX.search(text):
        return
    widest = max(map(len, _LINE_PREFIX.findall(text)), default=0)
    if brackets + 2 * widest + 2 <= _MAX_DEPTH:
        return
    depth = 0
    loader = _Loader(text)
    try:
        while (event := loader.get_event()) is not None:
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _MAX_DEPTH:
                    raise _fault(event, f"more than {_MAX_DEPTH} levels inside each other")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    finally:
        loader.dispose()


def _digits(text: str) -> str:
    """Return the text without the underscores that may stand between digits."""
    return text if text.startswith("_") else text.replace("_", "")


class _Fault(yaml.MarkedYAMLError):
    """Valid YAML that is refused here."""


def _fault(place: Any, message: str) -> _Fault:
    """Return the refusal of a node or event."""
    return _Fault(problem=message, problem_mark=place.start_mark)


class _Builder:
    def __init__(self, numbers: Numbers, yes_is_bool: bool, first_line: int) -> None:
        self.numbers, self.yes_is_bool, self.first_line = numbers, yes_is_bool, first_line
        self.nodes = 0
        self.open: set[int] = set()

    def build(self, node: yaml.Node) -> Any:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise _fault(node, "the document is too large, or its anchors expand too far")
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        if id(node) in self.open:
            raise _fault(node, "an anchor contains itself")
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.build(item) for item in node.value]
            return self.mapping(node.value)
        finally:
            self.open.discard(id(node))

    def mapping(self, pairs: list[tuple[yaml.Node, yaml.Node]]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        result: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in pairs:
            if key_node.tag == _PLAIN and key_node.value == "<<":
                merged = self.merge(value_node) | merged
                continue
            key = self.key(key_node)
            line = key_node.start_mark.line
            if key in lines:
                both = f"lines {lines[key] + self.first_line} and {line + self.first_line}"
                raise _fault(key_node, f"duplicate key '{key}' ({both})")
            lines[key] = line
            result[key] = self.build(value_node)
        return merged | result if merged else result

    def merge(self, node: yaml.Node) -> dict[str, Any]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        result: dict[str, Any] = {}
        for source in reversed(sources):
            value = self.build(source)
            if not isinstance(value, dict):
                raise _fault(source, "map merge requires map or sequence of maps as the value")
            result |= value
        return result

    def key(self, node: yaml.Node) -> str:
        value = self.build(node)
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return go_float(value)
        raise _fault(node, "a key must be a string, a number or a boolean")

    def scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        if node.tag == _PLAIN or node.tag in (f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool"):
            return self.plain(node, text)
        return None if node.tag == f"{_TAG}null" else text

    def plain(self, node: yaml.ScalarNode, text: str) -> Any:
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
            raise _fault(node, f"{text} is a number that JSON does not have")
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
