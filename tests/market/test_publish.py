"""Publishing: what is refused and why, what is written, and that nobody's app is lost."""

import json
from collections.abc import Callable
from dataclasses import replace
from gzip import compress
from pathlib import Path

import pytest
from support.market import (
    NEW,
    OLD,
    PNG,
    MemoryStore,
    build_archive,
    build_candidate,
    build_chart,
    hands,
    in_process,
    listing,
)

from olares_apps.errors import (
    ArchiveError,
    MarketError,
    StoreCorrupt,
    UsageError,
    VersionRefused,
)
from olares_apps.market import canonical
from olares_apps.market.answers import Answers
from olares_apps.market.candidates import Candidate, Icon, candidate_archive
from olares_apps.market.dir_store import DirStore
from olares_apps.market.history import status
from olares_apps.market.plan import Action
from olares_apps.market.publish import PublishReport, plan_publish, publish
from olares_apps.market.records import Source
from olares_apps.market.store import Store, open_store
from olares_apps.market.verify import verify


def _publish(store: Store, *candidates: Candidate, keep_going: bool = False) -> PublishReport:
    return publish(store, candidates, publisher="alice", keep_going=keep_going, hands=hands())


def _live(store: Store) -> dict[str, dict[str, str]]:
    return {name: dict(versions) for name, versions in status(store).live.items()}


CATALOG = (
    build_candidate("demoalpha", "1.0.0"),
    build_candidate("demobravo", "1.2.0"),
    build_candidate("democharlie", "2.0.1"),
)


@pytest.fixture
def catalog() -> MemoryStore:
    store = MemoryStore()
    _publish(store, *CATALOG)
    return store


def test_a_publish_lists_every_app_with_its_archive(catalog: MemoryStore) -> None:
    assert _live(catalog) == {
        "demoalpha": {OLD: "1.0.0", NEW: "1.0.1"},
        "demobravo": {OLD: "1.2.0", NEW: "1.2.1"},
        "democharlie": {OLD: "2.0.1", NEW: "2.0.2"},
    }
    assert verify(catalog).problems == []


def test_the_report_tells_old_and_new_version_and_digest(catalog: MemoryStore) -> None:
    update = build_candidate("demoalpha", "1.0.2", image="b2")
    report = _publish(catalog, update, CATALOG[1])
    shown = {step["app"]: step for step in report.as_dict()["apps"]}  # type: ignore[index,attr-defined]
    assert shown["demoalpha"]["action"] == "update"
    assert shown["demoalpha"]["before"] == {OLD: "1.0.0", NEW: "1.0.1"}
    assert shown["demoalpha"]["after"] == {OLD: "1.0.2", NEW: "1.0.3"}
    assert shown["demoalpha"]["digests"]["1.0.2"] == update.archives[0].sha256
    assert shown["demobravo"]["action"] == "unchanged"
    assert report.verified > 4


def test_an_app_that_is_not_among_the_candidates_stays_as_it_is(catalog: MemoryStore) -> None:
    before = status(catalog).state.revision
    _publish(catalog, build_candidate("demoalpha", "1.0.2", image="b2"))
    after = status(catalog).state.revision
    assert before
    assert after
    for name in ("demobravo", "democharlie"):
        assert after.apps[name] == before.apps[name]


def test_the_same_content_again_writes_nothing(tmp_path: Path) -> None:
    store = DirStore(tmp_path / "market")
    _publish(store, *CATALOG)
    before = listing(tmp_path)
    report = _publish(DirStore(tmp_path / "market"), *CATALOG)
    assert (report.changed, report.written) == (False, 0)
    assert {step.action for step in report.plan.steps} == {Action.UNCHANGED}
    assert listing(tmp_path) == before


