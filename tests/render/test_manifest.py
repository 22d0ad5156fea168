"""Manifests: what follows from the spec, and the limits of the contract."""

from typing import Any

import pytest
import yaml
from support.charts import FULL, NEW, OLD, make_tree
from support.sample_specs import PUBLISHER, make_spec

from olares_apps.engines.base import StoredFile
from olares_apps.engines.files import stored_files
from olares_apps.errors import RenderError, UnknownName
from olares_apps.generations import GENERATIONS, Generation, OlaresVersion
from olares_apps.render import Renderable, asset_paths, resources
from olares_apps.render.chart import ChartTree
from olares_apps.render.templates import load_templates
from olares_apps.spec.quantity import GIB, parse_quantity

BOTH = pytest.mark.parametrize("generation", GENERATIONS, ids=lambda generation: generation.name)
TARGET = {"repo": "o/n", "file": "m.gguf"}


def needs(tree: ChartTree) -> dict[str, Any]:
    spec = tree.manifest["spec"]
    found: dict[str, Any] = spec["accelerator"][0] if "accelerator" in spec else spec
    return found


def server(tree: ChartTree) -> dict[str, Any]:
    text = tree.files["templates/deployment.yaml"].decode()
    plain = "\n".join(line for line in text.splitlines() if "{{" not in line)
    found: dict[str, Any] = yaml.safe_load(plain)["spec"]["template"]["spec"]["containers"][0]
    return found


@BOTH
def test_the_manifest_is_the_envelope_of_the_container(generation: Generation) -> None:
    tree = make_tree(
        generation,
        {"resources.cpu": "500m", "resources.memory": "1.5Gi", "resources.memory_limit": "12G"},
    )
    box = server(tree)["resources"]
    declared = needs(tree)
    assert box["requests"] == {
        "cpu": declared["requiredCpu"],
        "memory": declared["requiredMemory"],
    }
    assert box["limits"] == {"cpu": declared["limitedCpu"], "memory": declared["limitedMemory"]}


@BOTH
def test_a_server_without_a_gpu_states_flat_needs_and_asks_for_no_injection(
    generation: Generation,
) -> None:
    tree = make_tree(generation, {"engine.gpu_layers": 0})
    spec = tree.manifest["spec"]
    assert {"requiredCpu", "limitedCpu", "requiredMemory", "requiredDisk"} <= spec.keys()
    assert not {"accelerator", "requiredGpu", "limitedGpu"} & spec.keys()
    assert b"gpu-inject" not in tree.files["templates/deployment.yaml"]


@pytest.mark.parametrize(
    ("changes", "required", "limited"),
    [
        ({"resources.gpu_memory": "18.5Gi"}, "19Gi", "23Gi"),
        ({"resources.gpu_memory": "21474836480"}, "20Gi", "23Gi"),
        # 21.9 GB = 20.4 GiB
        ({}, "21Gi", "23Gi"),
        # 17.2 GB = 16.02 GiB of weights and 4 GiB beside them
        ({"resources.gpu_memory_parts": []}, "21Gi", "23Gi"),
        # a projector counts 1.4 times, a drafter once, other files not at all
        (
            {
                "resources.gpu_memory_parts": [],
                "engine.speculative.method": "draft",
                "model.files": [
                    {**TARGET, "size": 10 * GIB},
                    {**TARGET, "file": "p.gguf", "role": "mmproj", "size": GIB},
                    {**TARGET, "file": "d.gguf", "role": "drafter", "size": 2 * GIB},
                    {**TARGET, "file": "x.json", "role": "extra", "size": GIB},
                ],
            },
            "18Gi",
            "23Gi",
        ),
        # nothing known: all that the card has
        ({"resources.gpu_memory_parts": [], "model.files": [TARGET]}, "23Gi", "23Gi"),
        # over the card: stays valid, so that a check can name the misfit
        ({"resources.gpu_memory": "30Gi"}, "30Gi", "30Gi"),
    ],
)
def test_gpu_memory_is_the_best_known_need(
    changes: dict[str, Any], required: str, limited: str
) -> None:
    found = needs(make_tree(NEW, changes))
    assert (found["requiredGPUMemory"], found["limitedGPUMemory"]) == (required, limited)
    flat = needs(make_tree(OLD, changes))
    assert (flat["requiredGpu"], flat["limitedGpu"]) == (required, limited)


