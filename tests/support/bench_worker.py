"""Measure the Worker beside one of the old kind, both in workerd. Run by `make bench-worker`.

The old kind has catalogue and archives inside its bundle (market_worker/bench/old.ts). Prints
Markdown tables. CPU is the time of the workerd process per answer, less that of an answer of a
Worker that does nothing. The new Worker is measured twice: with R2 as it is simulated inside the
same process, and with one that remembers, since on Cloudflare R2 is another machine's work.
The last table is a publish of one app in a market whose apps have pages: what goes over the wire.
Run by hand: `PYTHONPATH=tests python -m support.bench_worker`.
"""

# ruff: noqa: T201  a program that prints its tables

import base64
import gzip
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from support.conformance import pack
from support.market import Clock, MemoryStore, build_candidate, hands
from support.pages import build_page_candidate
from support.worker import FOLDER, Worker, build_bundle, run_tool, seed

from olares_apps.market.answers import Answers
from olares_apps.market.publish import publish

SIZES = [int(size) for size in os.environ.get("BENCH_APPS", "42,300,1000").split(",")]
SECONDS = float(os.environ.get("BENCH_SECONDS", "3"))
ROUNDS = 5
STARTS = 3
VERSION = "1.12.6"
DETAILS = "/api/v1/applications/info"
NOTHING = 'export default { fetch: () => new Response("{}") };'
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figures:
    """What one route does: answers per second, and CPU per answer in ms."""

    rate: float
    cpu: float


def build_market(apps: int) -> tuple[MemoryStore, int]:
    """Return a market whose archives are as large as real ones, and the bytes of an update."""
    chance, store, made = random.Random(apps), MemoryStore(), hands()

    def candidate(number: int, version: str) -> Any:
        text = base64.b64encode(chance.randbytes(4000)).decode()
        return build_candidate(f"demo{number}", version, spec={"fullDescription": text})

    publish(store, [candidate(n, "1.0.0") for n in range(apps)], publisher="bench", hands=made)
    before = dict(store.objects)
    publish(store, [candidate(0, "1.0.2")], publisher="bench", hands=made)
    added = sum(len(data) for key, data in store.objects.items() if key not in before)
    return store, added + len(store.head or b"")


@dataclass
class Traffic:
    """What one publish sends and reads: bytes of the bodies, and requests."""

    requests: int = 0
    written: int = 0
    sent: int = 0
    revision: int = 0
    read: int = 0

    def __call__(self, response: httpx.Response) -> None:
        """Add one exchange."""
        self.requests += 1
        self.read += len(response.read())
        if response.request.method == "PUT":
            size = len(response.request.content)
            self.written, self.sent = self.written + 1, self.sent + size
            self.revision += size if "/revisions/" in response.request.url.path else 0


def publish_one(work: Path, bundle: Path, apps: int) -> str:
    """Publish one app into a market of ``apps`` with pages, and return a row of what it took."""
    store, clock, traffic = MemoryStore(), Clock(), Traffic()
    pages = [build_page_candidate(f"demo{n}") for n in range(apps)]
    publish(store, pages, publisher="bench", hands=hands(clock))
    fill(work / "published", work / "pages.json", store)
    update = [build_page_candidate("demo7", "1.0.2", image="b2")]
    with started(bundle, work / "published") as (worker, _):
        client = httpx.Client(timeout=60, event_hooks={"response": [traffic]})
        publish(worker.store(client=client), update, publisher="bench", hands=hands(clock))
        client.close()
    before = dict(store.objects)
    publish(store, update, publisher="bench", hands=hands(clock))
    new = [data for key, data in store.objects.items() if key not in before]
    whole, packed = (sum(map(len, each)) for each in (new, map(gzip.compress, new)))
    sizes = (whole, packed, traffic.sent, traffic.revision, traffic.read)
    shown = " | ".join(f"{size / 1024:,.0f}" for size in sizes)
    return f"| {apps:,} | {traffic.written} | {shown} | {traffic.requests} |"


def old_market(store: MemoryStore) -> dict[str, Any]:
    """Return the same market as a Worker of the old kind has it in its bundle."""
    answers = Answers(store)
    info = json.loads(answers.respond("GET", "/api/v1/appstore/info", {"version": VERSION}).body)
    ids = list(info["data"]["apps"])
    details: dict[str, Any] = {}
    for start in range(0, len(ids), 10):
        body = json.dumps({"app_ids": ids[start : start + 10], "version": VERSION}).encode()
        details |= json.loads(answers.respond("POST", DETAILS, {}, body).body)["apps"]
    charts = {}
    for detail in details.values():
        path = f"/api/v1/applications/{detail['name']}/chart"
        data = answers.respond("GET", path, {"fileName": detail["chartName"]}).body
        charts[detail["chartName"]] = base64.b64encode(data).decode()
    return {"hash": info["hash"], "info": info, "details": details, "charts": charts}


def routes(old: Mapping[str, Any]) -> dict[str, tuple[str, str, str]]:
    """Return method, target and body of what is asked."""
    ids, file = list(old["details"])[:10], next(iter(old["charts"]))
    return {
        "hash": ("GET", f"/api/v1/appstore/hash?version={VERSION}", ""),
        "info": ("GET", f"/api/v1/appstore/info?version={VERSION}", ""),
        "details of 10": ("POST", DETAILS, json.dumps({"app_ids": ids, "version": VERSION})),
        "chart": ("GET", f"/api/v1/applications/{file.split('-')[0]}/chart?fileName={file}", ""),
    }


# What a Worker of the old kind does not have.
NEW_ONLY = {
    f"v2 {name}": ("GET", f"/api/v2/{name}?version={VERSION}", "")
    for name in ("catalog", "taxonomy", "applications")
}


