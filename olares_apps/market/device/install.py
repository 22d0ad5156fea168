"""Installing: what app-service does when the button is pressed, up to the cluster.

Source: contract 1.2, 5.4, 6.1 and 8. From 1.12.6 on a chart of apiVersion v2 is refused and
every other one linted; then Helm renders it with the values of the device.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from olares_apps.checks.platform import USER, install_values
from olares_apps.errors import OlappsError
from olares_apps.generations import GENERATIONS, OlaresVersion
from olares_apps.helm import HELM, CallFailed, parse_manifests, render_chart, version_matches
from olares_apps.helm.yamlio import load_yaml
from olares_apps.market.device.hydrate import ROLES, Hydrated
from olares_apps.render.manifest import NOT_INSTALLABLE

__all__ = ["install_problems"]

_NEWEST = GENERATIONS[-1]


def install_problems(name: str, chart: Hydrated, olares: OlaresVersion, reported: str) -> list[str]:
    """Return everything that stops an install of a listed app on a device of ``olares``.

    ``reported`` is the release as the device names it; constraints are matched against that.
    """
    return [
        *_marked(chart),
        *_version_gates(chart.manifest, olares),
        *_dependency(chart.manifest, reported),
        *_required_envs(chart.manifest),
        *_renders(name, chart),
    ]


def _marked(chart: Hydrated) -> Iterator[str]:
    """Yield the reason for a chart whose author says that no device can install it."""
    try:
        text = chart.files.get("Chart.yaml", b"").decode()
        annotations = load_yaml(text, file="Chart.yaml", yes_is_bool=False)["annotations"]
        reason = annotations[NOT_INSTALLABLE]
    except (OlappsError, UnicodeDecodeError, KeyError, TypeError):
        return
    yield f"is not installable: {reason}"


def _version_gates(manifest: Mapping[str, Any], olares: OlaresVersion) -> Iterator[str]:
    api = str(manifest.get("apiVersion") or "v1")
    version = str(manifest.get("olaresManifest.version") or "")
    if olares >= _NEWEST.first and api == "v2":
        yield f"apiVersion v2 is refused at install (403) by Olares {olares}"
    if olares < _NEWEST.first and api == "v3":
        yield f"apiVersion v3 does not install on Olares {olares}"
    if not version:
        yield "olaresManifest.version is missing"


def _dependency(manifest: Mapping[str, Any], reported: str) -> Iterator[str]:
    options = manifest.get("options") or {}
    wanted = [
        item
        for item in options.get("dependencies") or []
        if item.get("name") == "olares" and item.get("type") == "system"
    ]
    # Mandatory from manifest 0.12.0 on (contract 5.4).
    if not wanted and manifest.get("workloadReplicas"):
        yield "options.dependencies names no olares system dependency"
    for item in wanted:
        constraint = str(item.get("version"))
        try:
            fits = version_matches(constraint, reported)
        except CallFailed as error:
            yield f"depends on olares {constraint!r}: {error}"
            continue
        if not fits:
            yield f"depends on olares {constraint}, the device has {reported}"


def _required_envs(manifest: Mapping[str, Any]) -> Iterator[str]:
    for env in manifest.get("envs") or []:
        given = env.get("value") or env.get("default") or env.get("valueFrom")
        if env.get("required") and not given:
            yield f"env {env.get('envName')} is required and has no value (422 at install)"


def _renders(name: str, chart: Hydrated) -> Iterator[str]:
    mode = "nvidia" if _wants_gpu(chart.manifest) else ""
    for role, admin in ROLES.items():
        for replicas in (None, 0):
            values = install_values(
                chart.manifest, admin=admin, mode=mode, replicas=replicas, only_permitted=True
            )
            try:
                rendered = render_chart(
                    chart.files,
                    values=values,
                    release_name=name,
                    namespace=f"{name}-{USER}",
                    profile=HELM,
                )
                objects = parse_manifests(rendered)
            except OlappsError as error:
                yield f"Helm fails for the {role}: {error}"
                return
            workloads = [o.name for o in objects if o.kind in ("Deployment", "StatefulSet")]
            if name not in workloads:
                yield f"no Deployment or StatefulSet is named {name}"
                return


def _wants_gpu(manifest: Mapping[str, Any]) -> bool:
    spec = manifest.get("spec") or {}
    modes = [item.get("mode") for item in spec.get("accelerator") or []]
    return "nvidia" in modes or bool(spec.get("requiredGpu"))
