"""The Worker moves the head only to a revision that holds: each rule, broken once."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.market import (
    NEW,
    OLD,
    PNG,
    MemoryStore,
    build_candidate,
    hands,
)
from support.worker import Token, Worker, make_token, running

from olares_apps.errors import MarketError
from olares_apps.market import canonical, objects
from olares_apps.market.commit import read_state
from olares_apps.market.entries import AppEntry, FileEntry, Ledger
from olares_apps.market.http_store import HttpStore
from olares_apps.market.prepare import Prepared, prepare
from olares_apps.market.publish import publish
from olares_apps.market.records import Revision, Source
from olares_apps.market.retreat import remove, rollback
from olares_apps.market.store import Store

Change = Callable[[Revision], Revision]

FIRST = [build_candidate("demoalpha", "1.0.0"), build_candidate("demobravo")]
UPDATE = build_candidate("demoalpha", "1.0.2", image="b2", icon=PNG)
TOKENS = (
    make_token(),
    make_token(scopes=("publish",)),
    make_token(apps=("demob",)),
    make_token(scopes=("rollback",)),
)
EVERYTHING, PUBLISH_ONLY, BRAVO_ONLY, ROLLBACK_ONLY = range(4)


@pytest.fixture(scope="module")
def market(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with running(bundle, tmp_path_factory.mktemp("state"), tokens=TOKENS) as worker:
        publish(worker.store(), FIRST, publisher="t", hands=hands())
        yield worker


def _local() -> MemoryStore:
    """Return a market with the update that the Worker's market, made alike, does not have yet."""
    store, made = MemoryStore(), hands()
    publish(store, FIRST, publisher="t", hands=made)
    publish(store, [UPDATE], publisher="t", hands=made)
    return store


LOCAL = _local()


def _next() -> Revision:
    revision = read_state(LOCAL).revision
    assert revision is not None
    return revision


def _upload(store: Store, prepared: Prepared, without: str) -> None:
    for key, data in LOCAL.objects.items():
        if key.startswith("blobs/") and without not in key:
            objects.put(store, key, data)
    for path, data in prepared.answers.items():
        if without != path:
            objects.put(store, objects.answer_key(prepared.identity, path), data)
    objects.put(store, objects.revision_key(prepared.identity), prepared.data)


def _refusal(store: HttpStore, revision: Revision, *, without: str = "none") -> str:
    """Return why a revision is refused; the head stays where it was."""
    prepared = prepare(revision)
    _upload(store, prepared, without)
    before = store.read_head()
    with pytest.raises(MarketError) as raised:
        store.swap_head(before[1], prepared.revision.head(prepared.identity))
    assert store.read_head() == before
    return raised.value.message


def _with_alpha(change: Callable[[AppEntry], AppEntry]) -> Change:
    return lambda revision: replace(
        revision, apps={**revision.apps, "demoalpha": change(revision.apps["demoalpha"])}
    )


def _with_archive(generation: str, **fields: object) -> Change:
    return _with_alpha(
        lambda app: replace(
            app,
            current=dict(app.current) | {generation: replace(app.current[generation], **fields)},  # type: ignore[arg-type]
        )
    )


def _ledgered(revision: Revision, change: Callable[[Ledger], Ledger]) -> Revision:
    """Return a revision whose ledger of alpha is changed, and put that ledger in place."""
    ledger = change(objects.read_ledger(LOCAL, revision.apps["demoalpha"].ledger, "demoalpha"))
    data = ledger.encode()
    LOCAL.objects[objects.blob_key(canonical.digest(data))] = data
    offered = {entry.generation: entry.archive for entry in ledger.charts.values()}
    current = {name: offered[name] for name in revision.apps["demoalpha"].current}
    told = {name: archive.version for name, archive in current.items()}
    changed = _with_alpha(lambda app: replace(app, ledger=canonical.digest(data), current=current))(
        revision
    )
    return replace(changed, changes=(replace(revision.changes[0], after=told),))


