"""Which table an image gets, what table files hold, and how builds behave."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from olares_apps.engines import flags as package
from olares_apps.engines.flags import (
    behaviours,
    build_of_image,
    builds_with,
    find_table,
    known_builds,
    load_build,
)
from olares_apps.engines.flags.files import (
    TableFileError,
    build_number,
    dump_overlay,
    dump_table,
    load_table,
)

DATA = Path(package.__file__).parent / "data"
ALL = [(engine, build) for engine in ("llamacpp", "vllm") for build in known_builds(engine)]


def read(engine):
    return lambda build: (DATA / engine / f"{build}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("engine", "image", "build", "nearest", "exact"),
    [
        ("llamacpp", "b9254", "b9254", "b9254", True),
        ("llamacpp", "registry.example/llama-server:b9600", "b9600", "b9601", True),
        ("llamacpp", "server-cuda-b9600", "b9600", "b9601", True),
        ("llamacpp", "ghcr.io/ggml-org/llama.cpp:server-cuda13-b8740", "b8740", "b8740", True),
        ("llamacpp", "master-ad27757", "b9261", "b9261", True),
        ("llamacpp", "ad27757", "b9261", "b9261", True),
        ("llamacpp", "ad277572619fcfb6ddd38f4c6437283a4b2b8636", "b9261", "b9261", True),
        ("llamacpp", "docker.io/o/llama-cpp-mtp:master-bb28c1f", "b9281", "b9261", True),
        ("llamacpp", "b9340", "b9340", "b9388", False),
        ("llamacpp", "b12000", "b12000", "b11434", False),
        ("llamacpp", "docker.io/o/buun-llama-cpp:87c351d2", "buun", "buun", False),
        ("llamacpp", "docker.io/o/buun-llama-cpp-dflash:0.2.0", "buun-dflash", "buun-dflash", True),
        ("llamacpp", "docker.io/o/beellama-cpp:0.1.3-rc3", "beellama", "beellama", True),
        ("llamacpp", "docker.io/o/beellama-cpp:0.2.0", "beellama", "beellama", False),
        ("llamacpp", "docker.io/o/llamacpp-mtp:0.1.0", "pr22673", "pr22673", True),
        ("llamacpp", "docker.io/o/other:latest", None, "b11434", False),
        ("llamacpp", "server-cuda", None, "b11434", False),
        ("vllm", "v0.22.1-x86_64-cu129-ubuntu2404", "0.22.1", "0.22.1", True),
        ("vllm", "vllm/vllm-openai:v0.21.0-cu129", "0.21.0", "0.21.0", True),
        ("vllm", "localhost:5000/vllm:v0.19.1@sha256:" + "0" * 64, "0.19.1", "0.19.1", True),
        ("vllm", "0.23.0", "0.23.0", "0.22.1", False),
        ("vllm", "cu130-nightly", None, "0.33.0", False),
    ],
)
def test_an_image_gets_the_table_of_its_build_or_the_nearest(engine, image, build, nearest, exact):
    match = find_table(engine, image)
    assert (match.build, match.nearest, match.exact) == (build, nearest, exact)
    assert match.requested == image
    assert match.table is load_build(engine, nearest)


def test_an_engine_without_tables_gets_none():
    match = find_table("tabbyapi", "latest")
    assert (match.table, match.nearest, match.exact) == (None, None, False)


def test_an_image_built_near_a_build_is_not_exact():
    name = build_of_image("llamacpp", "docker.io/o/llamacpp-gemma4mtp:main-r2")
    assert (name.name, name.exact) == ("b9549", False)


@pytest.mark.parametrize(("engine", "build"), ALL)
def test_a_table_survives_being_written_and_read(engine, build):
    table = load_table(read(engine)(build), read(engine))
    again = load_table(dump_table(table), read(engine))
    assert {flag.name: flag for flag in again.flags} == {flag.name: flag for flag in table.flags}
    assert again.shapes == table.shapes
    assert dump_table(again) == dump_table(table)


@pytest.mark.parametrize(("engine", "build"), ALL)
def test_table_files_have_one_flag_per_line_and_say_where_they_come_from(engine, build):
    text = read(engine)(build)
    document = json.loads(text)
    assert document["build"] == build
    assert document["source"].count("/") == 1
    assert document["extracted_from"]
    lines = Counter(line.strip().removesuffix(",") for line in text.splitlines())
    for block in ("flags", "add", "change"):
        for item in document.get(block, ()):
            assert lines[json.dumps(item)] == 1, item["names"]


@pytest.mark.parametrize(("engine", "build"), ALL)
def test_names_are_unique_and_values_fit_their_form(engine, build):
    table = load_build(engine, build)
    names = [name for flag in table.flags for name in (*flag.names, *flag.negated)]
    doubled = {name for name in names if names.count(name) > 1}
    # The one name that vLLM itself registers under two options.
    assert doubled <= {"--disable-log-requests"}
    for flag in table.flags:
        assert all(name.startswith("-") for name in flag.names)
        if flag.form.value == "enum":
            assert flag.values, flag.name
        if flag.shape not in (None, "object"):
            assert flag.shape in table.shapes
    for shape in table.shapes.values():
        assert all(key.shape is None or key.shape in table.shapes for key in shape.keys.values())


def test_an_overlay_holds_only_what_differs():
    whole = load_table(read("llamacpp")("b9254"), read("llamacpp"))
    base = replace(whole, flags=tuple(replace(flag, default=None) for flag in whole.flags))
    changed = replace(base.flags[3], values=("x",))
    table = replace(base, build="b9255", flags=(changed, *base.flags[4:]), shapes={})
    text = dump_overlay(table, base)
    document = json.loads(text)
    assert document["remove"] == sorted(flag.name for flag in base.flags[:3])
    assert [item["names"] for item in document["change"]] == [list(changed.names)]
    assert "add" not in document
    again = load_table(text, lambda build: dump_table(base))
    assert {flag.name for flag in again.flags} == {flag.name for flag in table.flags}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"schema": 99}', '{"schema": 1, "flags": [{"form": "int"}]}'],
)
def test_a_file_that_is_no_table_is_refused(text):
    with pytest.raises(TableFileError):
        load_table(text, read("llamacpp"))


def test_an_overlay_on_flags_that_its_base_lacks_is_refused():
    text = (
        '{"schema": 1, "engine": "llamacpp", "build": "x", "source": "a/b", '
        '"extracted_from": "c", "base": "b9254", "remove": ["--never-there"]}'
    )
    with pytest.raises(TableFileError, match="--never-there"):
        load_table(text, read("llamacpp"))


def test_builds_are_ordered_by_their_number():
    assert build_number("llamacpp", "b9254") == 9254
    assert build_number("llamacpp", "buun") is None
    ordered = ["0.9.2", "0.10.0", "0.10.1", "0.22.1", "1.0.0"]
    numbers = [build_number("vllm", build) for build in ordered]
    assert numbers == sorted(numbers)


def test_known_facts_of_the_tables_hold():
    assert builds_with("llamacpp", ["--spec-type"], "draft-mtp")[:2] == ["b9254", "b9261"]
    assert builds_with("llamacpp", ["--mtp-head"]) == ["atomic"]
    assert builds_with("llamacpp", ["--cache-type-v"], "kvarn4") == ["beellama-0.3"]
    assert "b10950" not in builds_with("llamacpp", ["--mlock"])
    assert "b10739" in builds_with("llamacpp", ["--mlock"])
    by_env = load_build("llamacpp", "beellama").by_env("LLAMA_ARG_SPEC_DM_ADAPTIVE")
    assert by_env.name == "--spec-dm-adaptive"
    assert load_build("llamacpp", "b9254").by_env("LLAMA_ARG_SPEC_DM_ADAPTIVE") is None
    assert builds_with("vllm", ["--kv-cache-dtype"], "turboquant_k8v4") == [
        "0.21.0",
        "0.22.1",
        "0.33.0",
        "genesis",
    ]


@pytest.mark.parametrize(
    ("build", "draft_kv", "mask", "logits", "scratch"),
    [
        ("b9254", "target", "f32-and-f16", "ubatch", "pool"),
        ("master-ad27757", "target", "f32-and-f16", "ubatch", "pool"),
        ("b9388", "own", "f32-and-f16", "ubatch", "pool"),
        ("b9444", "own", "f16", "ubatch", "pool"),
        ("b9464", "own", "f16", "capped", "pool"),
        ("b9501", "own", "f16", "capped", "buffer"),
        ("b11434", "own", "f16", "capped", "buffer"),
    ],
)
def test_memory_rules_follow_the_build(build, draft_kv, mask, logits, scratch):
    found = behaviours(build)
    assert found.exact
    assert (found.draft_kv, found.mask, found.logits, found.scratch) == (
        draft_kv,
        mask,
        logits,
        scratch,
    )


@pytest.mark.parametrize(
    ("build", "count", "last"),
    [
        ("b9101", 0, None),
        ("b9254", 2, "qwen35moe"),
        ("b9496", 3, "step35"),
        ("b9802", 4, "cohere2moe"),
        ("b10001", 5, "hy-v3"),
        ("b10405", 12, "qwen3next"),
        ("b10950", 14, "glm4-moe"),
        ("b11434", 16, "qwen4exp"),
    ],
)
def test_architectures_with_a_head_follow_the_build(build, count, last):
    archs = behaviours(build).mtp_archs
    assert len(archs) == count
    assert (archs[-1] if archs else None) == last


def test_a_build_between_two_that_were_read_is_unsure_of_what_changed():
    found = behaviours("b10800")
    assert not found.exact
    assert set(found.unsure) == {"load_mode", "log_jsonl"}
    assert found.load_mode == "both"
    assert behaviours("b10745").draft_mtp_starts is False


def test_forks_and_unknown_builds_take_the_nearest_and_say_so():
    fork, unknown, future = behaviours("buun"), behaviours("nightly"), behaviours("b12000")
    assert (fork.build, fork.name, fork.exact) == (8993, "buun", False)
    assert (unknown.build, unknown.name, unknown.exact) == (11434, None, False)
    assert (future.build, future.exact) == (12000, False)
