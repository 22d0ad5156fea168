"""Model Console as the one who downloads: facts of its image, and what its templates need.

Model Console (image ``beclab/llm-init``) runs here without an engine: it fetches files and shows a
page about it. Sources: ``beclab/model-console@075f459`` for variables, paths, port and behaviour
(``internal/config``, ``internal/lifecycle/ensure.go``, ``internal/fetch/range.go``,
``cmd/llm-init/main.go``, ``Dockerfile``); the files about sources and downloads are the same in
every later commit that is public, up to 072ed86. That list of variables holds since release 1.3.7.
The charts ``layatypeddecisionsv3`` and ``levv1`` run release 1.7.23.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from olares_apps.engines.base import MODEL_FOLDER, StoredFile
from olares_apps.render.manifest import Needs
from olares_apps.render.pod import PERMISSIONS_IMAGE, literal, service_name
from olares_apps.render.resources import add, add_cpu
from olares_apps.render.templates import Templates
from olares_apps.render.traits import Traits
from olares_apps.spec.models import AppSpec
from olares_apps.spec.structure import CONSOLE

__all__ = ["IMAGE", "PORT", "console_context", "has_console", "with_console"]

IMAGE: Final = "docker.io/beclab/llm-init:v1.7.23"
"""Its image; it runs as uid 1000."""
PORT: Final = 8090
"""Port of its page and API, which ``PORT`` sets; official charts use this one."""

_HUB: Final = "https://huggingface.co"
# Requests and limits. Its download streams to the disk; only hf:// sources start Python.
_CPU: Final = ("100m", "1")
_MEMORY: Final = ("128Mi", "512Mi")
# Fixed variables. Without ENGINE_KIND there is no engine, but mode and name are wanted all the
# same. VERIFY_LEVEL size: a restart compares lengths, the digest was compared after the download.
_VARIABLES: Final[Mapping[str, str]] = {
    "ENGINE_KIND": "",
    "MODEL_MODE": "chat",
    "VERIFY_LEVEL": "size",
    "LOG_FORMAT": "json",
    "PORT": str(PORT),
}


def has_console(spec: AppSpec[Any], traits: Traits) -> bool:
    """Say whether the chart of a generation has Model Console."""
    return spec.model.console and traits.console


def with_console(needs: Needs) -> Needs:
    """Return what the app needs when Model Console runs beside the server."""
    return replace(
        needs,
        cpu=(add_cpu(needs.cpu[0], _CPU[0]), add_cpu(needs.cpu[1], _CPU[1])),
        memory=(add(needs.memory[0], _MEMORY[0]), add(needs.memory[1], _MEMORY[1])),
    )


def console_context(
    spec: AppSpec[Any], files: Sequence[StoredFile], templates: Templates
) -> dict[str, Any]:
    """Return what the templates need to let Model Console download ``files``.

    It stores them in a folder of its own, from where the script ``console.sh`` links them to
    their places. ``source`` refers to the variable ``HUB``, the address of the hub.
    """
    folder = f"{MODEL_FOLDER}/.console/{spec.app}"
    stored = [item.path.removeprefix(f"{MODEL_FOLDER}/") for item in files]
    own = {
        "MODEL_NAME": spec.alias,
        # Below the model folder, so that the step that waits sees when it has started.
        "RUN_DIR": f"{folder}/.run",
        "MODEL_SOURCE": ",".join(_source(item) for item in files),
        # One per source. A comma inside a path would shift them: the spec refuses it.
        "MODEL_SOURCE_LOCAL": literal(",".join(f"{folder}/{path}" for path in stored)),
    }
    return {
        "name": CONSOLE,
        "service": service_name(spec, CONSOLE),
        "image": IMAGE,
        "port": PORT,
        "hub": _HUB,
        "env": dict(sorted({**_VARIABLES, **own}.items())),
        "folder": folder,
        "script": templates.text("scripts/console.sh"),
        "permissions_image": PERMISSIONS_IMAGE,
        "resources": {
            "cpu": _CPU[0],
            "cpu_limit": _CPU[1],
            "memory": _MEMORY[0],
            "memory_limit": _MEMORY[1],
        },
    }


def _source(file: StoredFile) -> str:
    """Return one source: an address below the hub, with the digest where it is known."""
    path = "/".join(quote(part, safe="") for part in file.remote.split("/"))
    digest = f"#sha256={file.sha256}" if file.sha256 else ""
    return f"$(HUB)/{file.repo}/resolve/{quote(file.revision, safe='')}/{path}{digest}"
