"""The server of a chart that was rendered from a spec: the spec's engine knows it best.

From a chart alone a server is told by its binary and its build by its image. A spec names its
engine, which may be one that no rule has heard of, and may state its build.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from olares_apps.checks.launch import Server, environment, servers
from olares_apps.checks.shape import as_map
from olares_apps.checks.shell import Command, expand_kubelet
from olares_apps.checks.workloads import of_kind, workloads
from olares_apps.engines.registry import get_engine
from olares_apps.helm import RenderedObject
from olares_apps.render.traits import SERVER
from olares_apps.spec.models import AppSpec

__all__ = ["servers_of"]


def servers_of(objects: Sequence[RenderedObject], spec: AppSpec[Any]) -> list[Server]:
    """Return the containers that run an inference server, the spec's own read by its engine.

    An engine without flag tables changes nothing: its server is told like any other.
    """
    found = servers(objects)
    match = get_engine(spec.engine.type).flag_table(spec.engine)
    if match is None:
        return found
    maps = {item.name: as_map(item.data.get("data")) for item in of_kind(objects, "ConfigMap")}
    for workload in workloads(objects):
        for container in workload.containers:
            if workload.item.name != spec.app or container.name != SERVER:
                continue
            variables = environment(container, maps)
            argv = tuple(expand_kubelet(word, variables) for word in container.words("args"))
            told = next((item for item in found if item.container.name == SERVER), None)
            if told is None:
                binary = " ".join(container.words("command"))
                command = Command(binary, argv, True)
                told = Server(workload, container, match.engine, variables, "", command)
                found.append(told)
            binary = told.command.binary if told.command else ""
            own = replace(
                told, engine=match.engine, command=Command(binary, argv, True), stated=match
            )
            found[found.index(told)] = own
    return found
