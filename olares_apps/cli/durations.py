"""Durations on the command line: a whole number of hours or days, such as 24h or 90d."""

import re
from typing import Final

import click

__all__ = ["duration"]

_SECONDS: Final = {"h": 60 * 60, "d": 24 * 60 * 60}
_FORM: Final = re.compile(r"([1-9][0-9]{0,4})([hd])", re.ASCII)


def duration(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return the seconds of an option written as ``24h`` or ``7d``; raises BadParameter."""
    found = _FORM.fullmatch(value)
    if found is None:
        raise click.BadParameter(
            f"'{value}' is no duration; write hours or days, such as 24h or 7d"
        )
    return int(found[1]) * _SECONDS[found[2]]
