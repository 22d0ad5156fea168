"""Workspaces so large that several processes render them."""

from pathlib import Path

import pytest
from support.specs import spec_text
from support.workspaces import build_workspace, good, olapps, untouched

COUNT = 50


def numbered(number: int, *changes: tuple[str, str]) -> str:
    return spec_text(
        ("app: demoqwenone", f"app: demo{number}"),
        ("title: Demo Qwen One", f"title: Demo {number}"),
        ("alias: demo-qwen", f"alias: demo-{number}"),
        *changes,
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    files = {f"apps/demo-{number:02}.yaml": numbered(number) for number in range(COUNT)}
    return build_workspace(tmp_path_factory.mktemp("many") / "ws", files=files)


def test_many_specs_render_as_each_one_alone(root, tmp_path):
    many = good("render", "--out", tmp_path / "many", "--output", "json", cwd=root).json["charts"]
    assert len(many) == 2 * (COUNT + 1)
    assert [c["generation"] for c in many] == ["olares-1.12.3", "olares-1.12.6"] * (COUNT + 1)
    assert len({c["app"] for c in many}) == COUNT + 1
    good("render", "demo-07", "--out", tmp_path / "one", cwd=root)
    alone = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(alone) == 18
    for path in alone:
        other = tmp_path / "many" / path.relative_to(tmp_path / "one")
        assert other.read_bytes() == path.read_bytes()


def test_a_value_that_no_spec_takes_writes_nothing(root, tmp_path):
    outcome = olapps("render", "--set", "engine.ctx=0", "--out", tmp_path / "o", cwd=root)
    assert outcome.code == 1
    assert "engine.ctx" in outcome.err
    assert not (tmp_path / "o").exists()


def test_twelve_apps_are_published_at_once_and_asked_for_in_two_batches(root):
    names = [f"demo-{number:02}" for number in range(12)]
    result = good("publish", *names, "--output", "json", cwd=root).json
    assert [app["action"] for app in result["apps"]] == ["new"] * 12
    with untouched(root):
        good("publish", *names, cwd=root)
    report = good("market", "sync", "--olares", "1.12.7", "--output", "json", cwd=root).json
    assert len(report["apps"]) == 12
    assert sum(request.startswith("POST") for request in report["requests"]) == 2
