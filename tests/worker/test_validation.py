"""The Worker moves the head only to a revision that holds: each rule, broken once."""

from collections.abc import Callable, Iterator
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
from olares_apps.market.entries import AppEntry, Ledger
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
    return _with_alpha(lambda app: replace(app, ledger=canonical.digest(data)))(revision)


def _forgets(ledger: Ledger) -> Ledger:
    return Ledger(ledger.app, {k: v for k, v in ledger.charts.items() if "1.0.0" not in k})


def _rewrites(ledger: Ledger) -> Ledger:
    file, other = "demoalpha-1.0.0.tgz", ledger.charts["demoalpha-1.0.2.tgz"].archive
    old = ledger.charts[file]
    changed = replace(old, archive=replace(old.archive, sha256=other.sha256))
    return Ledger(ledger.app, {**ledger.charts, file: changed})


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
        _with_archive(OLD, version="1.0.2-rc1"),
        "'1.0.2-rc1' is no version",
    ),
    "a version is above the greatest": (_with_archive(OLD, version="9.0.0"), "above its greatest"),
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


def test_the_head_does_not_move_to_answers_of_another_catalogue(market: Worker) -> None:
    store, parent = market.store(), _next().parent
    assert parent is not None
    good = prepare(_next())
    stale = prepare(objects.read_revision(LOCAL, parent))
    revision = replace(good.revision, answers=stale.revision.answers)
    data = revision.encode()
    prepared = Prepared(revision, data, canonical.digest(data), stale.answers)
    _upload(store, prepared, "none")
    with pytest.raises(MarketError, match="does not list what is on offer") as raised:
        store.swap_head(store.read_head()[1], revision.head(prepared.identity))
    assert "details.json does not name the details on offer" in raised.value.message


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
    """Give the oldest generation releases that no device has, and nothing else."""
    head, etag = store.read_head()
    assert head is not None
    live = objects.read_revision(store, head.revision)
    first, *others = live.generations
    moved = replace(first, first="9.0.0", before="9.1.0")
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


def test_a_secret_holds_digests_only() -> None:
    token: Token = make_token()
    assert token.text not in str(dict(token.entry))
    assert token.text not in repr(token)
