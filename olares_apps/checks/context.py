"""What rules look at: one chart, read lazily and rendered as often as its templates need."""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from olares_apps.checks import rendering
from olares_apps.checks.chart_files import MANIFEST, TEXT_ENDINGS, ChartFiles
from olares_apps.checks.documents import Unreadable
from olares_apps.checks.launch import Server, servers
from olares_apps.checks.placing import Placing
from olares_apps.checks.platform import hydration_values, install_values
from olares_apps.checks.prose import Prose
from olares_apps.checks.rendering import Rendering, Template, Variant
from olares_apps.checks.shape import as_list, as_map, as_maps, as_text, dig
from olares_apps.checks.spec_servers import servers_of
from olares_apps.checks.workloads import Workload, workloads
from olares_apps.generations import GENERATIONS, Generation
from olares_apps.helm import RenderedObject
from olares_apps.helm.calls import CallFailed
from olares_apps.helm.semver_range import version_matches
from olares_apps.render.chart import ChartTree

if TYPE_CHECKING:
    from olares_apps.checks.images import ImageFacts
    from olares_apps.checks.listing import Listing, Published
    from olares_apps.checks.tools import Tools
    from olares_apps.findings import Finding
    from olares_apps.fit.verdict import Thresholds
    from olares_apps.hardware import HardwareProfile
    from olares_apps.images.load import LoadedRecipe
    from olares_apps.lock.model import Lock
    from olares_apps.spec.loader import LoadedSpec
    from olares_apps.spec.models import AppSpec

__all__ = ["MANIFEST", "TEXT_ENDINGS", "ChartContext"]

_OLD, _NEW = GENERATIONS
_LITERAL_SINCE: Final = (0, 12, 0)
_MOST_MODES: Final = 12
# The values as a whole, which may then be read under any name.
_WHOLE_VALUES: Final = re.compile(r"\.Values\b(?!\.)")
_TEMPLATE_ENDINGS: Final = (".yaml", ".yml", ".tpl", ".txt", ".json")


