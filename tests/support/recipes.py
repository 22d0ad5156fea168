"""A small image recipe for tests."""

from pathlib import PurePath
from typing import Final

from olares_apps.images.load import LoadedRecipe, load_recipe

__all__ = ["RECIPE", "WHOLE", "recipe"]

WHOLE: Final = "0a2345f789abcdef0123456789abcdef01234567"
RECIPE: Final = f"""\
image: registry.example/demo/llama:b9260-0a2345f
engine: llamacpp
build: b9260
source:
  repo: https://example.org/llama.cpp
  commit: {WHOLE}
  license: MIT
cuda: "13.1.0"
base_digests:
  devel: sha256:{"a" * 64}
  runtime: sha256:{"b" * 64}
architectures: ["8.6", "12.0"]
cmake:
  GGML_CUDA: "ON"
targets: [llama-server, llama-bench]
"""


def recipe(*changes: tuple[str, str]) -> LoadedRecipe:
    """Return the sample recipe with single pieces replaced; every piece must occur."""
    text = RECIPE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return load_recipe(text.encode(), PurePath("images/demo.yaml"))
