"""From the text of a spec file to a spec, or to every problem that the file has."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final

from pydantic import ValidationError

from olares_apps.errors import Problem, RenderError, SpecError
from olares_apps.spec import placeholders
from olares_apps.spec.fields import FieldError, detach, put, steps_of
from olares_apps.spec.models import AppSpec, AppText
from olares_apps.spec.positions import Positions
from olares_apps.spec.translate import problems_of
from olares_apps.spec.variants import RedirectedPositions, apply_variant, variant_places
from olares_apps.spec.yaml_source import decode, read_mapping, unify_line_ends

__all__ = ["Facts", "LoadedSpec", "SpecParts", "free_texts", "load_spec", "variant_of"]

_FIELD: Final = re.compile(r"(?:engine|model|resources|settings)(?:\.[a-z_0-9]+)+")

SpecParts = tuple[dict[Any, Any], PurePath, str]
"""A loaded spec taken apart: the state of its model, its path and its text."""

Facts = Callable[[AppSpec[Any]], Mapping[str, object]]
"""Gives the facts that the texts of a spec may name."""


@dataclass(frozen=True, slots=True)
class LoadedSpec:
    """A spec with the file it came from; ``text`` has LF line ends."""

    spec: AppSpec[Any]
    path: PurePath
    text: str
    positions: Positions

    def parts(self) -> "SpecParts":
        """Return what the spec is made of, which can go from one process to another."""
        return self.spec.__getstate__(), self.path, self.text

    @classmethod
    def of_parts(cls, parts: "SpecParts", model: type[AppSpec[Any]]) -> "LoadedSpec":
        """Return the spec that :meth:`parts` took apart; it is not checked again."""
        state, path, text = parts
        spec = model.__new__(model)
        spec.__setstate__(state)
        return cls(spec, path, text, Positions(text, path))

    @property
    def name(self) -> str:
        """Return the spec name: the file's name without its ending."""
        return self.path.stem

    def located(self, error: SpecError) -> SpecError:
        """Return the error with file, line and column for problems with a field or a value.

        Such problems come from steps after loading, which do not know the file.
        """
        return SpecError([self._place(problem) for problem in error.problems], hint=error.hint)

    def refused(self, error: RenderError) -> SpecError:
        """Return what an engine or a template refuses as an error with file and line.

        The field that it is about is stated, or begins the message.
        """
        found = _FIELD.match(error.message)
        field = error.field or (found[0] if found else None)
        message = error.message.removeprefix(field or "").lstrip(" :")
        return self.located(SpecError([Problem(message, field=field, hint=error.hint)]))

    def _place(self, problem: Problem) -> Problem:
        if problem.line is not None or not (problem.field or problem.value):
            return replace(problem, file=problem.file or self.path)
        steps = problem.field.split(".") if problem.field else ()
        path = tuple(int(p) if p.isdecimal() else p for p in steps)
        spot = self.positions.inside(path, problem.value) if problem.value else None
        spot = spot or self.positions.nearest(path)
        return replace(problem, file=self.path, line=spot.line, column=spot.column)


def load_spec(
    source: str | bytes, *, path: PurePath, model: type[AppSpec[Any]], facts: Facts | None = None
) -> LoadedSpec:
    """Return the spec that a file's content describes.

    ``path`` is for messages and gives the spec's name; ``model`` comes from the registry of
    engines. With ``facts``, placeholders of the texts are checked too. Raises SpecError with
    every problem found, in the order of the file.
    """
    text = unify_line_ends(source if isinstance(source, str) else decode(source, path))
    data = read_mapping(text, path)
    positions = Positions(text, path)
    try:
        spec = model.model_validate(data)
    except ValidationError as error:
        raise SpecError(problems_of(error, data, positions, path, model)) from None
    loaded = LoadedSpec(spec, path, text, positions)
    problems: list[Problem] = []
    if facts:
        try:
            _check_placeholders(loaded, _facts_of(loaded, facts))
        except SpecError as error:
            problems += error.problems
    if spec.variants or spec.settings:
        # A text that is wrong here is wrong on every profile: once is enough.
        problems += _changes_problems(loaded, data, None if problems else facts)
    if problems:
        raise SpecError(list(dict.fromkeys(problems)))
    return loaded


