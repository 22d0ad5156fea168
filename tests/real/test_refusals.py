"""What a real llama-server refuses is refused here too, before anything is downloaded."""

import pytest
from support.gguf_files import TINY_DENSE, TINY_MOE, servable_source, write_sparse_model
from support.llama_server import Server, server_params, start

from olares_apps.engines.flags import (
    check_argv,
    check_conflicts,
    known_builds,
    load_build,
    parse_argv,
)
from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.gguf_facts import facts_of
from olares_apps.fit.gguf_header import read_header
from olares_apps.fit.memory_model import estimate
from olares_apps.fit.memory_request import MemoryRequest
from olares_apps.fit.mtp import MtpState, check_mtp

servers = pytest.mark.parametrize("server", server_params())
MTP = ["--spec-type", "draft-mtp", "--spec-draft-n-max", "3"]


@pytest.fixture(params=[TINY_MOE, TINY_DENSE], ids=lambda shape: shape.arch)
def shape(request):
    return request.param


def start_with(server, folder, shape, head, *arguments):
    path = write_sparse_model(folder / "model.gguf", shape, head)
    return start(server, folder, ["-m", str(path), "-c", "512", "-np", "1", *arguments])


def mtp_of(server, shape, head):
    return check_mtp(
        facts_of(read_header(servable_source(shape, head))), behaviour_of(server.number)
    )


@servers
def test_a_file_with_its_head_drafts(server: Server, shape, tmp_path):
    assert start_with(server, tmp_path, shape, "full", *MTP).status is None
    assert mtp_of(server, shape, "full").is_usable


@servers
def test_a_file_without_a_head_starts_only_without_mtp(server: Server, shape, tmp_path):
    assert start_with(server, tmp_path, shape, "none").status is None
    started = start_with(server, tmp_path, shape, "none", *MTP)
    assert started.status == 1
    assert "failed to create MTP context" in started.text
    found = mtp_of(server, shape, "none")
    assert (found.state, found.blocks_start) == (MtpState.ABSENT, False)


@servers
@pytest.mark.parametrize("arguments", [[], MTP], ids=["plain", "mtp"])
def test_the_key_without_the_tensors_stops_even_a_plain_start(
    server: Server, shape, arguments, tmp_path
):
    started = start_with(server, tmp_path, shape, "key", *arguments)
    assert started.status == 1
    assert f"blk.{shape.layers}.attn_norm.weight" in started.text
    found = mtp_of(server, shape, "key")
    assert (found.state, found.blocks_start) == (MtpState.KEY_WITHOUT_TENSORS, True)


@servers
def test_a_quantised_v_cache_without_flash_attention_is_refused(server: Server, tmp_path):
    started = start_with(
        server, tmp_path, TINY_MOE, "none", "-ctk", "q8_0", "-ctv", "q8_0", "-fa", "off"
    )
    # b9254 crashes instead of saying no.
    assert started.status in (1, -11)
    request = MemoryRequest(ctx=512, parallel=1, kv_k="q8_0", kv_v="q8_0", flash_attn="off")
    facts = facts_of(read_header(servable_source(TINY_MOE, "none")))
    assert "flash attention" in estimate(facts, request, behaviour_of(server.number)).problems[0]


# Values and options with which charts of the field were published.
ARGUMENTS = [
    ["--cache-type-k", "turbo3"],
    ["--cache-type-v", "turbo4"],
    ["--spec-type", "mtp"],
    ["--spec-type", "dflash"],
    ["--spec-type", "draft-mtp"],
    ["--draft-max", "8"],
    ["--spec-dflash-cross-ctx", "1"],
    ["--no-mmap"],
    ["--mlock"],
    ["--load-mode", "mmap"],
    ["--flash-attn", "maybe"],
    ["--fit", "perhaps"],
    ["--reasoning", "off"],
    ["--cache-ram", "0"],
    ["--spec-draft-p-min", "0.5"],
    ["--kv-unified"],
    ["--swa-full"],
    ["--ctx-checkpoints", "4"],
]


@servers
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda words: "-".join(words).lstrip("-"))
def test_the_flag_table_agrees_with_the_build(server: Server, arguments, tmp_path):
    if server.build not in known_builds("llamacpp"):
        pytest.skip(f"there is no flag table of {server.build}")
    started = start_with(server, tmp_path, TINY_MOE, "full", *arguments)
    problems = check_argv(arguments, load_build("llamacpp", server.build))
    refused = [problem for problem in problems if problem.kind != "deprecated"]
    assert bool(refused) is (started.status is not None), "\n".join(started.lines[-4:])


# Numbers that end the server, and their neighbours that do not.
NUMBERS = [
    ["--parallel", "0"],
    ["--parallel", "-3"],
    ["--ctx-size", "-5"],
    ["--ctx-size", "0"],
    ["--batch-size", "0"],
    ["--batch-size", "32"],
    ["--ubatch-size", "0"],
    ["--threads", "0"],
]


@servers
@pytest.mark.parametrize("arguments", NUMBERS, ids=lambda words: "-".join(words).lstrip("-"))
def test_numbers_that_end_the_server_are_refused(server: Server, arguments, tmp_path):
    if server.build not in known_builds("llamacpp"):
        pytest.skip(f"there is no flag table of {server.build}")
    started = start_with(server, tmp_path, TINY_DENSE, "full", *arguments)
    table = load_build("llamacpp", server.build)
    found = check_conflicts(parse_argv(arguments, table), table)
    refused = [problem for problem in found if problem.rule == "number-refused"]
    assert bool(refused) is (started.status is not None), "\n".join(started.lines[-4:])
