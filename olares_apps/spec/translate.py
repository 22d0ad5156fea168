"""Validation errors in the words of the person who wrote the file."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, Protocol

from pydantic import BaseModel, ValidationError

from olares_apps.errors import Problem, nearest
from olares_apps.spec.models import CONFLICT, AppSpec
from olares_apps.spec.positions import FieldPath, Spot, dotted
from olares_apps.spec.rules import Conflict, conflicts
from olares_apps.spec.shape import Place, partial, place_at

__all__ = ["Places", "problems_of"]

_SHOWN: Final = 60
# What stands behind that is cut from every message.
_LOOKED_AT: Final = 1000
_USERINFO: Final = re.compile(r"[^\s:/@'\"]{1,64}:[^\s/@]{1,128}@")
# Errors that are not about a value.
_WITHOUT_VALUE: Final = ("missing", "extra_forbidden", "union_tag_not_found")
# Errors about the word that says which kind of mapping stands there.
_UNION: Final = ("union_tag_invalid", "union_tag_not_found")
_SWITCH: Final = {False: ("off", "no", "none", "disabled"), True: ("on", "yes", "enabled")}
_BOOLEAN_WORDS: Final = {
    **dict.fromkeys(("on", "yes", "y", "1"), "true"),
    **dict.fromkeys(("off", "no", "n", "0"), "false"),
}


class Places(Protocol):
    """Where the values of a file stand; ``form`` is the file's language, for messages."""

    form: str

    def value(self, path: FieldPath) -> Spot | None:
        """Return where a value stands, None when the file does not hold it."""
        ...

    def key(self, path: FieldPath) -> Spot | None:
        """Return where a key stands, None when the file does not hold it."""
        ...

    def nearest(self, path: FieldPath) -> Spot:
        """Return the place of the deepest part of a path that exists."""
        ...


def problems_of(
    error: ValidationError,
    data: Mapping[str, object],
    positions: Places,
    path: PurePath,
    model: type[BaseModel],
) -> list[Problem]:
    """Return every problem that a file's data has, in the order of the file.

    For a spec that includes the conflicts between those fields that are valid.
    """
    faults: list[_Fault] = []
    for item in error.errors(include_url=False):
        if item["type"] != CONFLICT:
            faults.append(_fault(item, data, positions, model))
    # Conflicts of a spec that is valid otherwise are found again below, like any others.
    told = {fault.path for fault in faults}
    meant = {(*fault.path[:-1], fault.meant) for fault in faults if fault.meant}
    faults = [fault for fault in faults if not (fault.missing and fault.path in meant)]
    if issubclass(model, AppSpec):
        found = conflicts(partial(model, data), partial=True)
        faults += (_conflict(item, positions) for item in found if item.path not in told)
    faults.sort(key=lambda fault: (fault.spot.line, fault.spot.column))
    return [fault.problem(path) for fault in faults]


@dataclass(frozen=True, slots=True)
class _Fault:
    """A problem with its place; an unknown key may be ``meant`` for a field that is missing."""

    path: tuple[str | int, ...]
    spot: Spot
    message: str
    hint: str | None
    written: str | None
    missing: bool = False
    meant: str | None = None

    def problem(self, file: PurePath) -> Problem:
        return Problem(
            self.message,
            file,
            self.spot.line,
            self.spot.column,
            field=dotted(self.path) or None,
            value=self.written,
            hint=self.hint,
        )


@dataclass(frozen=True, slots=True)
class _Case:
    """One validation error with all that a message may need."""

    value: object
    written: str
    place: Place
    parent: Place
    name: str
    form: str
    said: str
    reason: str

    @property
    def shown(self) -> str:
        """Return the value as text in quotes or as the file has it, cut to a readable length."""
        text = _without_secrets(self.value if isinstance(self.value, str) else self.written)
        first = text.split("\n")[0]
        cut = first if first == text and len(text) <= _SHOWN else first[:_SHOWN] + "..."
        if not isinstance(self.value, str):
            return cut
        return f"'{cut}'" if cut.isprintable() else ascii(cut)

    @property
    def kind(self) -> str:
        """Return what YAML read: ``number``, ``boolean`` ..."""
        return _kind(self.value)


