"""What containers ask for, beside each other and beside the manifest."""

from collections.abc import Iterator
from decimal import Decimal

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rendering import Rendering
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_map, as_maps, as_text, cpu, dig, size
from olares_apps.checks.workloads import Container, Workload, workloads

__all__ = ["rules"]

rules = RuleBook(Group.OBJECTS)


def _containers(rendering: Rendering) -> Iterator[tuple[Workload, Container]]:
    for workload in workloads(rendering.objects):
        if workload.is_scaled:
            for container in workload.containers:
                yield workload, container


def _once(items: Iterator[tuple[str, Found]]) -> Iterator[Found]:
    """Yield findings that several variants share only once."""
    seen = set()
    for key, found in items:
        if key not in seen:
            seen.add(key)
            yield found


@rules.error(
    "container-resources",
    "Every container states CPU and memory, request and limit.",
    "OAC limits.go; oachecker resource.go",
    group=Group.OBJECTS,
    blocks=True,
)
def _container_resources(context: ChartContext) -> Iterator[Found]:
    return _once(
        (
            f"{workload.name}/{container.name}/{side}/{name}",
            context.in_object(
                workload.item,
                f"container {container.name} of {workload.kind} {workload.name} has no "
                f"{side}.{name}",
                f"name: {container.name}",
                hint="state CPU and memory, request and limit, of every container",
            ),
        )
        for rendering in context.renderings
        for workload, container in _containers(rendering)
        for side in ("requests", "limits")
        for name in ("cpu", "memory")
        if as_text(container.resource(side, name)) == ""
    )


@rules.error(
    "container-request-order",
    "A request above its limit is refused.",
    "OAC limits.go; oachecker resource.go",
    group=Group.OBJECTS,
    blocks=True,
)
def _request_order(context: ChartContext) -> Iterator[Found]:
    servers = {server.container.name for server in context.servers}

    def find() -> Iterator[tuple[str, Found]]:
        for rendering in context.renderings:
            for workload, container in _containers(rendering):
                for name, read in (("cpu", cpu), ("memory", size)):
                    asked, most = (container.resource(s, name) for s in ("requests", "limits"))
                    low, high = read(asked), read(most)
                    if low is not None and high is not None and low > high:
                        message = (
                            f"container {container.name} requests {asked} {name}, limit {most}: "
                            "the "
                            "request is above the limit"
                        )
                        found = context.in_object(
                            workload.item,
                            message,
                            hint="raise the limit",
                            below=(
                                f"name: {container.name}",
                                "resources:",
                                "requests:",
                                f"{name}:",
                            ),
                            field=("resources", name) if container.name in servers else None,
                        )
                        yield f"{workload.name}/{container.name}/{name}", found

    return _once(find())


@rules.error(
    "resource-sum",
    "The manifest is the envelope of all containers that run together.",
    "OAC chart.go and limits.go; oachecker resource.go",
    group=Group.OBJECTS,
    blocks=True,
)
def _sums(context: ChartContext) -> Iterator[Found]:
    """Sums over all containers that run together; replicas and init containers do not count."""
    entries = as_maps(context.map_at("spec").get("accelerator"))
    if not entries and context.is_literal:
        return iter(())
    rendered = {rendering.variant.mode for rendering in context.renderings}

    def find() -> Iterator[tuple[str, Found]]:
        for rendering in context.renderings:
            if rendering.variant.admin:
                continue  # the linter renders once, as a user who is no administrator
            if not entries:
                yield from _sums_in(context, rendering, ("spec",), "")
            for index, entry in entries:
                # Templates that cannot tell modes apart are rendered for the first one only.
                mode = as_text(entry.get("mode"))
                if mode == rendering.variant.mode or mode not in rendered:
                    path = ("spec", "accelerator", index)
                    yield from _sums_in(context, rendering, path, mode)

    return _once(find())


def _sums_in(
    context: ChartContext, rendering: Rendering, path: tuple[str | int, ...], mode: str
) -> Iterator[tuple[str, Found]]:
    block = as_map(dig(context.manifest, *path))
    for side, envelope in (("requests", "required"), ("limits", "limited")):
        for name, suffix in (("cpu", "Cpu"), ("memory", "Memory")):
            key = f"{envelope}{suffix}"
            read = cpu if name == "cpu" else size
            most = read(block.get(key))
            parts = [
                (container.name, value, amount)
                for _, container in _containers(rendering)
                if (value := as_text(container.resource(side, name)))
                and (amount := read(value)) is not None
            ]
            total = sum((Decimal(amount) for _, _, amount in parts), Decimal())
            if most is None or total <= most:
                continue
            listed = ", ".join(f"{container} {value}" for container, value, _ in parts)
            shown_total = _cores(total) if name == "cpu" else _bytes(int(total))
            where = f" in mode {mode}" if mode else ""
            found = context.in_manifest(
                f"sum({side}.{name})={shown_total} > {key}={block.get(key)}{where} [{listed}]",
                *path,
                key,
                hint=f"raise {key} to {shown_total} or lower the containers",
            )
            yield f"{mode}/{key}", found


def _cores(amount: Decimal) -> str:
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _bytes(amount: int) -> str:
    for unit, factor in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount % factor == 0 and amount >= factor:
            return f"{amount // factor}{unit}"
    return f"{amount / 2**30:.2f}Gi" if amount >= 2**30 else str(amount)
