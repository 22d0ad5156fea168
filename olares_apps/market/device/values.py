"""The values a chart is rendered with: at hydration and at install (contract 3.3 and 8.1)."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["hydration_values", "install_values"]

USER = "alice"
ZONE = "alice.olares.example"


def hydration_values(entrances: Iterable[str], *, admin: bool) -> dict[str, Any]:
    """Return what chart-repo overlays on the chart's own values.

    Absent on purpose, as on a device: ``olaresEnv``, ``workloads``, ``userspace.appData``,
    ``userspace.appCommon``, ``sharedlib``, ``sysVersion``, ``nodes``, ``gpu``.
    """
    return {
        "admin": "admin" if admin else "",
        "bfl": {"username": USER},
        "GPU": {"Type": "", "Cuda": ""},
        "user": {"zone": f"user-space-{USER}"},
        "schedule": {"nodeName": "olares"},
        "oidc": {"client": {}, "issuer": "oidc-issuer"},
        "userspace": {"appCache": "/cache", "userData": "/home"},
        "os": {"appKey": "key", "appSecret": "secret"},
        "domain": {name: f"{name}.{ZONE}" for name in entrances},
        "cluster": {},
        "dep": {},
        "svcs": {},
        "redis": {},
        "postgres": {"databases": {}},
        "mariadb": {"databases": {}},
        "mysql": {"databases": {}},
        "mongodb": {"databases": {}},
        "minio": {"buckets": {}},
        "rabbitmq": {"vhosts": {}},
        "elasticsearch": {"indexes": {}},
        "nats": {"subjects": {}, "refs": {}},
    }


def install_values(
    manifest: Mapping[str, Any], *, admin: bool, gpu_mode: str, replicas: int | None = None
) -> dict[str, Any]:
    """Return what app-service sets at install for this manifest.

    ``gpu_mode`` is the selected compute mode (``nvidia`` or empty); ``replicas`` replaces
    the declared numbers, as 0 does for a stopped app.
    """
    app = str(manifest.get("metadata", {}).get("name", ""))
    entrances = [str(item.get("name", "")) for item in manifest.get("entrances") or []]
    permission = manifest.get("permission") or {}
    userspace = {}
    if permission.get("appData"):
        userspace["appData"] = f"/olares/rootfs/userspace/{USER}/Data/{app}"
    if permission.get("appCache"):
        userspace["appCache"] = f"/olares/userdata/Cache/{USER}/{app}"
    if permission.get("userData"):
        userspace["userData"] = f"/olares/rootfs/userspace/{USER}/Home"
    if permission.get("appCommon"):
        userspace["appCommon"] = "/olares/rootfs/Common"
    declared = manifest.get("workloadReplicas") or {}
    return {
        "admin": "admin",
        "isAdmin": admin,
        "bfl": {"username": USER},
        "user": {"zone": ZONE},
        "domain": dict.fromkeys(entrances, f"{app}.{ZONE}"),
        "userspace": userspace,
        "olaresEnv": {
            str(env.get("envName")): str(env.get("value") or env.get("default") or "")
            for env in manifest.get("envs") or []
        },
        "GPU": {"Type": gpu_mode, "Cuda": "13" if gpu_mode else ""},
        "workloads": {
            str(name): {"replicaCount": count if replicas is None else replicas}
            for name, count in declared.items()
        },
        "cluster": {"arch": "amd64"},
        "schedule": {"nodeName": "olares"},
        "sysVersion": "",
        "rootPath": "/olares",
        "dep": {},
        "svcs": {},
        "oidc": {"client": {"id": "", "secret": ""}, "issuer": ""},
    }