def _without_secrets(text: str) -> str:
    """Return a text without user names and passwords of addresses: messages end up in logs."""
    return _USERINFO.sub("...@", text[:_LOOKED_AT]) + text[_LOOKED_AT:]


def _spot(path: FieldPath, positions: Places) -> Spot | None:
    """Return where a value stands: at its key when the value only begins on a later line."""
    key, value = positions.key(path), positions.value(path)
    if not key or not value or key.line == value.line:
        return value
    return Spot(key.line, key.column, value.written)


def _conflict(found: Conflict, positions: Places) -> _Fault:
    spot = _spot(found.path, positions) or positions.nearest(found.path)
    return _Fault(found.path, spot, found.message, found.hint, spot.written or None)


def _fault(
    item: Any, data: Mapping[str, object], positions: Places, model: type[BaseModel]
) -> _Fault:
    kind: str = item["type"]
    path, of_key = _path(item["loc"], data)
    value: Any = path[-1] if of_key else item["input"]
    if kind in _UNION:
        path, value = (*path, "type"), value.get("type")
    at_key = of_key or kind == "extra_forbidden"
    spot = positions.key(path) if at_key else _spot(path, positions)
    found = spot is not None and kind not in ("missing", "union_tag_not_found")
    spot = spot or positions.nearest(path)
    case = _Case(
        value=value,
        written=spot.written if found else "",
        place=place_at(model, path, data),
        parent=place_at(model, path[:-1], data),
        name=str(path[-1]) if path else "",
        form=positions.form,
        said=item["msg"],
        reason=str(item.get("ctx", {}).get("error", "")),
    )
    empty = case.value is None and kind not in _WITHOUT_VALUE
    message, hint = _empty(case) if empty else _MESSAGES.get(kind, _other)(case)
    return _Fault(
        path,
        spot,
        message,
        hint,
        written=_without_secrets(case.written)[:_SHOWN] if found else None,
        missing=kind == "missing",
        meant=_guess(case) if kind == "extra_forbidden" else None,
    )


def _path(loc: tuple[str | int, ...], data: object) -> tuple[tuple[str | int, ...], bool]:
    """Return the path in the file, without the marks that validation adds to it.

    Those are the kind of an engine (after ``engine``), the kind of a free JSON value, and
    ``[key]`` behind a mapping's key.
    """
    path: list[str | int] = []
    of_key = loc[-1:] == ("[key]",)
    for step in loc[:-1] if of_key else loc:
        if _is_mark(step, data):
            continue
        path.append(step)
        if isinstance(data, Mapping):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            data = None
    return tuple(path), of_key


def _is_mark(step: str | int, data: object) -> bool:
    if isinstance(data, Mapping):
        return step not in data and step in (data.get("type"), "dict")
    return isinstance(step, str) and data is not None


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return (
        "a list"
        if isinstance(value, list)
        else "a mapping"
        if isinstance(value, dict)
        else "nothing"
    )


_Words = tuple[str, str | None]


def _missing(case: _Case) -> _Words:
    return "required field is missing", case.place.description or None


def _empty(case: _Case) -> _Words:
    return "has no value", case.place.description or None


def _guess(case: _Case) -> str | None:
    """Return the key that was probably meant: by its spelling, or by the flag of that name."""
    name = case.name.replace("-", "_")
    return nearest(name, case.parent.keys) or case.parent.flag_owner(name)


def _unknown(case: _Case) -> _Words:
    keys = case.parent.keys
    guess = _guess(case)
    hint = f"did you mean {guess}?" if guess else f"allowed: {', '.join(keys)}"
    return f"unknown key '{case.name}'", hint


