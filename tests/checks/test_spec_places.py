"""A finding about a value of the spec points at the spec's line; everything else at the chart's."""

from typing import Any

import pytest
from support.charts import NEW, make_tree
from support.check_charts import (
    APP,
    DEPLOYMENT,
    MANIFEST,
    PROFILE,
    Chart,
    find,
    flagship,
    flagship_spec,
    plain_chart,
    vllm_chart,
)
from support.mutation import IMAGE, swap, swaps
from support.mutations import MUTATIONS

from olares_apps.checks import ChartContext, ImageFacts, run_rules
from olares_apps.checks.places import line_of_path
from olares_apps.findings import Finding

SPEC_FILE = "apps/qwen36-35b-a3b-mtp.yaml"
WHOLE_FILES: set[str] = set()


def check_spec(changes: dict[str, Any], **more: Any) -> tuple[list[Finding], list[str]]:
    """Return the findings of a spec's chart, and the lines of the spec's file."""
    loaded = flagship_spec(changes)
    tree = make_tree(NEW, changes)
    context = ChartContext.of_tree(tree, spec=loaded, profile=PROFILE, **more)
    return run_rules(context), loaded.text.splitlines()


OF_THE_SPEC: dict[str, tuple[dict[str, Any], str, str, dict[str, Any]]] = {
    "a flag that the build does not know": (
        {"engine.extra_args": ["--no-warmup", "--fused-gdn", "1"]},
        "flag-unknown",
        "- --fused-gdn",
        {},
    ),
    "a value that belongs to no flag": (
        {"engine.extra_args": ["--no-warmup", "stray"]},
        "flag-unknown",
        "- stray",
        {},
    ),
    "a bad value of a further argument": (
        {"engine.extra_args": ["--no-warmup", "--split-mode", "diagonal"]},
        "flag-bad-value",
        "- diagonal",
        {},
    ),
    "a removed flag": ({"engine.extra_args": ["--draft-max", "3"]}, "flag-removed", "--draft-", {}),
    "a cache type": (
        {"engine.kv": {"k": "q4_0", "v": "turbo4"}},
        "flag-bad-value",
        "v: turbo4",
        {},
    ),
    "two settings that exclude each other": (
        {"engine.flash_attn": "off"},
        "quantised-v-cache-needs-flash-attention",
        "v: q4_0",
        {},
    ),
    "sizes of batches": ({"engine.ubatch": 1024}, "ubatch-above-batch", "ubatch: 1024", {}),
    "a floating tag": (
        {"engine.image": "docker.io/example/llama-server:latest"},
        "image-public-fixed",
        "image: docker.io/example/llama-server:latest",
        {},
    ),
    "an image whose build has no table": (
        {"engine.image": "docker.io/example/llama-server:main-0000001"},
        "flag-table-missing",
        "image: docker.io/example/llama-server:main-0000001",
        {},
    ),
    "an image for a newer CUDA": (
        {},
        "cuda-ceiling",
        f"image: {IMAGE}",
        {"images": {IMAGE: ImageFacts(cuda="13.9")}},
    ),
    "an image without kernels for the card": (
        {},
        "compute-capability",
        f"image: {IMAGE}",
        {"images": {IMAGE: ImageFacts(archs=("sm_80",))}},
    ),
    "GPU memory": ({"resources.gpu_memory": "1Gi"}, "gpu-need-understated", "gpu_memory: 1Gi", {}),
    "the memory limit": (
        {"resources.memory_limit": "12Gi", "resources.memory": "8Gi"},
        "memory-limit-below-model",
        "memory_limit: 12Gi",
        {},
    ),
    "the disk": ({"resources.disk": "10Gi"}, "disk-below-files", "disk: 10Gi", {}),
    "the prompt cache": (
        {"engine.cache_ram": 60000},
        "memory-limit-below-model",
        "cache_ram: 60000",
        {},
    ),
    "a variable": (
        {"engine.env": {"A": "1", "B": "None"}},
        "template-residue",
        "B: None",
        {},
    ),
    "a text": ({"text.about": "Fine.\n\nUses 64K context."}, "text-context", "64K", {}),
}


@pytest.mark.parametrize("name", OF_THE_SPEC)
def test_a_value_of_the_spec_is_shown_in_the_spec(name: str) -> None:
    changes, rule, piece, more = OF_THE_SPEC[name]
    findings, lines = check_spec(changes, **more)
    found = [f for f in findings if f.rule == rule]
    assert found, [f"{f.rule} {f.message}" for f in findings]
    for finding in found:
        assert (finding.file, finding.line is not None) == (SPEC_FILE, True), finding
        assert piece in lines[(finding.line or 0) - 1], (finding.line, lines[finding.line or 0])


def test_a_default_is_shown_at_the_part_of_the_spec_that_leaves_it_out() -> None:
    loaded = flagship_spec({"resources": {"gpu_memory_parts": [{"part": "all", "gb": 30.0}]}})
    context = ChartContext.of_tree(make_tree(NEW), spec=loaded, profile=PROFILE)
    found = find(run_rules(context, select=["gpu-need-understated"]), "gpu-need-understated")
    assert found.file == SPEC_FILE
    assert loaded.text.splitlines()[(found.line or 0) - 1] == "resources:"


