"""What most commands begin with: the workspace, its templates, its specs ready to render."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olares_apps.checks.refused import Refused
from olares_apps.cli.pool import fan_out
from olares_apps.cli.stores import workspace_root
from olares_apps.engines.registry import get_engine, spec_model
from olares_apps.errors import (
    OlappsError,
    Problem,
    RenderError,
    SpecError,
    UnknownName,
    nearest,
)
from olares_apps.fit.verdict import MIB, Thresholds
from olares_apps.generations import GENERATIONS, Generation, get_generation
from olares_apps.hardware import load_profile, profile_names
from olares_apps.lock.apply import apply_lock
from olares_apps.lock.errors import Contradiction
from olares_apps.lock.file import load_lock
from olares_apps.lock.model import Lock
from olares_apps.render import Renderable, asset_paths
from olares_apps.render.chart import ChartTree, Publisher
from olares_apps.render.templates import Templates, load_templates
from olares_apps.render.versions import archive_version
from olares_apps.spec.facts import facts
from olares_apps.spec.loader import LoadedSpec, variant_of
from olares_apps.spec.models import AppSpec
from olares_apps.spec.workspace import Workspace, load_workspace

if TYPE_CHECKING:
    from olares_apps.images.load import LoadedRecipe

__all__ = ["Workbench", "all_facts", "open_workbench"]


def all_facts(spec: AppSpec[Any]) -> Mapping[str, object]:
    """Return every fact that the texts of a spec may name, its engine's included."""
    return facts(spec, get_engine(spec.engine.type).facts(spec))


