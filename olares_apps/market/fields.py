"""Strict reading of stored records: every fault names the object and the field."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from olares_apps.errors import MarketError, StoreCorrupt
from olares_apps.market import canonical

__all__ = ["SCHEMA", "Fields"]

SCHEMA: Final = 1
"""Number of the record format; a reader refuses greater numbers instead of guessing."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
T = TypeVar("T")


class Fields:
    """The fields of one JSON object, each read once and with its type.

    ``what`` names the stored object in messages, for example ``revision 3fb1c2...``. The
    object is used up. `end` must be called last: it refuses fields that nobody asked for.
    """

    __slots__ = ("_rest", "path", "what")

    def __init__(self, value: object, what: str, path: str = "") -> None:
        self.what, self.path = what, path
        if not isinstance(value, dict):
            raise self.fault("", "is not an object")
        self._rest = value

    @classmethod
    def read(cls, data: bytes, what: str) -> "Fields":
        """Parse a stored record and check its schema number.

        Raises StoreCorrupt for damage, MarketError for a record of a newer olapps.
        """
        try:
            fields = cls(canonical.decode(data), what)
        except ValueError as error:
            raise StoreCorrupt(f"{what} {error}", hint=_RESTORE) from error
        schema = fields.integer("schema")
        if schema > SCHEMA:
            raise MarketError(
                f"{what} has schema {schema}, this olapps reads up to {SCHEMA}",
                hint="update olapps",
            )
        return fields

    def fault(self, name: str, problem: str) -> StoreCorrupt:
        """Return the error for one field; the caller raises it."""
        place = ".".join(part for part in (self.path, name) if part)
        return StoreCorrupt(
            ": ".join(part for part in (self.what, place) if part) + f" {problem}", hint=_RESTORE
        )

    def take(self, name: str) -> object:
        """Return a field as it stands; a missing one is a fault."""
        try:
            return self._rest.pop(name)
        except KeyError:
            raise self.fault(name, "is missing") from None

    def has(self, name: str) -> bool:
        """Say whether a field that may be absent is there."""
        return name in self._rest

    def text(self, name: str) -> str:
        """Return a string."""
        value = self.take(name)
        if not isinstance(value, str):
            raise self.fault(name, f"is {value!r}, expected text")
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a string or, for null, None."""
        if name in self._rest and self._rest[name] is None:
            return self._rest.pop(name)  # type: ignore[no-any-return]
        return self.text(name)

    def sha256(self, name: str) -> str:
        """Return a digest in lower-case hex."""
        value = self.text(name)
        if not _SHA256.fullmatch(value):
            raise self.fault(name, f"is '{value}', expected 64 hex digits")
        return value

    def integer(self, name: str) -> int:
        """Return a whole number that is not negative."""
        value = self.take(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.fault(name, f"is {value!r}, expected a whole number")
        return value

    def time(self, name: str) -> int:
        """Return a stored time in nanoseconds."""
        value = self.text(name)
        try:
            return canonical.parse_time(value)
        except ValueError as error:
            raise self.fault(name, f"is '{value}', expected a time") from error

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings."""
        value = self.take(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(name, "is not a list of texts")
        return tuple(value)

    def text_map(self, name: str) -> Mapping[str, str]:
        """Return an object whose values are all strings."""
        value = self.take(name)
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise self.fault(name, "is not an object of texts")
        return value

    def object(self, name: str) -> dict[str, Any]:
        """Return an object as it stands; its meaning is for who asked to check."""
        value = self.take(name)
        if not isinstance(value, dict):
            raise self.fault(name, "is not an object")
        return value

    def each(self, name: str) -> Iterator["Fields"]:
        """Yield the objects of a list."""
        value = self.take(name)
        if not isinstance(value, list):
            raise self.fault(name, "is not a list")
        for index, item in enumerate(value):
            yield Fields(item, self.what, self._below(f"{name}[{index}]"))

    def mapping(self, name: str, read: Callable[["Fields"], T]) -> dict[str, T]:
        """Return an object with every value read by ``read``."""
        value = self.take(name)
        if not isinstance(value, dict):
            raise self.fault(name, "is not an object")
        return {
            key: read(Fields(item, self.what, self._below(f"{name}.{key}")))
            for key, item in value.items()
        }

    def one(self, name: str, read: Callable[["Fields"], T]) -> T:
        """Return a nested object read by ``read``."""
        return read(Fields(self.take(name), self.what, self._below(name)))

    def optional(self, name: str, read: Callable[["Fields"], T]) -> T | None:
        """Return a nested object or, for null, None."""
        value: Any = self.take(name)
        return None if value is None else read(Fields(value, self.what, self._below(name)))

    def end(self) -> None:
        """Refuse what is left: a field that this version does not know."""
        if self._rest:
            raise self.fault(min(self._rest), "is not a known field")

    def _below(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


_RESTORE: Final = "restore it from a copy; olapps does not repair a store by guessing"
