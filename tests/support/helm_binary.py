"""The real Helm, for tests that compare with it: ``python scripts/fetch_helm.py`` fetches it."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

TOOLS = Path(__file__).resolve().parents[2] / ".tools"
MAJORS = ("helm3", "helm4")
TIMEOUT_S = 60


class HelmFailed(Exception):
    """A helm call that ended with a non-zero status; ``output`` is what it printed."""

    def __init__(self, arguments: list[str], status: int, output: str) -> None:
        super().__init__(f"helm {' '.join(arguments)} ended with {status}:\n{output}")
        self.status, self.output = status, output


def _find_binaries() -> dict[str, Path]:
    candidates = {
        name: Path(os.environ.get(f"OLAPPS_{name.upper()}") or TOOLS / name) for name in MAJORS
    }
    return {name: path for name, path in candidates.items() if os.access(path, os.X_OK)}


HELM_BINARIES: dict[str, Path] = _find_binaries()
"""The binaries found, by major (``helm3``, ``helm4``).

``OLAPPS_HELM3`` and ``OLAPPS_HELM4`` come before the ``.tools`` folder of the repository.
"""


def helm_params() -> list[Any]:
    """Return one pytest parameter per major: its binary, or a skip that says what to run.

    Use it as ``@pytest.mark.parametrize("helm", helm_params())``.
    """
    return [
        pytest.param(HELM_BINARIES[name], id=name)
        if name in HELM_BINARIES
        else pytest.param(
            TOOLS / name,
            id=name,
            marks=pytest.mark.skip(reason=f"no {name} here: run python scripts/fetch_helm.py"),
        )
        for name in MAJORS
    ]


def run_helm(binary: Path, *arguments: str, stdin: str = "") -> str:
    """Run helm without the caller's Helm settings; return its stdout.

    Raises :class:`HelmFailed` with stdout and stderr when the status is not 0.
    """
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("HELM_") and key != "KUBECONFIG"
    }
    result = subprocess.run(
        [str(binary), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment | {"HELM_NO_PLUGINS": "1"},
        timeout=TIMEOUT_S,
        check=False,
    )
    if result.returncode:
        raise HelmFailed(list(arguments), result.returncode, result.stdout + result.stderr)
    return result.stdout


def helm_template_text(
    binary: Path,
    chart_dir: Path,
    values: Mapping[str, Any] | None = None,
    release: str = "release-name",
    namespace: str = "default",
    *options: str,
) -> str:
    """Return what ``helm template`` prints for the chart in ``chart_dir``."""
    arguments = ["template", release, str(chart_dir), "--namespace", namespace, *options]
    if values is None:
        return run_helm(binary, *arguments)
    return run_helm(binary, *arguments, "--values", "-", stdin=json.dumps(values))


def helm_template(
    binary: Path,
    chart_dir: Path,
    values: Mapping[str, Any] | None = None,
    release: str = "release-name",
    namespace: str = "default",
) -> list[dict[str, Any]]:
    """Return the objects that ``helm template`` prints, in its order."""
    text = helm_template_text(binary, chart_dir, values, release, namespace)
    return [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item is not None]


def helm_lint(
    binary: Path,
    chart_dir: Path,
    values: Mapping[str, Any] | None = None,
    *,
    strict: bool = False,
) -> str:
    """Return what ``helm lint`` prints; raises :class:`HelmFailed` when it finds errors."""
    arguments = ["lint", str(chart_dir), *(["--strict"] if strict else [])]
    if values is None:
        return run_helm(binary, *arguments)
    return run_helm(binary, *arguments, "--values", "-", stdin=json.dumps(values))
