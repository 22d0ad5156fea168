"""Fields of the wrong type: a device decodes nothing of such a chart, and no rule fails on it."""

from typing import Any

import pytest
import yaml
from support.check_charts import DEPLOYMENT, MANIFEST, Chart, plain_chart, rules_of
from support.mutation import add

from olares_apps.findings import Finding, Severity

VALUES = ("text", ["a"], {"a": 1}, 5, 1.5, True)


def _changed(chart: Chart, file: str, path: tuple[Any, ...], value: Any) -> Chart:
    data = yaml.safe_load(chart[file])
    holder = data
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return chart.with_file(file, yaml.safe_dump(data, sort_keys=False))


def _parse(chart: Chart) -> list[Finding]:
    return [item for item in chart.check() if item.rule == "manifest-parse"]


@pytest.mark.parametrize("file", [MANIFEST, "Chart.yaml", "values.yaml"])
def test_any_type_in_any_field_is_judged_without_an_error_of_ours(file: str) -> None:
    chart = plain_chart()
    data = yaml.safe_load(chart[file])
    more = ("keywords", "maintainers", "annotations") if file == "Chart.yaml" else ()
    for key in (*data, *more):
        for value in VALUES:
            findings = _changed(chart, file, (key,), value).check()
            assert all(item.rule and item.message for item in findings)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("metadata",), "text", "metadata is a text where a mapping must be"),
        (("metadata",), [1], "metadata is a list where a mapping must be"),
        (("metadata", "title"), {"en": "x"}, "metadata.title is a mapping where a text must be"),
        (("metadata", "categories"), "AI", "metadata.categories is a text where a list must be"),
        (("permission", "appData"), "data", "permission.appData is a text where true or false"),
        (("permission", "appCache"), 1, "permission.appCache is a whole number where true or"),
        (("permission", "userData"), True, "permission.userData is true or false where a list"),
        (("options", "apiTimeout"), "0", "options.apiTimeout is a text where a whole number"),
        (("options", "apiTimeout"), 1.5, "options.apiTimeout is a number where a whole number"),
        (("options", "websocket"), ["a"], "options.websocket is a list where a mapping must be"),
        (("options", "policies"), ["a"], "options.policies[0] is a text where a mapping must be"),
        (("spec", "license"), ["MIT"], "spec.license[0] is a text where a mapping must be"),
        (("spec", "onlyAdmin"), "text", "spec.onlyAdmin is a text where true or false must be"),
        (("entrances", 0, "title"), ["a"], "entrances[0].title is a list where a text must be"),
        (("entrances", 0, "invisible"), "text", "entrances[0].invisible is a text where true or"),
    ],
)
def test_a_field_of_the_manifest_that_a_device_cannot_decode_is_an_error(
    path: tuple[Any, ...], value: Any, said: str
) -> None:
    chart = _changed(plain_chart(), MANIFEST, path, value)
    (found,) = [item for item in _parse(chart) if said in item.message]
    assert found.severity is Severity.ERROR
    assert found.file == MANIFEST
    assert found.line is not None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "requiredMemory"), 5),
        (("permission", "appData"), "yes"),
        (("options", "apiTimeout"), 30.0),
        (("options", "allowedOutboundPorts"), [443]),
        (("entrances", 0, "invisible"), True),
        (("metadata", "title"), True),
        (("spec", "license"), [{"text": "MIT", "url": "https://example.org/l"}]),
    ],
)
def test_a_field_that_is_decoded_all_the_same_is_no_fault_of_type(
    path: tuple[Any, ...], value: Any
) -> None:
    assert _parse(_changed(plain_chart(), MANIFEST, path, value)) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("appVersion", value) for value in (["a"], {"a": 1})),
        *(("description", value) for value in (["a"], {"a": 1})),
        *(("home", value) for value in (["a"], {"a": 1})),
        *((key, value) for key in ("keywords", "sources") for value in ("text", 5, {"a": 1})),
        *(("maintainers", value) for value in ("text", ["a"], [{"name": ["a"]}])),
        *(("annotations", value) for value in ("text", 5, ["a"], {"a": [1]})),
        *(("deprecated", value) for value in ("text", "true x", 5)),
        ("dependencies", {}),
        ("name", ["a"]),
        ("version", {"a": 1}),
    ],
)
def test_a_field_of_chart_yaml_that_helm_cannot_decode_is_an_error(key: str, value: Any) -> None:
    """As helm 3 and 4 end: cannot unmarshal into Go struct field Metadata."""
    found = _parse(_changed(plain_chart(), "Chart.yaml", (key,), value))
    assert found, key
    assert {item.file for item in found} == {"Chart.yaml"}
    assert any(item.message.startswith(key) for item in found)


