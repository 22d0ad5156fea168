"""The types of answers as data for servers in other languages: what the Worker checks by.

The Worker decodes the answers of a revision by this table before its head moves, so it and the
publisher agree on what a device takes because they read the same one.
"""

import json
from typing import Any, Final

from olares_apps.market import answer_types, conformance
from olares_apps.market.gojson import Kind, ListOf, MapOf, Struct, Type

__all__ = ["TABLES_FILE", "tables_text"]

TABLES_FILE: Final = "market_worker/src/contract.json"
_ANSWERS: Final = {
    "hash.json": answer_types.HASH,
    "info.json": answer_types.INFO,
    "catalog.json": answer_types.CATALOG,
    "taxonomy.json": answer_types.TAXONOMY,
    "applications.json": answer_types.LISTING,
}


def tables_text() -> str:
    """Return the table: a type per answer, and the fields of a detail by what they hold."""
    tables = {
        "answers": {file: _data(kind) for file, kind in _ANSWERS.items()},
        "detail": {
            "texts": sorted(conformance.APP_TEXTS),
            "text_lists": sorted(conformance.APP_TEXT_LISTS),
            "objects": sorted(conformance.APP_OBJECTS),
            "object_lists": sorted(conformance.APP_OBJECT_LISTS),
            "text_or_map": sorted(conformance.APP_TEXT_OR_MAP),
            "booleans": ["onlyAdmin"],
            "numbers": ["rating"],
            "characters": conformance.COLUMNS,
        },
    }
    return json.dumps(tables, indent=1, sort_keys=True) + "\n"


def _data(kind: Type) -> Any:
    match kind:
        case Kind():
            return kind.name.lower()
        case ListOf(item):
            return {"list": _data(item)}
        case MapOf(item):
            return {"map": _data(item)}
        case Struct(fields):
            return {"struct": {name: _data(item) for name, item in fields.items()}}
