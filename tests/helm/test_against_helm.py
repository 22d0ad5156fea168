"""The built-in renderer against the real Helm, both majors."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.helm_binary import HelmFailed, helm_lint, helm_params, helm_template, run_helm
from support.helm_charts import chart_files, write_chart

from olares_apps.errors import RenderError
from olares_apps.helm import HELM, parse_manifests, render_chart

CORPUS = yaml.safe_load((Path(__file__).parent / "corpus.yaml").read_text(encoding="utf-8"))
SHARED = """\
{{ define "shared" }}shared {{ .Values.text }}{{ end }}
{{ define "missing" }}{{ .Values.none }}{{ end }}
{{ define "outer" }}outer({{ include "shared" . }}){{ end }}
"""


def build_chart(group: dict[str, Any]) -> dict[str, bytes]:
    """Put every case into a template of its own, which a ConfigMap quotes."""
    templates = {"_shared.tpl": SHARED}
    for name, text in group["cases"].items():
        templates[f"_{name}.tpl"] = f'{{{{ define "case.{name}" }}}}{text}{{{{ end }}}}'
        templates[f"{name}.yaml"] = (
            f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"
            f'data:\n  text: {{{{ include "case.{name}" . | quote }}}}\n'
        )
    return chart_files(templates, group["values"], others={"data/hello.txt": "hello\nworld\n"})


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize("group", CORPUS, ids=["functions", "yaml", "charts"])
def test_every_case_of_the_corpus_renders_as_helm_renders_it(
    helm: Path, group: dict[str, Any], tmp_path: Path
) -> None:
    files = build_chart(group)
    printed = helm_template(helm, write_chart(files, tmp_path), None, "rel", "space")
    expected = {item["metadata"]["name"]: item["data"]["text"] for item in printed}

    rendered = render_chart(files, values=None, release_name="rel", namespace="space", profile=HELM)
    actual = {item.name: item.data["data"]["text"] for item in parse_manifests(rendered)}

    assert actual == expected


FAULTS = yaml.safe_load((Path(__file__).parent / "faults.yaml").read_text(encoding="utf-8"))
FAULT_VALUES = """\
text: plain
port: 8080
list: [a]
nulls: [null]
map: {a: 1}
"""


@pytest.fixture(scope="module", params=helm_params())
def helm_reasons(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Lint a chart for every fault, all in one call; return what helm says about each."""
    root = tmp_path_factory.mktemp("faults")
    for name, (template, _) in FAULTS.items():
        write_chart(chart_files({"x.yaml": template}, FAULT_VALUES), root / name)
    with pytest.raises(HelmFailed) as caught:
        run_helm(request.param, "lint", *(str(root / name) for name in FAULTS))
    sections = caught.value.output.split("==> Linting ")[1:]
    return {Path(part.split("\n", 1)[0]).name: part for part in sections}


@pytest.mark.parametrize("name", FAULTS)
def test_what_helm_refuses_is_refused_here_for_the_same_reason(
    name: str, helm_reasons: dict[str, str]
) -> None:
    template, reason = FAULTS[name]
    assert "[ERROR]" in helm_reasons[name]
    assert reason in " ".join(helm_reasons[name].split())

    with pytest.raises(RenderError) as caught:
        parse_manifests(
            render_chart(
                chart_files({"x.yaml": template}, FAULT_VALUES),
                values=None,
                release_name="rel",
                namespace="space",
                profile=HELM,
            )
        )
    assert reason in str(caught.value)
    assert "templates/x.yaml:" in str(caught.value)


PARENT_YAML = """\
apiVersion: v2
name: demo
version: 1.2.3
dependencies:
  - {name: child, version: 0.1.0, condition: child.enabled, tags: [extra]}
  - {name: child, version: 0.1.0, alias: twin}
  - {name: quiet, version: 0.1.0, condition: quiet.enabled}
  - {name: base, version: 0.1.0}
"""
CHILD = {
    "Chart.yaml": "apiVersion: v2\nname: NAME\nversion: 0.1.0\n",
    "values.yaml": "size: 1\nkeep: {a: 1, b: 2}\nglobal: {own: child}\n",
    "templates/x.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-{{ .Chart.Name }}}\n"
        "data:\n  text: {{ toJson .Values | quote }}\n  template: {{ .Template.Name | quote }}\n"
        '  helper: {{ include "demo.helper" . | quote }}\n  root: "{{ .Chart.IsRoot }}"\n'
    ),
}


