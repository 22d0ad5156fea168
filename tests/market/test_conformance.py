"""The decoder takes what a device takes, and says what a device loses by the rest."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olares_apps.market import gojson
from olares_apps.market.conformance import (
    decode_applications,
    decode_catalog,
    decode_details,
    decode_hash,
    decode_info,
    decode_taxonomy,
)
from olares_apps.market.faults import Loss
from olares_apps.market.gojson import Kind, ListOf, MapOf, Struct

ID = "4d6544d7"


def _info(**data: Any) -> dict[str, Any]:
    return {
        "version": "1.12.5",
        "hash": "a",
        "last_updated": "2026-05-21T09:00:00.000000000Z",
        "data": {"apps": {ID: {"id": ID}}} | data,
    }


def _bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    "answer",
    [
        _info(),
        _info(pages=None, topics={}, tags={"AI": None}, tops=None, latest=[]),
        _info() | {"last_updated": None, "stats": None, "unknown": [1.5]},
        _info() | {"last_updated": "2026-01-01T00:00:00Z"},
        _info() | {"last_updated": "2026-01-01T00:00:00.123+02:00"},
        _info(tags={"AI": {"sort": 10, "title": {"en-US": 5}}}),
        {"VERSION": "1", "Hash": "a", "data": {"Apps": {ID: {"id": ID}}}},
    ],
)
def test_info_tolerates_what_go_tolerates(answer: dict[str, Any]) -> None:
    info, faults = decode_info(_bytes(answer))
    assert faults == []
    assert info.ids == (ID,)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (_info() | {"version": 1.12}, "/info: version is 1.12, expected a string"),
        (_info() | {"version": ""}, "/info: version is missing or empty"),
        (_info() | {"hash": 5}, "/info: hash is 5, expected a string"),
        ({"version": "1"}, "/info: hash is missing or empty"),
        (_info() | {"last_updated": ""}, '/info: last_updated is "", expected an RFC 3339 time'),
        (_info() | {"last_updated": 1779354000}, "last_updated is 1779354000, expected an RFC"),
        (_info() | {"last_updated": "2026-01-01 00:00:00"}, "expected an RFC 3339 time"),
        (_info() | {"last_updated": "2026-05-21"}, "expected an RFC 3339 time"),
        (_info() | {"last_updated": "2026-13-01T00:00:00Z"}, "expected an RFC 3339 time"),
        (_info() | {"data": []}, "/info: data is [], expected an object"),
        (_info() | {"stats": []}, "/info: stats is [], expected an object"),
        (_info(apps=[]), "/info: data.apps is [], expected an object"),
        (_info(recommends=[]), "data.recommends is [], expected an object"),
        (_info(pages=[]), "data.pages is [], expected an object"),
        (_info(topics=[]), "data.topics is [], expected an object"),
        (_info(topic_lists=[]), "data.topic_lists is [], expected an object"),
        (_info(tags=[]), "data.tags is [], expected an object"),
        (_info(tops={}), "data.tops is {}, expected a list"),
        (_info(latest={}), "data.latest is {}, expected a list"),
        (_info(latest=["a", 5]), "data.latest[1] is 5, expected a string"),
        (_info(pages={"AI": {"content": []}}), "data.pages.AI.content is [], expected a string"),
        (_info(tags={"AI": {"sort": "10"}}), 'tags.AI.sort is "10", expected a whole number'),
        (_info(tags={"AI": {"sort": 1.5}}), "tags.AI.sort is 1.5, expected a whole number"),
        (_info(tags={"AI": {"sort": 1e3}}), "tags.AI.sort is 1000.0, expected a whole number"),
        (_info(tops=[{"rank": 2**63}]), "tops[0].rank is 9223372036854775808, expected a whole"),
        (_info(topic_lists={"x": {"content": ["a"]}}), 'content is ["a"], expected a string'),
        (_info(topics={"x": {"data": {"en-US": {"apps": ["a"]}}}}), "en-US.apps is"),
        (_info(topics={"x": {"data": {"en-US": {"isdelete": 0}}}}), "isdelete is 0, expected true"),
        (_info(recommends={"x": {"updated_at": 5}}), "updated_at is 5, expected a string"),
    ],
)
def test_one_wrong_value_in_info_loses_the_source(answer: dict[str, Any], problem: str) -> None:
    _, faults = decode_info(_bytes(answer))
    assert [fault for fault in faults if fault.loss is Loss.SOURCE]
    assert problem in "\n".join(map(str, faults))


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        ({"id": "demoalpha"}, "demoalpha"),
        ({"id": 5}, "5"),
        ({}, "dict"),
        ("text", "str"),
        (None, "NoneType"),
    ],
)
def test_an_entry_whose_id_is_not_its_key_is_skipped_and_named(entry: Any, shown: str) -> None:
    info, faults = decode_info(_bytes(_info(apps={ID: {"id": ID}, "x": entry})))
    assert info.ids == (ID,)
    assert [str(fault) for fault in faults if fault.loss is Loss.APP] == [
        f"/info: data.apps.x has the id {shown}: key must equal id, the entry is skipped"
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>", "is not JSON"),
        (b'{"hash":"a"} trailing', "is not JSON"),
        (b'{"hash":NaN}', "NaN is no JSON number"),
        (b'{"hash":1}', "/hash: hash is 1, expected a string"),
        (b'{"hash":"a","last_updated":{}}', "/hash: last_updated is {}, expected a string"),
        (b"[]", "the answer is [], expected an object"),
    ],
)
def test_a_wrong_hash_answer_stops_the_cycle(body: bytes, problem: str) -> None:
    _, faults = decode_hash(body)
    assert problem in "\n".join(map(str, faults))
    assert {fault.loss for fault in faults} == {Loss.SOURCE}


def test_a_hash_answer_tolerates_null_and_absence() -> None:
    change, faults = decode_hash(b'{"hash":null}')
    assert faults == []
    assert (change.hash, change.last_updated) == ("", "")


def test_a_key_that_stands_twice_is_reported_and_the_last_one_counts() -> None:
    change, faults = decode_hash(b'{"hash":"a","hash":"b"}')
    assert change.hash == "b"
    assert [str(fault) for fault in faults] == ["/hash holds the key 'hash' twice"]


def _details(**entry: Any) -> bytes:
    good = {"id": ID, "name": "demoalpha", "version": "1.0.0", "cfgType": "app"}
    neighbour = {"id": "13a24119", "name": "demobravo", "version": "1.0.0"}
    return _bytes({"apps": {ID: good | entry, "13a24119": neighbour}, "not_found": []})


@pytest.mark.parametrize(
    ("entry", "loss", "problem", "left"),
    [
        ({"version": ""}, Loss.APP, "version is missing, empty", {"13a24119"}),
        ({"version": 1.0}, Loss.APP, "version is missing, empty", {"13a24119"}),
        ({"version": "1.0.0-rc.1+build5"}, Loss.BATCH, "version has 17 characters, limit", set()),
        ({"name": "x" * 101}, Loss.BATCH, "name has 101 characters, limit 100", set()),
        ({"description": "a\0b"}, Loss.BATCH, "holds a NUL", set()),
        ({"i18n": {"en-US": {"a\0": "b"}}}, Loss.BATCH, "holds a NUL", set()),
        ({"appLabels": ["Suspend"]}, Loss.APP, "label Suspend and is skipped", {"13a24119"}),
        ({"appLabels": ["remove"]}, Loss.APP, "label remove and is skipped", {"13a24119"}),
        ({"name": None}, Loss.APP, "name is missing: the chart's address", {ID, "13a24119"}),
        ({"id": "other"}, Loss.APP, f"id is other, listed as {ID}", {ID, "13a24119"}),
        ({"title": {"en-US": "T"}}, Loss.FIELD, "title is dropped: object", {ID, "13a24119"}),
        ({"requiredMemory": 5}, Loss.FIELD, "is dropped: number", {ID, "13a24119"}),
        ({"categories": "AI"}, Loss.FIELD, "expected a list of strings", {ID, "13a24119"}),
        ({"categories": ["AI", 5]}, Loss.FIELD, "reads it as empty", {ID, "13a24119"}),
        ({"entrances": [5]}, Loss.FIELD, "expected a list of objects", {ID, "13a24119"}),
        ({"options": []}, Loss.FIELD, "expected an object", {ID, "13a24119"}),
        ({"onlyAdmin": "yes"}, Loss.FIELD, "expected true or false", {ID, "13a24119"}),
        ({"rating": "5"}, Loss.FIELD, "expected a number", {ID, "13a24119"}),
        ({"fullDescription": {"en-US": 5}}, Loss.FIELD, "object of strings", {ID, "13a24119"}),
    ],
)
def test_a_bad_detail_costs_a_field_an_app_or_the_batch(
    entry: dict[str, Any], loss: Loss, problem: str, left: set[str]
) -> None:
    details, faults = decode_details(_details(**entry), [ID, "13a24119"])
    assert details.apps.keys() == left
    assert [fault for fault in faults if fault.loss is loss and problem in str(fault)]


def test_a_dropped_field_is_not_in_the_row_and_the_rest_is() -> None:
    details, _ = decode_details(_details(title={"en-US": "T"}, categories=["AI", 5]), [ID])
    assert details.apps[ID].fields["title"] is None
    assert details.apps[ID].fields["categories"] == ["AI", ""]
    assert details.apps[ID].version == "1.0.0"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"nope", "is not JSON"),
        (b"[]", "apps is NoneType"),
        (b'{"apps":[]}', "apps is list, expected an object keyed by id"),
    ],
)
def test_a_batch_of_another_shape_gives_no_app(body: bytes, problem: str) -> None:
    details, faults = decode_details(body, [ID])
    assert details.apps == {}
    assert problem in str(faults[0])
    assert faults[0].loss is Loss.BATCH


def test_an_id_that_is_neither_found_nor_denied_is_named() -> None:
    details, faults = decode_details(b'{"apps":{},"not_found":["a"]}', ["a", "b"])
    assert details.not_found == ("a",)
    assert [fault.app for fault in faults] == ["b"]


@pytest.mark.parametrize(
    ("decode", "data", "problem"),
    [
        (decode_catalog, {"apps_filter_digest": ""}, "apps_filter_digest is empty"),
        (
            decode_catalog,
            {"apps_filter_digest": "a", "apps_last_modify_time": "2026-01-01T00:00:00Z"},
            "apps_last_modify_time is",
        ),
        (decode_taxonomy, {"nav": {}}, "nav is {}, expected a list"),
        (decode_taxonomy, {"categories": [{"sort": "1"}]}, 'sort is "1", expected a whole'),
        (decode_applications, {"items": {}}, "items is {}, expected a list"),
        (
            decode_applications,
            {"items": [{"updated_at": "2026-01-01T00:00:00Z"}]},
            "updated_at is",
        ),
        (decode_applications, {"items": [{"last_modify_time": 1.5}]}, "is 1.5, expected a whole"),
    ],
)
def test_a_wrong_type_in_a_v2_answer_loses_the_source(
    decode: Any, data: dict[str, Any], problem: str
) -> None:
    _, faults = decode(_bytes({"code": 0, "msg": "success", "data": data}))
    assert problem in "\n".join(map(str, faults))
    assert {fault.loss for fault in faults} == {Loss.SOURCE}


KINDS = st.recursive(
    st.sampled_from(list(Kind)),
    lambda inner: (
        st.builds(MapOf, inner)
        | st.builds(ListOf, inner)
        | st.builds(Struct, st.dictionaries(st.sampled_from(["a", "b"]), inner))
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "A"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, KINDS)
def test_decoding_never_fails_and_gives_the_type_that_was_asked_for(
    value: Any, kind: gojson.Type
) -> None:
    parsed, _ = gojson.parse(json.dumps(value).encode())
    decoded, _ = gojson.decode(parsed, kind)
    shapes = {ListOf: list, MapOf: dict, Struct: dict}
    if type(kind) in shapes:
        assert isinstance(decoded, shapes[type(kind)])
    elif kind in (Kind.STRING, Kind.INT, Kind.BOOL):
        assert type(decoded) is {Kind.STRING: str, Kind.INT: int, Kind.BOOL: bool}[kind]