def _forgets(ledger: Ledger) -> Ledger:
    return Ledger(ledger.app, {k: v for k, v in ledger.charts.items() if "1.0.0" not in k})


def _rewrites(ledger: Ledger) -> Ledger:
    file, other = "demoalpha-1.0.0.tgz", ledger.charts["demoalpha-1.0.2.tgz"].archive
    old = ledger.charts[file]
    changed = replace(old, archive=replace(old.archive, sha256=other.sha256))
    return Ledger(ledger.app, {**ledger.charts, file: changed})


def _changed(ledger: Ledger, file: str, **fields: object) -> Ledger:
    entry = ledger.charts[file]
    archive = replace(entry.archive, **fields)  # type: ignore[arg-type]
    return Ledger(ledger.app, {**ledger.charts, file: replace(entry, archive=archive)})


def _spells_otherwise(ledger: Ledger) -> Ledger:
    return _changed(ledger, "demoalpha-1.0.2.tgz", version="1.0.2-rc1")


def _dates_back(ledger: Ledger) -> Ledger:
    return _changed(ledger, "demoalpha-1.0.2.tgz", published=1)


def _shows_otherwise(ledger: Ledger) -> Ledger:
    file = "demoalpha-1.0.3.tgz"
    card = replace(ledger.charts[file].archive.card, description="Another model.")
    return _changed(ledger, file, card=card)


def _goes_down(ledger: Ledger) -> Ledger:
    archive = ledger.charts["demoalpha-1.0.2.tgz"].archive
    return ledger.adding(OLD, replace(archive, version="0.9.0"))


