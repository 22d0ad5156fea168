"""What a market holds of an app, for the rules about updates."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from olares_apps.checks.context import ChartContext
from olares_apps.checks.listing import Published
from olares_apps.checks.shape import as_map, as_maps, as_text
from olares_apps.errors import ArchiveError
from olares_apps.market import objects
from olares_apps.market.commit import read_state
from olares_apps.market.entries import AppEntry
from olares_apps.market.store import Store
from olares_apps.render.archive import unpack

__all__ = ["Shelf"]


class Shelf:
    """The archives of one market; its head is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @cached_property
    def _apps(self) -> Mapping[str, AppEntry]:
        revision = read_state(self._store).revision
        return revision.apps if revision else {}

    def published(self, app: str, generation: str) -> Published | None:
        """Return what an update of an app must not break, None for an app that is new.

        Values and entrances are those of the generation's archive on offer, or of any when the
        generation has none. Raises what reading the market raises: FetchError, StoreCorrupt.
        """
        entry = self._apps.get(app)
        if entry is None:
            return None
        ledger = objects.read_ledger(self._store, entry.ledger, app)
        archives = {item.archive.version: item.archive.sha256 for item in ledger.charts.values()}
        now = entry.current.get(generation) or next(iter(entry.current.values()), None)
        if now is None:
            return Published(archives)
        data = objects.read_blob(self._store, now.sha256, f"archive of {app}")
        try:
            files = unpack(data, name=f"{app} {now.version}").files
        except ArchiveError:
            return Published(archives)
        chart = ChartContext(files, folder=app)
        return Published(archives, _plain(chart.values.data), _entrances(chart))


def _plain(values: Any) -> dict[str, object]:
    return dict(as_map(values))


def _entrances(chart: ChartContext) -> tuple[str, ...]:
    entries = as_maps(chart.manifest_data.get("entrances"))
    return tuple(as_text(item.get("name")) for _, item in entries)
