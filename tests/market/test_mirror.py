"""A mirror has the whole history of its source, and never one that is not the source's."""

import os
from pathlib import Path

import pytest
from support.market import PNG, build_candidate, die_at, hands, in_process

from olares_apps.errors import Conflict, MarketError, StoreCorrupt, UsageError
from olares_apps.market import objects
from olares_apps.market.dir_store import DirStore
from olares_apps.market.history import history, status
from olares_apps.market.mirror import mirror
from olares_apps.market.publish import publish
from olares_apps.market.retention import DAY_SECONDS, Retention
from olares_apps.market.retreat import remove, rollback
from olares_apps.market.verify import verify


def _publish(root: Path, app: str, number: int) -> None:
    candidate = build_candidate(
        app, f"1.0.{2 * number}", image=f"b{number}", icon=PNG + bytes([number])
    )
    publish(DirStore(root), [candidate], publisher="t", hands=hands())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    for number in range(3):
        _publish(root, "demoalpha", number)
    _publish(root, "demobravo", 0)
    rollback(DirStore(root), steps=2, publisher="t", hands=hands())
    remove(DirStore(root), ["demoalpha"], publisher="t", hands=hands())
    return root


def _contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def test_a_mirror_has_the_same_bytes_under_the_same_keys(source: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    steps: list[tuple[int, int]] = []
    done = mirror(
        DirStore(source), DirStore(copy), on_step=lambda n, total, what: steps.append((n, total))
    )
    assert _contents(copy) == _contents(source)
    assert (done.revisions, steps) == (6, [(number, 6) for number in range(6)])
    assert verify(DirStore(copy)).problems == []
    again = mirror(DirStore(source), DirStore(copy))
    assert (again.revisions, again.objects, again.revision) == (0, 0, done.revision)


def test_a_mirror_follows_its_source(source: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    mirror(DirStore(source), DirStore(copy))
    _publish(source, "demobravo", 1)
    assert mirror(DirStore(source), DirStore(copy)).revisions == 1
    assert _contents(copy) == _contents(source)


def test_a_mirror_killed_anywhere_is_whole_and_goes_on(source: Path, tmp_path: Path) -> None:
    seen = set()
    for step in range(0, 1000, 41):
        copy = tmp_path / str(step)

        def killed(copy: Path = copy, step: int = step) -> None:
            mirror(DirStore(source), DirStore(copy, hook=die_at(step)))

        ended = in_process(killed)
        assert verify(DirStore(copy)).problems == []
        seen.add(len(list(history(DirStore(copy)))))
        mirror(DirStore(source), DirStore(copy))
        assert {k: v for k, v in _contents(copy).items() if not k.startswith("tmp/")} == _contents(
            source
        )
        if ended == 0:
            break
    assert seen == set(range(7))


def test_a_target_with_a_history_of_its_own_is_refused_and_left_alone(
    source: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    mirror(DirStore(source), DirStore(copy))
    _publish(copy, "democharlie", 0)
    before = _contents(copy)
    with pytest.raises(Conflict, match=r"which the history of .* does not have") as raised:
        mirror(DirStore(source), DirStore(copy))
    assert "nothing was changed" in str(raised.value.hint)
    assert _contents(copy) == before


def test_a_target_that_is_ahead_of_its_source_is_never_moved_back(
    source: Path, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    mirror(DirStore(source), DirStore(old))
    _publish(source, "demobravo", 1)
    mirror(DirStore(source), DirStore(new))
    before = _contents(new)
    with pytest.raises(Conflict):
        mirror(DirStore(old), DirStore(new))
    assert _contents(new) == before


def test_a_publish_to_the_target_meanwhile_wins(source: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"

    def on_step(number: int, total: int, what: str) -> None:
        if number == 2:
            _publish(copy, "democharlie", 0)

    with pytest.raises(Conflict, match="was changed by somebody else meanwhile"):
        mirror(DirStore(source), DirStore(copy), on_step=on_step)
    assert "democharlie" in status(DirStore(copy)).live
    assert verify(DirStore(copy)).problems == []


def test_damage_of_the_source_is_not_copied(source: Path, tmp_path: Path) -> None:
    archive = build_candidate("demoalpha", "1.0.2", image="b1", icon=PNG + b"\x01").archives[0]
    (source / objects.blob_key(archive.sha256)).write_bytes(b"damaged")
    with pytest.raises(StoreCorrupt, match=f"{archive.sha256} is damaged"):
        mirror(DirStore(source), DirStore(tmp_path / "copy"))
    assert len(list(history(DirStore(tmp_path / "copy")))) == 1
    assert verify(DirStore(tmp_path / "copy")).problems == []


def test_a_source_that_forgot_its_beginnings_is_copied_from_where_it_begins(
    source: Path, tmp_path: Path
) -> None:
    then = DAY_SECONDS * 10
    for path in source.rglob("*"):
        os.utime(path, (then, then))
    list(DirStore(source).collect(Retention(keep=2), dry_run=False))
    mirror(DirStore(source), DirStore(tmp_path / "copy"))
    assert len(list(history(DirStore(tmp_path / "copy")))) == 2
    assert verify(DirStore(tmp_path / "copy")).problems == []


def test_an_empty_source_and_a_market_itself_are_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(MarketError, match="holds nothing yet"):
        mirror(DirStore(tmp_path / "none"), DirStore(source))
    with pytest.raises(UsageError, match="the same market"):
        mirror(DirStore(source), DirStore(source))