@pytest.mark.parametrize(
    ("changes", "required", "limited"),
    [
        ({}, "18Gi", "36Gi"),
        ({"resources.disk": "50Gi"}, "50Gi", "100Gi"),
        ({"model.files": [{**TARGET, "size": 1000}]}, "1Gi", "2Gi"),
        # 2 x 12.5 GB stated for all parts, then exact sizes
        (
            {"model.files": [{**TARGET, "file": "M-00001-of-00002.gguf", "size_gb": 25.0}]},
            "26Gi",
            "52Gi",
        ),
        # unknown: as large as the card could take
        ({"model.files": [TARGET]}, "26Gi", "52Gi"),
    ],
)
def test_disk_is_the_files_and_a_tenth(
    changes: dict[str, Any], required: str, limited: str
) -> None:
    found = needs(make_tree(NEW, changes))
    assert (found["requiredDisk"], found["limitedDisk"]) == (required, limited)


@BOTH
def test_limits_are_never_below_needs(generation: Generation) -> None:
    for changes in ({}, FULL, {"resources.gpu_memory": "40Gi"}):
        found = needs(make_tree(generation, changes))
        for name in ("Memory", "Disk"):
            assert parse_quantity(found[f"required{name}"]) <= parse_quantity(
                found[f"limited{name}"]
            )


def test_a_slow_connection_decides_how_long_the_download_may_take() -> None:
    files: list[StoredFile] = list(stored_files(make_spec().model.files))
    assert resources.download_seconds(files, 0) == 6880
    assert resources.download_seconds([], 0) == 0


def test_an_unknown_hardware_profile_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        make_tree(NEW, {"hardware": "olares-on"})
    assert caught.value.suggestion == "olares-one"


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({}, "Qwen36 35B-A3B MTP One"),
        ({"title": "Qwen3.6 (35B) é"}, "Qwen36 35B"),
        ({"title": "千问"}, "llamacppqwen36a3bone"),
        ({"entrance": {"title": "Chat"}}, "Chat"),
    ],
)
def test_the_entrance_title_keeps_to_the_allowed_characters(
    changes: dict[str, Any], title: str
) -> None:
    assert make_tree(NEW, changes).manifest["entrances"][0]["title"] == title


def test_pages_have_a_home_even_when_the_spec_names_none() -> None:
    hub = make_tree(NEW).manifest["spec"]["website"]
    assert hub == "https://huggingface.co/unsloth/Qwen3.6-35B-A3B-MTP-GGUF"
    own = make_tree(NEW, {"website": "https://x.example", "source_code": "https://s.example"})
    assert own.manifest["spec"]["website"] == "https://x.example"
    assert own.manifest["spec"]["sourceCode"] == "https://s.example"
    assert make_tree(NEW, {"icon": "https://i.example/a.png"}).manifest["metadata"]["icon"] == (
        "https://i.example/a.png"
    )


@BOTH
def test_what_a_spec_leaves_open_gives_no_key(generation: Generation) -> None:
    tree = make_tree(generation)
    assert "sourceCode" not in tree.manifest["spec"]
    for data in tree.files.values():
        assert b": None" not in data
        assert b": True" not in data
        assert b": False" not in data


def test_a_generation_without_a_chart_form_is_refused() -> None:
    unknown = Generation("olares-9", "0.20.0", "v4", OlaresVersion(9, 0, 0), None, ">=9.0.0-0")
    app = Renderable(make_spec(), publisher=PUBLISHER, templates=load_templates())
    with pytest.raises(RenderError, match="no chart can be made for generation olares-9"):
        app.chart(unknown, "1.0.0")


def test_workspace_files_that_a_spec_names_are_asked_for_and_missed() -> None:
    changes = {"engine.chat_template_file": "chat/other.jinja"}
    assert asset_paths(make_spec(changes)) == ("chat/other.jinja",)
    assert asset_paths(make_spec()) == ()
    with pytest.raises(RenderError, match=r"workspace file chat/other\.jinja is missing"):
        make_tree(NEW, changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"engine.chat_template_file": "chat/my template.jinja"}, "cannot be carried"),
        ({"engine.slot_save_path": "/models"}, "cannot be an empty volume"),
        ({"engine.slot_save_path": "/app"}, "cannot be an empty volume"),
    ],
)
def test_names_that_a_cluster_refuses_are_refused_before(
    changes: dict[str, Any], reason: str
) -> None:
    assets = {"chat/my template.jinja": "x"}
    with pytest.raises(RenderError, match=reason):
        Renderable(
            make_spec(changes), publisher=PUBLISHER, templates=load_templates(), assets=assets
        )


def test_an_app_named_like_a_boolean_stays_a_name() -> None:
    tree = make_tree(NEW, {"app": "on"})
    assert yaml.safe_load(tree.files["OlaresManifest.yaml"])["workloadReplicas"] == {"on": 1}
    assert yaml.safe_load(tree.files["values.yaml"])["domain"] == {"on": ""}
    assert b'  name: "on"\n' in tree.files["templates/service.yaml"]
