"""Reading a source as a device does: the same requests in the same order, the same decoding.

Source: contract 2.1 to 2.7. From Olares 1.12.7 on the cycle begins with the v2 routes, and a
source that lacks them is dropped whole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from olares_apps.generations import OlaresVersion
from olares_apps.market import conformance
from olares_apps.market.conformance import Detail
from olares_apps.market.device.transport import Reply, Transport, TransportFault
from olares_apps.market.faults import Fault, Loss

__all__ = ["Batch", "SourceDropped", "SourceReader"]

_V2_SINCE: Final = OlaresVersion(1, 12, 7)
_BATCH: Final = 10
_TRIES: Final = 3
# More redirects, pages or apps than this is a source gone wrong, not a large one.
_MAX_PAGES: Final = 1000

Decoded = TypeVar("Decoded")


class SourceDropped(Exception):
    """The device gives up on the whole source for this cycle."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Details asked for at once: the rows that a device would write, and what was wrong."""

    ids: Sequence[str]
    rows: Mapping[str, Detail]
    faults: Sequence[Fault]


@dataclass(slots=True)
class SourceReader:
    """Sends a device's requests to one source and keeps what was said.

    ``reported`` is the release as the device names it, a nightly's date included. ``requests``
    lists the requests in order, ``warnings`` what a device tolerates but a curator should know.
    """

    transport: Transport
    olares: OlaresVersion
    reported: str
    requests: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def uses_v2(self) -> bool:
        """Say whether this release begins with the v2 routes."""
        return self.olares >= _V2_SINCE

    def read_v2(self) -> Mapping[str, str]:
        """Read the v2 catalogue; return version by app name. Raises SourceDropped."""
        query = {"version": self.reported}
        self._json("GET", "/api/v2/catalog", query, conformance.decode_catalog)
        self._json("GET", "/api/v2/taxonomy", query, conformance.decode_taxonomy)
        versions: dict[str, str] = {}
        for page in range(1, _MAX_PAGES + 1):
            listing = self._json(
                "GET",
                "/api/v2/applications",
                {**query, "page": str(page), "size": "100"},
                conformance.decode_applications,
            )
            versions |= {item["name"]: item["version"] for item in listing.items}
            if not listing.has_more:
                return versions
        raise SourceDropped(f"/api/v2/applications: has_more is still true on page {_MAX_PAGES}")

    def read_hash(self) -> str:
        """Read the change marker. Raises SourceDropped."""
        query = {"version": self.reported}
        answer = self._json(
            "GET", "/api/v1/appstore/hash", query, conformance.decode_hash, any_type=True
        )
        return answer.hash

    def read_ids(self, marker: str) -> tuple[list[str], list[Fault]]:
        """Read the list of apps; return their ids and the entries that are skipped."""
        query = {"version": self.reported}
        reply = self._ask("GET", "/api/v1/appstore/info", query)
        info, faults = conformance.decode_info(self._body(reply, "/api/v1/appstore/info"))
        self._stop_on(faults)
        if info.hash != marker:
            self.warnings.append(
                f"/hash says {marker}, /info says {info.hash}: one snapshot must serve both"
            )
        return sorted(info.ids), [fault for fault in faults if fault.loss is Loss.APP]

    def read_details(self, ids: list[str]) -> Iterator[Batch]:
        """Read details, ten ids at a time; a batch that gives no app is asked three times."""
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            rows: Mapping[str, Detail] = {}
            faults: list[Fault] = []
            for _ in range(_TRIES):
                rows, faults = self._batch(batch)
                if rows:
                    break
            yield Batch(batch, rows, faults)

    def read_archive(self, name: str, version: str) -> Reply:
        """Ask for a chart archive as chart-repo does; v2 first where the release has it."""
        query = {"fileName": f"{name}-{version}.tgz", "version": version}
        routes = ("v2", "v1") if self.uses_v2 else ("v1",)
        reply = Reply(0)
        for route in routes:
            reply = self._ask("GET", f"/api/{route}/applications/{name}/chart", query)
            if reply.status != 404:
                break
        return reply

    def _batch(self, ids: list[str]) -> tuple[Mapping[str, Detail], list[Fault]]:
        path = "/api/v1/applications/info"
        try:
            reply = self._ask("POST", path, {}, {"app_ids": ids, "version": self.reported})
            body = self._body(reply, path)
        except SourceDropped as error:
            return {}, [Fault(path, str(error), Loss.BATCH)]
        details, faults = conformance.decode_details(body, ids)
        return details.apps, faults

    def _json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        decode: Callable[[bytes], tuple[Decoded, list[Fault]]],
        *,
        any_type: bool = False,
    ) -> Decoded:
        reply = self._ask(method, path, query)
        value, faults = decode(self._body(reply, path, any_type=any_type))
        self._stop_on(faults)
        return value

    def _ask(
        self, method: str, path: str, query: Mapping[str, str], body: Any | None = None
    ) -> Reply:
        shown = "&".join(f"{key}={value}" for key, value in sorted(query.items()))
        self.requests.append(f"{method} {path}{'?' + shown if shown else ''}")
        try:
            return self.transport.send(method, path, query, body)
        except TransportFault as error:
            raise SourceDropped(f"{path}: {error}") from error

    def _body(self, reply: Reply, path: str, *, any_type: bool = False) -> bytes:
        if reply.status != 200:
            said = f": {reply.excerpt}" if reply.body else ""
            raise SourceDropped(f"{path}: status {reply.status}, a device takes only 200{said}")
        if not (any_type or reply.is_json):
            kind = reply.headers.get("content-type") or "none"
            raise SourceDropped(f"{path}: Content-Type {kind}, a device decodes only JSON")
        try:
            return reply.decoded
        except TransportFault as error:
            raise SourceDropped(f"{path}: {error}") from error

    def _stop_on(self, faults: list[Fault]) -> None:
        fatal = [str(fault) for fault in faults if fault.loss is Loss.SOURCE]
        if fatal:
            raise SourceDropped("; ".join(fatal))
        self.warnings += [str(fault) for fault in faults if fault.loss is Loss.FIELD]
