"""`olapps check` of charts that anybody made: folders, archives, many of them, hostile ones."""

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

import pytest
import yaml
from support.check_charts import DEPLOYMENT, MANIFEST, Chart, plain_chart, plain_legacy_chart
from support.workspaces import good, olapps

from olares_apps.render.archive import pack
from olares_apps.render.chart import ChartTree

ROOT = Path(__file__).resolve().parents[2]
APP, TGZ = "exampleapp", "exampleapp-1.4.2.tgz"
ANNOTATION = re.compile(r"::(\w+) file=([^,]+?)(?:,line=(\d+))?,title=([\w-]+)[^:]*::(.*)")
# The command with a bound on its memory: what a bomb needs beyond it ends in a MemoryError.
BOUNDED = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_AS, (900 * 2**20, 900 * 2**20))\n"
    "from olares_apps.cli.app import run\n"
    "sys.exit(run(sys.argv[1:]))\n"
)


def unpacked(chart: Chart, folder: Path) -> Path:
    for path, data in chart.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return folder


def packed(chart: Chart, folder: Path, name: str = TGZ) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(pack(ChartTree(APP, "1.4.2", "", chart)).data)
    return folder / name


def broken(chart: Chart) -> Chart:
    return chart.replaced(DEPLOYMENT, "type: Recreate", "type: RollingUpdate")


def annotations(*arguments: object, cwd: Path) -> list[tuple[str, ...]]:
    outcome = olapps("check", *arguments, "--no-tools", "--output", "github", cwd=cwd)
    return ANNOTATION.findall(outcome.out)


class TestPlaces:
    def test_a_finding_in_an_archive_names_the_archive_and_the_member(self, tmp_path):
        packed(broken(plain_chart()), tmp_path / "dist")
        (found,) = annotations(f"dist/{TGZ}", cwd=tmp_path)
        level, file, line, rule, message = found
        assert (level, file, line, rule) == ("error", f"dist/{TGZ}", "", "hostpath-strategy")
        assert re.match(rf"{DEPLOYMENT}:\d+: ", message)

    def test_a_finding_in_a_folder_names_a_file_that_is_there(self, tmp_path):
        unpacked(broken(plain_chart()), tmp_path / "charts" / APP)
        for where in (f"charts/{APP}", "charts", "."):
            (found,) = annotations(where, cwd=tmp_path)
            file, line = tmp_path / found[1], int(found[2])
            assert file.read_text().splitlines()[line - 1].strip().startswith("strategy:")

    def test_json_and_text_name_the_same_place(self, tmp_path):
        packed(broken(plain_chart()), tmp_path)
        report = olapps("check", TGZ, "./" + TGZ, "--no-tools", "--output", "json", cwd=tmp_path)
        assert report.json["summary"]["charts"] == 1
        assert [found["file"] for found in report.json["findings"]] == [TGZ]
        assert f"hostpath-strategy  {TGZ}" in olapps("check", TGZ, "--no-tools", cwd=tmp_path).out

    def test_an_archive_as_a_whole_is_named_without_a_member(self, tmp_path):
        path = packed(plain_chart(), tmp_path)
        path.write_bytes(path.read_bytes()[:300])
        (found,) = annotations(TGZ, cwd=tmp_path)
        assert found[1] == TGZ
        assert found[4].startswith(f"archive {TGZ} is truncated")


class TestShippedCharts:
    """The project's own charts, as somebody who has only the charts sees them."""

    def test_as_folders_they_have_no_finding(self):
        outcome = good("check", "charts", "--no-tools", cwd=ROOT)
        assert "26 charts checked: no findings" in outcome.out

    def test_as_archives_they_have_no_finding(self, tmp_path):
        for path in sorted((ROOT / "charts").glob("*/*/Chart.yaml")):
            files = {
                file.relative_to(path.parent).as_posix(): file.read_bytes()
                for file in path.parent.rglob("*")
                if file.is_file()
            }
            version = yaml.safe_load(files["Chart.yaml"])["version"]
            chart = ChartTree(path.parent.name, version, path.parent.parent.name, files)
            folder = tmp_path / chart.generation
            folder.mkdir(exist_ok=True)
            (folder / f"{chart.app}-{version}.tgz").write_bytes(pack(chart).data)
        outcome = good("check", ".", "--no-tools", cwd=tmp_path)
        assert "26 charts checked: no findings" in outcome.out


