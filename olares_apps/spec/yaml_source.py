"""Strict reading of spec files: YAML 1.2 scalars, plain data, and a place for every value.

The parser is libyaml's; which words are numbers or booleans is decided here by the core schema
of YAML 1.2 (section 10.3.2 of its specification): ``off`` and ``yes`` are text, ``010`` is ten,
dates are text. Merge keys (``<<``), which 1.2 dropped, still work, because people who write
several bench records use them.

A file is refused, with line and column, for a byte order mark, bytes that are not UTF-8,
control characters, tabs as indentation, several documents, repeated keys, tags, deep nesting,
aliases that grow beyond measure, and for more than 1 MiB. CRLF counts as LF.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final

from yaml._yaml import CParser
from yaml.error import YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from olares_apps.errors import Problem, SpecError
from olares_apps.spec.yaml_faults import check_characters, explain, refuse

__all__ = ["MAX_BYTES", "compose", "decode", "is_merge", "read_mapping", "unify_line_ends"]

MAX_BYTES: Final = 2**20
"""Largest spec file, in bytes."""
_MAX_DEPTH: Final = 32
_MAX_VALUES: Final = 100_000
_MAX_NUMBER: Final = 64

_CONSTANTS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
}
_NUMBER_START: Final = frozenset("-+.0123456789")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    re.ASCII,
)
_PLAIN: Final = "?"
_TEXT: Final = "tag:yaml.org,2002:str"
_TAGS: Final = "tag:yaml.org,2002:"


class _Composer(CParser):
    """libyaml's node composer with one question for each scalar: is it plain?"""

    def resolve(self, kind: type[Node], value: str | None, implicit: Any) -> str:
        if kind is ScalarNode:
            return _PLAIN if implicit[0] else _TEXT
        return _PLAIN

    def descend_resolver(self, current_node: object, current_index: object) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass


