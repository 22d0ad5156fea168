"""All apps of a workspace or market beside each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found
from olares_apps.checks.shape import as_list, as_text, dig
from olares_apps.findings import Severity
from olares_apps.spec.loader import LoadedSpec

__all__ = ["Fleet", "Member", "OwnIcons"]

# What a member is known by -> where that stands in a spec and in a manifest.
_FIELDS = {
    "app": (("app",), ("metadata", "name")),
    "title": (("title",), ("metadata", "title")),
    "alias": (("alias",), ("metadata",)),
    "entrance": (("entrance", "title"), ("entrances", 0, "title")),
    "icon": (("icon",), ("metadata", "icon")),
    "categories": (("categories",), ("metadata", "categories")),
}


@dataclass(frozen=True, eq=False)
class Member:
    """One app of a fleet, known from its spec, from its chart, or from both.

    ``generation`` is empty for a spec, which stands for all of them.
    """

    app: str
    title: str
    alias: str
    icon: str
    entrance: str = ""
    categories: tuple[str, ...] = ()
    generation: str = ""
    spec: LoadedSpec | None = None
    chart: ChartContext | None = None

    @classmethod
    def of_spec(cls, loaded: LoadedSpec, *, icons: str) -> "Member":
        """Return the app of a spec; ``icons`` is the address below which icons are served.

        Nothing has to be rendered: the charts of specs keep every model file in the app's own
        folder.
        """
        spec = loaded.spec
        icon = spec.icon or f"{icons}/{spec.app}.png"
        categories, entrance = tuple(spec.categories), spec.entrance_title
        return cls(spec.app, spec.title, spec.alias, icon, entrance, categories, spec=loaded)

    @classmethod
    def of_chart(cls, chart: ChartContext) -> "Member":
        """Return the app of a chart."""
        alias = chart.spec.spec.alias if chart.spec else ""
        if not alias and chart.renders:
            alias = next((server.alias for server in chart.servers if server.alias), "")
        return cls(
            chart.app,
            as_text(dig(chart.manifest_data, "metadata", "title")),
            alias,
            as_text(dig(chart.manifest_data, "metadata", "icon")),
            as_text(dig(chart.manifest_data, "entrances", 0, "title")),
            tuple(
                as_text(name)
                for name in as_list(dig(chart.manifest_data, "metadata", "categories"))
            ),
            chart.generation_name,
            chart.spec,
            chart,
        )

    @property
    def origin(self) -> str:
        """Return where the app was found, for messages."""
        if self.spec is not None:
            return str(self.spec.path)
        return self.chart.folder if self.chart is not None else ""

    def found(
        self, message: str, field: str, *, hint: str, severity: Severity | None = None
    ) -> Found:
        """Return a finding about one of the fields that a member is known by."""
        in_spec, in_manifest = _FIELDS[field]
        if self.spec is not None:
            places = self.spec.positions
            # An entrance without a title of its own has that of the app.
            implied = field == "entrance" and places.key(in_spec) is None
            spot = places.nearest(("title",) if implied else in_spec)
            return Found(message, str(self.spec.path), spot.line, hint, severity, self.app)
        if self.chart is None:
            return Found(message, hint=hint, severity=severity, app=self.app)
        place = self.chart.in_manifest(message, *in_manifest, hint=hint)
        return Found(message, place.file, place.line, hint, severity, self.app)


@dataclass(frozen=True, slots=True)
class OwnIcons:
    """The icons that the workspace's own market serves.

    ``address`` is the one below which they are, without a slash at its end; ``folder`` is where
    the files lie, relative to the workspace; ``apps`` have a file.
    """

    address: str
    folder: str
    apps: frozenset[str]


class Fleet:
    """The apps of a workspace or market; an app may be there once per generation.

    ``own_icons`` is None when somebody else serves the icons. ``strays`` are chart folders of
    the workspace that belong to none of its specs, relative to its root.
    """

    def __init__(
        self,
        charts: Iterable[ChartContext] = (),
        *,
        members: Iterable[Member] = (),
        own_icons: OwnIcons | None = None,
        strays: Sequence[str] = (),
    ) -> None:
        self.members = [*members, *map(Member.of_chart, charts)]
        self.own_icons, self.strays = own_icons, strays

    @classmethod
    def of_specs(cls, specs: Iterable[LoadedSpec], *, icons: str, **more: Any) -> "Fleet":
        """Return the fleet of a workspace's specs; ``icons`` as in :meth:`Member.of_spec`."""
        return cls(members=[Member.of_spec(loaded, icons=icons) for loaded in specs], **more)

    @cached_property
    def apps(self) -> Sequence[Member]:
        """Return one member per app, the first of each name."""
        found: dict[str, Member] = {}
        for member in self.members:
            found.setdefault(member.app, member)
        return list(found.values())

    def repeated(self, values: Iterable[tuple[Member, str]]) -> list[tuple[str, Member, Member]]:
        """Return each value that a later app shares with an earlier one: value, first, later."""
        first: dict[str, Member] = {}
        found = []
        for member, value in values:
            if not value:
                continue
            other = first.setdefault(value, member)
            if other is not member:
                found.append((value, other, member))
        return found
