"""Records: one text per value, read back exactly, and refused with a name when damaged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olares_apps.errors import MarketError, StoreCorrupt
from olares_apps.market import canonical
from olares_apps.market.entries import AppEntry, ArchiveEntry, Card, FileEntry, Ledger
from olares_apps.market.records import Change, Head, Revision, Source

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SHA = st.binary(min_size=32, max_size=32).map(bytes.hex)
MS = st.integers(0, 2**41)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
VERSIONS = st.dictionaries(st.sampled_from(["olares-1.12.3", "olares-1.12.6"]), TEXT)
CARDS = st.builds(Card, TEXT, TEXT, TEXTS, TEXT, TEXT, TEXTS)
ARCHIVES = st.builds(
    ArchiveEntry,
    version=TEXT,
    sha256=SHA,
    size=MS,
    tar_sha256=SHA,
    content=SHA,
    detail=SHA,
    published=MS,
    card=CARDS,
)
ICONS = st.none() | st.builds(FileEntry, SHA, MS, TEXT)


@st.composite
def apps(draw: st.DrawFn) -> AppEntry:
    current = draw(st.dictionaries(st.sampled_from(["olares-1.12.3", "other"]), ARCHIVES))
    return AppEntry(
        id=draw(TEXT),
        title=draw(TEXT),
        state="live" if current else "removed",
        greatest=draw(TEXT),
        modified=draw(MS),
        ledger=draw(SHA),
        current=current,
        icon=draw(ICONS),
    )


REVISIONS = st.builds(
    Revision,
    parent=st.none() | SHA,
    created=st.integers(0, 2**62),
    action=TEXT,
    publisher=TEXT,
    note=TEXT,
    restores=st.none() | SHA,
    source=st.builds(Source, TEXT, TEXT, TEXT, MS),
    apps=st.dictionaries(TEXT, apps(), max_size=2),
    changes=st.lists(st.builds(Change, TEXT, TEXT, VERSIONS, VERSIONS), max_size=2).map(tuple),
    hash=SHA,
    answers=st.dictionaries(TEXT, SHA, max_size=2),
)


@given(REVISIONS)
def test_a_revision_and_its_head_come_back_from_their_text(revision: Revision) -> None:
    data = revision.encode()
    again = Revision.decode(data, "revision")
    assert again == revision
    assert again.encode() == data
    head = revision.head(canonical.digest(data))
    assert Head.decode(head.encode(), "head") == head


@given(TEXT, ARCHIVES)
def test_a_ledger_comes_back_from_its_text(app: str, archive: ArchiveEntry) -> None:
    ledger = Ledger(app).adding("olares-1.12.3", archive)
    assert Ledger.decode(ledger.encode(), "ledger") == ledger


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
)


@given(JSON)
def test_canonical_text_reads_back_and_does_not_depend_on_the_order_of_keys(value: object) -> None:
    data = canonical.encode(value)
    assert canonical.decode(data) == value
    shuffled = json.loads(json.dumps(value), object_pairs_hook=lambda p: dict(reversed(p)))
    assert canonical.encode(shuffled) == data


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": [1, {"b": 0.5}]}, r"a\[1\]\.b: float has no canonical form"),
        ({"a": 2**53}, "a: 9007199254740992 is beyond"),
        ({"a": {1: "x"}}, "a: key 1 is not text"),
        ({"a": "\ud800"}, r"lone surrogate U\+D800"),
        ([b"x"], r"\[0\]: bytes has no canonical form"),
    ],
)
def test_what_json_cannot_carry_exactly_is_refused_with_its_place(
    value: object, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        canonical.encode(value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"a":1,"a":2}', "the key 'a' twice"),
        (b'{"a":1.5}', "the number 1.5"),
        (b'{"a":NaN}', "the number NaN"),
        (b'{"a":"\xff"}', "not UTF-8 at byte 6"),
        (b'{"a":', "not JSON"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_text_that_is_not_canonical_json_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        canonical.decode(text)


def test_times_have_nine_fractional_digits_and_read_back() -> None:
    assert canonical.time_text(1_779_354_000_123_000_000) == "2026-05-21T09:00:00.123000000Z"
    assert canonical.time_text(0) == "1970-01-01T00:00:00.000000000Z"
    for moment in (0, 1, 1_779_354_000_123_456_789):
        assert canonical.parse_time(canonical.time_text(moment)) == moment


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-21",
        "2026-05-21 10:00",
        "2026-05-21T09:00:00Z",
        "2026-05-21T09:00:00.123Z",
        "2026-05-21T09:00:00.123000000",
        "2026-05-21T09:00:00.123000000+00:00",
        "2026-02-30T09:00:00.123000000Z",
        "",
    ],
)
def test_other_forms_of_a_time_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|day|date"):
        canonical.parse_time(text)


def _valid() -> dict[str, object]:
    archive = ArchiveEntry(
        "1.0.0", "a" * 64, 10, "b" * 64, "c" * 64, "d" * 64, 5, Card("d", "i", ("AI",))
    )
    entry = AppEntry("4d6544d7", "T", "live", "1.0.0", 5, "e" * 64, {"olares-1.12.3": archive})
    revision = Revision(parent=None, created=1, apps={"demoalpha": entry}, hash="f" * 64)
    value: dict[str, object] = json.loads(revision.encode())
    return value


def _set(value: dict[str, object], path: str, new: object) -> None:
    *parents, last = path.split("/")
    place: dict[str, object] = value
    for name in parents:
        place = place[name]  # type: ignore[assignment]
    if new is KeyError:
        del place[last]
    else:
        place[last] = new


@pytest.mark.parametrize(
    ("path", "new", "problem"),
    [
        ("created", "yesterday", "created is 'yesterday', expected a time"),
        ("hash", "abc", "hash is 'abc', expected 64 hex digits"),
        ("note", KeyError, "note is missing"),
        ("colour", "red", "colour is not a known field"),
        ("apps", [], "apps is not an object"),
        ("apps/demoalpha/state", "gone", "apps.demoalpha.state is 'gone'"),
        ("apps/demoalpha/state", "removed", "apps.demoalpha.current does not fit"),
        ("apps/demoalpha/current/olares-1.12.3/size", -1, "olares-1.12.3.size is -1"),
        ("apps/demoalpha/current/olares-1.12.3/size", True, "olares-1.12.3.size is True"),
        ("apps/demoalpha/current/olares-1.12.3/card/categories", "AI", "not a list of texts"),
        ("apps/demoalpha/current/olares-1.12.3/sha256", "A" * 64, "expected 64 hex digits"),
        ("answers", {"a": 1}, "answers is not an object of texts"),
        ("changes", {}, "changes is not a list"),
        ("parent", 5, "parent is 5, expected text"),
    ],
)
def test_a_wrong_field_is_named_with_the_object(path: str, new: object, problem: str) -> None:
    value = _valid()
    _set(value, path, new)
    with pytest.raises(StoreCorrupt) as raised:
        Revision.decode(json.dumps(value).encode(), "revision 3fb1")
    assert raised.value.message.startswith("revision 3fb1: ")
    assert problem in raised.value.message


def test_a_record_of_a_newer_olapps_asks_for_an_update() -> None:
    value = _valid() | {"schema": 2, "colour": "red"}
    with pytest.raises(MarketError, match="has schema 2, this olapps reads up to 1") as raised:
        Revision.decode(json.dumps(value).encode(), "revision 3fb1")
    assert raised.value.hint == "update olapps"
