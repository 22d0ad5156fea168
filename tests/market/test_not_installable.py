"""A plan never takes in an app that no device can install."""

from dataclasses import replace

from support.market import build_candidate

from olares_apps.market.plan import Action, Refusal, plan

REASON = "its image replaces a library of the whole node"


def test_an_app_that_no_device_can_install_is_refused_with_its_reason() -> None:
    candidate = build_candidate("demoone")
    assert plan(None, [candidate]).steps[0].action is Action.NEW
    (step,) = plan(None, [replace(candidate, not_installable=REASON)]).steps
    assert step.action is Action.REFUSED
    assert step.refusal is Refusal.NOT_INSTALLABLE
    assert step.reason == f"not installable: {REASON}"
    assert step.archives == ()
