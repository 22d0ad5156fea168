"""A market in a folder: hard links create, a lock and a rename move the head.

Layout, below the root::

    olapps-market.json          says that the folder is a market, and of which format
    head.json                   the pointer to the live revision, the only file that changes
    lock                        held while the head moves, an age is renewed or old files go
    tmp/                        files being written; a dead writer's are removed later
    blobs/ revisions/ responses/    immutable objects

Every file is written into ``tmp`` first, under an exclusive lock that dies with its process,
and flushed to the disk. It gets its name by `os.link`, which never replaces anything. So a name
always stands for the whole content, also after a loss of power. Before the head moves, the
folders that name the files of this publish are flushed too.
"""

import errno
import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from olares_apps.errors import MarketError
from olares_apps.market import canonical
from olares_apps.market.fields import SCHEMA, Fields
from olares_apps.market.gc import Collected, Stored, sweep
from olares_apps.market.records import Head
from olares_apps.market.retention import Retention

__all__ = ["DirStore"]

_KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)+", re.ASCII)
_MARKER: Final = "olapps-market.json"
_KIND: Final = "olapps market"
_ATTEMPTS: Final = 5

_HINTS: Final = {
    errno.ENOSPC: "the disk is full; free some space and run the same command again",
    errno.EDQUOT: "the disk quota is used up; free some space and run the same command again",
    errno.EROFS: "the folder is read-only; choose a market that you may write to",
    errno.EACCES: "you may not write there; check who owns the folder",
    errno.EPERM: "the file system refuses it; a market needs hard links",
}


