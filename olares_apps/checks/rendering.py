"""Rendering a chart as devices do: for each role, accelerator mode and replica count.

This is the one place that knows the built-in Helm renderer. Variants that a template cannot
tell apart are rendered once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from olares_apps.errors import OlappsError, Problem
from olares_apps.helm import (
    HELM,
    HYDRATION,
    LimitExceeded,
    Limits,
    RenderedObject,
    TemplateError,
    YamlError,
    read_manifests,
    render_chart,
    render_text,
)
from olares_apps.helm.uses import TemplateUses, template_uses
from olares_apps.helm.yamlio import load_yaml

__all__ = [
    "Failure",
    "Rendering",
    "Template",
    "Variant",
    "hydrate",
    "read_template",
    "render",
    "render_manifest",
]

LIMITS: Final = Limits(steps=300_000, output_bytes=8 * 2**20, seconds=5.0)
"""Bounds of one pass: real charts take a thousandth of them."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to install a chart.

    ``mode`` is the accelerator mode, empty for none; ``replicas`` None stands for the
    declared numbers, 0 for a stopped app.
    """

    admin: bool = False
    mode: str = ""
    replicas: int | None = None

    def __str__(self) -> str:
        parts = ["administrator" if self.admin else "other user"]
        parts += [f"mode {self.mode}"] if self.mode else []
        parts += ["stopped"] if self.replicas == 0 else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a pass gave no text: message, place, and the error itself."""

    message: str
    file: str
    line: int | None
    error: OlappsError

    @property
    def is_limit(self) -> bool:
        """Say whether the pass was stopped by its bounds, as another one would be."""
        return isinstance(self.error, LimitExceeded)


@dataclass(frozen=True, slots=True)
class Rendering:
    """One pass over a chart: its texts and objects, or why there are none."""

    variant: Variant
    texts: Mapping[str, str] = field(default_factory=dict)
    objects: tuple[RenderedObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """One template file: its text and what it uses; ``failure`` when it does not parse."""

    path: str
    text: str
    uses: TemplateUses
    failure: Failure | None = None


_NOTHING: Final = TemplateUses((), (), (), ())


@lru_cache(maxsize=32)
def read_template(path: str, text: str) -> Template:
    """Return what a template uses, without running it; generations share some of them."""
    if "{{" not in text:
        return Template(path, text, _NOTHING)
    try:
        return Template(path, text, template_uses(text, file=path))
    except OlappsError as error:
        return Template(path, text, _NOTHING, _failure(error))
    except RecursionError:
        deep = LimitExceeded("depth", LIMITS.depth, file=path, line=1)
        return Template(path, text, _NOTHING, _failure(deep))


def render(
    files: Mapping[str, bytes],
    name: str,
    values: Mapping[str, Any],
    variant: Variant,
    *,
    with_objects: bool = True,
) -> Rendering:
    """Render as Helm does at install; reading the objects is the larger part of the work."""
    try:
        texts = render_chart(
            files,
            values=values,
            release_name=name,
            namespace=f"{name}-user",
            profile=HELM,
            limits=LIMITS,
        )
    except OlappsError as error:
        return Rendering(variant, failure=_failure(error))
    objects: list[RenderedObject] = []
    problems: list[Problem] = []
    for path, text in texts.items() if with_objects else ():
        read, faults = _read(path, text)
        objects += read
        problems += faults
    return Rendering(variant, texts, tuple(objects), tuple(problems))


def hydrate(
    files: Mapping[str, bytes], name: str, values: Mapping[str, Any], variant: Variant
) -> Rendering:
    """Render as the device's first pass does; only texts are kept."""
    try:
        texts = render_chart(
            files,
            values=values,
            release_name=name,
            namespace=f"{name}-user",
            profile=HYDRATION,
            limits=LIMITS,
        )
    except OlappsError as error:
        return Rendering(variant, failure=_failure(error))
    return Rendering(variant, texts)


def render_manifest(text: str, file: str, *, admin: bool) -> str | Failure:
    """Render a manifest older than 0.12.0 as app-service does before it parses it."""
    values = {
        "admin": "admin",
        "isAdmin": admin,
        "bfl": {"username": "admin" if admin else "alice"},
    }
    try:
        return render_text(text, {"Values": values}, HELM, file=file, limits=LIMITS)
    except OlappsError as error:
        return _failure(error)


_Read = tuple[tuple[RenderedObject, ...], tuple[Problem, ...]]
_KEPT_CHARACTERS: Final = 2**16


def _read(path: str, text: str) -> _Read:
    """Read one rendered file; variants and generations of a chart share most of them."""
    return _read_kept(path, text) if len(text) <= _KEPT_CHARACTERS else _read_file(path, text)


def _read_file(path: str, text: str) -> _Read:
    single = _single_object(path, text)
    if single is not None:
        return (single,), ()
    objects, problems = read_manifests({path: text})
    return tuple(objects), tuple(problems)


def _single_object(path: str, text: str) -> RenderedObject | None:
    """Return the object of a file that holds just one, which most do; None for any other file.

    Cutting a text into documents costs more than reading a long script as one.
    """
    alone = "\n---" not in text and not text.startswith("---")
    if not alone or not path.startswith("templates/") or path.endswith("NOTES.txt"):
        return None
    try:
        data = load_yaml(text, file=path)
    except YamlError:
        return None
    named = isinstance(data, dict) and all(
        isinstance(data.get(key), str) and data[key] for key in ("kind", "apiVersion")
    )
    blank = len(text) - len(text.lstrip())
    return RenderedObject(path, 0, text.count("\n", 0, blank) + 1, data) if named else None


_read_kept = lru_cache(maxsize=128)(_read_file)


def _failure(error: OlappsError) -> Failure:
    if isinstance(error, TemplateError):
        at = f" at <{error.expression}>" if error.expression else ""
        return Failure(f"{error.reason}{at}", error.file, error.line, error)
    if isinstance(error, LimitExceeded):
        return Failure(error.message, error.file, error.line or None, error)
    problem = getattr(error, "problem", None)
    if isinstance(problem, Problem):
        return Failure(problem.message, str(problem.file or ""), problem.line, error)
    return Failure(error.message, "", None, error)


def values_named(templates: Iterable[Template]) -> frozenset[str]:
    """Return the top-level names below ``.Values`` that templates read."""
    return frozenset(use.path[0] for item in templates for use in item.uses.values if use.path)
