"""Prepared answers: what each kind of device is offered, and the hash over it."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.market import (
    NEW,
    OLD,
    PNG,
    Clock,
    MemoryStore,
    build_archive,
    build_candidate,
    hands,
)

from olares_apps.errors import MarketError
from olares_apps.market import canonical
from olares_apps.market.agreement import NINE_DIGITS, faults_of
from olares_apps.market.candidates import Candidate
from olares_apps.market.catalogue import ANY, NONE, view
from olares_apps.market.commit import read_state
from olares_apps.market.prepare import Prepared, prepare
from olares_apps.market.publish import publish
from olares_apps.market.records import Revision, Source


def _market(*candidates: Candidate, clock: Clock | None = None, **more: Any) -> Prepared:
    """Publish candidates one by one and return the last revision with its answers."""
    store = MemoryStore()
    for candidate in candidates:
        publish(store, [candidate], publisher="t", hands=hands(clock or Clock()), **more)
    revision = read_state(store).revision
    assert revision is not None
    return prepare(revision)


def _answer(prepared: Prepared, path: str) -> Any:
    return json.loads(prepared.answers[path])


def _hashes(prepared: Prepared) -> dict[str, str]:
    hashes = {name: _answer(prepared, f"{name}/hash.json")["hash"] for name in (OLD, NEW, NONE)}
    return hashes | {ANY: _answer(prepared, f"{ANY}/catalog.json")["apps_filter_digest"]}


def test_each_generation_is_offered_its_own_archive() -> None:
    prepared = _market(
        build_candidate("demoalpha"), build_candidate("demobravo", generations=(OLD,))
    )
    listed = {
        name: {
            app["name"]: app["version"] for app in _answer(prepared, path)["data"]["apps"].values()
        }
        for name, path in ((n, f"{n}/info.json") for n in (OLD, NEW, NONE))
    }
    assert listed == {
        OLD: {"demoalpha": "1.0.0", "demobravo": "1.0.0"},
        NEW: {"demoalpha": "1.0.1"},
        NONE: {},
    }
    anybody = {
        item["name"]: (item["version"], item["olares_version_constraint"])
        for item in _answer(prepared, f"{ANY}/applications.json")["items"]
    }
    assert anybody == {
        "demoalpha": ("1.0.1", ">=1.12.6-0"),
        "demobravo": ("1.0.0", ">=1.12.3-0,<1.12.6"),
    }


def test_apps_are_keyed_by_their_id_and_carry_it_inside() -> None:
    apps = _answer(_market(build_candidate("demoalpha")), f"{OLD}/info.json")["data"]["apps"]
    assert {key: entry["id"] for key, entry in apps.items()} == {"4d6544d7": "4d6544d7"}


def test_the_hash_is_the_same_in_every_place_and_differs_between_generations() -> None:
    prepared = _market(build_candidate("demoalpha"))
    for name in (OLD, NEW):
        digest = _answer(prepared, f"{name}/hash.json")["hash"]
        assert _answer(prepared, f"{name}/info.json")["hash"] == digest
        assert _answer(prepared, f"{name}/catalog.json")["apps_filter_digest"] == digest
    hashes = _hashes(prepared)
    assert len({hashes[name] for name in (OLD, NEW, NONE)}) == 3
    assert hashes[ANY] == hashes[NEW]


def test_the_hash_does_not_depend_on_clock_publisher_note_or_rebuild() -> None:
    alpha, bravo = build_candidate("demoalpha"), build_candidate("demobravo")
    first = _market(alpha, bravo)
    later = _market(alpha, bravo, clock=Clock(1_900_000_000 * 10**9), note="other words")
    assert _hashes(first) == _hashes(later)
    assert first.identity != later.identity
    assert prepare(first.revision).answers == first.answers
    again = Revision.decode(first.data, "revision")
    assert prepare(again).identity == first.identity


CHANGES = {
    "description": {"description": "Other words."},
    "one byte of a template": {"image": "docker.io/example/server:b2"},
    "category": {"categories": ("AI", "Vision")},
    "icon address": {"spec": {"featuredImage": "https://market.example/f.png"}},
    "full description": {"spec": {"fullDescription": "Longer."}},
    "title": {"title": "Demo"},
    "size": {"spec": {"requiredMemory": "25Gi"}},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_hash_changes_with_any_input_of_an_app(change: dict[str, Any]) -> None:
    before = _hashes(_market(build_candidate("demoalpha")))
    after = _hashes(_market(build_candidate("demoalpha", **change)))
    assert before[NONE] == after[NONE]
    assert [name for name in (OLD, NEW, ANY) if before[name] == after[name]] == []


def test_the_hash_changes_with_icon_version_and_source_name() -> None:
    base = _hashes(_market(build_candidate("demoalpha", icon=PNG)))
    others = [
        _hashes(_market(build_candidate("demoalpha", icon=PNG + b"!"))),
        _hashes(_market(build_candidate("demoalpha", "1.0.1", icon=PNG))),
        _hashes(_market(build_candidate("demoalpha", icon=PNG), source=Source("x", "Other"))),
        _hashes(_market(build_candidate("demoalpha"))),
    ]
    assert all(other[OLD] != base[OLD] for other in others)
    assert len({other[OLD] for other in others}) == len(others)


def test_a_new_archive_for_one_generation_leaves_the_hash_of_the_other_alone() -> None:
    both = build_candidate("demoalpha")
    newer = Candidate("demoalpha", "demoalpha", [build_archive("demoalpha", "1.0.2", NEW)])
    before, after = _market(both), _market(both, newer)
    assert _hashes(before)[OLD] == _hashes(after)[OLD]
    assert _hashes(before)[NEW] != _hashes(after)[NEW]


def test_times_have_nine_digits_everywhere_and_v2_has_both_units() -> None:
    prepared = _market(build_candidate("demoalpha"))
    info = _answer(prepared, f"{OLD}/info.json")
    assert info["last_updated"] == "2026-05-21T09:00:01.123000000Z"
    assert all(NINE_DIGITS.fullmatch(text) for text in _stamps(info))
    item = _answer(prepared, f"{NEW}/applications.json")["items"][0]
    assert (item["last_modify_time"], item["updated_at"]) == (1_779_354_001_123, 1_779_354_001)


def _stamps(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("updated_at", "createdAt", "last_updated"):
                yield item
            yield from _stamps(item)


def test_times_rise_with_every_revision_whatever_a_clock_says() -> None:
    store, stamps = MemoryStore(), []
    for app, now in (("demoalpha", 5_000), ("demobravo", 1_000), ("democharlie", 5_000)):
        moment = now * 10**9
        publish(store, [build_candidate(app)], publisher="t", hands=hands(lambda m=moment: m))
        revision = read_state(store).revision
        assert revision is not None
        catalog = _answer(prepare(revision), f"{NEW}/catalog.json")
        stamps.append((revision.created, catalog["apps_last_modify_time"]))
    assert stamps == sorted(set(stamps))
    assert len({modified for _, modified in stamps}) == 3


def test_an_empty_market_has_maps_where_devices_want_maps() -> None:
    prepared = prepare(Revision(parent=None, created=0))
    assert faults_of(prepared, {}) == []
    data = _answer(prepared, f"{OLD}/info.json")["data"]
    assert {name: type(value) for name, value in data.items()} == {
        "apps": dict,
        "recommends": dict,
        "pages": dict,
        "topics": dict,
        "topic_lists": dict,
        "tags": dict,
        "tops": list,
        "latest": list,
    }
    assert _answer(prepared, f"{OLD}/hash.json")["hash"]


def test_every_category_of_an_app_has_a_tag_a_page_and_a_list_that_leads_to_the_app() -> None:
    prepared = _market(
        build_candidate("demoalpha", categories=("AI", "Long Context")),
        build_candidate("demobravo", categories=("AI",)),
    )
    data = _answer(prepared, f"{OLD}/info.json")["data"]
    assert data["pages"].keys() == data["tags"].keys() == {"All", "AI", "Long Context"}
    for category, expected in (("AI", ["demobravo", "demoalpha"]), ("Long Context", ["demoalpha"])):
        blocks = json.loads(data["pages"][category]["content"])
        topics = [block["id"] for block in blocks if block["type"] == "Topic"]
        shown = [
            data["topics"][app]["data"]["en-US"]["apps"]
            for topic in topics
            for app in data["topic_lists"][topic]["content"].split(",")
        ]
        assert shown == expected
        assert all(data["topics"][key]["_id"] == key for key in data["topics"])
        assert {"id": "Newest", "type": "Default Topic"} in blocks
        assert set(data["tags"][category]["title"]) == {"en-US", "zh-CN"}
    assert [data["tags"][name]["sort"] for name in ("All", "AI", "Long Context")] == [0, 10, 11]


def test_latest_and_tops_follow_the_time_of_publishing_with_ties_by_name() -> None:
    store = MemoryStore()
    publish(store, [build_candidate("demobravo", "1.1.0")], publisher="t", hands=hands(Clock()))
    later = hands(Clock(2 * 10**18))
    publish(
        store,
        [build_candidate("democharlie", "9.0.0"), build_candidate("demoalpha", "1.0.100")],
        publisher="t",
        hands=later,
    )
    revision = read_state(store).revision
    assert revision is not None
    data = _answer(prepare(revision), f"{OLD}/info.json")["data"]
    assert data["latest"] == ["demoalpha", "democharlie", "demobravo"]
    assert data["tops"] == [
        {"appId": name, "rank": rank} for rank, name in enumerate(data["latest"], start=1)
    ]


def test_the_newest_hundred_apps_have_a_rank() -> None:
    prepared = _market(build_candidate("demoalpha", generations=(OLD,)))
    (entry,) = prepared.revision.apps.values()
    apps = {
        f"demo{n}": replace(
            entry, id=f"{n:08x}", current={OLD: replace(entry.current[OLD], published=n)}
        )
        for n in range(130)
    }
    many = prepare(replace(prepared.revision, apps=apps))
    data = _answer(many, f"{OLD}/info.json")["data"]
    assert len(data["latest"]) == 130
    assert [(top["appId"], top["rank"]) for top in data["tops"]] == [
        (f"demo{129 - n}", n + 1) for n in range(100)
    ]


def test_a_long_category_features_its_newest_twelve_apps() -> None:
    store = MemoryStore()
    publish(
        store,
        [build_candidate(f"demo{index:02}", generations=(OLD,)) for index in range(15)],
        publisher="t",
        hands=hands(),
    )
    revision = read_state(store).revision
    assert revision is not None
    data = _answer(prepare(revision), f"{OLD}/info.json")["data"]
    assert len(data["topic_lists"]["Featured in AI"]["content"].split(",")) == 12
    assert len(data["latest"]) == 15


def test_the_taxonomy_lists_the_categories_and_names_the_source() -> None:
    source = Source("market.demo", "Demo market")
    prepared = _market(build_candidate("demoalpha", categories=("Vision", "AI")), source=source)
    taxonomy = _answer(prepared, f"{NEW}/taxonomy.json")
    assert taxonomy["nav"] == ["AI", "Vision"]
    assert [page["category_id"] for page in taxonomy["pages"]] == ["AI", "Vision"]
    assert taxonomy["source"]["source_id"] == "market.demo"
    assert taxonomy["source"]["display_name"]["en-US"] == "Demo market"
    assert taxonomy["source"]["is_official"] is False


def test_the_publisher_notices_answers_that_disagree() -> None:
    prepared = _market(build_candidate("demoalpha"))
    details = {}
    for name, path, change in (
        ("hash", f"{OLD}/hash.json", {"hash": "other"}),
        ("time", f"{OLD}/info.json", {"last_updated": "2026-05-21T09:00:01.123Z"}),
        ("list", f"{NEW}/info.json", {"data": {"apps": {}}}),
        ("digest", f"{NEW}/catalog.json", {"apps_filter_digest": "other"}),
    ):
        wrong = canonical.encode(_answer(prepared, path) | change)
        faults = faults_of(replace(prepared, answers={**prepared.answers, path: wrong}), details)
        assert faults, name
    assert faults_of(prepared, details) == []


def test_nothing_is_published_that_a_device_would_not_take() -> None:
    archive = build_archive("demoalpha")
    for detail, problem in (
        (archive.detail | {"title": {"en-US": "T"}}, "title is dropped: object"),
        (archive.detail | {"description": "a\0b"}, "holds a NUL character"),
        (archive.detail | {"version": "1.0.9"}, "version is '1.0.9', expected '1.0.0'"),
        (archive.detail | {"chartName": "demoalpha-1.0.9.tgz"}, "chartName is"),
        (archive.detail | {"versionHistory": [{"version": "1.0.9"}]}, "versionHistory"),
        (archive.detail | {"appLabels": ["suspend"]}, "carries the label suspend"),
    ):
        store = MemoryStore()
        wrong = Candidate("demoalpha", "demoalpha", [replace(archive, detail=detail)])
        with pytest.raises(MarketError, match="devices would not take") as raised:
            publish(store, [wrong], publisher="t", hands=hands())
        assert problem in raised.value.message
        assert (store.head, store.objects) == (None, {})


NAMES = st.lists(
    st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True), min_size=1, max_size=3, unique=True
)
CATEGORIES = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12), max_size=3
)


@given(NAMES, CATEGORIES)
def test_any_names_and_categories_give_answers_that_devices_take(
    names: list[str], categories: list[str]
) -> None:
    candidates = [
        build_candidate(name, generations=(OLD,), categories=tuple(categories)) for name in names
    ]
    prepared = _market(*candidates)
    assert faults_of(prepared, {}) == []
    assert len(view(prepared.revision, OLD).offers) == len(names)
