"""Small markets for tests: charts without the renderer, candidates, a store in memory."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olares_apps.generations import get_generation
from olares_apps.market import canonical
from olares_apps.market.candidates import Candidate, CandidateArchive, Icon, candidate_archive
from olares_apps.market.commit import Hands
from olares_apps.market.records import Head
from olares_apps.render.chart import ChartTree
from olares_apps.render.scalars import dump
from olares_apps.render.versions import archive_version

OLD, NEW = "olares-1.12.3", "olares-1.12.6"
START = 1_779_354_000_123_000_000  # 2026-05-21T09:00:00.123Z
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"


class Clock:
    """A clock that moves one second per look."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        self.now += 10**9
        return self.now


def hands(clock: Callable[[], int] | None = None, **more: Any) -> Hands:
    """Return hands that never sleep for real and whose clock ticks."""
    return Hands(
        **{"clock": clock or Clock(), "sleep": lambda seconds: None, "jitter": lambda: 0.5} | more
    )


def build_chart(
    app: str,
    version: str = "1.0.0",
    generation: str = OLD,
    *,
    title: str | None = None,
    description: str = "A small model.",
    categories: tuple[str, ...] = ("AI",),
    image: str = "docker.io/example/server:b1",
    spec: Mapping[str, Any] | None = None,
    i18n: Mapping[str, Mapping[str, Any]] | None = None,
) -> ChartTree:
    """Return a tiny chart that is valid enough to be published: manifest, i18n, one template."""
    kind = get_generation(generation)
    texts = {"fullDescription": f"# {app}\n", "upgradeDescription": "First version."}
    locales = (
        {"en-US": {"metadata": {"title": title or app, "description": description}, "spec": texts}}
        if i18n is None
        else i18n
    )
    sizes = {
        "requiredCpu": "4",
        "limitedCpu": "16",
        "requiredMemory": "24Gi",
        "limitedMemory": "40Gi",
        "requiredDisk": "20Gi",
        "limitedDisk": "25Gi",
    }
    gpu = {"requiredGPUMemory": "22Gi", "limitedGPUMemory": "23Gi"}
    flat = sizes | {"requiredGpu": "22Gi", "limitedGpu": "23Gi"}
    amounts = flat if generation == OLD else {"accelerator": [{"mode": "nvidia"} | sizes | gpu]}
    manifest: dict[str, Any] = {
        "olaresManifest.version": kind.manifest_version,
        "olaresManifest.type": "app",
        "apiVersion": kind.api_version,
        "metadata": {
            "name": app,
            "appid": app,
            "title": title or app,
            "description": description,
            "icon": f"https://market.example/icons/{app}.png",
            "version": version,
            "categories": list(categories),
        },
        "entrances": [{"name": app, "host": app, "port": 8000, "title": app}],
        "spec": {
            "versionName": version,
            **texts,
            "developer": "example",
            "locale": list(locales),
            "supportArch": ["amd64"],
            **amounts,
            **(spec or {}),
        },
        "options": {"apiTimeout": 0},
    }
    chart = {"apiVersion": "v2", "name": app, "version": version, "appVersion": version}
    files = {
        "Chart.yaml": dump(chart).encode(),
        "OlaresManifest.yaml": dump(manifest).encode(),
        "values.yaml": b"bfl: {}\n",
        "templates/deployment.yaml": dump({"kind": "Deployment", "image": image}).encode(),
    } | {f"i18n/{name}/OlaresManifest.yaml": dump(data).encode() for name, data in locales.items()}
    return ChartTree(
        app=app,
        version=version,
        generation=generation,
        files=files,
        manifest=manifest,
        i18n=locales,
    )


def build_archive(
    app: str, version: str = "1.0.0", generation: str = OLD, **chart: Any
) -> CandidateArchive:
    """Return a candidate archive of a tiny chart."""
    neutral = build_chart(app, "0.0.0", generation, **chart).digest()
    return candidate_archive(build_chart(app, version, generation, **chart), content=neutral)


def build_candidate(
    app: str,
    version: str = "1.0.0",
    *,
    generations: tuple[str, ...] = (OLD, NEW),
    icon: bytes | None = None,
    **chart: Any,
) -> Candidate:
    """Return a candidate for some generations; ``version`` is that of the oldest one."""
    archives = [
        build_archive(app, archive_version(version, index), name, **chart)
        for index, name in enumerate((OLD, NEW))
        if name in generations
    ]
    title = chart.get("title") or app
    return Candidate(app, title, archives, Icon.of(icon) if icon else None)


class MemoryStore:
    """The store protocol in memory; ``before`` is called ahead of every operation."""

    def __init__(self, before: Callable[[str], None] = lambda operation: None) -> None:
        self.objects: dict[str, bytes] = {}
        self.head: bytes | None = None
        self.before = before
        self.reads: list[str] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return "memory:"

    def read_head(self) -> tuple[Head | None, str | None]:
        self.before("read head")
        self.reads.append("head.json")
        data = self.head
        return (Head.decode(data, "head"), canonical.digest(data)) if data else (None, None)

    def swap_head(self, expected: str | None, head: Head) -> bool:
        self.before("swap head")
        with self._lock:
            current = canonical.digest(self.head) if self.head else None
            if current != expected:
                return False
            self.head = head.encode()
            return True

    def put_if_absent(self, key: str, data: bytes) -> bool:
        self.before(f"put {key}")
        with self._lock:
            if key in self.objects:
                return False
            self.objects[key] = data
            return True

    def get(self, key: str) -> bytes | None:
        self.before(f"get {key}")
        self.reads.append(key)
        return self.objects.get(key)

    def exists(self, key: str) -> bool:
        return key in self.objects

    def list(self, prefix: str) -> Iterator[str]:
        return iter(sorted(key for key in self.objects if key.startswith(f"{prefix}/")))

    def delete(self, key: str) -> None:
        self.objects.pop(key, None)


def in_process(work: Callable[[], None]) -> int:
    """Run ``work`` in a process of its own; return its exit status, negative for a signal."""
    child = start_process(work)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def start_process(work: Callable[[], None]) -> int:
    """Start ``work`` in a forked process that exits 0, or 1 when it raises."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def die_at(step: int) -> Callable[[str], None]:
    """Return a hook that kills its own process, as a power cut would, on its n-th call."""
    calls = iter(range(step + 1))

    def hook(name: str) -> None:
        if next(calls) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


def listing(root: Path) -> dict[str, tuple[int, int]]:
    """Return every file and folder below a root with its time and size."""
    return {
        path.relative_to(root).as_posix(): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted(root.rglob("*"))
    }