@dataclass(frozen=True)
class Workbench:
    """An open workspace and what rendering needs of it."""

    workspace: Workspace
    templates: Templates
    _recipes: "dict[str, LoadedRecipe]" = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def publisher(self) -> Publisher:
        """Return who publishes."""
        return Publisher(**self.workspace.config.publisher.values())

    @property
    def generations(self) -> tuple[Generation, ...]:
        """Return the generations that this workspace renders, oldest first."""
        names = self.workspace.config.generations
        return tuple(item for item in GENERATIONS if item.name in names)

    @property
    def charts(self) -> Path:
        """Return the folder of the rendered charts."""
        return self.workspace.folder("charts")

    def wanted(self, names: Sequence[str]) -> tuple[Generation, ...]:
        """Return the generations called ``names``, or those of the workspace for no name."""
        return tuple(get_generation(name) for name in names) or self.generations

    def select(self, names: Sequence[str], *, hardware: str | None = None) -> list[LoadedSpec]:
        """Return the specs of these names, or all; with ``hardware`` as they are on that profile.

        Raises UnknownName, and SpecError for a spec or a variant that is broken.
        """
        if hardware is not None:
            load_profile(hardware)
        return [self.on_profile(loaded, hardware) for loaded in self.workspace.select(names)]

    def sort_out(
        self, names: Sequence[str], *, hardware: str | None = None
    ) -> tuple[list[LoadedSpec], list[Refused]]:
        """Return the specs that checks can look at, and the others with what is wrong.

        Specs that clash with another one are among the first: the rules of fleets name that, and
        the rest of them is looked at too. Raises UnknownName.
        """
        if hardware is not None:
            load_profile(hardware)
        specs, broken = self.workspace.sort_out(names)
        clashing = self.workspace.clashing
        specs = [*specs, *(clashing[name] for name in broken if name in clashing)]
        refused = [
            self.refused(name, error) for name, error in broken.items() if name not in clashing
        ]
        ready = []
        for loaded in specs:
            try:
                ready.append(self.on_profile(loaded, hardware))
            except OlappsError as error:
                refused.append(self.refused(loaded.name, error))
        return ready, refused

    def refused(self, name: str, error: OlappsError) -> Refused:
        """Return what checks say of the spec called ``name``, which ends in an error."""
        folder = self.workspace.config.workspace.specs
        return Refused(self.workspace.app_of(name), f"{folder}/{name}.yaml", error)

    def on_profile(self, loaded: LoadedSpec, hardware: str | None) -> LoadedSpec:
        """Return a spec ready to render: on its own profile, or as it is on ``hardware``.

        Raises SpecError for a variant or a recipe that is broken.
        """
        if hardware is not None:
            loaded = variant_of(loaded, hardware, facts=all_facts)
        return self.with_recipe(loaded)

    def recipe(self, loaded: LoadedSpec) -> "LoadedRecipe | None":
        """Return the image recipe that a spec names, None when it names none.

        Raises SpecError when the recipe is broken or not there.
        """
        name = loaded.spec.engine.recipe
        if name is None:
            return None
        if name not in self._recipes:
            from olares_apps.images.load import recipe_for

            folder = self.workspace.config.workspace.images
            try:
                self._recipes[name] = recipe_for(name, self.workspace.root, folder)
            except UnknownName as error:
                problem = Problem(error.message, field="engine.recipe", hint=error.hint)
                raise loaded.located(SpecError([problem])) from None
        return self._recipes[name]

    def with_recipe(self, loaded: LoadedSpec) -> LoadedSpec:
        """Return a spec with the build of its recipe where it states none itself.

        An image that is not the recipe's keeps what its own name says. Raises what
        :meth:`recipe` raises.
        """
        recipe, engine = self.recipe(loaded), loaded.spec.engine
        if recipe is None or engine.build or engine.image != recipe.recipe.image:
            return loaded
        known = engine.model_copy(update={"build": recipe.recipe.build})
        return replace(loaded, spec=loaded.spec.model_copy(update={"engine": known}))

    def renderable(self, loaded: LoadedSpec) -> Renderable:
        """Return a spec ready to render; errors of its texts carry file and line."""
        self._check_variants(loaded)
        spec = self.with_recipe(loaded).spec
        try:
            assets = {path: self._asset(loaded, path) for path in asset_paths(spec)}
            return Renderable(
                spec,
                publisher=self.publisher,
                templates=self.templates,
                assets=assets,
                lock=self.lock(loaded),
            )
        except SpecError as error:
            raise loaded.located(error) from None
        except RenderError as error:
            raise loaded.refused(error) from None
        except UnknownName as error:
            problem = Problem(error.message, field=error.kind.split()[0], hint=error.hint)
            raise loaded.located(SpecError([problem])) from None
        except Contradiction as error:
            raise self._denied(loaded, error) from None

    def lock(self, loaded: LoadedSpec) -> Lock | None:
        """Return the lock beside a spec, None when there is none; raises LockBroken."""
        return load_lock(self.workspace.root / loaded.path, shown=loaded.path)

    def with_lock(self, loaded: LoadedSpec) -> LoadedSpec:
        """Return a spec with the commits, sizes and digests that its lock knows.

        Its image recipe counts too. Raises SpecError, with file and line, where spec and lock
        disagree.
        """
        try:
            spec = self.with_recipe(loaded).spec
            return replace(loaded, spec=apply_lock(spec, self.lock(loaded)))
        except Contradiction as error:
            raise self._denied(loaded, error) from None

    @property
    def thresholds(self) -> Thresholds:
        """Return the free GPU memory below which this workspace sees an error or a warning."""
        margins = self.workspace.config.fit
        return Thresholds(margins.error_below_mib * MIB, margins.warn_below_mib * MIB)

    def _denied(self, loaded: LoadedSpec, error: Contradiction) -> SpecError:
        problem = Problem(error.message, field=error.field, hint=error.hint)
        return loaded.located(SpecError([problem]))

    def chart(
        self, ready: Renderable, generation: Generation, version: str | None = None
    ) -> ChartTree:
        """Render one chart; by default at the version that the spec gives this generation."""
        if version is None:
            version = archive_version(ready.spec.version, GENERATIONS.index(generation))
        return ready.chart(generation, version)

    def charts_of(
        self, loaded: LoadedSpec, generations: Sequence[Generation]
    ) -> list[tuple[Generation, ChartTree]]:
        """Render a spec for several generations."""
        ready = self.renderable(loaded)
        return [(generation, self.chart(ready, generation)) for generation in generations]

    def chart_folder(self, top: Path, chart: ChartTree) -> Path:
        """Return where a chart lies below the folder of charts."""
        return top / chart.generation / chart.app

    @staticmethod
    def _check_variants(loaded: LoadedSpec) -> None:
        known = profile_names()
        for name in loaded.spec.variants:
            if name not in known:
                close = nearest(name, known)
                hint = f"did you mean {close}?" if close else f"known: {', '.join(known)}"
                problem = Problem("is no hardware profile", field=f"variants.{name}", hint=hint)
                raise loaded.located(SpecError([problem]))

    def _asset(self, loaded: LoadedSpec, path: str) -> str:
        try:
            # Byte by byte, line ends included: read_text() would change them.
            text = (self.workspace.root / path).read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
            problem = Problem(f"names the file {path}, which cannot be read: {reason}", value=path)
            raise loaded.located(SpecError([problem])) from None
        if "\0" in text:
            problem = Problem(
                f"names the file {path}, which no chart can carry: it holds a zero byte at "
                f"character {text.index(chr(0)) + 1}",
                value=path,
            )
            raise loaded.located(SpecError([problem]))
        return text


def open_workbench(root: Path | None = None) -> Workbench:
    """Open the workspace at ``root``, or the one around the current folder.

    Raises WorkspaceError, SpecError or RenderError.
    """
    workspace = load_workspace(
        workspace_root(root), model=spec_model(), facts=all_facts, each=fan_out
    )
    return Workbench(workspace, load_templates(workspace.folder("templates")))
