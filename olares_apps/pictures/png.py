"""Writes indexed PNG files whose bytes depend on nothing but the pixels.

A zlib of another make or version packs differently, and an icon that changes its bytes with the
Python it was drawn on would be published again each time. So the compressed stream is made
here: one block of fixed Huffman codes (RFC 1951, 3.2.6) with two kinds of matches, the byte
before and the row above. For flat pictures that is within a small factor of zlib.
"""

import re
import struct
import zlib
from collections.abc import Sequence
from typing import Final

__all__ = ["write_png"]

_SHORTEST: Final = 3
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
    # Bits in the order of the stream, one character each; the first three: last block, fixed codes.
    bits = ["110"]
    far = _matches(_distance(stride))
    for line, above in zip(lines, [b"", *lines], strict=False):
        at = 0
        if above:
            # Zero where the row above has the same byte.
            changed = int.from_bytes(line) ^ int.from_bytes(above)
            for same in _SAME.finditer(changed.to_bytes(stride)):
                _add_changed(bits, line, at, same.start())
                at = same.end()
                bits.append(_match(at - same.start(), far))
        _add_changed(bits, line, at, stride)
    bits.append("0" * 7)  # end of block
    stream = "".join(bits)
    return int(stream[::-1], 2).to_bytes((len(stream) + 7) // 8, "little")


def _add_changed(bits: list[str], line: bytes, at: int, end: int) -> None:
    """Add a part of a row that the row above does not have: literals, and runs of one byte."""
    if end - at > _SHORTEST:
        for run in _RUN.finditer(line, at, end):
            bits += [_LITERALS[byte] for byte in line[at : run.start() + 1]]
            at = run.end()
            bits.append(_match(at - run.start() - 1, _NEAR))
    bits += [_LITERALS[byte] for byte in line[at:end]]


def _match(length: int, codes: Sequence[str]) -> str:
    """Return the bits of a match of any length from 3, in parts that there are codes for."""
    if length <= _LONGEST:
        return codes[length]
    # Never leave a rest that is too short to be a match.
    part = _LONGEST - (_SHORTEST if length < _LONGEST + _SHORTEST else 0)
    return codes[part] + _match(length - part, codes)


def _symbol(symbol: int) -> str:
    """Return the fixed code of a literal or length symbol."""
    if symbol < 144:
        return f"{0b00110000 + symbol:08b}"
    if symbol < 256:
        return f"{0b110010000 + symbol - 144:09b}"
    if symbol < 280:
        return f"{symbol - 256:07b}"
    return f"{0b11000000 + symbol - 280:08b}"


def _length(length: int) -> str:
    index = max(i for i, (first, _) in enumerate(_LENGTHS) if first <= length)
    first, extra = _LENGTHS[index]
    return _symbol(257 + index) + _extra(length - first, extra)


def _distance(distance: int) -> str:
    if distance < 5:
        return f"{distance - 1:05b}"
    extra = (distance - 1).bit_length() - 2
    half = (distance - 1) >> extra & 1
    return f"{2 * extra + 2 + half:05b}" + _extra((distance - 1) & ((1 << extra) - 1), extra)


def _extra(value: int, bits: int) -> str:
    """Return further bits of a code: unlike the code itself, the lowest comes first."""
    return f"{value:0{bits}b}"[::-1] if bits else ""


def _matches(distance: str) -> tuple[str, ...]:
    """Return the bits of a match by its length, with the bits of its distance."""
    lengths = range(_SHORTEST, _LONGEST + 1)
    return ("",) * _SHORTEST + tuple(_length(length) + distance for length in lengths)


_SAME: Final = re.compile(rb"\0{3,}")
_RUN: Final = re.compile(rb"(.)\1{3,}", re.S)
_LITERALS: Final = tuple(_symbol(value) for value in range(256))
_NEAR: Final = _matches(_distance(1))