class DirStore:
    """The store ``dir:PATH``, safe for any number of processes on one machine.

    ``hook`` is called with the name of each point inside a write; tests stop a process there.
    """

    def __init__(self, root: Path, *, hook: Callable[[str], None] = lambda point: None) -> None:
        self.root = root
        self._hook = hook
        self._unflushed: set[Path] = set()
        # What the next head names and this process put, or found in place when it put it.
        self._relied: set[Path] = set()
        self._marked = False
        with self._explained("read"):
            self._check_marker()

    @property
    def url(self) -> str:
        """Return ``dir:PATH``."""
        return f"dir:{self.root}"

    def read_head(self) -> tuple[Head | None, str | None]:
        """Return the head and the digest of its bytes."""
        with self._explained("read"):
            data = _read(self.root / "head.json")
        if data is None:
            return None, None
        return Head.decode(data, f"{self.url}/head.json"), canonical.digest(data)

    def swap_head(self, expected: str | None, head: Head) -> bool:
        """Move the head under the folder's lock; see `Store.swap_head`.

        Refused too when something that was put for it is gone: a collector whose clock is ahead
        took it for old. Whoever puts everything again begins with an empty account.
        """
        with self._explained("written"):
            self._mark()
            relied, self._relied = self._relied, set()
            if not self._flush():
                return False
            with self._locked():
                if self._etag() != expected or not all(path.is_file() for path in relied):
                    return False
                self._remove_leftovers()
                with self._temporary(head.encode()) as path:
                    self._hook("head written")
                    path.rename(self.root / "head.json")
                self._hook("head renamed")
                _flush_path(self.root)
        return True

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Create a file; see `Store.put_if_absent`."""
        target = self._path(key)
        with self._explained("written"):
            self._mark()
            created = self._create(target, data)
            # The name of another process's file may not be on the disk yet either.
            self._unflushed.update(self._folders(target))
            self._relied.add(target)
            return created

    def get(self, key: str) -> bytes | None:
        """Return a file's content, or None."""
        with self._explained("read"):
            return _read(self._path(key))

    def exists(self, key: str) -> bool:
        """Say whether the file exists."""
        with self._explained("read"):
            return self._path(key).is_file()

    def list(self, prefix: str) -> Iterator[str]:
        """Yield the keys below ``prefix`` in order."""
        yield from (item.key for item in self.stored(prefix))

    def stored(self, prefix: str) -> Sequence[Stored]:
        """Return the files below ``prefix`` in order, with size and time."""
        with self._explained("read"):
            top = self._path(f"{prefix}/x").parent
            # Unlike a glob it takes it that a collector removes folders meanwhile.
            paths = [Path(folder, name) for folder, _, names in os.walk(top) for name in names]
            found = [(path, _stat(path)) for path in paths]
        return sorted(
            (
                Stored(path.relative_to(self.root).as_posix(), status.st_size, status.st_mtime)
                for path, status in found
                if status is not None
            ),
            key=lambda item: item.key,
        )

    def collect(self, retention: Retention, *, dry_run: bool) -> Iterator[Collected]:
        """Remove what may go; see `Store.collect`."""
        return sweep(self, retention, now=time.time(), dry_run=dry_run, hook=self._hook)

    def remove_old(
        self, keys: Sequence[str], before: float, head: str | None
    ) -> Sequence[str] | None:
        """Remove files of a time before ``before``, and folders that are empty then."""
        paths = {key: self._path(key) for key in keys}
        with self._explained("written"), self._locked():
            if self._etag() != head:
                return None
            found = {key: _stat(path) for key, path in paths.items()}
            old = [key for key, status in found.items() if status and status.st_mtime < before]
            for key in old:
                paths[key].unlink()
        for folder in {paths[key].parent for key in old}:
            self._remove_empty(folder)
        return old

    def _etag(self) -> str | None:
        data = _read(self.root / "head.json")
        return canonical.digest(data) if data is not None else None

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise MarketError(f"{self.url}: '{key}' is not the key of an object")
        return self.root / key

    def _check_marker(self) -> None:
        # Listed before the marker is read: whoever makes a market places the marker first, so
        # a file that is seen here without a marker afterwards is not from one.
        found = sorted(path.name for path in self.root.iterdir()) if self.root.exists() else []
        marker = _read(self.root / _MARKER)
        if marker is not None:
            fields = Fields.read(marker, f"{self.url}/{_MARKER}")
            if fields.text("kind") == _KIND:
                self._marked = True
                return
        # A writer that died before it placed the marker left nothing but ``tmp``.
        others = [name for name in found if name != "tmp"]
        if others:
            raise MarketError(
                f"{self.root} is not a market: it holds {', '.join(others[:3])}"
                + (" ..." if len(others) > 3 else "")
                + f" and no {_MARKER}",
                hint="choose an empty or a new folder; olapps does not mix its files with others",
            )

    def _mark(self) -> None:
        if self._marked:
            return
        self._check_marker()
        (self.root / "tmp").mkdir(parents=True, exist_ok=True)
        marker = self.root / _MARKER
        self._create(marker, canonical.encode({"kind": _KIND, "schema": SCHEMA}))
        self._unflushed.add(self.root)
        self._marked = True

    def _create(self, target: Path, data: bytes) -> bool:
        for _ in range(_ATTEMPTS):
            if self._renew(target):
                return False
            target.parent.mkdir(parents=True, exist_ok=True)
            with self._temporary(data) as path:
                self._hook(f"{target.name} written")
                try:
                    os.link(path, target)
                except (FileExistsError, FileNotFoundError):
                    # Not there: another process took the file for a leftover before it was
                    # locked, or a collector took the empty folder.
                    continue
            self._hook(f"{target.name} linked")
            return True
        raise MarketError(f"{target} cannot be written: its temporary file vanishes each time")

    @contextmanager
    def _temporary(self, data: bytes) -> Iterator[Path]:
        path = self.root / "tmp" / f"{os.getpid()}-{secrets.token_hex(8)}"
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        with os.fdopen(handle, "wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                yield path
            finally:
                path.unlink(missing_ok=True)

    def _remove_leftovers(self) -> None:
        """Remove temporary files whose writer is dead: nobody holds their lock."""
        for path in (self.root / "tmp").iterdir():
            try:
                with path.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink(missing_ok=True)
            except (BlockingIOError, FileNotFoundError):
                continue

    def _flush(self) -> bool:
        """Flush the folders that name what was put; say whether all of them are still there."""
        folders, self._unflushed = sorted(self._unflushed, reverse=True), set()
        try:
            for folder in folders:
                _flush_path(folder)
        except FileNotFoundError:
            return False
        return True

    def _folders(self, path: Path) -> Iterator[Path]:
        while path != self.root:
            path = path.parent
            yield path

    def _renew(self, target: Path) -> bool:
        """Make a file that exists count as new, and say whether it exists.

        A collector goes by age, so the look and the new age are one step for it: it removes
        under the same lock (docs/protocol.md).
        """
        if not target.exists():
            return False
        with self._locked(fcntl.LOCK_SH):
            try:
                os.utime(target)
            except FileNotFoundError:
                return False
            except PermissionError:
                # Another user's file that only may be read; its age stays what it is.
                return True
        return True

    def _remove_empty(self, folder: Path) -> None:
        """Remove a folder of answers and those around it, as far as they are empty."""
        while folder.parent != self.root:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    @contextmanager
    def _locked(self, mode: int = fcntl.LOCK_EX) -> Iterator[None]:
        with (self.root / "lock").open("ab") as file:
            fcntl.flock(file, mode)
            yield

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            number = error.errno or 0
            raise MarketError(
                f"{self.url} cannot be {verb}: {error.strerror or error}",
                hint=_HINTS.get(number, "check the folder and run the same command again"),
            ) from error


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _flush_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
