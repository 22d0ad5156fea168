"""The main job from end to end, on a market in a folder: run by `make demo`.

Everything shown is a real command; the market lies in `.demo/market-of-mine` and can be looked
at afterwards.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / ".demo"
WORKSPACE = DEMO / "market-of-mine"
OLAPPS = Path(sys.executable).with_name("olapps")
RELEASES = ("1.12.5", "1.12.6", "1.12.7")


def main() -> int:
    """Walk through the whole flow; return the exit status."""
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    say("A workspace with the two shipped llama.cpp apps")
    run(
        "init", WORKSPACE.name, "--spec", "qwen36-35b-a3b-mtp", "--spec", "qwen36-27b-mtp", cwd=DEMO
    )
    say("Charts for two generations of Olares, checked and packed")
    run("render")
    run("check")
    run("pack")
    say("Published to the embedded local market, in one step")
    run("publish")
    say("What devices of three Olares releases would do with it")
    for release in RELEASES:
        run("market", "sync", "--olares", release)
    say("A change: half the context. Only the app that changed gets a new version")
    spec = WORKSPACE / "apps" / "qwen36-35b-a3b-mtp.yaml"
    spec.write_text(spec.read_text().replace("  ctx: 262144", "  ctx: 131072"))
    run("publish", "--bump", "patch", "--note", "Context reduced to leave memory for other apps.")
    run("publish", "--bump", "patch")
    say("The same market over HTTP, seen by a device that runs the first release")
    with served() as url:
        run(
            "market", "sync", url, "--olares", "1.12.7", "--installed", "llamacppqwen36a3bone=1.0.3"
        )
    run("market", "history")
    say(f"Done. The workspace is {WORKSPACE.relative_to(ROOT)}; try: olapps show qwen36-27b-mtp")
    return 0


def say(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text}", flush=True)


def run(*arguments: str, cwd: Path = WORKSPACE) -> None:
    """Show and run one command; a failure ends the demo."""
    print(f"$ olapps {' '.join(arguments)}", flush=True)
    subprocess.run([OLAPPS, *arguments], cwd=cwd, check=True, env={**os.environ, "NO_COLOR": "1"})


class served:  # noqa: N801 - reads as a verb in `with served()`
    """Serve the market on a free port while the block runs."""

    def __enter__(self) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        print(f"$ olapps market serve --port {port} &", flush=True)
        self.process = subprocess.Popen(
            [OLAPPS, "market", "serve", "--port", str(port)], cwd=WORKSPACE
        )
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=1):
                    return url
            except OSError:
                time.sleep(0.1)
        self.process.kill()
        raise SystemExit("the local server did not start")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(10)


if __name__ == "__main__":
    sys.exit(main())