def test_a_publish_without_changes_reads_the_head_and_the_revision_and_no_file_per_app() -> None:
    store = MemoryStore()
    apps = [build_candidate(f"demo{index}", generations=(OLD,)) for index in range(40)]
    _publish(store, *apps)
    store.reads.clear()
    assert not _publish(store, *apps).changed
    assert [key.partition("/")[0] for key in store.reads] == ["head.json", "revisions"]


def test_one_app_more_reads_only_its_own_ledger() -> None:
    store = MemoryStore()
    _publish(store, *(build_candidate(f"demo{index}", generations=(OLD,)) for index in range(40)))
    update = build_candidate("demo7", "1.0.1", generations=(OLD,), image="b2")
    reads: list[str] = []

    def note(name: str) -> None:
        if name == "head.json":
            reads.extend(store.reads)

    store.reads.clear()
    publish(store, [update], publisher="alice", hands=hands(on_step=note))
    blobs = [key for key in reads if key.startswith("blobs/")]
    assert len(blobs) == 1


def test_a_dry_run_plans_and_writes_nothing(tmp_path: Path) -> None:
    store = DirStore(tmp_path / "market")
    plan = plan_publish(store, CATALOG)
    assert [step.action for step in plan.steps] == [Action.NEW] * 3
    assert listing(tmp_path) == {}


def test_another_packing_of_the_same_tar_is_no_change(catalog: MemoryStore) -> None:
    def repacked(candidate: Candidate) -> Candidate:
        archives = []
        for archive in candidate.archives:
            import gzip

            data = compress(gzip.decompress(archive.data), compresslevel=1, mtime=0)
            archives.append(replace(archive, data=data, sha256=canonical.digest(data)))
        return replace(candidate, archives=archives)

    assert not _publish(catalog, repacked(CATALOG[0])).changed


# What is refused: the candidate, and facts that the message must name.
REFUSED: dict[str, tuple[Candidate, tuple[str, ...]]] = {
    "other bytes under a published version": (
        build_candidate("demoalpha", "1.0.0", image="b2"),
        (
            "demoalpha: 1.0.0 is already published with sha256",
            CATALOG[0].archives[0].sha256,
            build_archive("demoalpha", "1.0.0", image="b2").sha256,
        ),
    ),
    "other categories under a published version": (
        build_candidate("demoalpha", "1.0.0", categories=("Vision",)),
        ("1.0.0 is already published",),
    ),
    "a lower version": (
        build_candidate("democharlie", "1.0.0", image="b2"),
        ("1.0.0 is not greater than published 2.0.2; next allowed 2.0.3",),
    ),
    "the number of another generation's archive": (
        build_candidate("demoalpha", "1.0.1", image="b2"),
        ("1.0.1 is already published", NEW),
    ),
    "ten below nine as text": (
        build_candidate("demobravo", "1.1.10", image="b2"),
        ("1.1.10 is not greater than published 1.2.1",),
    ),
    "only the older generation": (
        Candidate("demoalpha", "demoalpha", [build_archive("demoalpha", "1.0.5", OLD)]),
        ("a newer generation needs a greater version", "1.0.1 for olares-1.12.6"),
    ),
    "one number for both generations": (
        Candidate(
            "demodelta",
            "demodelta",
            [build_archive("demodelta", "1.0.0", OLD), build_archive("demodelta", "1.0.0", NEW)],
        ),
        ("a newer generation needs a greater version",),
    ),
    "no archive": (Candidate("demodelta", "demodelta", []), ("has no archive",)),
    "an unknown generation": (
        Candidate("demodelta", "d", [replace(build_archive("demodelta"), generation="olares-9")]),
        ("generation 'olares-9' is unknown",),
    ),
    "an empty version": (
        Candidate("democharlie", "d", [replace(build_archive("democharlie"), version="")]),
        ("democharlie: the version for olares-1.12.3 is empty",),
    ),
    "a leading zero": (
        Candidate("demodelta", "d", [replace(build_archive("demodelta"), version="26.09.80")]),
        ("version '26.09.80' is not MAJOR.MINOR.PATCH",),
    ),
    "seventeen characters": (
        Candidate(
            "demodelta", "d", [replace(build_archive("demodelta"), version="1000000.2000000.3")]
        ),
        ("has 17 characters, limit 16",),
    ),
    "a bad name": (
        replace(build_candidate("demodelta"), app="demo-delta"),
        ("'demo-delta' is no app name",),
    ),
}


