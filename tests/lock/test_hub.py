"""The model hub: facts, headers by ranges, and every way in which it fails."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from support.fake_hub import COMMIT, TOKEN, FakeHub, Sparse, digest, sparse_model, split_model
from support.flaky_hub import Answer, drop, file_url_path, html_page, lfs_pointer, redirect, refuse
from support.gguf_files import (
    QWEN36_35B,
    TINY_MOE,
    gguf_header,
    metadata_of,
    tensors_of,
    tokenizer_metadata,
)

from olares_apps.errors import FetchError
from olares_apps.fit.gguf_errors import HtmlNotGguf, LfsPointer
from olares_apps.fit.gguf_facts import FactsError
from olares_apps.lock.cache import Cache
from olares_apps.lock.errors import (
    FileChanged,
    HubFailed,
    ModelFileMissing,
    Offline,
    RangeRefused,
    RepoGated,
    RepoMissing,
    RepoMoved,
    RevisionMissing,
    ShardsMissing,
    TooManyRequests,
)
from olares_apps.lock.hub import Hub
from olares_apps.lock.network import Network, retry_after

REPO = "example-org/Demo-35B-GGUF"
FILE = "Demo-35B-UD-Q3_K_XL.gguf"
PATH = file_url_path(REPO, FILE, COMMIT)


@pytest.fixture
def fake() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        yield hub


@pytest.fixture
def waits() -> list[float]:
    return []


OPENED: list[Network] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


@pytest.fixture
def hub(fake: FakeHub, waits: list[float], tmp_path: Path) -> Hub:
    return make(fake, waits, tmp_path)


def make(fake: FakeHub, waits: list[float], folder: Path, *, token: str = "", **more: bool) -> Hub:
    network = Network(attempts=3, timeout=10, sleep=waits.append)
    OPENED.append(network)
    return Hub(
        cache=Cache(folder / "cache"), endpoint=fake.url, token=token, network=network, **more
    )


@cache
def big_header() -> Sparse:
    """The 35B's header with a vocabulary of 248 320 tokens: about 11 MB."""
    tensors = tensors_of(QWEN36_35B)
    header = gguf_header(metadata_of(QWEN36_35B) | tokenizer_metadata(), tensors)
    return Sparse(header, 17_200_000_000)


