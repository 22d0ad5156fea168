"""Apps of other engines as data, as changes of the flagship."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["SPEECH", "TREE"]

SPEECH: Final[Mapping[str, Any]] = {
    "model.repos": [{"repo": "o/speech", "size_gb": 3.0}],
    "engine": {
        "type": "container",
        "image": "docker.io/o/speech:1.2.3",
        "command": ["python3", "-m", "speech"],
        "args": ["--models", "{{ models }}/speech"],
        "shm": "1Gi",
        "scratch": ["/tmp/cache"],
        "probe": {"path": "/", "seconds": 1860},
    },
}
TREE: Final[Mapping[str, Any]] = {
    "model.files": [
        {"repo": "unsloth/Qwen3.6-27B-GGUF", "file": "Qwen3.6-27B-Q4_K_M.gguf", "size_gb": 16.0},
        {"repo": "z-lab/Qwen3.6-27B-DFlash", "file": "model.safetensors", "role": "drafter"},
        {"repo": "z-lab/Qwen3.6-27B-DFlash", "file": "config.json", "role": "extra"},
    ],
    "engine": {"type": "lucebox", "image": "docker.io/o/lucebox:v1.6.0"},
}
