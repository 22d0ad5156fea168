"""What the chart's templates are filled in with: the server's container and what stands around it.

Sources: the Olares contract, sections 6.2, 8.1 and 8.3.
"""

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Final

from olares_apps.engines.base import ASSET_FOLDER, MODEL_FOLDER, Launch
from olares_apps.engines.known_images import known_server
from olares_apps.errors import Problem, RenderError, SpecError
from olares_apps.render.editable import Editable, Piece
from olares_apps.render.resources import server_memory
from olares_apps.render.traits import SERVER
from olares_apps.spec.models import AppSpec

__all__ = ["PERMISSIONS_IMAGE", "carried_files", "literal", "pod_context", "service_name"]

PERMISSIONS_IMAGE: Final = "docker.io/beclab/aboveos-busybox:1.37.0"
"""Image of the init container that opens folders for a server which is not root: devices let
images of beclab run as root on every release."""

_PROBE_PERIOD_SECONDS: Final = 10
_CONFIG_KEY: Final = re.compile(r"[A-Za-z0-9._-]{1,253}", re.ASCII)
_MOUNTED: Final = ("", MODEL_FOLDER, ASSET_FOLDER)
# Kubernetes keeps no larger ConfigMap.
_CONFIG_MAP_BYTES: Final = 2**20
# Variables that go where the download is: to the init container, or to a server that does it.
_HUB_VARIABLES: Final = ("HF_TOKEN", "HF_ENDPOINT")
_SOURCES: Final = {"app-data": "appData", "app-cache": "appCache", "user-data": "userData"}


def service_name(spec: AppSpec[Any], service: str | None) -> str:
    """Return the name of the Kubernetes Service of the server or of one of its further ports."""
    return f"{spec.app}-{service}" if service else spec.app


