"""Tokens for publishing: what is given out once, and the entries that let them in.

The list of entries is the Worker's secret ``TOKENS``. It holds digests of 256 random bits, from
which no token follows, so it may lie in a file and in version control.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, Self

from olares_apps.errors import UnknownName, UsageError

__all__ = ["SCOPES", "Entry", "decode", "encode", "new_entry", "revoke"]

SCOPES: Final = ("publish", "rollback", "collect")
PREFIX: Final = "olapps_"
# Cloudflare's limit of one environment variable, 5 KB.
_SECRET_BYTES: Final = 5000
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}", re.ASCII)
_APPS: Final = re.compile(r"[a-z0-9]{1,30}", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """Who may do what until when: ``apps`` are name prefixes (none: every app)."""

    name: str
    sha256: str
    scopes: tuple[str, ...]
    expires: str
    apps: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the entry as the secret holds it."""
        apps = {"apps": list(self.apps)} if self.apps else {}
        return {
            "name": self.name,
            "sha256": self.sha256,
            "scopes": list(self.scopes),
            **apps,
            "expires": self.expires,
        }

    @classmethod
    def from_json(cls, item: Any) -> Self:
        """Read an entry; raises KeyError, TypeError or ValueError."""
        entry = cls(
            name=str(item["name"]),
            sha256=str(item["sha256"]),
            scopes=tuple(map(str, item["scopes"])),
            expires=str(item["expires"]),
            apps=tuple(map(str, item.get("apps", ()))),
        )
        if not _DIGEST.fullmatch(entry.sha256):
            raise ValueError("sha256 is no digest")
        datetime.fromisoformat(entry.expires)
        return entry

    def valid_at(self, now: datetime) -> bool:
        """Say whether the token still opens the market."""
        return datetime.fromisoformat(self.expires) > now


def new_entry(
    name: str,
    text: str,
    *,
    scopes: Sequence[str],
    apps: Sequence[str],
    now: datetime,
    seconds: int,
) -> Entry:
    """Return the entry of the new token ``text``; raises UsageError for words it cannot have."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is no name for a token", hint="use a-z, 0-9, '.', '_' and '-'")
    for scope in scopes:
        if scope not in SCOPES:
            raise UnknownName("scope", scope, SCOPES)
    bad = next((item for item in apps if not _APPS.fullmatch(item)), None)
    if bad is not None:
        raise UsageError(f"'{bad}' begins no app's name", hint="app names are a-z and 0-9")
    expires = (now.astimezone(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = sha256(text.encode()).hexdigest()
    return Entry(name, digest, tuple(dict.fromkeys(scopes)), expires, tuple(dict.fromkeys(apps)))


def revoke(entries: Sequence[Entry], which: str) -> list[Entry]:
    """Return the entries without the one of this name, or of a digest that begins like this.

    Raises UnknownName for none of them, UsageError for a name that two valid tokens have.
    """
    found = [
        entry
        for entry in entries
        if entry.name == which or (len(which) >= _DIGITS and entry.sha256.startswith(which))
    ]
    if not found:
        raise UnknownName("token", which, [entry.name for entry in entries])
    if len(found) > 1:
        digests = ", ".join(entry.sha256[:12] for entry in found)
        raise UsageError(f"{len(found)} tokens are called {which}", hint=f"give one of: {digests}")
    return [entry for entry in entries if entry is not found[0]]


def encode(entries: Sequence[Entry]) -> bytes:
    """Return the secret; raises UsageError when Cloudflare would not take it."""
    data = (json.dumps([entry.to_json() for entry in entries], indent=1) + "\n").encode()
    if len(data) > _SECRET_BYTES:
        raise UsageError(
            f"the secret would have {len(data)} bytes, limit {_SECRET_BYTES}",
            hint="revoke tokens that expired: olapps worker token list",
        )
    return data


def decode(data: bytes, what: str) -> list[Entry]:
    """Return the entries of a secret; raises UsageError, with ``what`` it was read from."""
    try:
        return [Entry.from_json(item) for item in json.loads(data)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{what} is no list of tokens: {error}", hint="restore it, or remove it and start anew"
        ) from None
