"""OlaresManifest.yaml and Chart.yaml as data, for each generation.

Source: the Olares contract, sections 5 and 11.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.generations import Generation
from olares_apps.render.chart import Publisher
from olares_apps.render.pod import service_name
from olares_apps.render.resources import add
from olares_apps.render.scalars import Data
from olares_apps.render.text import PageText
from olares_apps.render.traits import Traits, runs_on_gpu
from olares_apps.spec.models import AppSpec
from olares_apps.spec.structure import CONSOLE, CONSOLE_TITLE, Entrance, FurtherEntrance

__all__ = [
    "NOT_INSTALLABLE",
    "Needs",
    "chart_yaml",
    "entrance_title",
    "icon",
    "locale_file",
    "manifest",
]

NOT_INSTALLABLE: Final = "olapps/not-installable"
"""Annotation of Chart.yaml that says why no device can install the app."""

_HUB: Final = "https://huggingface.co"
_TITLE_CHARACTERS: Final = 30
# Modes of cards with memory of their own, which alone state GPU memory, and of machines whose GPU
# draws on the host's.
_OWN_MEMORY: Final = ("nvidia", "amd-gpu")
_ONE_MEMORY: Final = ("nvidia-gb10", "apple-m")


@dataclass(frozen=True, slots=True)
class Needs:
    """Pairs of required and limited amounts, as strings; ``gpu`` is None without a GPU."""

    cpu: tuple[str, str]
    memory: tuple[str, str]
    disk: tuple[str, str]
    gpu: tuple[str, str] | None


def entrance_title(spec: AppSpec[Any]) -> str:
    """Return the title under the icon: only letters, digits, spaces and hyphens are allowed."""
    if spec.entrance.title:
        return spec.entrance.title
    kept = re.sub(r"[^A-Za-z0-9 -]+", "", spec.title)
    return " ".join(kept.split())[:_TITLE_CHARACTERS].strip() or spec.app


def icon(spec: AppSpec[Any], publisher: Publisher) -> str:
    """Return the icon's address: the spec's own, else the market's icon of the app."""
    return spec.icon or f"{publisher.icons}/{spec.app}.png"


def website(spec: AppSpec[Any], publisher: Publisher) -> str:
    """Return the home page: the spec's own, else the model's repository, else the market."""
    if spec.website:
        return spec.website
    target = spec.target or next(spec.repos("target"), None)
    return f"{_HUB}/{target.repo}" if target else publisher.website


def chart_yaml(
    spec: AppSpec[Any], *, version: str, publisher: Publisher, text: PageText
) -> dict[str, Data]:
    """Return Chart.yaml as data."""
    data: dict[str, Data] = {
        "apiVersion": "v2",
        "name": spec.app,
        "version": version,
        "appVersion": version,
        "type": "application",
        "description": text.description,
        "home": website(spec, publisher),
        "icon": icon(spec, publisher),
    }
    if spec.not_installable:
        data["annotations"] = {NOT_INSTALLABLE: spec.not_installable}
    return data


