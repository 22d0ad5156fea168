"""Settings that owners change: where their values go in the server's arguments.

Nothing says which argument a field of the spec becomes, so the engine is asked twice: with the
spec's value and with another one that the setting allows. Where an argument differs by exactly
that value, it refers to the variable instead; anything else cannot be a setting.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from olares_apps.engines.base import Launch
from olares_apps.errors import Problem, RenderError, SpecError
from olares_apps.spec.fields import steps_of, value_at, with_value
from olares_apps.spec.models import AppSpec
from olares_apps.spec.structure import Setting

__all__ = ["Editable", "Piece", "editable", "widest"]

LaunchOf = Callable[[AppSpec[Any]], Launch]
Piece = str | tuple[str]
"""A part of an argument: text, or the name of a variable in a tuple."""

# What a default may hold between the quotes of a template action.
_PLAIN: Final = re.compile(r"[\w./:@+-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Editable:
    """The arguments with variables in them, and the default of each variable.

    ``unused`` are keys of the launch's configuration that no argument refers to any more;
    ``shown`` are variables whose value is that of the key of the same name.
    """

    arguments: Mapping[int, Sequence[Piece]]
    env: Mapping[str, Sequence[Piece]]
    defaults: Mapping[str, str]
    unused: frozenset[str]
    shown: frozenset[str] = frozenset()


def editable(spec: AppSpec[Any], launch: Launch, launch_of: LaunchOf) -> Editable:
    """Return where the settings of a spec go.

    Raises SpecError, with the setting's field, for one whose value the arguments do not show.
    """
    finder = _Finder(launch)
    for name, setting in spec.settings.items():
        if setting.field is not None:
            try:
                finder.find(spec, name, setting, launch_of)
            except ValueError as error:
                field = f"settings.{name}"
                hint = "set another field, or leave this one to the spec"
                raise SpecError([Problem(str(error), field=field, hint=hint)]) from None
            except RenderError as error:
                where = f"settings.{name}"
                about = f"{error.field}: " if error.field else ""
                problem = Problem(f"{about}{error.message}", field=where, hint=error.hint)
                raise SpecError([problem]) from None
    return finder.found()


def widest(spec: AppSpec[Any]) -> AppSpec[Any]:
    """Return the spec with every number that owners may set at its greatest value."""
    for setting in spec.settings.values():
        numbers = [value for _, value in setting.extremes() if isinstance(value, int)]
        if setting.field and numbers:
            greatest = max(numbers)
            if greatest > value_at(spec, setting.field):
                spec = with_value(spec, steps_of(setting.field), greatest)
    return spec


class _Finder:
    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._spans: dict[tuple[str, int | str], list[tuple[int, int, str]]] = {}
        self._defaults: dict[str, str] = {}
        self._unused: set[str] = set()
        self._shown: set[str] = set()

    def find(self, spec: AppSpec[Any], name: str, setting: Setting, launch_of: LaunchOf) -> None:
        """Record where one setting goes; raises ValueError.

        Every value at an end of what is allowed must go to the same places.
        """
        field = setting.field or ""
        before = value_at(spec, field)
        old = _text(before)
        if not _PLAIN.fullmatch(old):
            raise ValueError(f"the value {old!r} of {field} cannot be a default")
        found = [
            self._spans_of(launch_of(with_value(spec, steps_of(field), after)), field, old, after)
            for after in _others(before, setting)
        ]
        spans, changed = found[0]
        if any(others != spans for others, _ in found):
            raise ValueError(f"{field} goes to other arguments for some of its values")
        for place, start in spans:
            self._spans.setdefault(place, []).append((start, start + len(old), name))
        self._unused |= changed - {name}
        self._shown |= changed & {name}
        self._defaults[name] = old

    def _spans_of(
        self, other: Launch, field: str, old: str, after: Any
    ) -> tuple[list[tuple[tuple[str, int | str], int]], set[str]]:
        """Return where another value stands, and the keys of the configuration that show it."""
        new = _text(after)
        first = self._launch
        rest = replace(other, argv=first.argv, env=first.env, config=first.config)
        if (
            rest != first
            or len(other.argv) != len(first.argv)
            or other.env.keys() != first.env.keys()
        ):
            raise ValueError(f"{field} changes more than the value of an argument")
        pairs: list[tuple[tuple[str, int | str], str, str]] = [
            (("argv", at), one, two)
            for at, (one, two) in enumerate(zip(first.argv, other.argv, strict=True))
        ]
        pairs += [(("env", key), text, other.env[key]) for key, text in first.env.items()]
        spans = []
        for place, one, two in pairs:
            if one == two:
                continue
            start = _difference(one, two, old, new)
            if start is None:
                raise ValueError(f"{field} goes into {one!r} in another way than as its value")
            spans.append((place, start))
        if not spans:
            raise ValueError(f"no argument of the server shows {field}")
        changed = {key for key, text in first.config.items() if other.config.get(key) != text}
        return spans, changed

    def found(self) -> Editable:
        """Return everything recorded."""
        arguments: dict[int, Sequence[Piece]] = {}
        env: dict[str, Sequence[Piece]] = {}
        for (kind, key), spans in self._spans.items():
            if kind == "argv" and isinstance(key, int):
                arguments[key] = _pieces(self._launch.argv[key], spans)
            else:
                env[str(key)] = _pieces(self._launch.env[str(key)], spans)
        return Editable(
            arguments, env, self._defaults, frozenset(self._unused), frozenset(self._shown)
        )


def _others(value: Any, setting: Setting) -> list[Any]:
    """Return values that the setting allows and the spec does not have; raises ValueError."""
    found = [candidate for _, candidate in setting.extremes() if candidate != value]
    if not found and isinstance(value, int):
        found = [value + 1]
    if not found:
        raise ValueError("the setting allows only the value of the spec: name choices")
    return found


def _text(value: Any) -> str:
    """Return a value as engines write it: no exponent, no trailing zeros."""
    if not isinstance(value, float):
        return str(value)
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _difference(one: str, two: str, old: str, new: str) -> int | None:
    """Return where ``old`` has to be replaced by ``new`` to turn one text into the other."""
    for found in re.finditer(f"(?={re.escape(old)})", one):
        start = found.start()
        if one[:start] + new + one[start + len(old) :] == two:
            return start
    return None


def _pieces(text: str, spans: Sequence[tuple[int, int, str]]) -> list[Piece]:
    pieces: list[Piece] = []
    position = 0
    for start, end, name in sorted(spans):
        pieces += [text[position:start], (name,)]
        position = end
    pieces.append(text[position:])
    return [piece for piece in pieces if piece]
