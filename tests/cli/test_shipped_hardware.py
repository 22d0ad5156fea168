"""The shipped variants: each fits its card by the memory model, and its chart has no finding."""

from pathlib import Path

import pytest
import yaml
from support.gguf_files import (
    QWEN36_27B,
    QWEN36_35B,
    Shape,
    data_bytes,
    gguf_header,
    metadata_of,
    tensors_of,
)
from support.workspaces import good, olapps

ROOT = Path(__file__).parents[2]
GIB, GB = 2**30, 10**9
FLAGSHIP, DENSE = "qwen36-35b-a3b-mtp", "qwen36-27b-mtp"
# Spec, profile -> shape and type of its weights, context, type of the cache.
VARIANTS = {
    (FLAGSHIP, "rtx-3090"): (QWEN36_35B, "Q8_0", 131072, "q4_0"),
    (FLAGSHIP, "rtx-4090"): (QWEN36_35B, "Q8_0", 131072, "q4_0"),
    (FLAGSHIP, "rtx-5090"): (QWEN36_35B, "Q8_0", 262144, "q8_0"),
    (DENSE, "rtx-3090"): (QWEN36_27B, "Q4_K", 131072, "q4_0"),
    (DENSE, "rtx-4090"): (QWEN36_27B, "Q4_K", 131072, "q4_0"),
    (DENSE, "rtx-5090"): (QWEN36_27B, "Q4_K", 262144, "q8_0"),
    (DENSE, "rtx-5060-ti-16gb"): (QWEN36_27B, "Q3_K", 65536, "q4_0"),
}


def model(folder: Path, shape: Shape, rest: str) -> Path:
    """Write a header of the real shape, about as large as the real file, without weights."""
    tensors = tensors_of(shape, rest=rest)
    header = gguf_header(metadata_of(shape), tensors)
    path = folder / "model.gguf"
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + data_bytes(tensors))
    return path


def test_every_shipped_variant_is_judged_here() -> None:
    found = {
        (path.stem, profile)
        for path in (ROOT / "olares_apps/apps").glob("*.yaml")
        for profile in yaml.safe_load(path.read_text()).get("variants", {})
    }
    assert found == VARIANTS.keys()


@pytest.mark.parametrize(("name", "profile"), VARIANTS)
def test_a_shipped_variant_fits_by_the_model_with_the_memory_that_it_states(
    name: str, profile: str, tmp_path: Path
) -> None:
    shape, rest, ctx, kv = VARIANTS[name, profile]
    file = model(tmp_path, shape, rest)
    report = good(
        *("fit", name, "--hardware", profile, "--gguf", file, "--output", "json"), cwd=ROOT
    ).json
    assert report["verdict"]["state"] == "fits"
    text = (ROOT / f"olares_apps/apps/{name}.yaml").read_text()
    changes = yaml.safe_load(text)["variants"][profile]["set"]
    stated = sum(part["gb"] for part in changes["resources.gpu_memory_parts"]) * GB
    assert abs(stated - report["verdict"]["need"]) < 0.75 * GIB

    done = good("render", name, "--hardware", profile, "--out", tmp_path / "out", cwd=ROOT)
    assert "olares-1.12.6" in done.out
    (config,) = (tmp_path / "out/olares-1.12.6").glob("*/templates/config.yaml")
    assert f'CTX_SIZE: "{ctx}"' in config.read_text()
    (pod,) = (tmp_path / "out/olares-1.12.6").glob("*/templates/deployment.yaml")
    assert f'"{kv}"' in pod.read_text()

    found = good(
        *("check", name, "--hardware", profile, "--no-tools", "--output", "json"), cwd=ROOT
    ).json["findings"]
    assert found == []


def test_the_file_of_the_flagship_is_too_large_for_a_card_of_16_gb(tmp_path: Path) -> None:
    file = model(tmp_path, QWEN36_35B, "Q8_0")
    found = olapps(
        *("fit", FLAGSHIP, "--hardware", "rtx-5060-ti-16gb", "--gguf", file, "--output", "json"),
        cwd=ROOT,
    )
    assert found.code == 1
    assert found.json["largest_context"]["fits"] is None


def test_the_image_of_the_flagship_has_no_kernels_for_older_cards(tmp_path: Path) -> None:
    """Its recipe compiles for one architecture, so the variants name another image."""
    good("init", "--spec", FLAGSHIP, cwd=tmp_path)
    spec = tmp_path / f"apps/{FLAGSHIP}.yaml"
    text = spec.read_text()
    released = "      engine.image: ghcr.io/ggml-org/llama.cpp:server-cuda-b11434\n"
    assert released in text
    spec.write_text(text.replace(released, ""))
    checked = olapps(
        *("check", FLAGSHIP, "--hardware", "rtx-3090", "--no-tools", "--output", "json"),
        cwd=tmp_path,
    )
    assert checked.code == 1
    (found,) = {item["message"] for item in checked.json["findings"]}
    assert "archs [sm_120, sm_120 (PTX)] do not include sm_86 (profile rtx-3090)" in found
