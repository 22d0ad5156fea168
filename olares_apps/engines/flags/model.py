"""The words of flag tables: a flag, its value form, the JSON it takes, the table of a build."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

__all__ = ["Flag", "FlagMatch", "FlagTable", "JsonKey", "JsonShape", "ValueForm"]


class ValueForm(StrEnum):
    """What follows a flag on the command line."""

    NONE = "none"
    """Nothing: a switch."""
    INT = "int"
    """A whole number; ``values`` lists the words that are taken as well."""
    SIZE = "size"
    """A whole number that may carry k, K, m, M, g, G, t or T; ``values`` lists further words."""
    FLOAT = "float"
    """A number; ``values`` lists the words that are taken as well."""
    STRING = "string"
    """Any text; ``values``, when given, are known ones, not the only ones."""
    ENUM = "enum"
    """One of ``values``."""
    NAME = "name"
    """One of ``values`` in any case, or ``auto``: a Python enum that is looked up by name."""
    LIST = "list"
    """Comma-separated items, or several arguments where ``many``; of ``values`` if given."""
    JSON = "json"
    """JSON text; its keys are in the table's shape named by ``shape``."""
    PATH = "path"
    """A file or folder."""
    PAIR = "pair"
    """Two arguments, both whole numbers."""


@dataclass(frozen=True, slots=True)
class JsonKey:
    """One key of a JSON object: what may stand there.

    ``form`` is ``any``, ``bool``, ``int``, ``float``, ``string``, ``enum``, ``list`` or
    ``object``. ``values`` are the allowed words of an enum. ``numbers`` maps the internal
    numbers of an enum to its words; ``deprecated`` maps old words to what replaces them.
    """

    form: str
    values: tuple[str, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    deprecated: Mapping[str, str] = field(default_factory=dict)
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class JsonShape:
    """The keys of a JSON object.

    ``folds_dashes``: ``-`` in a key counts as ``_``. ``takes_text``: the option also reads
    texts that are no JSON (a bare number), so they are not judged.
    """

    name: str
    keys: Mapping[str, JsonKey]
    folds_dashes: bool = False
    takes_text: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """One option of one build: its names, its value, and what became of it.

    ``names`` and ``negated`` keep the order of the source. ``env`` are the environment
    variables that set it too. ``removed`` names the replacement (may be empty) of an option
    that the build refuses; ``deprecated`` names the form to use instead of one that it still
    takes. ``repeatable`` options add up; all others keep the last value. ``opened_by`` names
    an option whose presence makes the list of values open. ``shape`` names the JSON shape.
    """

    names: tuple[str, ...]
    negated: tuple[str, ...] = ()
    form: ValueForm = ValueForm.NONE
    values: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    removed: str | None = None
    deprecated: str | None = None
    repeatable: bool = False
    many: bool = False
    optional_value: bool = False
    default: str | None = None
    shape: str | None = None
    opened_by: str | None = None

    @property
    def name(self) -> str:
        """Return the canonical name: the first long one, or the first one."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])

    @property
    def takes_value(self) -> bool:
        """Return whether something follows the flag."""
        return self.form is not ValueForm.NONE


@dataclass(frozen=True, slots=True)
class FlagMatch:
    """A name found in a table; ``negated`` when it is the form that turns the flag off."""

    flag: Flag
    negated: bool


@dataclass(frozen=True, eq=False)
class FlagTable:
    """All options that one build of one engine accepts.

    ``build`` is ``b9254``, ``0.33.0`` or the name of a fork; ``source`` is the project it
    was built from and ``extracted_from`` the provenance of the facts. ``covers`` are the
    first and last build known to have the same options. ``upstream`` is the mainline build
    that a fork stands on. ``shapes`` are the JSON objects that options take; ``suggestions``
    maps names that people invent or remember from elsewhere to the right ones, and
    ``value_hints`` does so for values, by canonical flag name.
    """

    engine: str
    build: str
    source: str
    extracted_from: str
    flags: tuple[Flag, ...]
    covers: tuple[str, str] | None = None
    upstream: str | None = None
    shapes: Mapping[str, JsonShape] = field(default_factory=dict)
    suggestions: Mapping[str, str] = field(default_factory=dict)
    value_hints: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _index(self) -> Mapping[str, FlagMatch]:
        index: dict[str, FlagMatch] = {}
        for flag in self.flags:
            for name in flag.names:
                index.setdefault(name, FlagMatch(flag, negated=False))
            for name in flag.negated:
                index.setdefault(name, FlagMatch(flag, negated=True))
        return index

    def find(self, name: str) -> FlagMatch | None:
        """Return the flag with exactly this name, or None."""
        return self._index.get(name)

    def first(self, names: Sequence[str]) -> Flag | None:
        """Return the first flag that has one of these names, or None."""
        return next((found.flag for name in names if (found := self.find(name))), None)

    @cached_property
    def _by_env(self) -> Mapping[str, Flag]:
        return {name: flag for flag in self.flags for name in flag.env}

    def by_env(self, variable: str) -> Flag | None:
        """Return the flag that an environment variable sets, or None."""
        return self._by_env.get(variable)

    def names(self) -> list[str]:
        """Return every name of every flag, removed ones left out."""
        return [name for name, found in self._index.items() if found.flag.removed is None]

    def __len__(self) -> int:
        return len(self.flags)
