"""What a publish needs of a workspace, as an interface: nothing here reads or writes a file."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from olares_apps.generations import Generation
from olares_apps.market.candidates import Icon
from olares_apps.market.pages.facts import PageFacts
from olares_apps.render.chart import ChartTree
from olares_apps.spec.loader import LoadedSpec

__all__ = ["Kitchen"]


class Kitchen(Protocol):
    """What the workflow needs of a workspace: render, reload, and the two kinds of writing."""

    @property
    def generations(self) -> Sequence[Generation]:
        """Return the generations that the workspace renders, oldest first."""
        ...

    def charts(self, loaded: LoadedSpec, versions: Mapping[str, str]) -> Sequence[ChartTree]:
        """Render a spec at the given version per generation."""
        ...

    def digests(self, specs: Sequence[LoadedSpec]) -> Sequence[Mapping[str, str]]:
        """Return, per spec, each generation's digest at `proposal.COMPARED_VERSION`."""
        ...

    def reload(self, loaded: LoadedSpec, text: str) -> LoadedSpec:
        """Load another text of the same spec; raises SpecError."""
        ...

    def read(self, loaded: LoadedSpec) -> str:
        """Return the text of the spec's file as it is on disk; raises SpecError when it is gone."""
        ...

    def icon(self, app: str) -> Icon | None:
        """Return the curator's icon of an app, if there is one."""
        ...

    def page(self, loaded: LoadedSpec) -> PageFacts:
        """Return the facts of an app's page for people."""
        ...

    def has_charts(self, app: str, versions: Mapping[str, str]) -> bool:
        """Say whether the rendered charts of an app are those of these versions, and whole."""
        ...

    def check(self, loaded: LoadedSpec, charts: Sequence[ChartTree]) -> None:
        """Raise CheckFailed when something of it must not be published."""
        ...

    def write_spec(self, loaded: LoadedSpec, text: str) -> Sequence[str]:
        """Replace the spec's file; return the files changed."""
        ...

    def write_charts(self, charts: Sequence[ChartTree]) -> Sequence[str]:
        """Replace the rendered charts of one app; return the files changed."""
        ...
