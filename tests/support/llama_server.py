"""The real llama-server, for tests that compare with it: ``make test-real`` compiles it."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

TIMEOUT_S = 60
REPOSITORY = Path(__file__).resolve().parents[2]

# Memory is all laid out when one of these appears. The second ends the dry run of --fit,
# which lays out every context of the target without taking memory.
LAID_OUT = r"initializing.*n_slots"
DRY_RUN_ENDS = r"fitting params to free memory took"

_BUILD = re.compile(r"version: (\d{4,6}) |\(build (\d{4,6}),")
_KV = re.compile(r"llama_kv_cache: size =\s*([\d.]+) MiB")
_STATE = re.compile(r"llama_memory_recurrent: size =\s*([\d.]+) MiB")


@dataclass(frozen=True)
class Server:
    """One program and the upstream build that it says it is."""

    path: Path
    number: int

    @property
    def build(self) -> str:
        return f"b{self.number}"


@dataclass(frozen=True)
class Start:
    """What a server printed until it was stopped, or ``status`` when it ended by itself."""

    lines: tuple[str, ...]
    status: int | None

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def kv_mib(self) -> list[float]:
        """Return the sizes of the KV caches in the order in which they were made."""
        return self._sizes(_KV)

    @property
    def state_mib(self) -> list[float]:
        """Return the sizes of the recurrent states."""
        return self._sizes(_STATE)

    def _sizes(self, pattern: re.Pattern[str]) -> list[float]:
        return [float(found[1]) for line in self.lines if (found := pattern.search(line))]


def _script() -> Any:
    """Load the installer as a module: it knows the pinned builds and where they are kept."""
    path = REPOSITORY / "scripts" / "real_llama.py"
    spec = importlib.util.spec_from_file_location("real_llama", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _ask_build(path: Path) -> Server | None:
    answer = subprocess.run(
        [str(path), "--version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    found = _BUILD.search(answer.stdout + answer.stderr)
    return Server(path, int(found[1] or found[2])) if found else None


@cache
def found_servers() -> tuple[tuple[Server, ...], tuple[str, ...]]:
    """Return the servers to test with, and the pinned builds that are not compiled yet.

    ``OLAPPS_LLAMA_SERVER`` (one path, or several with ``:`` between them) replaces the pinned
    builds; a ``llama-server`` on PATH is added to them.
    """
    named = os.environ.get("OLAPPS_LLAMA_SERVER")
    missing: list[str] = []
    if named:
        paths = [Path(part) for part in named.split(os.pathsep)]
        if absent := [str(path) for path in paths if not os.access(path, os.X_OK)]:
            raise FileNotFoundError(f"OLAPPS_LLAMA_SERVER: {', '.join(absent)} cannot be run")
    else:
        script = _script()
        pinned = {name: script.default_cache() / name / "llama-server" for name in _pinned()}
        paths = [path for path in pinned.values() if os.access(path, os.X_OK)]
        missing = [name for name, path in pinned.items() if path not in paths]
        if on_path := shutil.which("llama-server"):
            paths.append(Path(on_path))
    servers = {server.number: server for path in paths if (server := _ask_build(path))}
    return tuple(servers.values()), tuple(missing)


def _pinned() -> list[str]:
    return list(_script().pinned_builds())


def server_params() -> list[Any]:
    """Return one pytest parameter per server, and a skip that says what to run for the rest."""
    servers, missing = found_servers()
    return [pytest.param(server, id=server.build) for server in servers] + [
        pytest.param(
            None,
            id=name,
            marks=pytest.mark.skip(reason=f"llama-server {name} is not here: run make test-real"),
        )
        for name in missing
    ]


_STARTS = 3
_SAYS_WHY = re.compile(r"^[\d.]+ E |error", re.MULTILINE | re.IGNORECASE)


def start(
    server: Server, folder: Path, arguments: Sequence[str], *, until: str = LAID_OUT
) -> Start:
    """Start a server on the CPU and read its log until a line matches ``until``.

    The log is written by a thread of its own, so a server that stops at once may lose its last
    lines: one that failed and says no error is started again.
    """
    for _ in range(_STARTS - 1):
        started = _start(server, folder, arguments, until=until)
        if started.status in (None, 0) or _SAYS_WHY.search(started.text):
            return started
    return _start(server, folder, arguments, until=until)


def _start(server: Server, folder: Path, arguments: Sequence[str], *, until: str) -> Start:
    """Start a server once.

    It listens on a socket in ``folder``, which a stopped one leaves behind. One that neither
    matches nor ends is stopped after TIMEOUT_S and counts as a failure.
    """
    socket = folder / "s.sock"
    socket.unlink(missing_ok=True)
    command = [
        *(str(server.path), *arguments),
        *("--host", str(socket), "--device", "none", "--no-warmup", "-lv", "5"),
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LLAMA_ARG_")}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
    )
    timer = Timer(TIMEOUT_S, process.kill)
    timer.start()
    ends, lines, matched = re.compile(until), [], False
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if ends.search(line):
                matched = True
                process.kill()
                break
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    if not matched and process.returncode == -9:
        raise TimeoutError(f"{' '.join(command)} said nothing in {TIMEOUT_S} s:\n{lines[-5:]}")
    return Start(tuple(lines), None if matched else process.returncode)
