"""Objects beside the pods: Services, images, roles, and kinds that devices do not take."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.images import cuda_of, parse_image, suggestion, tag_fault
from olares_apps.checks.kinds import kind_fault
from olares_apps.checks.rule import Applies, Found, Group, RuleBook
from olares_apps.checks.shape import as_list, as_map, as_maps, as_text, dig, shown
from olares_apps.checks.workloads import Container, Workload, of_kind
from olares_apps.engines.flags import known_builds
from olares_apps.findings import Severity
from olares_apps.helm import RenderedObject

__all__ = ["rules"]

rules = RuleBook(Group.OBJECTS)

_PORT: Final = re.compile(r"\d{1,5}")
_CLUSTER_SCOPED: Final = frozenset(
    "ClusterRole ClusterRoleBinding CustomResourceDefinition PriorityClass StorageClass "
    "IngressClass RuntimeClass PersistentVolume Namespace ValidatingWebhookConfiguration "
    "MutatingWebhookConfiguration APIService".split()
)
_WRITES: Final = frozenset("create update patch delete deletecollection *".split())
_PROTECTED: Final = {"nodes": "", "networkpolicies": "networking.k8s.io"}


@rules.error(
    "cluster-scoped-name",
    "Two installs of an app would fight for a cluster-wide object of one name.",
    "OAC cluster_scoped.go",
    applies=Applies.NEW,
    blocks=True,
)
def _cluster_scoped(context: ChartContext) -> Iterator[Found]:
    """Always for v1; for v3 only when the app may be installed several times."""
    several = dig(context.manifest, "options", "allowMultipleInstall") is True
    if context.api_version == "v3" and not several:
        return
    for item in of_kind(context.objects, *_CLUSTER_SCOPED):
        named = f"{context.release}-user" in item.name
        if context.api_version == "v3":
            named = named or ".Release.Name" in context.text(item.file)
        if not named:
            yield context.in_object(
                item,
                f"{item.kind} {item.name} has the same name in every install",
                f"name: {item.name}",
                hint="put {{ .Release.Namespace }} into its name",
            )


@rules.error(
    "object-kind",
    "An object of a kind that Kubernetes does not serve ends the install.",
    "Kubernetes 1.33; its Deprecated API Migration Guide",
    blocks=True,
)
def _kind(context: ChartContext) -> Iterator[Found]:
    """Custom resources are left alone."""
    for item in context.objects:
        api_version = as_text(item.data.get("apiVersion"))
        fault = kind_fault(api_version, item.kind) if api_version and item.kind else None
        if fault:
            yield context.in_object(item, fault.message, "kind:", item.kind, hint=fault.hint)


@rules.error(
    "rbac-forbidden",
    "No app may write nodes or network policies.",
    "oachecker rule.go; OAC chart.go",
    blocks=True,
)
def _rbac(context: ChartContext) -> Iterator[Found]:
    for item in of_kind(context.objects, "Role", "ClusterRole"):
        for _, entry in as_maps(item.data.get("rules")):
            verbs = {as_text(verb) for verb in as_list(entry.get("verbs"))} & _WRITES
            resources = {as_text(name) for name in as_list(entry.get("resources"))}
            groups = {as_text(name) for name in as_list(entry.get("apiGroups"))}
            for name, group in _PROTECTED.items():
                if verbs and resources & {name, "*"} and groups & {group, "*"}:
                    yield context.in_object(
                        item,
                        f"{item.kind} {item.name} may {', '.join(sorted(verbs))} {name}",
                        "verbs",
                        hint="allow get, list and watch only, and name the resources",
                    )


@rules.error(
    "network-policy",
    "Charts may not bring network policies or nodes.",
    "experience of operators",
    blocks=True,
)
def _network_policy(context: ChartContext) -> Iterator[Found]:
    for item in of_kind(context.objects, "NetworkPolicy", "Node"):
        yield context.in_object(
            item, f"the chart holds {item.kind} {item.name}", f"kind: {item.kind}", hint="remove it"
        )


@rules.error(
    "service-type",
    "Only ClusterIP Services and namespaced bindings are usable.",
    "experience of operators",
)
def _service_type(context: ChartContext) -> Iterator[Found]:
    for item in of_kind(context.objects, "Service"):
        kind = as_text(dig(item.data, "spec", "type"))
        if kind in ("NodePort", "LoadBalancer"):
            yield context.in_object(
                item,
                f"Service {item.name} has type {kind}",
                f"type: {kind}",
                hint="write type: ClusterIP and declare an entrance or a port",
            )
    for item in of_kind(context.objects, "ClusterRoleBinding"):
        yield context.in_object(
            item,
            f"the chart holds ClusterRoleBinding {item.name}",
            "kind: ClusterRoleBinding",
            hint="use a RoleBinding",
            severity=Severity.WARNING,
        )


def _images(context: ChartContext) -> Iterator[tuple[Workload, Container]]:
    for workload in context.workloads:
        for container in workload.all_containers:
            yield workload, container


@rules.error(
    "image-public-fixed",
    "A moving tag makes one version of the app behave differently from one day to the next.",
    "experience of operators; noonghunna/club-3090#188",
)
def _image(context: ChartContext) -> Iterator[Found]:
    for workload, container in _images(context):
        image: Any = container.data.get("image")
        where = f"image of container {container.name}"
        if isinstance(image, dict):
            message = f"{where} is a mapping: an unquoted pair of braces or colons"
        elif not isinstance(image, str):
            message = f"{where} must be a string, got {shown(image)}"
        else:
            name = parse_image(image)
            fault = tag_fault(name) if name else ("is not a valid reference", True)
            if fault is None or not fault[1]:
                continue
            hint = suggestion(name, _neighbours(context, container)) if name else _QUOTE
            yield context.in_object(
                workload.item,
                f"{where} {shown(image)} {fault[0]}",
                "image:",
                image,
                hint=hint,
                below=_image_line(context, workload, container),
                field=context.field_of_image(container),
            )
            continue
        where_it_stands = _image_line(context, workload, container)
        yield context.in_object(workload.item, message, hint=_QUOTE, below=where_it_stands)


def _image_line(context: ChartContext, workload: Workload, container: Container) -> tuple[str, ...]:
    """Return the texts that lead to an image that is not written as it renders."""
    written = container.image and container.image in context.text(workload.item.file)
    return () if written else (f"name: {container.name}", "image:")


# A tag that exists for a CUDA version: not every release is built for each of them.
_VLLM_TAGS: Final[Mapping[str, str]] = {"12.9": "v0.22.1-x86_64-cu129-ubuntu2404"}
_QUOTE: Final = "write one quoted string: registry/repository:tag"


def _neighbours(context: ChartContext, container: Container) -> list[str]:
    """Return tags that exist, of the CUDA version that a floating tag names if that is known."""
    name = parse_image(container.image)
    if name is None or "vllm" not in name.repository:
        return []
    cuda = cuda_of(name, None)
    if cuda is not None and cuda in _VLLM_TAGS:
        return [_VLLM_TAGS[cuda]]
    return [f"v{build}" for build in reversed(known_builds("vllm")) if "." in build]


@rules.info(
    "image-digest",
    "A tag of two numbers moves with every patch release; a digest never does.",
    "umbrel-apps rule set",
)
def _digest(context: ChartContext) -> Iterator[Found]:
    for workload, container in _images(context):
        name = parse_image(container.image)
        fault = tag_fault(name) if name else None
        if fault and not fault[1]:
            yield context.in_object(
                workload.item,
                f"image of container {container.name} {shown(container.image)} {fault[0]}",
                "image:",
                container.image,
                hint="name the patch release or add @sha256:...",
                field=context.field_of_image(container),
            )


@rules.error(
    "service-selector",
    "A Service that selects no pod leads nowhere.",
    "Kubernetes API",
)
def _selected(context: ChartContext) -> Iterator[Found]:
    """An error for the Service of an entrance, a warning for others."""
    if not context.is_whole:
        return
    hosts = {as_text(item.get("host")) for _, item in as_maps(context.manifest.get("entrances"))}
    labels = [
        as_map(dig(workload.template, "metadata", "labels")) for workload in context.workloads
    ]
    for item in of_kind(context.objects, "Service"):
        wanted = as_map(dig(item.data, "spec", "selector"))
        if wanted and not any(wanted.items() <= known.items() for known in labels):
            pairs = ", ".join(f"{key}: {value}" for key, value in wanted.items())
            yield context.in_object(
                item,
                f"Service {item.name} selects {pairs}, which no pod of the chart carries",
                "selector:",
                hint="write the labels of the pod template",
                severity=None if item.name in hosts else Severity.WARNING,
            )


@rules.error(
    "port-agreement",
    "The server, its container port, its probes and its Service must name one port.",
    "a public chart with entrance 8080 before a server on 8000",
)
def _ports(context: ChartContext) -> Iterator[Found]:
    """Only servers whose port is known are judged: a containerPort alone promises nothing."""
    for server in context.servers:
        listens = server.listens
        if listens is None:
            continue
        declared = set(server.container.ports.values())
        if declared and listens not in declared:
            listed = ", ".join(map(str, sorted(declared)))
            yield context.in_object(
                server.workload.item,
                f"the server listens on {listens}, containerPort is {listed}",
                hint=f"write containerPort: {listens}",
                below=(f"name: {server.container.name}", "containerPort"),
            )
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            port = dig(server.container.data, probe, "httpGet", "port")
            number = server.container.ports.get(port, port) if isinstance(port, str) else port
            if isinstance(number, int) and number != listens:
                yield context.in_object(
                    server.workload.item,
                    f"{probe} asks port {number}, the server listens on {listens}",
                    hint=f"write port: {listens}",
                    below=(f"name: {server.container.name}", f"{probe}:", "port:"),
                )
    yield from _other_ports(context)
    for service in of_kind(context.objects, "Service"):
        yield from _service_ports(context, service)


def _other_ports(context: ChartContext) -> Iterator[Found]:
    """Judge containers of any kind by ``--port``; without a spec a warning: it may be another's."""
    servers = {(item.workload.name, item.container.name) for item in context.servers}
    for workload in context.workloads:
        for container in workload.containers:
            declared = set(container.ports.values())
            if not declared or (workload.name, container.name) in servers:
                continue
            words = [*container.words("command"), *container.words("args")]
            for index, word in enumerate(words):
                flag, sign, value = word.partition("=")
                value = value if sign else next(iter(words[index + 1 : index + 2]), "")
                if flag != "--port" or not _PORT.fullmatch(value) or int(value) in declared:
                    continue
                listed = ", ".join(map(str, sorted(declared)))
                yield context.in_object(
                    workload.item,
                    f"container {container.name} is started with --port {value}, containerPort is "
                    f"{listed}",
                    hint=f"write {min(declared)}, or the same port in engine.port"
                    if context.spec
                    else f"write containerPort: {value}",
                    below=(f"name: {container.name}", "containerPort"),
                    field=context.field_of_word(word),
                    severity=None if context.spec else Severity.WARNING,
                )


def _service_ports(context: ChartContext, service: RenderedObject) -> Iterator[Found]:
    wanted = as_map(dig(service.data, "spec", "selector"))
    names: dict[str, int] = {}
    listening: set[int] = set()
    for server in context.servers:
        labels = as_map(dig(server.workload.template, "metadata", "labels"))
        port = server.number("--port")
        if port is None or not wanted or not wanted.items() <= labels.items():
            continue
        listening.add(port)
        own = set(server.container.ports.values())
        # Beside the main port, further ones that the container names are further listeners.
        listening |= own if port in own else set()
        for container in server.workload.containers:
            names |= container.ports
            if container is not server.container:
                listening |= set(container.ports.values())
    if not listening:
        return
    for _, item in as_maps(dig(service.data, "spec", "ports")):
        target = item.get("targetPort", item.get("port"))
        number = names.get(target) if isinstance(target, str) else target
        if not isinstance(number, int) or number not in listening:
            listed = ", ".join(map(str, sorted(listening)))
            yield context.in_object(
                service,
                f"Service {service.name} sends port {as_text(item.get('port'))} to "
                f"{as_text(target)}, the server listens on {listed}",
                "targetPort",
                hint=f"write targetPort: {min(listening)}",
            )