class TestManyCharts:
    def test_every_chart_below_a_folder_is_checked(self, tmp_path):
        unpacked(plain_chart(), tmp_path / "all/new" / APP)
        unpacked(plain_legacy_chart(), tmp_path / "all/old" / APP)
        packed(plain_chart(), tmp_path / "all/dist")
        unpacked(broken(plain_chart()), tmp_path / "all/.cache" / APP)
        outcome = good("check", "all", "--no-tools", cwd=tmp_path)
        assert "3 charts checked: no findings" in outcome.out

    def test_each_has_findings_of_its_own(self, tmp_path):
        unpacked(broken(plain_chart()), tmp_path / "all/one" / APP)
        unpacked(plain_chart().without("values.yaml"), tmp_path / "all/two" / APP)
        packed(plain_chart().without(MANIFEST), tmp_path / "all/dist")
        (tmp_path / "all/dist/cut-1.0.0.tgz").write_bytes(b"\x1f\x8b\x08")
        found = {(file, rule) for _, file, _, rule, _ in annotations("all", cwd=tmp_path)}
        assert found == {
            (f"all/one/{APP}/{DEPLOYMENT}", "hostpath-strategy"),
            (f"all/two/{APP}/values.yaml", "layout-required-files"),
            (f"all/dist/{TGZ}", "layout-required-files"),
            ("all/dist/cut-1.0.0.tgz", "archive-single-gzip"),
        }

    def test_a_chart_inside_a_chart_is_no_chart_of_its_own(self, tmp_path):
        root = unpacked(plain_chart(), tmp_path / APP)
        unpacked(
            Chart({"Chart.yaml": b"apiVersion: v2\nname: sub\nversion: 1.0.0\n"}),
            root / "charts/sub",
        )
        report = olapps("check", ".", "--no-tools", "--output", "json", cwd=tmp_path).json
        assert report["summary"]["charts"] == 1

    @pytest.mark.parametrize("name", ["empty", "strange"])
    def test_a_folder_without_a_chart_is_said_to_be_none(self, tmp_path, name):
        (tmp_path / name).mkdir()
        if name == "strange":
            (tmp_path / name / "notes.md").write_text("hello")
        outcome = olapps("check", name + "/", cwd=tmp_path)
        assert outcome.code == 2
        assert f"{name} is no chart" in outcome.err
        assert "hint:" in outcome.err


def tar_of(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for info, data in entries:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def with_entry(name: str, **facts: object) -> bytes:
    """Return a good archive with one more entry."""
    extra = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(extra, key, value)
    members = [(tarfile.TarInfo(f"{APP}/{path}"), data) for path, data in plain_chart().items()]
    return gzip.compress(tar_of(*members, (extra, b"")), mtime=0)


def zeros() -> bytes:
    """Return a gzip file of 10 GiB of zeros: one deflated block, many times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(bytes(16 * 2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(16 * 2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * 639


def very_many_files() -> bytes:
    """Return an archive of 100,000 files."""
    headers = b"".join(tarfile.TarInfo(f"{APP}/notes/{n}.md").tobuf() for n in range(2500))
    chart = tar_of(*((tarfile.TarInfo(f"{APP}/{p}"), d) for p, d in plain_chart().items()))
    while chart.endswith(bytes(512)):
        chart = chart[:-512]
    return gzip.compress(chart + headers * 40 + bytes(1024), 1, mtime=0)


HOSTILE = {
    "a path upwards": (lambda: with_entry(f"{APP}/../../evil"), "archive-paths"),
    "an absolute path": (lambda: with_entry("/tmp/evil"), "archive-paths"),
    "a link": (
        lambda: with_entry(f"{APP}/x.yaml", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        "archive-links",
    ),
    "a hard link": (
        lambda: with_entry(f"{APP}/x.yaml", type=tarfile.LNKTYPE, linkname="../../x"),
        "archive-links",
    ),
    "ten gigabytes of zeros": (zeros, "archive-size"),
    "100,000 files": (very_many_files, "archive-size"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_ends_in_one_cause_and_bounded_memory(tmp_path, name):
    make, rule = HOSTILE[name]
    (tmp_path / TGZ).write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, "check", TGZ, "--no-tools", "--output", "github"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    found = ANNOTATION.findall(done.stdout)
    assert {(level, file, name) for level, file, _, name, _ in found} == {("error", TGZ, rule)}
    assert sorted(path.name for path in tmp_path.rglob("*")) == [TGZ]


BAD_CHARTS = {
    "not UTF-8": (
        lambda chart: chart.with_file(MANIFEST, chart[MANIFEST] + b"# caf\xe9\n"),
        {("file-encoding", MANIFEST)},
    ),
    "loops": (
        lambda chart: chart.with_file(
            "templates/x.yaml",
            "{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}",
        ),
        {("chart-renders", "templates/x.yaml"), ("template-function-subset", "templates/x.yaml")},
    ),
    "includes itself": (
        lambda chart: chart.with_file(
            "templates/x.yaml", '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}'
        ),
        {("chart-renders", "templates/x.yaml")},
    ),
    "fails": (
        lambda chart: chart.with_file("templates/x.yaml", '{{ fail "not today" }}'),
        {("chart-renders", "templates/x.yaml")},
    ),
}


@pytest.mark.parametrize("name", BAD_CHARTS)
def test_a_chart_that_cannot_be_rendered_says_why_once(tmp_path, name):
    edit, expected = BAD_CHARTS[name]
    unpacked(edit(plain_chart()), tmp_path / APP)
    found = annotations(APP, cwd=tmp_path)
    assert {(rule, file.removeprefix(f"{APP}/")) for _, file, _, rule, _ in found} == expected
    assert len(found) == len(expected)


def test_a_file_that_cannot_be_opened_is_said(tmp_path):
    outcome = olapps("check", "gone.tgz", cwd=tmp_path)
    assert outcome.code == 2
    assert "gone.tgz cannot be read" in outcome.err


def test_a_folder_that_packs_into_too_much_is_told_before_it_is_packed(tmp_path: Path) -> None:
    chart = tmp_path / "llamacppqwen36a3bone"
    shutil.copytree(ROOT / "charts/olares-1.12.6/llamacppqwen36a3bone", chart)
    (chart / "templates/big.yaml").write_text(f"# {os.urandom(1_500_000).hex()}\n")
    outcome = olapps("check", "--no-tools", "--output", "json", chart, cwd=tmp_path)
    assert outcome.code == 1
    assert "archive-size" in {item["rule"] for item in outcome.json["findings"]}
