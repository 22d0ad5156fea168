"""Pods: volumes, users, scheduling and names, as admission and linters of devices see them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.images import parse_image
from olares_apps.checks.launch import scripts
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_map, as_maps, as_text, dig, shown
from olares_apps.checks.workloads import Container, Workload, of_kind

__all__ = ["rules"]

rules = RuleBook(Group.OBJECTS)

_STRATEGIES: Final = {
    "Deployment": ("strategy", "Recreate", "RollingUpdate"),
    "StatefulSet": ("updateStrategy", "OnDelete", "RollingUpdate"),
}
# Folders that every device has: the user's home, external storage, the system's own.
_ALWAYS_THERE: Final = (
    "/olares/rootfs/userspace/home",
    "/olares/external",
    *"/etc /dev /run /var/run /sys /proc /usr /lib".split(),
)
# Registries whose images admission does not let run as root on any release.
_UNTRUSTED: Final = ("ghcr.io", "quay.io")


def _all(context: ChartContext) -> Sequence[Workload]:
    return context.workloads


@rules.error(
    "main-workload-name",
    "The app's state is that of the workload named after it.",
    "OAC workloads.go; oachecker resource.go",
    blocks=True,
)
def _main_workload(context: ChartContext) -> Iterator[Found]:
    name = as_text(dig(context.manifest, "metadata", "name"))
    kind = context.manifest.get("olaresManifest.type") or "app"
    if not context.is_whole or not name or kind != "app":
        return
    names = [item.name for item in _all(context) if item.is_scaled]
    if name not in names and context.release not in names:
        yield context.in_manifest(
            f"no Deployment or StatefulSet is named {name} (found {', '.join(names) or 'none'})",
            "metadata",
            "name",
            hint=f"name the main workload {name}",
        )


@rules.error(
    "hostpath-strategy",
    "Two pods that share a folder of the host during an update destroy each other's files.",
    "OAC hostpath.go",
    applies=Applies.NEW,
    blocks=True,
)
def _strategy(context: ChartContext) -> Iterator[Found]:
    for workload in _all(context):
        if not workload.is_scaled or not any(True for _ in workload.host_paths()):
            continue
        key, wanted, default = _STRATEGIES[workload.kind]
        strategy = as_map(dig(workload.item.data, "spec", key))
        found = as_text(strategy.get("type")) or default
        if found != wanted:
            what = f"{key} {found}"
        elif strategy.get("rollingUpdate"):
            what = f"{key} {found} with a rollingUpdate block"
        else:
            continue
        yield context.in_object(
            workload.item,
            f"{workload.kind} {workload.name} mounts a hostPath and has {what}",
            f"{key}:",
            hint=f"write {key}: {{type: {wanted}}}",
        )


@rules.error(
    "hostpath-type",
    "type Directory needs a folder that no one has created on a fresh device.",
    "11 public charts that failed on fresh installs",
)
def _host_path_type(context: ChartContext) -> Iterator[Found]:
    for workload in _all(context):
        for name, source in workload.host_paths():
            kind, path = as_text(source.get("type")), as_text(source.get("path"))
            if kind in ("Directory", "File") and not path.startswith(_ALWAYS_THERE):
                yield context.in_object(
                    workload.item,
                    f"volume {name}: hostPath type {kind} requires an existing "
                    f"{'folder' if kind == 'Directory' else 'file'}",
                    f"type: {kind}",
                    hint=f"use {kind}OrCreate",
                )


@rules.error(
    "hostpath-empty",
    "The API refuses an empty path; one that begins at / is the host itself.",
    "experience of operators",
)
def _host_path_empty(context: ChartContext) -> Iterator[Found]:
    for workload in _all(context):
        for name, source in workload.host_paths():
            if not as_text(source.get("path")).startswith("/"):
                yield context.in_object(
                    workload.item,
                    f"volume {name}: hostPath.path is {shown(as_text(source.get('path')))}",
                    "path:",
                    hint="begin it with .Values.userspace.appData",
                )


@rules.warning(
    "shared-folder-permissions",
    "A shared folder belongs to uid 1000: another user cannot write into it on a fresh device.",
    "a public chart that restarted 30 times in minutes",
)
def _shared_folder(context: ChartContext) -> Iterator[Found]:
    for workload in _all(context):
        repaired = any(_repairs(container) for container in workload.inits)
        for container in workload.containers:
            uid = _uid(context, workload, container)
            if uid in (None, 0, 1000) or repaired:
                continue
            for mount in container.mounts:
                volume = workload.volumes.get(as_text(mount.get("name")), {})
                if volume.get("hostPath") is not None and mount.get("readOnly") is not True:
                    yield context.in_object(
                        workload.item,
                        f"container {container.name} runs as uid {uid} and writes to the host "
                        "folder "
                        f"{as_text(dig(volume, 'hostPath', 'path'))}",
                        f"name: {container.name}",
                        hint="add an init container of a docker.io image that runs chmod there",
                    )
                    break


def _uid(context: ChartContext, workload: Workload, container: Container) -> int | None:
    stated = dig(container.data, "securityContext", "runAsUser")
    if stated is None:
        stated = dig(workload.pod, "securityContext", "runAsUser")
    if stated is None:
        facts = context.images.get(container.image)
        stated = facts.user if facts else None
    return stated if isinstance(stated, int) else None


def _repairs(container: Container) -> bool:
    words = " ".join((*container.words("command"), *container.words("args")))
    return bool(re.search(r"\bch(?:mod|own)\b", words))


@rules.error(
    "security-context-root",
    "Root and privileged containers are admitted only from trusted images.",
    "OAC securitycontext.go; admission policy",
    blocks=True,
)
def _root(context: ChartContext) -> Iterator[Found]:
    """From 1.12.6 on only images of beclab may; before that all of docker.io."""
    for workload in _all(context):
        pod = as_map(workload.pod.get("securityContext"))
        for container in workload.all_containers:
            image = parse_image(container.image)
            asked = _asks_root(as_map(container.data.get("securityContext")), pod)
            if not asked or (image and image.is_trusted):
                continue
            registry = image.registry if image else container.image
            if not context.targets_new and registry not in _UNTRUSTED:
                continue
            allowed = "beclab/ images" if context.targets_new else "docker.io images"
            yield context.in_object(
                workload.item,
                f"{asked} is refused for registry {registry} (container {container.name}, image "
                f"{container.image})",
                asked.split(":")[0],
                hint=f"leave the securityContext out, or use {allowed} for steps that need root",
            )


def _asks_root(own: Mapping[str, Any], pod: Mapping[str, Any]) -> str:
    if own.get("privileged") is True:
        return "privileged: true"
    for source in (own, pod):
        user = source.get("runAsUser")
        if user is not None:
            return "runAsUser: 0" if user == 0 and not isinstance(user, bool) else ""
        if source.get("runAsNonRoot") is False:
            return "runAsNonRoot: false"
    return ""


@rules.error(
    "sub-path-expr",
    "The newest linter refuses subPathExpr.",
    "OAC subpathexpr.go",
    applies=Applies.NEW,
    blocks=True,
)
def _sub_path(context: ChartContext) -> Iterator[Found]:
    for workload in _all(context):
        for container in workload.all_containers:
            for mount in container.mounts:
                if mount.get("subPathExpr"):
                    yield context.in_object(
                        workload.item,
                        f"container {container.name} mounts {as_text(mount.get('mountPath'))} with "
                        "subPathExpr",
                        "subPathExpr",
                        hint="use subPath with a literal path",
                    )


@rules.warning(
    "chown-hostpath",
    "chown -R over a folder of the host takes files from other apps.",
    "OAC chown.go",
    applies=Applies.NEW,
)
def _chown(context: ChartContext) -> Iterator[Found]:
    for workload, container, script in scripts(context.objects):
        found = "chown" in script and re.search(
            r"\bchown\s+(?:-\w*R\w*|--recursive)\s+([^;&|\n]*)", script
        )
        if not found:
            continue
        for word in found[1].split()[1:]:
            volume = workload.volume_at(container, word.strip("\"'"))
            if volume and volume.get("hostPath") is not None:
                yield context.in_object(
                    workload.item,
                    f"container {container.name} runs chown -R over the host folder mounted at "
                    f"{word}",
                    "chown",
                    hint="use chmod, or own only the app's files",
                )
                break


@rules.error(
    "host-network",
    "Pods on the host's network are denied.",
    "app-service handler_webhook.go",
    blocks=True,
)
def _host_network(context: ChartContext) -> Iterator[Found]:
    for workload in _all(context):
        if workload.pod.get("hostNetwork") is True:
            yield context.in_object(
                workload.item,
                f"{workload.kind} {workload.name} sets hostNetwork: true",
                "hostNetwork",
                hint="remove it and use a Service",
            )


@rules.error(
    "namespace-release",
    "Workloads live in the app's namespace, other objects there or in user-system-*.",
    "OAC namespace.go",
    applies=Applies.NEW,
    blocks=True,
)
def _namespace(context: ChartContext) -> Iterator[Found]:
    release = f"{context.release}-user"
    running = {id(workload.item) for workload in _all(context)}
    for item in context.objects:
        namespace = as_text(dig(item.data, "metadata", "namespace"))
        if not namespace or namespace == release:
            continue
        if id(item) not in running and namespace.startswith("user-system-"):
            continue
        yield context.in_object(
            item,
            f"{item.kind} {item.name} is in namespace {namespace}, not in the release's",
            hint="write namespace: {{ .Release.Namespace }}",
            below=("namespace:",),
        )


@rules.error(
    "selector-labels",
    "The API refuses a workload whose selector does not match its own pods.",
    "Kubernetes API",
    blocks=True,
)
def _selectors(context: ChartContext) -> Iterator[Found]:
    for workload in _all(context):
        if not workload.is_scaled:
            continue
        wanted = as_map(dig(workload.item.data, "spec", "selector", "matchLabels"))
        labels = as_map(dig(workload.template, "metadata", "labels"))
        missing = [key for key, value in wanted.items() if labels.get(key) != value]
        if missing or not wanted:
            what = ", ".join(missing) or "a selector"
            yield context.in_object(
                workload.item,
                f"{workload.kind} {workload.name} selects by {what}, which its pods do not carry"
                if missing
                else f"{workload.kind} {workload.name} has no selector.matchLabels",
                "matchLabels",
                hint="write the same labels in selector.matchLabels and template.metadata.labels",
            )


@rules.error(
    "reference-missing",
    "A pod that names a volume or ConfigMap which does not exist never starts.",
    "Kubernetes API",
)
def _references(context: ChartContext) -> Iterator[Found]:
    maps = {item.name for item in of_kind(context.objects, "ConfigMap")}
    for workload in _all(context):
        known = {*workload.volumes, *workload.claims}
        for container in workload.all_containers:
            for mount in container.mounts:
                name = as_text(mount.get("name"))
                if name not in known:
                    yield context.in_object(
                        workload.item,
                        f"container {container.name} mounts volume {shown(name)}, which the pod "
                        "does not have",
                        hint="add it to volumes or correct the name",
                        below=(f"name: {container.name}", "volumeMounts", f"name: {name}"),
                    )
        for name, where in _wanted_maps(workload):
            if name not in maps:
                yield context.in_object(
                    workload.item,
                    f"{where} names ConfigMap {shown(name)}, which the chart does not have",
                    f"name: {name}",
                    hint="add the ConfigMap, correct the name or set optional: true",
                )


def _wanted_maps(workload: Workload) -> Iterator[tuple[str, str]]:
    """Yield name and user of every ConfigMap that must exist."""
    sources = [
        (dig(volume, "configMap"), f"volume {name}") for name, volume in workload.volumes.items()
    ]
    for container in workload.all_containers:
        where = f"container {container.name}"
        for _, item in as_maps(container.data.get("envFrom")):
            sources.append((item.get("configMapRef"), where))
        for _, item in as_maps(container.data.get("env")):
            sources.append((dig(item, "valueFrom", "configMapKeyRef"), where))
    for source, where in sources:
        if isinstance(source, dict) and source.get("optional") is not True:
            name = as_text(source.get("name"))
            # Published by the cluster itself.
            if name and name != "kube-root-ca.crt":
                yield name, where
