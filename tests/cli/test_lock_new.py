"""`olapps new`: from a model repository to a spec that renders."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.checkpoints import WITH_HEAD, checkpoint
from support.fake_hub import FakeHub, Sparse, hub_of_the_environment, sparse_model, split_model
from support.gguf_files import QWEN36_35B, TINY_MOE, gguf_header, metadata_of, tensors_of
from support.registry import FakeRegistry, ImageBlobs
from support.workspaces import build_workspace, good, olapps, untouched

from olares_apps.cli.new import DEFAULT_IMAGE, DEFAULT_VLLM_IMAGE
from olares_apps.engines.flags import find_table
from olares_apps.hardware import load_profile
from olares_apps.lock.choose import quant_of
from olares_apps.lock.draft import app_name, set_apart
from olares_apps.lock.file import load_lock
from olares_apps.lock.image_name import parse_image
from olares_apps.render import assemble

REPO = "example-org/Qwen3.6-35B-A3B-MTP-GGUF"
# Quantisation: size in GB, and the type of the experts, which are most of it.
FILES = {
    "BF16": (70, "BF16"),
    "UD-Q4_K_XL": (22, "Q4_K"),
    "UD-Q3_K_XL": (17.2, "Q3_K"),
    "UD-Q2_K_XL": (13.6, "Q2_K"),
}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    with FakeRegistry() as fake:
        fake.add_image("llama-server", "b11434", ImageBlobs({"amd64": []}))
        fake.add_image("alpine/curl", "1", ImageBlobs({"amd64": []}))
        monkeypatch.setattr(assemble, "DOWNLOAD_IMAGE", f"{fake.host}/alpine/curl:1")
        yield fake


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_of_the_environment(monkeypatch, tmp_path) as fake:
        add(fake, "full")
        yield fake


def add(fake: FakeHub, head: str) -> None:
    files = {
        f"Qwen3.6-35B-A3B-{quant}.gguf": sparse_model(
            QWEN36_35B, head, size=int(gb * 10**9), experts=experts
        )
        for quant, (gb, experts) in FILES.items()
    }
    fake.add_repo(REPO, {**files, "mmproj-F16.gguf": sparse_model(TINY_MOE), "README.md": b"x"})


@pytest.fixture
def root(tmp_path: Path, hub: FakeHub) -> Path:
    return build_workspace(tmp_path / "ws")


def new(root: Path, registry: FakeRegistry, *more: str, code: int = 0):
    image = f"{registry.host}/llama-server:b11434"
    outcome = olapps("new", "qwen-new", "--from", f"hf:{REPO}", "--image", image, *more, cwd=root)
    assert outcome.code == code, outcome
    return outcome


def test_the_largest_file_that_fits_is_chosen_with_its_head(root, registry):
    made = new(root, registry, "--output", "json").json
    assert made["model_file"] == "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf"
    assert made["too_large"] == [
        "Qwen3.6-35B-A3B-BF16.gguf",
        "Qwen3.6-35B-A3B-UD-Q4_K_XL.gguf",
    ]
    assert made["mtp"] == "usable"
    text = (root / "apps/qwen-new.yaml").read_text()
    for word in ("ctx: 262144", "method: mtp", "quant: UD-Q3_K_XL", "text: apache-2.0"):
        assert word in text


def test_the_new_spec_renders_fits_and_is_locked(root, registry):
    new(root, registry)
    good("render", "qwen-new", cwd=root)
    assert good("fit", "qwen-new", "--output", "json", cwd=root).json["verdict"]["state"] == "fits"
    assert "0 facts asked for" in good("lock", "qwen-new", cwd=root).out
    lock = load_lock(root / "apps/qwen-new.yaml")
    assert lock is not None
    assert len(lock.images) == 2


def made_of(hub, root, registry, files: dict[str, Any], *, code: int = 0):
    hub.add_repo(REPO, files)
    return new(root, registry, code=code)


Q3 = "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf"


@pytest.mark.parametrize(
    "beside",
    [
        "Qwen3.6-35B-A3B-draft-Q8_0.gguf",
        "Qwen3.6-35B-A3B-imatrix.gguf",
        "imatrix_unsloth.gguf",
        "dflash-draft-3.6-q8_0.gguf",
        "lora/adapter.gguf",
        "mmproj-F16.gguf",
    ],
)
def test_what_lies_beside_models_is_never_taken_for_one(hub, root, registry, beside):
    files = {Q3: sparse_model(QWEN36_35B, size=17_200_000_000), beside: sparse_model(TINY_MOE)}
    outcome = made_of(hub, root, registry, files)
    assert f"file     {Q3}" in outcome.out
    assert beside not in outcome.out


def test_a_repository_of_drafters_alone_has_no_model(hub, root, registry):
    outcome = made_of(hub, root, registry, {"a-draft-Q8_0.gguf": sparse_model(TINY_MOE)}, code=1)
    assert "the repository has no GGUF model" in outcome.err


def test_an_incomplete_set_beside_a_whole_model_stops_nothing(hub, root, registry):
    files = {
        Q3: sparse_model(QWEN36_35B, size=17_200_000_000),
        "BF16/M-BF16-00001-of-00003.gguf": sparse_model(TINY_MOE),
    }
    outcome = made_of(hub, root, registry, files)
    assert f"file     {Q3}" in outcome.out
    assert re.search(r"incomplete +BF16/M-BF16-00001-of-00003\.gguf", outcome.out)


def test_a_file_with_which_the_server_does_not_start_is_not_chosen(hub, root, registry):
    good_one, bad = "M-Q3_K_M.gguf", "M-Q3_K_XL.gguf"
    files = {
        good_one: sparse_model(QWEN36_35B, size=16_900_000_000),
        bad: sparse_model(QWEN36_35B, "key", size=17_200_000_000),
    }
    assert f"file     {good_one}" in made_of(hub, root, registry, files).out


def test_when_no_file_starts_the_reason_is_told_and_not_a_context(hub, root, registry):
    add(hub, "key")
    with untouched(root / "apps"):
        outcome = new(root, registry, code=1)
    assert f"{Q3} states 1 MTP layer(s) but has no tensor blk.40.nextn.eh_proj" in outcome.err
    assert "--ctx" not in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--from", "hf:o/r", "--image", "user:pw3x@host.example.org/llama-server:b1"),
        ("--from", "hf:user:pw3x@o/x"),
    ],
)
def test_a_password_on_the_command_line_is_not_repeated(root, arguments):
    outcome = olapps("new", "x", *arguments, cwd=root)
    assert outcome.code == 2
    assert "pw3x" not in outcome.err + outcome.out


def test_further_specs_of_one_model_have_names_of_their_own(root, registry):
    image = f"{registry.host}/llama-server:b11434"
    for name in ("first", "second", "third"):
        good("new", name, "--from", f"hf:{REPO}", "--image", image, cwd=root)
    good("render", cwd=root)
    rows = {row["name"]: row for row in good("list", "--output", "json", cwd=root).json["specs"]}
    titles = [rows[name]["title"] for name in ("first", "second", "third")]
    assert titles[1:] == [f"{titles[0][:28].rstrip()} 2", f"{titles[0][:28].rstrip()} 3"]
    aliases = {
        line
        for path in (root / "apps").glob("*.yaml")
        for line in path.read_text().splitlines()
        if line.startswith("alias: ")
    }
    assert len(aliases) == len(list((root / "apps").glob("*.yaml"))) - 3  # locks have none


@pytest.mark.parametrize(
    ("stated", "taken", "expected"),
    [
        ("Demo", [], "Demo"),
        ("Demo", ["demo"], "Demo 2"),
        ("Demo", ["DEMO", "Demo 2"], "Demo 3"),
        ("A" * 30, ["A" * 30], "A" * 28 + " 2"),
        ("\u00e9" * 15, ["\u00e9" * 15], "\u00e9" * 14 + " 2"),
    ],
)
def test_a_title_that_is_taken_gets_a_number_within_its_limit(stated, taken, expected):
    text = f"app: x\ntitle: {stated}\nalias: x\n"
    title = yaml.safe_load(set_apart(text, taken, []))["title"]
    assert title == expected
    assert len(title.encode()) <= 30


def test_the_explanation_lists_every_file_with_its_verdict(root, registry):
    text = new(root, registry).out
    assert "does-not-fit   Qwen3.6-35B-A3B-UD-Q4_K_XL.gguf" in text
    assert "mmproj" not in text
    assert "MTP      on" in text


def test_a_file_without_a_head_gets_no_mtp(hub, root, registry):
    add(hub, "none")
    text = new(root, registry).out
    assert "MTP      off: draft-mtp requested but" in text
    assert "speculative" not in (root / "apps/qwen-new.yaml").read_text()


def test_hardware_and_context_are_wishes_that_count(root, registry):
    made = new(
        root, registry, "--hardware", "rtx-5060-ti-16gb", "--ctx", "32768", "--output", "json"
    ).json
    assert made["model_file"] == "Qwen3.6-35B-A3B-UD-Q2_K_XL.gguf"


def test_when_nothing_fits_nothing_is_written_and_the_way_out_is_told(hub, root, registry):
    hub.add_repo(REPO, {"Demo-UD-Q4_K_XL.gguf": sparse_model(QWEN36_35B, size=20_500_000_000)})
    with untouched(root):
        outcome = new(root, registry, "--kv", "f16", code=1)
    assert "would with --ctx" in outcome.err


def test_a_split_model_names_its_first_part(hub, root, registry):
    hub.add_repo(REPO, split_model(TINY_MOE, 2))
    made = new(root, registry, "--output", "json").json
    assert made["model_file"] == "Demo-00001-of-00002.gguf"


def test_an_image_that_is_not_there_is_a_warning(root, registry):
    outcome = good(
        *("new", "qwen-new", "--from", REPO),
        *("--image", f"{registry.host}/gone:b11434"),
        cwd=root,
    )
    assert "gone:b11434 does not exist" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["Qwen_New", "--from", f"hf:{REPO}"], "is no spec name"),
        (["demo", "--from", f"hf:{REPO}"], "exists already"),
        (["qwen-new", "--from", "file:x"], "is no model repository"),
        (["qwen-new", "--from", f"hf:{REPO}", "--image", "alpine"], "names no registry"),
        (["qwen-new", "--from", f"hf:{REPO}", "--hardware", "rtx"], "unknown hardware profile"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_asked(hub, root, arguments, word):
    with untouched(root):
        outcome = olapps("new", *arguments, cwd=root)
    assert outcome.code == 2
    assert word in outcome.err
    assert not hub.requests


@pytest.mark.parametrize(
    ("file", "quant"),
    [
        ("Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf", "UD-Q3_K_XL"),
        ("model.Q4_0.gguf", "Q4_0"),
        ("model-IQ2_XXS-00001-of-00002.gguf", "IQ2_XXS"),
        ("BF16/model-BF16.gguf", "BF16"),
        ("gpt-oss-20b-MXFP4.gguf", "MXFP4"),
        ("model.gguf", None),
    ],
)
def test_the_quantisation_is_read_from_the_name(file, quant):
    assert quant_of(file) == quant


@pytest.mark.parametrize(
    ("name", "app"),
    [
        ("qwen36-35b", "qwen3635b"),
        ("7b", "llm7b"),
        ("a" * 40, "a" * 30),
        ("1" * 40, "llm" + "1" * 27),
    ],
)
def test_an_app_name_is_made_of_the_spec_name(name, app):
    assert app_name(name) == app


class TestCheckpoints:
    """A repository of safetensors files becomes a vLLM app."""

    CHECKPOINT = "example-org/Demo-15B-AWQ"

    def add(self, hub: FakeHub, **more: Any) -> None:
        hub.add_repo(self.CHECKPOINT, checkpoint(**more))

    def new(self, root: Path, registry: FakeRegistry, *more: str, code: int = 0):
        registry.add_image("vllm/vllm-openai", "v0.22.1", ImageBlobs({"amd64": []}))
        image = f"{registry.host}/vllm/vllm-openai:v0.22.1"
        source = f"hf:{self.CHECKPOINT}"
        outcome = olapps("new", "demo-awq", "--from", source, "--image", image, *more, cwd=root)
        assert outcome.code == code, outcome
        return outcome

    def test_the_largest_context_that_fits_is_taken(self, hub, root, registry):
        self.add(hub)
        made = self.new(root, registry, "--output", "json").json
        assert (made["engine"], made["quantization"]) == ("vllm", "compressed-tensors")
        assert made["max_model_len"] % 1024 == 0
        assert 65536 < made["max_model_len"] < 131072
        report = good("fit", "demo-awq", "--output", "json", cwd=root).json
        assert report["verdict"]["state"] == "fits"
        assert report["largest_context"][0] - made["max_model_len"] < 1024
        assert "0 facts asked for" in good("lock", "demo-awq", cwd=root).out
        good("render", "demo-awq", cwd=root)

    def test_the_choice_is_explained(self, hub, root, registry):
        self.add(hub, config={"max_position_embeddings": 32768})
        text = self.new(root, registry).out
        assert "context  32768: all it was trained for" in text
        assert "engine   vLLM: the repository has safetensors files" in text
        assert "MTP      off: neither config.json nor" in text

    def test_a_head_is_used_and_an_fp8_cache_doubles_the_context(self, hub, root, registry):
        self.add(hub, config={"mtp_num_hidden_layers": 1}, tensors=WITH_HEAD)
        made = self.new(root, registry, "--kv", "fp8", "--output", "json").json
        assert made["mtp"] == "usable"
        assert made["max_model_len"] > 125_000
        text = (root / "apps/demo-awq.yaml").read_text()
        for word in ("kv_cache_dtype: fp8", "method: mtp", "quant: compressed-tensors"):
            assert word in text

    def test_a_context_that_does_not_fit_names_the_one_that_does(self, hub, root, registry):
        self.add(hub)
        with untouched(root):
            outcome = self.new(root, registry, "--ctx", "131072", code=1)
        assert "needs KV 10.0GiB" in outcome.err
        assert "--ctx 73728 fits" in outcome.err

    def test_a_model_larger_than_the_card_is_refused(self, hub, root, registry):
        self.add(hub, size=30 * 10**9)
        with untouched(root):
            assert "choose a smaller model" in self.new(root, registry, code=1).err

    @pytest.mark.parametrize("kind", ["q8_0", "q4_0"])
    def test_a_cache_type_of_the_other_engine_is_wrong_usage(self, hub, root, registry, kind):
        self.add(hub)
        assert "is for llama.cpp" in self.new(root, registry, "--kv", kind, code=2).err


@pytest.mark.parametrize(
    ("engine", "image"), [("llamacpp", DEFAULT_IMAGE), ("vllm", DEFAULT_VLLM_IMAGE)]
)
def test_the_default_image_is_pinned_known_and_runs_on_the_device(engine, image):
    match = find_table(engine, image)
    assert (match.exact, match.build_exact) == (True, True)
    reference = parse_image(image)
    assert match.build in reference.reference
    found = re.search(r"cu(?:da)?(\d\d)(\d?)", reference.reference)
    assert found is not None
    ceiling = load_profile("olares-one").cuda_ceiling
    assert ceiling is not None
    assert (int(found[1]), int(found[2] or 0)) <= tuple(map(int, ceiling.split(".")))


def header_with(changes: dict[str, Any]) -> Sparse:
    """A model whose header says something else, None for nothing."""
    data = metadata_of(QWEN36_35B) | changes
    kept = {key: value for key, value in data.items() if value is not None}
    return Sparse(gguf_header(kept, tensors_of(QWEN36_35B)), 17_200_000_000)


@pytest.mark.parametrize(
    ("changes", "licence", "says"),
    [
        ({"qwen35moe.context_length": None}, "mit", "name one with --ctx"),
        ({"qwen35moe.context_length": 128}, "mit", "engine.ctx: 128 is out of range"),
        ({}, "x" * 5000, "licenses.model.text"),
    ],
    ids=["no context", "a context too small", "an endless licence"],
)
def test_a_model_that_makes_no_spec_is_told_without_a_file_that_is_not_there(
    root, registry, hub, changes, licence, says
):
    hub.add_repo(REPO, {"M-Q3_K_M.gguf": header_with(changes)}, licence=licence)
    with untouched(root):
        outcome = new(root, registry, code=1)
    assert says in outcome.err
    assert "apps/" not in outcome.err


def test_an_index_without_its_files_is_told_as_that(root, registry, hub):
    index = b'{"weight_map": {"a.weight": "model-00001-of-00001.safetensors"}}'
    hub.add_repo(REPO, {"model.safetensors.index.json": index, "config.json": b"{}"})
    with untouched(root):
        outcome = new(root, registry, code=1)
    assert "model-00001-of-00001.safetensors" in outcome.err
    assert "no GGUF" not in outcome.err
