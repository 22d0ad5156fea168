"""vLLM specs: what lock learns of a checkpoint, and what fit and check make of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.checkpoints import WITH_HEAD, checkpoint
from support.fake_hub import COMMIT, FakeHub, hub_of_the_environment
from support.registry import FakeRegistry, ImageBlobs
from support.specs import MINIMAL
from support.workspaces import build_workspace, good, olapps, untouched

from olares_apps.lock.file import load_lock

REPO, GB, GIB = "example-org/Demo-15B-AWQ", 10**9, 2**30
TAG = "v0.22.1-x86_64-cu129-ubuntu2404"
FILES = MINIMAL[MINIMAL.index("  files:") : MINIMAL.index("engine:\n  type")]
ENGINE = MINIMAL[MINIMAL.index("engine:\n  type") :]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_of_the_environment(monkeypatch, tmp_path) as fake:
        fake.add_repo(REPO, checkpoint())
        yield fake


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry() as fake:
        fake.add_image("vllm/vllm-openai", TAG, ImageBlobs({"amd64": ["CUDA_VERSION=12.9.1"]}))
        yield fake


@pytest.fixture
def build(tmp_path: Path, hub: FakeHub, registry: FakeRegistry):
    def make(
        settings: str = "", *, length: int = 32768, share: str = "0.9", more: str = ""
    ) -> Path:
        engine = (
            f"engine:\n  type: vllm\n  image: {registry.host}/vllm/vllm-openai:{TAG}\n"
            f"  max_model_len: {length}\n  gpu_memory_utilization: {share}\n{settings}"
        )
        repos = f"  repos:\n    - {{repo: {REPO}}}\n{more}"
        root = build_workspace(tmp_path / "ws", (FILES, repos), (ENGINE, engine))
        good("lock", cwd=root)
        return root

    return make


def findings(root: Path, rule: str) -> list[tuple[str, str]]:
    found = olapps("check", "--output", "json", cwd=root).json["findings"]
    return [(item["severity"], item["message"]) for item in found if item["rule"] == rule]


def test_a_repository_is_pinned_with_its_checkpoint(build):
    root = build()
    lock = load_lock(root / "apps/demo.yaml")
    assert lock is not None
    (repo,) = lock.repos
    assert (repo.commit, repo.licence, repo.requested) == (COMMIT, "apache-2.0", "main")
    # Weights of another format are not downloaded.
    assert 15 * GB < repo.size < 15 * GB + 10_000
    found = repo.checkpoint
    assert found is not None
    assert (found.weight_bytes, found.quant_method) == (15 * GB, "compressed-tensors")
    assert (found.mtp_layers, found.mtp_tensors) == (0, False)
    assert found.facts is not None
    assert found.facts.kv_per_token() == 81_920
    with untouched(root):
        assert "0 facts asked for, 2 kept" in good("lock", cwd=root).out


def test_the_chart_asks_for_the_commit(build):
    root = build()
    command = good("show", "demo", "--output", "json", cwd=root).json["command"]
    assert command[command.index("--revision") + 1] == COMMIT


def test_a_checkpoint_of_one_file_is_read_by_its_header(hub, build):
    config = {"mtp_num_hidden_layers": 1}
    hub.add_repo(REPO, checkpoint(shards=1, config=config, tensors=WITH_HEAD))
    lock = load_lock(build() / "apps/demo.yaml")
    assert lock is not None
    found = lock.checkpoint("target")
    assert found is not None
    assert (found.weight_bytes, found.mtp_layers, found.mtp_tensors) == (15 * GB, 1, True)
    sent = [item for item in hub.gets() if item.path.endswith("model.safetensors")]
    assert [item.range for item in sent] == ["bytes=0-131071"]


def test_a_file_that_is_no_safetensors_file_is_told(hub, build):
    hub.add_repo(REPO, {**checkpoint(shards=1), "model.safetensors": b"<html></html>" * 9})
    with pytest.raises(AssertionError, match="is no safetensors file"):
        build()


def test_fit_says_what_is_left_for_the_cache(build):
    root = build()
    report = good("fit", "demo", "--output", "json", cwd=root).json
    assert report["verdict"]["state"] == "fits"
    sizes = {part["name"]: part["bytes"] for part in report["parts"]}
    assert (sizes["weights"], sizes["kv-of-one-request"]) == (15 * GB, 32768 * 81_920)
    assert report["kv_available"][1] - report["kv_available"][0] == 1.5 * GB
    assert report["quantization"] == "compressed-tensors"
    text = good("fit", "demo", "--ctx", "8192,65536", cwd=root).out
    for word in ("a bound, not an estimate", "KV needed", "65536", "fp8"):
        assert word in text


def test_c121_a_length_that_no_cache_has_room_for(build):
    root = build(length=131072)
    outcome = olapps("fit", "demo", cwd=root)
    assert outcome.code == 1
    ((severity, message),) = findings(root, "model-fits")
    assert severity == "error"
    assert "max_model_len 131072 needs KV 10.0GiB, available 5.2GiB to 6.6GiB" in message


def test_c121_a_record_of_a_version_that_counted_less_is_no_proof(build):
    root = build()
    spec = root / "apps/demo.yaml"
    record = (
        "bench:\n  - {id: old, ctx: 8192, tps: 50.0, protocol: {prompt: a, tokens: 100}, "
        "image: 'docker.io/vllm/vllm-openai:v0.19.1', model_file: x, source: a run}\n"
    )
    spec.write_text(spec.read_text() + record)
    ((severity, message),) = findings(root, "model-fits")
    assert severity == "info"
    assert "vLLM 0.21: CUDA graphs are counted before" in message
    assert "record old is of 0.19" in message


def test_c123_a_share_that_is_not_free(build):
    ((severity, message),) = findings(build(share="0.99"), "model-fits")
    assert severity == "error"
    assert message == "0.99 x 23.89GiB = 23.7GiB > usable 23.42GiB: vLLM refuses to start"


def test_c119_a_quantisation_that_the_model_does_not_have(build):
    root = build("  quantization: awq\n")
    ((severity, message),) = findings(root, "model-file")
    assert severity == "error"
    assert "quantization awq differs from model config compressed-tensors" in message
    spec = root / "apps/demo.yaml"
    spec.write_text(spec.read_text().replace("awq", "compressed-tensors"))
    assert findings(root, "model-file") == []


MTP = "  speculative: {method: mtp, num_speculative_tokens: 2}\n"


@pytest.mark.parametrize(
    ("layers", "tensors", "word"),
    [
        (0, (), "neither config.json nor the checkpoint has an MTP head"),
        (1, (), "config.json declares 1 MTP layer(s), the checkpoint has none"),
        (0, WITH_HEAD, "has MTP tensors, config.json has none of"),
    ],
)
def test_mtp_needs_both_the_config_and_the_tensors(hub, build, layers, tensors, word):
    config = {"num_nextn_predict_layers": layers}
    hub.add_repo(REPO, checkpoint(config=config, **({"tensors": tensors} if tensors else {})))
    ((severity, message),) = findings(build(MTP), "mtp-head")
    assert severity == "error"
    assert word in message


def test_a_usable_head_is_used_or_mentioned(hub, build):
    config = {"num_nextn_predict_layers": 1}
    hub.add_repo(REPO, checkpoint(config=config, tensors=WITH_HEAD))
    root = build(MTP)
    assert findings(root, "mtp-head") == []
    report = good("fit", "demo", "--output", "json", cwd=root).json
    assert report["mtp"]["state"] == "usable"


def test_a_head_that_is_not_used_is_mentioned(hub, build):
    config = {"num_nextn_predict_layers": 1}
    hub.add_repo(REPO, checkpoint(config=config, tensors=WITH_HEAD))
    ((severity, _),) = findings(build(), "mtp-head")
    assert severity == "info"


def test_an_alternative_checkpoint_that_carries_the_head_is_named(hub, build):
    other, index = "example-org/Demo-MTP", "model.safetensors.index.json"
    config = {"num_nextn_predict_layers": 1}
    hub.add_repo(other, checkpoint(config=config, tensors=WITH_HEAD))
    root = build(MTP, more=f"  alternatives:\n    - {{repo: {other}, file: {index}}}\n")
    found = olapps("check", "--output", "json", cwd=root).json["findings"]
    (head,) = [item for item in found if item["rule"] == "mtp-head"]
    assert head["hint"] == f"these carry the head: {other}"


def test_a_hybrid_is_a_bound_and_says_so(hub, build):
    kinds = (["linear_attention"] * 3 + ["full_attention"]) * 5
    hub.add_repo(REPO, checkpoint(config={"layer_types": kinds}))
    ((severity, message),) = findings(build(), "model-fits")
    assert (severity, "lower bound" in message) == ("info", True)


WINDOWS = (["sliding_attention"] * 4 + ["full_attention"]) * 4


@pytest.mark.parametrize(
    ("config", "size"),
    [
        (
            {"layer_types": WINDOWS, "sliding_window": 1024},
            4096 * (4 * 32768 + 16 * (1024 + 8192)),
        ),
        ({"kv_lora_rank": 512, "qk_rope_head_dim": 64}, 20 * 576 * 2 * 32768),
        ({"hybrid_override_pattern": "M-M*" * 5}, 5 * 4096 * 32768),
    ],
    ids=["windows", "latent", "pattern"],
)
def test_every_kind_of_layer_caches_its_own_amount(hub, build, config, size):
    hub.add_repo(REPO, checkpoint(config={"num_hidden_layers": 20, **config}))
    report = good("fit", "demo", "--output", "json", cwd=build()).json
    kv = next(part["bytes"] for part in report["parts"] if part["name"] == "kv-of-one-request")
    assert kv == size


def test_a_size_that_is_neither_weights_nor_download_is_a_contradiction(build):
    root = build()
    spec = root / "apps/demo.yaml"
    plain = spec.read_text()
    spec.write_text(plain.replace(f"{{repo: {REPO}}}", f"{{repo: {REPO}, size_gb: 15.0}}"))
    good("lock", cwd=root)
    spec.write_text(plain.replace(f"{{repo: {REPO}}}", f"{{repo: {REPO}, size_gb: 9.0}}"))
    outcome = olapps("lock", cwd=root)
    assert outcome.code == 1
    assert "demo.yaml:" in outcome.err
    assert "model.repos.0.size_gb" in outcome.err


def test_without_a_shape_fit_says_so(hub, build):
    hub.add_repo(REPO, {**checkpoint(), "config.json": b'{"architectures": ["X"]}'})
    root = build()
    outcome = olapps("fit", "demo", cwd=root)
    assert outcome.code == 1
    assert "config.json states layers, heads and head size" in outcome.err
    ((severity, _),) = findings(root, "model-fits")
    assert severity == "info"


def test_a_measured_figure_wins_over_the_bound(build, hub):
    root = build(length=131072, settings="  max_num_seqs: 4\n")
    spec = root / "apps/demo.yaml"
    record = (
        "resources:\n  gpu_measured:\n    - {mib: 21000, source: nvidia-smi, build: 0.22.1, "
        "files: [example-org/Demo-15B-AWQ],\n       ctx: 131072, kv: auto, parallel: 4}\nengine:\n"
    )
    spec.write_text(spec.read_text().replace("engine:\n  type", f"{record}  type"))
    report = good("fit", "demo", "--output", "json", cwd=root).json
    assert report["verdict"]["state"] == "fits"
    assert findings(root, "model-fits") == []
    good("render", "demo", cwd=root)
    manifest = next((root / "charts/olares-1.12.3").rglob("OlaresManifest.yaml")).read_text()
    assert "requiredGpu: 21Gi" in manifest.replace('"', "")
