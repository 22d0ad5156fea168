"""From the text of a spec file to a spec, or to every problem that the file has."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from olares_apps.errors import Problem, SpecError
from olares_apps.spec import placeholders
from olares_apps.spec.models import AppSpec, AppText
from olares_apps.spec.positions import Positions
from olares_apps.spec.translate import problems_of
from olares_apps.spec.yaml_source import decode, read_mapping, unify_line_ends

__all__ = ["Facts", "LoadedSpec", "free_texts", "load_spec"]

Facts = Callable[[AppSpec[Any]], Mapping[str, object]]
"""Gives the facts that the texts of a spec may name."""


@dataclass(frozen=True, slots=True)
class LoadedSpec:
    """A spec with the file it came from; ``text`` has LF line ends."""

    spec: AppSpec[Any]
    path: PurePath
    text: str
    positions: Positions

    @property
    def name(self) -> str:
        """Return the spec name: the file's name without its ending."""
        return self.path.stem

    def located(self, error: SpecError) -> SpecError:
        """Return the error with file, line and column for problems that name only a field.

        Such problems come from steps after loading, which do not know the file.
        """
        return SpecError([self._place(problem) for problem in error.problems], hint=error.hint)

    def _place(self, problem: Problem) -> Problem:
        if problem.line is not None or not problem.field:
            return replace(problem, file=problem.file or self.path)
        path = tuple(int(p) if p.isdecimal() else p for p in problem.field.split("."))
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
    if facts:
        _check_placeholders(loaded, facts(spec))
    return loaded


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
