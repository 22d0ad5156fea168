"""What is wrong with a file that is no YAML, in words that say where and what to do."""

import re
from pathlib import PurePath
from typing import Final, NoReturn

from yaml.error import MarkedYAMLError

from olares_apps.errors import Problem, SpecError

__all__ = ["check_characters", "explain", "refuse"]

# What a file must not hold as such (escapes in double quotes may name it): controls, and the
# line breaks that YAML 1.1 readers see where editors see none.
_UNREADABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")


def check_characters(text: str, path: PurePath) -> None:
    """Raise SpecError for a character that no YAML file may hold, and for a byte order mark."""
    found = _UNREADABLE.search(text)
    if found:
        raise SpecError([_unreadable(found, text, path)])
    if text.startswith("\ufeff"):
        refuse(
            "the file begins with a byte order mark (BOM)", path, hint="save it without BOM", line=1
        )


def _unreadable(found: re.Match[str], text: str, path: PurePath) -> Problem:
    before = text[: found.start()]
    return Problem(
        f"the file holds the character U+{ord(found[0]):04X}, which no YAML file may hold as such",
        path,
        before.count("\n") + 1,
        len(before.rpartition("\n")[2]) + 1,
        hint="remove it; the file may have been damaged or not be text at all",
    )


# What libyaml says -> what to do about it.
_HINTS: Final = (
    ("mapping values are not allowed", "quote text that holds ': ', and check the indentation"),
    ("expected a single document", "write one spec per file, without a second ---"),
    ("undefined alias", "define it with & above, or quote text that begins with *"),
    ("incompatible", "remove the %YAML line"),
    ("duplicate anchor", "give each anchor its own name"),
    ("nesting depth", "a spec needs few levels"),
    ("cannot start any token", "quote text that begins with a special character"),
    ("escape character", 'write a backslash twice inside "double quotes", or use single quotes'),
    ("quoted scalar", "close the quote"),
    ("flow", "close the bracket or brace"),
)
_DEFAULT_HINT: Final = "check indentation and quotes near this line"


def explain(error: Exception, text: str, path: PurePath) -> Problem:
    """Return what a parser's error means for the person who wrote the file."""
    found = _UNREADABLE.search(text)
    if found:
        return _unreadable(found, text, path)
    if not isinstance(error, MarkedYAMLError):
        return Problem("the file is not YAML", path, hint=_DEFAULT_HINT)
    line, column = _place(error)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    shown = lines[line] if line < len(lines) else ""
    indentation = shown[: len(shown) - len(shown.lstrip(" \t"))]
    if "\t" in indentation:
        column = indentation.index("\t")
        message, hint = "the line is indented with a tab", "indent with spaces"
        return Problem(message, path, line + 1, column + 1, hint=hint)
    said = " ".join(part for part in (error.context, error.problem) if part)
    hint = next((hint for words, hint in _HINTS if words in said), _DEFAULT_HINT)
    return Problem(f"the file is not YAML here: {said}", path, line + 1, column + 1, hint=hint)


def _place(error: MarkedYAMLError) -> tuple[int, int]:
    """Return where an unfinished construct begins, else where reading broke; from 0."""
    unfinished = "end of stream" in (error.problem or "")
    places = [error.context_mark, error.problem_mark]
    mark = next((m for m in (places if unfinished else reversed(places)) if m), None)
    return (mark.line, mark.column) if mark else (0, 0)


def refuse(
    message: str,
    path: PurePath,
    *,
    hint: str | None = None,
    line: int | None = None,
    column: int | None = None,
) -> NoReturn:
    """Raise SpecError with one problem of a whole file; line and column count from 1."""
    raise SpecError([Problem(message, path, line, column, hint=hint)])