def line(chart: Chart, file: str, number: int | None) -> str:
    """Return the text of a line, which must be known."""
    assert number is not None
    return chart[file].decode().splitlines()[number - 1].strip()


PROBE = '            httpGet:\n              path: "/health"\n              port: 8000\n'
TWO = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: "{{ .Release.Namespace }}"}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stray, namespace: "{{ .Release.Namespace }}-extra"}
data: {a: b}
"""

OF_THE_CHART = {
    "a probe's port": (
        flagship,
        lambda chart: chart.with_file(
            DEPLOYMENT,
            chart[DEPLOYMENT]
            .decode()
            .replace("              port: 8000\n", "              port: 81\n"),
        ),
        "port-agreement",
        ["port: 81", "port: 81"],
    ),
    "a workload that workloadReplicas leaves out": (
        plain_chart,
        swap(MANIFEST, "workloadReplicas: {exampleapp: 1}", "workloadReplicas: {other: 1}"),
        "workload-replicas-match",
        ["workloadReplicas: {other: 1}", "name: exampleapp"],
    ),
    "an argument that is not there": (
        flagship,
        swap(DEPLOYMENT, '            - "--parallel"\n            - "1"\n', ""),
        "parallel-unset",
        ["args:"],
    ),
    "a foreign namespace": (
        plain_chart,
        lambda chart: chart.with_file("templates/two.yaml", TWO),
        "namespace-release",
        ['metadata: {name: stray, namespace: "{{ .Release.Namespace }}-extra"}'],
    ),
    "an image that is a mapping": (
        flagship,
        swap(DEPLOYMENT, f'image: "{IMAGE}"', "image: {a: b}"),
        "image-public-fixed",
        ["image: {a: b}"],
    ),
    "an image that a template makes": (
        plain_chart,
        swap(DEPLOYMENT, '"docker.io/example/server:1.4.2"', '{{ print "a/b:" "latest" }}'),
        "image-public-fixed",
        ['image: {{ print "a/b:" "latest" }}'],
    ),
    "an argument that is no text": (
        flagship,
        swap(DEPLOYMENT, '            - "--jinja"\n', "            - false\n"),
        "env-value-type",
        ["- false"],
    ),
    "a version": (
        plain_chart,
        swap("Chart.yaml", "version: '1.4.2'", "version: '1.4.3'"),
        "version-consistency",
        ["version: '1.4.2'"],
    ),
    "a request above its limit": (
        plain_chart,
        swap(DEPLOYMENT, "memory: 2Gi}, limits", "memory: 9Gi}, limits"),
        "container-request-order",
        ['resources: {requests: {cpu: "1", memory: 9Gi}, limits: {cpu: "4", memory: 8Gi}}'],
    ),
    "a container without limits": (
        plain_chart,
        swap(DEPLOYMENT, ', limits: {cpu: "4", memory: 8Gi}', ""),
        "container-resources",
        ["- name: server"] * 2,
    ),
    "a server without shared memory": (
        vllm_chart,
        swap(DEPLOYMENT, ", {name: shm, mountPath: /dev/shm}", ""),
        "shared-memory-volume",
        ["- name: server"],
    ),
    "a startup budget": (
        flagship,
        swap(DEPLOYMENT, "failureThreshold: 65", "failureThreshold: 20"),
        "startup-probe-budget",
        ["startupProbe:"],
    ),
    "a pod without its map": (
        flagship,
        swaps((DEPLOYMENT, f'name: "{APP}-scripts"', "name: gone")),
        "reference-missing",
        ["name: gone"],
    ),
}


@pytest.mark.parametrize("name", OF_THE_CHART)
def test_a_finding_of_the_chart_has_the_right_line(name: str) -> None:
    make, edit, rule, wanted = OF_THE_CHART[name]
    chart = edit(make())
    found = [f for f in chart.check() if f.rule == rule]
    assert sorted(line(chart, f.file, f.line) for f in found) == sorted(wanted), found


def test_every_finding_about_a_file_of_the_mutated_charts_has_a_line() -> None:
    """Only rules about whole files have none."""
    without = {
        name
        for name, mutation in MUTATIONS.items()
        for f in mutation.edit(mutation.base()).check(**mutation.context)
        if f.rule == name and f.file in (DEPLOYMENT, MANIFEST, "Chart.yaml") and f.line is None
    }
    assert without == WHOLE_FILES


def test_a_version_of_a_manifest_that_is_a_template_is_found_at_its_own_key() -> None:
    text = (
        "olaresManifest.version: '0.10.0'\n{{- if .Values.admin }}\nx: 1\n{{- end }}\n"
        "metadata:\n  name: a\n  version: '1.0.0'\n"
    )
    assert line_of_path(text, ("metadata", "version")) == 7
    assert line_of_path(text, ("metadata", "gone")) == 5
    assert line_of_path(text, ("gone",)) is None
