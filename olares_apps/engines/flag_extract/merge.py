"""Joining what two sources say about the same options."""

from collections.abc import Iterable
from dataclasses import replace

from olares_apps.engines.flags.model import Flag, ValueForm

__all__ = ["refine"]


def refine(stated: Iterable[Flag], read: Iterable[Flag]) -> list[Flag]:
    """Return the flags of ``stated`` (help output) with what ``read`` (source) knows better.

    The help output decides which options and names exist. The source tells whole numbers
    from decimals, names words that a number option takes, and which names are negations.
    """
    by_name = {name: flag for flag in read for name in flag.names}
    return [_refined(flag, by_name.get(flag.name)) for flag in stated]


def _refined(flag: Flag, source: Flag | None) -> Flag:
    if source is None or flag.removed is not None or set(source.names) - set(flag.names):
        return flag
    numbers = (ValueForm.INT, ValueForm.FLOAT)
    better = flag
    if flag.form in (*numbers, ValueForm.STRING) and source.form is not ValueForm.NONE:
        better = replace(better, form=source.form)
    if not flag.values:
        better = replace(better, values=source.values)
    return better
