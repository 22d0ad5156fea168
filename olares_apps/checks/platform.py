"""What the platform gives a chart: the values of each pass, and which keys are its own.

Sources: the Olares contract, sections 3.3, 5.5, 8.1 and 8.2.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.checks.shape import as_map, as_maps, as_text

__all__ = [
    "ACCELERATORS",
    "HYDRATION_PARENTS",
    "PLATFORM_KEYS",
    "USER",
    "Accelerator",
    "hydration_values",
    "install_values",
]

USER: Final = "alice"
"""The user who is no administrator."""
_FOLDERS: Final = {
    "appData": "/olares/rootfs/userspace/data",
    "appCache": "/olares/userdata/cache",
    "userData": "/olares/rootfs/userspace/home",
    "appCommon": "/olares/rootfs/common",
}
_ZONE: Final = "alice.olares.example"

PLATFORM_KEYS: Final = frozenset(
    "admin isAdmin bfl user domain userspace sharedlib olaresEnv GPU gpu workloads postgres redis "
    "mongodb minio nats mysql mariadb rabbitmq elasticsearch clickhouse clickHouse argo os dep "
    "svcs cluster nodes schedule sysVersion rootPath fs_type deviceName downloadCdnURL oidc "
    "global".split()
)
"""Top-level values that the platform sets at install or upgrade."""

HYDRATION_PARENTS: Final = frozenset(
    "bfl GPU user schedule oidc userspace os domain cluster dep svcs redis postgres mariadb mysql "
    "mongodb minio rabbitmq elasticsearch nats".split()
)
"""Maps that the first rendering pass supplies even when values.yaml lacks them."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One accelerator mode: the architecture it needs and which linters know it.

    ``arch`` None means any. ``gpu_memory`` says that both GPU memory fields are required;
    otherwise they are forbidden.
    """

    arch: str | None
    gpu_memory: bool
    in_older: bool
    in_newest: bool


ACCELERATORS: Final[Mapping[str, Accelerator]] = {
    "cpu": Accelerator(None, False, True, True),
    "nvidia": Accelerator("amd64", True, True, True),
    "nvidia-gb10": Accelerator("arm64", False, True, True),
    "apple-m": Accelerator("arm64", False, True, True),
    "amd-gpu": Accelerator("amd64", True, True, True),
    "intel": Accelerator("amd64", False, False, True),
    "amd": Accelerator("amd64", False, False, True),
    "intel-gpu": Accelerator("amd64", True, False, True),
    "moore-soc": Accelerator("arm64", False, False, True),
    "amd-apu": Accelerator(None, False, True, False),
    "mthreads-m1000": Accelerator(None, False, True, False),
    "strix-halo": Accelerator(None, False, True, False),
}


def hydration_values(entrances: Iterable[str], *, admin: bool) -> dict[str, Any]:
    """Return what the first rendering pass lays over the chart's own values.

    Absent on purpose, as on a device: ``olaresEnv``, ``workloads``, ``userspace.appData``,
    ``userspace.appCommon``, ``sharedlib``, ``sysVersion``, ``nodes`` and ``gpu``.
    """
    databases: dict[str, Any] = {"databases": {}}
    return {
        "admin": "admin" if admin else "",
        "isAdmin": admin,
        "bfl": {"username": "admin" if admin else USER},
        "GPU": {"Type": "", "Cuda": ""},
        "user": {"zone": f"user-space-{USER}"},
        "schedule": {"nodeName": "olares"},
        "oidc": {"client": {}, "issuer": "issuer"},
        "userspace": {"appCache": "/cache", "userData": "/home"},
        "os": {"appKey": "key", "appSecret": "secret"},
        "domain": {name: f"{name}.{_ZONE}" for name in entrances},
        "cluster": {},
        "dep": {},
        "svcs": {},
        "redis": {},
        **dict.fromkeys(("postgres", "mariadb", "mysql", "mongodb"), databases),
        "minio": {"buckets": {}},
        "rabbitmq": {"vhosts": {}},
        "elasticsearch": {"indexes": {}},
        "nats": {"subjects": {}, "refs": {}},
    }


def install_values(
    manifest: Mapping[str, Any],
    *,
    admin: bool,
    mode: str,
    replicas: int | None,
    only_permitted: bool = False,
) -> dict[str, Any]:
    """Return what an install of this manifest sets.

    ``mode`` is the compute mode; ``replicas`` replaces the declared numbers, as 0 does for a
    stopped app. Folders are given whatever the permissions say, so that a missing permission
    is one finding of its own and not a broken object; with ``only_permitted`` they are given as
    a device does.
    """
    permission = as_map(manifest.get("permission"))
    entrances = [as_text(item.get("name")) for _, item in as_maps(manifest.get("entrances"))]
    values: dict[str, Any] = {
        "admin": "admin",
        "isAdmin": admin,
        "bfl": {"username": "admin" if admin else USER},
        "user": {"zone": _ZONE},
        "domain": {name: f"1a2b3c4d.{_ZONE}" for name in entrances if name},
        "userspace": {
            name: path
            for name, path in _FOLDERS.items()
            if permission.get(name) or not only_permitted
        },
        "sharedlib": "/olares/external",
        "olaresEnv": {
            as_text(env.get("envName")): as_text(env.get("value")) or as_text(env.get("default"))
            for _, env in as_maps(manifest.get("envs"))
        },
        "GPU": {"Type": mode, "Cuda": "13" if mode.startswith("nvidia") else ""},
        "gpu": mode,
        "cluster": {"arch": "amd64"},
        "schedule": {"nodeName": "olares"},
        "nodes": [],
        "sysVersion": "1.12.6",
        "rootPath": "/olares",
        "fs_type": "fs",
        "deviceName": "olares",
        "downloadCdnURL": "https://cdn.example.org",
        "os": {"appKey": "key", "appSecret": "secret"},
        "dep": {},
        "svcs": {},
        "oidc": {"client": {"id": "id", "secret": "secret"}, "issuer": "https://id.example.org"},
    }
    declared = as_map(manifest.get("workloadReplicas"))
    if declared:
        values["workloads"] = {
            name: {"replicaCount": count if replicas is None else replicas}
            for name, count in declared.items()
            if isinstance(count, int)
        }
    return values
