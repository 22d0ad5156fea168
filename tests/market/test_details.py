"""Detail documents: derived from a chart, of exactly the types that a device takes."""

import json
from dataclasses import replace

import pytest
from support.market import NEW, OLD, build_chart

from olares_apps.errors import MarketError
from olares_apps.market import canonical, wire
from olares_apps.market.conformance import decode_details
from olares_apps.market.details import card, detail_document, with_version


@pytest.mark.parametrize(
    ("field", "written", "shown", "expected"),
    [
        ("requiredMemory", "1.5Gi", "requiredMemory", "1610612736"),
        ("requiredMemory", "1G", "requiredMemory", "1000000000"),
        ("limitedMemory", "512M", "limitedMemory", "512000000"),
        ("requiredDisk", "1e9", "requiredDisk", "1000000000"),
        ("requiredDisk", "", "requiredDisk", "0"),
        ("requiredCpu", "0.5", "requiredCPU", "0.5"),
        ("requiredCpu", "1200m", "requiredCPU", "1.2"),
        ("limitedCpu", "15360m", "limitedCPU", "15.36"),
        ("limitedCpu", "16", "limitedCPU", "16"),
        ("requiredCpu", "100", "requiredCPU", "100"),
        ("requiredGpu", "24Gi", "requiredGPU", "25769803776"),
    ],
)
def test_sizes_are_bytes_and_cores_without_losing_a_fraction(
    field: str, written: str, shown: str, expected: str
) -> None:
    assert detail_document(build_chart("demoalpha", spec={field: written}))[shown] == expected


@pytest.mark.parametrize(
    ("field", "written"), [("requiredMemory", "12GB"), ("limitedCpu", "4 cores")]
)
def test_a_size_that_is_no_quantity_names_app_field_and_value(field: str, written: str) -> None:
    with pytest.raises(MarketError, match=f"demoalpha: {field} is '{written}', which is not a"):
        detail_document(build_chart("demoalpha", spec={field: written}))


def test_both_generations_give_the_same_sizes_from_their_different_manifests() -> None:
    old, new = (detail_document(build_chart("demoalpha", generation=g)) for g in (OLD, NEW))
    sizes = [name for name in old if name.startswith(("required", "limited"))]
    assert len(sizes) == 8
    assert {name: old[name] for name in sizes} == {name: new[name] for name in sizes}
    assert old["requiredGPU"] == "23622320128"
    assert (old["apiVersion"], new["apiVersion"]) == ("v2", "v3")


def test_a_device_takes_every_field_of_a_detail() -> None:
    detail = detail_document(build_chart("demoalpha", "1.0.2", title="Démo ✓"))
    body = wire.details("1.12.5", {"4d6544d7": canonical.encode(detail)}, [])
    details, faults = decode_details(body, ["4d6544d7"])
    assert faults == []
    row = details.apps["4d6544d7"]
    assert (row.id, row.name, row.version, row.cfg_type) == (
        "4d6544d7",
        "demoalpha",
        "1.0.2",
        "app",
    )
    assert row.fields["title"] == "Démo ✓"
    assert row.fields["i18n"]["en-US"]["metadata"]["title"] == "Démo ✓"
    assert row.fields["fullDescription"] == {"en-US": "# demoalpha\n"}


def test_every_version_inside_a_detail_is_the_same() -> None:
    detail = with_version(detail_document(build_chart("demoalpha", "1.0.2")), "1.0.7")
    assert detail["version"] == detail["versionName"] == "1.0.7"
    assert detail["chartName"] == "demoalpha-1.0.7.tgz"
    assert [item["version"] for item in detail["versionHistory"]] == ["1.0.7"]
    named = detail_document(build_chart("demoalpha", "1.0.2", spec={"versionName": "June"}))
    assert with_version(named, "1.0.7")["versionName"] == "June"


def test_a_manifest_that_disagrees_with_its_chart_names_both() -> None:
    chart = build_chart("demoalpha", "1.0.1")
    with pytest.raises(MarketError, match=r"version is 1\.0\.2, metadata\.version .* is '1\.0\.1'"):
        detail_document(replace(chart, version="1.0.2"))
    with pytest.raises(MarketError, match=r"name is demobravo, metadata\.name .* is 'demoalpha'"):
        detail_document(replace(chart, app="demobravo"))


def test_a_listed_locale_without_texts_is_refused() -> None:
    texts = {"metadata": {"title": "Demo", "description": "d"}}
    chart = build_chart("demoalpha", i18n={"en-US": texts}, spec={"locale": ["en-US", "zh-CN"]})
    with pytest.raises(MarketError, match="locale zh-CN is listed, but i18n/zh-CN/OlaresManifest"):
        detail_document(chart)


def test_a_text_that_a_locale_lacks_falls_back_to_the_default() -> None:
    english = {
        "metadata": {"title": "Demo", "description": "A demo."},
        "spec": {"fullDescription": "Long.", "upgradeDescription": "New."},
    }
    chart = build_chart(
        "demoalpha",
        title="Demo",
        i18n={"en-US": english, "zh-CN": {"metadata": {"title": "演示"}}},
        spec={"fullDescription": "Long.", "upgradeDescription": "New."},
        description="A demo.",
    )
    chinese = detail_document(chart)["i18n"]["zh-CN"]
    assert chinese["metadata"] == {"title": "演示", "description": "A demo."}
    assert chinese["spec"]["fullDescription"] == "Long."


def test_a_number_that_has_no_exact_text_is_refused_with_its_place() -> None:
    chart = build_chart("demoalpha")
    spec = chart.manifest["spec"] | {"supportClient": {"zoom": 0.5}}
    chart = replace(chart, manifest={**chart.manifest, "spec": spec})
    with pytest.raises(MarketError, match=r"demoalpha: .* supportClient\.zoom: float has no"):
        detail_document(chart)


HOSTILE = 'back`tick ${x} </script> \\ \u2028 " {{ .Values.x }} \t emoji 🦙\nCRLF\r\nend'


def test_hostile_text_arrives_as_it_was_written() -> None:
    chart = build_chart("demoalpha", description=HOSTILE, spec={"fullDescription": HOSTILE})
    chart = replace(chart, i18n={})
    data = canonical.encode(detail_document(chart))
    detail = json.loads(data)
    assert detail["description"] == HOSTILE
    assert detail["fullDescription"] == HOSTILE
    assert b"\n" not in data


def test_the_card_shows_what_the_detail_says() -> None:
    shown = card(detail_document(build_chart("demoalpha", categories=("AI", "Long Context"))))
    assert shown.categories == ("AI", "Long Context")
    assert shown.icon == "https://market.example/icons/demoalpha.png"
    assert (shown.cfg_type, shown.labels) == ("app", ())
