"""`publish --keep-going`: what can be published is, the rest keeps its offer and is named."""

from pathlib import Path

import pytest
from support.specs import spec_text
from support.workspaces import DEMO, SECOND, SECOND_SPEC, build_workspace, edit, good, olapps

OLD, NEW = "olares-1.12.3", "olares-1.12.6"
THIRD = "demothird"
THIRD_SPEC = spec_text(
    (f"app: {DEMO}", f"app: {THIRD}"),
    ("title: Demo Qwen One", "title: Demo Third"),
    ("alias: demo-qwen", "alias: demo-third"),
)
SMALLER = ("ctx: 32768", "ctx: 16384")

# How the second spec is broken -> what is changed in it, and what the summary says of it.
FAULTS = {
    "no YAML": ([("engine:\n", "engine: [\n")], "apps/second.yaml"),
    "a wrong value": ([("ctx: 32768", "ctx: many")], "engine.ctx"),
    "a finding": (
        [("ctx: 32768", "ctx: 32768\n  extra_args: [--no-such-flag]")],
        "--no-such-flag is not a flag",
    ),
    "a version that was passed": (
        [('version: "1.0.0"\ntitle', 'version: "0.9.0"\ntitle'), SMALLER],
        "version 0.9.0 is lower than 1.0.0",
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {"apps/second.yaml": SECOND_SPEC, "apps/third.yaml": THIRD_SPEC}
    root = build_workspace(tmp_path / "ws", files=files)
    good("publish", cwd=root)
    return root


def _live(root: Path) -> dict[str, dict[str, str]]:
    apps: dict[str, dict[str, str]] = good("market", "status", "--output", "json", cwd=root).json[
        "apps"
    ]
    return apps


@pytest.mark.parametrize("fault", FAULTS)
def test_one_bad_spec_neither_vanishes_nor_blocks_the_others(fault: str, root: Path) -> None:
    changes, reason = FAULTS[fault]
    edit(root / "apps/second.yaml", *changes)
    edit(root / "apps/third.yaml", SMALLER)
    before = (root / "apps/second.yaml").read_bytes()
    refused = olapps("publish", "--bump", "patch", cwd=root)
    assert refused.code == 1
    assert _live(root)[THIRD] == {OLD: "1.0.0", NEW: "1.0.1"}
    done = olapps("publish", "--bump", "patch", "--keep-going", cwd=root)
    assert done.code == 1
    assert "1 app not updated:" in done.err
    assert "second: " in done.err
    assert reason in done.err
    assert "published revision" in done.out
    assert _live(root) == {
        DEMO: {OLD: "1.0.0", NEW: "1.0.1"},
        SECOND: {OLD: "1.0.0", NEW: "1.0.1"},
        THIRD: {OLD: "1.0.2", NEW: "1.0.3"},
    }
    assert (root / "apps/second.yaml").read_bytes() == before
    assert 'version: "1.0.2"' in (root / "apps/third.yaml").read_text()


def test_a_dry_run_says_the_same_and_writes_nothing(root: Path) -> None:
    edit(root / "apps/second.yaml", *FAULTS["a wrong value"][0])
    edit(root / "apps/third.yaml", SMALLER)
    options = ("publish", "--bump", "patch", "--keep-going", "--dry-run", "--output", "json")
    done = olapps(*options, cwd=root)
    assert done.code == 1
    assert list(done.json["failed"]) == ["second"]
    changed = {app["app"]: app["action"] for app in done.json["apps"]}
    assert changed == {DEMO: "unchanged", THIRD: "update"}
    assert _live(root)[THIRD] == {OLD: "1.0.0", NEW: "1.0.1"}


def test_without_a_fault_it_is_a_publish_like_any_other(root: Path) -> None:
    edit(root / "apps/third.yaml", SMALLER)
    done = good("publish", "--bump", "patch", "--keep-going", "--output", "json", cwd=root).json
    assert done["failed"] == {}
    assert _live(root)[THIRD] == {OLD: "1.0.2", NEW: "1.0.3"}


def test_a_name_that_nothing_has_is_wrong_usage_all_the_same(root: Path) -> None:
    assert olapps("publish", "thrid", "--keep-going", cwd=root).code == 2
