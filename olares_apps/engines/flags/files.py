"""Flag table files: JSON with one flag per line, whole tables or overlays on another one."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from olares_apps.engines.flags.model import Flag, FlagTable, JsonKey, JsonShape, ValueForm
from olares_apps.errors import OlappsError

__all__ = [
    "SCHEMA",
    "TableFileError",
    "apply_hints",
    "build_number",
    "dump_overlay",
    "dump_table",
    "load_table",
]

SCHEMA = 1
_TUPLES = frozenset(("names", "negated", "values", "env"))
# Marks of a shape stand among its keys; no key of a JSON object begins with a dash.
_SHAPE_MARKS = {"-folds-dashes": "folds_dashes", "-takes-text": "takes_text"}
_HEAD = ("engine", "build", "source", "extracted_from", "covers", "upstream")


class TableFileError(OlappsError):
    """A flag table file that cannot be used."""


def build_number(engine: str, build: str | None) -> int | None:
    """Return a build as a number that orders builds of one engine, or None for other names.

    ``b9254`` of llama.cpp is 9254; ``0.22.1`` of vLLM is 22001, ``1.2.3`` is 1002003.
    """
    if engine == "llamacpp":
        found = re.fullmatch(r"b(\d+)", build or "")
        return int(found[1]) if found else None
    found = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:\.post\d+)?", build or "")
    return int(found[1]) * 10**6 + int(found[2]) * 1000 + int(found[3] or 0) if found else None


def load_table(text: str, read: Callable[[str], str]) -> FlagTable:
    """Return the table of a file's text.

    ``read`` returns the text of another table of the same engine by its build name; overlays
    name the one they stand on. Raises ``TableFileError`` when the file is not a table.
    """
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise TableFileError(
                f"flag table has schema {document['schema']}, this version reads {SCHEMA}"
            )
        if "base" in document:
            return _overlay(document, load_table(read(document["base"]), read))
        flags = tuple(_flag(item) for item in document["flags"])
        return FlagTable(
            **_head(document), flags=flags, shapes=_shapes({}, document.get("shapes", {}))
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TableFileError(f"not a flag table: {error!r}") from error


def _head(document: Mapping[str, Any]) -> dict[str, Any]:
    head = {key: document[key] for key in _HEAD if key in document}
    if "covers" in head:
        first, last = head["covers"]
        head["covers"] = (first, last)
    return head


def _flag(item: Mapping[str, Any]) -> Flag:
    values: dict[str, Any] = {
        key: tuple(value) if key in _TUPLES else value for key, value in item.items()
    }
    return Flag(**values | {"form": ValueForm(item.get("form", "none"))})


def _shapes(
    base: Mapping[str, JsonShape], document: Mapping[str, Mapping[str, Any] | None]
) -> dict[str, JsonShape]:
    shapes = dict(base)
    for name, keys in document.items():
        if keys is None:
            shapes.pop(name, None)
            continue
        old = shapes.get(name)
        merged = dict(old.keys) if old else {}
        for key, value in keys.items():
            if key in _SHAPE_MARKS:
                continue
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = _json_key(value)
        marks = {field: bool(getattr(old, field, False)) for field in _SHAPE_MARKS.values()}
        marks |= {_SHAPE_MARKS[key]: bool(keys[key]) for key in _SHAPE_MARKS if key in keys}
        shapes[name] = JsonShape(name, merged, **marks)
    return shapes


def _json_key(item: Mapping[str, Any]) -> JsonKey:
    return JsonKey(**dict(item) | {"values": tuple(item.get("values", ()))})


def _overlay(document: Mapping[str, Any], base: FlagTable) -> FlagTable:
    changed = {flag.name: flag for flag in map(_flag, document.get("change", ()))}
    gone = frozenset(document.get("remove", ()))
    known = {flag.name for flag in base.flags}
    if unknown := (gone | changed.keys()) - known:
        raise TableFileError(
            f"overlay {document['build']} names flags that {base.build} lacks: "
            + ", ".join(sorted(unknown))
        )
    # Defaults are known for the build that printed its help, not for its neighbours.
    kept = tuple(
        changed.get(flag.name) or (replace(flag, default=None) if flag.default else flag)
        for flag in base.flags
        if flag.name not in gone
    )
    added = tuple(_flag(item) for item in document.get("add", ()))
    return FlagTable(
        **_head(document),
        flags=kept + added,
        shapes=_shapes(base.shapes, document.get("shapes", {})),
    )


def dump_table(table: FlagTable) -> str:
    """Return the file text of a whole table; flags are sorted by canonical name."""
    parts = [*_head_lines(table), *_shape_lines(_plain_shapes(table.shapes))]
    parts.append(_block("flags", [_plain(flag) for flag in _sorted(table.flags)]))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def dump_overlay(table: FlagTable, base: FlagTable) -> str:
    """Return the file text of a table as its differences from another one."""
    old = {flag.name: replace(flag, default=None) for flag in base.flags}
    new = {flag.name: flag for flag in table.flags}
    parts = [*_head_lines(table), f' "base": {json.dumps(base.build)}']
    parts += _shape_lines(_shape_changes(table.shapes, base.shapes))
    blocks: Mapping[str, Iterable[Any]] = {
        "remove": sorted(old.keys() - new.keys()),
        "change": [_plain(new[n]) for n in sorted(new) if n in old and new[n] != old[n]],
        "add": [_plain(new[n]) for n in sorted(new) if n not in old],
    }
    parts += [_block(name, list(items)) for name, items in blocks.items() if items]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _head_lines(table: FlagTable) -> list[str]:
    head = {"schema": SCHEMA} | {key: getattr(table, key) for key in _HEAD}
    return [f' "{key}": {json.dumps(value)}' for key, value in head.items() if value is not None]


def _sorted(flags: Iterable[Flag]) -> list[Flag]:
    return sorted(flags, key=lambda flag: flag.name)


def _plain(flag: Flag) -> dict[str, Any]:
    """Return a flag as JSON data; what equals the default is left out."""
    plain: dict[str, Any] = {"names": list(flag.names)}
    for item in fields(Flag)[1:]:
        value = getattr(flag, item.name)
        if value != item.default:
            plain[item.name] = list(value) if isinstance(value, tuple) else value
    return plain


def _plain_key(key: JsonKey) -> dict[str, Any]:
    plain: dict[str, Any] = {"form": key.form}
    for name in ("values", "numbers", "deprecated", "shape"):
        if value := getattr(key, name):
            plain[name] = list(value) if isinstance(value, tuple) else value
    return plain


def _plain_shapes(shapes: Mapping[str, JsonShape]) -> dict[str, dict[str, Any]]:
    return {name: _plain_shape(shapes[name]) for name in sorted(shapes)}


def _plain_shape(shape: JsonShape) -> dict[str, Any]:
    plain: dict[str, Any] = {
        mark: True for mark, field in _SHAPE_MARKS.items() if getattr(shape, field)
    }
    return plain | {name: _plain_key(shape.keys[name]) for name in sorted(shape.keys)}


def _shape_changes(
    new: Mapping[str, JsonShape], old: Mapping[str, JsonShape]
) -> dict[str, dict[str, Any] | None]:
    changes: dict[str, dict[str, Any] | None] = dict.fromkeys(sorted(old.keys() - new))
    for name in sorted(new):
        if name not in old:
            changes[name] = _plain_shape(new[name])
            continue
        before, after = _plain_shape(old[name]), _plain_shape(new[name])
        keys: dict[str, Any] = {
            key: value for key, value in after.items() if before.get(key) != value
        }
        keys |= dict.fromkeys(sorted(before.keys() - after))
        if keys:
            changes[name] = keys
    return changes


def _shape_lines(shapes: Mapping[str, Mapping[str, Any] | None]) -> list[str]:
    if not shapes:
        return []
    lines = []
    for name, keys in shapes.items():
        if keys is None:
            lines.append(f"  {json.dumps(name)}: null")
            continue
        inner = ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in keys.items())
        lines.append(f"  {json.dumps(name)}: {{\n{inner}\n  }}")
    return [' "shapes": {\n' + ",\n".join(lines) + "\n }"]


def _block(name: str, items: list[Any]) -> str:
    inner = ",\n".join(f"  {json.dumps(item)}" for item in items)
    return f' "{name}": [\n{inner}\n ]'


def apply_hints(table: FlagTable, text: str) -> FlagTable:
    """Return the table with what people need to know beyond the build's own option list.

    ``text`` is the engine's hints file: options that disappeared without a trace and their
    replacements, names and values that people mistake, notes on single options.
    """
    hints = json.loads(text)
    instead: Mapping[str, str] = hints.get("deprecated", {})
    number = build_number(table.engine, table.build) or build_number(table.engine, table.upstream)
    extra = []
    for item in hints.get("removed", ()):
        gone_by = build_number(table.engine, item["gone_by"])
        if number is None or gone_by is None or number < gone_by:
            continue
        names = [name for name in item["names"] if table.find(name) is None]
        if names:
            form = ValueForm(item.get("form", "none"))
            extra.append(Flag(tuple(names), form=form, removed=item["instead"]))
    flags = (
        replace(flag, deprecated=instead[flag.name])
        if flag.deprecated == "" and flag.name in instead
        else flag
        for flag in table.flags
    )
    return replace(
        table,
        flags=(*flags, *extra),
        suggestions=hints.get("suggest", {}),
        value_hints=hints.get("values", {}),
        notes=hints.get("notes", {}),
    )
