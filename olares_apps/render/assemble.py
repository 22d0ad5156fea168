"""One spec and one generation to a chart tree: pure, the same bytes on every machine."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from olares_apps.engines.base import MODEL_FOLDER, Engine, Launch, StoredFile
from olares_apps.engines.files import stored_files
from olares_apps.engines.registry import get_engine
from olares_apps.generations import Generation
from olares_apps.hardware import HardwareProfile, load_profile
from olares_apps.lock.apply import apply_lock, exact_files
from olares_apps.lock.model import Lock
from olares_apps.lock.need import gpu_need
from olares_apps.render import manifest as manifests
from olares_apps.render import platform, resources
from olares_apps.render.chart import ChartTree, Publisher
from olares_apps.render.console import PORT, console_context, has_console, with_console
from olares_apps.render.editable import editable, widest
from olares_apps.render.pod import literal, pod_context
from olares_apps.render.scalars import dump
from olares_apps.render.templates import Templates
from olares_apps.render.text import DEFAULT_LOCALE, page_texts
from olares_apps.render.traits import Traits, runs_on_gpu, traits_of
from olares_apps.spec.facts import facts as spec_facts
from olares_apps.spec.models import AppSpec

__all__ = ["DOWNLOAD_IMAGE", "Renderable", "asset_paths", "render_chart"]

DOWNLOAD_IMAGE: Final = "docker.io/alpine/curl:8.12.1"
"""Image of the init container: small, with curl, and from a registry whose images devices let
run as root, which a folder that the device has just created for root needs."""

_profile = cache(load_profile)
_OBJECTS: Final = "chart/templates/"


def asset_paths(spec: AppSpec[Any], engine: Engine[Any] | None = None) -> tuple[str, ...]:
    """Return the workspace files that a render needs as ``assets``."""
    engine = engine or get_engine(spec.engine.type)
    launch = engine.launch(spec, stored_files(spec.model.files))
    named = (launch.assets, launch.mounts, spec.config_files)
    return tuple(sorted({path for files in named for path in files.values()}))


def render_chart(
    spec: AppSpec[Any],
    generation: Generation,
    *,
    version: str,
    publisher: Publisher,
    templates: Templates,
    engine: Engine[Any] | None = None,
    assets: Mapping[str, str] | None = None,
    hardware: HardwareProfile | None = None,
    lock: Lock | None = None,
) -> ChartTree:
    """Render the chart of one app for one generation; see :class:`Renderable`."""
    app = Renderable(
        spec,
        publisher=publisher,
        templates=templates,
        engine=engine,
        assets=assets,
        hardware=hardware,
        lock=lock,
    )
    return app.chart(generation, version)


class Renderable:
    """One app ready to be rendered: what its generations share is worked out once.

    ``assets`` holds the text of the workspace files that the spec names (see
    :func:`asset_paths`), by the path that the spec uses. ``engine`` and ``hardware`` are those
    that the spec names unless others are given. ``lock`` gives exact sizes, digests and commits,
    and the GPU memory that follows from the model's header. Raises RenderError for a template or
    a value that gives no chart, Contradiction when spec and lock disagree, SpecError for a
    placeholder that no fact answers to, and UnknownName for an engine or a hardware profile that
    does not exist.
    """

    def __init__(
        self,
        spec: AppSpec[Any],
        *,
        publisher: Publisher,
        templates: Templates,
        engine: Engine[Any] | None = None,
        assets: Mapping[str, str] | None = None,
        hardware: HardwareProfile | None = None,
        lock: Lock | None = None,
    ) -> None:
        profile = hardware or _profile(spec.hardware)
        files, need = stored_files(spec.model.files), gpu_need(widest(spec), lock, profile)
        if lock:
            spec = apply_lock(spec, lock)
            files = exact_files(stored_files(spec.model.files), lock)
        self.spec = spec
        self._publisher, self._templates = publisher, templates
        engine = engine or get_engine(spec.engine.type)
        launch = engine.launch(spec, files)
        usable = profile.usable_bytes
        self._gpu = launch.gpu
        self._needs = manifests.Needs(
            cpu=(spec.resources.cpu, spec.resources.cpu_limit),
            memory=resources.server_memory(spec, launch),
            disk=resources.disk(spec, files, usable, launch.fetch),
            gpu=resources.gpu_memory(
                spec, files, usable, need, fetch=launch.fetch, taken=_taken(launch, profile)
            )
            if launch.gpu
            else None,
        )
        self._texts = page_texts(
            spec,
            templates,
            facts=spec_facts(spec, engine.facts(spec)),
            gpu_memory=resources.gib_text(self._needs.gpu[0]) if self._needs.gpu else None,
        )
        self._i18n = {
            locale: manifests.locale_file(spec.title, page) for locale, page in self._texts.items()
        }
        self._locale_files = {
            f"i18n/{locale}/OlaresManifest.yaml": dump(page).encode()
            for locale, page in self._i18n.items()
        }
        self._console = console_context(spec, files, templates) if spec.model.console else None
        self._editable = editable(spec, launch, lambda other: engine.launch(other, files))
        self._context = pod_context(
            spec,
            launch,
            self._editable,
            download=_download(files, templates),
            assets=assets or {},
            download_seconds=resources.download_seconds(files, usable, launch.fetch),
        )

    def chart(self, generation: Generation, version: str) -> ChartTree:
        """Render the chart for one generation; ``version`` is that archive's own version."""
        spec, traits = self.spec, traits_of(generation)
        console = PORT if has_console(spec, traits) else None
        objects = self._objects(traits)
        found = platform.references(objects.values())
        text = self._texts[DEFAULT_LOCALE]
        manifest = manifests.manifest(
            spec,
            generation,
            traits,
            version=version,
            publisher=self._publisher,
            text=text,
            locales=list(self._texts),
            needs=with_console(self._needs) if console else self._needs,
            console=console,
            permission=platform.permission(found, traits, spec.volumes),
            envs=platform.environment(found, spec, traits, self._editable.defaults),
        )
        chart = manifests.chart_yaml(spec, version=version, publisher=self._publisher, text=text)
        written = {
            "Chart.yaml": dump(chart),
            "OlaresManifest.yaml": dump(manifest),
            "values.yaml": dump(platform.values(spec, found, traits, console=console is not None)),
            **objects,
        }
        contents = {path: text.encode() for path, text in written.items()} | self._locale_files
        return ChartTree(
            app=spec.app,
            version=version,
            generation=generation.name,
            files={path: contents[path] for path in sorted(contents)},
            manifest=manifest,
            i18n=self._i18n,
        )

    def _objects(self, traits: Traits) -> dict[str, str]:
        """Return the chart's template files; a template that comes out empty gives no file."""
        context = self._context | {
            "scalable": traits.replicas,
            "console": self._console if has_console(self.spec, traits) else None,
            "gpu": traits.gpu_inject
            if self._gpu and runs_on_gpu(self.spec.support.accelerators, traits)
            else None,
            "shared_models": traits.common_folder and self.spec.model.folder == "shared",
        }
        rendered = {
            name.removeprefix("chart/"): self._templates.render(name, context)
            for name in self._templates.names(_OBJECTS)
        }
        return {path: text for path, text in rendered.items() if text.strip()}


def _download(files: Sequence[StoredFile], templates: Templates) -> dict[str, str] | None:
    """Return what the init container needs, or None for a server without model files."""
    if not files:
        return None
    rows = (
        (f.repo, f.revision, f.remote, f.path.removeprefix(f"{MODEL_FOLDER}/"), f.size, f.sha256)
        for f in files
    )
    return {
        "image": DOWNLOAD_IMAGE,
        "script": templates.text("scripts/download.sh"),
        "rows": literal("\n".join("|".join(str(item or "-") for item in row) for row in rows)),
    }


def _taken(launch: Launch, profile: HardwareProfile) -> int | None:
    """Return the bytes of GPU memory that a server takes whatever it serves.

    Its share is one of what the driver states for the card, which is more than a program gets.
    """
    if launch.gpu_share is None:
        return None
    return min(round(launch.gpu_share * profile.reported_bytes), profile.usable_bytes)
