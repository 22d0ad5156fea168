"""Writes indexed PNG files whose bytes depend on nothing but the pixels.

A zlib of another make or version packs differently, and an icon that changes its bytes with the
Python it was drawn on would be published again each time. So the compressed stream is made
here: one block of fixed Huffman codes (RFC 1951, 3.2.6) with two kinds of matches, the byte
before and the row above. For flat pictures that is within a small factor of zlib.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["write_png"]

_LONGEST: Final = 258
# (first length, extra bits) per code from 257, and the same for distance codes from 0.
_LENGTHS: Final = tuple(
    zip(
        [
            *range(3, 11),
            *range(11, 19, 2),
            *range(19, 35, 4),
            *range(35, 67, 8),
            *range(67, 131, 16),
            *range(131, 258, 32),
            258,
        ],
        (0,) * 8 + (1,) * 4 + (2,) * 4 + (3,) * 4 + (4,) * 4 + (5,) * 4 + (0,),
        strict=True,
    )
)


def write_png(width: int, rows: Sequence[bytes], palette: Sequence[tuple[int, int, int]]) -> bytes:
    """Return a PNG of ``rows`` of palette indices; every row has ``width`` bytes.

    Raises ValueError for more than 256 colours.
    """
    if len(palette) > 256:
        raise ValueError(f"{len(palette)} colours, an indexed picture holds 256")
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)
    colours = b"".join(bytes(colour) for colour in palette)
    lines = [b"\0" + bytes(row) for row in rows]
    checksum = struct.pack(">I", zlib.adler32(b"".join(lines)))
    data = b"\x78\x01" + _deflate(lines, width + 1) + checksum
    chunks = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _deflate(lines: Sequence[bytes], stride: int) -> bytes:
    out, held, count = bytearray(), 0b011, 3  # last block, fixed codes
    above = b""
    for line in lines:
        for code, bits in _tokens(line, above, stride):
            held |= code << count
            count += bits
            while count >= 8:
                out.append(held & 255)
                held >>= 8
                count -= 8
        above = line
    count += 7  # end of block: seven zero bits
    while count > 0:
        out.append(held & 255)
        held >>= 8
        count -= 8
    return bytes(out)


def _tokens(line: bytes, above: bytes, stride: int) -> Iterator[tuple[int, int]]:
    """Yield (code, bits) for one row: literals and matches."""
    # Zero where the row above has the same byte.
    changed = int.from_bytes(line) ^ int.from_bytes(above)
    difference = changed.to_bytes(stride) if above else b"\1" * stride
    far = _distance(stride)
    at = 0
    while at < stride:
        same = _run(difference, at) if difference[at] == 0 else 0
        again = _run(line, at) if at and line[at] == line[at - 1] else 0
        length = max(same, again)
        if length < 3:
            yield _LITERALS[line[at]]
            at += 1
            continue
        distance = stride if same >= again else 1
        at += length
        while length:
            # Never leave a rest that is too short to be a match.
            part = min(length, _LONGEST)
            if 0 < length - part < 3:
                part -= 3
            yield _MATCH_CODES[part]
            yield far if distance > 1 else _NEAR
            length -= part


def _run(data: bytes, at: int) -> int:
    rest = data[at:]
    return len(rest) - len(rest.lstrip(rest[:1]))


def _reversed(value: int, bits: int) -> int:
    return int(format(value, f"0{bits}b")[::-1], 2)


def _symbol(symbol: int) -> tuple[int, int]:
    """Return the fixed code of a literal or length symbol, lowest bit first."""
    if symbol < 144:
        return _reversed(0b00110000 + symbol, 8), 8
    if symbol < 256:
        return _reversed(0b110010000 + symbol - 144, 9), 9
    if symbol < 280:
        return _reversed(symbol - 256, 7), 7
    return _reversed(0b11000000 + symbol - 280, 8), 8


def _length(length: int) -> tuple[int, int]:
    index = max(i for i, (first, _) in enumerate(_LENGTHS) if first <= length)
    first, extra = _LENGTHS[index]
    code, bits = _symbol(257 + index)
    return code | (length - first) << bits, bits + extra


def _distance(distance: int) -> tuple[int, int]:
    if distance < 5:
        return _reversed(distance - 1, 5), 5
    extra = (distance - 1).bit_length() - 2
    half = (distance - 1) >> extra & 1
    return (
        _reversed(2 * extra + 2 + half, 5) | ((distance - 1) & ((1 << extra) - 1)) << 5,
        5 + extra,
    )


_LITERALS: Final = tuple(_symbol(value) for value in range(256))
_NEAR: Final = _distance(1)
_MATCH_CODES: Final = {length: _length(length) for length in range(3, _LONGEST + 1)}
