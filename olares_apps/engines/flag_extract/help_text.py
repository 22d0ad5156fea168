"""Flags from the ``--help`` output of ``llama-server``."""

import re
from collections.abc import Iterator

from olares_apps.engines.flags.model import Flag, ValueForm

__all__ = ["deprecation_in", "flags_from_help", "form_of_hint", "replacement_in", "shape_of"]

# common_arg::to_string: the description starts at this column, on the next line if need be.
_COLUMN = 40
_NAME = re.compile(r"(-{1,2}[A-Za-z][\w.-]*)(,\s+|\s|$)")
_ENV = re.compile(r"\(env: ([A-Z][A-Z0-9_]+)\)")
_DEFAULT = re.compile(r"\(default: '?([\w.+-]+)'?[,)]")
_REMOVED = re.compile(r"the argument has been removed\.?\s*(?:use )?(.*)")
_BULLET = re.compile(r"^- ([\w+-]+)(?: \(default\))?:", re.MULTILINE)
_PATHS = frozenset("FNAME FILE PATH DIR".split())


def flags_from_help(text: str) -> list[Flag]:
    """Return the flags of a help text, in its order.

    Names, value forms, allowed values, environment names, removals and plain defaults are
    taken; the sentences are not. A help text does not tell whole numbers from decimals: both
    are ``int`` when the default is a whole number, else ``float``.
    """
    return [_flag(left, body) for left, body in _entries(text)]


def _entries(text: str) -> Iterator[tuple[str, str]]:
    left, body = "", list[str]()
    for line in text.splitlines():
        if line.startswith("-") and not line.startswith("-----"):
            if left:
                yield left, "\n".join(body)
            split = len(line) > _COLUMN and not line[_COLUMN - 3 : _COLUMN].strip()
            left = (line[:_COLUMN] if split else line).rstrip()
            body = [line[_COLUMN:]] if split else []
        elif line.startswith(" " * _COLUMN):
            body.append(line[_COLUMN:])
        elif line.strip() and left:
            yield left, "\n".join(body)
            left, body = "", []
    if left:
        yield left, "\n".join(body)


def _flag(left: str, body: str) -> Flag:
    names: list[str] = []
    while found := _NAME.match(left):
        names.append(found[1])
        left = left[found.end() :].lstrip()
        if not found[2].startswith(","):
            break
    hint = left.strip()
    positive, negated = _split_negated(names) if not hint else (names, [])
    flat = " ".join(body.split())
    default = _DEFAULT.search(flat)
    form, values = form_of_hint(hint, body, default[1] if default else None)
    removed = replacement_in(flat)
    return Flag(
        names=tuple(positive),
        negated=tuple(negated),
        form=form,
        values=values,
        env=tuple(_ENV.findall(flat)),
        removed=removed,
        deprecated=deprecation_in(flat),
        default=default[1] if default and removed is None else None,
        repeatable="--spec-type" in names and "," in hint,
        shape=shape_of(form, flat),
    )


def shape_of(form: ValueForm, text: str) -> str | None:
    """Return the shape of a JSON option: an object where the text says so, else anything."""
    return "object" if form is ValueForm.JSON and "json object" in text.lower() else None


def _split_negated(names: list[str]) -> tuple[list[str], list[str]]:
    """Split names into those that turn on and those that turn off (they come last)."""
    first = next((i for i, name in enumerate(names) if i and name.startswith("--no-")), None)
    if first is None:
        return names, []
    while first > 1 and re.match(r"-n", names[first - 1]):
        first -= 1
    return names[:first], names[first:]


def replacement_in(text: str) -> str | None:
    """Return the replacement that a removal note names, or None when nothing was removed."""
    found = _REMOVED.search(text)
    if not found:
        return None
    return re.sub(r"\s*\(env:.*", "", found[1]).strip().rstrip(".").removeprefix("the respective ")


def deprecation_in(text: str) -> str | None:
    """Return the form to use instead of a deprecated one ("" when none is named), or None."""
    found = re.search(r"DEPRECATED: use ([^\]]+)\]|DEPRECATED in favor of `([^`]+)`", text)
    if found:
        return (found[1] or found[2]).strip()
    return "" if "DEPRECATED" in text else None


def form_of_hint(hint: str, body: str, default: str | None) -> tuple[ValueForm, tuple[str, ...]]:
    """Return the value form and allowed values that a value hint and its text state."""
    if not hint:
        return ValueForm.NONE, ()
    if listed := _listed(hint, body):
        several = bool(re.search(r"comma-separated list of types", " ".join(body.split())))
        return (ValueForm.LIST if several else ValueForm.ENUM), listed
    if len(hint.split()) == 2 and hint.isupper():
        return ValueForm.PAIR, ()
    if hint in _PATHS or hint.endswith("_FILE"):
        return ValueForm.PATH, ()
    if hint == "JSON" or "valid json object" in " ".join(body.split()):
        return ValueForm.JSON, ()
    if hint in ("N", "PORT", "SEED", "SECONDS", "INDEX"):
        flat = " ".join(body.split())
        words = tuple(dict.fromkeys(re.findall(r"'([a-z]+)'", flat)))
        words = words if "exact number" in flat else ()
        whole = default is None or re.fullmatch(r"-?\d+", default) or default in words
        return (ValueForm.INT if whole else ValueForm.FLOAT), words
    if hint in ("P", "SIMILARITY", "L"):
        return ValueForm.FLOAT, ()
    return ValueForm.STRING, ()


def _listed(hint: str, body: str) -> tuple[str, ...]:
    if found := re.fullmatch(r"[\[{<]([\w+-]+(?:[|,][\w+-]+)+)[\]}>]", hint):
        return tuple(re.split(r"[|,]", found[1]))
    if re.fullmatch(r"[a-z0-9-]+(,[a-z0-9-]+)+", hint):
        return tuple(hint.split(","))
    flat = " ".join(body.split())
    if found := re.search(r"allowed values: ([\w, ]+?) \(", flat):
        return tuple(item.strip() for item in found[1].split(","))
    bullets = _BULLET.findall(body)
    if len(bullets) > 1 and hint in ("MODE", "TYPE", "FORMAT"):
        default = _DEFAULT.search(flat)
        extra = [default[1]] if default and default[1] not in bullets else []
        return (*extra, *bullets)
    return ()
