"""A plan never takes in an app that no device can install."""

from dataclasses import replace

from support.market import build_candidate

from olares_apps.errors import CheckFailed, VersionRefused
from olares_apps.market.plan import Action, Refusal, plan
from olares_apps.market.publish import refusal_error

REASON = "its image replaces a library of the whole node"


def test_an_app_that_no_device_can_install_is_refused_with_its_reason() -> None:
    candidate = build_candidate("demoone")
    assert plan(None, [candidate]).steps[0].action is Action.NEW
    (step,) = plan(None, [replace(candidate, not_installable=REASON)]).steps
    assert step.action is Action.REFUSED
    assert step.refusal is Refusal.NOT_INSTALLABLE
    assert step.reason == f"not installable: {REASON}"
    assert step.archives == ()


def test_its_refusal_is_a_failed_check_and_no_matter_of_versions() -> None:
    candidate = replace(build_candidate("demoone"), not_installable=REASON)
    error = refusal_error(plan(None, [candidate]).refused)
    assert isinstance(error, CheckFailed)
    assert str(error) == f"demoone: not installable: {REASON}"
    twice = refusal_error(plan(None, [build_candidate("demotwo")] * 2 + [candidate]).refused)
    assert isinstance(twice, VersionRefused)
