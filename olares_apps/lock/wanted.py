"""What one lock holds: everything that a spec, its variants and its chart name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from olares_apps.spec.models import AppSpec

__all__ = ["WantedImage", "wanted_images", "with_variants"]


@dataclass(frozen=True, slots=True)
class WantedImage:
    """An image to pin, and the field of the spec that names it.

    ``field`` is None for an image that the chart adds: when it cannot be had, the rest is
    written all the same.
    """

    image: str
    field: str | None


def wanted_images(
    spec: AppSpec[Any], variants: Sequence[tuple[str, AppSpec[Any]]], added: Iterable[str]
) -> list[WantedImage]:
    """Return every image that the charts of a spec run, each once, the server's first.

    ``variants`` are the spec's variants by hardware profile, ``added`` the images that the
    chart adds on its own.
    """
    fields: dict[str, str | None] = {spec.engine.image: "engine.image"}
    for profile, variant in variants:
        fields.setdefault(variant.engine.image, f"variants.{profile}")
    for index, step in enumerate(spec.init):
        fields.setdefault(step.image, f"init.{index}.image")
    for profile, variant in variants:
        for step in variant.init:
            fields.setdefault(step.image, f"variants.{profile}")
    for image in added:
        fields.setdefault(image, None)
    return [WantedImage(image, field) for image, field in fields.items()]


def with_variants(spec: AppSpec[Any], variants: Sequence[AppSpec[Any]]) -> AppSpec[Any]:
    """Return a spec that names what any of its variants needs as well, for its one lock."""
    models = [spec.model, *(item.model for item in variants)]
    files = {(file.repo, file.file): file for model in reversed(models) for file in model.files}
    repos = {item.repo: item for model in reversed(models) for item in model.repos}
    update = {
        "files": [*spec.model.files, *_others(files.values(), spec.model.files)],
        "repos": [*spec.model.repos, *_others(repos.values(), spec.model.repos)],
    }
    return spec.model_copy(update={"model": spec.model.model_copy(update=update)})


def _others(found: Iterable[Any], known: Sequence[Any]) -> list[Any]:
    return [item for item in found if item not in known]