@dataclass(eq=False)
class ChartContext(ChartFiles, Placing):
    """One chart as rules see it. Everything is worked out when first asked for, and kept.

    ``files`` maps paths inside the chart to bytes. ``folder`` is the name of the folder or of
    the archive's top folder, empty when there is none. ``generation`` is known for charts
    that were rendered from a spec; for others it is read from the manifest. ``spec`` gives
    texts their source and sizes, ``lock`` is the lock beside it, ``profile`` the device's
    budget, ``thresholds`` its margins when not the usual ones, ``recipe`` the one that the spec
    names, ``images`` what is known of container images by reference, ``pictures`` the bytes of
    icons and screenshots by URL, ``listing`` the folder or archive as it was found,
    ``published`` what a market holds, ``tools`` the programs of this machine.
    """

    files: Mapping[str, bytes]
    folder: str = ""
    generation: Generation | None = None
    spec: "LoadedSpec | None" = None
    lock: "Lock | None" = None
    profile: "HardwareProfile | None" = None
    thresholds: "Thresholds | None" = None
    recipe: "LoadedRecipe | None" = None
    images: "Mapping[str, ImageFacts]" = field(default_factory=dict)
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    listing: "Listing | None" = None
    published: "Published | None" = None
    tools: "Tools | None" = None
    tree: ChartTree | None = None

    @classmethod
    def of_tree(cls, tree: ChartTree, **more: Any) -> "ChartContext":
        """Return the context of a chart that was rendered from a spec.

        Its data is used as it was before it was dumped. ``more`` are further fields.
        """
        generation = next((g for g in GENERATIONS if g.name == tree.generation), None)
        return cls(tree.files, folder=tree.app, generation=generation, tree=tree, **more)

    # Who and what the chart is

    @cached_property
    def app(self) -> str:
        """Return the app's name: that of the manifest, else of Chart.yaml, else the folder's."""
        if self.tree is not None:
            return self.tree.app
        name = as_text(dig(self.manifest_data, "metadata", "name"))
        return name or as_text(self.chart.data.get("name")) or self.folder

    @cached_property
    def release(self) -> str:
        """Return the name that the chart is rendered under."""
        return self.app or "app"

    @cached_property
    def version(self) -> str:
        """Return the version of Chart.yaml, else that of the manifest."""
        known = as_text(self.chart.data.get("version"))
        return known or as_text(dig(self.manifest_data, "metadata", "version"))

    @cached_property
    def manifest_version(self) -> str:
        """Return ``olaresManifest.version``, read from the text when that is a template."""
        if self.tree is not None and self.tree.manifest:
            return as_text(self.tree.manifest.get("olaresManifest.version"))
        text = self.text(self.manifest_file)
        found = re.search(
            r"^[\"']?olaresManifest\.version[\"']?\s*:\s*[\"']?([^\"'\s#]+)", text, re.M
        )
        return found[1] if found else ""

    @cached_property
    def is_literal(self) -> bool:
        """Say whether devices read the manifest as it is: from 0.12.0 on it is no template."""
        found = re.match(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", self.manifest_version)
        return found is not None and tuple(map(int, found.groups("0"))) >= _LITERAL_SINCE

    @cached_property
    def api_version(self) -> str:
        """Return the manifest's apiVersion, ``v1`` when it has none."""
        return as_text(self.manifest_data.get("apiVersion")) or "v1"

    @cached_property
    def targets_new(self) -> bool:
        """Say whether the chart is meant for devices of 1.12.6 and later."""
        if self.generation is not None:
            return self.generation is _NEW
        if self.is_literal or self.api_version == "v3":
            return True
        return self.api_version != "v2" and self._admits(str(_NEW.first))

    @cached_property
    def targets_old(self) -> bool:
        """Say whether the chart is meant for devices of 1.12.3 to 1.12.5."""
        if self.generation is not None:
            return self.generation is _OLD
        return not self.is_literal and self.api_version != "v3"

    def _admits(self, version: str) -> bool:
        try:
            return all(version_matches(window, version) for window in self.olares_windows)
        except CallFailed:
            return False

    @cached_property
    def olares_windows(self) -> Sequence[str]:
        """Return the constraints on the system that the manifest declares."""
        return [
            as_text(item.get("version"))
            for _, item in as_maps(dig(self.manifest_data, "options", "dependencies"))
            if item.get("name") == "olares" and item.get("type") == "system"
        ]

    @property
    def generation_name(self) -> str:
        """Return the name of the one generation the chart is for, empty when it is for both."""
        if self.generation is not None:
            return self.generation.name
        if self.targets_old == self.targets_new:
            return ""
        return (_NEW if self.targets_new else _OLD).name

    @cached_property
    def subchart_folders(self) -> Sequence[str]:
        """Return the folders of charts inside this one, each with a slash at its end."""
        return [
            path.removesuffix("Chart.yaml") for path in self.files if path.endswith("/Chart.yaml")
        ]

    # Templates and objects

    @cached_property
    def templates(self) -> Mapping[str, Template]:
        """Return the files below templates/ with what each of them uses."""
        return {
            path: rendering.read_template(path, self.text(path))
            for path in sorted(self.files)
            if path.startswith("templates/") and path.endswith(_TEMPLATE_ENDINGS)
        }

    @cached_property
    def modes(self) -> Sequence[str]:
        """Return the accelerator modes of the manifest, nvidia first; one empty mode for none.

        Rules that look at one pass only see the one with the GPU.
        """
        entries = as_maps(dig(self.manifest_data, "spec", "accelerator"))
        found = dict.fromkeys(as_text(item.get("mode")) for _, item in entries)
        if not found and as_text(dig(self.manifest_data, "spec", "requiredGpu")):
            return ("nvidia",)
        return tuple(sorted(found, key=lambda mode: mode != "nvidia"))[:_MOST_MODES] or ("",)

    @cached_property
    def variants(self) -> Sequence[Variant]:
        """Return the ways to install the chart that its templates can tell apart."""
        named = rendering.values_named(self.templates.values())
        computed = any(_WHOLE_VALUES.search(item.text) for item in self.templates.values())
        roles = (False, True) if named & {"admin", "isAdmin", "bfl"} or computed else (False,)
        modes = self.modes if named & {"GPU", "gpu"} or computed else self.modes[:1]
        counts = (None, 0) if "workloads" in named and self.is_literal else (None,)
        return [Variant(admin, mode, n) for n in counts for mode in modes for admin in roles]

    @cached_property
    def renderings(self) -> Sequence[Rendering]:
        """Return what Helm makes of the chart at install, one pass per variant.

        After a pass that was stopped by its bounds no other one is tried.
        """
        done: list[Rendering] = []
        for variant in self.variants:
            values = install_values(
                self.manifests[variant.admin].data or self.manifest_data,
                admin=variant.admin,
                mode=variant.mode,
                replicas=variant.replicas,
            )
            done.append(rendering.render(self.files, self.release, values, variant))
            if done[-1].failure and done[-1].failure.is_limit:
                break
        return done

    @cached_property
    def base(self) -> Rendering:
        """Return the first pass that gave objects, else the first one."""
        return next((item for item in self.renderings if not item.failure), self.renderings[0])

    @property
    def renders(self) -> bool:
        """Say whether the chart has templates, and one pass at least gave objects."""
        return bool(self.templates) and not self.base.failure

    @cached_property
    def objects(self) -> Sequence[RenderedObject]:
        """Return the Kubernetes objects of the first pass, then what only other passes have.

        Raises Unreadable when the chart does not render, or has nothing to render.
        """
        if not self.renders:
            raise Unreadable
        found = list(self.base.objects)
        known = {(item.kind, item.name) for item in found}
        for other in self.renderings:
            if other is not self.base:
                fresh = [item for item in other.objects if (item.kind, item.name) not in known]
                known |= {(item.kind, item.name) for item in fresh}
                found += fresh
        return found

    @cached_property
    def workloads(self) -> Sequence[Workload]:
        """Return the objects that run pods, with what was read of them so far."""
        return workloads(self.objects)

    @cached_property
    def is_whole(self) -> bool:
        """Say whether all of the app's objects are known: it rendered and has no sub-charts."""
        has_parts = bool(as_list(dig(self.manifest_data, "spec", "subCharts")))
        return self.renders and not self.base.problems and not has_parts

    @cached_property
    def servers(self) -> Sequence[Server]:
        """Return the containers that run an inference server."""
        if self.spec is not None:
            return servers_of(self.objects, self.spec.spec)
        return servers(self.objects)

    @cached_property
    def prose(self) -> Prose:
        """Return the free texts, and the facts that they must not contradict."""
        return Prose(self)

    @cached_property
    def bare(self) -> Rendering:
        """Return what Helm makes of the chart with nothing but its own values.yaml."""
        return rendering.render(self.files, self.release, {}, Variant(), with_objects=False)

    @cached_property
    def hydrations(self) -> Sequence[Rendering]:
        """Return what the device's first pass makes of the chart, for both roles."""
        entrances = as_maps(self.manifest_data.get("entrances"))
        names = [as_text(item.get("name")) for _, item in entrances]
        done = []
        for admin in sorted({variant.admin for variant in self.variants}):
            values = hydration_values(filter(None, names), admin=admin)
            variant = Variant(admin)
            done.append(rendering.hydrate(self.files, self.release, values, variant))
            if done[-1].failure:
                break
        return done

    @cached_property
    def lock_findings(self) -> "Sequence[Finding]":
        """Return what the lock says about the spec; nothing without spec and profile.

        Without a lock only a measured figure of GPU memory can be judged.
        """
        if self.spec is None or self.profile is None:
            return ()
        if self.lock is None and not self.spec.spec.resources.gpu_measured:
            return ()
        from olares_apps.lock.findings import lock_findings

        margins = {"thresholds": self.thresholds} if self.thresholds else {}
        return lock_findings(self.spec.spec, self.lock, None, self.profile, **margins)

    def variation(self, spec: "AppSpec[Any]", servers: Sequence[Server]) -> "ChartContext":
        """Return the context as it is when owners change a setting: other values, other arguments.

        The chart is the same: what follows from the arguments alone is worked out again.
        """
        other = copy(self)
        for name in ("lock_findings", "prose"):
            other.__dict__.pop(name, None)
        other.__dict__["servers"] = servers
        if self.spec is not None:
            other.spec = replace(self.spec, spec=spec)
        return other

    def list_at(self, *path: str | int) -> Sequence[Any]:
        """Return a list of the manifest, empty when there is none."""
        return as_list(dig(self.manifest, *path))

    def map_at(self, *path: str | int) -> Mapping[str, Any]:
        """Return a mapping of the manifest, empty when there is none."""
        return as_map(dig(self.manifest, *path))
