"""The README shows what the tool does: its tour is run, its commands are all there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from olares_apps.cli import app, image, market, worker

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OLAPPS = Path(sys.executable).with_name("olapps")


def normal(text: str, folder: Path) -> str:
    """Replace what differs between two runs: digests and the folder of the run."""
    text = text.replace(str(folder), "tour")
    return re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text).replace("dir:tour/.market", "dir:.market")


def test_the_tour_prints_what_the_readme_shows(tmp_path: Path) -> None:
    block = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert block
    steps = [step.split("\n", 1) for step in block[1].split("$ ")[1:]]
    folder = tmp_path
    for command, expected in steps:
        words = shlex.split(command)
        if words[0] == "cd":
            folder = folder / words[1]
            continue
        assert words[0] == "olapps"
        done = subprocess.run(
            [OLAPPS, *words[1:]],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
        )
        assert done.returncode == 0, done.stderr
        assert normal(done.stdout, tmp_path / "tour") == expected


def test_every_command_has_a_line_in_the_readme() -> None:
    groups = {"market": market.COMMANDS, "image": image.COMMANDS, "worker": worker.COMMANDS}
    names = [f"olapps {name}" for name in app.COMMANDS if name not in groups]
    names += [f"olapps {group} {name}" for group, names in groups.items() for name in names]
    rows = re.findall(r"^\| `(olapps [a-z]+(?: [a-z]+)?)", README, re.MULTILINE)
    assert sorted(rows) == sorted(names)


def test_links_of_the_readme_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []
