"""The bucket of a Worker that is stopped: its clock cannot be set, its records can."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from support.worker import Worker

__all__ = ["age", "lose", "lower_fence"]

_TWO_DAYS_MS: Final = 2 * 24 * 60 * 60 * 1000
_FENCE: Final = "gc/fence.json"


def age(worker: Worker) -> None:
    """Make everything in the bucket two days older, and start the Worker again."""
    worker.stop()
    found = 0
    for database in _databases(worker):
        with database:
            statement = "UPDATE _mf_objects SET uploaded = uploaded - ?"
            found += database.execute(statement, (_TWO_DAYS_MS,)).rowcount
    assert found > 0
    worker.start()


def lose(worker: Worker, prefix: str) -> int:
    """Take away what lies below a prefix, start the Worker again and return how many it was."""
    worker.stop()
    found = 0
    for database in _databases(worker):
        with database:
            statement = "DELETE FROM _mf_objects WHERE key LIKE ? || '/%'"
            found += database.execute(statement, (prefix,)).rowcount
    worker.start()
    return found


def lower_fence(worker: Worker) -> None:
    """Let the time pass for which a collector that died has left its fence up."""
    for database in _databases(worker):
        with database:
            statement = "UPDATE _mf_objects SET custom_metadata = ? WHERE key = ?"
            database.execute(statement, ('{"until":"0"}', _FENCE))


def _databases(worker: Worker) -> Iterator[sqlite3.Connection]:
    for path in (worker.state / "r2").rglob("*.sqlite"):
        with closing(sqlite3.connect(path)) as database:
            tables = database.execute("SELECT name FROM sqlite_master").fetchall()
            if ("_mf_objects",) in tables:
                yield database