class TestRepository:
    def test_a_branch_becomes_a_commit_with_sizes_and_digests(self, fake, hub):
        model = sparse_model(TINY_MOE)
        fake.add_repo(REPO, {FILE: model, "README.md": b"hello"})
        facts = hub.repo(REPO, "main")
        assert (facts.commit, facts.gated, facts.licence) == (COMMIT, False, "apache-2.0")
        assert facts.files == {FILE: (len(model), digest(model)), "README.md": (5, None)}

    def test_a_moved_repository_names_the_new_one(self, fake, hub):
        fake.add_repo("example-org/Demo-GGUF-MTP", {FILE: b"x"})
        fake.move_repo(REPO, "example-org/Demo-GGUF-MTP")
        with pytest.raises(RepoMoved, match="moved to example-org/Demo-GGUF-MTP"):
            hub.repo(REPO, "main")

    def test_a_missing_repository_may_also_be_private(self, fake, hub):
        with pytest.raises(RepoMissing, match="missing or private") as caught:
            hub.repo(REPO, "main")
        assert not isinstance(caught.value, RepoGated)

    def test_a_wrong_branch_is_told(self, fake, hub):
        fake.add_repo(REPO, {FILE: b"x"})
        with pytest.raises(RevisionMissing, match="no revision mian"):
            hub.repo(REPO, "mian")

    def test_a_private_repository_opens_with_the_token(self, fake, waits, tmp_path):
        fake.add_repo(REPO, {FILE: b"x"}, private=True)
        with pytest.raises(RepoMissing):
            make(fake, waits, tmp_path).repo(REPO, "main")
        assert make(fake, waits, tmp_path, token=TOKEN).repo(REPO, "main").commit == COMMIT

    def test_a_limit_is_waited_for_as_long_as_it_asks(self, fake, hub, waits):
        fake.add_repo(REPO, {FILE: b"x"})
        fake.script(fake.page(REPO), refuse(429, retry_after="3"), refuse(503))
        assert hub.repo(REPO, "main").commit == COMMIT
        assert waits == [3.0, 1.0]

    @pytest.mark.parametrize(
        ("answer", "error"),
        [
            (refuse(429, retry_after="1"), TooManyRequests),
            (refuse(429, retry_after="3600"), TooManyRequests),
            (refuse(500), HubFailed),
            (refuse(418), HubFailed),
            (html_page(), HubFailed),
            (Answer(body=b"[]"), HubFailed),
            (Answer(body=b'{"id": "example-org/Demo-35B-GGUF"}'), HubFailed),
            (drop(after=10), HubFailed),
        ],
    )
    def test_a_hub_that_stays_broken_is_given_up(self, fake, hub, waits, answer, error):
        fake.add_repo(REPO, {FILE: b"x"})
        fake.script(fake.page(REPO), then=answer)
        with pytest.raises(error):
            hub.repo(REPO, "main")
        assert len(waits) <= 2

    def test_a_page_without_end_is_given_up(self, fake, hub, waits):
        fake.add_repo(REPO, {FILE: b"x"})
        fake.script(fake.page(REPO), then=Answer(body=b" " * (16 * 2**20 + 1)))
        with pytest.raises(HubFailed, match="more than 16777216 bytes"):
            hub.repo(REPO, "main")

    def test_a_page_that_trickles_is_given_up(self, fake, hub, waits):
        fake.add_repo(REPO, {FILE: b"x"})
        ticks = count(step=100)
        hub._network.clock = lambda: float(next(ticks))
        with pytest.raises(HubFailed, match="slower than"):
            hub.repo(REPO, "main")

    def test_a_token_that_the_hub_does_not_know_is_told(self, fake, hub):
        fake.add_repo(REPO, {FILE: b"x"})
        headers = {"X-Error-Message": "Invalid credentials in Authorization header"}
        fake.script(fake.page(REPO), then=Answer(status=401, headers=headers, body=b"{}"))
        with pytest.raises(HubFailed, match="refuses the token"):
            hub.repo(REPO, "main")

    def test_a_cache_of_endless_nesting_is_read_anew(self, fake, hub, tmp_path):
        fake.add_repo(REPO, {FILE: big_header()})
        expected = hub.gguf(hub.repo(REPO, COMMIT), FILE)
        for kept in (tmp_path / "cache").rglob("*.json"):
            kept.write_text("[" * 100_000)
        assert hub.gguf(hub.repo(REPO, COMMIT), FILE) == expected

    def test_a_big_endian_file_is_refused(self, fake, hub):
        header = gguf_header(metadata_of(TINY_MOE), tensors_of(TINY_MOE), order=">")
        fake.add_repo(REPO, {FILE: Sparse(header, 5 * 10**7)})
        with pytest.raises(FactsError, match="big-endian"):
            hub.gguf(hub.repo(REPO, "main"), FILE)

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [("Demo-Q4_K.gguf", "Q4/Demo-Q4_K.gguf"), ("demo-q8_0.gguf", "Demo-Q8_0.gguf")],
    )
    def test_a_file_of_that_name_elsewhere_is_suggested_first(self, fake, hub, wanted, expected):
        fake.add_repo(REPO, {"Q4/Demo-Q4_K.gguf": b"x", "Demo-Q8_0.gguf": b"x"})
        with pytest.raises(ModelFileMissing) as raised:
            hub.parts(hub.repo(REPO, "main"), wanted)
        assert raised.value.suggestion == expected

    def test_a_hub_that_is_not_there_is_told(self, waits, tmp_path):
        with FakeHub() as gone:
            pass
        with pytest.raises(HubFailed, match="cannot be reached"):
            make(gone, waits, tmp_path).repo(REPO, "main")


class TestFileNames:
    @pytest.mark.parametrize("wrong", [FILE.lower(), FILE.replace("Q3_K_XL", "Q3_K_X")])
    def test_a_wrong_name_suggests_the_right_one(self, fake, hub, wrong):
        fake.add_repo(REPO, {FILE: b"x", "Demo-35B-BF16.gguf": b"x", "config.json": b"{}"})
        with pytest.raises(ModelFileMissing) as caught:
            hub.parts(hub.repo(REPO, "main"), wrong)
        assert caught.value.hint == f"did you mean {FILE}?"

    def test_missing_parts_are_listed(self, fake, hub):
        files = split_model(TINY_MOE, 3)
        fake.add_repo(REPO, {name: files[name] for name in list(files)[:2]})
        with pytest.raises(ShardsMissing, match="00003-of-00003") as caught:
            hub.parts(hub.repo(REPO, "main"), next(iter(files)))
        assert caught.value.missing == ("00003-of-00003",)

    def test_a_missing_first_part_is_no_wrong_name(self, fake, hub):
        files = split_model(TINY_MOE, 3)
        first, *others = files
        fake.add_repo(REPO, {name: files[name] for name in others})
        with pytest.raises(ShardsMissing, match="00001-of-00003") as caught:
            hub.parts(hub.repo(REPO, "main"), first)
        assert "did you mean" not in str(caught.value.hint)

    def test_a_safetensors_index_stands_for_its_shards(self, fake, hub):
        index = b'{"weight_map": {"a": "m-1.safetensors", "mtp.b": "m-2.safetensors"}}'
        name = "model.safetensors.index.json"
        shards = {"m-1.safetensors": b"1", "m-2.safetensors": b"2"}
        fake.add_repo(REPO, {name: index, **shards})
        facts = hub.repo(REPO, "main")
        assert hub.parts(facts, name) == (name, "m-1.safetensors", "m-2.safetensors")

    @pytest.mark.parametrize("index", [b"{}", b"[]", b"<html>", b'{"weight_map": {"a": 1}}'])
    def test_an_index_that_is_none_is_told(self, fake, hub, index):
        name = "model.safetensors.index.json"
        fake.add_repo(REPO, {name: index})
        with pytest.raises(HubFailed):
            hub.parts(hub.repo(REPO, "main"), name)


