"""Where bytes of a model file come from: a file, memory, or whatever reads by offset."""

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

__all__ = ["ByteSource", "BytesSource", "FileSource"]


class ByteSource(Protocol):
    """Random read access to one file of known size, local or far away."""

    @property
    def size(self) -> int:
        """Return the size of the whole file in bytes."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from ``offset``; fewer only where the file ends."""
        ...


class BytesSource:
    """A file in memory.

    ``size`` may claim more than ``data`` holds: a header followed by a body that is not
    there, as when only the first megabytes of a model were fetched. Reads past ``data``
    come back short.
    """

    def __init__(self, data: bytes, *, size: int | None = None) -> None:
        self._data = data
        self._size = len(data) if size is None else size

    @property
    def size(self) -> int:
        """Return the claimed size in bytes."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes that are there between ``offset`` and ``offset + length``."""
        return self._data[offset : offset + length]


class FileSource:
    """A local file, opened once; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb", buffering=0)
        self._size = os.fstat(self._file.fileno()).st_size

    @property
    def size(self) -> int:
        """Return the size of the file in bytes."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from ``offset``; fewer only where the file ends."""
        self._file.seek(offset)
        pieces: list[bytes] = []
        while length > 0 and (piece := self._file.read(length)):
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
