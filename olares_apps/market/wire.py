"""From a prepared answer to the body on the wire: a splice, never a parse.

Prepared answers lack what depends on the request. A server puts it in front: the device's
``version`` into v1 answers, ``source_id`` into the v2 catalog; v2 data goes into an envelope.
"""

import json
from collections.abc import Iterable, Mapping

__all__ = ["details", "envelope", "with_first"]


def with_first(body: bytes, name: str, value: str) -> bytes:
    """Return a JSON object with one more text field, put before the others.

    ``body`` must be an object that has fields and does not begin with white space, as every
    prepared answer is.
    """
    return b"{%b:%b,%b" % (_text(name), _text(value), body[1:])


def envelope(data: bytes) -> bytes:
    """Return a v2 answer around its data."""
    return b'{"code":0,"msg":"success","data":%b}' % data


def details(version: str, found: Mapping[str, bytes], not_found: Iterable[str]) -> bytes:
    """Return ``/api/v1/applications/info`` for details that are stored as JSON already."""
    apps = b",".join(b"%b:%b" % (_text(key), detail) for key, detail in found.items())
    missing = json.dumps(list(not_found)).encode()
    return b'{"version":%b,"apps":{%b},"not_found":%b}' % (_text(version), apps, missing)


def _text(value: str) -> bytes:
    return json.dumps(value).encode()
