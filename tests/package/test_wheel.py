"""An installed wheel works anywhere: templates and specs travel inside it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it into a folder of its own."""
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = out.glob("olapps-*.whl")
    zipfile.ZipFile(wheel).extractall(out / "site")
    return out / "site"


def run(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line of the unpacked wheel, away from the repository."""
    code = (
        f"import sys; sys.path[:] = [p for p in sys.path if p != {str(ROOT)!r}]; "
        f"sys.path.insert(0, {str(site)!r}); from olares_apps.cli import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True
    )


def test_a_wheel_holds_templates_specs_and_data(installed: Path) -> None:
    package = installed / "olares_apps"
    assert (package / "_templates" / "chart" / "templates" / "deployment.yaml").is_file()
    assert (package / "_templates" / "scripts" / "download.sh").is_file()
    assert (package / "apps" / "qwen36-35b-a3b-mtp.yaml").is_file()
    assert (package / "_images" / "llamacpp-mtp-master.yaml").is_file()
    assert (package / "cli" / "example.yaml").is_file()
    assert (package / "py.typed").is_file()
    assert (package / "_worker" / "src" / "index.ts").is_file()
    assert (package / "_worker" / "package-lock.json").is_file()
    assert (package / "_worker" / "scripts" / "start.mjs").is_file()
    assert list((package / "hardware").rglob("olares-one.yaml"))
    assert list((package / "engines").rglob("b9254.json"))


def test_a_workspace_of_the_installed_wheel_renders_the_committed_charts(
    installed: Path, tmp_path: Path
) -> None:
    made = run(installed, tmp_path, "init", "ws", "--spec", "qwen36-27b-mtp")
    assert made.returncode == 0, made.stderr
    rendered = run(installed, tmp_path / "ws", "render")
    assert rendered.returncode == 0, rendered.stderr
    assert (tmp_path / "ws/images/llamacpp-mtp-master.yaml").read_bytes() == (
        ROOT / "images/llamacpp-mtp-master.yaml"
    ).read_bytes()
    path = Path("charts/olares-1.12.6/llamacppqwen36mtpone/templates/deployment.yaml")
    assert (tmp_path / "ws" / path).read_bytes() == (ROOT / path).read_bytes()


def test_all_specs_and_the_example_publish_from_the_installed_wheel(
    installed: Path, tmp_path: Path
) -> None:
    for option in ("--all", "--empty"):
        folder = tmp_path / option.strip("-")
        made = run(installed, tmp_path, "init", folder.name, option)
        assert made.returncode == 0, made.stderr
        published = run(installed, folder, "publish")
        assert published.returncode == 0, published.stderr
        assert "read back and equal" in published.stdout
