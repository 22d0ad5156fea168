"""Each rule objects to its own minimal change of a clean chart, and no other rule does."""

from collections.abc import Callable
from functools import cache

import pytest
from support.check_charts import Chart, rules_of
from support.mutations import MUTATIONS, NOT_BY_MUTATION

from olares_apps.checks import RULES


@cache
def clean(make: Callable[[], Chart]) -> Chart:
    """Return a base chart; it must have no finding at all."""
    chart = make()
    assert chart.check() == []
    return chart


@pytest.mark.parametrize("rule", MUTATIONS)
def test_a_minimal_change_triggers_exactly_this_rule(rule: str) -> None:
    mutation = MUTATIONS[rule]
    findings = mutation.edit(clean(mutation.base)).check(**mutation.context)
    assert rules_of(findings) == {rule} | mutation.also, [
        f"{f.rule}: {f.message}" for f in findings
    ]
    assert bool(mutation.also) == bool(mutation.why)


def test_every_rule_has_a_mutation_or_a_reason_why_not() -> None:
    assert not MUTATIONS.keys() & NOT_BY_MUTATION.keys()
    assert MUTATIONS.keys() | NOT_BY_MUTATION.keys() == RULES.keys()
