"""Spec texts and folders for tests."""

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

from olares_apps.engines.registry import spec_model
from olares_apps.errors import Problem, SpecError
from olares_apps.spec.loader import LoadedSpec, load_spec

__all__ = [
    "CONFIG",
    "MINIMAL",
    "PATH",
    "build_file_tree",
    "faults_of",
    "load",
    "spec_text",
]

PATH: Final = PurePath("apps/demo.yaml")

MINIMAL: Final = """\
app: demoqwenone
version: "1.0.0"
title: Demo Qwen One
alias: demo-qwen
text:
  summary: A demo on your own device.
developer: somebody
licenses:
  model: {text: Apache-2.0, url: "https://example.org/model"}
  engine: {text: MIT, url: "https://example.org/engine"}
model:
  name: Demo Qwen
  kind: 35B MoE
  native_ctx: 262144
  files:
    - repo: example-org/Demo-35B-GGUF
      file: Demo-35B-UD-Q3_K_XL.gguf
      quant: UD-Q3_K_XL
      size_gb: 17.2
engine:
  type: llamacpp
  image: registry.example.org/llama-server:b9600
  ctx: 32768
  parallel: 1
"""
"""The smallest useful spec; tests change single lines of it."""

CONFIG: Final = """\
schema = 1

[publisher]
name = "somebody"
website = "https://market.example.org"
icons = "https://market.example.org/icons"
"""
"""The smallest olapps.toml."""


def spec_text(*changes: tuple[str, str], base: str = MINIMAL) -> str:
    """Return a spec's text with pieces replaced; every piece must occur exactly once."""
    for old, new in changes:
        assert base.count(old) == 1, f"{old!r} occurs {base.count(old)} times"
        base = base.replace(old, new)
    return base


def load(text: str | bytes, path: PurePath = PATH) -> LoadedSpec:
    """Load a spec with the registered engines."""
    return load_spec(text, path=path, model=spec_model())


def faults_of(text: str | bytes, path: PurePath = PATH) -> tuple[Problem, ...]:
    """Return the problems that loading a text ends with; fails when it loads."""
    try:
        load(text, path)
    except SpecError as error:
        return error.problems
    raise AssertionError("the spec was accepted")


def build_file_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below ``root``, folders included, and return ``root``.

    A name that ends in a slash makes an empty folder.
    """
    for name, content in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root
