"""One spec on several devices, and values that owners may change: both are checked on loading."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.specs import MINIMAL, faults_of, load

from olares_apps.errors import SpecError
from olares_apps.spec.facts import facts
from olares_apps.spec.loader import LoadedSpec, variant_of

VARIANT = """\
variants:
  rtx-3090:
    set:
      engine.ctx: 16384
      engine.kv: {k: q8_0, v: q8_0}
      model.files.0.file: Demo-35B-UD-IQ2_M.gguf
      model.files.0.size_gb: 11.5
"""
MEMORY = "resources:\n  gpu_memory: 20Gi\n  memory_limit: 48Gi\n"


def line_of(text: str, piece: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if piece in line)


def on(profile: str, text: str) -> LoadedSpec:
    return variant_of(load(text), profile)


def test_a_variant_changes_what_it_names_and_nothing_else() -> None:
    text = MINIMAL + MEMORY + VARIANT
    base, changed = load(text), on("rtx-3090", text)
    engine = changed.spec.engine
    assert (engine.ctx, engine.kv.k, engine.parallel) == (16384, "q8_0", 1)
    assert changed.spec.hardware == "rtx-3090"
    assert changed.spec.resources.memory_limit == "48Gi"
    assert (changed.spec.app, changed.spec.version) == (base.spec.app, base.spec.version)
    assert base.spec.engine.ctx == 32768
    assert base.spec.hardware == "olares-one"
    assert changed.spec.variants == {}


def test_facts_about_another_file_and_stated_memory_are_not_taken_over() -> None:
    changed = on("rtx-3090", MINIMAL + MEMORY + VARIANT).spec
    (file,) = changed.model.files
    assert (file.file, file.size_gb, file.quant) == ("Demo-35B-UD-IQ2_M.gguf", 11.5, None)
    assert file.repo == "example-org/Demo-35B-GGUF"
    assert changed.resources.gpu_memory is None


def test_stated_memory_of_a_variant_counts() -> None:
    text = MINIMAL + MEMORY + VARIANT + "      resources.gpu_memory: 14Gi\n"
    assert on("rtx-3090", text).spec.resources.gpu_memory == "14Gi"


def test_a_profile_without_a_variant_changes_only_the_budget() -> None:
    changed = on("rtx-4090", MINIMAL + MEMORY + VARIANT).spec
    base = load(MINIMAL + MEMORY).spec
    assert changed == base.model_copy(update={"hardware": "rtx-4090"})


def test_the_own_profile_is_the_spec_itself() -> None:
    loaded = load(MINIMAL + VARIANT)
    assert variant_of(loaded, "olares-one") is loaded


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ("engine.ctx: 300000", "engine.ctx", "beyond the model's native context of 262144"),
        ("engine.ctx: many", "engine.ctx", "whole number"),
        ("engine.contxt: 1", "engine.contxt", "unknown"),
        ("engine.kv: {q: f16}", "engine.kv.q", "unknown"),
        ("model.files.7.file: a.gguf", "model.files.7.file", "there is no 7"),
        ("app: other", "app", "is the same on every device"),
        ("resources.memory: 80Gi", "resources.memory", "is above the limit 40Gi"),
    ],
)
def test_a_fault_of_a_variant_is_reported_where_the_variant_says_it(
    line: str, field: str, message: str
) -> None:
    text = f"{MINIMAL}variants:\n  rtx-4090:\n    set: {{engine.batch: 512}}\n" + (
        f"  rtx-3090:\n    set:\n      {line}\n"
    )
    (problem,) = faults_of(text)
    assert problem.line == line_of(text, line)
    assert problem.field == field
    assert message in problem.message


def test_a_placeholder_that_a_variant_loses_is_an_error_that_names_the_profile() -> None:
    text = MINIMAL.replace("A demo on", "A {{ quant }} demo on") + VARIANT
    loaded = load(text)
    with pytest.raises(SpecError) as caught:
        variant_of(loaded, "rtx-3090", facts=lambda spec: facts(spec, {}))
    (problem,) = caught.value.problems
    assert problem.line == line_of(text, "summary:")
    assert problem.message.startswith("on rtx-3090: ")


@given(ctx=st.integers(256, 262144), batch=st.integers(1, 65536), parallel=st.integers(1, 256))
def test_a_variant_is_the_spec_that_a_person_would_have_written(
    ctx: int, batch: int, parallel: int
) -> None:
    text = (
        f"{MINIMAL}variants:\n  rtx-3090:\n    set:\n      engine.ctx: {ctx}\n"
        f"      engine.batch: {batch}\n      engine.parallel: {parallel}\n"
    )
    by_hand = MINIMAL.replace("ctx: 32768", f"ctx: {ctx}\n  batch: {batch}").replace(
        "parallel: 1", f"parallel: {parallel}"
    )
    assert on("rtx-3090", text).spec == load(by_hand + "hardware: rtx-3090\n").spec


SETTING = "settings:\n  CTX_SIZE:\n    field: engine.ctx\n    description: Context\n"


@pytest.mark.parametrize(
    ("lines", "piece", "message"),
    [
        ("    min: 128\n    max: 65536\n", "min: 128", "at least 256|256"),
        ("    max: 300000\n", "max: 300000", "beyond the model's native context of 262144"),
        ("    min: 65536\n", "min: 65536", "engine.ctx is 32768, below 65536"),
        ("    max: 16384\n", "max: 16384", "engine.ctx is 32768, above 16384"),
        ("    choices: [4096, 8192]\n", "choices:", "engine.ctx is 32768, which is not among them"),
        ("    choices: [32768, 300000]\n", "choices:", "beyond the model's native context"),
        ("    type: int\n", "CTX_SIZE", "whose value is its default"),
    ],
)
def test_the_ends_of_a_setting_are_checked_like_the_value_of_the_spec(
    lines: str, piece: str, message: str
) -> None:
    text = MINIMAL + SETTING + lines
    problems = faults_of(text)
    assert {problem.line for problem in problems} == {line_of(text, piece)}
    assert any(re.search(message, problem.message) for problem in problems)


def test_a_setting_within_its_ends_loads() -> None:
    loaded = load(MINIMAL + SETTING + "    min: 4096\n    max: 262144\n")
    assert loaded.spec.settings["CTX_SIZE"].extremes() == [(("min",), 4096), (("max",), 262144)]


@pytest.mark.parametrize(
    ("part", "piece", "message"),
    [
        ("settings:\n  X: {field: app, description: d}\n", "X:", "app cannot be a setting"),
        ("settings:\n  X: {field: engine.port, description: d}\n", "X:", "cannot be a setting"),
        ("settings:\n  X: {field: engine.no, description: d}\n", "X:", "has no value"),
        ("settings:\n  OLARES_USER_X: {description: d}\n", "OLARES_USER_X", "belong to the system"),
        ("services:\n  - {name: a, port: 8000}\n", "port: 8000", "also that of engine.port"),
        (
            "services:\n  - {name: a, port: 1}\n  - {name: a, port: 2}\n",
            "port: 2",
            "a is also that of services.0",
        ),
        ("services:\n  - {name: a-, port: 1}\n", "name: a-", "a- ends with a hyphen"),
        ("entrance: {service: studio}\n", "service:", "there is no service studio"),
        (
            "entrances:\n  - {name: demoqwenone, title: Other}\n",
            "- {name",
            "also that of the main entrance",
        ),
        (
            "volumes:\n  - {source: app-data, folder: a, mounts: [/models]}\n",
            "mounts:",
            "/models is a folder of the chart itself",
        ),
        (
            "volumes:\n  - {source: app-data, folder: a, mounts: [/usr/lib]}\n",
            "mounts:",
            "/usr/lib is a folder of the system",
        ),
        (
            "volumes:\n  - {source: app-data, folder: a, mounts: [/proc/1]}\n",
            "mounts:",
            "/proc/1 is a folder of the system",
        ),
        ("config_files: {/app/x: a, /app/x/y: a}\n", "/app/x/y", "lies in /app/x, which is a file"),
        (
            "config_files: {/app/x: a}\n"
            "volumes:\n  - {source: app-data, folder: a, mounts: [/app/x/y]}\n",
            "mounts:",
            "/app/x/y lies in /app/x, which config_files makes a file",
        ),
        (
            "volumes:\n  - {source: app-data, folder: ../a, mounts: [/a]}\n",
            "folder:",
            "must be a folder such as studio/output",
        ),
        ("config_files: {/config/a: a}\n", "/config/a", "a folder of the chart itself"),
        ("config_files: {/app/../a: a}\n", "/app/../a", "must be an absolute path of a file"),
        (
            "init:\n  - {name: a, image: 'ghcr.io/o/n:1', command: [a]}\n",
            "image:",
            "devices refuse init containers of ghcr.io",
        ),
        (
            "support: {accelerators: [nvidia, apple-m]}\n",
            "accelerators",
            "apple-m needs arm64 in support.arch",
        ),
        ("support: {arch: [amd64, amd64]}\n", "arch", "amd64 is listed twice"),
        ("run_as_user: 0\n", "run_as_user", "0"),
    ],
)
def test_parts_that_no_device_would_take_are_refused_with_their_line(
    part: str, piece: str, message: str
) -> None:
    (problem,) = faults_of(MINIMAL + part)
    assert problem.line == MINIMAL.count("\n") + line_of(part, piece)
    assert message in problem.message
