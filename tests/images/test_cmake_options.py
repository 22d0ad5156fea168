"""The script that reads CMake options: every way in which llama.cpp's files write one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "scripts/extract_cmake_options.py"
TOP = """\
option(GGML_ONE "one" OFF)
option (GGML_TWO "two" ON)
cmake_dependent_option(GGML_THREE "three" ON "GGML_ONE" OFF)
set   (GGML_FOUR "size" CACHE STRING
                 "four")
set(LLAMA_FIVE "1" CACHE BOOL "five")
set(GGML_INNER "no option")
option(OTHER_PROJECT "not ours" OFF)
if (NOT DEFINED LLAMA_BUILD_NUMBER)
    set(LLAMA_BUILD_NUMBER 0)
endif()
llama_option_depr(FATAL_ERROR LLAMA_OLD   GGML_ONE)
llama_option_depr(WARNING     LLAMA_GONE)
"""
SERVER = """\
set(TARGET llama-server)
add_executable(${TARGET} server.cpp)
add_executable(llama-extra extra.cpp)
add_library(llama-lib STATIC lib.cpp)
"""
TEST = "set(TARGET llama-test-it)\nadd_executable(${TARGET} it.cpp)\n"


def extract(*builds: str) -> Any:
    done = subprocess.run([sys.executable, SCRIPT, *builds], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def tree(root: Path, name: str, extra: str = "") -> Path:
    files = {
        "CMakeLists.txt": TOP + extra,
        "tools/server/CMakeLists.txt": SERVER,
        "tests/CMakeLists.txt": TEST,
    }
    for path, text in files.items():
        (root / name / path).parent.mkdir(parents=True, exist_ok=True)
        (root / name / path).write_text(text)
    return root / name


def test_options_switches_programs_and_retired_names_are_told_apart(tmp_path: Path) -> None:
    (row,) = extract(f"fork@9026={tree(tmp_path, 'one')}")["builds"]
    assert row == {
        "build": "fork",
        "number": 9026,
        "add": [
            "GGML_FOUR",
            "GGML_ONE",
            "GGML_THREE",
            "GGML_TWO",
            "LLAMA_BUILD_NUMBER",
            "LLAMA_FIVE",
        ],
        "remove": [],
        "texts": ["GGML_FOUR", "LLAMA_BUILD_NUMBER"],
        "retired": {"LLAMA_OLD": "GGML_ONE", "LLAMA_GONE": None},
        "refused": ["LLAMA_OLD"],
        "add_programs": ["llama-extra", "llama-server"],
        "remove_programs": [],
    }


def test_a_build_is_written_as_a_difference_from_the_one_before(tmp_path: Path) -> None:
    one, two = tree(tmp_path, "one"), tree(tmp_path, "two", "option(GGML_NEW x OFF)\n")
    rows = extract(f"b9101={one}", f"b9254={two}")["builds"]
    assert (rows[1]["add"], rows[1]["remove"], rows[1]["add_programs"]) == (["GGML_NEW"], [], [])
    assert "number" not in rows[1]


def test_a_folder_without_options_is_refused(tmp_path: Path) -> None:
    assert "holds no CMake option" in extract(f"b1={tmp_path}")
