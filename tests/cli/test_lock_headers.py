"""Headers and locks of models that cannot be: told by name, without a figure made of them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.fake_hub import FakeHub, Sparse, hub_of_the_environment, sparse_model, split_model
from support.fit_facts import facts_35b
from support.gguf_files import (
    TINY_MOE,
    TINY_PLAIN,
    Tensor,
    Typed,
    data_bytes,
    gguf_header,
    metadata_of,
    plain_tensors,
    servable_metadata,
    tensors_of,
)
from support.locks import file_of, image_of, lock_of
from support.registry import FakeRegistry, ImageBlobs
from support.workspaces import build_workspace, good, olapps, untouched

from olares_apps.lock.file import load_lock, write_lock
from olares_apps.render import assemble

REPO, FILE = "example-org/Demo-35B-GGUF", "Demo-35B-UD-Q3_K_XL.gguf"
KV = "qwen35moe.attention.head_count_kv"


def heads(*values: int) -> dict[str, Any]:
    return {KV: Typed("array", list(values), "int32")}


# TINY_MOE has eight blocks and one for MTP; every fourth one has attention.
NONSENSE: dict[str, tuple[dict[str, Any], str]] = {
    "short": (heads(0, 0, 0, 2), "attention.head_count_kv has 4 values for 9 blocks"),
    "short-uniform": (heads(2, 2, 2), "attention.head_count_kv has 3 values for 9 blocks"),
    "long": (heads(*[2] * 12), "attention.head_count_kv has 12 values for 9 blocks"),
    "none": (heads(), "attention.head_count_kv has 0 values for 9 blocks"),
    "many": (heads(*[2] * 100_000), "attention.head_count_kv has 100000 values for 9 blocks"),
    "zeros": (heads(*[0] * 9), "attention heads and no KV heads"),
    "zero": ({KV: 0}, "attention heads and no KV heads"),
    "one-zero": (
        heads(2, 2, 2, 2, 2, 2, 2, 0, 2),
        "block 7 is one with attention and has no KV heads",
    ),
    "all-mtp": ({"qwen35moe.nextn_predict_layers": 9}, "all 9 blocks are MTP blocks"),
    "more-mtp": ({"qwen35moe.nextn_predict_layers": 10}, "9 blocks with 10 MTP blocks"),
    "no-blocks": (
        {"qwen35moe.block_count": 0, "qwen35moe.nextn_predict_layers": 0},
        "states no blocks",
    ),
    "no-width": ({"qwen35moe.embedding_length": 0}, "states no width"),
    "wide": ({"qwen35moe.attention.key_length": 2**31 - 1}, "key_length 2147483647 makes no sense"),
}


def model(changes: dict[str, Any], tensors: list[Tensor] | None = None) -> Sparse:
    found = tensors_of(TINY_MOE) if tensors is None else tensors
    header = gguf_header(metadata_of(TINY_MOE) | changes, found)
    return Sparse(header, len(header) + data_bytes(found))


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    with FakeRegistry() as fake:
        fake.add_image("llama-server", "b9600", ImageBlobs({"amd64": []}))
        fake.add_image("alpine/curl", "1", ImageBlobs({"amd64": []}))
        monkeypatch.setattr(assemble, "DOWNLOAD_IMAGE", f"{fake.host}/alpine/curl:1")
        yield fake


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_of_the_environment(monkeypatch, tmp_path) as fake:
        yield fake


@pytest.fixture
def root(tmp_path: Path, hub: FakeHub, registry: FakeRegistry) -> Path:
    image = ("registry.example.org/llama-server:b9600", f"{registry.host}/llama-server:b9600")
    return build_workspace(tmp_path / "ws", image, ("      size_gb: 17.2\n", ""))


@pytest.mark.parametrize(("changes", "told"), NONSENSE.values(), ids=NONSENSE)
def test_a_header_that_describes_no_model_is_refused_wherever_it_is_read(hub, root, changes, told):
    content = model(changes)
    hub.add_repo(REPO, {FILE: content})
    with untouched(root):
        outcome = olapps("lock", cwd=root)
        assert outcome.code == 1
        assert re.search(rf"demo\.yaml:\d+: model\.files\.0: .*{told}", outcome.err)
        outcome = olapps("new", "other", "--from", f"hf:{REPO}", cwd=root)
        assert outcome.code == 1
        assert re.search(rf"{FILE}: .*{told}", outcome.err)
    with (root / "local.gguf").open("wb") as file:
        file.write(content.head)
        file.truncate(len(content))
    outcome = olapps("fit", "demo", "--gguf", "local.gguf", cwd=root)
    assert outcome.code == 1
    assert outcome.out == ""
    assert re.search(rf"local\.gguf: .*{told}", outcome.err)


def test_a_file_without_tensors_is_no_model(hub, root):
    hub.add_repo(REPO, {FILE: model({}, [])})
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert "the file holds no tensors" in outcome.err


def test_a_file_of_more_than_twice_its_tensors_is_not_locked(hub, root):
    known = len(sparse_model(TINY_MOE))
    hub.add_repo(REPO, {FILE: sparse_model(TINY_MOE, size=10**9)})
    with untouched(root):
        outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    told = re.search(r"has 1000000000 bytes, its header accounts for (\d+)", outcome.err)
    assert told
    assert 0 <= known - int(told[1]) < 4096


def test_blocks_without_kv_heads_and_without_a_state_are_named(root, tmp_path):
    keys = servable_metadata(TINY_PLAIN)
    keys["qwen3.attention.head_count_kv"] = Typed("array", [2, 0, 0, 2], "int32")
    tensors = plain_tensors(TINY_PLAIN)
    file = root / "local.gguf"
    file.write_bytes(gguf_header(keys, tensors) + bytes(data_bytes(tensors)))
    outcome = good("fit", "demo", "--gguf", "local.gguf", cwd=root)
    assert "whatever 2 of 4 blocks without KV heads may keep" in outcome.err


@pytest.mark.parametrize("number", [2, 3])
def test_c093_a_later_part_of_a_split_model_is_refused_before_anything_is_asked(hub, root, number):
    files = split_model(TINY_MOE, 3)
    hub.add_repo(REPO, files)
    first, later = next(iter(files)), list(files)[number - 1]
    spec = root / "apps/demo.yaml"
    text = spec.read_text()
    spec.write_text(text.replace(FILE, later))
    with untouched(root):
        outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert re.search(rf"demo\.yaml:\d+: model\.files\.0: {later} is a later part", outcome.err)
    assert f"name the first part, {first}" in outcome.err
    assert hub.requests == []
    spec.write_text(text.replace(FILE, first))
    good("lock", cwd=root)
    lock = load_lock(spec)
    assert lock is not None
    assert [part.file for part in lock.files[0].parts] == list(files)


SPLIT = "Demo-00001-of-00003.gguf"
NAMES = [f"Demo-0000{number}-of-00003.gguf" for number in (1, 2, 3)]


def parts(*names: str) -> Callable[[dict[str, Any]], None]:
    def change(entry: dict[str, Any]) -> None:
        size = sum(part["size"] for part in entry["parts"]) - len(names) + 1
        entry["parts"] = [{"file": name, "size": 1} for name in names]
        entry["parts"][0]["size"] = size

    return change


def later_part(entry: dict[str, Any]) -> None:
    entry["file"] = NAMES[1]


def fact(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda entry: entry["gguf"].__setitem__(name, value)


@pytest.mark.parametrize("command", [["fit", "demo"], ["check"], ["render"]])
@pytest.mark.parametrize(
    ("file", "change", "told"),
    [
        (FILE, parts("Other.gguf"), "are not those that its name promises"),
        (FILE, parts(FILE, "Other.gguf"), "are not those that its name promises"),
        (SPLIT, parts(*NAMES[:2]), "are not those that its name promises"),
        (SPLIT, parts(NAMES[1], NAMES[0], NAMES[2]), "are not those that its name promises"),
        (SPLIT, later_part, f"is a part: the first one, {SPLIT}, names the model"),
        (FILE, fact("file_size", 1), "in a file of 1 make no sense"),
        (FILE, fact("file_size", 17_300_000_000), "are of a file of 17300000000 bytes"),
        (FILE, fact("head_count_kv", [2] * 10), "has 10 values for 41 blocks"),
        (FILE, fact("head_count_kv", 0), "attention heads and no KV heads"),
        (FILE, fact("nextn", 41), "all 41 blocks are MTP blocks"),
        (FILE, fact("n_embd", 0), "states no width"),
        (FILE, fact("key_length", 2**31 - 1), "key_length 2147483647 makes no sense"),
        (FILE, fact("weight_bytes", 0), "make no sense"),
        (FILE, fact("token_embd_bytes", 17_000_000_000), "make no sense"),
    ],
)
def test_a_lock_that_contradicts_itself_is_refused_with_its_line(
    tmp_path, command, file, change, told
):
    root = build_workspace(tmp_path / "ws", (FILE, file))
    path = root / "apps/demo.lock.yaml"
    listed = [(name, 10**9, None) for name in NAMES] if file == SPLIT else []
    facts = facts_35b(3 * 10**9 if listed else 17_200_000_000).to_dict()
    lock = lock_of(file_of(file=file, parts=listed, gguf=facts), images=[image_of()])
    write_lock(root / "apps/demo.yaml", lock)
    data = yaml.safe_load(path.read_text())
    change(data["files"][0])
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    outcome = olapps(*command, cwd=root)
    assert outcome.code == 1
    assert re.search(r"apps/demo\.lock\.yaml:\d+", outcome.out + outcome.err)
    assert told in outcome.out + outcome.err
    assert "GiB" not in outcome.out + outcome.err


def test_whole_models_of_every_kind_pass(hub, root):
    hub.add_repo(REPO, {FILE: sparse_model(TINY_MOE)})
    good("lock", cwd=root)
    good("fit", "demo", cwd=root)
