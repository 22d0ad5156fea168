"""An app that no device can install: people read why, and no device ever sees it."""

from dataclasses import replace

import pytest
from support.market import Clock, MemoryStore, build_candidate, hands
from support.pages import build_listing, build_page_candidate
from support.workspaces import DEMO, SECOND, SECOND_SPEC, build_workspace, good

from olares_apps.errors import CheckFailed, VersionRefused
from olares_apps.generations import OlaresVersion
from olares_apps.market.answers import Answers
from olares_apps.market.commit import read_state
from olares_apps.market.device.stored import StoreTransport
from olares_apps.market.device.sync import sync
from olares_apps.market.plan import Action, Refusal, plan
from olares_apps.market.publish import publish, refusal_error
from olares_apps.market.retention import Reach
from olares_apps.market.retreat import remove, republish, rollback
from olares_apps.market.store import open_store
from olares_apps.market.verify import verify

REASON = "its image replaces a library of the whole node"


def test_an_app_that_no_device_can_install_is_refused_with_its_reason() -> None:
    candidate = build_candidate("demoone")
    assert plan(None, [candidate]).steps[0].action is Action.NEW
    (step,) = plan(None, [replace(candidate, not_installable=REASON)]).steps
    assert step.action is Action.REFUSED
    assert step.refusal is Refusal.NOT_INSTALLABLE
    assert step.reason == f"not installable: {REASON}"
    assert step.archives == ()


def test_its_refusal_is_a_failed_check_and_no_matter_of_versions() -> None:
    candidate = replace(build_candidate("demoone"), not_installable=REASON)
    error = refusal_error(plan(None, [candidate]).refused)
    assert isinstance(error, CheckFailed)
    assert str(error) == f"demoone: not installable: {REASON}"
    twice = refusal_error(plan(None, [build_candidate("demotwo")] * 2 + [candidate]).refused)
    assert isinstance(twice, VersionRefused)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    """Give a market with one app on offer and, in a later revision, one that is only listed."""
    store = MemoryStore()
    publish(store, [build_page_candidate("demoalpha")], publisher="p", hands=hands(clock))
    publish(store, [build_listing(reason=REASON)], publisher="p", hands=hands(clock))
    return store


def answers_for_devices(store: MemoryStore) -> dict[str, str]:
    head = read_state(store).head
    assert head is not None
    of_people = ("pages", "files.json")
    return {path: d for path, d in head.answers.items() if not path.startswith(of_people)}


def text(store: MemoryStore, path: str) -> str:
    answer = Answers(store).respond("GET", path)
    return answer.body.decode() if answer.status == 200 else ""


def state_of(store: MemoryStore) -> str:
    revision = read_state(store).revision
    assert revision is not None
    return revision.apps["demolisted"].state


def test_every_page_says_that_it_cannot_be_installed_and_why(store: MemoryStore) -> None:
    for path in ("/", "/apps/demolisted", "/leaderboard"):
        assert REASON in text(store, path)
        assert "annot be installed" in text(store, path)
    assert "1 app for Olares devices" in text(store, "/")
    assert "How to install" not in text(store, "/apps/demolisted")
    assert "annot be installed" not in text(store, "/apps/demoalpha")


def test_a_listing_changes_nothing_that_devices_get(clock: Clock) -> None:
    store = MemoryStore()
    publish(store, [build_page_candidate("demoalpha")], publisher="p", hands=hands(clock))
    before, head = answers_for_devices(store), read_state(store).head
    publish(store, [build_listing()], publisher="p", hands=hands(clock))
    now, after = answers_for_devices(store), read_state(store).head
    assert head is not None
    assert after is not None
    # The time of the revision is in these; devices look at the hash.
    stamped = ("hash.json", "info.json")
    assert {k: v for k, v in now.items() if not k.endswith(stamped)} == {
        k: v for k, v in before.items() if not k.endswith(stamped)
    }
    assert (after.hash, after.apps) == (head.hash, 1)
    again = publish(store, [build_listing()], publisher="p", hands=hands(clock))
    assert not again.changed


def test_a_market_with_a_listing_is_sound_and_the_collector_keeps_its_page(
    store: MemoryStore,
) -> None:
    assert verify(store).problems == []
    revision = read_state(store).revision
    assert revision is not None
    page = revision.apps["demolisted"].page
    assert page is not None
    reached = {digest for digest, _ in Reach(store).blobs(revision)}
    assert {page.facts, page.html.sha256, page.share.sha256} <= reached
    store.delete(f"blobs/sha256/{page.html.sha256}")
    assert "page of demolisted" in verify(store).problems[0]


def test_a_listing_is_removed_rolled_back_and_republished(store: MemoryStore, clock: Clock) -> None:
    listed = read_state(store).identity
    remove(store, ["demolisted"], publisher="p", hands=hands(clock))
    assert (state_of(store), text(store, "/apps/demolisted")) == ("removed", "")
    rollback(store, publisher="p", hands=hands(clock))
    assert (state_of(store), REASON in text(store, "/apps/demolisted")) == ("listed", True)
    rollback(store, publisher="p", hands=hands(clock))
    assert state_of(store) == "removed"
    republish(store, to=listed, publisher="p", hands=hands(clock))
    assert (state_of(store), REASON in text(store, "/apps/demolisted")) == ("listed", True)


def test_what_is_on_offer_is_never_taken_from_devices_by_a_listing(
    store: MemoryStore, clock: Clock
) -> None:
    with pytest.raises(CheckFailed, match="not installable") as caught:
        publish(store, [build_listing("demoalpha")], publisher="p", hands=hands(clock))
    assert "olapps market remove demoalpha" in str(caught.value.hint)
    publish(store, [build_page_candidate("demolisted")], publisher="p", hands=hands(clock))
    assert state_of(store) == "live"
    assert "annot be installed" not in text(store, "/apps/demolisted")
    remove(store, ["demolisted"], publisher="p", hands=hands(clock))
    publish(store, [build_listing()], publisher="p", hands=hands(clock))
    revision = read_state(store).revision
    assert revision is not None
    assert revision.apps["demolisted"].greatest == "1.0.1"
    with pytest.raises(VersionRefused, match=r"not greater than published 1\.0\.1"):
        publish(store, [build_page_candidate("demolisted")], publisher="p", hands=hands(clock))


@pytest.mark.parametrize("olares", ["1.12.3", "1.12.6"])
def test_a_device_never_sees_an_app_of_a_workspace_that_it_cannot_install(
    tmp_path, olares: str
) -> None:
    spec = f"{SECOND_SPEC}not_installable: {REASON}\n"
    root = build_workspace(tmp_path / "ws", files={"apps/second.yaml": spec})
    good("publish", cwd=root)
    store = open_store(f"dir:{root}/.market")
    report = sync(StoreTransport(store), store.url, OlaresVersion.parse(olares), lint=lambda *_: [])
    assert [app.name for app in report.apps] == [DEMO]
    assert REASON in Answers(store).respond("GET", f"/apps/{SECOND}").body.decode()
    # Nothing changed, so nothing is done; a removed page comes back on request only.
    assert "nothing changed" in good("publish", cwd=root).out
    good("market", "remove", SECOND, "--yes", cwd=root)
    assert "--bump brings its page back" in good("publish", cwd=root).err
    assert "listed" in good("publish", "--bump", "patch", cwd=root).out
