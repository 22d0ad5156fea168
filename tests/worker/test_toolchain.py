"""The Worker's own checks run with the rest, so that one command tests everything."""

import gzip
import json
from pathlib import Path

from support.worker import FOLDER, require_worker, run_tool

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


def test_it_decodes_by_the_table_of_the_publisher() -> None:
    table = FOLDER.parent / TABLES_FILE
    assert table.read_text(encoding="utf-8") == tables_text(), "stale: run make schema"