def _three(texts: Sequence[str]) -> list[str]:
    return [*texts, *["-"] * (3 - len(texts))]


@contextmanager
def started(bundle: Path, state: Path, around: str | None = None) -> Iterator[tuple[Worker, float]]:
    """Run a Worker; yield it and the seconds until it answered."""
    worker = Worker(bundle, state, head_cache_seconds=30, around=around)
    began = time.perf_counter()
    worker.start()
    httpx.get(f"{worker.url}/api/v1/appstore/hash?version={VERSION}", timeout=60)
    try:
        yield worker, time.perf_counter() - began
    finally:
        worker.stop()


def seconds_to_start(bundle: Path, state: Path) -> float:
    """Return the seconds that a Worker takes from its start to its first answer."""
    with started(bundle, state) as (_, seconds):
        return seconds


def cpu_seconds(worker: Worker) -> float:
    """Return the CPU time that workerd below a started Worker has used so far."""
    assert worker.process is not None
    children = Path(f"/proc/{worker.process.pid}/task/{worker.process.pid}/children")
    total = 0
    for pid in children.read_text().split():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def measure(workers: Sequence[Worker], method: str, target: str, body: str) -> list[Figures]:
    """Ask several Workers in turns, after a while that does not count.

    They take turns because a machine is not as fast in one second as in the next: the rate is the
    median of the rounds, the CPU that of all rounds.
    """
    wish = {"method": method, "body": body, "at_once": 8}

    def ask(worker: Worker, seconds: float) -> tuple[float, float, int]:
        before = cpu_seconds(worker)
        sent = wish | {"url": worker.url + target, "seconds": seconds}
        found = json.loads(run_tool("bench/load.mjs", json.dumps(sent)).stdout)
        return found["good"] / found["seconds"], cpu_seconds(worker) - before, found["good"]

    for worker in workers:
        ask(worker, SECONDS / 2)
    turns = [[ask(worker, SECONDS / ROUNDS) for worker in workers] for _ in range(ROUNDS)]
    figures = []
    for rounds in zip(*turns, strict=True):
        rates, cpus, counts = zip(*rounds, strict=True)
        figures.append(Figures(median(rates), sum(cpus) / max(sum(counts), 1) * 1000))
    return figures


def main() -> int:
    """Measure every size and print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        empty = work / "empty.js"
        empty.write_text(NOTHING)
        with started(empty, work / "empty") as (worker, _):
            (floor,) = measure([worker], "GET", "/", "")
        print(f"A Worker that does nothing: {floor.rate:.0f} answers/s, {floor.cpu:.2f} ms CPU\n")
        bundle = build_bundle(work / "new")
        columns = "new, answers/s | without R2 | old | new, CPU ms | without R2 | old"
        print(f"| apps | route | {columns} |")
        print("|---|---|---|---|---|---|---|---|")
        notes = [one_size(work / str(apps), bundle, apps, floor) for apps in SIZES]
        published = [publish_one(work / str(apps), bundle, apps) for apps in SIZES]
    print("\n| apps | | start, s | bundle, KiB | gzip, KiB | written for one app, KiB |")
    print("|---|---|---|---|---|---|")
    print("\n".join(notes))
    print("\n| apps | writes | whole, KiB | packed | sent | of it the revision | read | requests |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(published))
    return 0


def fill(state: Path, record: Path, store: MemoryStore) -> None:
    """Put a market into the state of a Worker to be started."""
    objects = {key: pack(data) for key, data in store.objects.items()}
    record.write_text(json.dumps({"head": (store.head or b"").decode(), "objects": objects}))
    seed(state, record)


def one_size(work: Path, bundle: Path, apps: int, floor: Figures) -> str:
    """Measure a market of ``apps``, print its rows, return those of the second table."""
    work.mkdir()
    store, upload = build_market(apps)
    old = old_market(store)
    fill(work / "new", work / "record.json", store)
    for name in ("old.ts", "tsconfig.json"):
        source = FOLDER / "bench" / name
        if source.is_file():
            (work / name).write_bytes(source.read_bytes())
    (work / "old.json").write_text(json.dumps(old))
    old_bundle = work / "old.js"
    done = run_tool(
        "node_modules/esbuild/bin/esbuild", str(work / "old.ts"), "--bundle", "--format=esm",
        f"--outfile={old_bundle}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shutil.copytree(work / "new", work / "alone")
    starts = [
        seconds_to_start(*one)
        for one in ((bundle, work / "new"), (old_bundle, work / "old"))
        for _ in range(STARTS)
    ]
    new_start, old_start = median(starts[:STARTS]), median(starts[STARTS:])
    with (
        started(bundle, work / "new") as (new, _),
        started(bundle, work / "alone", "bench/remembered.js") as (alone, _),
        started(old_bundle, work / "old") as (other, _),
    ):
        for name, asked in {**routes(old), **NEW_ONLY}.items():
            both = [new, alone] if name in NEW_ONLY else [new, alone, other]
            figures = measure(both, *asked)
            rates = [f"{each.rate:.0f}" for each in figures]
            cpus = [f"{max(each.cpu - floor.cpu, 0):.2f}" for each in figures]
            row = [str(apps), name, *_three(rates), *_three(cpus)]
            print(f"| {' | '.join(row)} |", flush=True)
    whole = old_bundle.read_bytes()
    return "\n".join(
        f"| {apps} | {kind} | {start:.2f} | {len(data) / 1024:.0f} "
        f"| {len(gzip.compress(data)) / 1024:.0f} | {sent / 1024:.0f} |"
        for kind, start, data, sent in (
            ("new", new_start, bundle.read_bytes(), upload),
            ("old", old_start, whole, len(whole)),
        )
    )


if __name__ == "__main__":
    sys.exit(main())
