"""Where words go: data to stdout, progress and errors to stderr, colour only on a terminal."""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from olares_apps.errors import OlappsError, SpecError

__all__ = [
    "clean",
    "error",
    "json_document",
    "note",
    "print_json",
    "report_error",
    "report_os_error",
    "table",
]

SCHEMA = 1
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def _colour(stream: Any) -> bool:
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR")


def clean(text: str) -> str:
    """Return text whose control characters are shown, not sent to the terminal.

    Names and messages may come from a stranger's market.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def note(text: str) -> None:
    """Write one line of progress to stderr."""
    click.echo(clean(text), err=True)


def error(text: str, hint: str | None = None) -> None:
    """Write an error and its next step to stderr."""
    colour = _colour(sys.stderr)
    label = click.style("error:", fg="red", bold=True) if colour else "error:"
    click.echo(f"{label} {clean(text)}", err=True)
    if hint:
        label = click.style("hint:", bold=True) if colour else "hint:"
        click.echo(f"{label} {clean(hint)}", err=True)


def report_error(problem: OlappsError) -> None:
    """Write one of the package's errors, each problem of a spec on a line of its own."""
    if isinstance(problem, SpecError):
        for item in problem.problems:
            error(str(item))
        if problem.hint:
            note(f"hint: {problem.hint}")
        return
    error(problem.message, problem.hint)


def report_os_error(problem: OSError) -> None:
    """Write an error of the operating system as one line that names the file."""
    name = f"{problem.filename}: " if problem.filename else ""
    error(f"{name}{problem.strerror or problem}", "check the path, its permissions and free space")


def json_document(data: Mapping[str, Any]) -> str:
    """Return a result as JSON with the schema number that scripts rely on."""
    return json.dumps({"schema": SCHEMA, **data}, indent=2, ensure_ascii=False)


def print_json(data: Mapping[str, Any]) -> None:
    """Write a result as JSON to stdout."""
    click.echo(json_document(data))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write rows as aligned columns to stdout; plain text, so that a pipe can read it."""
    if not rows:
        return
    cells = [list(headers), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    for index, row in enumerate(cells):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        bold = index == 0 and _colour(sys.stdout)
        click.echo(click.style(line.rstrip(), bold=True) if bold else line.rstrip())
