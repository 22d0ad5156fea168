"""Charts for tests: rendered from sample specs, written to folders, installed values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from support.sample_specs import PUBLISHER, make_spec

from olares_apps.generations import GENERATIONS, Generation
from olares_apps.render import render_chart
from olares_apps.render.chart import ChartTree
from olares_apps.render.templates import Templates, load_templates
from olares_apps.render.versions import archive_version
from olares_apps.spec.models import AppSpec

__all__ = ["FULL", "NEW", "OLD", "device_values", "make_tree", "write_tree"]

OLD, NEW = GENERATIONS
ASSETS: Final = {"chat/template.jinja": "{{ messages[0]['content'] }}\n{% for m in x %}{# c #}\n"}
# Uses everything that a chart can hold.
FULL: Final[Mapping[str, Any]] = {
    "app": "demofullone",
    "title": "Demo Full One",
    "model.files": [
        {"repo": "o/target", "file": "M-00001-of-00002.gguf", "size_gb": 12.5},
        {"repo": "o/target", "file": "mmproj.gguf", "role": "mmproj", "size": 900000000},
        {
            "repo": "o/drafter",
            "file": "d.gguf",
            "role": "drafter",
            "sha256": "ab" * 32,
            "revision": "0123456789abcdef0123456789abcdef01234567",
            "size": 1750000000,
        },
    ],
    "engine.speculative": {"method": "draft", "n_max": 8},
    "engine.env": {"CUDA_DEVICE_MEMORY_LIMIT_0": "30000m", "COST": "$(PRICE) $$5", "EMPTY": ""},
    "engine.chat_template_file": "chat/template.jinja",
    "engine.slot_save_path": "/cache",
    "engine.extra_args": ["--metrics", "--note", "a 'b' \"c\" \\ \n$(HOME) é"],
    "resources.gpu_memory_parts": [],
    "releases": [
        {"version": "1.0.2", "notes": "Now with {{ ctx_k }}.\n\n| a | b |\n|---|---|\n---\n# h"},
        {"version": "1.0.1", "notes": "First."},
    ],
}


def make_tree(
    generation: Generation,
    changes: Mapping[str, Any] | None = None,
    *,
    spec: AppSpec[Any] | None = None,
    templates: Templates | None = None,
) -> ChartTree:
    """Render a sample spec for one generation, its version derived as a publish would."""
    spec = spec or make_spec(changes)
    return render_chart(
        spec,
        generation,
        version=archive_version(spec.version, GENERATIONS.index(generation)),
        publisher=PUBLISHER,
        templates=templates or load_templates(),
        assets=ASSETS,
    )


def write_tree(tree: ChartTree, folder: Path) -> Path:
    """Write a chart below ``folder`` under its app's name and return that folder."""
    root = folder / tree.app
    for path, data in tree.files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


def device_values(app: str, *, replicas: int = 1) -> dict[str, Any]:
    """Return what a device sets at install, for a user who has set a token and a mirror."""
    return {
        "admin": "alice",
        "isAdmin": True,
        "bfl": {"username": "alice"},
        "user": {"zone": "alice.example.org"},
        "domain": {app: "1a2b3c4d.alice.example.org"},
        "userspace": {"appData": f"/olares/rootfs/userspace/alice/Data/{app}"},
        "olaresEnv": {"HF_TOKEN": "hf_abcdef", "HF_ENDPOINT": "https://mirror.example.org"},
        "GPU": {"Type": "nvidia", "Cuda": "13"},
        "workloads": {app: {"replicaCount": replicas}},
        "cluster": {"arch": "amd64"},
        "os": {"appKey": "k", "appSecret": "s"},
    }
