"""One spec gives one chart: whatever the machine, the process or the order of keys."""

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.charts import ASSETS, FULL, NEW, OLD, make_tree
from support.sample_specs import PUBLISHER, make_spec

from olares_apps.engines.registry import spec_model
from olares_apps.generations import GENERATIONS
from olares_apps.render import Renderable
from olares_apps.render.archive import pack
from olares_apps.render.templates import load_templates

REPOSITORY = Path(__file__).parents[2]
DIGESTS = """
from support.charts import FULL, NEW, OLD, make_tree
from olares_apps.render.archive import pack
for generation in (OLD, NEW):
    for changes in ({}, FULL):
        tree = make_tree(generation, changes)
        print(tree.digest(), pack(tree).sha256)
"""


def digests(**environment: str) -> str:
    result = subprocess.run(
        ["sh", "-c", 'umask 077; exec "$@"', "sh", sys.executable, "-c", DIGESTS],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'tests'}"}
        | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout


def test_another_process_in_another_place_and_time_gives_the_same_bytes() -> None:
    odd = {"TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "1"}
    expected = "".join(
        f"{tree.digest()} {pack(tree).sha256}\n"
        for generation in (OLD, NEW)
        for tree in (make_tree(generation), make_tree(generation, FULL))
    )
    assert digests(**odd) == expected
    assert digests(PYTHONHASHSEED="2", PYTHONUTF8="1") == expected


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(key, shuffled(item, order)) for key, item in value.items()]
        order.shuffle(items)
        return dict(items)
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


@given(st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_the_order_of_keys_in_a_spec_does_not_matter(order: random.Random) -> None:
    changes = {**FULL, "engine.chat_template_args": {"b": {"y": 1, "x": 2}, "a": True}}
    data = make_spec(changes).model_dump()
    spec = spec_model().model_validate(shuffled(data, order))
    for generation in (OLD, NEW):
        assert make_tree(generation, spec=spec).files == make_tree(generation, changes).files


def test_a_renderable_gives_the_same_charts_in_any_order() -> None:
    def renderable() -> Renderable:
        return Renderable(
            make_spec(FULL), publisher=PUBLISHER, templates=load_templates(), assets=ASSETS
        )

    forward, backward = renderable(), renderable()
    first = [forward.chart(generation, "1.0.0") for generation in GENERATIONS]
    second = [backward.chart(generation, "1.0.0") for generation in reversed(GENERATIONS)]
    assert [tree.files for tree in first] == [tree.files for tree in reversed(second)]
    assert forward.chart(NEW, "1.0.0").files == first[1].files


@pytest.mark.parametrize("generation", [OLD, NEW], ids=lambda generation: generation.name)
def test_only_the_version_differs_between_two_versions(generation: Any) -> None:
    app = Renderable(make_spec(), publisher=PUBLISHER, templates=load_templates())
    before, after = app.chart(generation, "1.0.0"), app.chart(generation, "1.0.1")
    changed = {path for path in before.files if before.files[path] != after.files[path]}
    assert changed == {"Chart.yaml", "OlaresManifest.yaml"}
    for path in changed:
        assert before.files[path].replace(b"1.0.0", b"1.0.1") == after.files[path]
