"""What cannot be read is told once: nothing is said of what depends on it."""

import gzip
import re
from collections.abc import Callable

import pytest
from support.check_charts import (
    DEPLOYMENT,
    MANIFEST,
    PROFILE,
    Chart,
    flagship,
    legacy_flagship,
    plain_chart,
    vllm_chart,
)
from support.foreign_charts import catalogue_chart, legacy_market_chart

from olares_apps.checks import ChartContext, read_archive, run_rules
from olares_apps.findings import Finding
from olares_apps.render.archive import pack
from olares_apps.render.chart import ChartTree

BASES = {
    "flagship": flagship(),
    "legacy": legacy_flagship(),
    "vllm": vllm_chart(),
    "plain": plain_chart(),
    "catalogue": Chart(catalogue_chart()),
    "market": Chart(legacy_market_chart()),
}
NOT_READABLE = {
    "syntax": b"a: [\n",
    "empty": b"",
    "comment": b"# nothing\n",
    "list": b"- 1\n",
    "scalar": b"hello\n",
    "tab": b"a:\n\tb: 1\n",
    "utf-16": "name: x\n".encode("utf-16"),
    "latin-1": "name: caf\u00e9 [\n".encode("latin-1"),
    "key twice": b"name: x\nname: y\n",
}


def fresh(base: Chart, changed: Chart) -> list[Finding]:
    """Return the findings that a chart has only since it was changed."""
    known = {(f.rule, f.message) for f in base.check()}
    return [f for f in changed.check() if (f.rule, f.message) not in known]


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("content", NOT_READABLE.values(), ids=NOT_READABLE)
@pytest.mark.parametrize("path", [MANIFEST, "Chart.yaml"])
def test_a_file_that_cannot_be_read_is_the_only_finding(
    base: Chart, content: bytes, path: str
) -> None:
    (found,) = fresh(base, base.with_file(path, content))
    assert found.rule in ("manifest-parse", "file-encoding")
    assert found.file == path


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("path", [MANIFEST, "Chart.yaml", "values.yaml"])
def test_a_file_that_is_missing_is_the_only_finding(base: Chart, path: str) -> None:
    (found,) = fresh(base, base.without(path))
    assert (found.rule, found.message) == ("layout-required-files", f"{path} is missing")


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_a_chart_without_templates_has_one_finding(base: Chart) -> None:
    bare = Chart({path: data for path, data in base.items() if not path.startswith("templates/")})
    (found,) = fresh(base, bare)
    assert found.message == "templates/ is missing or empty"


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize(
    ("piece", "rule"),
    [
        (b"{{ if", "chart-renders"),
        (b"{{ fail `no` }}", "chart-renders"),
        (b"\n\xff\n", "file-encoding"),
    ],
    ids=["syntax", "fail", "encoding"],
)
def test_a_template_that_does_not_render_is_the_only_finding(
    base: Chart, piece: bytes, rule: str
) -> None:
    path = next(name for name in sorted(base) if re.match(r"templates/.*\.yaml", name))
    found = fresh(base, base.with_file(path, base[path] + piece))
    assert {(f.rule, f.file) for f in found} == {(rule, path)}


def test_other_causes_are_told_beside_it() -> None:
    chart = (
        flagship()
        .with_file("Chart.yaml", b"")
        .with_file(MANIFEST, b"a: [\n")
        .with_file("notes/.DS_Store", b"x")
    )
    assert {(f.rule, f.file) for f in chart.check()} == {
        ("manifest-parse", "Chart.yaml"),
        ("manifest-parse", MANIFEST),
        ("stray-file", "notes/.DS_Store"),
    }


def test_objects_are_still_judged_without_a_manifest() -> None:
    chart = flagship().without(MANIFEST).replaced(DEPLOYMENT, "type: Recreate", "type: Rolling")
    assert {f.rule for f in chart.check()} == {"layout-required-files", "hostpath-strategy"}


def cut_archives() -> dict[str, bytes]:
    data = pack(ChartTree("exampleapp", "1.4.2", "", plain_chart())).data
    tar = gzip.decompress(data)
    cuts = {f"gzip at {at}": data[:at] for at in range(0, len(data), max(1, len(data) // 17))}
    tars = {
        f"tar after {at}": gzip.compress(tar[:at], mtime=0)
        for at in range(512, len(tar) - 1024, 512)
    }
    tars |= {
        f"tar at {at}": gzip.compress(tar[:at], mtime=0)
        for at in range(100, len(tar) - 1024, max(1, len(tar) // 17))
    }
    return cuts | tars


CUT = cut_archives()


@pytest.mark.parametrize("data", CUT.values(), ids=CUT)
def test_an_archive_that_was_cut_has_one_finding(data: bytes) -> None:
    assert_only_packing(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"<!DOCTYPE html><title>404</title>",
        lambda: gzip.compress(b"hello", mtime=0),
        lambda: gzip.compress(b"", mtime=0),
        lambda: gzip.compress(bytes(10240), mtime=0),
        lambda: b"\x1f\x8b" + bytes(40),
        lambda: b"PK\x03\x04" + bytes(40),
    ],
    ids=["html", "text", "nothing", "zeros", "damaged", "zip"],
)
def test_what_is_no_archive_has_one_finding(make: Callable[[], bytes]) -> None:
    assert_only_packing(make())


def assert_only_packing(data: bytes) -> None:
    source = read_archive(data, "exampleapp-1.4.2.tgz")
    findings = run_rules(
        ChartContext(source.files, folder=source.folder, listing=source.listing, profile=PROFILE)
    )
    (found,) = findings
    assert found.rule == "archive-single-gzip"