def _facts_of(loaded: LoadedSpec, facts: Facts) -> Mapping[str, object]:
    """Return the facts of a spec; what its engine refuses is told with file and line."""
    try:
        return facts(loaded.spec)
    except RenderError as error:
        raise loaded.refused(error) from None


def variant_of(loaded: LoadedSpec, profile: str, *, facts: Facts | None = None) -> LoadedSpec:
    """Return a spec as it is on another hardware profile; the same spec on its own.

    A profile for which the spec states nothing changes nothing but the budget. Raises SpecError
    that names the line of the variant.
    """
    if profile == loaded.spec.hardware:
        return loaded
    return _variant(loaded, read_mapping(loaded.text, loaded.path), profile, facts)


def _variant(
    loaded: LoadedSpec, data: Mapping[str, Any], profile: str, facts: Facts | None
) -> LoadedSpec:
    stated = loaded.spec.variants.get(profile)
    changes = stated.set if stated else {}
    places = variant_places(profile, changes)
    try:
        changed = apply_variant(data, profile, changes)
    except FieldError as error:
        field, _, message = str(error).partition(": ")
        problem = Problem(message, field=field)
        positions = RedirectedPositions(loaded.text, loaded.path, places)
        raise replace(loaded, positions=positions).located(SpecError([problem])) from None
    try:
        return _changed(loaded, changed, places, facts)
    except SpecError as error:
        where = f"on {profile}: "
        found = [replace(item, message=where + item.message) for item in error.problems]
        raise SpecError(found) from None


def _changed(
    loaded: LoadedSpec,
    data: Mapping[str, Any],
    places: Mapping[tuple[str | int, ...], tuple[str | int, ...]],
    facts: Facts | None,
) -> LoadedSpec:
    """Return the spec with other data, whose faults are reported at ``places`` of the file."""
    positions = RedirectedPositions(loaded.text, loaded.path, places)
    model = type(loaded.spec)
    try:
        spec = model.model_validate(data)
    except ValidationError as error:
        found = problems_of(error, data, positions, loaded.path, model)
        raise SpecError(found) from None
    changed = replace(loaded, spec=spec, positions=positions)
    if facts:
        _check_placeholders(changed, _facts_of(changed, facts))
    return changed


def _changes_problems(
    loaded: LoadedSpec, data: Mapping[str, Any], facts: Facts | None
) -> list[Problem]:
    """Return what is wrong with what the spec can become: variants, and what owners may set."""
    problems: list[Problem] = []
    for profile in loaded.spec.variants:
        try:
            _variant(loaded, data, profile, facts)
        except SpecError as error:
            problems += error.problems
    base = {key: value for key, value in data.items() if key not in ("variants", "settings")}
    for name, setting in loaded.spec.settings.items():
        for place, value in setting.extremes():
            if setting.field is None:
                continue
            changed = dict(base)
            detach(changed, setting.field)
            put(changed, setting.field, value)
            places = {steps_of(setting.field): ("settings", name, *place)}
            try:
                _changed(loaded, changed, places, None)
            except SpecError as error:
                problems += error.problems
    return problems


def free_texts(spec: AppSpec[Any]) -> Iterator[tuple[str, str]]:
    """Yield every text that may hold placeholders, with its dotted field."""
    yield from _page("text", spec.text)
    for locale, page in spec.locales.items():
        yield from _page(f"locales.{locale}", page)
    for index, release in enumerate(spec.releases):
        yield f"releases.{index}.notes", release.notes


def _page(field: str, page: AppText) -> Iterator[tuple[str, str]]:
    yield f"{field}.summary", page.summary
    yield f"{field}.about", page.about
    for index, item in enumerate(page.limits):
        yield f"{field}.limits.{index}", item


def _check_placeholders(loaded: LoadedSpec, facts: Mapping[str, object]) -> None:
    found = [
        problem
        for field, text in free_texts(loaded.spec)
        for problem in placeholders.problems(text, facts, field)
    ]
    if found:
        raise loaded.located(SpecError(found))
