"""Verification: every damaged or missing object is named, and nothing is repaired."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.market import OLD, PNG, MemoryStore, build_archive, build_candidate, hands

from olares_apps.market import canonical, objects
from olares_apps.market.commit import read_state
from olares_apps.market.dir_store import DirStore
from olares_apps.market.entries import AppEntry
from olares_apps.market.prepare import prepare
from olares_apps.market.publish import publish
from olares_apps.market.records import Revision
from olares_apps.market.verify import verify


def _market() -> tuple[MemoryStore, Revision]:
    store = MemoryStore()
    for version in ("1.0.0", "1.0.2"):
        candidate = build_candidate("demoalpha", version, image=version, icon=PNG)
        publish(store, [candidate], publisher="t", hands=hands())
    revision = read_state(store).revision
    assert revision
    return store, revision


def _entry(revision: Revision) -> AppEntry:
    return revision.apps["demoalpha"]


def test_a_sound_market_has_no_problems_and_every_object_was_read() -> None:
    store, _ = _market()
    found = verify(store)
    assert found.as_dict() == {
        "ok": True,
        "revisions": 2,
        "objects": len(store.objects) - 2,
        "problems": [],
    }


OBJECTS: dict[str, tuple[Callable[[Revision], str], str]] = {
    "archive": (lambda r: _entry(r).current[OLD].sha256, "demoalpha-1.0.2.tgz"),
    "detail": (lambda r: _entry(r).current[OLD].detail, "detail of demoalpha 1.0.2"),
    "ledger": (lambda r: _entry(r).ledger, "ledger of demoalpha"),
    "icon": (lambda r: _icon(r), "icon of demoalpha"),
}


def _icon(revision: Revision) -> str:
    icon = _entry(revision).icon
    assert icon
    return icon.sha256


@pytest.mark.parametrize(("digest", "name"), OBJECTS.values(), ids=OBJECTS)
@pytest.mark.parametrize("damage", ["changed", "removed"])
def test_a_damaged_blob_is_named_with_the_app_it_belongs_to(
    digest: Callable[[Revision], str], name: str, damage: str
) -> None:
    store, revision = _market()
    key = objects.blob_key(digest(revision))
    if damage == "removed":
        store.delete(key)
    else:
        store.objects[key] = b"damaged"
    before = dict(store.objects)
    (problem,) = verify(store).problems
    assert key in problem
    assert f"({name})" in problem
    assert ("is missing" if damage == "removed" else "is damaged") in problem
    assert store.objects == before


def test_an_old_archive_that_is_gone_is_named_too() -> None:
    store, _ = _market()
    archive = build_archive("demoalpha", "1.0.0", image="1.0.0")
    store.delete(objects.blob_key(archive.sha256))
    (problem,) = verify(store).problems
    assert "is missing (demoalpha-1.0.0.tgz)" in problem


def test_a_damaged_answer_is_named() -> None:
    store, _ = _market()
    key = next(key for key in store.objects if key.endswith(f"{OLD}/details.json"))
    store.objects[key] = b"{}"
    (problem,) = verify(store).problems
    assert f"{key} is damaged (prepared answer)" in problem


def test_a_head_that_does_not_fit_its_revision_is_named() -> None:
    store, _ = _market()
    assert store.head
    store.head = canonical.encode(json.loads(store.head) | {"apps": 7})
    (problem,) = verify(store).problems
    assert "head.json does not agree with revision" in problem


def test_a_damaged_head_is_named() -> None:
    store, _ = _market()
    store.head = b'{"schema":1}'
    (problem,) = verify(store).problems
    assert problem == "head: revision is missing"


def _plant(store: MemoryStore, change: Callable[[AppEntry], AppEntry]) -> None:
    """Make a revision live that no publisher would have made."""
    state = read_state(store)
    assert state.revision
    entry = change(_entry(state.revision))
    prepared = prepare(replace(state.revision, apps={"demoalpha": entry}))
    for path, data in prepared.answers.items():
        store.put_if_absent(objects.answer_key(prepared.identity, path), data)
    store.put_if_absent(objects.revision_key(prepared.identity), prepared.data)
    assert store.swap_head(state.etag, prepared.revision.head(prepared.identity))


def test_an_entry_whose_archive_holds_another_version_is_named() -> None:
    store, _ = _market()

    def renamed(entry: AppEntry) -> AppEntry:
        archive = replace(entry.current[OLD], version="1.0.9")
        ledger = objects.read_ledger(store, entry.ledger, "demoalpha").adding(OLD, archive)
        digest = canonical.digest(ledger.encode())
        store.put_if_absent(objects.blob_key(digest), ledger.encode())
        return replace(entry, current={OLD: archive}, ledger=digest)

    _plant(store, renamed)
    problems = verify(store).problems
    wanted = "demoalpha-1.0.9.tgz contains Chart.yaml version '1.0.2', expected '1.0.9'"
    assert any(wanted in problem for problem in problems)
    assert any("detail of demoalpha 1.0.9 shows 1.0.2" in problem for problem in problems)


def test_an_entry_that_its_ledger_does_not_know_is_named() -> None:
    store, _ = _market()
    _plant(
        store,
        lambda entry: replace(entry, current={OLD: replace(entry.current[OLD], size=1)}),
    )
    assert verify(store).problems == ["demoalpha 1.0.2: not in the app's ledger"]


def test_verifying_a_folder_changes_nothing_in_it(tmp_path: Path) -> None:
    store = DirStore(tmp_path / "m")
    publish(store, [build_candidate("demoalpha")], publisher="t", hands=hands())
    (blob,) = list((store.root / "blobs/sha256").iterdir())[:1]
    blob.write_bytes(b"damaged")
    before = {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file()}
    assert blob.name in verify(store).problems[0]
    after = {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file()}
    assert after == before
