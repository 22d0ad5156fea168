"""Answers: every route as devices and browsers ask it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.market import (
    OLD,
    PNG,
    MemoryStore,
    build_candidate,
    hands,
)

from olares_apps.market import canonical
from olares_apps.market.answers import MAX_BODY_BYTES, MAX_IDS, Answer, Answers
from olares_apps.market.candidates import Candidate
from olares_apps.market.conformance import (
    decode_applications,
    decode_catalog,
    decode_details,
    decode_hash,
    decode_info,
    decode_taxonomy,
)
from olares_apps.market.publish import publish
from olares_apps.render.archive import unpack

HASH, INFO = "/api/v1/appstore/hash", "/api/v1/appstore/info"
DETAILS = "/api/v1/applications/info"
CHART = "/api/v1/applications/demoalpha/chart"
ALPHA, BRAVO = "4d6544d7", "13a24119"


def _store() -> MemoryStore:
    store = MemoryStore()
    first = build_candidate("demoalpha", "1.0.0", icon=PNG)
    publish(
        store,
        [first, build_candidate("demobravo", generations=(OLD,))],
        publisher="t",
        hands=hands(),
    )
    publish(
        store, [build_candidate("demoalpha", "1.0.2", image="b2")], publisher="t", hands=hands()
    )
    return store


STORE = _store()
ANSWERS = Answers(STORE)


def _get(path: str, **query: str) -> Answer:
    return ANSWERS.respond("GET", path, query)


def _post(body: Any) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ANSWERS.respond("POST", DETAILS, {}, data)


@pytest.mark.parametrize(
    ("version", "echoed", "offered"),
    [
        ("1.12.3", "1.12.3", "1.0.2"),
        ("1.12.5", "1.12.5", "1.0.2"),
        ("1.12.6-20260801", "1.12.6-20260801", "1.0.3"),
        ("1.12.6", "1.12.6", "1.0.3"),
        ("1.12.7", "1.12.7", "1.0.3"),
        ("2.0.0", "2.0.0", "1.0.3"),
        ("", "1.12.3", "1.0.2"),
        ("abc", "1.12.3", "1.0.2"),
        ("1.12", "1.12.3", "1.0.2"),
        (None, "1.12.3", "1.0.2"),
        ("1.11.0", "1.11.0", None),
    ],
)
def test_a_device_gets_the_answers_of_its_generation_and_its_version_back(
    version: str | None, echoed: str, offered: str | None
) -> None:
    query = {} if version is None else {"version": version}
    change, faults = decode_hash(_get(HASH, **query).body)
    info, more = decode_info(_get(INFO, **query).body)
    details, _ = decode_details(_post({"app_ids": [ALPHA], **query}).body, [])
    assert faults + more == []
    assert (change.version, info.version) == (echoed, echoed)
    assert change.hash == info.hash
    assert (ALPHA in info.ids) is (offered is not None)
    assert [row.version for row in details.apps.values()] == ([offered] if offered else [])
    assert json.loads(_post({"app_ids": [], **query}).body)["version"] == echoed


def test_every_answer_carries_what_devices_and_browsers_need() -> None:
    for answer in (_get(HASH), _get(INFO), _get("/api/v2/catalog"), _post({"app_ids": []})):
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["content-length"] == str(len(answer.body))
        assert answer.headers["etag"] == f'"{canonical.digest(answer.body)}"'


@pytest.mark.parametrize("prefix", ["/api/v1", "/api/v2"])
@pytest.mark.parametrize("version", ["1.0.0", "1.0.1", "1.0.2", "1.0.3"])
def test_every_archive_ever_published_is_served_by_its_file_name(prefix: str, version: str) -> None:
    file = f"demoalpha-{version}.tgz"
    answer = _get(f"{prefix}/applications/demoalpha/chart", fileName=file, version="other")
    assert answer.status == 200
    assert answer.body[:2] == b"\x1f\x8b"
    assert f'version: "{version}"'.encode() in unpack(answer.body).files["Chart.yaml"]
    assert answer.content_type == "application/gzip"
    assert "content-encoding" not in answer.headers
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-disposition"] == f'attachment; filename="{file}"'
    assert answer.headers["content-length"] == str(len(answer.body))


def test_a_chart_is_found_by_version_when_no_file_is_named() -> None:
    assert _get(CHART, version="1.0.2").status == 200


@pytest.mark.parametrize(
    ("app", "file"),
    [
        ("demoalpha", "demoalpha-9.9.9.tgz"),
        ("demoalpha", "demobravo-1.0.0.tgz"),
        ("demobravo", "demoalpha-1.0.0.tgz"),
        ("demoalpha", "../../head.json"),
        ("demozulu", "demozulu-1.0.0.tgz"),
        ("demoalpha", ""),
    ],
)
def test_an_unknown_chart_is_a_404_in_json(app: str, file: str) -> None:
    answer = _get(f"/api/v1/applications/{app}/chart", fileName=file)
    assert (answer.status, answer.content_type) == (404, "application/json")
    assert json.loads(answer.body)["error"] == "chart not found"
    assert answer.headers["access-control-allow-origin"] == "*"


def test_details_come_as_an_object_by_id_and_unknown_ids_are_told() -> None:
    answer = _post({"app_ids": [ALPHA, BRAVO, "ffffffff", ALPHA], "version": "1.12.5"})
    details, faults = decode_details(answer.body, [ALPHA, BRAVO, "ffffffff"])
    assert faults == []
    assert details.apps.keys() == {ALPHA, BRAVO}
    assert details.not_found == ("ffffffff",)
    newer = _post({"app_ids": [ALPHA, BRAVO], "version": "1.12.6"})
    assert json.loads(newer.body)["not_found"] == [BRAVO]


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"[" * 5000, 400, "no JSON"),
        ([], 400, "no object"),
        ({}, 400, "app_ids is no list of strings"),
        ({"app_ids": "x"}, 400, "app_ids is no list of strings"),
        ({"app_ids": [5]}, 400, "app_ids is no list of strings"),
        ({"app_ids": [], "version": 1.12}, 400, "version is no string"),
        ({"app_ids": ["x"] * (MAX_IDS + 1)}, 400, "app_ids has 101 ids, limit 100"),
        (b" " * (MAX_BODY_BYTES + 1), 413, "limit 65536"),
    ],
)
def test_a_body_of_another_shape_is_refused_in_json(body: Any, status: int, problem: str) -> None:
    answer = _post(body)
    assert (answer.status, answer.content_type) == (status, "application/json")
    assert problem in json.loads(answer.body)["message"]
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_hundred_ids_are_answered() -> None:
    ids = [ALPHA, *(f"{n:08x}" for n in range(MAX_IDS - 1))]
    assert len(json.loads(_post({"app_ids": ids}).body)["not_found"]) == MAX_IDS - 1


@pytest.mark.parametrize(
    ("query", "apps"),
    [
        ({}, {"demoalpha": "1.0.3", "demobravo": "1.0.0"}),
        ({"version": "1.12.7"}, {"demoalpha": "1.0.3"}),
        ({"olares_version": "1.12.5"}, {"demoalpha": "1.0.2", "demobravo": "1.0.0"}),
        ({"version": "1.11.0"}, {}),
        ({"version": "abc"}, {"demoalpha": "1.0.3", "demobravo": "1.0.0"}),
    ],
)
def test_the_v2_list_is_filtered_when_the_device_tells_its_version(
    query: dict[str, str], apps: dict[str, str]
) -> None:
    for path in ("/api/v2/applications", "/api/v2/browse/applications"):
        listing, faults = decode_applications(_get(path, **query).body)
        assert faults == []
        assert {item["name"]: item["version"] for item in listing.items} == apps
        assert listing.total == len(apps)
    catalog, faults = decode_catalog(_get("/api/v2/catalog", **query).body)
    _, more = decode_taxonomy(_get("/api/v2/taxonomy", **query).body)
    assert faults + more == []
    assert catalog.digest


def test_pages_of_the_v2_list_add_up_to_the_whole() -> None:
    whole, _ = decode_applications(_get("/api/v2/applications").body)
    pages = [
        decode_applications(_get("/api/v2/applications", page=str(n), size="1").body)[0]
        for n in (1, 2, 3)
    ]
    assert pages[0].items + pages[1].items == whole.items
    assert [page.has_more for page in pages] == [True, False, False]
    assert pages[2].items == ()
    assert {page.total for page in pages} == {2}
    for size in ("0", "-1", "x", ""):
        found, _ = decode_applications(_get("/api/v2/applications", size=size).body)
        assert found.items == whole.items


def test_the_catalog_echoes_the_source_id_that_was_asked_for() -> None:
    assert decode_catalog(_get("/api/v2/catalog", source_id='my"one').body)[0].source_id == 'my"one'
    assert decode_catalog(_get("/api/v2/catalog").body)[0].source_id == "market.olapps"
    long = _get("/api/v2/catalog", source_id="x" * 5000)
    assert decode_catalog(long.body)[0].source_id == "market.olapps"


def test_the_v2_digest_and_times_move_only_with_a_publish() -> None:
    store = _store()
    answers = Answers(store)
    before, _ = decode_catalog(answers.respond("GET", "/api/v2/catalog").body)
    again, _ = decode_catalog(answers.respond("GET", "/api/v2/catalog").body)
    assert again == before
    publish(store, [build_candidate("democharlie")], publisher="t", hands=hands())
    after, _ = decode_catalog(answers.respond("GET", "/api/v2/catalog").body)
    assert after.digest != before.digest
    assert after.apps_time > before.apps_time


def test_head_gives_the_headers_of_get_without_the_body() -> None:
    for path, query in ((HASH, {}), (CHART, {"version": "1.0.2"}), ("/icons/demoalpha.png", {})):
        got, head = (ANSWERS.respond(method, path, query) for method in ("GET", "HEAD"))
        assert head.body == b""
        assert (head.status, head.headers) == (got.status, got.headers)


def test_a_known_etag_is_answered_with_304_and_no_body() -> None:
    etag = _get(CHART, version="1.0.2").headers["etag"]
    for sent in (etag, f'"other", W/{etag}', "*"):
        answer = ANSWERS.respond("GET", CHART, {"version": "1.0.2"}, if_none_match=sent)
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["etag"] == etag
        assert "content-length" not in answer.headers
    assert ANSWERS.respond("GET", CHART, {"version": "1.0.0"}, if_none_match=etag).status == 200


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", HASH, "GET, HEAD"),
        ("GET", DETAILS, "POST"),
        ("PUT", CHART, "GET, HEAD"),
        ("DELETE", "/icons/demoalpha.png", "GET, HEAD"),
    ],
)
def test_another_method_is_a_405_that_names_the_right_one(
    method: str, path: str, allow: str
) -> None:
    answer = ANSWERS.respond(method, path)
    assert (answer.status, answer.headers["allow"]) == (405, allow)
    assert answer.content_type == "application/json"
    assert answer.headers["access-control-allow-origin"] == "*"


def test_preflight_is_answered_on_every_path() -> None:
    for path in (HASH, DETAILS, CHART, "/nowhere"):
        answer = ANSWERS.respond("OPTIONS", path)
        assert answer.status == 204
        assert "POST" in answer.headers["access-control-allow-methods"]
        assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/api/v1/appstore/hash/",
        "/api/v3/catalog",
        "/icons/demoalpha.gif",
        "/icons/x.png",
    ],
)
def test_an_unknown_path_is_a_404_in_json_and_never_a_page(path: str) -> None:
    answer = _get(path)
    assert (answer.status, answer.content_type) == (404, "application/json")


def test_an_icon_is_served_with_its_type() -> None:
    answer = _get("/icons/demoalpha.png")
    assert (answer.status, answer.body, answer.content_type) == (200, PNG, "image/png")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_health_tells_what_is_live() -> None:
    health = json.loads(_get("/health").body)
    assert (health["status"], health["apps"]) == ("ok", 2)
    assert health["updated"].endswith("000000Z")


def test_a_market_without_a_publish_says_so() -> None:
    answers = Answers(MemoryStore())
    for path in (HASH, INFO, "/api/v2/catalog", "/api/v2/applications", CHART):
        answer = answers.respond("GET", path)
        assert (answer.status, answer.content_type) == (503, "application/json")
    assert answers.respond("POST", DETAILS, {}, b'{"app_ids":[]}').status == 503
    assert json.loads(answers.respond("GET", "/health").body) == {"apps": 0, "status": "empty"}
    assert answers.respond("GET", "/").status == 503


def test_a_damaged_store_is_a_500_that_names_the_object() -> None:
    store = _store()
    for key in list(store.objects):
        if key.endswith(f"{OLD}/info.json"):
            store.objects[key] = b"{}"
    answer = Answers(store).respond("GET", INFO, {"version": "1.12.5"})
    assert answer.status == 500
    assert f"{OLD}/info.json is damaged" in json.loads(answer.body)["message"]
    assert Answers(store).respond("GET", INFO, {"version": "1.12.6"}).status == 200
    store.head = b"{"
    assert "head" in json.loads(Answers(store).respond("GET", HASH).body)["message"]


def test_one_revision_is_read_once_for_many_requests() -> None:
    store = _store()
    answers = Answers(store)
    for _ in range(3):
        answers.respond("GET", INFO, {"version": "1.12.5"})
        answers.respond("POST", DETAILS, {}, json.dumps({"app_ids": [ALPHA]}).encode())
    store.reads.clear()
    answers.respond("GET", INFO, {"version": "1.12.5"})
    answers.respond("POST", DETAILS, {}, json.dumps({"app_ids": [ALPHA]}).encode())
    assert store.reads == ["head.json", "head.json"]


def test_a_market_without_pages_has_none_to_show() -> None:
    for path in ("/", "/leaderboard", "/apps/demoalpha"):
        answer = ANSWERS.respond("GET", path)
        assert (answer.status, answer.content_type) == (404, "text/html; charset=utf-8")
        assert answer.headers["content-security-policy"] == "default-src 'none'"
        assert b'<a href="/">' in answer.body
    picture = ANSWERS.respond("GET", "/share/demoalpha.png")
    assert (picture.status, picture.content_type) == (404, "application/json")


def test_hostile_texts_arrive_unchanged_through_every_answer() -> None:
    hostile = '`${x}` </script> \\ \u2028 " {{ x }} 🦙'
    candidate = build_candidate("demoalpha", description=hostile, categories=(hostile,))
    store = MemoryStore()
    publish(
        store,
        [Candidate("demoalpha", "demoalpha", candidate.archives)],
        publisher="t",
        hands=hands(),
    )
    answers = Answers(store)
    info = json.loads(answers.respond("GET", INFO, {"version": "1.12.6"}).body)["data"]
    assert info["apps"][ALPHA]["description"] == hostile
    assert hostile in info["pages"]
    assert json.loads(info["pages"][hostile]["content"])[0]["id"] == f"Featured in {hostile}"
    body = json.dumps({"app_ids": [ALPHA], "version": "1.12.6"}).encode()
    detail = json.loads(answers.respond("POST", DETAILS, {}, body).body)["apps"][ALPHA]
    assert detail["description"] == hostile


@given(
    st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "PATCH", ""]),
    st.sampled_from(
        [HASH, INFO, DETAILS, CHART, "/api/v2/catalog", "/api/v2/applications", "/icons/a.png"]
    )
    | st.text(max_size=40),
    st.dictionaries(
        st.sampled_from(["version", "size", "page", "source_id", "fileName", "olares_version"]),
        st.text(max_size=20),
    ),
    st.binary(max_size=60) | st.from_regex(rb'\{"app_ids":\[("[a-f0-9]{0,9}",?)*\]\}'),
)
def test_no_request_ever_fails(method: str, path: str, query: dict[str, str], body: bytes) -> None:
    answer = ANSWERS.respond(method, path, query, body)
    assert answer.status in (200, 204, 400, 404, 405)
    if answer.status == 200 and method != "HEAD" and answer.content_type == "application/json":
        json.loads(answer.body)