BROKEN: dict[str, tuple[Change, str]] = {
    "its parent is another revision": (lambda r: replace(r, parent="0" * 64), "its parent is 0000"),
    "it is not later": (lambda r: replace(r, created=r.created - 10**13), "not after the live"),
    "it is from the future": (lambda r: replace(r, created=4 * 10**18), "in the future"),
    "an app is gone": (
        lambda r: replace(r, apps={"demoalpha": r.apps["demoalpha"]}),
        "demobravo is missing: take an app off the market with remove",
    ),
    "two apps have one id": (
        _with_alpha(lambda app: replace(app, id="13a24119")),
        "have the same id 13a24119",
    ),
    "an id is not the md5": (
        _with_alpha(lambda app: replace(app, id="00000000")),
        "the id 00000000 is not its md5",
    ),
    "greatest went down": (
        _with_alpha(lambda app: replace(app, greatest="1.0.0")),
        "greatest went down from 1.0.1 to 1.0.0",
    ),
    "a version has another form": (
        lambda r: _ledgered(r, _spells_otherwise),
        "'1.0.2-rc1' is no version",
    ),
    "a version is above the greatest": (
        _with_alpha(lambda app: replace(app, greatest="1.0.2")),
        "demoalpha 1.0.3 is above its greatest 1.0.2",
    ),
    "the greatest version was never published": (
        _with_alpha(lambda app: replace(app, greatest="9.0.0")),
        "greatest is 9.0.0, which was never published",
    ),
    "a new archive claims an older time": (
        lambda r: _ledgered(r, _dates_back),
        "demoalpha-1.0.2.tgz: published is 1, not when its revision was made",
    ),
    "an offer claims a later time": (
        _with_archive(NEW, published=4 * 10**12),
        "demoalpha 1.0.3: published is 4000000000000",
    ),
    "an app claims a later change": (
        _with_alpha(lambda app: replace(app, modified=4 * 10**12)),
        "demoalpha: modified is 4000000000000",
    ),
    "the market claims a later name": (
        lambda r: replace(r, source=replace(r.source, modified=4 * 10**12)),
        "the market's name was modified at 4000000000000",
    ),
    "an app changes and the history is silent": (
        lambda r: replace(r, changes=()),
        "its changes are not what it changes",
    ),
    "the history tells another version": (
        lambda r: replace(r, changes=(replace(r.changes[0], after={OLD: "7.0.0"}),)),
        "its changes are not what it changes",
    ),
    "the history tells of an app that did not change": (
        lambda r: replace(r, changes=(*r.changes, replace(r.changes[0], app="demobravo"))),
        "its changes are not what it changes",
    ),
    "a generation that apps are on offer for is gone": (
        lambda r: replace(r, generations=r.generations[:1]),
        f"demobravo is on offer for {NEW}, which is no generation",
    ),
    "two generations serve one release": (
        lambda r: replace(
            r, generations=(replace(r.generations[0], before="1.12.7"), r.generations[1])
        ),
        f"the generation '{NEW}' from 1.12.6 to no end cannot be served",
    ),
    "a generation serves no release": (
        lambda r: replace(
            r, generations=(replace(r.generations[0], before="1.12.3"), r.generations[1])
        ),
        f"the generation '{OLD}' from 1.12.3 to 1.12.3 cannot be served",
    ),
    "an app fills the revision": (
        _with_alpha(lambda app: replace(app, notes="x" * 65536)),
        "demoalpha: its entry has ",
    ),
    "the history calls it something else": (
        lambda r: replace(r, action="repair"),
        'revision.action is "repair", expected publish or republish',
    ),
    "a text holds a NUL": (
        lambda r: replace(r, source=replace(r.source, label="a\0b")),
        "it holds a NUL",
    ),
    "the lists show another text than the detail": (
        lambda r: _ledgered(r, _shows_otherwise),
        "detail of demoalpha-1.0.3.tgz is not what the lists show of it",
    ),
    "an offer is not in the ledger": (_with_archive(NEW, size=1), "offered and not in the ledger"),
    "the ledger forgets": (lambda r: _ledgered(r, _forgets), "no longer in the ledger"),
    "a published version has other bytes": (
        lambda r: _ledgered(r, _rewrites),
        "demoalpha-1.0.0.tgz is published with sha256",
    ),
    "a new version is not greater": (
        lambda r: _ledgered(r, _goes_down),
        "demoalpha 0.9.0 is not greater than published 1.0.1",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_head_does_not_move_when(what: str, market: Worker) -> None:
    change, expected = BROKEN[what]
    message = _refusal(market.store(), change(_next()))
    assert "not published" in message
    assert expected in message


@pytest.mark.parametrize("missing", ["archive", "detail", "icon", "ledger"])
def test_the_head_does_not_move_to_blobs_that_are_missing(
    missing: str, bundle: Path, tmp_path: Path
) -> None:
    app = _next().apps["demoalpha"]
    assert app.icon is not None
    digest = {
        "archive": app.current[NEW].sha256,
        "detail": app.current[OLD].detail,
        "icon": app.icon.sha256,
        "ledger": app.ledger,
    }[missing]
    with running(bundle, tmp_path / "state") as worker:
        publish(worker.store(), FIRST, publisher="t", hands=hands())
        message = _refusal(worker.store(), _next(), without=digest)
    assert f"blobs/sha256/{digest} is missing" in message


@pytest.mark.parametrize("path", ["files.json", f"{NEW}/info.json", "none/taxonomy.json"])
def test_the_head_does_not_move_to_answers_that_are_missing(path: str, market: Worker) -> None:
    revision = replace(_next(), note=f"without {path}")
    message = _refusal(market.store(), revision, without=path)
    assert f"{path} is missing (prepared answer)" in message


def _swap(store: HttpStore, revision: Revision, answers: Mapping[str, bytes]) -> None:
    """Put a revision with these answers in place, and move the head to it."""
    digests = {path: canonical.digest(data) for path, data in answers.items()}
    finished = replace(revision, answers=digests)
    data = finished.encode()
    prepared = Prepared(finished, data, canonical.digest(data), answers)
    _upload(store, prepared, "none")
    store.swap_head(store.read_head()[1], finished.head(prepared.identity))


def test_the_head_does_not_move_to_answers_of_another_catalogue(market: Worker) -> None:
    store, parent = market.store(), _next().parent
    assert parent is not None
    stale = prepare(objects.read_revision(LOCAL, parent))
    with pytest.raises(MarketError, match=f"{OLD}/applications.json is not what the revision says"):
        _swap(store, prepare(_next()).revision, stale.answers)


@pytest.mark.parametrize("path", sorted(prepare(_next()).answers))
def test_no_answer_for_devices_says_anything_of_its_own(path: str, market: Worker) -> None:
    store, good = market.store(), prepare(_next())
    document = json.loads(good.answers[path])
    document[next(iter(document), "more")] = "something else"
    answers = {**good.answers, path: canonical.encode(document)}
    before = store.read_head()
    with pytest.raises(MarketError) as raised:
        _swap(store, good.revision, answers)
    assert f"not published: {path} is not what the revision says" in raised.value.message
    assert "update the older one" in raised.value.message
    assert store.read_head() == before


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "is no PNG or WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/png", "is no PNG or WebP"),
        (PNG, "image/webp", "is no PNG or WebP of type image/webp"),
        (PNG, "toString", "is no PNG or WebP of type toString"),
        (b"RIFF1234WAVE", "image/webp", "is no PNG or WebP"),
        (PNG[:4], "image/png", "is no PNG or WebP"),
        (PNG + bytes(512 * 1024), "image/png", "has 524302 bytes, limit 524288"),
    ],
)
def test_an_icon_is_a_small_picture_without_a_script(
    data: bytes, kind: str, reason: str, market: Worker
) -> None:
    icon = FileEntry(canonical.digest(data), len(data), kind)
    LOCAL.objects[objects.blob_key(icon.sha256)] = data
    message = _refusal(market.store(), _with_alpha(lambda app: replace(app, icon=icon))(_next()))
    assert f"icon of demoalpha {reason}" in message


