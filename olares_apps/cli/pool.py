"""Several processes for work over many specs, where the system can fork."""

import gc
import multiprocessing
import os
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

__all__ = ["fan_out"]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Below this the start of the processes costs more than they save.
_WORTH_IT: Final = 48
_CHUNK: Final = 16

# What the forked processes work on: they inherit it, so no spec has to be pickled.
_job: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


def fan_out(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return ``work`` of every item, in order; raises what the first failing one raises.

    Results travel between processes and must be picklable. An item that fails elsewhere is
    done again here, so that its error arrives whole.
    """
    cores = _cores()
    if len(items) < _WORTH_IT or cores < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [work(item) for item in items]
    global _job
    _job = (work, items)
    # What is there already stays: looking through it again and again would copy its pages.
    gc.collect()
    gc.freeze()
    try:
        with multiprocessing.get_context("fork").Pool(cores) as pool:
            results = pool.map(_do, range(len(items)), chunksize=_CHUNK)
    finally:
        _job = None
        gc.unfreeze()
    return [value if done else work(items[i]) for i, (done, value) in enumerate(results)]


def _do(index: int) -> tuple[bool, Any]:
    assert _job is not None  # noqa: S101 - set before the fork
    work, items = _job
    try:
        return True, work(items[index])
    except Exception:  # the parent repeats it and raises
        return False, None


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
