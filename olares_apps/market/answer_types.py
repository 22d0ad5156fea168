"""The Go types into which a device decodes the answers of a source, as data.

Sources: the Olares contract 2.2 and 2.3 (beclab/market@8cfabaa, step_interface.go) and 2.7. The
v2 types are not public; they are what a source that devices sync successfully answers.
"""

from typing import Final

from olares_apps.market import gojson
from olares_apps.market.gojson import Kind, ListOf, MapOf, Struct

__all__ = ["CATALOG", "HASH", "INFO", "LISTING", "TAXONOMY", "envelope"]

_STAMPED: Final = {"source": Kind.INT, "updated_at": Kind.STRING, "createdAt": Kind.STRING}
_TEXT_MAP: Final = MapOf(Kind.ANY)


def _texts(names: str) -> dict[str, gojson.Type]:
    return dict.fromkeys(names.split(), Kind.STRING)


HASH: Final = Struct(_texts("hash last_updated version"))
_RECOMMEND: Final = Struct(
    _texts("name description content")
    | {"data": Struct({"title": _TEXT_MAP, "description": _TEXT_MAP})}
    | _STAMPED
)
_TOPIC_DATA: Final = Struct(
    _texts(
        "group title des iconimg detailimg richtext mobileDetailImg mobileRichtext "
        "backgroundColor apps"
    )
    | {"isdelete": Kind.BOOL}
)
INFO: Final = Struct(
    _texts("version hash")
    | {
        "last_updated": Kind.TIME,
        "data": Struct(
            {
                "apps": MapOf(Kind.ANY),
                "recommends": MapOf(_RECOMMEND),
                "pages": MapOf(Struct(_texts("category content") | _STAMPED)),
                "topics": MapOf(
                    Struct(_texts("_id name") | {"data": MapOf(_TOPIC_DATA)} | _STAMPED)
                ),
                "topic_lists": MapOf(
                    Struct(
                        _texts("name type description content") | {"title": _TEXT_MAP} | _STAMPED
                    )
                ),
                "tags": MapOf(
                    Struct(
                        _texts("_id name icon") | {"title": _TEXT_MAP, "sort": Kind.INT} | _STAMPED
                    )
                ),
                "tops": ListOf(Struct(_texts("appId appid") | {"rank": Kind.INT})),
                "latest": ListOf(Kind.STRING),
            }
        ),
        "stats": MapOf(Kind.ANY),
    }
)
_SOURCE: Final = Struct(
    _texts("source_id short_label icon") | {"display_name": _TEXT_MAP, "is_official": Kind.BOOL}
)
TAXONOMY: Final = Struct(
    {
        "last_modify_time": Kind.INT,
        "source": _SOURCE,
        "languages": ListOf(
            Struct(_texts("code display_name") | {"sort": Kind.INT, "enabled": Kind.BOOL})
        ),
        "categories": ListOf(
            Struct(
                _texts("id icon")
                | {"builtin": Kind.BOOL, "sort": Kind.INT}
                | {"title": _TEXT_MAP, "description": _TEXT_MAP}
            )
        ),
        "nav": ListOf(Kind.STRING),
        "pages": ListOf(
            Struct(_texts("category_id") | {"items": ListOf(Struct(_texts("id type")))})
        ),
        **{name: ListOf(Kind.ANY) for name in ("tags", "topic_lists", "topics", "recommends")},
    }
)
CATALOG: Final = Struct(
    _texts("schema_version source_id apps_filter_digest")
    | {"taxonomy_last_modify_time": Kind.INT, "apps_last_modify_time": Kind.INT}
)
_ITEM: Final = Struct(
    _texts("app_id name title version icon featured_image cfg_type olares_version_constraint")
    | {name: ListOf(Kind.STRING) for name in ("categories", "categories_v2", "tags", "app_labels")}
    | {"last_modify_time": Kind.INT, "updated_at": Kind.INT}
)
LISTING: Final = Struct(
    {
        "items": ListOf(_ITEM),
        "removed": ListOf(Kind.STRING),
        "has_more": Kind.BOOL,
        "max_last_modify_time": Kind.INT,
        "total": Kind.INT,
        "page": Kind.INT,
        "page_size": Kind.INT,
    }
)


def envelope(data: Struct) -> Struct:
    """Return the type of a v2 answer around its data."""
    return Struct({"code": Kind.INT, "msg": Kind.STRING, "data": data})
