"""Extract CMake options and programs of a llama.cpp source tree, for `olares_apps/images/data/`.

    python scripts/extract_cmake_options.py b9254=/path/to/llama.cpp fork@9026=... > llamacpp.json

Each build is a folder with the CMake files of that build; the rest of the tree may be missing.
Builds are written oldest first, each as a difference from the one before. A build that is not
called by its number (``git rev-list --count``) may state it behind an at sign.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_OPTION: Final = re.compile(
    r"^\s*(?:option|cmake_dependent_option)\s*\(\s*([A-Z][A-Z0-9_]+)"
    r"|^\s*set\s*\(\s*([A-Z][A-Z0-9_]+)\b[^)]*?\bCACHE\b"
    r"|^\s*if\s*\(NOT DEFINED (LLAMA_BUILD_(?:NUMBER|COMMIT))\)",
    re.MULTILINE,
)
_RETIRED: Final = re.compile(r"^llama_option_depr\((\w+)\s+(\w+)(?:\s+(\w+))?\s*\)", re.MULTILINE)
# Options that take any text: a cache entry of another type than BOOL, and what is only asked for.
_TEXT: Final = re.compile(
    r"^\s*set\s*\(\s*([A-Z][A-Z0-9_]+)\b[^)]*?\bCACHE\s+(?!BOOL\b)"
    r"|^\s*if\s*\(NOT DEFINED (LLAMA_BUILD_(?:NUMBER|COMMIT))\)",
    re.MULTILINE,
)
_PROGRAM: Final = re.compile(
    r"^\s*set\s*\(\s*TARGET\s+([\w-]+)\s*\)|^\s*add_executable\s*\(\s*([\w${}-]+)", re.MULTILINE
)
_OURS: Final = re.compile(r"(?:GGML|LLAMA)_\w+|BUILD_SHARED_LIBS")


def options(tree: Path) -> tuple[set[str], dict[str, str | None], list[str]]:
    """Return the options of a tree, the retired ones with what replaced them, and the refused."""
    text = _read(tree)
    names = {name for found in _OPTION.findall(text) for name in found if name}
    found = _RETIRED.findall(text)
    retired = {old: new or None for _, old, new in found}
    refused = [old for level, old, _ in found if level == "FATAL_ERROR"]
    return {name for name in names if _OURS.fullmatch(name)} - retired.keys(), retired, refused


def text_options(tree: Path) -> set[str]:
    """Return the options that are no switches."""
    return {name for found in _TEXT.findall(_read(tree)) for name in found if name}


def programs(tree: Path) -> set[str]:
    """Return the targets that make a program, those of the tests left out."""
    found = set()
    for file in _files(tree):
        if file.relative_to(tree).parts[0] == "tests":
            continue
        target = ""
        for named, made in _PROGRAM.findall(file.read_text(encoding="utf-8", errors="replace")):
            target = named or target
            name = made.replace("${TARGET}", target)
            found |= {name} if name.startswith("llama-") else set()
    return found


def _files(tree: Path) -> list[Path]:
    return sorted({*tree.rglob("CMakeLists.txt"), *tree.rglob("*.cmake")})


def _read(tree: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in _files(tree))


def document(builds: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    """Return the data file for builds given oldest first."""
    rows, before, made_before = [], set[str](), set[str]()
    for named, tree in builds:
        build, _, number = named.partition("@")
        names, retired, refused = options(tree)
        made = programs(tree)
        if not names:
            raise SystemExit(f"{tree} holds no CMake option")
        rows.append(
            {
                "build": build,
                **({"number": int(number)} if number else {}),
                "add": sorted(names - before),
                "remove": sorted(before - names),
                "texts": sorted(text_options(tree) & names),
                "retired": retired,
                "refused": refused,
                "add_programs": sorted(made - made_before),
                "remove_programs": sorted(made_before - made),
            }
        )
        before, made_before = names, made
    return {"schema": 1, "source": "CMakeLists.txt and *.cmake of each build", "builds": rows}


def main() -> None:
    """Read ``BUILD=FOLDER`` arguments and print the data file."""
    pairs = [argument.partition("=")[::2] for argument in sys.argv[1:]]
    if not pairs or not all(Path(folder).is_dir() for _, folder in pairs):
        raise SystemExit(__doc__)
    print(json.dumps(document([(build, Path(folder)) for build, folder in pairs]), indent=1))


if __name__ == "__main__":
    main()
