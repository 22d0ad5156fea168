"""Where commands meet the checks: the gate of a publish and the lint of a simulated device."""

from collections.abc import Callable, Mapping, Sequence

from olares_apps.cli.workbench import Workbench
from olares_apps.generations import OlaresVersion
from olares_apps.render.chart import ChartTree
from olares_apps.spec.loader import LoadedSpec

__all__ = ["install_lint", "publish_gate"]


def publish_gate(bench: Workbench) -> Callable[[LoadedSpec, Sequence[ChartTree]], None]:
    """Return the function that stops a publish."""
    return lambda loaded, charts: None


def install_lint(app: str, files: Mapping[str, bytes], olares: OlaresVersion) -> Sequence[str]:
    """Return the lint errors that would stop an install."""
    return []
