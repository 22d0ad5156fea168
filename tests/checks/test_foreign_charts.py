"""Charts that others made: no false alarm on the catalogue's, every drift of a market's."""

import pytest
import yaml
from support.check_charts import (
    DEPLOYMENT,
    MANIFEST,
    Chart,
    find,
    plain_chart,
    plain_legacy_chart,
    rules_of,
    vllm_chart,
)
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


def test_a_value_that_translations_repeat_is_told_once_with_their_files() -> None:
    chart = legacy_market_chart()
    files = []
    for locale, text in (("en-US", "A 96K context."), ("zh-CN", "支持 96K 上下文。")):
        files.append(f"i18n/{locale}/{MANIFEST}")
        page = (
            f"metadata: {{title: Demo, description: {text}}}\nspec: {{fullDescription: {text}}}\n"
        )
        chart = chart.with_file(files[-1], page)
    found = find(chart.check(), "text-context")
    assert found.file == MANIFEST
    assert found.message.endswith(f"context 96K, config 262144 (also in {', '.join(files)})")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Runs at 128K.", {("text-context", "context 128K, config 262144")}),
        ("At 524K, with MTP.", {("text-context", "context 524K, config 262144")}),
        ("At 64K, with MTP.", set()),
        (
            "64K context on b8667, Q4_K_M",
            {
                ("text-context", "context 64K, config 262144"),
                ("text-build", "build b8667"),
                ("text-quant", "quant Q4_K_M, config UD-Q3_K_XL"),
            },
        ),
        ("74 t/s at 128K.", set()),
        ("At 262K, with MTP.", set()),
        ("Trained at 64K.", set()),
    ],
)
def test_short_notes_of_a_page_are_read_as_warnings(text: str, said: set[tuple[str, str]]) -> None:
    chart = legacy_market_chart()
    data = yaml.safe_load(chart[MANIFEST])
    data["metadata"]["description"], data["spec"]["fullDescription"] = "Fine.", text
    data["spec"]["upgradeDescription"] = "Fine."
    chart = chart.with_file(MANIFEST, yaml.safe_dump(data, allow_unicode=True))
    found = [item for item in chart.check() if item.rule.startswith("text-")]
    assert {item.rule for item in found} == {rule for rule, _ in said}
    assert {item.severity for item in found} <= {Severity.WARNING}
    for rule, message in said:
        assert message in find(found, rule).message


def test_a_download_to_the_final_name_is_named() -> None:
    assert "never verifies" in find(legacy_market_chart().check(), "download-script").message


def test_numbers_for_cpu_are_accepted_with_a_warning() -> None:
    """C178: half a core without quotes, a version that is text without quotes."""
    chart = plain_legacy_chart().replaced(MANIFEST, "requiredCpu: '1'", "requiredCpu: 1.5")
    chart = chart.replaced(MANIFEST, "version: '1.4.2'", "version: 1.4.2")
    chart = chart.replaced("Chart.yaml", "appVersion: '1.4.2'", 'appVersion: "17"')
    found = find(chart.check(), "quoted-scalars")
    assert found.severity is Severity.WARNING
    assert "spec.requiredCpu must be a quoted string (YAML read 1.5)" in found.message


def test_hyphenated_workloads_read_by_index_are_accepted() -> None:
    """C176: several workloads, one with a hyphen in its name."""
    chart = plain_chart()
    text = chart[DEPLOYMENT].decode()
    second = text.replace("name: exampleapp\n", "name: my-worker\n", 1)
    second = second.replace(
        ".Values.workloads.exampleapp.replicaCount",
        '(index .Values.workloads "my-worker").replicaCount',
    )
    second = second.replace("app: exampleapp", "app: my-worker")
    chart = (
        chart.with_file("templates/worker.yaml", second)
        .replaced(MANIFEST, "{exampleapp: 1}", "{exampleapp: 1, my-worker: 1}")
        .replaced(
            "values.yaml",
            "{exampleapp: {replicaCount: 1}}",
            "{exampleapp: {replicaCount: 1}, my-worker: {replicaCount: 1}}",
        )
        .replaced(MANIFEST, "requiredCpu: '1'", "requiredCpu: '2'")
        .replaced(MANIFEST, "limitedCpu: '4'", "limitedCpu: '8'")
        .replaced(MANIFEST, "requiredMemory: 2Gi", "requiredMemory: 4Gi")
        .replaced(MANIFEST, "limitedMemory: 8Gi", "limitedMemory: 16Gi")
    )
    assert chart.check() == []


def test_an_icon_behind_a_short_commit_is_named() -> None:
    """C180: a CDN that serves from a repository wants the whole commit."""
    icon = "https://cdn.example.org/gh/somebody/app@0a1b2c3/icon.png"
    chart = plain_chart().replaced(
        MANIFEST, "https://market.example.org/icons/exampleapp.png", icon
    )
    assert "@0a1b2c3" in find(chart.check(), "icon-short-commit").message


def test_an_archive_with_a_hyphenated_name_is_no_app() -> None:
    """C174: an archive that lies around with a name that no device takes."""
    chart = Chart(
        {
            path: data.replace(b"exampleapp", b"vllm-ministral")
            for path, data in plain_chart().items()
        }
    )
    assert "'vllm-ministral' is invalid" in find(chart.check(), "folder-name").message


def test_a_server_that_is_not_known_is_judged_like_any_app() -> None:
    """C183: other servers have no flag tables; their chart is checked all the same."""
    chart = vllm_chart().replaced(
        DEPLOYMENT,
        "          args:\n            - --model\n",
        "          command: [python3, -m, sglang.launch_server]\n"
        "          args:\n            - --no-such-flag\n            - --model\n",
    )
    assert rules_of(chart.check()) == set()
    chart = chart.replaced(MANIFEST, "    port: 8080", "    port: 3000")
    assert rules_of(chart.check()) == {"entrance-host-service"}
