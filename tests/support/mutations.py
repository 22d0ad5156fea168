"""For each rule the smallest change of a clean chart that only this rule objects to."""

from typing import Final

from support import mutations_chart, mutations_engine, mutations_objects, mutations_runtime
from support.mutation import Mutation

__all__ = ["MUTATIONS", "NOT_BY_MUTATION", "Mutation"]

MUTATIONS: Final[dict[str, Mutation]] = {
    **mutations_chart.MUTATIONS,
    **mutations_objects.MUTATIONS,
    **mutations_runtime.MUTATIONS,
    **mutations_engine.MUTATIONS,
}

NOT_BY_MUTATION: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            "appid-collision",
            "category-spelling",
            "chart-without-spec",
            "fleet-alias",
            "fleet-app-name",
            "fleet-entrance-title",
            "fleet-icon",
            "fleet-title",
            "icon-missing",
            "model-path-collision",
            "spec-invalid",
        ),
        "takes several charts, or a workspace: test_fleet.py, test_workspace_checks.py, "
        "test_broken_specs.py",
    ),
    **dict.fromkeys(
        ("image-exists", "lock-stale", "model-file", "model-fits", "mtp-head"),
        "takes a lock: test_locked.py",
    ),
    **dict.fromkeys(
        ("tool-helm", "tool-kubernetes", "tool-olares"), "takes another program: test_tools.py"
    ),
}
