"""Measure the tool beside the real Helm, side by side in one run. Run by `make bench`.

Prints a Markdown table. Every figure is wall-clock time on this machine; Helm runs on a sample of
the same charts and its time is scaled to all of them, which the table says.
"""

import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLAPPS = Path(sys.executable).with_name("olapps")
HELM = Path(os.environ.get("OLAPPS_HELM4", ROOT / ".tools" / "helm4"))
SPECS = int(os.environ.get("BENCH_SPECS", "1000"))
SAMPLE = 25
CONFIG = """schema = 1
[publisher]
name = "bench"
website = "https://example.org"
icons = "https://example.org/icons"
"""


def main() -> int:
    """Measure, print the table, return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        one, many = workspace(work / "one", 1), workspace(work / "many", SPECS)
        rows = [
            ("cold `olapps --version`", best(5, "--version", cwd=one), ""),
            ("cold `olapps render`, one app, both generations", best(5, "render", cwd=one), ""),
        ]
        render = timed("render", cwd=many)
        pack = timed("pack", cwd=many)
        again = timed("render", cwd=many)
        helm = helm_seconds(many)
        rows += [
            (f"render {SPECS} specs, {2 * SPECS} charts, cold", render, ""),
            (f"render and pack {SPECS} specs, {2 * SPECS} archives", pack, ""),
            (f"render {SPECS} specs again, unchanged", again, ""),
            (
                f"`helm template` + `helm package`, the same {2 * SPECS} charts",
                helm,
                f"from {SAMPLE} charts, {helm / pack:.0f} times as long",
            ),
            (
                f"check {SPECS} specs",
                timed("check", "--no-tools", cwd=many, ok=(0, 1)),
                "without outside tools",
            ),
            (f"publish {SPECS} apps", timed("publish", cwd=many), ""),
            (f"publish again, {SPECS} apps, nothing changed", timed("publish", cwd=many), ""),
        ]
    cores = len(os.sched_getaffinity(0))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{cores} cores, {processor()}, Python {platform.python_version()}\n")
    print("| what | seconds | note |\n|---|---|---|")
    for what, seconds, note in rows:
        print(f"| {what} | {seconds:.2f} | {note} |")
    print(f"\nPeak memory of one process: {peak:.0f} MiB.")
    return 0


def workspace(root: Path, count: int) -> Path:
    """Make a workspace of generated specs: the flagship under other names.

    Without its variants, each of which is checked like a spec of its own.
    """
    source = (ROOT / "olares_apps" / "apps" / "qwen36-35b-a3b-mtp.yaml").read_text()
    spec = re.sub(r"(?ms)^variants:\n.*?(?=^bench:)", "", source)
    (root / "apps").mkdir(parents=True)
    (root / "olapps.toml").write_text(CONFIG)
    shutil.copytree(ROOT / "images", root / "images")
    for index in range(count):
        text = re.sub(r"(?m)^app: .*$", f"app: generated{index:04d}", spec)
        text = re.sub(r"(?m)^alias: .*$", f"alias: generated-{index:04d}", text)
        text = re.sub(r"(?m)^( *)title: .*$", rf"\1title: Generated {index:04d}", text)
        (root / "apps" / f"generated-{index:04d}.yaml").write_text(text)
    return root


def timed(*arguments: str, cwd: Path, ok: tuple[int, ...] = (0,)) -> float:
    """Return the seconds that one command takes."""
    begin = time.perf_counter()
    done = subprocess.run([OLAPPS, *arguments], cwd=cwd, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode not in ok:
        raise SystemExit(f"olapps {' '.join(arguments)} failed:\n{done.stderr}")
    return seconds


def best(times: int, *arguments: str, cwd: Path) -> float:
    """Return the shortest of several runs."""
    return min(timed(*arguments, cwd=cwd) for _ in range(times))


def helm_seconds(root: Path) -> float:
    """Return the seconds that Helm would take for every chart, from a sample of them."""
    if not HELM.exists():
        raise SystemExit(f"{HELM} is missing; run make .tools/helm4")
    charts = sorted(path.parent for path in root.glob("charts/*/*/Chart.yaml"))
    out = root / "helm"
    out.mkdir()
    begin = time.perf_counter()
    for chart in charts[:SAMPLE]:
        for arguments in (
            ["template", "bench", str(chart)],
            ["package", str(chart), "-d", str(out)],
        ):
            subprocess.run([HELM, *arguments], check=True, capture_output=True)
    seconds = time.perf_counter() - begin
    shutil.rmtree(out)
    return seconds / SAMPLE * len(charts)


def processor() -> str:
    """Return the processor's name."""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.processor()


if __name__ == "__main__":
    sys.exit(main())
