"""Edits of spec files that leave every other byte as it was.

A round trip through a YAML writer folds long lines and moves comments, so an edit here is a
splice: the parser says where a value stands, only that piece of the text is replaced, and the
result counts only when it reads back as the old data with exactly the intended change. The
check is made by ruamel.yaml, a reader independent of the one that found the place.
"""

import json
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from olares_apps.errors import Problem, SpecError
from olares_apps.spec.types import check_text, check_version
from olares_apps.spec.yaml_source import compose, read_mapping, unify_line_ends

__all__ = ["add_release", "set_version"]

_FILE: Final = PurePath("spec")
# Characters that readers of YAML 1.1 and 1.2 do not agree about, or that no line may hold.
_ODD: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_A_BLOCK: Final = re.compile(rf"{_ODD.pattern}|\t|\A[ \n]| (?:\n|\Z)|\n\n\Z")


def set_version(text: str, version: str, *, path: PurePath = _FILE) -> str:
    """Return a spec's text with another ``version``; quotes, comments and line ends stay.

    Raises SpecError when the version is none or the file cannot be edited safely.
    """
    _valid(version, check_version, path, "version")
    node = _child(compose(text, path), "version")
    if node is None:
        raise _refused("is missing", path)
    start, end = node.start_mark.index, node.end_mark.index
    written = text[start:end]
    if not isinstance(node, ScalarNode) or written[:1] in ("&", "!", "*", "|", ">"):
        raise _refused("is not written as a plain or quoted value", path, node)
    quote = "'" if written.startswith("'") else '"'
    edited = f"{text[:start]}{quote}{version}{quote}{text[end:]}"
    return _verified(text, edited, lambda data: data.update(version=version), path)


def add_release(text: str, version: str, notes: str, *, path: PurePath = _FILE) -> str:
    """Return a spec's text with a new first entry of ``releases``; everything else stays.

    The list is made when there is none. An entry of that version with the same notes already
    in place gives the text unchanged. Raises SpecError for a version or notes that no spec may
    hold, when the version is listed with other notes, or when the file cannot be edited safely.
    """
    _valid(version, check_version, path, "version")
    _valid(notes, check_text, path, "notes")
    releases = read_mapping(unify_line_ends(text), path).get("releases")
    entries = releases if isinstance(releases, list) else []
    known = [item for item in entries if isinstance(item, dict) and item.get("version") == version]
    if known:
        if known[0].get("notes") == notes:
            return text
        raise _refused(f"has other notes for version {version} already", path, field="releases")
    root = compose(text, path)
    line_end = "\r\n" if "\r\n" in text else "\n"
    edited = _with_release(text, root, version, notes, line_end)
    if edited is None:
        raise _refused("has a form that cannot be edited", path, field="releases")

    def change(data: dict[str, Any]) -> None:
        data["releases"] = [{"version": version, "notes": notes}, *entries]

    return _verified(text, edited, change, path)


def _valid(value: str, check: Callable[[str], str], path: PurePath, field: str) -> None:
    """Refuse a value that would make the edited file unusable."""
    try:
        check(value)
    except ValueError as error:
        raise SpecError([Problem(f"{value[:40]!r} {error}", path, field=field)]) from None


def _with_release(
    text: str, root: MappingNode, version: str, notes: str, line_end: str
) -> str | None:
    """Return the text with the entry spliced in, None for a layout that has no place for it."""
    node = _child(root, "releases")
    if node is None:
        if root.flow_style:
            return None
        column = root.start_mark.column
        head = text if text.endswith("\n") else text + line_end
        block = _block(version, notes, column + 2, line_end)
        return f"{head}{' ' * column}releases:{line_end}{block}"
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, SequenceNode) and node.value and not node.flow_style:
        # The mark of a block list is that of its first hyphen.
        column = node.start_mark.column
        line = start - column
        if text[line:start].strip(" ") or text[start] != "-":
            return None
        return text[:line] + _block(version, notes, column, line_end) + text[line:]
    if isinstance(node, SequenceNode) and node.value and text[start] == "[":
        entry = f"{{version: {_quoted(version)}, notes: {_quoted(notes)}}}, "
        return text[: start + 1] + entry + text[start + 1 :]
    if root.flow_style or text[start:end].strip() not in ("", "[]", "~", "null"):
        return None
    block = _block(version, notes, root.start_mark.column + 2, line_end)
    return _fill(text, root, node, block, line_end)


def _fill(text: str, root: MappingNode, node: Node, block: str, line_end: str) -> str:
    """Put the first entries below a key that has none; a comment on its line stays there."""
    key = next(key for key, value in root.value if value is node)
    colon = text.index(":", key.end_mark.index) + 1
    stop = text.find("\n", colon)
    head, rest = (text[:stop], text[stop + 1 :]) if stop >= 0 else (text, "")
    head = head.removesuffix("\r")
    value = text[node.start_mark.index : node.end_mark.index].strip()
    tail = head[colon:]
    if value:
        comment = tail.replace(value, "", 1).strip()
        tail = f"  {comment}" if comment else ""
    return f"{head[:colon]}{tail}{line_end}{block}{rest}"


def _block(version: str, notes: str, column: int, line_end: str) -> str:
    """Return an entry in block style whose hyphen stands in ``column`` (from 0)."""
    margin = " " * (column + 2)
    if "\n" in notes and not _NOT_A_BLOCK.search(notes):
        indent = margin + "  "
        lines = notes.removesuffix("\n").split("\n")
        style = "|" if notes.endswith("\n") else "|-"
        value = line_end.join([style, *(indent + line if line else "" for line in lines)])
    else:
        value = _quoted(notes)
    return f"{margin[2:]}- version: {_quoted(version)}{line_end}{margin}notes: {value}{line_end}"


def _quoted(text: str) -> str:
    """Return text in double quotes: JSON's escapes are YAML's too."""
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _verified(
    before: str, after: str, change: Callable[[dict[str, Any]], None], path: PurePath
) -> str:
    """Return ``after`` when it holds the data of ``before`` with just the change."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    try:
        wanted, found = reader.load(before), reader.load(after)
    except YAMLError:
        raise _refused("cannot be edited without harm to the file", path) from None
    change(wanted)
    if wanted != found:
        raise _refused("cannot be edited without harm to the file", path)
    return after


def _child(root: MappingNode, name: str) -> Node | None:
    return next((value for key, value in root.value if key.value == name), None)


def _refused(
    message: str, path: PurePath, node: Node | None = None, *, field: str = "version"
) -> SpecError:
    line = node.start_mark.line + 1 if node else None
    return SpecError([Problem(message, path, line, field=field, hint="edit the file by hand")])
