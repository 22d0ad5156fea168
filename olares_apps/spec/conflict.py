"""A conflict: fields that are right alone and do not fit each other."""

from dataclasses import dataclass

__all__ = ["Conflict"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two fields that do not fit: where, what, and what to do."""

    path: tuple[str | int, ...]
    message: str
    hint: str | None = None

    @property
    def field(self) -> str:
        """Return the path with dots."""
        return ".".join(map(str, self.path))
