"""YAML text of a chart: the only place that writes strings into one.

Chart files pass several engines before anything reads them: Helm, the market's first
rendering pass (which renders every ``.yaml`` file) and, below manifest 0.12.0, the device's
own pass over the manifest. All of them execute ``{{ ... }}`` wherever it stands. So text that
holds two braces in a row is written inside double quotes with the second one as ``\\u007b`` or
``\\u007d``, which only the YAML reader turns back into a brace.

Prose stays readable: text of several lines becomes a block literal where every reader agrees
about its content, anything else a double-quoted scalar.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from olares_apps.errors import RenderError

__all__ = ["Data", "dump", "scalar"]

Data = str | int | Mapping[str, "Data"] | Sequence["Data"]
"""What a manifest, a values file or a locale file is made of; bool is an int."""

# Line breaks of YAML 1.1 (U+0085, U+2028, U+2029), the byte order mark, what YAML calls not
# printable, and lone surrogates, which no UTF-8 file can hold.
_ODD: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff"
_ESCAPED: Final = re.compile(rf'[{_ODD}\t\n"\\]|(?<=\{{)\{{|(?<=\}})\}}')
_SHORT: Final = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
# A block literal must not begin with white space (its indent is read from the first line), nor
# hold trailing spaces (editors drop them), nor end in an empty line (Helm trims documents).
_NOT_A_BLOCK: Final = re.compile(rf"[{_ODD}\t]|\{{\{{|\}}\}}|\A[ \n]| (?:\n|\Z)|\n\n\Z")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*", re.ASCII)
# Words that a YAML 1.1 reader takes for a boolean or null when they stand unquoted.
_WORDS: Final = frozenset("y n yes no on off true false null".split())


def scalar(text: str, indent: int = 2) -> str:
    """Return ``text`` as a YAML scalar that reads back exactly as it was.

    ``indent`` is the column of a block literal's lines; it must be deeper than the key's.
    Raises RenderError for NUL and lone surrogates: no YAML file, database or JSON can carry
    them.
    """
    return _scalar(text, indent) if len(text) < _LONG else _long_scalar(text, indent)


def _scalar(text: str, indent: int) -> str:
    if "\n" in text and not _NOT_A_BLOCK.search(text):
        margin = " " * indent
        lines = text.removesuffix("\n").split("\n")
        head = "|" if text.endswith("\n") else "|-"
        return "\n".join([head, *(margin + line if line else "" for line in lines)])
    return f'"{_ESCAPED.sub(_escape, text)}"'


# Long text is written several times: a page into manifest and locale file of each generation,
# the download script into every chart.
_LONG: Final = 512
_long_scalar: Final = lru_cache(maxsize=64)(_scalar)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if code == 0 or 0xD800 <= code < 0xE000:
        raise RenderError(
            f"text holds U+{code:04X} at character {found.start() + 1}, which no chart can carry",
            hint="remove the character from the spec",
        )
    return _SHORT.get(character) or f"\\u{code:04x}"


def dump(data: Mapping[str, Data], indent: int = 0) -> str:
    """Return a mapping as YAML text in the order of its keys, ending in a line break.

    Strings are written by :func:`scalar`, numbers and booleans bare. Raises RenderError for
    None: a key that has no value is left out by the caller, never written empty.
    """
    lines: list[str] = []
    _mapping(data, indent, lines)
    return "\n".join(lines) + "\n"


def _mapping(data: Mapping[str, Data], indent: int, lines: list[str]) -> None:
    margin = " " * indent
    for key, value in data.items():
        _entry(margin + _key(key), value, indent, lines)


def _sequence(data: Sequence[Data], indent: int, lines: list[str]) -> None:
    dash = " " * indent + "-"
    for value in data:
        if isinstance(value, Mapping) and value:
            first = len(lines)
            _mapping(value, indent + 2, lines)
            lines[first] = f"{dash} {lines[first][indent + 2 :]}"
        else:
            _entry(dash, value, indent, lines)


def _entry(head: str, value: Data, indent: int, lines: list[str]) -> None:
    if isinstance(value, str):
        lines.append(f"{head} {scalar(value, indent + 2)}")
    elif isinstance(value, bool):
        lines.append(f"{head} {'true' if value else 'false'}")
    elif isinstance(value, int):
        lines.append(f"{head} {value}")
    elif isinstance(value, Mapping):
        lines.append(head if value else f"{head} {{}}")
        _mapping(value, indent + 2, lines)
    elif isinstance(value, Sequence):
        lines.append(head if value else f"{head} []")
        _sequence(value, indent + 2, lines)
    else:
        raise RenderError(f"{head.strip()} {value!r} has no place in a chart: leave the key out")


@lru_cache(maxsize=1024)
def _key(key: str) -> str:
    plain = _PLAIN_KEY.fullmatch(key) and key.casefold() not in _WORDS
    return f"{key}:" if plain else f'"{_ESCAPED.sub(_escape, key)}":'