def test_nobody_chooses_the_hash_that_devices_compare(market: Worker) -> None:
    good = prepare(_next())
    with pytest.raises(MarketError, match="its hash is not that of what devices see"):
        _swap(market.store(), replace(good.revision, hash="0" * 64), good.answers)


def test_a_revision_that_only_some_readers_take_is_refused(market: Worker) -> None:
    store, prepared = market.store(), prepare(_next())
    data = prepared.data.replace(b'"note":', b'"note":"first","note":')
    twice = Prepared(prepared.revision, data, canonical.digest(data), prepared.answers)
    _upload(store, twice, "none")
    with pytest.raises(MarketError, match="the revision is not in canonical form"):
        store.swap_head(store.read_head()[1], twice.revision.head(twice.identity))


def test_the_head_must_follow_from_its_revision(market: Worker) -> None:
    store, prepared = market.store(), prepare(_next())
    _upload(store, prepared, "none")
    head = replace(prepared.revision.head(prepared.identity), apps=99)
    with pytest.raises(MarketError, match="not the one that follows from its revision"):
        store.swap_head(store.read_head()[1], head)


def _move_windows(store: HttpStore) -> None:
    """Take the first releases away from the oldest generation, and change nothing else."""
    head, etag = store.read_head()
    assert head is not None
    live = objects.read_revision(store, head.revision)
    first, *others = live.generations
    moved = replace(first, first="1.12.5")
    following = replace(
        live,
        parent=head.revision,
        created=live.created + 10**9,
        changes=(),
        generations=(moved, *others),
    )
    prepared = prepare(following)
    for path, data in prepared.answers.items():
        objects.put(store, objects.answer_key(prepared.identity, path), data)
    objects.put(store, objects.revision_key(prepared.identity), prepared.data)
    store.swap_head(etag, prepared.revision.head(prepared.identity))


