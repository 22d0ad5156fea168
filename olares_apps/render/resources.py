"""What an app needs: GPU memory, disk and time, as numbers of the manifest.

CPU and memory are those of the server container: the only one of the pod that counts, since
init containers end before it starts.
"""

from collections.abc import Sequence
from typing import Any, Final

from olares_apps.engines.base import EngineFetch, Launch, StoredFile
from olares_apps.spec.models import AppSpec
from olares_apps.spec.quantity import GIB, format_gib, parse_cpu, parse_quantity

__all__ = [
    "add",
    "add_cpu",
    "disk",
    "download_seconds",
    "gib_text",
    "gpu_memory",
    "server_memory",
]

# GPU memory beside the weights when nothing better is known: KV cache, recurrent state, draft
# context, compute buffers and the CUDA context. Measured for 27B to 35B hybrids with a 4-bit
# cache at 262,144 tokens: 3.3 to 3.9 GiB.
_BESIDE_WEIGHTS: Final = 4 * GIB
# Files that the server loads onto the GPU, by role. A projector needs 1.4 times its size.
_ON_GPU: Final = {"target": 1.0, "drafter": 1.0, "mmproj": 1.4}
# Disk: files plus a tenth for filesystem overhead and logs, at least this much; the limit
# leaves room for the files of the version before, which stay until they are deleted.
_DISK_MARGIN: Final = 1.1
_LEAST_DISK: Final = GIB
_LIMIT_FACTOR: Final = 2
_MIB: Final = 2**20
# A slow home connection, 20 Mbit/s in bytes per second.
_DOWNLOAD_RATE: Final = 20 * 10**6 // 8


def server_memory(spec: AppSpec[Any], launch: Launch) -> tuple[str, str]:
    """Return required and limited memory of the server in Kubernetes notation.

    What lies in a memory volume counts for the container that wrote it, so shared memory comes
    on top of the limit.
    """
    stated = spec.resources
    if not launch.shm_mib:
        return stated.memory, stated.memory_limit
    return stated.memory, add(stated.memory_limit, f"{launch.shm_mib}Mi")


def gpu_memory(
    spec: AppSpec[Any],
    files: Sequence[StoredFile],
    usable: int,
    computed: int | None = None,
    *,
    fetch: EngineFetch | None = None,
    taken: int | None = None,
) -> tuple[str, str]:
    """Return required and limited GPU memory in Kubernetes notation, whole GiB.

    ``usable`` is what the hardware profile leaves to an app, in bytes; the limit is that,
    rounded down, or the need when the need is larger, so that the chart stays valid and a
    check can name the misfit. The need is the stated one, else the ``computed`` or measured one
    (bytes; in MiB where the next whole GiB would pass the card), else what the server takes
    whatever it serves (``taken``, bytes), else the sum of stated parts (GB), else the files that
    go to the GPU, those of ``fetch`` included, plus a margin.
    """
    stated = spec.resources
    if stated.gpu_memory:
        need = parse_quantity(stated.gpu_memory)
    elif (known := taken if computed is None else computed) is not None:
        return _exact(known), _exact(max(known, usable // GIB * GIB))
    elif stated.gpu_memory_parts:
        need = round(sum(part.gb for part in stated.gpu_memory_parts) * 10**9)
    else:
        loaded = [(item.about, _ON_GPU[item.role]) for item in files if item.role in _ON_GPU]
        if fetch:
            loaded.append((fetch.size, _ON_GPU["target"]))
        is_complete = all(size is not None for size, _ in loaded)
        need = round(sum((size or 0) * factor for size, factor in loaded)) + _BESIDE_WEIGHTS
        if not is_complete:
            need = usable // GIB * GIB
    required = -(-need // GIB)
    return f"{required}Gi", f"{max(required, usable // GIB)}Gi"


def add(one: str, other: str) -> str:
    """Return the sum of two quantities in Kubernetes notation."""
    return _exact(parse_quantity(one) + parse_quantity(other))


def add_cpu(one: str, other: str) -> str:
    """Return the sum of two CPU quantities, in cores."""
    return format((parse_cpu(one) + parse_cpu(other)).normalize(), "f")


def gib_text(quantity: str) -> str:
    """Return a quantity as a number of GiB for texts, with a decimal unless it is whole."""
    size = parse_quantity(quantity)
    return f"{size // GIB}" if size % GIB == 0 else f"{size / GIB:.1f}"


def _exact(size: int) -> str:
    return f"{size // GIB}Gi" if size % GIB == 0 else f"{-(-size // _MIB)}Mi"


def disk(
    spec: AppSpec[Any],
    files: Sequence[StoredFile],
    usable: int,
    fetch: EngineFetch | None = None,
) -> tuple[str, str]:
    """Return required and limited disk in Kubernetes notation, whole GiB.

    A file of unknown size counts as large as the GPU's usable memory (bytes): a larger one
    could not be loaded. What the server fetches itself counts like the files.
    """
    if spec.resources.disk:
        need = parse_quantity(spec.resources.disk)
    else:
        need = max(round(_downloaded(files, usable, fetch) * _DISK_MARGIN), _LEAST_DISK)
    return format_gib(need), format_gib(need * _LIMIT_FACTOR)


def download_seconds(
    files: Sequence[StoredFile], usable: int, fetch: EngineFetch | None = None
) -> int:
    """Return how long the downloads may take on a slow connection, in seconds."""
    return -(-_downloaded(files, usable, fetch) // _DOWNLOAD_RATE)


def _downloaded(files: Sequence[StoredFile], usable: int, fetch: EngineFetch | None) -> int:
    sizes = [item.about for item in files] + ([fetch.size] if fetch else [])
    return sum(usable if size is None else size for size in sizes)
