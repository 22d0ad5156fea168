import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.gguf_files import (
    QWEN36_35B,
    Tensor,
    Typed,
    gguf_header,
    gguf_source,
    metadata_of,
    string_bytes,
    tensors_of,
    tokenizer_metadata,
    value_bytes,
)

from olares_apps.errors import FetchError
from olares_apps.fit.byte_source import BytesSource, FileSource
from olares_apps.fit.gguf_errors import (
    CorruptGguf,
    GgufError,
    HtmlNotGguf,
    LfsPointer,
    NotGguf,
    TruncatedGguf,
    UnsupportedGguf,
)
from olares_apps.fit.gguf_header import Skipped, read_header


def read(data: bytes, size: int | None = None, **options: int):
    return read_header(BytesSource(data, size=size), **options)


def test_every_value_type_is_read():
    metadata = {
        "u8": Typed("uint8", 255),
        "i8": Typed("int8", -128),
        "u16": Typed("uint16", 65535),
        "i16": Typed("int16", -5),
        "u32": Typed("uint32", 2**32 - 1),
        "i32": Typed("int32", -7),
        "f32": Typed("float32", 0.5),
        "flag": Typed("bool", True),
        "text": Typed("string", "Grüße \N{DRAGON}"),
        "u64": Typed("uint64", 2**64 - 1),
        "i64": Typed("int64", -(2**63)),
        "f64": Typed("float64", 1e300),
        "numbers": Typed("array", [1, -2, 3], "int32"),
        "flags": Typed("array", [True, False], "bool"),
        "words": Typed("array", ["a", ""], "string"),
        "empty": Typed("array", [], "float32"),
    }
    header = read(gguf_header(metadata))
    assert header.metadata == {
        key: tuple(typed.value) if typed.kind == "array" else typed.value
        for key, typed in metadata.items()
    }
    assert (header.version, header.big_endian, header.tensors) == (3, False, ())


def test_version_2_and_big_endian_files_are_read():
    tensors = [Tensor("token_embd.weight", (64, 4), "Q8_0"), Tensor("output_norm.weight", (64,))]
    for version, order in ((2, "<"), (3, ">"), (2, ">")):
        source = gguf_source(
            {"general.architecture": "llama"}, tensors, version=version, order=order
        )
        header = read_header(source)
        assert header.version == version
        assert header.big_endian is (order == ">")
        assert header.metadata["general.architecture"] == "llama"
        assert [(t.name, t.dims, t.size) for t in header.tensors] == [
            ("token_embd.weight", (64, 4), 272),
            ("output_norm.weight", (64,), 256),
        ]


def test_alignment_of_the_file_decides_where_data_begins():
    tensors = [Tensor("a.weight", (3,)), Tensor("b.weight", (3,))]
    header = read_header(gguf_source({"general.alignment": 256}, tensors))
    assert header.alignment == 256
    assert header.data_offset % 256 == 0
    assert [(t.offset, t.size) for t in header.tensors] == [(0, 12), (256, 12)]


def test_size_of_an_unknown_tensor_type_comes_from_the_next_offset():
    tensors = [
        Tensor("a.weight", (256,), kind=142, size=96),
        Tensor("b.weight", (256,), "Q4_K"),
        Tensor("c.weight", (256,), kind=143, size=160),
    ]
    header = read_header(gguf_source({}, tensors))
    assert [t.size for t in header.tensors] == [96, 144, 160]


def test_a_fork_that_reuses_a_type_number_is_measured_by_its_offsets():
    """Type 42 is Q2_0 upstream: 72 bytes for 256 elements, here 320 are stored."""
    tensors = [Tensor("a.weight", (256,), kind=42, size=320), Tensor("b.weight", (4,))]
    header = read_header(gguf_source({}, tensors))
    assert [t.size for t in header.tensors] == [320, 16]


def test_tensors_need_not_be_listed_in_file_order():
    tensors = [
        Tensor("last.weight", (8,), offset=64),
        Tensor("first.weight", (16,), offset=0),
    ]
    header = read_header(gguf_source({}, tensors))
    assert [(t.name, t.size) for t in header.tensors] == [("last.weight", 32), ("first.weight", 64)]


