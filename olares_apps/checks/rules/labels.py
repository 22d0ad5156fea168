"""Metadata of Kubernetes objects: names, labels and annotations that the server can decode."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import dig, shown
from olares_apps.checks.workloads import Workload
from olares_apps.helm import RenderedObject

__all__ = ["rules"]

rules = RuleBook(Group.OBJECTS)

_MAPS: Final = ("labels", "annotations")
_KINDS: Final = {dict: "a mapping", list: "a list", str: "a text", bool: "a boolean"}


@rules.error(
    "object-metadata",
    "An object without a name, or with a label that is no text, ends the install.",
    "Kubernetes: ObjectMeta is decoded strictly",
    blocks=True,
)
def _metadata(context: ChartContext) -> Iterator[Found]:
    """Null is the empty text to Kubernetes; a name may be generated."""
    of_pods = {id(workload.item): workload for workload in context.workloads}
    for item in context.objects:
        if not item.kind or item.kind == "List":
            continue
        metadata = item.data.get("metadata")
        if not isinstance(metadata, dict):
            yield _wrong(context, item, "metadata", metadata, "a mapping with a name")
            continue
        name = metadata.get("name") or metadata.get("generateName")
        if not isinstance(name, str):
            yield _wrong(context, item, "metadata.name", name, "a text")
        for where, value in _texts_by_key(item, metadata, of_pods.get(id(item))):
            yield from _values(context, item, where, value)


def _texts_by_key(
    item: RenderedObject, metadata: Mapping[str, Any], workload: Workload | None
) -> Iterator[tuple[str, Any]]:
    """Yield what maps texts to texts in an object, and in the pods that it makes."""
    for key in _MAPS:
        yield f"metadata.{key}", metadata.get(key)
    if item.kind == "Service":
        yield "spec.selector", dig(item.data, "spec", "selector")
    if workload is None:
        return
    yield "selector.matchLabels", dig(item.data, "spec", "selector", "matchLabels")
    yield "template.spec.nodeSelector", workload.pod.get("nodeSelector")
    if workload.kind != "Pod":
        for key in _MAPS:
            yield f"template.metadata.{key}", dig(workload.template, "metadata", key)


def _values(context: ChartContext, item: RenderedObject, where: str, value: Any) -> Iterator[Found]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield _wrong(context, item, where, value, "a mapping")
        return
    for key, text in value.items():
        if text is not None and not isinstance(text, str):
            yield context.in_object(
                item,
                f"{item.kind} {item.name}: {where}: {key} is {_kind(text)} ({shown(text)}) where "
                "a text must be",
                hint="put the value in quotes",
                below=(*_below(where), f"{key}:"),
            )


def _wrong(
    context: ChartContext, item: RenderedObject, where: str, value: Any, wanted: str
) -> Found:
    found = "missing" if value is None else f"{_kind(value)} where {wanted} must be"
    return context.in_object(
        item,
        f"{item.kind} {item.name}".rstrip() + f": {where} is {found}",
        hint=f"write {wanted} there",
        below=_below(where),
    )


def _below(where: str) -> tuple[str, ...]:
    """Return the texts that stand below each other on the way to a field."""
    return tuple(f"{step}:" for step in where.split("."))


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")