@pytest.mark.parametrize(("candidate", "facts"), REFUSED.values(), ids=REFUSED)
def test_a_refused_app_names_the_facts_and_stops_the_publish(
    catalog: MemoryStore, candidate: Candidate, facts: tuple[str, ...]
) -> None:
    head, objects = catalog.head, dict(catalog.objects)
    with pytest.raises(VersionRefused) as raised:
        _publish(catalog, candidate, build_candidate("demoecho"))
    for fact in facts:
        assert fact in raised.value.message
    assert (catalog.head, catalog.objects) == (head, objects)


def test_with_keep_going_a_refused_app_keeps_its_entry_and_the_others_go_out(
    catalog: MemoryStore,
) -> None:
    broken = build_candidate("demobravo", "1.2.0", image="b2")
    update = build_candidate("demoalpha", "1.0.2", image="b2")
    report = _publish(catalog, update, broken, keep_going=True)
    assert [step.app for step in report.plan.refused] == ["demobravo"]
    assert _live(catalog)["demobravo"] == {OLD: "1.2.0", NEW: "1.2.1"}
    assert _live(catalog)["demoalpha"] == {OLD: "1.0.2", NEW: "1.0.3"}


def test_the_greatest_version_counts_over_all_generations(catalog: MemoryStore) -> None:
    newer = Candidate("demoalpha", "demoalpha", [build_archive("demoalpha", "1.0.7", NEW)])
    _publish(catalog, newer)
    with pytest.raises(VersionRefused, match=r"1\.0\.3 is not greater than published 1\.0\.7"):
        _publish(catalog, build_candidate("demoalpha", "1.0.3", image="b3"))
    _publish(catalog, build_candidate("demoalpha", "1.0.8", image="b3"))
    assert _live(catalog)["demoalpha"] == {OLD: "1.0.8", NEW: "1.0.9"}


def test_a_generation_without_a_new_archive_keeps_the_one_it_offers(catalog: MemoryStore) -> None:
    _publish(
        catalog, Candidate("demoalpha", "demoalpha", [build_archive("demoalpha", "1.0.2", NEW)])
    )
    assert _live(catalog)["demoalpha"] == {OLD: "1.0.0", NEW: "1.0.2"}


def test_two_apps_with_one_id_are_refused(catalog: MemoryStore) -> None:
    first, second = _colliding_names()
    _publish(catalog, build_candidate(first))
    with pytest.raises(VersionRefused, match=f"has the id .*, which belongs to {first}"):
        _publish(catalog, build_candidate(second))


def _colliding_names() -> tuple[str, str]:
    from olares_apps.spec.types import app_id

    seen: dict[str, str] = {}
    for number in range(200_000):
        name = f"a{number}"
        if (other := seen.setdefault(app_id(name), name)) != name:
            return other, name
    raise AssertionError("no collision among these names")


def test_an_app_that_is_there_twice_is_refused(catalog: MemoryStore) -> None:
    with pytest.raises(VersionRefused, match="demodelta: is there twice in one publish"):
        _publish(catalog, build_candidate("demodelta"), build_candidate("demodelta", "2.0.0"))


def _archive(change: Callable[[bytes], bytes]) -> Candidate:
    archive = build_archive("demodelta")
    data = change(archive.data)
    archive = replace(archive, data=data, sha256=canonical.digest(data))
    return Candidate("demodelta", "demodelta", [replace(archive, tar_sha256="0" * 64)])