def pod_context(
    spec: AppSpec[Any],
    launch: Launch,
    editable: Editable,
    *,
    download: Mapping[str, str] | None,
    assets: Mapping[str, str],
    download_seconds: int,
) -> dict[str, Any]:
    """Return what the templates of a chart need, whatever its generation.

    ``assets`` holds the text of the workspace files by path. ``download_seconds`` is how long all
    downloads may take. Raises RenderError, or SpecError with a field, for values that give no pod.
    """
    config = {key: text for key, text in launch.config.items() if key not in editable.unused}
    carried = carried_files(launch.assets, assets)
    mounts = _mounts(launch, spec, assets)
    fetch = launch.fetch
    stores_models = download is not None or fetch is not None
    # A server that loads for itself does so inside its start-up probe.
    waiting = launch.probe.load_seconds + (download_seconds if fetch else 0)
    checked = [config, carried, download] + ([mounts] if mounts else [])
    scratch = _scratch(launch)
    _check_places(spec, launch, [*scratch, *mounts])
    _check_settings(spec, launch, editable, config)
    return {
        "app": spec.app,
        "image": spec.engine.image,
        "port": spec.engine.port,
        "command": [literal(item) for item in launch.command],
        "args": _arguments(launch, editable),
        "env": _environment(spec, launch, editable),
        "hub_variables": _HUB_VARIABLES if fetch else (),
        "settings": _settings(spec, editable, _HUB_VARIABLES if stores_models else ()),
        "config": config,
        "config_checksum": _checksum(*checked),
        "download": download,
        "assets": carried,
        "mounts": mounts,
        "scratch": scratch,
        "shm_mib": launch.shm_mib,
        "volumes": [
            {"key": _SOURCES[item.source], "folder": item.folder, "mounts": item.mounts}
            for item in spec.volumes
        ],
        "init": [
            {"name": s.name, "image": s.image, "command": [literal(word) for word in s.command]}
            for s in spec.init
        ],
        "services": [
            {"name": item.name, "service": service_name(spec, item.name), "port": item.port}
            for item in spec.services
        ],
        "user": spec.run_as_user,
        "permissions": _permissions(spec, launch),
        "container": SERVER,
        "resources": {
            "cpu": spec.resources.cpu,
            "cpu_limit": spec.resources.cpu_limit,
            "memory": spec.resources.memory,
            "memory_limit": server_memory(spec, launch)[1],
        },
        "model_folder": MODEL_FOLDER if stores_models else None,
        "models_read_only": spec.run_as_user is not None and fetch is None,
        "asset_folder": ASSET_FOLDER,
        "deadline_seconds": download_seconds + launch.probe.load_seconds,
        "probe": {
            "path": launch.probe.path,
            "period": _PROBE_PERIOD_SECONDS,
            "failures": -(-waiting // _PROBE_PERIOD_SECONDS),
        },
    }


def literal(text: str) -> str:
    """Return text that the kubelet leaves as it is: it expands ``$(NAME)`` and halves ``$$``."""
    return text.replace("$", "$$")


def carried_files(names: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the content of a ConfigMap: ``names`` maps its keys to workspace files.

    ``given`` holds the text of the workspace files by path. Raises RenderError for a file that is
    missing, cannot be carried under its name, or is too large.
    """
    missing = sorted(set(names.values()) - given.keys())
    if missing:
        raise RenderError(
            f"workspace file {missing[0]} is missing", hint="the spec names it; add it or remove it"
        )
    for name in names:
        if not _CONFIG_KEY.fullmatch(name):
            raise RenderError(
                f"workspace file {name!r} cannot be carried under that name",
                hint="name it with letters, digits, '-', '_' and '.' only",
            )
    content = {name: given[path] for name, path in sorted(names.items())}
    size = sum(len(text.encode()) for text in content.values())
    if size > _CONFIG_MAP_BYTES:
        raise RenderError(
            f"workspace files {', '.join(sorted(set(names.values())))} have {size} bytes together, "
            f"limit {_CONFIG_MAP_BYTES}",
            hint="put large files into the image or a model repository",
        )
    return content


def _arguments(launch: Launch, editable: Editable) -> list[str]:
    arguments = [literal(item) for item in launch.argv]
    for index, key in launch.refers.items():
        if launch.config[key] != launch.argv[index]:
            raise RenderError(f"argument {index} and ConfigMap key {key} hold different values")
        arguments[index] = f"$({key})"
    for index, pieces in editable.arguments.items():
        arguments[index] = _joined(pieces)
    return arguments


def _joined(pieces: Sequence[Piece]) -> str:
    return "".join(literal(p) if isinstance(p, str) else f"$({p[0]})" for p in pieces)


def _environment(spec: AppSpec[Any], launch: Launch, editable: Editable) -> dict[str, str]:
    fetched = launch.fetch.env if launch.fetch else {}
    env = {**fetched, **launch.env, **spec.engine.env}
    for name in sorted(env.keys() & (launch.config.keys() | spec.settings.keys())):
        raise RenderError(
            f"engine.env.{name} would replace the value that the server's arguments refer to",
            hint="the settings of the engine give that value; remove the variable",
        )
    texts = {name: literal(value) for name, value in env.items()}
    texts |= {
        name: _joined(pieces)
        for name, pieces in editable.env.items()
        if name not in spec.engine.env
    }
    return dict(sorted(texts.items()))


def _settings(spec: AppSpec[Any], editable: Editable, own: Sequence[str]) -> list[dict[str, str]]:
    """Return the server's variables that owners set; an empty default means: only while set.

    ``own`` are variables that go where the download is.
    """
    return [
        {"name": name, "default": editable.defaults.get(name, "")}
        for name in spec.settings
        if name not in own
    ]


def _check_settings(
    spec: AppSpec[Any], launch: Launch, editable: Editable, config: Mapping[str, str]
) -> None:
    """Raise SpecError for a setting with the name of a variable that the chart itself sets.

    What the owner writes would replace the value that the server's arguments refer to.
    """
    refers = {key: launch.argv[index - 1] for index, key in launch.refers.items() if index}
    owned = spec.engine.reserved_arguments()
    env = {**(launch.fetch.env if launch.fetch else {}), **launch.env}
    for name, setting in spec.settings.items():
        is_taken = (name in config and name not in editable.shown) or name in env
        if not is_taken and not (setting.field and name in _HUB_VARIABLES):
            continue
        field = owned.get(refers.get(name, ""), "")
        hint = f"write field: {field}" if field.startswith("engine.") else "choose another name"
        problem = Problem("is a variable of the chart itself", field=f"settings.{name}", hint=hint)
        raise SpecError([problem])


def _mounts(
    launch: Launch, spec: AppSpec[Any], given: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return, by path in the container, key and text of every file that is mounted alone."""
    wanted = {**launch.mounts, **spec.config_files}
    for path in wanted:
        if path in launch.mounts and path in spec.config_files:
            problem = Problem(f"the engine puts a file at {path}", field=f"config_files.{path}")
            raise SpecError([problem])
    keys = {path: _key(path) for path in sorted(wanted)}
    texts = carried_files({keys[path]: source for path, source in wanted.items()}, given)
    return {path: {"key": key, "text": texts[key]} for path, key in keys.items()}


def _key(path: str) -> str:
    """Return a ConfigMap key for an absolute path; no two paths have the same one."""
    return path.removeprefix("/").replace("_", "_u").replace("/", "_s")


def _scratch(launch: Launch) -> list[str]:
    for folder in launch.scratch:
        # An empty volume over the binary's folder would hide the server.
        hidden = any(PurePosixPath(item).is_relative_to(folder) for item in launch.command[:1])
        if not folder.startswith("/") or folder.rstrip("/") in _MOUNTED or hidden:
            raise RenderError(
                f"{folder!r} cannot be an empty volume of the container",
                hint="name an absolute folder that holds nothing else, for example /cache",
            )
    return list(launch.scratch)


def _check_places(spec: AppSpec[Any], launch: Launch, taken: Sequence[str]) -> None:
    """Raise SpecError for a place of the spec where the server has something else.

    The API takes no pod that mounts two volumes at one path, and what is mounted over the server
    or its folder hides it.
    """
    binary = next(iter(launch.command[:1]), "") or known_server(spec.engine.image) or ""
    if binary in spec.config_files:
        problem = Problem("is the server itself", field=f"config_files.{binary}")
        raise SpecError([problem], hint="choose another path")
    for index, volume in enumerate(spec.volumes):
        for number, folder in enumerate(volume.mounts):
            field = f"volumes.{index}.mounts.{number}"
            if binary.startswith("/") and PurePosixPath(binary).is_relative_to(folder):
                problem = Problem(f"{folder} would hide the server, {binary}", field=field)
                raise SpecError([problem], hint="choose another folder, for example /data")
            if folder in taken:
                raise SpecError(
                    [Problem(f"the server has something else at {folder}", field=field)],
                    hint="choose another folder",
                )


def _permissions(spec: AppSpec[Any], launch: Launch) -> dict[str, Any] | None:
    """Return the init container that opens the folders which a server without root writes to.

    Devices create folders for root or uid 1000. chmod and never chown: the folder may be one that
    other apps or the user have files in.
    """
    if spec.run_as_user is None:
        return None
    folders = [MODEL_FOLDER] if launch.fetch else []
    folders += [item.mounts[0] for item in spec.volumes]
    if not folders:
        return None
    return {"image": PERMISSIONS_IMAGE, "command": ["/bin/chmod", "a+rwx", *folders]}


def _checksum(*parts: object) -> str:
    """Return a digest of everything that the pod reads from ConfigMaps.

    It stands on the pod, so that an upgrade which changes only such data restarts it.
    """
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
