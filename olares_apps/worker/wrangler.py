"""Calling wrangler, the pinned one of a Worker's folder, with a Node that is there."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from olares_apps.errors import MarketError, UsageError

__all__ = ["BUILT", "Outcome", "deploy_command", "find_node", "run", "wrangler_problems"]

_WRANGLER: Final = Path("node_modules/wrangler")
BUILT: Final = "dist"
"""Where a dry run leaves what would be uploaded."""
_PROGRAM: Final = _WRANGLER / "bin/wrangler.js"
_QUIET: Final = {"WRANGLER_SEND_METRICS": "false", "WRANGLER_HIDE_BANNER": "true"}
_TIMEOUT_SECONDS: Final = 600
# What is in a variable with such a name is never printed, and the market's token not handed on.
_SECRET_NAME: Final = re.compile(r"TOKEN|SECRET|PASSWORD|API_KEY", re.IGNORECASE)
_OURS: Final = "OLAPPS_"
_ADDRESS: Final = re.compile(r"https://[a-z0-9.-]+\.workers\.dev\b")
_SHORT: Final = 6


@dataclass(frozen=True, slots=True)
class Outcome:
    """What wrangler said, without secrets, and the addresses in it."""

    text: str
    addresses: tuple[str, ...]


def find_node(environ: Mapping[str, str]) -> str | None:
    """Return the Node on PATH, or None."""
    return shutil.which("node", path=environ.get("PATH", os.defpath))


def wrangler_problems(folder: Path, node: str | None) -> list[str]:
    """Return what is missing to call the pinned wrangler of a folder."""
    found = [] if node else ["Node is not on PATH: install Node 20.3 or newer"]
    pinned = json.loads((folder / "package.json").read_bytes())["devDependencies"]["wrangler"]
    package = folder / _WRANGLER / "package.json"
    if not package.is_file():
        found.append(f"wrangler {pinned} is not installed: cd {folder} && npm ci --ignore-scripts")
    elif (has := json.loads(package.read_bytes())["version"]) != pinned:
        found.append(
            f"wrangler is {has}, pinned is {pinned}: cd {folder} && npm ci --ignore-scripts"
        )
    return found


def deploy_command(node: str, *, dry_run: bool) -> list[str]:
    """Return the command that deploys from a Worker's folder; variables set elsewhere stay."""
    command = [node, _PROGRAM.as_posix(), "deploy", "--config", "wrangler.jsonc", "--keep-vars"]
    return [*command, "--dry-run", "--outdir", BUILT] if dry_run else command


def run(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Outcome:
    """Run a command of wrangler in a Worker's folder; raises MarketError with what it said."""
    handed_on = {name: value for name, value in environ.items() if not name.startswith(_OURS)}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=handed_on | _QUIET,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"{command[0]}: {error.strerror}", hint="check the Node on PATH") from None
    except subprocess.TimeoutExpired:
        raise MarketError("wrangler did not end within ten minutes", hint="try again") from None
    text = _without_secrets(done.stdout, environ)
    if done.returncode:
        raise MarketError(
            f"wrangler ended with {done.returncode}:\n{text.strip()}",
            hint="npx wrangler login, or set CLOUDFLARE_API_TOKEN, if it says that you are not",
        )
    return Outcome(text, tuple(dict.fromkeys(_ADDRESS.findall(text))))


def _without_secrets(text: str, environ: Mapping[str, str]) -> str:
    for name, value in environ.items():
        if len(value) >= _SHORT and _SECRET_NAME.search(name):
            text = text.replace(value, "***")
    return text
