"""Replica counts: the platform stops an app by rendering it with 0."""

from collections.abc import Iterator

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_map, dig, shown
from olares_apps.checks.workloads import Workload, workloads

__all__ = ["rules"]

rules = RuleBook(Group.OBJECTS)


@rules.error(
    "workload-replicas-declared",
    "workloadReplicas is required but for apiVersion v2.",
    "OAC validate.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _declared_replicas(context: ChartContext) -> Iterator[Found]:
    if context.api_version == "v2" or context.manifests[False].problem:
        return
    if not as_map(context.manifest.get("workloadReplicas")):
        names = [item.name for item in context.workloads if item.is_scaled]
        yield context.in_manifest(
            "workloadReplicas is missing",
            "apiVersion",
            hint=f"write workloadReplicas: {{{', '.join(f'{name}: 1' for name in names)}}}",
        )


@rules.error(
    "workload-replicas-match",
    "workloadReplicas names exactly the Deployments and StatefulSets.",
    "OAC workloads.go",
    applies=Applies.MANIFEST_012,
    group=Group.OBJECTS,
    blocks=True,
)
def _matching_replicas(context: ChartContext) -> Iterator[Found]:
    declared = as_map(context.manifest.get("workloadReplicas"))
    is_app = context.manifest.get("olaresManifest.type") in (None, "", "app")
    if not declared or not context.is_whole or not is_app:
        return
    found = {item.name: item for item in context.workloads if item.is_scaled}
    for name in declared:
        if name not in found:
            yield context.in_manifest(
                f"workloadReplicas.{name} names no Deployment or StatefulSet of the chart (found "
                f"{', '.join(sorted(found)) or 'none'})",
                "workloadReplicas",
                name,
                hint="remove it or correct the name",
            )
    for name, workload in found.items():
        if name not in declared:
            yield context.in_object(
                workload.item,
                f"{workload.kind} {name} is missing from workloadReplicas",
                below=("metadata:", "name:"),
                hint=f"add {name}: 1 to workloadReplicas",
            )


@rules.error(
    "workload-replicas-template",
    "An app is stopped and started through .Values.workloads.",
    "OAC workloads.go",
    applies=Applies.MANIFEST_012,
    group=Group.OBJECTS,
    blocks=True,
)
def _replica_template(context: ChartContext) -> Iterator[Found]:
    """The platform stops an app by rendering it with 0 replicas; the template must follow."""
    if not as_map(context.manifest.get("workloadReplicas")) or context.base.failure:
        return
    for rendering in context.renderings:
        if rendering.variant.replicas != 0:
            continue
        for workload in workloads(rendering.objects):
            count = dig(workload.item.data, "spec", "replicas")
            if workload.is_scaled and count != 0:
                yield _bad_replicas(
                    context, workload, f"renders {shown(count)} when stopped, not 0"
                )
        return
    for workload in context.workloads:
        if workload.is_scaled:
            yield _bad_replicas(context, workload, "does not come from .Values.workloads")


def _bad_replicas(context: ChartContext, workload: Workload, what: str) -> Found:
    name = workload.name
    value = (
        f'(index .Values.workloads "{name}").replicaCount'
        if "-" in name
        else f".Values.workloads.{name}.replicaCount"
    )
    return context.in_object(
        workload.item,
        f"replicas of {workload.kind} {name} {what}",
        "replicas:",
        hint=f"write replicas: {{{{ {value} }}}}, unquoted and without default",
    )


@rules.error(
    "replica-count-integer",
    "A replica count in quotes is a text that the API refuses.",
    "OAC workloads.go",
    applies=Applies.MANIFEST_012,
    blocks=True,
)
def _replica_integer(context: ChartContext) -> Iterator[Found]:
    if not as_map(context.manifest.get("workloadReplicas")):
        return
    for name, item in as_map(context.values.data.get("workloads")).items():
        count = as_map(item).get("replicaCount")
        if count is not None and (isinstance(count, bool) or not isinstance(count, int)):
            yield context.in_document(
                "values.yaml",
                f"workloads.{name}.replicaCount {shown(count)} is no whole number",
                ("workloads", name, "replicaCount"),
                hint="write 1, without quotes",
            )
    for name, count in as_map(context.manifest.get("workloadReplicas")).items():
        if isinstance(count, bool) or not isinstance(count, int):
            yield context.in_manifest(
                f"workloadReplicas.{name} {shown(count)} is no whole number",
                "workloadReplicas",
                name,
                hint="write 1, without quotes",
            )