def _text(case: _Case) -> _Words:
    if case.kind in ("number", "boolean"):
        read = str(case.value).lower() if case.kind == "boolean" else str(case.value)
        message = f"must be a quoted string ({case.form} read {read})"
        also = case.place.refusal(case.written)
        if also:
            return f"{message}, and '{case.written}' {also}", None
        return message, f'write "{case.written}"'
    return f"must be text, not {case.kind}", case.place.description or None


def _whole_number(case: _Case) -> _Words:
    allowed = case.place.bounds
    hint = f"allowed: {allowed}" if allowed else None
    if isinstance(case.value, str):
        if re.fullmatch(r"\d{1,18}", case.value, re.ASCII):
            return f"must be a number, got text {case.shown}", "drop the quotes"
        return f"must be a whole number, got text {case.shown}", hint
    if case.kind == "number":
        return f"must be a whole number, got {case.shown}", hint
    return f"must be a whole number, got {case.kind}", hint


def _number(case: _Case) -> _Words:
    allowed = case.place.bounds
    if isinstance(case.value, str) and re.fullmatch(r"[\d.]{1,18}", case.value, re.ASCII):
        return f"must be a number, got text {case.shown}", "drop the quotes"
    got = f"text {case.shown}" if isinstance(case.value, str) else case.kind
    return f"must be a number, got {got}", f"allowed: {allowed}" if allowed else None


def _boolean(case: _Case) -> _Words:
    word = _BOOLEAN_WORDS.get(str(case.value).lower())
    got = f"text {case.shown}" if isinstance(case.value, str) else f"{case.kind} {case.written}"
    return f"must be true or false, got {got}", f"write {word}" if word else "write true or false"


def _choice(case: _Case) -> _Words:
    choices = case.place.choices
    allowed = f"allowed: {', '.join(choices)}"
    if isinstance(case.value, bool):
        word = next((w for w in _SWITCH[case.value] if w in choices), None)
        hint = f'write "{word}"' if word else allowed
        return f"got boolean {str(case.value).lower()}; {allowed}", hint
    guess = nearest(str(case.value), choices)
    return f"{case.shown} is not allowed; {allowed}", f"did you mean {guess}?" if guess else None


def _unknown_kind(case: _Case) -> _Words:
    kinds = case.parent.kinds
    guess = nearest(str(case.value), kinds)
    message = f"{case.shown} is not allowed; allowed: {', '.join(kinds)}"
    return message, f"did you mean {guess}?" if guess else None


def _missing_kind(case: _Case) -> _Words:
    return "required field is missing", f"allowed: {', '.join(case.parent.kinds)}"


def _range(case: _Case) -> _Words:
    return f"{case.shown} is out of range; allowed: {case.place.bounds}", None


def _value(case: _Case) -> _Words:
    return f"{case.shown} {case.reason}", None


def _list(case: _Case) -> _Words:
    written = "begin each item with a hyphen" if case.form == "YAML" else "write it in brackets"
    return f"must be a list, got {case.kind}", written


def _mapping(case: _Case) -> _Words:
    keys = case.place.keys
    return f"must be a mapping, got {case.kind}", f"keys: {', '.join(keys)}" if keys else None


def _finite(case: _Case) -> _Words:
    return f"{case.shown} is no finite number", None


def _form(case: _Case) -> _Words:
    return f"{case.shown} does not have the form that is allowed here", case.place.description


def _other(case: _Case) -> _Words:
    return f"{case.shown}: {case.said}", case.place.description or None


_MESSAGES: Final[Mapping[str, Callable[[_Case], _Words]]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "string_type": _text,
    "int_type": _whole_number,
    "int_from_float": _whole_number,
    "float_type": _number,
    "finite_number": _finite,
    "string_pattern_mismatch": _form,
    "bool_type": _boolean,
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": _missing_kind,
    "literal_error": _choice,
    "value_error": _value,
    "list_type": _list,
    "dict_type": _mapping,
    "model_type": _mapping,
    "model_attributes_type": _mapping,
    **dict.fromkeys(("greater_than", "greater_than_equal", "less_than", "less_than_equal"), _range),
}
