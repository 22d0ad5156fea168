"""Speeds stand in one ranking only when they were measured alike."""

import json
from dataclasses import replace

import pytest
from support.pages import CONDITIONS, build_row

from olares_apps.bench.grouping import Row, group_rows, headline


@pytest.mark.parametrize(
    "other",
    [
        {"hardware": "another-device"},
        {"prompt": "another prompt"},
        {"tokens": 500},
        {"streams": 4},
        {"sampler": "temp=1"},
        {"warmup": "two runs"},
        {"filled_ctx": 0},
    ],
)
def test_runs_under_other_conditions_are_never_ranked_together(other):
    rows = [build_row("a", "10"), build_row("b", "20", conditions=replace(CONDITIONS, **other))]
    groups = group_rows(rows)
    assert [[row.app for row in group.rows] for group in groups] == [["b"], ["a"]]


def test_a_group_is_ordered_by_speed_as_a_number():
    rows = [build_row("a", "99.5"), build_row("b", "249.3"), build_row("c", "100")]
    (group,) = group_rows(rows)
    assert [row.app for row in group.rows] == ["b", "c", "a"]
    assert group.apps == 3


def test_a_group_that_compares_most_apps_comes_first():
    alone = build_row("fast", "900", conditions=replace(CONDITIONS, tokens=10))
    groups = group_rows([alone, build_row("a", "1"), build_row("b", "2")])
    assert [group.apps for group in groups] == [2, 1]


def test_the_order_does_not_depend_on_the_order_of_the_rows():
    rows = [build_row("a", "5"), build_row("b", "5"), build_row("a", "5", ctx=1024)]
    assert group_rows(rows) == group_rows(reversed(rows))


def test_the_headline_is_measured_at_the_context_of_the_app_where_there_is_one():
    rows = [build_row(ctx=1000), build_row(ctx=2000)]
    assert headline(rows, 2000) == rows[1]
    assert headline(rows, 3000) == rows[0]
    assert headline([], 3000) is None


def test_a_row_survives_json():
    row = build_row(runs=None, slowest=None)
    assert Row.from_json(json.loads(json.dumps(row.to_json()))) == row
