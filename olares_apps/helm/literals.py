"""Literals of Go's source: numbers, and the escapes of quoted strings and characters."""

import re

from olares_apps.helm.lexer import Source, Token
from olares_apps.helm.syntax import Number

__all__ = ["read_number", "unquote"]

_ESCAPE = re.compile(
    rb"""\\(?: ([abfnrtv\\"']) | ([0-7]{3}) | x([0-9a-fA-F]{2}) | u([0-9a-fA-F]{4})
          | U([0-9a-fA-F]{8}) | (.?) )""",
    re.DOTALL | re.VERBOSE,
)
_SIMPLE_ESCAPES = {
    **{b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"},
    **{b"v": b"\v", b"\\": b"\\", b'"': b'"', b"'": b"'"},
}
_MAX_CODE_POINT = 0x10FFFF


def read_number(source: Source, token: Token) -> Number:
    """Return a number; hexadecimal floats and imaginary numbers are refused."""
    text = token.value
    digits = text.lstrip("+-")
    try:
        if re.fullmatch("0_?[0-7][0-7_]*", digits):
            integer = int(text, 8)
        elif digits[:2].lower() == "0x" or not re.search("[.eE]", digits):
            integer = int(text, 0)
        else:
            real = float(text)
            whole = int(real) if real.is_integer() and abs(real) < 2**63 else None
            return Number(token.start, token.end, whole, real, is_real=True)
    except (ValueError, OverflowError):
        raise source.error("bad number syntax", token.start, text) from None
    if not -(2**63) <= integer < 2**63:
        raise source.error("integer overflow", token.start, text)
    return Number(token.start, token.end, integer, float(integer), is_real=False)


def unquote(source: Source, token: Token) -> str:
    """Return the text of a string, raw string or character token."""
    body = token.value[1:-1]
    if token.kind == "raw":
        return body.replace("\r", "")
    if "\\" not in body:
        return body

    def replace(match: re.Match[bytes]) -> bytes:
        simple, octal, hexadecimal, short, long, _ = match.groups()
        if simple and simple != (b'"' if token.kind == "char" else b"'"):
            return _SIMPLE_ESCAPES[simple]
        if octal or hexadecimal:
            code = int(octal, 8) if octal else int(hexadecimal, 16)
            if code < 256:
                return chr(code).encode() if token.kind == "char" else bytes([code])
        elif short or long:
            code = int(short or long, 16)
            if code <= _MAX_CODE_POINT and not 0xD800 <= code < 0xE000:
                return chr(code).encode()
        raise source.error("invalid escape in a quoted text", token.start, token.value)

    return _ESCAPE.sub(replace, body.encode()).decode(errors="replace")