@pytest.mark.parametrize(
    ("key", "value"),
    [("appVersion", 5), ("annotations", {"a": 1}), ("keywords", [1]), ("deprecated", True)],
)
def test_what_helm_takes_in_chart_yaml_is_taken(key: str, value: Any) -> None:
    assert _parse(_changed(plain_chart(), "Chart.yaml", (key,), value)) == []


@pytest.mark.parametrize("kind", ["text", "library", 5])
def test_a_type_of_chart_that_helm_does_not_install_is_an_error(kind: Any) -> None:
    chart = _changed(plain_chart(), "Chart.yaml", ("type",), kind)
    (found,) = [item for item in chart.check() if item.rule == "chart-type"]
    assert str(kind) in found.message
    for good in ("application", "", None):
        fine = _changed(plain_chart(), "Chart.yaml", ("type",), good)
        assert "chart-type" not in rules_of(fine.check())


_HEAD = "apiVersion: v1\nkind: ConfigMap\n"


@pytest.mark.parametrize(
    ("metadata", "said", "line"),
    [
        ("metadata: text\n", "ConfigMap: metadata is a text where a mapping with a name", 3),
        ("metadata: [a]\n", "ConfigMap: metadata is a list where a mapping", 3),
        ("data: {}\n", "ConfigMap: metadata is missing", 1),
        ("metadata: {}\n", "ConfigMap: metadata.name is missing", 3),
        ("metadata: {name: 5}\n", "metadata.name is a number where a text must be", 3),
        ("metadata: {name: [a]}\n", "metadata.name is a list where a text must be", 3),
        ("metadata:\n  name: x\n  labels: [a]\n", "metadata.labels is a list where a mapping", 5),
        ("metadata:\n  name: x\n  labels:\n    a: 1\n", "metadata.labels: a is a number ('1')", 6),
        (
            "metadata:\n  name: x\n  annotations:\n    on.example.org/a: true\n",
            "metadata.annotations: on.example.org/a is a boolean ('True') where a text must be",
            6,
        ),
        ("metadata:\n  name: x\n  labels: {a: [b]}\n", "metadata.labels: a is a list", 5),
    ],
)
def test_metadata_of_an_object_that_kubernetes_refuses_is_an_error(
    metadata: str, said: str, line: int
) -> None:
    chart = add("templates/more.yaml", _HEAD + metadata)(plain_chart())
    (found,) = [item for item in chart.check() if item.rule == "object-metadata"]
    assert said in found.message
    assert (found.severity, found.file, found.line) == (
        Severity.ERROR,
        "templates/more.yaml",
        line,
    )


def test_labels_of_pods_and_selectors_are_texts_too() -> None:
    chart = plain_chart()
    for old, new, said in (
        (
            "labels: {app: exampleapp}",
            "labels: {app: exampleapp, tier: 1}",
            "template.metadata.labels",
        ),
        ("matchLabels: {app: exampleapp}", "matchLabels: {app: 5}", "selector.matchLabels: app"),
    ):
        found = chart.replaced(DEPLOYMENT, old, new).check()
        assert any(said in item.message for item in found if item.rule == "object-metadata")
    broken = chart.replaced("templates/service.yaml", "{app: exampleapp}", "{app: 5}").check()
    assert any("spec.selector: app" in f.message for f in broken if f.rule == "object-metadata")


@pytest.mark.parametrize(
    "metadata",
    [
        "metadata: {name: x, labels: {a: '1', b: null}}\n",
        "metadata: {generateName: x-}\n",
        "metadata: {name: x, labels: null, annotations: {}}\n",
    ],
)
def test_metadata_that_kubernetes_takes_is_no_finding(metadata: str) -> None:
    chart = add("templates/more.yaml", _HEAD + metadata)(plain_chart())
    assert "object-metadata" not in rules_of(chart.check())
