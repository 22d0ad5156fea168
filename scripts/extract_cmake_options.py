"""Extract the CMake options of a llama.cpp source tree, for `olares_apps/images/data/`.

    python scripts/extract_cmake_options.py b9254=/path/to/llama.cpp b9265=... > llamacpp.json

Each build is a folder with the CMake files of that build; the rest of the tree may be missing.
Builds are written oldest first, each as a difference from the one before.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_OPTION: Final = re.compile(
    r"^\s*(?:option|cmake_dependent_option)\(\s*([A-Z][A-Z0-9_]+)"
    r"|^\s*set\(\s*([A-Z][A-Z0-9_]+)\b[^)]*?\bCACHE\b"
    r"|^\s*if\s*\(NOT DEFINED (LLAMA_BUILD_(?:NUMBER|COMMIT))\)",
    re.MULTILINE,
)
_RETIRED: Final = re.compile(r"^llama_option_depr\(\w+\s+(\w+)(?:\s+(\w+))?\s*\)", re.MULTILINE)
_OURS: Final = re.compile(r"(?:GGML|LLAMA)_\w+|BUILD_SHARED_LIBS")


def options(tree: Path) -> tuple[set[str], dict[str, str | None]]:
    """Return the options of a source tree, and the retired ones with what replaced them."""
    files = sorted({*tree.rglob("CMakeLists.txt"), *tree.rglob("*.cmake")})
    text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
    names = {name for found in _OPTION.findall(text) for name in found if name}
    retired = {old: new or None for old, new in _RETIRED.findall(text)}
    return {name for name in names if _OURS.fullmatch(name)} - retired.keys(), retired


def document(builds: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    """Return the data file for builds given oldest first."""
    rows, before = [], set[str]()
    for build, tree in builds:
        names, retired = options(tree)
        if not names:
            raise SystemExit(f"{tree} holds no CMake option")
        rows.append(
            {
                "build": build,
                "add": sorted(names - before),
                "remove": sorted(before - names),
                "retired": retired,
            }
        )
        before = names
    return {"schema": 1, "source": "CMakeLists.txt and *.cmake of each build", "builds": rows}


def main() -> None:
    """Read ``BUILD=FOLDER`` arguments and print the data file."""
    pairs = [argument.partition("=")[::2] for argument in sys.argv[1:]]
    if not pairs or not all(Path(folder).is_dir() for _, folder in pairs):
        raise SystemExit(__doc__)
    print(json.dumps(document([(build, Path(folder)) for build, folder in pairs]), indent=1))


if __name__ == "__main__":
    main()