def test_large_arrays_are_measured_and_not_kept():
    metadata = {
        "tokens": Typed("array", [f"t{i}" for i in range(5000)], "string"),
        "scores": Typed("array", [0.0] * 5000, "float32"),
        "nested": Typed("array", [Typed("array", [1, 2], "uint8")] * 3, "array"),
        "after": Typed("uint32", 7),
    }
    header = read(gguf_header(metadata))
    assert header.metadata == {
        "tokens": Skipped("string", 5000),
        "scores": Skipped("float32", 5000),
        "nested": Skipped("array", 3),
        "after": 7,
    }


@pytest.mark.parametrize("split", [1, 4])
def test_countless_arrays_inside_arrays_are_refused_before_they_cost_time(split):
    """However they are spread over keys: an empty array is twelve bytes."""
    empty = Typed("array", [], "uint8")
    metadata = {
        f"nested{n}": Typed("array", [empty] * (12_000 // split), "array") for n in range(split)
    }
    with pytest.raises(CorruptGguf, match="arrays inside arrays"):
        read(gguf_header(metadata))


def test_arrays_of_numbers_are_jumped_over_without_fetching_them():
    data = gguf_header({"scores": Typed("array", [1.0] * 500_000, "float32"), "after": 1})
    header = read(data)
    assert header.metadata["after"] == 1
    assert header.bytes_fetched < 500_000 < len(data)


@pytest.mark.parametrize("chunk", [64, 100, 1024])
def test_small_chunks_give_the_same_header(chunk):
    source = gguf_source(metadata_of(QWEN36_35B), tensors_of(QWEN36_35B)[:40])
    whole = read_header(source)
    pieces = read_header(source, first_chunk=chunk, largest_chunk=chunk)
    assert (pieces.metadata, pieces.tensors) == (whole.metadata, whole.tensors)
    assert pieces.fetches > whole.fetches == 1
    assert pieces.bytes_fetched <= whole.data_offset + chunk


def test_a_header_with_a_full_vocabulary_stays_within_its_memory():
    source = gguf_source(metadata_of(QWEN36_35B) | tokenizer_metadata(), tensors_of(QWEN36_35B))
    tracemalloc.start()
    try:
        header = read_header(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(header.tensors) == 753
    assert header.metadata["tokenizer.ggml.tokens"] == Skipped("string", 248_320)
    assert header.data_offset > 10_000_000
    assert header.bytes_fetched < header.data_offset + 4 * 2**20
    assert header.fetches <= 8
    assert peak < 60_000_000


def test_a_local_file_is_read_like_memory(tmp_path):
    source = gguf_source(metadata_of(QWEN36_35B), tensors_of(QWEN36_35B))
    path = tmp_path / "model.gguf"
    path.write_bytes(source.read(0, source.size))
    with path.open("r+b") as sparse:
        sparse.truncate(source.size)
    with FileSource(path) as file:
        assert file.size == source.size > 16_000_000_000
        header, expected = read_header(file), read_header(source)
        assert (header.metadata, header.tensors) == (expected.metadata, expected.tensors)
        assert (header.file_size, header.bytes_fetched) == (source.size, 65536)
        assert file.read(file.size - 3, 10) == bytes(3)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"<!DOCTYPE html><html><body>Please log in", HtmlNotGguf),
        (b"\xef\xbb\xbf\n <html lang='en'>", HtmlNotGguf),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', HtmlNotGguf),
        (b'{"error":"Invalid username or password."}', NotGguf),
        (b'\x80\x02\x00\x00\x00\x00\x00\x00{"__metadata__"', NotGguf),
        (bytes(1000), NotGguf),
        (b"lmgg\x01\x00\x00\x00", UnsupportedGguf),
        (b"tjgg\x03\x00\x00\x00", UnsupportedGguf),
        (b"", TruncatedGguf),
        (b"GG", TruncatedGguf),
        (b"GGUF\x03\x00", TruncatedGguf),
    ],
)
def test_what_is_not_gguf_is_told_apart(start, kind):
    with pytest.raises(FetchError) as caught:
        read(start)
    assert type(caught.value) is kind
    assert caught.value.hint


def test_an_lfs_pointer_tells_the_real_file():
    digest = "b1" * 32
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 17200000000\n"
    with pytest.raises(LfsPointer) as caught:
        read(text.encode())
    assert (caught.value.sha256, caught.value.size) == (digest, 17_200_000_000)
    assert "17200000000" in str(caught.value)


