"""What two apps of one market must not share."""

from typing import Any

from support.check_charts import (
    APP,
    Chart,
    find,
    flagship,
    flagship_spec,
    legacy_flagship,
    rules_of,
)

from olares_apps.checks import Fleet, run_fleet
from olares_apps.findings import Severity


def two(first: Chart, second: Chart, **more: Any) -> list[Any]:
    return run_fleet(Fleet([first.context(), second.context(**more)]))


def other(changes: dict[str, Any] | None = None) -> Chart:
    """Return a chart that shares nothing with the flagship but the model."""
    own = {"app": "otherone", "title": "Other One", "alias": "other"}
    return flagship(own | (changes or {}))


def test_apps_that_share_nothing_have_no_finding() -> None:
    assert two(flagship(), other()) == []


def test_one_app_in_both_generations_is_no_collision() -> None:
    assert run_fleet(Fleet([flagship().context(), legacy_flagship().context()])) == []


def test_the_same_app_twice_is_named_with_both_places() -> None:
    first = flagship().context(spec=flagship_spec())
    found = find(run_fleet(Fleet([first, flagship().context()])), "fleet-app-name")
    assert APP in found.message
    assert "apps/qwen36-35b-a3b-mtp.yaml" in found.message


def test_same_titles_are_named() -> None:
    found = find(two(flagship(), other({"title": "Qwen36 35B-A3B MTP One"})), "fleet-title")
    assert found.app == "otherone"
    assert "'Qwen36 35B-A3B MTP One'" in found.message
    assert APP in found.message


def test_same_aliases_are_named() -> None:
    findings = two(flagship(), other({"alias": "qwen3.6-35b-a3b-mtp"}))
    assert rules_of(findings) == {"fleet-alias"}
    assert "qwen3.6-35b-a3b-mtp" in findings[0].message


def test_the_icon_of_another_app_is_a_warning() -> None:
    icon = f"https://cdn.example.org/{APP}.png"
    found = find(two(flagship(), other({"icon": icon})), "fleet-icon")
    assert found.severity is Severity.WARNING
    assert f"the icon of otherone is that of {APP}" in found.message


def test_one_icon_for_two_apps_is_named_once() -> None:
    icon = "https://cdn.example.org/shared.png"
    found = find(two(flagship({"icon": icon}), other({"icon": icon})), "fleet-icon")
    assert icon in found.message


def _spellings(*apps: list[str]) -> list[str]:
    charts = [
        flagship({"app": f"app{n}", "title": f"App {n}", "alias": f"app-{n}", "categories": names})
        for n, names in enumerate(apps)
    ]
    findings = run_fleet(Fleet([chart.context() for chart in charts]))
    assert rules_of(findings) <= {"category-spelling"}
    assert {finding.severity for finding in findings} <= {Severity.WARNING}
    return [finding.message for finding in findings]


def test_a_category_that_is_another_one_spelt_otherwise_is_named() -> None:
    assert _spellings(["LLM Chat"], ["LLM Chat"], ["LLM chat", "Long Context"]) == [
        "app2 has the category 'LLM chat' (did you mean 'LLM Chat'?)"
    ]
    assert _spellings(["ai"], ["ai"]) == [
        "app0 has the category 'ai' (did you mean 'AI'?)",
        "app1 has the category 'ai' (did you mean 'AI'?)",
    ]
    assert _spellings(["Developer-Tool"]) == [
        "app0 has the category 'Developer-Tool' (did you mean 'Developer Tools'?)"
    ]
    assert _spellings(["模型"], ["模型"], ["Models"], ["Model"]) == [
        "app2 has the category 'Models' (did you mean 'Model'?)"
    ]


def test_categories_that_differ_are_no_spellings_of_each_other() -> None:
    names = ["AI", "Productivity", "Productivity_v112", "Code 1", "Code 2", "LLM Chat", "Chat"]
    assert _spellings(names, names[::-1]) == []


def test_ids_that_collide_are_an_error() -> None:
    # Both names have the md5 prefix 2d313cc2.
    found = find(two(flagship({"app": "app60151"}), other({"app": "app143334"})), "appid-collision")
    for piece in ("app60151", "app143334", "2d313cc2"):
        assert piece in found.message


def test_a_shared_folder_keyed_by_file_name_is_a_collision() -> None:
    shared = '"/olares/share/ai/model"'
    path = '"{{ .Values.userspace.appData }}/models"'

    def share(chart: Chart, repo: str) -> Chart:
        chart = chart.replaced("templates/deployment.yaml", path, shared)
        chart = chart.replaced(
            "templates/deployment.yaml",
            '"/models/unsloth--Qwen3.6-35B-A3B-MTP-GGUF/main/',
            '"/models/llms/',
        )
        return chart.replaced("templates/config.yaml", "unsloth/Qwen3.6-35B-A3B-MTP-GGUF", repo)

    findings = two(
        share(flagship(), "example-org/Demo-27B-MTP-GGUF"),
        share(other(), "example-org/Demo-27B-GGUF"),
    )
    found = find(findings, "model-path-collision")
    for piece in (APP, "otherone", "/olares/share/ai/model/llms/", "example-org/Demo-27B-GGUF"):
        assert piece in found.message


def test_specs_are_compared_without_rendering_them() -> None:
    icons = "https://market.example.org/icons"
    first = flagship_spec()
    second = flagship_spec({"app": "otherone", "title": "Other One"})
    found = find(run_fleet(Fleet.of_specs([first, second], icons=icons)), "fleet-alias")
    assert found.app == "otherone"
    assert found.file == "apps/qwen36-35b-a3b-mtp.yaml"
    assert found.line is not None
    assert second.text.splitlines()[found.line - 1].startswith("alias:")


def test_a_spec_without_an_icon_has_the_markets_own() -> None:
    icons = "https://market.example.org/icons"
    named = flagship_spec({"icon": f"{icons}/otherone.png"})
    other_spec = flagship_spec({"app": "otherone", "title": "Other One", "alias": "other"})
    findings = run_fleet(Fleet.of_specs([named, other_spec], icons=icons))
    assert rules_of(findings) == {"fleet-icon"}
