"""The argument lists of the two published MTP stacks, and of charts on fork images."""

import pytest

from olares_apps.engines.flags import check_argv, check_launch, find_table
from olares_apps.findings import Severity


def with_kwargs(text):
    """Return the arguments of a text that ends in ``--chat-template-kwargs``, with its JSON."""
    return [*text.split(), '{"enable_thinking": false}']


STACK_1 = with_kwargs(
    "--model /models/Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf --alias qwen3.6-35b-a3b-mtp --host 0.0.0.0 "
    "--port 8000 --n-gpu-layers 99 --ctx-size 262144 --threads 16 --cache-type-k q4_0 "
    "--cache-type-v q4_0 --batch-size 512 --ubatch-size 512 --parallel 1 --flash-attn on --jinja "
    "--spec-type draft-mtp --spec-draft-n-max 3 --chat-template-kwargs"
)
STACK_1_SEED = with_kwargs(
    "--spec-type draft-mtp --spec-draft-n-max 3 --ctx-size 32768 --cache-type-k q4_0 "
    "--cache-type-v q4_0 --batch-size 512 --ubatch-size 512 --parallel 1 --flash-attn on "
    "--chat-template-kwargs"
)
STACK_5 = with_kwargs(
    "--model /models/Qwen3.6-27B-UD-Q3_K_XL.gguf --alias qwen3.6-27b-mtp --host 0.0.0.0 "
    "--port 8000 --n-gpu-layers 99 --ctx-size 262144 --threads 16 --cache-type-k q4_0 "
    "--cache-type-v q4_0 --batch-size 512 --ubatch-size 512 --parallel 1 --flash-attn on --jinja "
    "--spec-type draft-mtp --spec-draft-n-max 3 --chat-template-kwargs"
)
STACK_5_BRANCH = with_kwargs(
    "--model /models/Qwen3.6-27B-MTP-Q4_K_M.gguf --host 0.0.0.0 --port 8000 --n-gpu-layers 99 "
    "--ctx-size 32000 --threads 16 --batch-size 256 --ubatch-size 64 --parallel 1 --flash-attn on "
    "--jinja --spec-type mtp --spec-draft-n-max 4 --chat-template-kwargs"
)
BEELLAMA = (
    "--model /models/t.gguf --spec-draft-model /models/d.gguf --spec-type dflash "
    "--spec-dflash-cross-ctx 1024 --alias demo --host 0.0.0.0 --port 8000 -ngl 99 "
    "--spec-draft-ngl 99 --ctx-size 262144 --threads 16 --cache-type-k turbo3 "
    "--cache-type-v turbo3 --batch-size 2048 --ubatch-size 256 --parallel 1 --kv-unified "
    "--flash-attn on --jinja --no-mmap --mlock --temp 0.6 --top-k 20 --min-p 0.0"
).split()
BUUN_DFLASH = (
    "--model /models/t.gguf --model-draft /models/d.gguf --spec-type dflash --alias demo "
    "--host 0.0.0.0 --port 8000 --n-gpu-layers 99 --n-gpu-layers-draft 99 --ctx-size 196608 "
    "--threads 16 --cache-type-k turbo3 --cache-type-v turbo3 --batch-size 512 --ubatch-size 512 "
    "--parallel 1 --flash-attn on --jinja"
).split()
BUUN_VISION = (
    "--model /models/t.gguf --mmproj /models/m.gguf --mmproj-gpu-swap --alias demo --host 0.0.0.0 "
    "--port 8000 --n-gpu-layers 99 --threads 16 --cache-type-k q8_0 --cache-type-v turbo4 "
    "--parallel 1 --flash-attn on --jinja --reasoning off --spec-type draft-mtp "
    "--spec-draft-n-max 3"
).split()
ATOMIC = (
    "--host 0.0.0.0 --port 8080 --model /models/t.gguf --mtp-head /models/h.gguf --spec-type mtp "
    "--draft-block-size 3 --draft-max 8 --draft-min 0 --alias demo --ctx-size 131072 -ngl 99 "
    "-ngld 99 --threads 16 -ctk turbo3 -ctv turbo3 -ctkd turbo3 -ctvd turbo3 --batch-size 2048 "
    "--ubatch-size 2048 --parallel 1 --mlock -fa on --jinja --slot-save-path /cache "
    "--no-context-shift"
).split()
GEMMA_BEELLAMA = (
    "--model /models/t.gguf --mmproj /models/m.gguf --alias demo --host 0.0.0.0 --port 8080 "
    "--n-gpu-layers 99 --ctx-size 262144 --threads 16 --cache-type-k kvarn4 --cache-type-v kvarn4 "
    "--batch-size 512 --ubatch-size 512 --parallel 1 --flash-attn on --jinja --reasoning off"
).split()

MTP_IMAGE = "docker.io/aamsellem/llama-cpp-mtp:master-ad27757"
BRANCH_IMAGE = "docker.io/aamsellem/llamacpp-mtp:0.1.0"


@pytest.mark.parametrize(
    ("image", "argv"),
    [
        (MTP_IMAGE, STACK_1),
        (MTP_IMAGE, STACK_1_SEED),
        (MTP_IMAGE, STACK_5),
        (BRANCH_IMAGE, STACK_5_BRANCH),
        ("b9254", STACK_1),
        ("b11434", STACK_5),
    ],
)
def test_every_option_of_the_published_mtp_stacks_is_valid(image, argv):
    match = find_table("llamacpp", image)
    assert match.exact
    assert check_argv(argv, match.table) == []
    rules = [problem.rule for problem in check_launch(argv, match.table, build=image)]
    assert rules == ["thinking-through-template-kwargs"]


@pytest.mark.parametrize(
    ("image", "argv"),
    [
        ("docker.io/aamsellem/beellama-cpp:0.1.3-rc3", BEELLAMA),
        ("docker.io/aamsellem/buun-llama-cpp-dflash:0.2.0", BUUN_DFLASH),
        ("docker.io/aamsellem/buun-llama-cpp:87c351d2", BUUN_VISION),
        ("docker.io/aamsellem/llamacpp-atomic-mtp:0.1.0", ATOMIC),
        ("ghcr.io/anbeeld/beellama.cpp:server-cuda13-preview-v0.3.2", GEMMA_BEELLAMA),
    ],
)
def test_lists_of_fork_charts_are_clean_on_their_fork(image, argv):
    assert check_launch(argv, find_table("llamacpp", image).table, build=image) == []


@pytest.mark.parametrize("argv", [BEELLAMA, BUUN_DFLASH, BUUN_VISION, ATOMIC, GEMMA_BEELLAMA])
@pytest.mark.parametrize("build", ["b9254", "b11434"])
def test_lists_of_fork_charts_fail_on_a_stock_build(build, argv):
    problems = check_launch(argv, find_table("llamacpp", build).table)
    assert any(problem.severity is Severity.ERROR for problem in problems)


def test_a_stock_build_names_every_fork_only_part_of_a_chart():
    problems = check_argv(BEELLAMA, find_table("llamacpp", "b11434").table)
    found = {(problem.flag, problem.kind.value) for problem in problems}
    assert found == {
        ("--spec-type", "bad_value"),
        ("--spec-dflash-cross-ctx", "unknown"),
        ("--cache-type-k", "bad_value"),
        ("--cache-type-v", "bad_value"),
        ("--no-mmap", "removed"),
        ("--mlock", "removed"),
    }
