"""What owners may set is judged like the spec: every choice, and both ends of a range."""

from collections.abc import Mapping
from typing import Any

import pytest
from support.fit_facts import facts_35b
from support.locks import file_of, image_of, lock_of
from support.sample_specs import FLAGSHIP, make_spec
from support.spec_checks import check_spec, findings_of, line_of
from support.vllm_specs import VISION, vllm_spec

from olares_apps.findings import Severity

FILE = FLAGSHIP["model"]["files"][0]
IMAGE = FLAGSHIP["engine"]["image"]


def settings(**described: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "settings": {name: {"description": "d", **item} for name, item in described.items()},
        "engine.batch": 2048,
    }


@pytest.mark.parametrize(
    ("setting", "rule", "place", "severity"),
    [
        (
            {"field": "engine.flash_attn", "choices": ["on", "off"]},
            "quantised-v-cache-needs-flash-attention",
            "- 'off'",
            Severity.ERROR,
        ),
        (
            {"field": "engine.kv.v", "choices": ["q4_0", "turbo3"]},
            "flag-bad-value",
            "- turbo3",
            Severity.ERROR,
        ),
        (
            {"field": "engine.ubatch", "min": 64, "max": 65536},
            "ubatch-above-batch",
            "max: 65536",
            Severity.WARNING,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_that_the_server_refuses_is_told_at_the_setting(
    setting: Mapping[str, Any], rule: str, place: str, severity: Severity
) -> None:
    spec = make_spec(settings(X=setting))
    (found,) = check_spec(spec)
    assert (found.rule, found.severity) == ("setting-value", severity)
    assert found.message.endswith(f"({rule})")
    assert setting["field"] in found.message
    assert line_of(spec, found) == place


def test_values_that_all_start_are_fine() -> None:
    wanted = settings(
        FA={"field": "engine.flash_attn", "choices": ["on", "auto"]},
        KVV={"field": "engine.kv.v", "choices": ["q4_0", "q8_0"]},
        UBATCH={"field": "engine.ubatch", "min": 64, "max": 2048},
        CTX_SIZE={"field": "engine.ctx", "min": 4096, "max": 262144},
        LOG_LEVEL={"choices": ["debug", "off"]},
    )
    assert check_spec(make_spec(wanted)) == []


def test_what_the_spec_has_itself_is_not_told_of_each_value() -> None:
    wanted = settings(THREADS={"field": "engine.threads", "min": 1, "max": 16})
    changes = {**wanted, "engine.kv.v": "turbo3", "engine.extra_args": ["--no-such-flag"]}
    rules = [item.rule for item in check_spec(make_spec(changes))]
    assert "setting-value" not in rules
    assert {"flag-bad-value", "flag-unknown"} <= set(rules)


def test_settings_are_judged_one_at_a_time() -> None:
    wanted = settings(
        V={"field": "engine.kv.v", "choices": ["f16", "q8_0"]},
        FA={"field": "engine.flash_attn", "choices": ["on", "off"]},
    )
    assert findings_of("setting-value", make_spec({**wanted, "engine.kv.v": "f16"})) == []


def test_with_a_lock_the_longest_context_must_fit() -> None:
    size = 17_200_000_000
    known = file_of(repo=FILE["repo"], file=FILE["file"], size=size, gguf=facts_35b(size).to_dict())
    lock = lock_of(known, images=[image_of(IMAGE, cuda="13.0")])
    changes: dict[str, Any] = {"engine.ctx": 32768, "engine.kv.k": "f16", "engine.kv.v": "f16"}
    for most, is_fine in ((49152, True), (262144, False)):
        wanted = settings(CTX_SIZE={"field": "engine.ctx", "min": 4096, "max": most})
        spec = make_spec({**wanted, **changes})
        found = findings_of("setting-value", spec, lock=lock)
        assert ("error" in {item.severity for item in found}) is not is_fine
        assert bool(found) is not is_fine
        assert all("model-fits" in item.message for item in found)
        assert all(line_of(spec, item) == "max: 262144" for item in found)


def test_the_settings_of_vllm_are_judged_too() -> None:
    wanted = {"field": "engine.kv_cache_dtype", "choices": ["fp8", "fp7"]}
    spec = vllm_spec(VISION, {"settings": {"KV": {"description": "d", **wanted}}})
    (found,) = findings_of("setting-value", spec)
    assert "with fp7 for engine.kv_cache_dtype" in found.message
    assert line_of(spec, found) == "- fp7"


@pytest.mark.parametrize("ends", [{}, {"min": 4096}, {"max": 65536}])
def test_a_context_without_ends_is_an_error(ends: Mapping[str, int]) -> None:
    spec = make_spec(settings(CTX_SIZE={"field": "engine.ctx", **ends}) | {"engine.ctx": 8192})
    (found,) = findings_of("setting-unbounded", spec)
    assert found.severity is Severity.ERROR
    assert not any(f"no {name}" in found.message for name in ends)
    assert line_of(spec, found).startswith("CTX_SIZE:")


def test_other_numbers_without_ends_are_a_warning() -> None:
    spec = make_spec(settings(SLOTS={"field": "engine.parallel"}))
    (found,) = findings_of("setting-unbounded", spec)
    assert found.severity is Severity.WARNING
    chosen = make_spec(settings(SLOTS={"field": "engine.parallel", "choices": [1, 2]}))
    assert findings_of("setting-unbounded", chosen) == []
