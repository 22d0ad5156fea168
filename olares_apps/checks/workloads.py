"""Workloads, their containers and volumes, read from rendered objects of any shape."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from olares_apps.checks.shape import as_list, as_map, as_maps, as_text, dig
from olares_apps.helm import RenderedObject

__all__ = ["Container", "Workload", "of_kind", "workloads"]

SCALED: Final = ("Deployment", "StatefulSet")
"""Kinds that the platform counts, scales and limits."""
_TEMPLATED: Final = (*SCALED, "DaemonSet", "Job", "ReplicaSet")


@dataclass(eq=False)
class Container:
    """One container of a workload."""

    data: Mapping[str, Any]
    is_init: bool
    index: int

    @property
    def name(self) -> str:
        """Return the container's name."""
        return as_text(self.data.get("name"))

    @property
    def image(self) -> str:
        """Return the image reference, empty when it is no text."""
        image = self.data.get("image")
        return image if isinstance(image, str) else ""

    def resource(self, side: str, name: str) -> Any:
        """Return a raw resource: ``side`` is ``requests`` or ``limits``."""
        return dig(self.data, "resources", side, name)

    def words(self, field: str) -> list[str]:
        """Return ``command`` or ``args`` as texts."""
        return [as_text(item) for item in as_list(self.data.get(field))]

    @cached_property
    def mounts(self) -> Sequence[Mapping[str, Any]]:
        """Return the volume mounts."""
        return [item for _, item in as_maps(self.data.get("volumeMounts"))]

    @cached_property
    def ports(self) -> Mapping[str, int]:
        """Return the container ports by name; unnamed ones by their number."""
        found = {}
        for _, item in as_maps(self.data.get("ports")):
            number = item.get("containerPort")
            if isinstance(number, int):
                found[as_text(item.get("name")) or str(number)] = number
        return found


@dataclass(eq=False)
class Workload:
    """One object that runs pods."""

    item: RenderedObject

    @property
    def kind(self) -> str:
        """Return the kind."""
        return self.item.kind

    @property
    def name(self) -> str:
        """Return the name."""
        return self.item.name

    @property
    def is_scaled(self) -> bool:
        """Say whether the platform counts and limits it: a Deployment or StatefulSet."""
        return self.kind in SCALED

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """Return the object's own metadata."""
        return as_map(self.item.data.get("metadata"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        """Return the annotations of the workload itself, not of its pods."""
        return as_map(self.metadata.get("annotations"))

    @cached_property
    def template(self) -> Mapping[str, Any]:
        """Return the pod template: ``metadata`` and ``spec``."""
        data = self.item.data
        if self.kind == "Pod":
            return data
        if self.kind == "CronJob":
            return as_map(dig(data, "spec", "jobTemplate", "spec", "template"))
        return as_map(dig(data, "spec", "template"))

    @cached_property
    def pod(self) -> Mapping[str, Any]:
        """Return the pod spec."""
        return as_map(self.template.get("spec"))

    @cached_property
    def containers(self) -> Sequence[Container]:
        """Return the containers that run together."""
        return self._containers("containers", is_init=False)

    @cached_property
    def inits(self) -> Sequence[Container]:
        """Return the containers that run before the others."""
        return self._containers("initContainers", is_init=True)

    @property
    def all_containers(self) -> Sequence[Container]:
        """Return all containers, those that run first in front."""
        return [*self.inits, *self.containers]

    @cached_property
    def volumes(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the volumes by name."""
        return {as_text(item.get("name")): item for _, item in as_maps(self.pod.get("volumes"))}

    @cached_property
    def claims(self) -> frozenset[str]:
        """Return the names of a StatefulSet's own volume claims."""
        entries = as_maps(dig(self.item.data, "spec", "volumeClaimTemplates"))
        return frozenset(as_text(dig(item, "metadata", "name")) for _, item in entries)

    def host_paths(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield name and source of every volume that is a folder of the host."""
        for name, volume in self.volumes.items():
            source = volume.get("hostPath")
            if isinstance(source, dict):
                yield name, source

    def volume_at(self, container: Container, path: str) -> Mapping[str, Any] | None:
        """Return the volume that a path of a container lies on, None for its own disk."""
        best = ""
        found = None
        for mount in container.mounts:
            folder = as_text(mount.get("mountPath")).rstrip("/") or "/"
            inside = path == folder or path.startswith(folder.rstrip("/") + "/")
            if inside and len(folder) >= len(best):
                best, found = folder, self.volumes.get(as_text(mount.get("name")))
        return found

    def _containers(self, field: str, *, is_init: bool) -> list[Container]:
        return [Container(item, is_init, at) for at, item in as_maps(self.pod.get(field))]


def workloads(objects: Iterable[RenderedObject]) -> list[Workload]:
    """Return the objects that run pods."""
    kinds = (*_TEMPLATED, "CronJob", "Pod")
    return [Workload(item) for item in objects if item.kind in kinds]


def of_kind(objects: Iterable[RenderedObject], *kinds: str) -> list[RenderedObject]:
    """Return the objects of some kinds."""
    return [item for item in objects if item.kind in kinds]
