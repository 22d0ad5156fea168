"""Every number of a spec is bounded: a slip of the pen is one finding, never a crash."""

import json
import math
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.specs import PATH

from olares_apps.bench.board_svg import svg
from olares_apps.bench.leaderboard import boards
from olares_apps.cli.workbench import all_facts
from olares_apps.engines.registry import spec_model
from olares_apps.errors import SpecError
from olares_apps.spec.loader import load_spec
from olares_apps.spec.models import AppSpec
from olares_apps.spec.schema import json_schema

APPS = Path(__file__).parents[2] / "olares_apps/apps"
# What no field takes, and what stands at the edge of what some take.
NEVER = (1.0e27, -1.0e27, 1.7e308, -1.7e308, math.nan, math.inf, -math.inf, 10**30, -(10**30))
EDGES = (0, 5e-324, 0.004, 2**31)

Where = tuple[str | int, ...]


def numbers(node: object, where: Where = ()) -> Iterator[Where]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from numbers(value, (*where, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from numbers(value, (*where, index))
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield where


@cache
def read() -> dict[str, str]:
    """Return the shipped specs as JSON without their long texts, which hold no number fields."""
    found = {}
    for path in sorted(APPS.glob("*.yaml")):
        data = yaml.safe_load(path.read_text())
        kept = {key: data[key] for key in data if key not in ("locales", "releases")}
        found[path.stem] = json.dumps(kept | {"text": {"summary": "A model."}})
    return found


def kinds() -> list[tuple[str, Where]]:
    """Return one place for each numeric field that a shipped spec fills in."""
    found: dict[Where, tuple[str, Where]] = {}
    for name, text in read().items():
        for where in numbers(json.loads(text)):
            kind = tuple("*" if isinstance(step, int) else step for step in where)
            found.setdefault(kind, (name, where))
    return list(found.values())


def written(name: str, places: Iterable[Where], value: float) -> bytes:
    data = json.loads(read()[name])
    for where in places:
        node = data
        for step in where[:-1]:
            node = node[step]
        node[where[-1]] = value
    return yaml.dump(data, sort_keys=False, Dumper=yaml.CSafeDumper).encode()


def load(text: bytes) -> AppSpec[Any]:
    return load_spec(text, path=PATH, model=spec_model(), facts=all_facts).spec


def bounds(node: object, path: str = "") -> Iterator[tuple[str, set[str]]]:
    if isinstance(node, dict):
        if node.get("type") in ("integer", "number"):
            yield path, set(node)
        for key, value in node.items():
            yield from bounds(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from bounds(value, f"{path}/{index}")


def test_every_numeric_field_of_the_models_has_a_smallest_and_a_largest_value() -> None:
    found = dict(bounds(json_schema(spec_model())))
    assert len(found) > 60
    open_ended = {
        path
        for path, keys in found.items()
        if not keys & {"minimum", "exclusiveMinimum"} or not keys & {"maximum", "exclusiveMaximum"}
    }
    assert open_ended == set()


@pytest.mark.parametrize("name", read())
def test_impossible_numbers_are_one_finding_each_with_its_line(name: str) -> None:
    places = [where for where in numbers(json.loads(read()[name])) if where[0] != "variants"]
    assert places
    for value in NEVER:
        with pytest.raises(SpecError) as caught:
            load(written(name, places, value))
        # An object of free keys is told once, whatever number of it is wrong.
        told = [problem.field or "" for problem in caught.value.problems]
        assert all(problem.line for problem in caught.value.problems)
        assert not [p for p in caught.value.problems if p.message.endswith("allowed: ")]
        assert len(told) == len(set(told))
        for where in places:
            steps = [".".join(map(str, where[:end])) for end in range(1, len(where) + 1)]
            assert sum(step in told for step in steps) == 1, (value, where)


def test_an_impossible_number_of_a_variant_is_a_finding_with_its_line() -> None:
    found = [(name, where) for name, where in kinds() if where[0] == "variants"]
    assert found
    for name, where in found:
        for value in NEVER:
            with pytest.raises(SpecError) as caught:
                load(written(name, [where], value))
            (problem,) = caught.value.problems
            assert problem.line


@pytest.mark.parametrize(("name", "where"), kinds(), ids=lambda item: str(item)[:60])
def test_a_number_at_the_edge_is_refused_with_its_line_or_can_be_shown(
    name: str, where: Where
) -> None:
    for value in EDGES:
        try:
            spec = load(written(name, [where], value))
        except SpecError as error:
            lines = [problem.line for problem in error.problems]
        else:
            lines = [all_facts(spec)["tps"], svg(boards([spec]))]
        assert all(lines)
