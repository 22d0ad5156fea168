"""Charts that others made: no false alarm on the catalogue's, every drift of a market's."""

from support.check_charts import DEPLOYMENT, MANIFEST, find, rules_of
from support.foreign_charts import catalogue_chart, legacy_market_chart

from olares_apps.findings import Severity


def test_a_chart_of_the_catalogues_kind_has_no_error() -> None:
    findings = catalogue_chart().check()
    assert [f"{f.rule}: {f.message}" for f in findings if f.severity is Severity.ERROR] == []


def test_its_warnings_are_the_known_ones() -> None:
    findings = [f for f in catalogue_chart().check() if f.severity is Severity.WARNING]
    assert rules_of(findings) == {
        "app-version-image",
        "chown-hostpath",
        "gpu-manual-limits",
        "template-function-subset",
        "values-parent-default",
    }


def test_app_version_and_version_name_are_free_text() -> None:
    chart = catalogue_chart().replaced("Chart.yaml", "b9000", "'gemma4:12b (Unsloth GGUF)'")
    assert "app-version-image" not in rules_of(chart.check())


def test_an_app_version_that_is_another_build_is_a_warning() -> None:
    found = find(catalogue_chart().check(), "app-version-image")
    assert found.severity is Severity.WARNING
    assert "b9000" in found.message
    assert "b9261" in found.message


def test_each_drift_of_a_market_chart_is_found_at_its_place() -> None:
    chart = legacy_market_chart()
    findings = chart.check()
    assert [f.rule for f in findings if f.severity is Severity.ERROR] == []
    said = {(f.rule, f.file, f.message.partition(": ")[2]) for f in findings if "text-" in f.rule}
    assert said == {
        ("text-context", MANIFEST, "context 96K, config 262144"),
        ("text-quant", MANIFEST, "quant UD-Q4_K_XL, config UD-Q3_K_XL"),
        (
            "text-build",
            MANIFEST,
            "build b8740, image docker.io/example/llama-cpp-mtp:master-ad27757",
        ),
        ("text-draft", MANIFEST, "n-max 5, config 3"),
        ("text-port", MANIFEST, "port 8080, config 8000"),
    }
    for finding in findings:
        if "text-" in finding.rule:
            piece = finding.message.split(", ")[0].split()[-1]
            assert piece in chart[MANIFEST].decode().splitlines()[(finding.line or 0) - 1]


def test_the_history_in_release_notes_is_no_drift() -> None:
    assert not [f for f in legacy_market_chart().check() if "Q4_K_M" in f.message]


def test_a_shell_default_that_differs_names_all_three_values() -> None:
    findings = legacy_market_chart().check()
    assert (
        find(findings, "shell-default-drift").message
        == "CTX_SIZE: config 262144, script default 96000"
    )
    assert find(findings, "shell-default-drift").file == DEPLOYMENT
    assert "96K" in find(findings, "text-context").message


def test_a_download_to_the_final_name_is_named() -> None:
    assert "never verifies" in find(legacy_market_chart().check(), "download-script").message