def test_a_token_does_what_its_scopes_and_prefixes_say(bundle: Path, tmp_path: Path) -> None:
    with running(bundle, tmp_path / "state", tokens=TOKENS) as worker:

        def store(token: int) -> HttpStore:
            return worker.store(index=token)

        made = hands()
        bravo = build_candidate("demobravo")
        with pytest.raises(MarketError, match="may not change the market's name or generations"):
            publish(store(BRAVO_ONLY), [bravo], publisher="t", hands=made)
        publish(store(PUBLISH_ONLY), FIRST, publisher="t", hands=made)
        with pytest.raises(MarketError, match="may not change demoalpha") as raised:
            publish(store(BRAVO_ONLY), [UPDATE], publisher="t", hands=made)
        assert raised.value.hint == "ask the market's owner for a token with that permission"
        bravo = build_candidate("demobravo", "1.0.2", image="b2")
        with pytest.raises(MarketError, match="may not change the market's name or generations"):
            publish(
                store(BRAVO_ONLY), [bravo], publisher="t", source=Source(label="Mine"), hands=made
            )
        publish(store(BRAVO_ONLY), [bravo], publisher="t", hands=made)
        with pytest.raises(MarketError, match="may not change the market's name or generations"):
            _move_windows(store(BRAVO_ONLY))
        with pytest.raises(MarketError, match="may not rollback"):
            _move_windows(store(PUBLISH_ONLY))
        with pytest.raises(MarketError, match="may not publish"):
            _move_windows(store(ROLLBACK_ONLY))
        for retreat in (
            lambda token: rollback(store(token), publisher="t", hands=made),
            lambda token: remove(store(token), ["demobravo"], publisher="t", hands=made),
        ):
            with pytest.raises(MarketError, match="may not rollback"):
                retreat(PUBLISH_ONLY)
        with pytest.raises(MarketError, match="may not publish"):
            publish(store(ROLLBACK_ONLY), [UPDATE], publisher="t", hands=made)
        rollback(store(ROLLBACK_ONLY), publisher="t", hands=made)
        remove(store(ROLLBACK_ONLY), ["demobravo"], publisher="t", hands=made)


def test_what_the_history_calls_a_rollback_takes_the_scope_for_one(
    bundle: Path, tmp_path: Path
) -> None:
    with running(bundle, tmp_path / "state", tokens=TOKENS) as worker:
        publish(worker.store(), FIRST, publisher="t", hands=hands())
        for action in ("rollback", "remove"):
            revision = replace(_next(), action=action, restores=None)
            with pytest.raises(MarketError, match="may not rollback"):
                _swap(worker.store(index=PUBLISH_ONLY), revision, prepare(revision).answers)
        renamed = replace(
            _next(),
            action="rollback",
            source=Source(label="Mine", modified=canonical.milliseconds(_next().created)),
        )
        made = prepare(renamed)
        with pytest.raises(MarketError, match="may not publish"):
            _swap(worker.store(index=ROLLBACK_ONLY), made.revision, made.answers)


@pytest.mark.parametrize("levels", [101, 12_000, 100_000])
def test_what_is_nested_deeper_than_readers_take_is_refused(levels: int, market: Worker) -> None:
    store, good = market.store(), prepare(_next())
    deep = b"[" * levels + b"]" * levels
    for name, data in (
        ("detail", _deep_detail(deep)),
        ("revision", good.data.replace(b'"notes":', b'"deep":' + deep + b',"notes":', 1)),
    ):
        digest = canonical.digest(data)
        if name == "revision":
            objects.put(store, objects.revision_key(digest), data)
            head = good.revision.head(digest)
            with pytest.raises(MarketError, match=r"not published"):
                store.swap_head(store.read_head()[1], head)
            continue
        LOCAL.objects[objects.blob_key(digest)] = data
        revision = _ledgered(
            _next(), lambda ledger, to=digest: _changed(ledger, "demoalpha-1.0.3.tgz", detail=to)
        )
        message = _refusal(store, revision)
        assert "nested deeper than 100 levels" in message or "not in canonical form" in message


def _deep_detail(deep: bytes) -> bytes:
    """Return the newest detail of alpha with something deep in it, else as it was."""
    detail = LOCAL.objects[objects.blob_key(_next().apps["demoalpha"].current[NEW].detail)]
    return detail[:-1] + b',"zz":' + deep + b"}"


def test_a_secret_holds_digests_only() -> None:
    token: Token = make_token()
    assert token.text not in str(dict(token.entry))
    assert token.text not in repr(token)
