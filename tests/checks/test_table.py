"""The rule table itself, and the page that is generated from it."""

import re
from pathlib import Path

import pytest

from olares_apps.checks import RULES, Applies, Group, explain, get_rule, rules_page
from olares_apps.errors import UnknownName
from olares_apps.findings import Severity

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
# Every rule id of the Olares contract that a chart can break, in the contract's order.
CONTRACT = """
layout-required-files folder-name app-name-leading-letter name-consistency reserved-folder-name
reserved-appid appid-equals-name appid-collision archive-single-root archive-single-gzip
archive-size archive-deterministic version-consistency version-semver version-length
version-plain-release version-monotonic version-immutable quoted-scalars manifest-version
api-version-known api-version-v2-refused manifest-parse manifest-literal
manifest-template-values metadata-required metadata-name-length metadata-title-length
metadata-icon-url metadata-unknown-key metadata-taxonomy-slug spec-locale entrance-count
entrance-name entrance-host-format entrance-port entrance-title entrance-icon-url entrance-enum
entrance-host-service entrance-order resource-quantity resource-flat-required
resource-shape-exclusive resource-shape-missing resource-limit-order resource-auto-value
accelerator-mode accelerator-complete accelerator-gpu-memory accelerator-arch accelerator-on-v2
supported-gpu-empty support-arch container-resources container-request-order resource-sum
workload-replicas-declared workload-replicas-match workload-replicas-template provider-empty
external-data-generation olares-dependency olares-dependency-window shared-requirements
template-only-multiple env-reserved-prefix olares-user-text sub-charts-v2 overlay-gateway
workload-options-single dependency-fields policy-fields middleware-fields
middleware-redis-password upload-dest-mounted chart-renders values-parent-default
template-function-subset template-context-subset literal-braces yaml-documents
main-workload-name permission-app-data permission-app-common permission-external-data
permission-cache-user-data hostpath-strategy namespace-release cluster-scoped-name
rbac-forbidden security-context-root sub-path-expr chown-hostpath host-network network-policy
service-type image-public-fixed image-literal values-new-key-guard gpu-annotation
gpu-container-scope gpu-manual-limits gpu-memory-headroom startup-probe-budget api-timeout
random-secret replica-count-integer hyphen-index helm-hook-middleware run-as-internal
""".split()


def test_every_rule_of_the_contract_is_in_the_table() -> None:
    assert len(CONTRACT) == 111
    assert set(CONTRACT) <= set(RULES)


def test_the_table_is_sorted_by_ids_in_kebab_case() -> None:
    assert list(RULES) == sorted(RULES)
    assert [name for name in RULES if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []


def test_every_rule_has_a_reason_in_a_sentence_and_a_source() -> None:
    for rule in RULES.values():
        assert rule.reason.endswith("."), rule.id
        assert len(rule.reason) < 300, rule.id
        assert rule.source, rule.id
        assert isinstance(rule.severity, Severity)
        assert isinstance(rule.applies, Applies)


def test_the_page_of_all_rules_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == rules_page()


def test_the_page_lists_every_rule_once_below_its_group() -> None:
    page = rules_page()
    assert [name for name in RULES if page.count(f"| `{name}` |") != 1] == []
    assert page.count("\n## ") == len(Group)


def test_an_explanation_names_reason_scope_effect_and_source() -> None:
    text = explain("hostpath-strategy")
    rule = get_rule("hostpath-strategy")
    for piece in (
        rule.reason,
        rule.source,
        "charts for olares-1.12.6",
        "refuses",
        "error, objects",
    ):
        assert piece in text


def test_an_unknown_rule_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        explain("hostpath-stratagy")
    assert caught.value.suggestion == "hostpath-strategy"
