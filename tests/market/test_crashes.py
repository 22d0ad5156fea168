"""A publisher that dies at any point leaves a whole market, and its rerun completes."""

import json
import shutil
from pathlib import Path

import pytest
from support.crowd import stride
from support.market import (
    NEW,
    OLD,
    PNG,
    MemoryStore,
    build_candidate,
    die_at,
    hands,
    in_process,
)
from support.pages import build_listing, build_page_candidate

from olares_apps.errors import MarketError
from olares_apps.market.answers import Answers
from olares_apps.market.candidates import Candidate
from olares_apps.market.dir_store import DirStore
from olares_apps.market.history import history, status
from olares_apps.market.publish import publish
from olares_apps.market.retreat import remove, rollback
from olares_apps.market.verify import verify

FIRST = build_page_candidate("demoalpha", "1.0.0")
# All that a publish writes: archives, icons, pages with their pictures, an app that is only listed.
SECOND = [
    build_page_candidate("demoalpha", "1.0.2", image="b2"),
    build_candidate("demobravo", icon=PNG),
    build_listing("demolisted"),
]
OLD_STATE = {"demoalpha": {OLD: "1.0.0", NEW: "1.0.1"}}
NEW_STATE = {
    "demoalpha": {OLD: "1.0.2", NEW: "1.0.3"},
    "demobravo": {OLD: "1.0.0", NEW: "1.0.1"},
}


def _market(root: Path, *publishes: list[Candidate]) -> Path:
    for candidates in publishes:
        publish(DirStore(root), candidates, publisher="t", hands=hands())
    return root


def _has_pages(root: Path, listing: bool) -> bool:
    """Say whether people read the app's page, see its picture, and read of the listing or not."""
    answers = Answers(DirStore(root))
    found = {
        path: answers.respond("GET", path).status == 200
        for path in ("/", "/apps/demoalpha", "/share/demoalpha.png", "/apps/demolisted")
    }
    return found == dict.fromkeys(found, True) | {"/apps/demolisted": listing}


def _copy(base: Path, root: Path) -> Path:
    return Path(shutil.copytree(base, root))


def _listed(root: Path) -> dict[str, dict[str, str]]:
    """Return what devices of each generation are offered, through the answers they get."""
    answers = Answers(DirStore(root))
    found: dict[str, dict[str, str]] = {}
    for generation, version in ((OLD, "1.12.5"), (NEW, "1.12.6")):
        info = answers.respond("GET", "/api/v1/appstore/info", {"version": version})
        for key, app in json.loads(info.body)["data"]["apps"].items():
            body = json.dumps({"app_ids": [key], "version": version}).encode()
            detail = json.loads(answers.respond("POST", "/api/v1/applications/info", {}, body).body)
            shown = detail["apps"][key]["version"]
            query = {"fileName": f"{app['name']}-{shown}.tgz"}
            chart = answers.respond("GET", f"/api/v1/applications/{app['name']}/chart", query)
            assert (shown, chart.status) == (app["version"], 200)
            found.setdefault(app["name"], {})[generation] = shown
    return found


@pytest.mark.parametrize("inside", ["steps of the protocol", "steps inside every write"])
def test_a_publisher_killed_at_any_step_leaves_old_or_new_and_a_rerun_completes(
    tmp_path: Path, inside: str
) -> None:
    base, seen = _market(tmp_path / "base", [FIRST]), []
    usual = 2 if inside.startswith("steps of") else 4
    for step in range(0, 500, stride(usual)):
        root = _copy(base, tmp_path / str(step))

        def killed(root: Path = root, step: int = step) -> None:
            if inside.startswith("steps of"):
                publish(DirStore(root), SECOND, publisher="t", hands=hands(on_step=die_at(step)))
            else:
                publish(DirStore(root, hook=die_at(step)), SECOND, publisher="t", hands=hands())

        status_code = in_process(killed)
        listed = _listed(root)
        assert listed in (OLD_STATE, NEW_STATE)
        assert _has_pages(root, listing=listed == NEW_STATE)
        assert verify(DirStore(root)).problems == []
        report = publish(DirStore(root), SECOND, publisher="t", hands=hands())
        assert report.changed is (listed == OLD_STATE)
        assert _listed(root) == NEW_STATE
        assert _has_pages(root, listing=True)
        assert verify(DirStore(root)).problems == []
        assert [entry.identity for entry in history(DirStore(root))][1:]
        seen.append(listed)
        if status_code == 0:
            break
        assert status_code == -9
    assert len(seen) > 20
    assert seen[0] == OLD_STATE
    assert NEW_STATE in seen
    assert seen == sorted(seen, key=lambda state: state == NEW_STATE)


