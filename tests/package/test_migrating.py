"""docs/migrating.md: every command of it is run, against a small market that was kept by hand."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from support.foreign_charts import catalogue_chart, legacy_market_chart
from support.specs import build_file_tree
from support.workspaces import PNG

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/migrating.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(console|toml|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Commands that say by their status that there is something to see.
TELLS = ("olapps check old-market", "diff -ru")


def old_market(folder: Path) -> None:
    files: dict[str, str | bytes] = {
        f"{name}/{path}": data
        for name, chart in (
            ("demomarketone", legacy_market_chart()),
            ("democatalogue", catalogue_chart()),
        )
        for path, data in chart.items()
    }
    files["icons/demomarketone.png"] = PNG
    build_file_tree(folder, files)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "PATH": path},
        timeout=120,
    )


def test_the_way_from_a_hand_kept_market_works_as_the_page_says(tmp_path: Path) -> None:
    old_market(tmp_path / "old-market")
    folder = tmp_path
    commands = 0
    for kind, text in BLOCK.findall(PAGE):
        if kind != "console":
            name = text.split("\n")[0].removeprefix("# ")
            # The Worker of the page is another folder here.
            local = text.replace('worker = "https://market.example.org"', 'worker = "dir:../w"')
            (folder / name).write_text(local)
            continue
        for step in text.split("$ ")[1:]:
            command, *expected = step.rstrip("\n").split("\n")
            commands += 1
            if command.startswith("cd "):
                folder = folder / shlex.split(command)[1]
                continue
            done = run(command, folder)
            tells = command.startswith(TELLS)
            assert done.returncode in ((0, 1) if tells else (0,)), (command, done)
            for line in expected:
                assert line in done.stdout, (command, done)
    assert commands > 20


def test_the_page_compares_what_an_upgrade_cannot_change(tmp_path: Path) -> None:
    """The old chart selects its pods another way, and keeps its model where the page says."""
    chart = b"".join(legacy_market_chart().values()).decode()
    assert "selector: {matchLabels: {app: demo}}" in chart
    assert "/olares/share/ai/model" in chart
    assert "/olares/share/ai/model" in PAGE
