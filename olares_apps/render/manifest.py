"""OlaresManifest.yaml and Chart.yaml as data, for each generation.

Source: the Olares contract, sections 5 and 11.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.generations import Generation
from olares_apps.render.chart import Publisher
from olares_apps.render.scalars import Data
from olares_apps.render.text import PageText
from olares_apps.render.traits import Traits
from olares_apps.spec.models import AppSpec

__all__ = ["Needs", "chart_yaml", "entrance_title", "icon", "locale_file", "manifest"]

_HUB: Final = "https://huggingface.co"
_TITLE_CHARACTERS: Final = 30


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
    return f"{_HUB}/{spec.target.repo}" if spec.target else publisher.website


def chart_yaml(
    spec: AppSpec[Any], *, version: str, publisher: Publisher, text: PageText
) -> dict[str, Data]:
    """Return Chart.yaml as data."""
    return {
        "apiVersion": "v2",
        "name": spec.app,
        "version": version,
        "appVersion": version,
        "type": "application",
        "description": text.description,
        "home": website(spec, publisher),
        "icon": icon(spec, publisher),
    }


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
    permission: Mapping[str, Data],
    envs: Sequence[Data],
) -> dict[str, Data]:
    """Return OlaresManifest.yaml as data."""
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
        "entrances": [
            {
                "name": spec.app,
                "host": spec.app,
                "port": spec.engine.port,
                "title": entrance_title(spec),
                "authLevel": spec.entrance.auth_level,
                "openMethod": spec.entrance.open_method,
            }
        ],
    }
    if traits.replicas:
        head["workloadReplicas"] = {spec.app: 1}
    about: dict[str, Data] = {
        "versionName": version,
        "fullDescription": text.full,
        "upgradeDescription": text.upgrade,
        "developer": spec.developer,
        "submitter": publisher.name,
        "website": website(spec, publisher),
    }
    if spec.source_code:
        about["sourceCode"] = spec.source_code
    about |= {
        "locale": locales,
        "license": [
            {"text": item.text, "url": item.url}
            for item in (spec.licenses.model, spec.licenses.engine)
        ],
        "supportArch": ["amd64"],
    }
    head["spec"] = about | _resources(needs, traits)
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


def _resources(needs: Needs, traits: Traits) -> dict[str, Data]:
    pairs = {"Cpu": needs.cpu, "Memory": needs.memory, "Disk": needs.disk}
    flat: dict[str, Data] = {}
    for name, (required, limited) in pairs.items():
        flat |= {f"required{name}": required, f"limited{name}": limited}
    if needs.gpu is None:
        return flat
    if not traits.accelerator:
        return flat | {"requiredGpu": needs.gpu[0], "limitedGpu": needs.gpu[1]}
    gpu = {"requiredGPUMemory": needs.gpu[0], "limitedGPUMemory": needs.gpu[1]}
    return {"accelerator": [{"mode": "nvidia", **flat, **gpu}]}


def locale_file(title: str, text: PageText) -> dict[str, Data]:
    """Return ``i18n/<locale>/OlaresManifest.yaml`` as data."""
    return {
        "metadata": {"title": title, "description": text.description},
        "spec": {"fullDescription": text.full, "upgradeDescription": text.upgrade},
    }