@pytest.mark.parametrize("version", [0, 1, 4, 99])
def test_other_versions_are_refused(version):
    with pytest.raises(UnsupportedGguf, match=f"version {version}"):
        read(gguf_header({}, version=version))


def test_a_file_that_was_cut_off_says_how_much_is_missing():
    source = gguf_source(metadata_of(QWEN36_35B), tensors_of(QWEN36_35B))
    header = source.read(0, source.size)
    with pytest.raises(TruncatedGguf) as caught:
        read(header, size=source.size - 10_000)
    assert caught.value.have == source.size - 10_000
    assert source.size - 64 < caught.value.need <= source.size
    for length in (10, 30, 100, 1000, len(header) - 40):
        with pytest.raises(TruncatedGguf):
            read(header[:length])


def test_a_source_that_gives_less_than_it_claims_is_truncated():
    data = gguf_header({"key": "value"})
    with pytest.raises(TruncatedGguf):
        read(data[:20], size=len(data))


def count_bytes(number: int) -> bytes:
    return struct.pack("<Q", number)


def entry(key: str, kind: int, body: bytes) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    return head + count_bytes(len(key)) + key.encode() + struct.pack("<I", kind) + body


def array_head(kind: int, count: int) -> bytes:
    return struct.pack("<IQ", kind, count)


NESTED = array_head(9, 1) * 9 + array_head(0, 1) + b"\x01"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(gguf_header({}, tensor_count=10**9), id="a billion tensors"),
        pytest.param(gguf_header({}, key_count=2**60), id="2^60 keys"),
        pytest.param(entry("a", 8, count_bytes(2**62)), id="string of 2^62 bytes"),
        pytest.param(entry("a", 9, array_head(0, 2**60)), id="array of 2^60 numbers"),
        pytest.param(entry("a", 9, array_head(8, 2**60)), id="array of 2^60 strings"),
        pytest.param(
            entry("a", 9, array_head(8, 100) + count_bytes(2**62)),
            id="list with a string of 2^62 bytes",
        ),
        pytest.param(entry("a", 9, NESTED), id="arrays ten deep"),
        pytest.param(entry("a", 13, b""), id="unknown value type"),
        pytest.param(entry("a", 9, array_head(77, 1)), id="unknown element type"),
        pytest.param(entry("a" * 70_000, 0, b"\x01"), id="key of 70000 bytes"),
        pytest.param(entry("general.alignment", 4, struct.pack("<I", 24)), id="alignment 24"),
        pytest.param(entry("general.alignment", 4, struct.pack("<I", 0)), id="alignment 0"),
        pytest.param(
            entry("general.alignment", 8, count_bytes(2) + b"32"), id="alignment that is text"
        ),
        pytest.param(gguf_header({}, [Tensor("t", (2**40, 2**40))]), id="tensor of 2^80 elements"),
        pytest.param(
            gguf_header({}, [Tensor("t", (1, 1, 1, 1, 1))]), id="tensor of five dimensions"
        ),
        pytest.param(gguf_header({}, [Tensor("t" * 600, (1,))]), id="tensor name of 600 bytes"),
        pytest.param(
            gguf_header({}, [Tensor("t", (8,)), Tensor("t", (8,))]), id="two tensors of one name"
        ),
        pytest.param(
            gguf_header({}, [Tensor("t", (8,), kind=42, size=0), Tensor("u", (8,))]),
            id="tensor without room",
        ),
    ],
)
def test_hostile_counts_are_refused_at_once(data):
    tracemalloc.start()
    try:
        with pytest.raises(CorruptGguf):
            read(data, size=2**40)
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


class ZerosAfter:
    """A file of a terabyte: some bytes, then zeros. Counts what is read of it."""

    def __init__(self, start: bytes) -> None:
        self.start, self.size, self.asked = start, 2**40, 0

    def read(self, offset: int, length: int) -> bytes:
        self.asked += length
        return (self.start[offset:] + bytes(length))[:length]


def test_a_list_of_empty_strings_without_end_stops():
    source = ZerosAfter(entry("a", 9, array_head(8, 2**30)))
    with pytest.raises(CorruptGguf, match="more than"):
        read_header(source)
    assert source.asked <= 64 * 2**20


