"""What the specs of one market must not share."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.errors import Problem, SpecError
from olares_apps.spec.loader import LoadedSpec
from olares_apps.spec.models import AppSpec

__all__ = ["fleet_problems", "shared_files"]


@dataclass(frozen=True, slots=True)
class _Unique:
    """A value that belongs to one spec only.

    ``implied`` gives a value from which this one follows: specs that share that one are
    reported for it already.
    """

    field: str
    what: str
    value: Callable[[AppSpec[Any]], str]
    why: str
    implied: Callable[[AppSpec[Any]], str] | None = None


_RULES: Final = (
    _Unique("app", "app name", lambda spec: spec.app, "devices know apps by their name"),
    _Unique(
        "app",
        "id",
        lambda spec: spec.id,
        "a device cuts the id from the name's md5: change one name",
        implied=lambda spec: spec.app,
    ),
    _Unique("title", "title", lambda spec: spec.title, "people could not tell the apps apart"),
    _Unique("alias", "alias", lambda spec: spec.alias, "two servers would answer to one model id"),
    _Unique(
        "entrance.title",
        "entrance title",
        lambda spec: spec.entrance_title,
        "two icons would look alike: set entrance.title",
        implied=lambda spec: spec.title.casefold(),
    ),
)


def fleet_problems(specs: Iterable[LoadedSpec]) -> dict[str, SpecError]:
    """Return what the specs share and must not, as one error for each spec concerned.

    A device knows apps by name and by an id cut from its digest, people by titles, clients by
    the model id that the API answers to. Keys are spec names.
    """
    fleet = list(specs)
    found: dict[str, list[Problem]] = defaultdict(list)
    for rule in _RULES:
        for group in _groups(rule, fleet):
            problem = _problem(rule, group)
            for loaded in group:
                found[loaded.name].append(problem)
    for first, second, problem in shared_files(fleet):
        found[first.name].append(problem)
        found[second.name].append(problem)
    return {name: SpecError(problems) for name, problems in sorted(found.items())}


def shared_files(
    fleet: Iterable[LoadedSpec],
) -> Iterator[tuple[LoadedSpec, LoadedSpec, Problem]]:
    """Yield two apps and what they would store under one name in the folder that all share.

    Repository and revision are part of the place, so only another stored name can do that.
    """
    known: dict[tuple[str, str, str], tuple[str, LoadedSpec, int]] = {}
    for loaded in fleet:
        if loaded.spec.model.folder != "shared":
            continue
        for index, file in enumerate(loaded.spec.model.files):
            place = (file.repo, file.revision, file.stored_as or file.file)
            remote, first, at = known.setdefault(place, (file.file, loaded, index))
            if remote == file.file:
                continue
            line = loaded.positions.nearest(["model", "files", index]).line
            where = f"{first.path}:{first.positions.nearest(['model', 'files', at]).line}"
            problem = Problem(
                f"{file.file} would lie in the shared folder under the name of {remote}, {where}",
                loaded.path,
                line,
                field=f"model.files.{index}.stored_as",
                value=place[2],
                hint="give it another name",
            )
            yield first, loaded, problem


def _groups(rule: _Unique, fleet: Sequence[LoadedSpec]) -> Iterator[list[LoadedSpec]]:
    """Yield the specs that share a value, in the order of the fleet."""
    groups: dict[str, list[LoadedSpec]] = defaultdict(list)
    for loaded in fleet:
        groups[rule.value(loaded.spec).casefold()].append(loaded)
    for group in groups.values():
        if len(group) == 1:
            continue
        if rule.implied and len({rule.implied(loaded.spec) for loaded in group}) == 1:
            continue
        yield group


def _problem(rule: _Unique, group: Sequence[LoadedSpec]) -> Problem:
    *others, last = group
    places = ", ".join(f"{other.path}:{_line(rule, other)}" for other in others)
    return Problem(
        f"{rule.what} '{rule.value(last.spec)}' is also that of {places}",
        last.path,
        _line(rule, last),
        field=rule.field,
        value=rule.value(last.spec),
        hint=rule.why,
    )


def _line(rule: _Unique, loaded: LoadedSpec) -> int:
    spot = loaded.positions.key(rule.field.split(".")) or loaded.positions.nearest(["title"])
    return spot.line
