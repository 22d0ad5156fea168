"""Which kinds a device's Kubernetes serves, and where those went that it serves no more."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from olares_apps.errors import nearest

__all__ = ["KindFault", "kind_fault", "served_kinds"]


@dataclass(frozen=True, slots=True)
class KindFault:
    """Why an object's kind is not served, and what to write; ``hint`` may be empty."""

    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class _Removed:
    since: str
    use: str


@dataclass(frozen=True, slots=True)
class _Table:
    kubernetes: str
    kinds: Mapping[str, Sequence[str]]
    removed: Mapping[tuple[str, str], _Removed]


@cache
def _table() -> _Table:
    raw = json.loads((files(__package__) / "kinds.json").read_text(encoding="utf-8"))
    removed = {
        (entry["api"], kind): _Removed(entry["since"], entry["use"])
        for entry in raw["removed"]
        for kind in entry["kinds"]
    }
    return _Table(raw["kubernetes"], raw["kinds"], removed)


def served_kinds() -> Mapping[str, Sequence[str]]:
    """Return the kinds of each apiVersion that Kubernetes itself serves, from the table."""
    return _table().kinds


def kind_fault(api_version: str, kind: str) -> KindFault | None:
    """Return why Kubernetes does not serve a kind, None when it does or when nobody can tell.

    Groups that are not Kubernetes' own belong to custom resources: those are not known here.
    Sources: ``kinds.json``.
    """
    table = _table()
    if kind in table.kinds.get(api_version, ()):
        return None
    gone = table.removed.get((api_version, kind))
    if gone is not None:
        hint = f"write apiVersion: {gone.use}" if gone.use else "it has no successor: remove it"
        return KindFault(
            f"{api_version} {kind} is served no more since Kubernetes {gone.since}", hint
        )
    if not _is_own(api_version, table):
        return None
    homes = [api for api, kinds in table.kinds.items() if kind in kinds]
    if homes:
        return KindFault(
            f"{kind} is no kind of {api_version}", f"write apiVersion: {_stable(homes)}"
        )
    known = [*table.kinds.get(api_version, ()), *(k for ks in table.kinds.values() for k in ks)]
    close = nearest(kind, dict.fromkeys(known))
    return KindFault(
        f"{api_version} {kind} is no kind of Kubernetes {table.kubernetes}",
        f"did you mean {close}?" if close else "",
    )


def _is_own(api_version: str, table: _Table) -> bool:
    """Say whether the group is one of Kubernetes' own; others have a domain of their own."""
    group, slash, _ = api_version.partition("/")
    own = {api.partition("/")[0] for api in (*table.kinds, *(api for api, _ in table.removed))}
    return not slash or group in own or "." not in group


def _stable(versions: Sequence[str]) -> str:
    """Return the version without alpha or beta, else the first one."""
    return next((v for v in versions if "alpha" not in v and "beta" not in v), versions[0])
