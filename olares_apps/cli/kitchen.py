"""The workspace side of a publish: renders, reads and writes files for the workflow."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from olares_apps.cli.pool import fan_out
from olares_apps.cli.workbench import Workbench, all_facts
from olares_apps.engines.registry import spec_model
from olares_apps.errors import Problem, SpecError
from olares_apps.generations import Generation, get_generation
from olares_apps.hardware import load_profile
from olares_apps.market.candidates import Icon
from olares_apps.market.pages.facts import PageFacts, page_facts
from olares_apps.market.proposal import COMPARED_VERSION
from olares_apps.render import Renderable
from olares_apps.render.chart import ChartTree
from olares_apps.render.folder import chart_version, compare, write, write_file
from olares_apps.spec.loader import LoadedSpec, load_spec
from olares_apps.spec.yaml_source import decode

__all__ = ["WorkspaceKitchen"]

_profile = cache(load_profile)
Gate = Callable[[LoadedSpec, Sequence[ChartTree]], None]


@dataclass
class WorkspaceKitchen:
    """Does for the workflow what needs the workspace's files; ``gate`` runs the checks."""

    bench: Workbench
    gate: Gate
    _ready: dict[str, Renderable] = field(default_factory=dict)

    @property
    def generations(self) -> Sequence[Generation]:
        """Return the generations that the workspace renders, oldest first."""
        return self.bench.generations

    def charts(self, loaded: LoadedSpec, versions: Mapping[str, str]) -> Sequence[ChartTree]:
        """Render a spec at the given version per generation."""
        ready = self._ready.get(loaded.text)
        if ready is None:
            self._ready.clear()  # the workflow finishes one spec before it begins the next
            ready = self._ready[loaded.text] = self.bench.renderable(loaded)
        return [ready.chart(get_generation(name), version) for name, version in versions.items()]

    def digests(self, specs: Sequence[LoadedSpec]) -> Sequence[Mapping[str, str]]:
        """Return, per spec, the digest of each generation's chart at `COMPARED_VERSION`."""
        versions = {generation.name: COMPARED_VERSION for generation in self.generations}
        return fan_out(
            lambda loaded: {c.generation: c.digest() for c in self.charts(loaded, versions)}, specs
        )

    def reload(self, loaded: LoadedSpec, text: str) -> LoadedSpec:
        """Load another text of the same spec; raises SpecError."""
        return load_spec(text, path=loaded.path, model=spec_model(), facts=all_facts)

    def read(self, loaded: LoadedSpec) -> str:
        """Return the text of the spec's file, line ends untouched."""
        return decode(self._path(loaded).read_bytes(), loaded.path)

    def icon(self, app: str) -> Icon | None:
        """Return the curator's icon of an app; raises ArchiveError for one that is no icon."""
        for ending in ("png", "webp"):
            path = self.bench.workspace.folder("icons") / f"{app}.{ending}"
            if path.is_file():
                return Icon.of(path.read_bytes(), str(path))
        return None

    def page(self, loaded: LoadedSpec) -> PageFacts:
        """Return the facts of an app's page; raises SpecError, LockBroken and UnknownName."""
        locked = self.bench.with_lock(loaded)
        return page_facts(
            locked.spec,
            self.bench.lock(loaded),
            _profile(locked.spec.hardware),
            facts=dict(all_facts(self.bench.with_recipe(loaded).spec)),
            thresholds=self.bench.thresholds,
        )

    def has_charts(self, app: str, versions: Mapping[str, str]) -> bool:
        """Say whether charts of these versions are there; their Chart.yaml is written last."""
        return all(
            chart_version(self.bench.charts / generation / app) == version
            for generation, version in versions.items()
        )

    def check(self, loaded: LoadedSpec, charts: Sequence[ChartTree]) -> None:
        """Raise CheckFailed when something of it must not be published.

        What would keep spec and charts from being written afterwards is found here too: SpecError
        or RenderError, before the market has changed.
        """
        self.gate(loaded, charts)
        path = self._path(loaded)
        if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            hint = "publishing writes the new version into it; check permissions"
            raise SpecError([Problem("cannot be written", loaded.path, hint=hint)])
        for chart in charts:
            compare(self.bench.chart_folder(self.bench.charts, chart), chart)

    def write_spec(self, loaded: LoadedSpec, text: str) -> Sequence[str]:
        """Replace the spec's file if its text differs."""
        path = self._path(loaded)
        data = text.encode("utf-8")
        if path.read_bytes() == data:
            return []
        # A spec may be a link to a file elsewhere: that file changes, the link stays.
        write_file(path.resolve(), data)
        return [str(loaded.path)]

    def write_charts(self, charts: Sequence[ChartTree]) -> Sequence[str]:
        """Replace the rendered charts of one app."""
        top = self.bench.charts
        return [
            (self.bench.chart_folder(top, chart) / change.path)
            .relative_to(self.bench.workspace.root)
            .as_posix()
            for chart in charts
            for change in write(self.bench.chart_folder(top, chart), chart)
        ]

    def _path(self, loaded: LoadedSpec) -> Path:
        path = self.bench.workspace.root / loaded.path
        if not path.is_file():
            raise SpecError([Problem("is gone", loaded.path, hint="run the command again")])
        return path
