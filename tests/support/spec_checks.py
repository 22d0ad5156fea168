"""Findings of a spec that is made in a test: rendered, loaded and checked as a workspace does."""

from pathlib import PurePath
from typing import Any, Final

import yaml
from support.charts import NEW, make_tree
from support.check_charts import IMAGES, PROFILE

from olares_apps.checks import ChartContext, run_rules
from olares_apps.engines.registry import spec_model
from olares_apps.findings import Finding
from olares_apps.hardware import HardwareProfile
from olares_apps.lock.model import Lock
from olares_apps.spec.loader import LoadedSpec, load_spec
from olares_apps.spec.models import AppSpec

__all__ = ["check_spec", "findings_of", "line_of", "loaded"]

PATH: Final = PurePath("apps/demo.yaml")


def loaded(spec: AppSpec[Any]) -> LoadedSpec:
    """Return a spec as if it were loaded from its file."""
    data = spec.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)
    return load_spec(text, path=PATH, model=spec_model())


def check_spec(
    spec: AppSpec[Any], *, profile: HardwareProfile = PROFILE, lock: Lock | None = None
) -> list[Finding]:
    """Return the findings of the chart for the newer generation."""
    known = loaded(spec)
    tree = make_tree(NEW, spec=known.spec)
    return run_rules(
        ChartContext.of_tree(tree, spec=known, profile=profile, lock=lock, images=IMAGES)
    )


def findings_of(rule: str, spec: AppSpec[Any], **more: Any) -> list[Finding]:
    """Return what one rule finds in a spec."""
    return [item for item in check_spec(spec, **more) if item.rule == rule]


def line_of(spec: AppSpec[Any], finding: Finding) -> str:
    """Return the line of the spec's file that a finding is about, without its indent."""
    assert finding.file == str(PATH)
    return loaded(spec).text.splitlines()[(finding.line or 0) - 1].strip()
