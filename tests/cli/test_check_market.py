"""Updates compared with what a market holds: versions, archives, entrances, values."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.workspaces import DEMO, build_workspace, edit, good, olapps

GENERATION = "olares-1.12.6"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace whose app was published at 1.0.0 and 1.0.1, with its charts."""
    root = build_workspace(tmp_path_factory.mktemp("shop"))
    good("publish", cwd=root)
    return root


@pytest.fixture
def root(shop: Path, tmp_path: Path) -> Path:
    """Return a copy of it, to be changed."""
    return Path(shutil.copytree(shop, tmp_path / "ws"))


def found(root: Path, *arguments: object) -> list[dict[str, Any]]:
    options = ("--market", "dir:.market", "--no-tools", "--output", "json")
    report = olapps("check", *arguments, *options, cwd=root).json
    rules = ("version-monotonic", "version-immutable", "entrance-order", "values-new-key-guard")
    return [item for item in report["findings"] if item["rule"] in rules]


def change(root: Path, file: str, *changes: tuple[str, str]) -> str:
    """Change the rendered chart of the newer generation; return its folder."""
    folder = f"charts/{GENERATION}/{DEMO}"
    edit(root / folder / file, *changes)
    return folder


def test_what_is_on_offer_and_what_follows_it_has_no_finding(root: Path) -> None:
    assert found(root) == []
    assert found(root, "charts") == []
    path = root / "apps/demo.yaml"
    path.write_text(path.read_text().replace("ctx: 32768", "ctx: 65536"))
    good("publish", "--bump", "patch", cwd=root)
    assert found(root) == []


def test_a_version_below_the_published_one_is_an_error(root: Path) -> None:
    folder = change(root, "Chart.yaml", ('version: "1.0.1"', 'version: "0.9.0"'))
    (item,) = found(root, folder)
    assert (item["rule"], item["severity"]) == ("version-monotonic", "error")
    assert "0.9.0 is lower than the published 1.0.1" in item["message"]


def test_other_bytes_under_a_published_version_are_an_error(root: Path) -> None:
    good("pack", "--out", "dist", cwd=root)
    (path,) = (root / "dist").rglob(f"{DEMO}-1.0.1.tgz")
    assert found(root, path) == []
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1, mtime=1))
    (item,) = found(root, path)
    assert (item["rule"], item["severity"]) == ("version-immutable", "error")


@pytest.mark.parametrize(
    ("rule", "make"),
    [
        (
            "entrance-order",
            lambda root: change(
                root,
                "OlaresManifest.yaml",
                (f'entrances:\n  - name: "{DEMO}"', 'entrances:\n  - name: "chat"'),
            ),
        ),
        (
            "values-new-key-guard",
            lambda root: (
                change(root, "values.yaml", ("admin:", "cache: {size: 1}\nadmin:")),
                change(
                    root,
                    "templates/deployment.yaml",
                    (
                        "  template:\n",
                        "  revisionHistoryLimit: {{ .Values.cache.size }}\n  template:\n",
                    ),
                ),
            )[1],
        ),
    ],
)
def test_an_update_that_breaks_installed_apps_is_told(
    root: Path, rule: str, make: Callable[[Path], str]
) -> None:
    folder = make(root)
    assert rule in {item["rule"] for item in found(root, folder)}
    plain = olapps("check", folder, "--no-tools", "--output", "json", cwd=root).json
    assert rule not in {item["rule"] for item in plain["findings"]}


def test_an_app_that_the_market_does_not_know_has_nothing_to_keep(root: Path) -> None:
    folder = change(root, "Chart.yaml", ('version: "1.0.1"', 'version: "0.9.0"'))
    options = ("--market", "dir:other", "--no-tools", "--output", "json")
    report = olapps("check", folder, *options, cwd=root).json
    assert "version-monotonic" not in {item["rule"] for item in report["findings"]}


def test_a_second_entrance_in_an_update_of_a_spec_is_told_at_its_line(root: Path) -> None:
    path = root / "apps/demo.yaml"
    path.write_text(path.read_text() + "entrances:\n  - {name: more, title: More}\n")
    (item,) = found(root, "demo")
    assert (item["rule"], item["severity"]) == ("entrance-order", "warning")
    assert f"entrances were {DEMO} and are now {DEMO}, more" in item["message"]
