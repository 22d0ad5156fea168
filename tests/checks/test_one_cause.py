"""One cause is told once, by the rule that says best what to do."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from support.check_charts import DEPLOYMENT, MANIFEST, Chart, plain_chart
from support.locks import file_of, lock_of
from support.workspaces import build_workspace, olapps

from olares_apps.checks import read_archive, run_rules
from olares_apps.checks.context import ChartContext
from olares_apps.checks.tools import SystemTools
from olares_apps.findings import Finding
from olares_apps.lock.file import dump_lock

APP, NAME = "exampleapp", "exampleapp-1.4.2.tgz"


def of_archive(data: bytes) -> list[Finding]:
    source = read_archive(data, NAME)
    return run_rules(ChartContext(source.files, folder=source.folder, listing=source.listing))


def archive(*extra: tuple[str, bytes], mode: int = 0o644) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, data in [*plain_chart().items(), *extra]:
            info = tarfile.TarInfo(f"{APP}/{path}")
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def with_tools(chart: Chart) -> list[str]:
    context = chart.context(tools=SystemTools())
    return [
        item.rule for item in run_rules(context) + run_rules(context, select=["tool-kubernetes"])
    ]


def test_odd_modes_are_one_finding_per_mode() -> None:
    (found,) = of_archive(archive(mode=0o777))
    assert found.rule == "archive-modes"
    assert found.message.endswith("mode 0777")
    assert all(path in found.message for path in plain_chart())
    many = of_archive(archive(*((f"files/{n}.txt", b"x") for n in range(9)), mode=0o777))
    (modes,) = [item for item in many if item.rule == "archive-modes"]
    assert modes.message.endswith(" and 9 more: mode 0777")


@pytest.mark.parametrize(
    "data",
    [archive(("files/big.bin", os.urandom(3_000_000))), archive()[:-200]],
    ids=["too large", "cut"],
)
def test_an_archive_that_is_too_large_or_cut_is_one_error(data: bytes) -> None:
    errors = [item.rule for item in of_archive(data) if item.severity.value == "error"]
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "ports: [{containerPort: 8080}]",
            "env: [{name: A, value: 1}]\n          ports: [{containerPort: 8080}]",
        ),
        (
            "ports: [{containerPort: 8080}]",
            "args: [serve, 1]\n          ports: [{containerPort: 8080}]",
        ),
    ],
)
def test_a_value_that_is_no_text_is_told_without_the_schemas(old: str, new: str) -> None:
    rules = with_tools(plain_chart().replaced(DEPLOYMENT, old, new))
    assert rules.count("env-value-type") == 1
    assert "tool-kubernetes" not in rules


def test_what_only_the_schemas_know_is_still_told() -> None:
    chart = plain_chart().replaced(DEPLOYMENT, "replicas:", "replica:")
    assert "tool-kubernetes" in with_tools(chart)


@pytest.mark.parametrize(("arch", "told"), [("x86_64", "support-arch"), ("AMD64", "support-arch")])
def test_an_architecture_under_another_name_is_told_once(arch: str, told: str) -> None:
    chart = plain_chart().replaced(MANIFEST, "supportArch: [amd64]", f"supportArch: [{arch}]")
    assert [item.rule for item in chart.check()] == [told]
    empty = plain_chart().replaced(MANIFEST, "supportArch: [amd64]", "supportArch: []")
    assert [item.rule for item in empty.check()] == ["support-arch"]
    other = plain_chart().replaced(MANIFEST, "supportArch: [amd64]", "supportArch: [arm64]")
    assert [item.rule for item in other.check()] == ["accelerator-arch"]


@pytest.mark.parametrize("has_lock", [False, True])
def test_too_little_gpu_memory_in_a_spec_is_told_once(tmp_path: Path, has_lock: bool) -> None:
    lock = dump_lock(lock_of(file_of(size=17_200_000_000)))
    files = {"apps/demo.lock.yaml": lock} if has_lock else {}
    change = ("developer: somebody", "resources: {gpu_memory: 1Gi}\ndeveloper: somebody")
    root = build_workspace(tmp_path, change, files=files)
    report = olapps("check", "--no-tools", "--output", "json", cwd=root).json
    errors = [item["rule"] for item in report["findings"] if item["severity"] == "error"]
    assert errors == ["gpu-need-understated"]
