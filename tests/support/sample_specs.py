"""Specs to render: the flagship as data, and variations of it."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from olares_apps.engines.registry import spec_model
from olares_apps.render.chart import Publisher
from olares_apps.spec.models import AppSpec

__all__ = ["FLAGSHIP", "PUBLISHER", "make_spec"]

PUBLISHER: Final = Publisher("olapps", "https://market.example.org", "https://market.example.org/i")
FLAGSHIP: Final[Mapping[str, Any]] = {
    "app": "llamacppqwen36a3bone",
    "version": "1.0.2",
    "title": "Qwen36 35B-A3B MTP One",
    "alias": "qwen3.6-35b-a3b-mtp",
    "text": {"summary": "Qwen3.6 35B-A3B with {{ ctx_k }} context on your own device."},
    "developer": "olapps",
    "licenses": {
        "model": {"text": "Apache-2.0", "url": "https://example.org/model"},
        "engine": {"text": "MIT", "url": "https://example.org/engine"},
    },
    "model": {
        "name": "Qwen3.6 35B-A3B",
        "kind": "35B MoE-A3B + MTP",
        "native_ctx": 262144,
        "files": [
            {
                "repo": "unsloth/Qwen3.6-35B-A3B-MTP-GGUF",
                "file": "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf",
                "quant": "UD-Q3_K_XL",
                "size_gb": 17.2,
            }
        ],
    },
    "engine": {
        "type": "llamacpp",
        "image": "docker.io/aamsellem/llama-cpp-mtp:master-ad27757",
        "ctx": 262144,
        "parallel": 1,
        "kv": {"k": "q4_0", "v": "q4_0"},
        "batch": 512,
        "ubatch": 512,
        "speculative": {"method": "mtp", "n_max": 3},
        "chat_template_args": {"enable_thinking": False},
    },
    "resources": {
        "gpu_memory_parts": [
            {"part": "weights", "gb": 17.2},
            {"part": "kv cache", "gb": 3.2},
            {"part": "draft", "gb": 1.0},
            {"part": "compute", "gb": 0.5},
        ]
    },
}


def make_spec(changes: Mapping[str, Any] | None = None) -> AppSpec[Any]:
    """Return the flagship with changes by dotted path: ``{"engine.ctx": 32768}``.

    A value of None removes the key.
    """
    data = deepcopy(dict(FLAGSHIP))
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        node: Any = data
        for key in parents:
            node = node[int(key)] if key.isdigit() else node.setdefault(key, {})
        if value is None:
            node.pop(last, None)
        else:
            node[int(last) if last.isdigit() else last] = value
    return spec_model().model_validate(data)
