"""Publishers whose clocks are wrong by a day: times only rise, and ages are the folder's own."""

from pathlib import Path

from support.crowd import chain_of
from support.market import START, Clock, build_candidate, hands

from olares_apps.market import canonical
from olares_apps.market.dir_store import DirStore
from olares_apps.market.history import history
from olares_apps.market.publish import publish
from olares_apps.market.retention import Retention
from olares_apps.market.verify import verify

DAY = 24 * 60 * 60 * 10**9


def test_times_only_rise_whatever_the_clocks_of_publishers_say(tmp_path: Path) -> None:
    root = tmp_path / "m"
    for number, skew in enumerate((0, -DAY, DAY, 0)):
        update = build_candidate("demoalpha", f"1.0.{2 * number}", image=f"b{number}")
        clock = Clock(START + skew)
        publish(DirStore(root), [update], publisher="t", hands=hands(clock))
        head, _ = DirStore(root).read_head()
        newest = next(iter(history(DirStore(root))))
        assert head is not None
        assert head.updated == newest.revision.created
    assert len(chain_of(DirStore(root))) == 4
    created = [canonical.milliseconds(entry.revision.created) for entry in history(DirStore(root))]
    # Behind a parent that is later, a revision is one millisecond later still.
    assert (created[0] - created[1], created[2] - created[3]) == (1, 1)
    assert verify(DirStore(root)).problems == []


def test_an_age_is_that_of_the_file_and_not_of_the_revision_that_a_wrong_clock_dated(
    tmp_path: Path,
) -> None:
    root = tmp_path / "m"
    for number in range(3):
        update = build_candidate("demoalpha", f"1.0.{2 * number}", image=f"b{number}")
        # Years ago by the publisher's clock; written just now.
        publish(DirStore(root), [update], publisher="t", hands=hands(Clock(START - 900 * DAY)))
    *_, done = DirStore(root).collect(Retention(keep=1), dry_run=False)
    assert done.removed == 0
    assert len(chain_of(DirStore(root))) == 3
