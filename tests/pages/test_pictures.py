"""Icons and share pictures: readable by others, within the limits, the same bytes everywhere."""

import struct
import zlib
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olares_apps.market.candidates import Icon
from olares_apps.pictures.designs import ICON_SIZE, SHARE_SIZE, Subject, draw_icon, draw_share
from olares_apps.pictures.letters import measure, writable
from olares_apps.pictures.png import write_png

QWEN = Subject(
    "Qwen3.6 35B-A3B", "Qwen36 35B-A3B MTP One", 0.88, (("GPU memory", "21.0 GiB"),), "A market"
)


def pixels(data: bytes) -> tuple[int, int, bytes, list[bytes]]:
    """Read an indexed PNG with nothing but zlib; returns width, height, palette and rows."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 3, 0, 0, 0]
    raw = zlib.decompress(chunks[b"IDAT"])
    assert len(raw) == (width + 1) * height
    rows = [raw[i : i + width + 1] for i in range(0, len(raw), width + 1)]
    assert all(row[0] == 0 for row in rows)
    assert max(raw) < len(chunks[b"PLTE"]) // 3
    return width, height, chunks[b"PLTE"], [row[1:] for row in rows]


@given(
    st.integers(1, 700).flatmap(
        lambda w: st.lists(st.binary(min_size=w, max_size=w), min_size=1, max_size=6)
    )
)
def test_every_picture_is_read_back_as_it_was_written(rows):
    width = len(rows[0])
    palette = [(i, i, i) for i in range(256)]
    assert pixels(write_png(width, rows, palette))[3] == rows


@given(st.lists(st.sampled_from([b"aaaa", b"abab", b"a" * 300, b"ab" * 200]), min_size=1))
def test_long_runs_and_repeated_rows_survive(parts):
    rows = [b"".join(parts), b"".join(parts), b"".join(reversed(parts))]
    assert pixels(write_png(len(rows[0]), rows, [(0, 0, 0)] * 256))[3] == rows


def test_the_sizes_are_those_of_the_contract():
    icon, share = draw_icon(QWEN), draw_share(QWEN)
    assert pixels(icon)[:2] == ICON_SIZE == (256, 256)
    assert pixels(share)[:2] == SHARE_SIZE == (1440, 900)
    assert Icon.of(icon).entry.type == "image/png"
    assert len(icon) < 16 * 1024
    assert len(share) < 128 * 1024


def test_the_bytes_do_not_depend_on_python_or_its_zlib():
    digests = [sha256(draw(QWEN)).hexdigest()[:16] for draw in (draw_icon, draw_share)]
    assert digests == ["5fd16811109bb022", "e9da943efdf38510"]


def test_apps_of_one_family_share_the_colour_and_differ_in_the_label():
    small = Subject("Qwen3.6 27B", "Another")
    assert small.shades == QWEN.shades
    assert (small.family, small.size, QWEN.size) == ("QWEN", "27B", "35B-A3B")
    assert draw_icon(small) != draw_icon(QWEN)


@pytest.mark.parametrize(
    "subject",
    [
        Subject("", ""),
        Subject("通义千问", "模型"),
        Subject("W" * 300, "W" * 300, 9.0),
        Subject("<script>", "é{{ x }}\n\0", 0.0),
    ],
)
def test_names_of_any_kind_give_a_picture(subject):
    assert pixels(draw_icon(subject))[:2] == ICON_SIZE
    assert pixels(draw_share(subject))[:2] == SHARE_SIZE


def test_a_text_grows_with_its_height_and_its_letters():
    assert measure("AB", 20) == 2 * measure("AB", 10)
    assert measure("AB", 10) < measure("ABC", 10)
    assert writable("Qwen é 模 3.6") == "QWEN E 3.6"