BROKEN = {
    "the archive of another version": (
        _archive(lambda data: build_archive("demodelta", "0.9.0").data),
        "demodelta-1.0.0.tgz contains Chart.yaml version '0.9.0', expected '1.0.0'",
    ),
    "the archive of another app": (
        _archive(lambda data: build_archive("demoalpha").data),
        "its top folder is demoalpha, expected demodelta",
    ),
    "a manifest of another version": (
        _archive(
            lambda data: (
                candidate_archive(
                    replace(
                        build_chart("demodelta"),
                        files={
                            **build_chart("demodelta").files,
                            "OlaresManifest.yaml": build_chart("demodelta", "1.0.1").files[
                                "OlaresManifest.yaml"
                            ],
                        },
                    ),
                    content="0" * 64,
                ).data
            )
        ),
        "contains OlaresManifest.yaml metadata.version '1.0.1', expected '1.0.0'",
    ),
    "gzip inside gzip": (_archive(compress), "is not a tar: gzip inside gzip"),
    "a truncated archive": (_archive(lambda data: data[:-20]), "is truncated"),
    "an HTML page": (_archive(lambda data: b"<html>404</html>"), "is not gzip data"),
    "an empty file": (_archive(lambda data: b""), "is empty"),
    "bytes behind the archive": (_archive(lambda data: data + b"x"), "bytes after its gzip data"),
}


@pytest.mark.parametrize(("candidate", "problem"), BROKEN.values(), ids=BROKEN)
def test_an_archive_that_is_not_what_it_claims_is_refused(
    catalog: MemoryStore, candidate: Candidate, problem: str
) -> None:
    head = catalog.head
    with pytest.raises(ArchiveError) as raised:
        _publish(catalog, candidate)
    assert problem in raised.value.message
    assert catalog.head == head


def test_a_failed_publish_burns_no_version(catalog: MemoryStore) -> None:
    broken, _ = BROKEN["a truncated archive"]
    with pytest.raises(ArchiveError):
        _publish(catalog, broken)
    _publish(catalog, build_candidate("demodelta", image="fixed"))
    assert _live(catalog)["demodelta"] == {OLD: "1.0.0", NEW: "1.0.1"}


def test_an_icon_alone_can_change_without_a_new_version(catalog: MemoryStore) -> None:
    with_icon = replace(CATALOG[0], icon=Icon.of(PNG))
    assert [step.action for step in _publish(catalog, with_icon).plan.steps] == [Action.ICON]
    assert not _publish(catalog, with_icon).changed
    answer = Answers(catalog).respond("GET", "/icons/demoalpha.png")
    assert (answer.status, answer.body, answer.content_type) == (200, PNG, "image/png")
    _publish(catalog, build_candidate("demoalpha", "1.0.2", image="b2"))
    assert Answers(catalog).respond("GET", "/icons/demoalpha.png").body == PNG


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"GIF89a", "neither PNG nor WebP"), (PNG + b"x" * 2**19, "bytes, limit 524288")],
)
def test_an_icon_that_a_device_cannot_show_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(ArchiveError, match=problem):
        Icon.of(data)


def test_a_new_name_of_the_source_is_a_change_of_its_own(catalog: MemoryStore) -> None:
    source = Source("market.demo", "Demo")
    assert publish(catalog, [], publisher="a", source=source, hands=hands()).changed
    assert not publish(catalog, [], publisher="a", source=source, hands=hands()).changed
    health = json.loads(Answers(catalog).respond("GET", "/health").body)
    assert (health["name"], health["apps"]) == ("Demo", 3)


