"""The Worker's own checks run with the rest, so that one command tests everything."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from support.worker import FOLDER, NPM, environment, require_worker, run_tool
from support.workspaces import build_workspace, good

from olares_apps.market.answer_tables import TABLES_FILE, tables_text

BUNDLE_GZIP_BYTES = 60_000


def test_its_sources_and_tests_are_well_typed() -> None:
    require_worker()
    for project in (".", "test"):
        done = run_tool("node_modules/typescript/bin/tsc", "-p", project)
        assert done.returncode == 0, done.stdout


def test_it_passes_its_own_tests_inside_workerd(tmp_path: Path) -> None:
    require_worker()
    file = tmp_path / "report.json"
    done = run_tool(
        "node_modules/vitest/vitest.mjs", "run", "--reporter=json", f"--outputFile={file}"
    )
    assert file.is_file(), done.stdout + done.stderr
    report = json.loads(file.read_text(encoding="utf-8"))
    failed = [
        f"{test['fullName']}: {' '.join(test['failureMessages'])[:400]}"
        for file in report["testResults"]
        for test in file["assertionResults"]
        if test["status"] != "passed"
    ]
    assert failed == []
    assert done.returncode == 0, done.stderr
    assert report["numPassedTests"] == report["numTotalTests"] > 0


def test_what_a_deploy_uploads_stays_small(bundle: Path) -> None:
    assert len(gzip.compress(bundle.read_bytes())) < BUNDLE_GZIP_BYTES


def test_its_lock_pins_by_digest_and_names_no_index() -> None:
    packages = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    installed = {name: entry for name, entry in packages.items() if name}
    assert {name for name, entry in installed.items() if "integrity" not in entry} == set()
    assert {name for name, entry in installed.items() if "resolved" in entry} == set()


def test_npm_can_install_what_init_writes_from_its_lock_alone(tmp_path: Path) -> None:
    require_worker()
    if not NPM.is_file():
        pytest.skip("the pinned npm is missing: run make node")
    root = build_workspace(tmp_path / "ws")
    good("worker", "init", cwd=root)
    folder = root / "worker"

    def install() -> subprocess.CompletedProcess[str]:
        # Without an index and with nothing in its cache npm can only go by the lock.
        return subprocess.run(
            ["node", str(NPM), "ci", "--dry-run", "--offline", "--cache", str(tmp_path / "cache")],
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )

    done = install()
    assert done.returncode == 0, done.stderr
    locked = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    packages = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    wanted = packages["dependencies"] | packages["devDependencies"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    # It is the lock that lets it: a package that the lock has in another version is refused.
    packages["dependencies"]["hono"] = "4.0.0"
    (folder / "package.json").write_text(json.dumps(packages), encoding="utf-8")
    assert install().returncode != 0


def test_it_decodes_by_the_table_of_the_publisher() -> None:
    table = FOLDER.parent / TABLES_FILE
    assert table.read_text(encoding="utf-8") == tables_text(), "stale: run make schema"
