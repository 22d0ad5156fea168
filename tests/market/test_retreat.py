"""Rollback in both forms and remove: nothing that devices have seen changes its meaning."""

import json

import pytest
import yaml
from support.market import (
    NEW,
    OLD,
    PNG,
    MemoryStore,
    build_archive,
    build_candidate,
    hands,
)

from olares_apps.errors import ArchiveError, MarketError, UnknownName, UsageError, VersionRefused
from olares_apps.market.answers import Answers
from olares_apps.market.history import history, named, resolve, status
from olares_apps.market.plan import Action
from olares_apps.market.publish import publish
from olares_apps.market.repack import repack
from olares_apps.market.retreat import remove, republish, rollback
from olares_apps.market.verify import verify
from olares_apps.render.archive import unpack


def _publish(store: MemoryStore, app: str, version: str, **more: object) -> str:
    candidate = build_candidate(app, version, **({"image": version} | more))  # type: ignore[arg-type]
    report = publish(store, [candidate], publisher="t", hands=hands())
    assert report.revision
    return report.revision


def _live(store: MemoryStore) -> dict[str, str]:
    return {name: versions[OLD] for name, versions in status(store).live.items()}


def _hash(store: MemoryStore, version: str = "1.12.5") -> str:
    answer = Answers(store).respond("GET", "/api/v1/appstore/hash", {"version": version})
    found: str = json.loads(answer.body)["hash"]
    return found


@pytest.fixture
def store() -> MemoryStore:
    """Return a market of four revisions."""
    store = MemoryStore()
    _publish(store, "demoalpha", "1.0.0")
    _publish(store, "demoalpha", "1.0.2")
    _publish(store, "demoalpha", "1.0.4")
    _publish(store, "demobravo", "1.0.0")
    return store


def test_a_rollback_offers_exactly_what_was_offered_before(store: MemoryStore) -> None:
    moved = rollback(store, steps=2, publisher="t", hands=hands())
    assert _live(store) == {"demoalpha": "1.0.2"}
    assert status(store).removed == ["demobravo"]
    entries = list(history(store))
    assert entries[0].identity == moved.revision
    assert entries[0].revision.restores == entries[3].identity == moved.restores
    assert [change.app for change in moved.changes] == ["demoalpha", "demobravo"]
    assert verify(store).problems == []


def test_a_rollback_to_the_parent_of_one_publish_brings_its_hash_back() -> None:
    store = MemoryStore()
    _publish(store, "demoalpha", "1.0.0")
    before = _hash(store)
    _publish(store, "demoalpha", "1.0.2")
    rollback(store, publisher="t", hands=hands())
    assert _hash(store) == before


def test_two_rollbacks_of_one_step_go_back_two(store: MemoryStore) -> None:
    rollback(store, publisher="t", hands=hands())
    assert _live(store) == {"demoalpha": "1.0.4"}
    rollback(store, publisher="t", hands=hands())
    assert _live(store) == {"demoalpha": "1.0.2"}
    rollback(store, publisher="t", hands=hands())
    assert _live(store) == {"demoalpha": "1.0.0"}
    with pytest.raises(MarketError, match="has no revision 1 step back"):
        rollback(store, publisher="t", hands=hands())


def test_a_rollback_to_a_named_revision(store: MemoryStore) -> None:
    first = list(history(store))[-1].identity
    rollback(store, to=first[:8], publisher="t", hands=hands())
    assert _live(store) == {"demoalpha": "1.0.0"}
    with pytest.raises(UnknownName, match="unknown revision 'ffffffff'"):
        rollback(store, to="ffffffff", publisher="t", hands=hands())
    with pytest.raises(UsageError, match=f"'{first[:5]}' is too short for a revision"):
        rollback(store, to=first[:5], publisher="t", hands=hands())


def test_a_revision_that_may_be_two_is_not_chosen() -> None:
    names = [f"abcdef{digit}" + "0" * 57 for digit in "123"]
    assert named(names, "abcdef2") == names[1]
    with pytest.raises(UsageError, match="'abcdef' may be abcdef100000 or abcdef200000 or"):
        named(names, "abcdef")


def test_a_rollback_to_what_is_live_changes_nothing(store: MemoryStore) -> None:
    head = store.head
    live = next(history(store)).identity
    assert rollback(store, to=live, publisher="t", hands=hands()).changes == ()
    assert store.head == head


