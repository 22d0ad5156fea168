"""A difference makes the new text out of the old one, and is as large as what changed."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.differences import IMPOSSIBLE, TABLE, apply, table
from support.market import MemoryStore, build_candidate, hands

from olares_apps.market import objects
from olares_apps.market.canonical import digest
from olares_apps.market.commit import read_state
from olares_apps.market.counterparts import Counterparts
from olares_apps.market.differences import MOST_BYTES, MOST_STEPS, difference
from olares_apps.market.publish import publish

RECORDED: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
# Pieces that stand once and often, with and without an end, and characters of several bytes.
PIECE = st.sampled_from(["{},", "[1],", "<p>", "\n", "a", '"title":"演示",', "🦙", "x" * 30 + ","])
TEXT = st.lists(PIECE | st.text(max_size=8), max_size=40).map("".join)


def _entries(count: int) -> list[str]:
    return [
        f'"demo{n}":{{"digest":"{n * 2654435761 % 2**32:08x}","state":"live"}}'
        for n in range(count)
    ]


def _done(base: bytes, new: bytes) -> bytes:
    text = difference(base, new)
    assert text is not None
    assert apply(base, text) == new
    return text


@given(TEXT, TEXT)
def test_the_steps_make_one_text_out_of_another(base: str, new: str) -> None:
    _done(base.encode(), new.encode())


@given(st.lists(TEXT, min_size=1, max_size=30), st.data())
def test_the_steps_make_a_text_whose_parts_were_moved_changed_and_taken_away(
    parts: list[str], data: st.DataObject
) -> None:
    new = data.draw(st.lists(st.sampled_from(parts) | TEXT, max_size=30))
    _done("".join(parts).encode(), "".join(new).encode())


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_what_is_no_text_has_a_difference_that_is_right_or_none(base: bytes, new: bytes) -> None:
    text = difference(base, new)
    assert text is None or apply(base, text) == new


@pytest.mark.parametrize("apps", [50, 2000])
def test_a_difference_is_as_large_as_what_changed_and_not_as_the_text(apps: int) -> None:
    before = _entries(apps)
    changed = [*before[: apps // 2], '"demo":{"digest":"0"}', *before[apps // 2 + 1 :]]
    moved = [before[apps // 3], *before[: apps // 3], *before[apps // 3 + 1 :]]
    base = ",".join(before).encode()
    for after in (before, changed, moved, before[1:], before[:-1], [*before, '"new":{}']):
        assert len(_done(base, ",".join(after).encode())) < 200


def test_texts_of_one_piece_many_times_are_no_trap() -> None:
    many, other = b"a," * 100_000, b"b," * 50_000
    assert len(_done(many, many + b"a,")) < 60
    assert difference(many, b"ab," * 100_000 + many) is not None
    # What moves about in a text of equal parts has no place to be found by; it is still right.
    _done(many + other, other + many)


def test_a_difference_that_no_server_would_take_is_none() -> None:
    entries = _entries(4 * MOST_STEPS)
    base = ",".join(entries).encode()
    every_second = ",".join(e if n % 2 else '"":{}' for n, e in enumerate(entries)).encode()
    assert difference(base, every_second) is None
    assert difference(b"", b"x" * (MOST_BYTES + 1)) is None


def test_the_table_that_the_worker_replays_is_what_is_made_now() -> None:
    assert table() == RECORDED
    for row in RECORDED["made"] + RECORDED["by_hand"]:
        assert apply(row["base"].encode(), row["difference"].encode()) == row["new"].encode()
    for text in IMPOSSIBLE:
        with pytest.raises((ValueError, OverflowError)):
            apply(RECORDED["base"].encode(), text.encode())


def _market() -> tuple[MemoryStore, list[str]]:
    """Return a market of three revisions, and their names."""
    store, made, names = MemoryStore(), hands(), list[str]()
    for number in range(3):
        candidate = build_candidate("demoalpha", f"1.0.{2 * number}", image=f"b{number}")
        publish(store, [candidate], publisher="t", hands=made)
        names.append(str(read_state(store).identity))
    return store, names


def test_an_answer_is_compared_with_that_of_the_revision_that_was_read() -> None:
    store, names = _market()
    answers = [key for key in store.objects if key.startswith(f"responses/{names[1]}/")]
    assert len(answers) > 20
    known = Counterparts()
    key = objects.revision_key(names[0])
    known.saw(key, store.objects[key])
    for new in answers:
        old = new.replace(names[1], names[0])
        assert known.of(new) == (old, store.objects[old])
    assert known.of(objects.revision_key(names[1])) == (key, store.objects[key])


def test_what_is_written_is_what_the_next_one_replaces() -> None:
    store, names = _market()
    known = Counterparts()
    for before, after in pairwise(names):
        for key in [key for key in store.objects if before in key]:
            known.saw(key, store.objects[key])
        for new in [key for key in store.objects if after in key]:
            old = new.replace(after, before)
            assert known.of(new) == (old, store.objects[old])


def test_nothing_is_known_of_blobs_nor_before_anything_was_seen() -> None:
    store, _ = _market()
    known = Counterparts()
    for key, data in store.objects.items():
        assert known.of(key) is None
        if key.startswith("blobs/"):
            known.saw(key, data)


def test_answers_of_a_revision_that_another_tool_made_are_not_guessed() -> None:
    store, names = _market()
    key = objects.revision_key(names[0])
    data = store.objects[key]
    known = Counterparts()
    known.saw(key, data.replace(b'"hash":"', b'"hash":"0', 1))
    assert known.of(f"responses/{names[1]}/files.json") is None
    # The right name, and answers that this version would not have made.
    revision = read_state(store).revision
    assert revision is not None
    other = replace(revision, hash="0" * 64).encode()
    known.saw(objects.revision_key(digest(other)), other)
    assert known.of(f"responses/{names[1]}/files.json") is None