def build_family() -> dict[str, bytes]:
    """A chart with sub-charts: one twice under two names, one switched off, a library."""
    files = chart_files(
        {
            "x.yaml": CHILD["templates/x.yaml"].replace("NAME", "parent"),
            "_h.tpl": '{{ define "demo.helper" }}{{ .Values.size }} of {{ .Chart.Name }}{{ end }}',
            "NOTES.txt": "Installed {{ .Release.Name }}",
        },
        "child: {keep: {b: 3}, size: 5}\nquiet: {enabled: false}\n"
        "global: {zone: z}\ntwin: {keep: {a: 9}}\n",
    )
    files["Chart.yaml"] = PARENT_YAML.encode()
    for name in ("child", "quiet"):
        for path, text in CHILD.items():
            files[f"charts/{name}/{path}"] = text.replace("NAME", name).encode()
    files["charts/base/Chart.yaml"] = b"apiVersion: v2\nname: base\nversion: 0.1.0\ntype: library\n"
    files["charts/base/templates/_b.tpl"] = b'{{ define "base" }}base{{ end }}'
    files["charts/base/templates/ignored.yaml"] = b"{{ fail `a library is not rendered` }}"
    return files


@pytest.mark.parametrize("helm", helm_params())
@pytest.mark.parametrize(
    "values",
    [
        None,
        {"child": {"keep": {"a": None}, "size": 7}, "global": {"zone": "other"}},
        {"child": {"enabled": False}, "quiet": {"enabled": True}},
        {"tags": {"extra": False}},
        {"child": {"enabled": True, "keep": None}, "tags": {"extra": False}},
        {"added": {"deep": [1, 2.5, True, "x"]}, "twin": {"size": 2**40}},
    ],
    ids=["defaults", "null-removes", "condition", "tags", "condition-before-tags", "added"],
)
def test_values_reach_charts_and_sub_charts_as_in_helm(
    helm: Path, values: dict[str, Any] | None, tmp_path: Path
) -> None:
    files = build_family()
    printed = helm_template(helm, write_chart(files, tmp_path), values, "rel", "space")

    rendered = render_chart(
        files, values=values, release_name="rel", namespace="space", profile=HELM
    )

    objects = {item.name: item.data["data"] for item in parse_manifests(rendered)}
    assert objects == {item["metadata"]["name"]: item["data"] for item in printed}
    assert rendered["templates/NOTES.txt"] == "Installed rel"


HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"
DOCUMENTS = {
    "block-at-end": HEAD + "data:\n  a: |\n    one\n    two\n",
    "block-without-line-break": HEAD + "data:\n  a: |\n    one",
    "block-and-blank-lines": HEAD + "data:\n  a: |\n    one\n\n\n",
    "block-strips": HEAD + "data:\n  a: |-\n    one\n\n",
    "folded": HEAD + "data:\n  a: >\n    one\n    two\n\n    three\n",
    "comments": "# first\n---\n# second\n" + HEAD + "# last\n---\n# nothing\n",
    "separators": "---\n---\n" + HEAD + "\n---\n---\n",
    "separator-comment": "--- # here\n" + HEAD,
    "dashes-in-text": HEAD + 'data:\n  a: "x --- y"\n  b: |\n    ---\n    --- z\n',
    "crlf": (HEAD + "data:\n  a: |\n    one\n    two\n").replace("\n", "\r\n"),
    "tabs": HEAD + 'data:\n  a: "x\\ty"\n  b: x\ty\n',
    "merge-keys": HEAD + "x-a: &a {k: '1', l: '2'}\ndata:\n  <<: *a\n  l: '3'\n",
    "quoted-kinds": HEAD + "data: {a: 'y', b: \"no\", c: '1', d: '0x1', e: '~', f: '2024-01-01'}\n",
    "emoji": HEAD + "data: {a: '🔥 é → ×', b: \"\\U0001F525\"}\n",
}


@pytest.mark.parametrize("helm", helm_params())
def test_files_are_cut_into_objects_as_helm_cuts_them(helm: Path, tmp_path: Path) -> None:
    templates = {f"{name}.yaml": text.replace("NAME", name) for name, text in DOCUMENTS.items()}
    files = chart_files(templates)
    printed = helm_template(helm, write_chart(files, tmp_path))

    objects = parse_manifests(
        render_chart(files, values=None, release_name="r", namespace="default", profile=HELM)
    )

    expected = {item["metadata"]["name"]: item.get("data") for item in printed}
    assert {item.name: item.data.get("data") for item in objects} == expected
    assert len(objects) == len(DOCUMENTS)


@pytest.mark.parametrize("helm", helm_params())
def test_every_function_name_is_one_that_helm_knows(helm: Path, tmp_path: Path) -> None:
    calls = "".join(f"{{{{ {name} }}}}" for name in sorted(HELM.functions))
    files = chart_files({"x.yaml": f"{{{{ if false }}}}{calls}{{{{ end }}}}"})

    assert helm_template(helm, write_chart(files, tmp_path)) == []


@pytest.mark.parametrize("helm", helm_params())
def test_helm_lint_accepts_what_renders_and_reports_what_does_not(
    helm: Path, tmp_path: Path
) -> None:
    good = write_chart(build_family(), tmp_path / "good")
    assert "0 chart(s) failed" in helm_lint(helm, good)

    bad = write_chart(chart_files({"x.yaml": "{{ .Values.none.x }}"}), tmp_path / "bad")
    with pytest.raises(HelmFailed, match="nil pointer"):
        helm_lint(helm, bad)
