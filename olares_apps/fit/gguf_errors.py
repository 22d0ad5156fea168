"""What can be wrong with a model file, each its own class.

Tree::

    FetchError
    `-- GgufError               anything below
        |-- NotGguf             other bytes than a GGUF file begins with
        |   |-- HtmlNotGguf     a web page, as a login or error page answers
        |   `-- LfsPointer      the pointer text of Git LFS instead of the file
        |-- UnsupportedGguf     a version that no current llama.cpp reads
        |-- TruncatedGguf       the file ends before its contents do
        |-- CorruptGguf         counts, lengths or offsets that cannot be
        `-- ShardSetError       parts of a split file that are missing or do not belong together
"""

from collections.abc import Sequence

from olares_apps.errors import FetchError

__all__ = [
    "CorruptGguf",
    "GgufError",
    "HtmlNotGguf",
    "LfsPointer",
    "NotGguf",
    "ShardSetError",
    "TruncatedGguf",
    "UnsupportedGguf",
]


class GgufError(FetchError):
    """A model file that cannot be read as GGUF."""


class NotGguf(GgufError):
    """The file does not begin with the bytes ``GGUF``."""

    def __init__(self, start: bytes, message: str | None = None, hint: str | None = None) -> None:
        self.start = start
        super().__init__(
            message or f"not a GGUF file: it begins with {start[:16]!r}",
            hint=hint or "check the repository, the revision and the file name",
        )


class HtmlNotGguf(NotGguf):
    """A web page where the model should be."""

    def __init__(self, start: bytes) -> None:
        super().__init__(
            start,
            "a web page instead of a GGUF file",
            "the address answers with a login or error page: check the address and the token",
        )


class LfsPointer(NotGguf):
    """The text that Git LFS keeps in place of a large file.

    ``sha256`` and ``size`` (bytes) are those of the real file, None when not stated.
    """

    def __init__(self, start: bytes, sha256: str | None, size: int | None) -> None:
        self.sha256, self.size = sha256, size
        real = f" of {size} bytes" if size is not None else ""
        super().__init__(
            start,
            f"a Git LFS pointer instead of the GGUF file{real}",
            "fetch the file itself (git lfs pull, or the hub's resolve address)",
        )


class UnsupportedGguf(GgufError):
    """A format or version that current servers do not read."""

    def __init__(self, what: str, hint: str) -> None:
        self.what = what
        super().__init__(f"{what} is not supported", hint=hint)


class TruncatedGguf(GgufError):
    """The file ends too early: ``have`` bytes are there, at least ``need`` are needed."""

    def __init__(self, what: str, have: int, need: int) -> None:
        self.what, self.have, self.need = what, have, need
        super().__init__(
            f"truncated GGUF file: {what} needs {need} bytes, the file has {have}",
            hint="the download was cut off or is still running: fetch the file again",
        )


class CorruptGguf(GgufError):
    """Contents that no writer produces; ``offset`` (bytes) is where they were found."""

    def __init__(self, what: str, offset: int) -> None:
        self.what, self.offset = what, offset
        super().__init__(
            f"corrupt GGUF file: {what} at byte {offset}",
            hint="compare the file's sha256 with the hub's",
        )


class ShardSetError(GgufError):
    """Parts of a split model that are missing or do not belong together.

    ``missing`` counts parts from 1.
    """

    def __init__(self, message: str, missing: Sequence[int] = ()) -> None:
        self.missing = tuple(missing)
        super().__init__(message, hint="every part of a split model is needed, of one upload")
