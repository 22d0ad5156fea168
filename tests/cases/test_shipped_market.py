"""Every shipped spec, from `olapps init` to a device: one workspace, one publish, four devices."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.helm_binary import HELM_BINARIES
from support.workspaces import good, olapps

import olares_apps

SHIPPED = sorted(path.stem for path in (Path(olares_apps.__file__).parent / "apps").glob("*.yaml"))
LUCEBOX, LUCEBOX_APP = "qwen36-27b-lucebox", "luceboxqwen3627bone"
REASON = "It needs another libvgpu.so"
# Release of a device -> the generation whose charts it gets.
DEVICES = {
    "1.12.3": "olares-1.12.3",
    "1.12.5": "olares-1.12.3",
    "1.12.6": "olares-1.12.6",
    "1.12.7": "olares-1.12.6",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace of all shipped specs, as `olapps init` makes it."""
    folder = tmp_path_factory.mktemp("shipped")
    good("init", "shop", "--all", cwd=folder)
    return folder / "shop"


@pytest.fixture(scope="module")
def specs(shop: Path) -> Mapping[str, Any]:
    listed = good("list", "--output", "json", cwd=shop)
    return {item["name"]: item for item in listed.json["specs"]}


@pytest.fixture(scope="module")
def published(shop: Path) -> Iterator[Any]:
    done = good("publish", "--output", "json", cwd=shop)
    assert f"{LUCEBOX_APP}: not installable: {REASON}" in done.err
    return done.json


def test_all_of_them_are_in_the_workspace(specs: Mapping[str, Any]) -> None:
    assert sorted(specs) == SHIPPED
    assert len(SHIPPED) == 13


def test_each_renders_for_both_generations(shop: Path, specs: Mapping[str, Any]) -> None:
    good("render", cwd=shop)
    apps = sorted(item["app"] for item in specs.values())
    for generation in set(DEVICES.values()):
        assert sorted(path.name for path in (shop / "charts" / generation).iterdir()) == apps


@pytest.mark.skipif(
    "helm4" not in HELM_BINARIES, reason="no helm here: run python scripts/fetch_helm.py"
)
def test_no_check_finds_anything_with_the_real_helm(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helm").symlink_to(HELM_BINARIES["helm4"])
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    checked = good("check", "--output", "json", cwd=shop).json
    assert checked["summary"]["charts"] == 2 * len(SHIPPED)
    # Of the machine, not of an app: the device's own program is on devices alone.
    assert [item for item in checked["findings"] if item["rule"] != "tool-olares"] == []


@pytest.mark.parametrize("release", DEVICES)
def test_a_device_would_install_all_but_the_one_that_says_why_not(
    shop: Path, specs: Mapping[str, Any], published: Any, release: str
) -> None:
    synced = good("market", "sync", "--olares", release, "--output", "json", cwd=shop).json
    seen = {app["name"]: app for app in synced["apps"]}
    expected = {item["app"] for name, item in specs.items() if name != LUCEBOX}
    assert seen.keys() == expected
    assert all(app["appears"] and app["installs"] for app in seen.values()), seen
    for app in seen:
        chart = shop / "charts" / DEVICES[release] / app / "Chart.yaml"
        assert seen[app]["version"] == yaml.safe_load(chart.read_text())["version"]


def test_the_one_that_no_device_can_install_is_shown_as_such(
    shop: Path, specs: Mapping[str, Any]
) -> None:
    refused = {name for name, item in specs.items() if item["not_installable"]}
    assert refused == {LUCEBOX}
    assert f"{LUCEBOX} is not installable: {REASON}" in good("list", cwd=shop).err
    assert f"not installable: {REASON}" in good("show", LUCEBOX, cwd=shop).out
    alone = olapps("publish", LUCEBOX, cwd=shop)
    assert alone.code == 1
    assert f"{LUCEBOX_APP}: not installable: {REASON}" in alone.err
    good("render", LUCEBOX, cwd=shop)
    for generation in set(DEVICES.values()):
        chart = shop / "charts" / generation / LUCEBOX_APP
        manifest = yaml.safe_load((chart / "OlaresManifest.yaml").read_text())
        first = manifest["spec"]["fullDescription"].split("\n")[0]
        assert REASON in first


def test_a_second_publish_has_nothing_to_do(shop: Path, published: Any) -> None:
    assert published["changed"] is True
    again = good("publish", "--output", "json", cwd=shop).json
    assert again["changed"] is False
    assert {app["action"] for app in again["apps"]} == {"unchanged"}


@pytest.mark.parametrize("arguments", [("--empty",), ("--spec", "qwen36-27b-mtp-pr22673")])
def test_a_small_workspace_is_complete_too(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    made = good("init", *arguments, "--output", "json", cwd=tmp_path).json
    assert ("images/llamacpp-mtp-pr22673.yaml" in made["files"]) is ("--spec" in arguments)
    checked = good("check", "--no-tools", "--output", "json", cwd=tmp_path).json
    assert checked["findings"] == []
    good("publish", cwd=tmp_path)
    synced = good("market", "sync", "--olares", "1.12.7", "--output", "json", cwd=tmp_path).json
    assert [app["installs"] for app in synced["apps"]] == [True]


def test_the_example_teaches_the_fields_that_every_spec_has(tmp_path: Path) -> None:
    good("init", "--empty", cwd=tmp_path)
    text = (tmp_path / "apps/example.yaml").read_text()
    required = json.loads(good("schema", cwd=tmp_path).out)["required"]
    assert required
    assert set(required) <= yaml.safe_load(text).keys()
    assert text.count("#") > 20


def test_three_ways_to_begin_exclude_each_other(tmp_path: Path) -> None:
    for pair in (("--all", "--empty"), ("--all", "--spec", "x"), ("--empty", "--spec", "x")):
        refused = olapps("init", *pair, cwd=tmp_path)
        assert refused.code == 2
        assert "give one of them" in refused.err
    assert list(tmp_path.iterdir()) == []
