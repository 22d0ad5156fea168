"""Findings about the lock, as rules of the table."""

from typing import Any

from support.check_charts import flagship, flagship_spec, rules_of
from support.fit_facts import facts_35b
from support.locks import file_of, image_of

from olares_apps.checks import RULES
from olares_apps.findings import Severity
from olares_apps.lock.findings import RULES as LOCK_RULES
from olares_apps.lock.model import Lock

IMAGE = "docker.io/aamsellem/llama-cpp-mtp:master-ad27757"
SIZE = 17_200_000_000
FILE: dict[str, Any] = {
    "repo": "unsloth/Qwen3.6-35B-A3B-MTP-GGUF",
    "file": "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf",
    "size": SIZE,
}


def test_every_rule_of_the_lock_is_in_the_table() -> None:
    assert set(LOCK_RULES) <= set(RULES)


def test_a_lock_that_fits_its_spec_gives_no_finding() -> None:
    facts = facts_35b(SIZE, "full").to_dict()
    lock = Lock(files=[file_of(**FILE, gguf=facts)], images=[image_of(IMAGE)])
    findings = flagship().check(spec=flagship_spec(), lock=lock)
    # The image was built without virtual memory, which costs memory and is said.
    assert all("legacy memory pool" in item.message for item in findings), findings


def test_a_model_that_is_locked_without_its_header_is_not_judged_and_that_is_told() -> None:
    lock = Lock(files=[file_of(**FILE)], images=[image_of(IMAGE)])
    (finding,) = flagship().check(spec=flagship_spec(), lock=lock)
    assert finding.rule == "lock-stale"
    assert "locked without its header" in finding.message


def test_a_lock_that_is_behind_its_spec_is_named_in_the_specs_file() -> None:
    lock = Lock(files=[], images=[image_of(IMAGE, cuda="99.0")])
    findings = flagship().check(spec=flagship_spec(), lock=lock)
    assert rules_of(findings) == {"lock-stale", "image-exists"}
    assert {f.file for f in findings} == {"apps/qwen36-35b-a3b-mtp.yaml"}
    lines = flagship_spec().text.splitlines()
    places = {f.rule: lines[(f.line or 0) - 1].strip() for f in findings}
    assert places["image-exists"] == f"image: {IMAGE}"
    assert places["lock-stale"].startswith(("files:", "- repo: unsloth", "model:"))
    severities = {f.rule: f.severity for f in findings}
    assert severities == {"lock-stale": Severity.WARNING, "image-exists": Severity.ERROR}


def test_without_a_lock_nothing_is_said() -> None:
    assert flagship().check(spec=flagship_spec()) == []
