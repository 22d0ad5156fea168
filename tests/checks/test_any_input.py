"""Checks of anything: no input raises, whatever it holds."""

from collections.abc import Callable

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.check_charts import (
    APP,
    DEPLOYMENT,
    MANIFEST,
    PROFILE,
    Chart,
    flagship,
    legacy_flagship,
    vllm_chart,
)
from support.foreign_charts import catalogue_chart, legacy_market_chart

from olares_apps.checks import ChartContext, Fleet, read_archive, run_fleet, run_rules

BASES = {
    "flagship": flagship(),
    "legacy": legacy_flagship(),
    "vllm": vllm_chart(),
    "catalogue": catalogue_chart(),
    "market": legacy_market_chart(),
}
RELAXED = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
# Pieces that change what a YAML or template text means.
PIECES = st.sampled_from(
    [
        "{{",
        "}}",
        "{{ .Values.x }}",
        ": ",
        "- ",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        "null",
        "true",
        "1e9",
        "-1",
        "*a",
        "&a ",
        "|",
        ">",
        "'",
        '"',
        "\t",
        "\0",
        "\r",
        "#",
        "!!int ",
        "---\n",
        "\u00e9",
        "$(X)",
        "${X:-1}",
        "999999999999999999999",
        "%",
        "<<: ",
        "?",
        "@",
        "`",
        "0x",
        "\ufeff",
    ]
)


def check(files: dict[str, bytes]) -> None:
    context = ChartContext(files, folder=APP, profile=PROFILE)
    findings = run_rules(context)
    run_fleet(Fleet([context, ChartContext(flagship(), folder=APP)]))
    assert all(finding.rule and finding.message for finding in findings)


@RELAXED
@given(st.data())
def test_a_chart_with_any_piece_put_anywhere_is_judged(data: st.DataObject) -> None:
    chart = Chart(BASES[data.draw(st.sampled_from(sorted(BASES)))])
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(chart)))
        text = chart[path]
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 40))
        piece = data.draw(PIECES).encode("utf-8", "surrogatepass")
        chart = chart.with_file(path, text[:at] + piece + text[at + cut :])
    check(chart)


@RELAXED
@given(
    st.sampled_from(
        ["Chart.yaml", "values.yaml", MANIFEST, DEPLOYMENT, "i18n/en-US/OlaresManifest.yaml"]
    ),
    st.binary(max_size=200),
)
def test_any_bytes_for_a_file_are_judged(path: str, content: bytes) -> None:
    check(flagship().with_file(path, content))


def without_templates(chart: Chart) -> Chart:
    """Return a chart whose templates are what they render to, one object a file."""
    objects = chart.context().objects
    files = {path: data for path, data in chart.items() if not path.startswith("templates/")}
    for number, item in enumerate(objects):
        files[f"templates/{number}.yaml"] = yaml.safe_dump(item.data, allow_unicode=True).encode()
    return Chart(files)


PLAIN = [without_templates(Chart(chart)) for chart in BASES.values()]
TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda child: (
        st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=8), child, max_size=3)
    ),
    max_leaves=6,
)


@RELAXED
@given(st.data())
def test_a_value_of_any_shape_anywhere_in_the_data_is_judged(data: st.DataObject) -> None:
    chart = data.draw(st.sampled_from(PLAIN))
    path = data.draw(st.sampled_from([name for name in sorted(chart) if name.endswith(".yaml")]))
    tree = yaml.load(chart[path], Loader=yaml.CSafeLoader)
    node = tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(node[key], (dict, list)) and node[key] and data.draw(st.booleans()):
            node = node[key]
            continue
        node[key] = data.draw(TREES)
        break
    check(chart.with_file(path, yaml.safe_dump(tree, allow_unicode=True)))


@RELAXED
@given(st.binary(max_size=400))
def test_any_bytes_are_read_as_an_archive(content: bytes) -> None:
    for data in (content, b"\x1f\x8b\x08" + content):
        source = read_archive(data, "x-1.0.0.tgz")
        run_rules(ChartContext(source.files, folder=source.folder, listing=source.listing))
        assert source.listing.size == len(data)


@pytest.mark.parametrize(
    "edit",
    [
        lambda chart: Chart({}),
        lambda chart: chart.with_file(
            DEPLOYMENT, '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}'
        ),
        lambda chart: chart.with_file(
            DEPLOYMENT, "{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}"
        ),
        lambda chart: chart.with_file(DEPLOYMENT, "[" * 5000),
        lambda chart: chart.with_file(MANIFEST, "a: &a [*a]\n"),
        lambda chart: chart.with_file(
            MANIFEST,
            "\n".join(
                f"k{n}: &k{n} [*k{n - 1}, *k{n - 1}]" if n else "k0: &k0 [x]" for n in range(40)
            ),
        ),
        lambda chart: chart.with_file("values.yaml", "- 1\n- 2\n"),
        lambda chart: chart.with_file("templates/x.yaml", "{{ " + "(" * 500 + ")" * 500 + " }}"),
        lambda chart: chart.with_file("i18n/en-US/OlaresManifest.yaml", b"\xff\xfe"),
        lambda chart: chart.replaced(
            MANIFEST,
            "fullDescription: |-",
            "fullDescription: |-\n    " + "262K context [x](" * 2000,
        ),
    ],
    ids=[
        "nothing",
        "includes-itself",
        "loops",
        "nested",
        "anchor-cycle",
        "anchor-bomb",
        "list-values",
        "brackets",
        "utf16",
        "long-text",
    ],
)
def test_hostile_charts_end_with_findings(edit: Callable[[Chart], Chart]) -> None:
    findings = edit(flagship()).check()
    assert findings


def test_a_chart_that_loops_says_so_once() -> None:
    chart = flagship().with_file(
        "templates/x.yaml", "{{ range until 1000000 }}x{{ end }}{{ range until 1000000 }}{{ end }}"
    )
    findings = [f for f in chart.check() if f.rule == "chart-renders"]
    assert len(findings) == 1
    assert "rendering stopped" in findings[0].message