@pytest.mark.parametrize("source", [Source("", "X"), Source("x", "y" * 51), Source("x\0", "y")])
def test_a_name_of_the_source_that_devices_cannot_store_is_refused(
    catalog: MemoryStore, source: Source
) -> None:
    with pytest.raises(UsageError, match="must have 1 to 50 printable characters"):
        publish(catalog, [], publisher="a", source=source, hands=hands())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"note": "x" * 2**20}, "the note has 1048576 bytes, limit 65536"),
        ({"note": "a\0b"}, r"the note holds the character U\+0000"),
        ({"note": "\ud800"}, r"the note holds the character U\+D800"),
        ({"publisher": "é" * 101}, "the publisher has 202 bytes, limit 200"),
    ],
)
def test_words_that_a_revision_cannot_carry_are_refused(
    catalog: MemoryStore, words: dict[str, str], problem: str
) -> None:
    head, objects = catalog.head, dict(catalog.objects)
    words = {"publisher": "a", "note": ""} | words
    with pytest.raises(UsageError, match=problem):
        publish(catalog, [build_candidate("demodelta")], hands=hands(), **words)  # type: ignore[arg-type]
    assert (catalog.head, catalog.objects) == (head, objects)


def test_publishing_nothing_into_an_empty_market_makes_no_revision() -> None:
    store = MemoryStore()
    report = publish(store, [], publisher="a", source=Source("x", "X"), hands=hands())
    assert (report.changed, report.revision, store.head) == (False, None, None)


def test_bytes_that_come_back_changed_are_noticed(catalog: MemoryStore) -> None:
    update = build_candidate("demoalpha", "1.0.2", image="b2")

    def spoil(name: str) -> None:
        if name == "verify":
            catalog.objects[f"blobs/sha256/{update.archives[0].sha256}"] = b"spoiled"

    with pytest.raises(StoreCorrupt, match=r"demoalpha-1\.0\.2\.tgz"):
        publish(catalog, [update], publisher="a", hands=hands(on_step=spoil))


def test_a_blob_that_exists_with_other_bytes_stops_before_the_head_moves(
    catalog: MemoryStore,
) -> None:
    update, head = build_candidate("demoalpha", "1.0.2", image="b2"), catalog.head
    catalog.objects[f"blobs/sha256/{update.archives[0].sha256}"] = b"spoiled"
    with pytest.raises(StoreCorrupt, match=update.archives[0].sha256):
        _publish(catalog, update)
    assert catalog.head == head


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://", "cannot be used"),
        ("http://market.example", "must not go over plain http"),
        ("s3://bucket", "is not the address of a market"),
        ("/srv/market", "is not the address of a market"),
        ("dir:", "is not the address of a market"),
    ],
)
def test_an_address_of_another_form_is_explained(address: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        open_store(address)


def test_a_relative_address_starts_at_the_base(tmp_path: Path) -> None:
    store = open_store("dir:.market", base=tmp_path)
    _publish(store, CATALOG[0])
    assert (tmp_path / ".market/head.json").is_file()
    assert store.url == f"dir:{tmp_path}/.market"


def test_a_reader_in_another_process_sees_a_publish_at_once(tmp_path: Path) -> None:
    store = DirStore(tmp_path / "market")
    answers = Answers(store)
    assert answers.respond("GET", "/api/v1/appstore/hash").status == 503
    for version in ("1.0.0", "1.0.2"):
        candidate = build_candidate("demoalpha", version, image=version)
        assert in_process(lambda c=candidate: _publish(DirStore(store.root), c)) == 0  # type: ignore[misc]
        info = answers.respond("GET", "/api/v1/appstore/info", {"version": "1.12.5"})
        assert json.loads(info.body)["data"]["apps"]["4d6544d7"]["version"] == version


def test_errors_of_a_market_exit_with_one() -> None:
    assert (MarketError.exit_code, VersionRefused.exit_code, ArchiveError.exit_code) == (1, 1, 1)


def test_a_category_without_a_name_is_refused(catalog: MemoryStore) -> None:
    nameless = build_candidate("demoalpha", "1.0.2", categories=("AI", " "), image="b2")
    with pytest.raises(VersionRefused, match=r"a category of the chart for .* is empty"):
        _publish(catalog, nameless)