def test_archives_of_rolled_back_versions_are_still_served(store: MemoryStore) -> None:
    rollback(store, steps=3, publisher="t", hands=hands())
    for version in ("1.0.0", "1.0.2", "1.0.4"):
        query = {"fileName": f"demoalpha-{version}.tgz"}
        answer = Answers(store).respond("GET", "/api/v1/applications/demoalpha/chart", query)
        assert unpack(answer.body).root == "demoalpha"


def test_a_number_that_devices_have_seen_is_never_given_to_other_bytes(store: MemoryStore) -> None:
    rollback(store, steps=3, publisher="t", hands=hands())
    with pytest.raises(VersionRefused, match=r"1\.0\.4 is not greater than published 1\.0\.5"):
        _publish(store, "demoalpha", "1.0.4", image="fixed")
    with pytest.raises(VersionRefused, match=r"1\.0\.0 is not greater than published 1\.0\.1"):
        _publish(store, "demobravo", "1.0.0", image="fixed")
    _publish(store, "demoalpha", "1.0.6", image="fixed")
    assert _live(store) == {"demoalpha": "1.0.6"}


def test_republishing_gives_old_content_the_next_version(store: MemoryStore) -> None:
    first = list(history(store))[-1].revision.apps["demoalpha"]
    report = republish(store, steps=3, publisher="t", hands=hands())
    assert [(step.app, step.action) for step in report.plan.steps] == [("demoalpha", Action.UPDATE)]
    live = status(store).state.revision
    assert live
    now = live.apps["demoalpha"]
    assert {name: entry.version for name, entry in now.current.items()} == {
        OLD: "1.0.6",
        NEW: "1.0.7",
    }
    assert {name: entry.content for name, entry in now.current.items()} == {
        name: entry.content for name, entry in first.current.items()
    }
    assert _live(store)["demobravo"] == "1.0.0"
    assert verify(store).problems == []


def test_the_history_tells_a_republish_from_a_publish(store: MemoryStore) -> None:
    first = list(history(store))[-1].identity
    republish(store, to=first, publisher="t", hands=hands())
    newest, *older = history(store)
    assert (newest.revision.action, newest.revision.restores) == ("republish", first)
    assert {entry.revision.action for entry in older} == {"publish"}
    # It is a step of its own: going one back offers what stood before it.
    rollback(store, publisher="t", hands=hands())
    assert _live(store) == {"demoalpha": "1.0.4", "demobravo": "1.0.0"}


def test_a_republish_of_what_is_live_makes_no_revision(store: MemoryStore) -> None:
    head = store.head
    live = status(store).state.identity
    assert not republish(store, to=live, publisher="t", hands=hands()).changed
    assert store.head == head


def test_republishing_can_be_limited_to_named_apps(store: MemoryStore) -> None:
    _publish(store, "demobravo", "1.0.2")
    republish(store, steps=1, apps=["demobravo"], publisher="t", hands=hands())
    assert _live(store) == {"demoalpha": "1.0.4", "demobravo": "1.0.4"}
    with pytest.raises(UnknownName, match="unknown app 'demobravoo'") as raised:
        republish(store, apps=["demobravoo"], publisher="t", hands=hands())
    assert raised.value.suggestion == "demobravo"


def test_republishing_brings_a_removed_app_back(store: MemoryStore) -> None:
    remove(store, ["demobravo"], publisher="t", hands=hands())
    report = republish(store, publisher="t", hands=hands())
    assert [step.action for step in report.plan.steps] == [Action.NEW]
    assert _live(store) == {"demoalpha": "1.0.4", "demobravo": "1.0.2"}


def test_a_repacked_archive_differs_in_its_version_and_in_nothing_else() -> None:
    archive = build_archive("demoalpha", "1.0.2", spec={"developer": "version: 1.0.2"})
    packed = repack(archive.data, "demoalpha", OLD, "1.0.9")
    before, after = unpack(archive.data).files, unpack(packed.data).files
    assert packed.name == "demoalpha-1.0.9.tgz"
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"Chart.yaml", "OlaresManifest.yaml"}
    chart, manifest = (
        yaml.safe_load(after[name]) for name in ("Chart.yaml", "OlaresManifest.yaml")
    )
    assert (chart["version"], chart["appVersion"]) == ("1.0.9", "1.0.9")
    assert manifest["metadata"]["version"] == manifest["spec"]["versionName"] == "1.0.9"
    assert manifest["spec"]["developer"] == "version: 1.0.2"
    assert repack(archive.data, "demoalpha", OLD, "1.0.9").sha256 == packed.sha256


