"""`olapps doctor`: what this machine and this workspace have and lack."""

import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import click

from olares_apps import __version__
from olares_apps.cli import output as out
from olares_apps.cli.options import output_option, root_option
from olares_apps.errors import OlappsError

__all__ = ["command"]

# Tool: what it is good for. None of them is needed to render, check and publish.
_TOOLS = {
    "helm": "checks run the real Helm over charts",
    "olares-cli": "checks run the device's own linter over archives",
    "llama-server": "memory figures can be compared with the real server",
}
_EXTRAS = {"starlette": "olapps market serve", "uvicorn": "olapps market serve"}


@click.command()
@root_option
@output_option()
def command(root: Path | None, output: str) -> int:
    """Say what this machine and workspace have and lack."""
    rows = [
        ("python", "ok", sys.version.split()[0], ""),
        ("olapps", "ok", __version__, ""),
        *(_tool(name, use) for name, use in _TOOLS.items()),
        *(_extra(name, use) for name, use in _EXTRAS.items()),
        *_workspace(root),
    ]
    names = ("name", "state", "value", "note")
    if output == "json":
        out.print_json({"items": [dict(zip(names, row, strict=True)) for row in rows]})
    else:
        out.table(["WHAT", "STATE", "FOUND", "NOTE"], [list(row) for row in rows])
    return 1 if any(state == "error" for _, state, _, _ in rows) else 0


def _tool(name: str, use: str) -> tuple[str, str, str, str]:
    path = shutil.which(name)
    if not path:
        return name, "absent", "-", f"optional: with it {use}"
    arguments = ["version", "--short"] if name == "helm" else ["--version"]
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return name, "error", path, str(error)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return name, "ok", lines[0][:60] if lines else path, ""


def _extra(name: str, use: str) -> tuple[str, str, str, str]:
    if find_spec(name) is None:
        return name, "absent", "-", f"optional: pip install 'olapps[server]' for {use}"
    try:
        return name, "ok", version(name), ""
    except PackageNotFoundError:
        return name, "ok", "-", ""


def _workspace(root: Path | None) -> list[tuple[str, str, str, str]]:
    from olares_apps.cli.stores import store_for
    from olares_apps.cli.workbench import open_workbench
    from olares_apps.market.commit import read_state

    try:
        bench = open_workbench(root)
    except OlappsError as error:
        return [("workspace", "error", "-", error.message.splitlines()[0])]
    workspace = bench.workspace
    state = "error" if workspace.broken else "ok"
    note = "; ".join(sorted(workspace.broken))
    rows = [
        ("workspace", "ok", str(workspace.root), ""),
        ("specs", state, str(len(workspace.specs)), f"broken: {note}" if note else ""),
    ]
    try:
        store = store_for(None, workspace.root)
        market = read_state(store)
        found = market.identity[:12] if market.identity else "empty"
        rows.append(("market", "ok", found, store.url))
    except OlappsError as error:
        rows.append(("market", "error", "-", error.message))
    return rows