def test_many_small_values_stay_within_the_memory_too():
    words = Typed("array", [f"{i:03}" for i in range(64)], "string")
    flags = Typed("array", [True, False] * 2048, "bool")
    kinds = {"words": (words, 4000), "flags": (flags, 400)}
    body = b""
    for name, (typed, count) in kinds.items():
        value = struct.pack("<I", 9) + value_bytes(typed)
        body += b"".join(string_bytes(f"{name}{number}") + value for number in range(count))
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 4400) + body
    source = BytesSource(data)
    tracemalloc.start()
    try:
        header = read_header(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(header.metadata) == 4400
    assert header.metadata["words0"] == tuple(words.value)
    assert header.metadata["flags399"] == Skipped("bool", 4096)
    assert peak < 60_000_000


def test_a_key_that_comes_twice_is_refused():
    once = gguf_header({"abc": 1, "abd": 2})
    with pytest.raises(CorruptGguf, match="twice"):
        read(once.replace(b"abd", b"abc"))


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
SCALARS = st.one_of(
    st.builds(Typed, st.just("uint8"), st.integers(0, 255)),
    st.builds(Typed, st.just("int16"), st.integers(-(2**15), 2**15 - 1)),
    st.builds(Typed, st.just("uint32"), st.integers(0, 2**32 - 1)),
    st.builds(Typed, st.just("int64"), st.integers(-(2**63), 2**63 - 1)),
    st.builds(Typed, st.just("uint64"), st.integers(0, 2**64 - 1)),
    st.builds(Typed, st.just("float32"), st.floats(width=32, allow_nan=False)),
    st.builds(Typed, st.just("float64"), st.floats(allow_nan=False)),
    st.builds(Typed, st.just("bool"), st.booleans()),
    st.builds(Typed, st.just("string"), TEXT),
)
ARRAYS = st.one_of(
    st.builds(Typed, st.just("array"), st.lists(st.integers(0, 2**32 - 1)), st.just("uint32")),
    st.builds(Typed, st.just("array"), st.lists(TEXT, max_size=64), st.just("string")),
    st.builds(Typed, st.just("array"), st.lists(st.booleans()), st.just("bool")),
)
METADATA = st.dictionaries(
    TEXT.filter(lambda key: key != "general.alignment"), SCALARS | ARRAYS, max_size=8
)
TENSORS = st.lists(
    st.builds(
        Tensor,
        st.text(st.characters(codec="ascii"), min_size=1, max_size=20),
        st.lists(st.integers(1, 300), min_size=1, max_size=4).map(tuple),
        st.sampled_from(["F32", "F16", "Q4_0", "Q4_K", "MXFP4"]),
    ),
    max_size=6,
    unique_by=lambda tensor: tensor.name,
)


@settings(max_examples=150, deadline=None)
@given(METADATA, TENSORS, st.sampled_from("<>"), st.sampled_from([2, 3]), st.integers(64, 300))
def test_what_was_written_is_read_back(metadata, tensors, order, version, chunk):
    source = gguf_source(metadata, tensors, order=order, version=version)
    header = read_header(source, first_chunk=chunk, largest_chunk=chunk)
    assert header.metadata == {
        key: tuple(typed.value) if typed.kind == "array" else typed.value
        for key, typed in metadata.items()
    }
    assert [(t.name, t.dims, t.type_id, t.size) for t in header.tensors] == [
        (t.name, t.dims, t.type_id, t.bytes) for t in tensors
    ]


VALID = gguf_header(
    {"general.architecture": "llama", "llama.block_count": 2, "words": ["one", "two"]},
    [Tensor("token_embd.weight", (32, 8), "Q8_0"), Tensor("blk.0.attn_q.weight", (32, 32), "Q4_0")],
)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 2**45))
def test_garbage_raises_only_our_errors(data, claimed):
    for body in (data, b"GGUF" + data, b"GGUF\x03\x00\x00\x00" + data):
        try:
            read(body, size=max(claimed, len(body)))
        except GgufError:
            continue


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_damaged_header_raises_only_our_errors(data):
    body = bytearray(VALID)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    try:
        header = read(bytes(body[:cut]), size=data.draw(st.sampled_from([cut, 2**30])))
    except GgufError:
        return
    assert header.version in (2, 3)