def test_a_version_name_of_its_own_stays_when_an_archive_is_repacked() -> None:
    archive = build_archive("demoalpha", "1.0.2", spec={"versionName": "June"})
    after = unpack(repack(archive.data, "demoalpha", OLD, "1.0.9").data).files
    assert yaml.safe_load(after["OlaresManifest.yaml"])["spec"]["versionName"] == "June"


def test_an_archive_that_cannot_be_repacked_safely_is_refused() -> None:
    with pytest.raises(ArchiveError, match="is not gzip data"):
        repack(b"<html>", "demoalpha", OLD, "1.0.9")


def test_a_removed_app_is_no_longer_listed_and_leaves_a_tombstone(store: MemoryStore) -> None:
    answers = Answers(store)
    before = _hash(store)
    moved = remove(store, ["demobravo"], publisher="t", hands=hands())
    assert [change.to_json() for change in moved.changes] == [
        {
            "app": "demobravo",
            "action": "remove",
            "before": {OLD: "1.0.0", NEW: "1.0.1"},
            "after": {},
        }
    ]
    assert _live(store) == {"demoalpha": "1.0.4"}
    assert _hash(store) != before
    listing = json.loads(answers.respond("GET", "/api/v2/applications").body)["data"]
    assert [item["name"] for item in listing["items"]] == ["demoalpha"]
    assert listing["removed"] == []
    body = b'{"app_ids":["13a24119"],"version":"1.12.5"}'
    details = json.loads(answers.respond("POST", "/api/v1/applications/info", {}, body).body)
    assert (details["apps"], details["not_found"]) == ({}, ["13a24119"])
    query = {"fileName": "demobravo-1.0.0.tgz"}
    assert answers.respond("GET", "/api/v1/applications/demobravo/chart", query).status == 200
    assert verify(store).problems == []


def test_removing_again_changes_nothing_and_an_unknown_app_is_named(store: MemoryStore) -> None:
    remove(store, ["demobravo"], publisher="t", hands=hands())
    head = store.head
    assert remove(store, ["demobravo"], publisher="t", hands=hands()).changes == ()
    with pytest.raises(UnknownName, match="unknown app 'demobrava'"):
        remove(store, ["demobrava"], publisher="t", hands=hands())
    assert store.head == head


def test_a_removed_app_comes_back_only_above_its_old_versions(store: MemoryStore) -> None:
    remove(store, ["demobravo"], publisher="t", hands=hands())
    with pytest.raises(VersionRefused, match=r"1\.0\.0 is not greater than published 1\.0\.1"):
        _publish(store, "demobravo", "1.0.0")
    _publish(store, "demobravo", "1.0.2")
    assert _live(store)["demobravo"] == "1.0.2"
    listing = json.loads(Answers(store).respond("GET", "/api/v2/applications").body)["data"]
    assert listing["removed"] == []


def test_a_rollback_brings_the_icon_of_that_time_back() -> None:
    store = MemoryStore()
    _publish(store, "demoalpha", "1.0.0", icon=PNG)
    _publish(store, "demoalpha", "1.0.2", icon=PNG + b"2")
    rollback(store, publisher="t", hands=hands())
    assert Answers(store).respond("GET", "/icons/demoalpha.png").body == PNG


def test_there_is_nothing_to_take_back_in_an_empty_market() -> None:
    for action in (
        lambda s: rollback(s, publisher="t", hands=hands()),
        lambda s: republish(s, publisher="t", hands=hands()),
        lambda s: remove(s, ["demoalpha"], publisher="t", hands=hands()),
    ):
        with pytest.raises(MarketError, match="holds nothing yet"):
            action(MemoryStore())


def test_the_history_tells_who_did_what(store: MemoryStore) -> None:
    shown = [entry.as_dict() for entry in history(store)]
    assert [len(entry["changes"]) for entry in shown] == [1] * 4  # type: ignore[arg-type]
    assert [entry["publisher"] for entry in shown] == ["t"] * 4
    assert shown[-1]["parent"] is None
    assert shown[0]["created"] > shown[1]["created"]  # type: ignore[operator]


def test_the_history_ends_where_older_revisions_were_taken_away(store: MemoryStore) -> None:
    oldest = list(history(store))[-1].identity
    store.delete(f"revisions/{oldest}.json")
    assert len(list(history(store))) == 3
    with pytest.raises(MarketError, match="has no revision 3 steps back"):
        resolve(store, status(store).state, steps=3)
