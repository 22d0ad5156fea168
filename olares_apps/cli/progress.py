"""A bar for work that takes long: on a terminal, on stderr, nowhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Advance", "progress"]

Advance = Callable[[int, int | None, str], None]
"""Takes how much is done, of how much (None: not known), and what is being done."""


@contextmanager
def progress(title: str) -> Iterator[Advance]:
    """Show a bar for the length of a block; it is gone afterwards."""
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total, description=what or title
        )