def manifest(
    spec: AppSpec[Any],
    generation: Generation,
    traits: Traits,
    *,
    version: str,
    publisher: Publisher,
    text: PageText,
    locales: Sequence[str],
    needs: Needs,
    console: int | None,
    permission: Mapping[str, Data],
    envs: Sequence[Data],
) -> dict[str, Data]:
    """Return OlaresManifest.yaml as data.

    ``console`` is the port of Model Console when the chart has it.
    """
    head: dict[str, Data] = {
        "olaresManifest.version": generation.manifest_version,
        "olaresManifest.type": "app",
        "apiVersion": generation.api_version,
        "metadata": {
            "name": spec.app,
            "appid": spec.app,
            "title": spec.title,
            "description": text.description,
            "icon": icon(spec, publisher),
            "version": version,
            "categories": spec.categories,
        },
        "entrances": _entrances(spec) + ([_console_entrance(spec, console)] if console else []),
    }
    if traits.replicas:
        head["workloadReplicas"] = {spec.app: 1} | ({CONSOLE: 1} if console else {})
    about: dict[str, Data] = {
        "versionName": version,
        "fullDescription": text.full,
        "upgradeDescription": text.upgrade,
        "developer": spec.developer,
        "submitter": publisher.name,
        "website": website(spec, publisher),
    }
    if spec.screenshots:
        about["promoteImage"] = spec.screenshots
    if spec.source_code:
        about["sourceCode"] = spec.source_code
    about |= {
        "locale": locales,
        "license": [
            {"text": item.text, "url": item.url}
            for item in (spec.licenses.model, spec.licenses.engine)
        ],
        "supportArch": spec.support.arch,
    }
    head["spec"] = about | _resources(needs, traits, spec.support.accelerators)
    if permission:
        head["permission"] = permission
    head["options"] = {
        # 0 is no time limit: answers are streamed for as long as the model writes.
        "apiTimeout": 0,
        "dependencies": [{"name": "olares", "type": "system", "version": generation.constraint}],
    }
    if envs:
        head["envs"] = envs
    return head


def _entrances(spec: AppSpec[Any]) -> list[Data]:
    """Return the entrances, the main one first: addresses depend on the order."""
    ports = {None: spec.engine.port} | {item.name: item.port for item in spec.services}
    named: list[tuple[str, str, Entrance | FurtherEntrance]] = [
        (spec.app, entrance_title(spec), spec.entrance)
    ]
    named += [(item.name, item.title, item) for item in spec.entrances]
    return [
        {
            "name": name,
            "host": service_name(spec, entrance.service),
            "port": ports[entrance.service],
            "title": title,
            "authLevel": entrance.auth_level,
            "openMethod": entrance.open_method,
            **({"invisible": True} if getattr(entrance, "invisible", False) else {}),
        }
        for name, title, entrance in named
    ]


def _console_entrance(spec: AppSpec[Any], port: int) -> Data:
    """Return the entrance of Model Console: private, because its page can start a new download."""
    return {
        "name": CONSOLE,
        "host": service_name(spec, CONSOLE),
        "port": port,
        "title": CONSOLE_TITLE,
        "authLevel": "private",
        "openMethod": "window",
    }


def _resources(needs: Needs, traits: Traits, modes: Sequence[str]) -> dict[str, Data]:
    """Return the resources; ``modes`` are what a server with a GPU may run on.

    Where GPU and host draw on one memory, the GPU's need is part of that. Sources: the Olares
    contract, sections 5.3 and 5.5.
    """
    if needs.gpu is None or not traits.accelerator:
        flat = _pairs(needs, needs.memory)
        if needs.gpu is None or not runs_on_gpu(modes, traits):
            return flat
        return flat | {"requiredGpu": needs.gpu[0], "limitedGpu": needs.gpu[1]}
    required, limited = needs.gpu
    together = (add(needs.memory[0], required), add(needs.memory[1], required))
    gpu = {"requiredGPUMemory": required, "limitedGPUMemory": limited}
    return {
        "accelerator": [
            {"mode": mode}
            | _pairs(needs, together if mode in _ONE_MEMORY else needs.memory)
            | (gpu if mode in _OWN_MEMORY else {})
            for mode in modes
        ]
    }


def _pairs(needs: Needs, memory: tuple[str, str]) -> dict[str, Data]:
    pairs = {"Cpu": needs.cpu, "Memory": memory, "Disk": needs.disk}
    flat: dict[str, Data] = {}
    for name, (required, limited) in pairs.items():
        flat |= {f"required{name}": required, f"limited{name}": limited}
    return flat


def locale_file(title: str, text: PageText) -> dict[str, Data]:
    """Return ``i18n/<locale>/OlaresManifest.yaml`` as data."""
    return {
        "metadata": {"title": title, "description": text.description},
        "spec": {"fullDescription": text.full, "upgradeDescription": text.upgrade},
    }