class TestHeader:
    def test_a_header_of_eleven_megabytes_is_read_without_the_model(self, fake, hub):
        fake.add_repo(REPO, {FILE: big_header()})
        facts = hub.gguf(hub.repo(REPO, "main"), FILE)
        assert (facts.arch, facts.block_count, facts.nextn) == ("qwen35moe", 41, 1)
        assert facts.file_size == 17_200_000_000
        spans = [request.range for request in fake.gets(PATH)]
        assert len(spans) <= 5
        assert int(spans[-1].rpartition("-")[2]) < 17 * 2**20

    def test_every_part_of_a_split_model_is_read(self, fake, hub):
        files = split_model(TINY_MOE, 3)
        fake.add_repo(REPO, files)
        facts = hub.gguf(hub.repo(REPO, "main"), next(iter(files)))
        assert facts.shards == 3
        assert "blk.8.nextn.eh_proj.weight" in facts.nextn_tensors
        assert facts.file_size == sum(map(len, files.values()))

    def test_the_answer_is_kept_and_the_network_not_asked_again(self, fake, waits, tmp_path):
        fake.add_repo(REPO, {FILE: sparse_model(TINY_MOE)})
        first = make(fake, waits, tmp_path)
        facts = first.gguf(first.repo(REPO, "main"), FILE)
        asked = len(fake.requests)
        again = make(fake, waits, tmp_path, offline=True)
        assert again.gguf(again.repo(REPO, "main"), FILE) == facts
        assert len(fake.requests) == asked

    def test_offline_with_an_empty_cache_says_so(self, fake, waits, tmp_path):
        with pytest.raises(Offline, match="not in the cache"):
            make(fake, waits, tmp_path, offline=True).repo(REPO, "main")
        assert not fake.requests

    def test_the_token_stays_with_the_hub(self, fake, waits, tmp_path):
        model = sparse_model(TINY_MOE)
        with FakeHub() as store:
            store.serve("/blob", model)
            fake.add_repo(REPO, {FILE: model}, gated=True)
            fake.script(PATH, then=redirect(f"{store.url}/blob"))
            hub = make(fake, waits, tmp_path, token=TOKEN)
            assert hub.gguf(hub.repo(REPO, "main"), FILE).arch == "qwen35moe"
            assert {r.headers.get("authorization") for r in fake.gets(PATH)} == {f"Bearer {TOKEN}"}
            assert store.requests
            assert not any("authorization" in r.headers for r in store.requests)

    def test_a_redirect_in_circles_ends(self, fake, hub):
        fake.add_repo(REPO, {FILE: sparse_model(TINY_MOE)})
        fake.script(PATH, then=redirect(PATH))
        with pytest.raises(HubFailed, match="circles"):
            hub.gguf(hub.repo(REPO, "main"), FILE)

    def test_a_cut_answer_goes_on_where_it_ended(self, fake, hub):
        fake.add_repo(REPO, {FILE: big_header()})
        fake.script(PATH, drop(after=40_000), drop(after=0))
        assert hub.gguf(hub.repo(REPO, "main"), FILE).block_count == 41
        begins = [int(r.range.removeprefix("bytes=").partition("-")[0]) for r in fake.gets(PATH)]
        assert begins[0] == 0
        assert begins[1] > 0
        assert begins == sorted(begins)

    def test_a_limit_between_two_ranges_is_waited_for(self, fake, hub, waits):
        fake.add_repo(REPO, {FILE: big_header()})
        fake.script(PATH, Answer(), refuse(429, retry_after="2"))
        assert hub.gguf(hub.repo(REPO, "main"), FILE).block_count == 41
        assert waits == [2.0]

    def test_a_slow_server_is_read_to_the_end(self, fake, hub):
        model = sparse_model(TINY_MOE)
        fake.add_repo(REPO, {FILE: model})
        fake.script(PATH, then=Answer(bytes_per_second=2 * len(model)))
        assert hub.gguf(hub.repo(REPO, "main"), FILE).arch == "qwen35moe"

    @pytest.mark.parametrize(
        ("second", "error"),
        [
            (Answer(etag='"other"'), FileChanged),
            (Answer(honour_range=False, body=b"GGUF" * 2**20), FetchError),
            (Answer(status=206, headers={"Content-Range": "bytes 0-9/17200000000"}), RangeRefused),
            (Answer(status=206), RangeRefused),
            (refuse(416), HubFailed),
            (refuse(404), HubFailed),
        ],
        ids=["etag", "whole-file", "wrong-range", "no-content-range", "416", "404"],
    )
    def test_a_second_range_that_does_not_belong_is_refused(self, fake, hub, second, error):
        model = big_header()
        etag = f'"{digest(model)[:32]}"'
        fake.add_repo(REPO, {FILE: model})
        if second.etag is None and second.status in (None, 206):
            second = Answer(
                status=second.status,
                headers=second.headers,
                body=b"x" * 100,
                honour_range=second.honour_range,
                etag=etag,
            )
        fake.script(PATH, Answer(), second)
        with pytest.raises(error):
            hub.gguf(hub.repo(REPO, "main"), FILE)

    def test_a_server_without_ranges_is_good_for_a_short_header(self, fake, hub):
        model = sparse_model(TINY_MOE)
        fake.add_repo(REPO, {FILE: model})
        whole = model.head + bytes(len(model) - len(model.head))
        fake.script(PATH, then=Answer(honour_range=False, body=whole))
        assert hub.gguf(hub.repo(REPO, "main"), FILE).arch == "qwen35moe"

    def test_a_web_page_instead_of_the_file_is_told(self, fake, hub):
        fake.add_repo(REPO, {FILE: sparse_model(TINY_MOE)})
        fake.script(PATH, then=html_page())
        with pytest.raises(HtmlNotGguf):
            hub.gguf(hub.repo(REPO, "main"), FILE)

    def test_a_pointer_instead_of_the_file_is_told_with_the_real_size(self, fake, hub):
        fake.add_repo(REPO, {FILE: sparse_model(TINY_MOE)})
        fake.script(PATH, then=Answer(body=lfs_pointer(b"x" * 1234)))
        with pytest.raises(LfsPointer) as caught:
            hub.gguf(hub.repo(REPO, "main"), FILE)
        assert caught.value.size == 1234

    def test_a_mirror_with_another_file_is_told(self, fake, hub):
        model = sparse_model(TINY_MOE)
        fake.add_repo(REPO, {FILE: model}, sizes={FILE: len(model) + 1})
        with pytest.raises(HubFailed, match="the hub states"):
            hub.gguf(hub.repo(REPO, "main"), FILE)

    @pytest.mark.parametrize(("token", "word"), [("", "no token is set"), ("hf_x", "no access")])
    def test_a_gated_file_says_what_is_needed(self, fake, waits, tmp_path, token, word):
        fake.add_repo(REPO, {FILE: sparse_model(TINY_MOE)}, gated=True)
        hub = make(fake, waits, tmp_path, token=token)
        facts = hub.repo(REPO, "main")
        assert facts.gated
        with pytest.raises(RepoGated, match=word) as caught:
            hub.gguf(facts, FILE)
        assert "HF_TOKEN" in (caught.value.hint or "")
        assert "hf_x" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5.0),
        ("Tue, 01 Dec 2026 10:00:30 GMT", 30.0),
        ("Tue, 01 Dec 2026 09:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-1", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text, seconds):
    def now() -> datetime:
        return datetime(2026, 12, 1, 10, tzinfo=UTC)

    assert retry_after({"retry-after": text}, now) == seconds


def test_a_cache_that_was_damaged_counts_as_empty(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.put("kind", "a", "b", value={"x": 1})
    assert cache.get("kind", "a", "b") == {"x": 1}
    assert cache.get("kind", "a") is None
    for file in tmp_path.rglob("*.json"):
        file.write_bytes(b"\xff{")
    assert cache.get("kind", "a", "b") is None