def decode(data: bytes, path: PurePath) -> str:
    """Return the text of a spec file, with its own line ends.

    Raises SpecError for more than 1 MiB, a byte order mark and bytes that are not UTF-8.
    """
    if len(data) > MAX_BYTES:
        refuse(f"the file is longer than {MAX_BYTES} bytes, the limit", path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        refuse("the file is UTF-16", path, hint="save it as UTF-8", line=1)
    if data.startswith(b"\xef\xbb\xbf"):
        refuse(
            "the file begins with a byte order mark (BOM)",
            path,
            hint="save it as UTF-8 without BOM",
            line=1,
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        refuse(
            f"the file holds the byte 0x{data[error.start]:02x}, which is not UTF-8",
            path,
            hint="save it as UTF-8",
            line=before.count(b"\n") + 1,
            column=len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1,
        )


def unify_line_ends(text: str) -> str:
    """Return ``text`` with LF line ends: a checkout with CRLF gives the same charts."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_mapping(text: str, path: PurePath) -> dict[str, object]:
    """Return the mapping that a spec file holds as plain data.

    Raises SpecError with every problem that can be told apart; ``path`` is for messages.
    """
    node = compose(text, path)
    builder = _Builder(path)
    data = builder.value(node, 0)
    if builder.problems:
        raise SpecError(builder.problems)
    assert isinstance(data, dict)  # noqa: S101  compose() returns nothing else
    return data


def compose(text: str, path: PurePath) -> MappingNode:
    """Return the node tree of a file's one document, a mapping.

    Marks count characters of ``text`` as it is. Raises SpecError.
    """
    if len(text) > MAX_BYTES:
        refuse(f"the file is longer than {MAX_BYTES} characters, the limit", path)
    if not text.isascii():
        check_characters(text, path)
    try:
        node: Node | None = _Composer(text).get_single_node()
    except (YAMLError, UnicodeEncodeError) as error:
        raise SpecError([explain(error, text, path)]) from None
    if node is None:
        refuse("the file is empty", path, hint="a spec is a mapping that begins with app:", line=1)
    if not isinstance(node, MappingNode):
        kind = "a list" if isinstance(node, SequenceNode) else "a single value"
        refuse(
            f"the file holds {kind} where a mapping must be",
            path,
            hint="a spec begins with app:",
            line=node.start_mark.line + 1,
            column=node.start_mark.column + 1,
        )
    return node


def is_merge(key: Node) -> bool:
    """Say whether a mapping's key is the plain scalar ``<<``."""
    return key.value == "<<" and key.tag == _PLAIN


class _Builder:
    """Turns nodes into plain data and collects what is wrong with them."""

    def __init__(self, path: PurePath) -> None:
        self.problems: list[Problem] = []
        self._path = path
        self._left = _MAX_VALUES

    def value(self, node: Node, depth: int) -> object:
        self._left -= 1
        kind = type(node)
        if kind is ScalarNode:
            tag = node.tag
            if tag == _PLAIN:
                return self._plain(node)
            return node.value if tag == _TEXT else self._tagged(node)
        if depth >= _MAX_DEPTH:
            message = f"values are nested deeper than {_MAX_DEPTH} levels, or an alias holds itself"
            raise SpecError([*self.problems, self._problem(node, message)])
        if self._left < 0:
            message = f"the file holds more than {_MAX_VALUES} values once its aliases are followed"
            raise SpecError([*self.problems, self._problem(node, message)])
        if node.tag != _PLAIN and node.tag != _TAGS + ("map" if kind is MappingNode else "seq"):
            self._tagged(node)
        if kind is MappingNode:
            return self._mapping(node, depth + 1)
        return [self.value(item, depth + 1) for item in node.value]

    def _mapping(self, node: Node, depth: int) -> dict[str, object]:
        data: dict[str, object] = {}
        merged: dict[str, object] = {}
        for key, value in node.value:
            if type(key) is ScalarNode and is_merge(key):
                for source in self._merge_sources(value, depth):
                    merged = source | merged
                continue
            name = self.value(key, depth) if type(key) is ScalarNode else None
            if not isinstance(name, str):
                self._bad_key(key)
                continue
            if name in data:
                self._repeated(node, key)
            data[name] = self.value(value, depth)
        return merged | data if merged else data

    def _merge_sources(self, node: Node, depth: int) -> Iterator[dict[str, object]]:
        for source in node.value if isinstance(node, SequenceNode) else [node]:
            data = self.value(source, depth)
            if isinstance(data, dict):
                yield data
            else:
                self._report(source, "<< takes an alias of a mapping, or a list of such aliases")

    def _plain(self, node: Node) -> object:
        text: str = node.value
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if text[0] not in _NUMBER_START:
            return text
        integer = _INTEGER.fullmatch(text)
        if not integer and not _FLOAT.fullmatch(text):
            return text
        if len(text) > _MAX_NUMBER:
            self._report(node, f"number of {len(text)} characters", "quote it if it is text")
            return text
        if integer:
            return int(text, 0 if text[:2] in ("0x", "0o") else 10)
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))

    def _tagged(self, node: Node) -> object:
        if node.tag != _TAGS + "str":
            tag = node.tag.replace(_TAGS, "!!")
            self._report(node, f"tag {tag} is not allowed", "a spec holds plain data only")
        return node.value

    def _bad_key(self, key: Node) -> None:
        if isinstance(key, ScalarNode):
            self._report(key, f"key {key.value} must be text", f'write "{key.value}"')
        else:
            self._report(key, "a key must be text, not a list or a mapping")

    def _repeated(self, node: Node, key: Node) -> None:
        lines = [other.start_mark.line + 1 for other, _ in node.value if other.value == key.value]
        here = key.start_mark.line + 1
        message = f"duplicate key '{key.value}' (lines {lines[0]} and {here})"
        self._report(key, message, "keep one of them")

    def _report(self, node: Node, message: str, hint: str | None = None) -> None:
        self.problems.append(self._problem(node, message, hint))

    def _problem(self, node: Node, message: str, hint: str | None = None) -> Problem:
        mark = node.start_mark
        return Problem(message, self._path, mark.line + 1, mark.column + 1, hint=hint)
