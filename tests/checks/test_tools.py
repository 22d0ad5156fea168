"""Other programs as rules: real Helm, Kubernetes schemas, a stand-in for the device's linter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.check_charts import (
    DEPLOYMENT,
    MANIFEST,
    Chart,
    find,
    flagship,
    legacy_flagship,
    plain_chart,
    rules_of,
    vllm_chart,
)
from support.helm_binary import helm_params

from olares_apps.checks import Group, SystemTools, ToolRun, run_rules
from olares_apps.findings import Finding, Severity

SERVICE = "templates/service.yaml"


@dataclass
class Shelf:
    """Tools that answer from a table and remember what they were asked."""

    answers: Mapping[str, ToolRun] = field(default_factory=dict)
    asked: list[Sequence[str]] = field(default_factory=list)

    def find(self, name: str) -> str | None:
        return name if name in self.answers else None

    def run(self, argv: Sequence[str], folder: Path) -> ToolRun:
        self.asked.append(argv)
        return self.answers[argv[0]]


def check(chart: Chart, tools: object, rule: str) -> list[Finding]:
    return run_rules(chart.context(tools=tools), select=[rule])


def test_without_tools_nothing_is_said() -> None:
    assert run_rules(flagship().context(), groups=[Group.TOOL]) == []


def test_an_absent_program_is_one_information_each() -> None:
    findings = run_rules(flagship().context(tools=Shelf()), groups=[Group.TOOL])
    assert [(f.rule, f.severity) for f in findings] == [
        ("tool-helm", Severity.INFO),
        ("tool-olares", Severity.INFO),
    ]
    assert all("is not on this machine" in f.message for f in findings)


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("make", [flagship, legacy_flagship, plain_chart, vllm_chart])
def test_real_helm_accepts_the_clean_charts(helm: Path, make: type[Chart]) -> None:
    tools = SystemTools({"OLAPPS_HELM": str(helm), "PATH": "/usr/bin:/bin"})
    assert check(make(), tools, "tool-helm") == []


@pytest.mark.parametrize("helm", helm_params())
def test_what_real_helm_refuses_is_an_error_with_its_place(helm: Path) -> None:
    tools = SystemTools({"OLAPPS_HELM": str(helm), "PATH": "/usr/bin:/bin"})
    chart = flagship().replaced(SERVICE, "spec:\n", 'spec:\n  x: {{ fail "not today" }}\n')
    findings = check(chart, tools, "tool-helm")
    assert {f.severity for f in findings} == {Severity.ERROR}
    assert any("not today" in f.message and f.file == SERVICE and f.line == 9 for f in findings)


def test_a_program_that_cannot_start_is_an_error() -> None:
    tools = SystemTools({"OLAPPS_HELM": "/nonexistent/helm", "PATH": ""})
    findings = check(flagship(), tools, "tool-helm")
    assert any("cannot be started" in f.message for f in findings)


@pytest.mark.parametrize("make", [flagship, legacy_flagship, plain_chart, vllm_chart])
def test_the_objects_of_clean_charts_fit_the_schemas(make: type[Chart]) -> None:
    assert check(make(), Shelf(), "tool-kubernetes") == []


def test_an_object_outside_its_schema_is_named() -> None:
    chart = flagship().replaced(DEPLOYMENT, "replicas: {{", "replicaz: 1\n  replicas: {{")
    found = find(check(chart, Shelf(), "tool-kubernetes"), "tool-kubernetes")
    assert "replicaz" in found.message
    assert found.file == DEPLOYMENT


def test_the_devices_linter_gets_the_packed_archive(tmp_path: Path) -> None:
    script = tmp_path / "olares-cli"
    script.write_text(
        "#!/bin/sh\n"
        'tar -tzf "$3" | grep -q /OlaresManifest.yaml || exit 9\n'
        'echo "OlaresManifest.yaml: spec.accelerator[0] lacks limitedDisk"\n'
        "exit 1\n"
    )
    script.chmod(0o755)
    tools = SystemTools({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    found = find(check(flagship(), tools, "tool-olares"), "tool-olares")
    assert found.severity is Severity.ERROR
    assert "lacks limitedDisk" in found.message
    assert found.file == MANIFEST


def test_a_linter_that_is_content_says_nothing() -> None:
    shelf = Shelf({"olares-cli": ToolRun(0, "ok")})
    assert check(flagship(), shelf, "tool-olares") == []
    assert [argv[:3] for argv in shelf.asked] == [["olares-cli", "chart", "lint"]]
    assert str(shelf.asked[0][3]).endswith("llamacppqwen36a3bone-1.0.3.tgz")


def test_programs_do_not_get_secrets_or_cluster_settings(tmp_path: Path) -> None:
    script = tmp_path / "olares-cli"
    script.write_text("#!/bin/sh\nenv\nexit 1\n")
    script.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HF_TOKEN": "hf_x", "KUBECONFIG": "/k"}
    text = "".join(f.message for f in check(flagship(), SystemTools(environ), "tool-olares"))
    assert "PATH=" in text
    assert "hf_x" not in text
    assert "KUBECONFIG" not in text


def test_unsafe_paths_of_a_chart_are_not_written(tmp_path: Path) -> None:
    tools = SystemTools({"OLAPPS_HELM": "/bin/true", "PATH": "/usr/bin:/bin"})
    chart = flagship().with_file("../../escaped.yaml", "x").with_file("/escaped.yaml", "x")
    assert rules_of(check(chart, tools, "tool-helm")) == set()
    assert not (tmp_path.parent / "escaped.yaml").exists()
    assert not Path("/escaped.yaml").exists()
