"""Reading an argument list the way the engine does, without judging the values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from olares_apps.engines.flags.dialect import Dialect, dialect_of
from olares_apps.engines.flags.model import Flag, FlagTable, ValueForm

__all__ = ["Leftover", "ParsedArgs", "Setting", "parse_argv"]

# A switch's author often writes a value after it; the engine takes that for something else.
_TRUTH_WORDS = frozenset("true false on off yes no 0 1 enabled disabled".split())


@dataclass(frozen=True, slots=True)
class Setting:
    """One option of an argument list with its values.

    ``written`` is the name as it stands in the list, ``position`` its index from 0, ``path``
    the keys of a dotted form. ``missing`` is set when a value is due but none follows;
    ``followed_by`` is then the argument that the engine would take for it, if any.
    ``surplus`` is a value after a switch.
    """

    flag: Flag
    written: str
    position: int
    values: tuple[str, ...] = ()
    negated: bool = False
    path: tuple[str, ...] = ()
    missing: bool = False
    followed_by: str | None = None
    surplus: str | None = None

    @property
    def value(self) -> str | None:
        """Return the only or last value, or None."""
        return self.values[-1] if self.values else None


@dataclass(frozen=True, slots=True)
class Leftover:
    """An argument that belongs to no known option.

    ``value`` is what stands behind an unknown option and presumably belongs to it.
    ``is_option`` tells an unknown option from a loose word.
    """

    text: str
    position: int
    is_option: bool
    value: str | None = None


@dataclass(frozen=True)
class ParsedArgs:
    """An argument list, split: every option found, the positional arguments, the rest."""

    table: FlagTable
    settings: tuple[Setting, ...]
    positionals: tuple[Leftover, ...]
    leftovers: tuple[Leftover, ...]

    @cached_property
    def _by_flag(self) -> Mapping[str, tuple[Setting, ...]]:
        found: dict[str, tuple[Setting, ...]] = {}
        for setting in self.settings:
            found[setting.flag.name] = (*found.get(setting.flag.name, ()), setting)
        return found

    @property
    def values(self) -> Mapping[str, list[str]]:
        """Return canonical long name to all its values, in order; switches have none."""
        return MappingProxyType(
            {
                name: [value for setting in settings for value in setting.values]
                for name, settings in self._by_flag.items()
            }
        )

    def settings_of(self, *names: str) -> tuple[Setting, ...]:
        """Return the settings of the first of these flags that the table knows."""
        flag = self.table.first(names)
        return self._by_flag.get(flag.name, ()) if flag else ()

    def has(self, *names: str) -> bool:
        """Return whether one of these flags (any of its names) is set; negated forms count."""
        return any(self.settings_of(name) for name in names)

    def last(self, *names: str) -> Setting | None:
        """Return the setting that counts: the last one of the first known flag."""
        found = self.settings_of(*names)
        return found[-1] if found else None

    def value(self, *names: str) -> str | None:
        """Return the value that counts, or None when the flag is not set."""
        setting = self.last(*names)
        return setting.value if setting else None

    def number(self, *names: str) -> int | None:
        """Return the value that counts as a whole number, or None when it is not one."""
        value = self.value(*names)
        try:
            return int(value) if value is not None else None
        except ValueError:
            return None

    def is_on(self, *names: str) -> bool:
        """Return whether a switch is set and its last form is not the negated one."""
        setting = self.last(*names)
        return setting is not None and not setting.negated


def parse_argv(argv: Sequence[str], table: FlagTable) -> ParsedArgs:
    """Split an argument list (without the binary) into the table's options and the rest.

    Nothing is refused here; ``check_argv`` judges. An option that needs a value but is
    followed by another known option takes none, so that the second one is not lost.
    """
    reader = _Reader(argv, table, dialect_of(table.engine))
    settings: list[Setting] = []
    positionals: list[Leftover] = []
    leftovers: list[Leftover] = []
    for item in reader.read():
        if isinstance(item, Setting):
            settings.append(item)
        elif reader.dialect.positional and not item.is_option and len(positionals) < 1:
            positionals.append(item)
        else:
            leftovers.append(item)
    return ParsedArgs(table, tuple(settings), tuple(positionals), tuple(leftovers))


class _Reader:
    """Walks over the arguments once, from left to right."""

    def __init__(self, argv: Sequence[str], table: FlagTable, dialect: Dialect) -> None:
        self.argv, self.table, self.dialect = argv, table, dialect
        self.at = 0

    def read(self) -> Iterator[Setting | Leftover]:
        if self.dialect.positional and self.argv[:1] == ["serve"]:
            self.at = 1
        while self.at < len(self.argv):
            yield self._next()

    def _next(self) -> Setting | Leftover:
        position, written = self.at, self.argv[self.at]
        self.at += 1
        name, attached = written, None
        if self.dialect.equals and written.startswith("-") and "=" in written:
            name, attached = written.split("=", 1)
        if self.dialect.dotted and written.startswith("-O") and written[2:].isdigit():
            name, attached = "--optimization-level", written[2:]
        name, path = self._split_path(self.dialect.fold(name))
        match = self.dialect.find(self.table, name)
        if match is None:
            return self._unknown(written, position, attached)
        setting = Setting(match.flag, name, position, negated=match.negated, path=path)
        if not match.flag.takes_value or match.negated:
            return self._switch(setting, attached)
        return self._with_values(setting, attached)

    def _split_path(self, name: str) -> tuple[str, tuple[str, ...]]:
        if not self.dialect.dotted or "." not in name or not name.startswith("-"):
            return name, ()
        head, *path = name.removesuffix("+").split(".")
        return head, tuple(path)

    def _unknown(self, written: str, position: int, attached: str | None) -> Leftover:
        is_option = self.dialect.looks_like_option(written)
        value = attached
        if is_option and value is None and self._value_ahead():
            value = self.argv[self.at]
            self.at += 1
        return Leftover(written, position, is_option, value)

    def _switch(self, setting: Setting, attached: str | None) -> Setting:
        surplus = attached
        if surplus is None and self.at < len(self.argv):
            word = self.argv[self.at]
            if word.lower() in _TRUTH_WORDS:
                surplus = word
                self.at += 1
        return replace(setting, surplus=surplus)

    def _with_values(self, setting: Setting, attached: str | None) -> Setting:
        flag = setting.flag
        if attached is not None:
            return replace(setting, values=(attached,))
        wanted = 2 if flag.form is ValueForm.PAIR else 1
        values: list[str] = []
        while self._value_ahead(flag) and (flag.many or len(values) < wanted):
            values.append(self.argv[self.at])
            self.at += 1
        short = not flag.optional_value and len(values) < wanted
        follower = self.argv[self.at] if short and self.at < len(self.argv) else None
        return replace(setting, values=tuple(values), missing=short, followed_by=follower)

    def _value_ahead(self, flag: Flag | None = None) -> bool:
        """Return whether the next argument is a value and not the next option."""
        if self.at >= len(self.argv):
            return False
        text = self.argv[self.at]
        if not self.dialect.looks_like_option(text):
            return True
        if flag is None or not self.dialect.dash_value:
            return False
        if self.table.find(self.dialect.fold(text)):
            return False
        return flag.form in (ValueForm.STRING, ValueForm.PATH, ValueForm.JSON)