def test_a_publisher_killed_while_making_the_first_market_can_begin_again(tmp_path: Path) -> None:
    # Two points per object: the marker, the first blobs, and the middle of the answers.
    for step in (*range(8), 25):
        root = tmp_path / str(step)

        def killed(root: Path = root, step: int = step) -> None:
            publish(DirStore(root, hook=die_at(step)), [FIRST], publisher="t", hands=hands())

        assert in_process(killed) == -9
        assert status(DirStore(root)).live == {}
        publish(DirStore(root), [FIRST], publisher="t", hands=hands())
        assert _listed(root) == OLD_STATE


@pytest.mark.parametrize("action", [rollback, remove])
def test_a_rollback_or_remove_killed_at_any_step_leaves_a_whole_market(
    tmp_path: Path, action: object
) -> None:
    base = _market(tmp_path / "base", [FIRST], SECOND)
    for step in range(0, 500, stride(2)):
        root = _copy(base, tmp_path / str(step))

        def killed(root: Path = root, step: int = step) -> None:
            die = hands(on_step=die_at(step))
            if action is rollback:
                rollback(DirStore(root), publisher="t", hands=die)
            else:
                remove(DirStore(root), ["demobravo"], publisher="t", hands=die)

        finished = in_process(killed) == 0
        alpha = NEW_STATE["demoalpha"] if action is remove else OLD_STATE["demoalpha"]
        assert _listed(root) in (NEW_STATE, {"demoalpha": alpha})
        assert verify(DirStore(root)).problems == []
        if finished:
            break
    assert step > 20


def test_two_publishers_that_die_do_not_hinder_a_third(tmp_path: Path) -> None:
    root = tmp_path / "m"
    publish(DirStore(root), [FIRST], publisher="t", hands=hands())
    for step in (3, 12):
        in_process(
            lambda step=step: publish(  # type: ignore[misc]
                DirStore(root, hook=die_at(step)), SECOND, publisher="t", hands=hands()
            )
        )
    publish(DirStore(root), [build_candidate("democharlie")], publisher="t", hands=hands())
    assert _listed(root).keys() == {"demoalpha", "democharlie"}
    assert verify(DirStore(root)).ok


def test_a_version_that_never_went_live_can_be_published_with_other_bytes(tmp_path: Path) -> None:
    root = tmp_path / "m"
    publish(DirStore(root), [FIRST], publisher="t", hands=hands())
    update = build_candidate("demoalpha", "1.0.2", image="b2")
    in_process(
        lambda: publish(DirStore(root), [update], publisher="t", hands=hands(on_step=die_at(20)))
    )
    assert _listed(root) == OLD_STATE
    other = build_candidate("demoalpha", "1.0.2", image="b3")
    publish(DirStore(root), [other], publisher="t", hands=hands())
    assert _listed(root)["demoalpha"] == {OLD: "1.0.2", NEW: "1.0.3"}


def test_an_error_while_writing_leaves_the_head_and_the_rerun_completes() -> None:
    failing: list[int] = []

    def fail(operation: str) -> None:
        if operation.startswith("put") and len(failing) < 25:
            failing.append(1)
            if len(failing) == 25:
                raise MarketError("the connection broke")

    store = MemoryStore(fail)
    candidates: list[Candidate] = [FIRST]
    with pytest.raises(MarketError, match="the connection broke"):
        publish(store, [*candidates, *SECOND[1:]], publisher="t", hands=hands())
    assert store.head is None
    publish(store, [*candidates, *SECOND[1:]], publisher="t", hands=hands())
    assert status(store).live.keys() == {"demoalpha", "demobravo"}
    assert verify(store).ok
