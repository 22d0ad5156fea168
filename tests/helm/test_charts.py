"""Charts and their objects: what cannot be loaded, and what the rendered text holds."""

import gzip
import io
import tarfile
from typing import Any

import pytest
from support.helm_charts import chart_files

from olares_apps.helm import (
    HELM,
    ChartError,
    ManifestError,
    YamlError,
    parse_manifests,
    read_manifests,
    render_chart,
    version_matches,
)

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def render(files: dict[str, bytes], **options: Any) -> dict[str, str]:
    settings = {"values": None, "release_name": "r", "namespace": "n", "profile": HELM} | options
    return render_chart(files, **settings)


def pack(files: dict[str, bytes]) -> bytes:
    """Return the files as a packed chart."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"child/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


# Loading


@pytest.mark.parametrize(
    ("chart_yaml", "message"),
    [
        (None, "Chart.yaml is missing"),
        ("- a", "Chart.yaml: not a mapping"),
        ("apiVersion: v2\nname: a\n", "version: missing"),
        ("apiVersion: v2\nname: a\nversion: 1.10\n", "version: 1.1 is not a text"),
        ("apiVersion: v2\nname: a\nversion: one.two\n", "version: invalid semantic version"),
        ("apiVersion: v2\nversion: 1.0.0\n", "name: missing"),
        ("name: a\nversion: 1.0.0\n", "apiVersion: missing"),
        ("apiVersion: v2\nname: a\nversion: 1.0.0\ndependencies: [1]\n", "dependencies"),
        (
            "apiVersion: v2\nname: a\nversion: 1.0.0\ndependencies: [{name: gone}]\n",
            r"not found in charts/: gone",
        ),
        (
            "apiVersion: v2\nname: a\nversion: 1.0.0\nkubeVersion: '>=9.0.0'\n",
            "kubeVersion: >=9.0.0 which is incompatible",
        ),
    ],
)
def test_a_chart_that_helm_would_not_load_is_refused(chart_yaml: str | None, message: str) -> None:
    files = chart_files({"x.yaml": OBJECT})
    del files["Chart.yaml"]
    if chart_yaml is not None:
        files["Chart.yaml"] = chart_yaml.encode()
    with pytest.raises(ChartError, match=message):
        render(files)


def test_the_kubernetes_version_is_the_one_that_is_given() -> None:
    files = chart_files({"x.yaml": "{{ .Capabilities.KubeVersion.Version }}"})
    files["Chart.yaml"] += b"kubeVersion: '>=1.29.0-0'\n"
    assert render(files, kube_version="1.31.4")["templates/x.yaml"] == "v1.31.4"
    with pytest.raises(ChartError, match=r"incompatible with Kubernetes 1\.28\.0"):
        render(files, kube_version="1.28.0")


def test_a_chart_without_values_renders() -> None:
    files = chart_files({"x.yaml": "[{{ .Values.a }}]"})
    del files["values.yaml"]
    assert render(files) == {"templates/x.yaml": "[]"}


def test_text_that_is_not_utf8_is_refused_with_its_line() -> None:
    files = chart_files({})
    files["templates/x.yaml"] = b"a: 1\nb: \xff\n"
    with pytest.raises(ChartError, match=r"templates/x\.yaml:2: not UTF-8"):
        render(files)


def test_a_byte_order_mark_is_dropped() -> None:
    files = chart_files({})
    files["templates/x.yaml"] = b"\xef\xbb\xbfa: 1\n"
    assert render(files)["templates/x.yaml"] == "a: 1\n"


def test_a_packed_sub_chart_is_rendered_with_its_values() -> None:
    child = chart_files({"x.yaml": "{{ .Values.size }} {{ .Chart.Name }}"}, "size: 1\n")
    child["Chart.yaml"] = child["Chart.yaml"].replace(b"demo", b"child")
    files = chart_files({}, "child: {size: 5}\n")
    files["charts/child-1.2.3.tgz"] = pack(child)
    rendered = render(files)
    assert rendered == {"charts/child-1.2.3.tgz/templates/x.yaml": "5 child"}


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", gzip.compress(b"not a tar"), pack(chart_files({}))[:60]],
    ids=["empty", "html", "no-tar", "cut-off"],
)
def test_a_packed_sub_chart_that_cannot_be_read_is_named(content: bytes) -> None:
    files = chart_files({"x.yaml": OBJECT})
    files["charts/bad.tgz"] = content
    with pytest.raises(ChartError, match=r"charts/bad\.tgz"):
        render(files)


def test_values_for_a_sub_chart_must_be_a_mapping() -> None:
    files = chart_files({}, "child: 5\n")
    files |= {f"charts/child/{name}": content for name, content in chart_files({}).items()}
    files["charts/child/Chart.yaml"] = b"apiVersion: v2\nname: child\nversion: 0.1.0\n"
    with pytest.raises(ChartError, match=r"values\.child: not a mapping"):
        render(files)


# Versions


@pytest.mark.parametrize(
    ("constraint", "version", "expected"),
    [
        (">=1.12.6-0", "1.12.6", True),
        (">=1.12.6-0", "1.12.6-20260801", True),
        (">=1.12.6-0", "1.12.5", False),
        (">=1.12.6", "1.12.6-20260801", False),
        (">=1.12.3-0,<1.12.6", "1.12.5", True),
        (">=1.12.3-0, <1.12.6", "1.12.6", False),
        ("~1.2", "1.2.9", True),
        ("^0.0.3", "0.0.4", False),
        ("1.2.x || >=3", "3.1.0", True),
        ("*", "0.0.1", True),
    ],
)
def test_version_ranges(constraint: str, version: str, expected: bool) -> None:
    assert version_matches(constraint, version) is expected


# Objects


def test_objects_know_their_file_index_and_line() -> None:
    text = f"# comment\n---\n\n{OBJECT}---\n# only a comment\n---\n{OBJECT.replace('a}', 'b}')}"
    rendered = {
        "templates/x.yaml": text,
        "templates/NOTES.txt": "a: b: c",
        "values.yaml": "a: b: c",
    }
    found = [(item.name, item.index, item.line) for item in parse_manifests(rendered)]
    assert found == [("a", 1, 4), ("b", 3, 10)]
    assert parse_manifests(rendered)[0].kind == "ConfigMap"
    assert parse_manifests(rendered)[0].api_version == "v1"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: b: c", 1, "mapping values are not allowed"),
        (f"{OBJECT}---\na: 1\nb: [\n", 7, "not YAML"),
        (f"{OBJECT}data: {{a: 1}}\ndata: {{b: 2}}\n", 5, "duplicate key 'data' (lines 4 and 5)"),
        ("a: 1\n", 1, "without kind"),
        ("kind: ConfigMap\n", 1, "without apiVersion"),
        ("\n\n- a\n", 3, "not a mapping"),
        ("plain text", 1, "not a mapping"),
        ("kind: A\napiVersion: v1\nx: &a [*a]\n", 3, "contains itself"),
        ("kind: A\napiVersion: v1\nx: .inf\n", 3, "JSON does not have"),
        ("a: \x01", 1, "'\\x01' is not allowed"),
        ("x: " + "[" * 300, 1, "levels inside each other"),
        ("- " * 300 + "x", 1, "levels inside each other"),
    ],
)
def test_what_is_no_object_is_a_problem_with_file_and_line(
    text: str, line: int, message: str
) -> None:
    good = {"templates/good.yaml": OBJECT}
    objects, problems = read_manifests({"templates/x.yaml": text, **good})

    assert [(str(p.file), p.line) for p in problems] == [("templates/x.yaml", line)]
    assert message in problems[0].message
    assert objects[-1].file == "templates/good.yaml"
    with pytest.raises(ManifestError) as caught:
        parse_manifests({"templates/x.yaml": text})
    assert list(caught.value.problems) == problems


def test_anchors_that_expand_without_bounds_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(ManifestError, match="anchors expand too far"):
        parse_manifests({"templates/x.yaml": "\n".join(lines)})


def test_the_text_of_numbers_and_words_is_read_as_yaml_1_1() -> None:
    text = f"{OBJECT}data: {{a: on, b: 0777, c: 1e3, d: 2024-01-31, e: 8080, f: 1.5, g: null}}\n"
    data = parse_manifests({"templates/x.yaml": text})[0].data["data"]
    assert data == {
        "a": True,
        "b": 511,
        "c": 1000.0,
        "d": "2024-01-31",
        "e": 8080,
        "f": 1.5,
        "g": None,
    }
    assert isinstance(data["e"], int)


def test_default_values_with_a_key_twice_are_refused() -> None:
    with pytest.raises(YamlError, match=r"values\.yaml:2.*duplicate key 'a'"):
        render(chart_files({"x.yaml": OBJECT}, "a: 1\na: 2\n"))
