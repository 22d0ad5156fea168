"""The folder store: create-only files, one head, and clear words when the folder is not right."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.market import (
    NEW,
    OLD,
    build_candidate,
    die_at,
    hands,
    in_process,
    listing,
    start_process,
)

from olares_apps.errors import MarketError, StoreCorrupt
from olares_apps.market.dir_store import DirStore
from olares_apps.market.history import status
from olares_apps.market.publish import publish
from olares_apps.market.records import Revision
from olares_apps.market.verify import verify

KEY = "blobs/sha256/" + "a" * 64


def _head(number: int) -> tuple[str, Revision]:
    return f"{number:064x}", Revision(parent=None, created=number, hash="f" * 64)


def test_an_object_is_created_once_and_never_replaced(tmp_path: Path) -> None:
    store = DirStore(tmp_path / "m")
    assert store.get(KEY) is None
    assert store.put_if_absent(KEY, b"first")
    assert not store.put_if_absent(KEY, b"second")
    assert store.get(KEY) == b"first"
    assert store.exists(KEY)
    assert list(store.list("blobs/sha256")) == [KEY]
    assert [(item.key, item.size) for item in store.stored("blobs/sha256")] == [(KEY, 5)]


def test_the_head_moves_only_from_the_one_that_was_read(tmp_path: Path) -> None:
    store = DirStore(tmp_path / "m")
    assert store.read_head() == (None, None)
    (one, first), (two, second) = _head(1), _head(2)
    assert store.swap_head(None, first.head(one))
    assert not store.swap_head(None, second.head(two))
    head, etag = store.read_head()
    assert head
    assert head.revision == one
    assert store.swap_head(etag, second.head(two))
    assert not store.swap_head(etag, first.head(one))


def test_of_many_processes_exactly_one_moves_the_head(tmp_path: Path) -> None:
    store = DirStore(tmp_path / "m")
    store.swap_head(None, _head(0)[1].head(_head(0)[0]))
    etag = store.read_head()[1]

    def swap(number: int) -> None:
        identity, revision = _head(number)
        won = DirStore(store.root).swap_head(etag, revision.head(identity))
        (tmp_path / f"{'won' if won else 'lost'}-{number}").touch()

    children = [start_process(lambda n=n: swap(n)) for n in range(1, 13)]  # type: ignore[misc]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 12
    winners = [path.name for path in tmp_path.glob("won-*")]
    assert len(winners) == 1
    head, _ = store.read_head()
    assert head
    assert f"won-{int(head.revision, 16)}" == winners[0]


def test_an_object_that_is_wanted_again_counts_as_new(tmp_path: Path) -> None:
    store = DirStore(tmp_path / "m")
    store.put_if_absent(KEY, b"first")
    os.utime(store.root / KEY, (1, 1))
    assert not store.put_if_absent(KEY, b"first")
    assert (store.root / KEY).stat().st_mtime > 1


@pytest.mark.parametrize("key", ["../x", "blobs/../../x", "/etc/passwd", "Blobs/x", "x", "a//b"])
def test_a_key_cannot_leave_the_folder(tmp_path: Path, key: str) -> None:
    store = DirStore(tmp_path / "m")
    with pytest.raises(MarketError, match="is not the key of an object"):
        store.put_if_absent(key, b"")
    with pytest.raises(MarketError, match="is not the key of an object"):
        store.get(key)
    assert listing(tmp_path) == {}


def test_looking_at_a_market_that_does_not_exist_creates_nothing(tmp_path: Path) -> None:
    assert status(DirStore(tmp_path / "m")).live == {}
    assert verify(DirStore(tmp_path / "m")).ok
    assert listing(tmp_path) == {}


def test_the_folder_of_another_tool_is_refused_and_left_alone(tmp_path: Path) -> None:
    for name in ("index.yaml", "chart-1.0.0.tgz", "notes", "z"):
        (tmp_path / name).write_text("not ours")
    before = listing(tmp_path)
    with pytest.raises(
        MarketError, match=r"is not a market: it holds chart-1\.0\.0\.tgz"
    ) as raised:
        DirStore(tmp_path)
    assert raised.value.hint
    assert "empty or a new folder" in raised.value.hint
    assert listing(tmp_path) == before


def test_a_folder_that_was_filled_by_another_tool_meanwhile_is_refused(tmp_path: Path) -> None:
    store = DirStore(tmp_path)
    (tmp_path / "index.yaml").write_text("not ours")
    with pytest.raises(MarketError, match="is not a market"):
        store.put_if_absent(KEY, b"x")


def test_a_market_of_a_newer_olapps_is_refused(tmp_path: Path) -> None:
    (tmp_path / "olapps-market.json").write_text('{"kind":"olapps market","schema":2}')
    with pytest.raises(MarketError, match="has schema 2"):
        DirStore(tmp_path)


def test_a_file_where_the_folder_should_be_is_explained(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("a file")
    with pytest.raises(MarketError, match="cannot be read: Not a directory"):
        DirStore(tmp_path / "m")


@pytest.fixture
def market(tmp_path: Path) -> DirStore:
    store = DirStore(tmp_path / "m")
    publish(store, [build_candidate("demoalpha")], publisher="t", hands=hands())
    return store


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (b"", "head.json is not JSON"),
        (b"\xff", "head.json is not UTF-8"),
        (b"{}", "head.json: schema is missing"),
        (b'{"schema":1,"revision":"abc"}', "head.json: revision is 'abc', expected 64 hex digits"),
    ],
)
def test_a_damaged_head_is_named_and_not_repaired(
    market: DirStore, damage: bytes, problem: str
) -> None:
    (market.root / "head.json").write_bytes(damage)
    for attempt in (
        lambda: market.read_head(),
        lambda: publish(market, [build_candidate("demobravo")], publisher="t", hands=hands()),
    ):
        with pytest.raises(StoreCorrupt) as raised:
            attempt()
        assert problem in raised.value.message
    assert (market.root / "head.json").read_bytes() == damage


@pytest.mark.parametrize("damage", ["changed", "cut", "removed"])
def test_a_damaged_revision_is_named_and_not_repaired(market: DirStore, damage: str) -> None:
    (path,) = (market.root / "revisions").iterdir()
    data = path.read_bytes()
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(data[:-10] if damage == "cut" else data.replace(b"demo", b"dema"))
    with pytest.raises(StoreCorrupt, match=path.name):
        publish(market, [build_candidate("demobravo")], publisher="t", hands=hands())
    problems = verify(market).problems
    assert len(problems) == 1
    assert path.name in problems[0]


def test_files_are_readable_for_the_user_who_serves_them(market: DirStore) -> None:
    files = [path for path in market.root.rglob("*") if path.is_file()]
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in files)
    assert list((market.root / "tmp").iterdir()) == []


def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    root = tmp_path / "m"

    def killed() -> None:
        store = DirStore(root, hook=die_at(6))
        publish(store, [build_candidate("demoalpha")], publisher="t", hands=hands())

    assert in_process(killed) == -9
    assert len(list((root / "tmp").iterdir())) == 1
    publish(DirStore(root), [build_candidate("demoalpha")], publisher="t", hands=hands())
    assert list((root / "tmp").iterdir()) == []
    assert verify(DirStore(root)).ok


def test_the_file_of_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "m"
    publish(DirStore(root), [build_candidate("demoalpha")], publisher="t", hands=hands())

    def somebody_else_publishes(point: str) -> None:
        if point.endswith("written") and point.startswith("a" * 64):
            update = build_candidate("demobravo")
            assert (
                in_process(lambda: publish(DirStore(root), [update], publisher="t", hands=hands()))
                == 0
            )

    store = DirStore(root, hook=somebody_else_publishes)
    assert store.put_if_absent(KEY, b"survives")
    assert store.get(KEY) == b"survives"
    assert status(store).live["demobravo"] == {OLD: "1.0.0", NEW: "1.0.1"}


def test_a_read_only_folder_is_explained(market: DirStore) -> None:
    before = (market.root / "head.json").read_bytes()

    def as_somebody_else() -> None:
        os.setgid(65534)
        os.setuid(65534)
        store = DirStore(market.root)
        assert status(store).live
        with pytest.raises(MarketError, match="cannot be written: Permission denied") as raised:
            publish(store, [build_candidate("demobravo")], publisher="t", hands=hands())
        assert raised.value.hint == "you may not write there; check who owns the folder"

    if os.getuid():
        pytest.skip("only root can become a user who may not write here")
    shared = Path(tempfile.gettempdir())
    for path in (market.root, *market.root.parents):
        if path.is_relative_to(shared) and path != shared:
            path.chmod(0o755)
    assert in_process(as_somebody_else) == 0
    assert (market.root / "head.json").read_bytes() == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(mount)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no small file system to fill here: {done.stderr.strip()}")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_leaves_the_old_market_and_the_same_command_completes(
    small_disk: Path,
) -> None:
    store = DirStore(small_disk / "m")
    publish(store, [build_candidate("demoalpha")], publisher="t", hands=hands())
    head = (store.root / "head.json").read_bytes()
    filler = small_disk / "filler"
    with filler.open("wb") as file:
        # All but one page: the publish gets somewhere and then fails.
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_bsize
        file.write(b"x" * (free - 8192))
    with pytest.raises(MarketError, match="cannot be written: No space left") as raised:
        publish(store, [build_candidate("demobravo")], publisher="t", hands=hands())
    assert raised.value.hint
    assert "free some space and run the same command again" in raised.value.hint
    assert (store.root / "head.json").read_bytes() == head
    assert verify(store).ok
    assert list((store.root / "tmp").iterdir()) == []
    filler.unlink()
    publish(DirStore(store.root), [build_candidate("demobravo")], publisher="t", hands=hands())
    assert status(store).live.keys() == {"demoalpha", "demobravo"}
    assert verify(store).ok


def test_the_marker_says_what_the_folder_is(market: DirStore) -> None:
    marker = json.loads((market.root / "olapps-market.json").read_bytes())
    assert marker == {"kind": "olapps market", "schema": 1}
