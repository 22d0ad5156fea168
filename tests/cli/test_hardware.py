"""One spec for several devices, and apps that no device can install, as the commands show them."""

from pathlib import Path

import pytest
import yaml
from support.specs import CONFIG, MINIMAL, build_file_tree
from support.workspaces import DEMO, SECOND, SECOND_SPEC, olapps

VARIANT = """\
variants:
  rtx-3090:
    set:
      engine.ctx: 16384
      model.files.0.file: Demo-35B-UD-IQ2_M.gguf
      model.files.0.quant: UD-IQ2_M
      model.files.0.size_gb: 11.5
      resources.gpu_memory: 13Gi
"""
REASON = "its image replaces a library of the whole node"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    specs = {
        "apps/demo.yaml": MINIMAL + VARIANT,
        "apps/second.yaml": f"{SECOND_SPEC}not_installable: {REASON}\n",
    }
    return build_file_tree(tmp_path, {"olapps.toml": CONFIG, **specs})


def read(folder: Path, generation: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the accelerator entry or flat resources, and the server's ConfigMap."""
    top = folder / generation / DEMO
    spec = yaml.safe_load((top / "OlaresManifest.yaml").read_text())["spec"]
    text = (top / "templates/config.yaml").read_text().replace("{{ .Release.Namespace }}", "n")
    return spec.get("accelerator", [spec])[0], yaml.safe_load(text)["data"]


def test_a_chart_for_another_profile_has_its_context_file_and_memory(shop: Path) -> None:
    done = olapps("render", "demo", "--hardware", "rtx-3090", "--out", "out", cwd=shop)
    assert done.code == 0, done.err
    for generation, key in (("olares-1.12.3", "Gpu"), ("olares-1.12.6", "GPUMemory")):
        resources, config = read(shop / "out", generation)
        assert config["CTX_SIZE"] == "16384"
        assert config["MODEL_FILE"] == "Demo-35B-UD-IQ2_M.gguf"
        assert resources[f"required{key}"] == "13Gi"
        assert resources["requiredDisk"] == "12Gi"


def test_without_the_option_the_chart_is_that_of_the_own_profile(shop: Path) -> None:
    assert olapps("render", "demo", cwd=shop).code == 0
    before = read(shop / "charts", "olares-1.12.6")
    assert before[1]["CTX_SIZE"] == "32768"
    same = olapps("render", "demo", "--hardware", "olares-one", "--out", "out", cwd=shop)
    assert same.code == 0
    assert read(shop / "out", "olares-1.12.6") == before


def test_charts_of_another_profile_do_not_go_among_those_to_publish(shop: Path) -> None:
    refused = olapps("render", "demo", "--hardware", "rtx-3090", cwd=shop)
    assert refused.code == 2
    assert "--hardware would put charts into the workspace that are not those" in refused.err
    assert not (shop / "charts").exists()
    shown = olapps("render", "demo", "--hardware", "rtx-3090", "--diff", cwd=shop)
    assert '+  CTX_SIZE: "16384"' in shown.out
    assert not (shop / "charts").exists()


def test_archives_of_another_profile_lie_apart(shop: Path) -> None:
    assert olapps("pack", "demo", cwd=shop).code == 0
    assert olapps("pack", "demo", "--hardware", "rtx-3090", cwd=shop).code == 0
    names = [f"{DEMO}-1.0.0.tgz", f"{DEMO}-1.0.1.tgz"]
    assert sorted(path.name for path in (shop / "dist").glob("*.tgz")) == names
    assert sorted(path.name for path in (shop / "dist/rtx-3090").glob("*.tgz")) == names
    first, second = (shop / "dist" / names[0], shop / "dist/rtx-3090" / names[0])
    assert first.read_bytes() != second.read_bytes()


def test_a_check_judges_the_spec_as_it_is_on_that_profile(shop: Path) -> None:
    small = ("check", "demo", "--no-tools", "--hardware", "rtx-5060-ti-16gb", "--output", "json")
    found = olapps(*small, cwd=shop)
    assert found.code == 1
    assert "gpu-memory-exceeds-card" in {item["rule"] for item in found.json["findings"]}
    assert olapps("check", "demo", "--no-tools", "--hardware", "rtx-3090", cwd=shop).code == 0


WRONG_TEXT = '      text.summary: "A 999K context on your own device."\n'


def test_a_check_without_a_profile_judges_the_variants_too(shop: Path) -> None:
    spec = shop / "apps/demo.yaml"
    assert olapps("check", "--no-tools", cwd=shop).code == 0
    spec.write_text(spec.read_text() + WRONG_TEXT)
    line = len(spec.read_text().splitlines())
    found = olapps("check", "--no-tools", "--output", "json", cwd=shop)
    assert found.code == 1
    (one,) = [item for item in found.json["findings"] if item["severity"] == "error"]
    assert (one["rule"], one["file"], one["line"]) == ("text-context", "apps/demo.yaml", line)
    assert one["message"].startswith("on rtx-3090: text.summary")
    # A named profile is checked alone: the spec's own is clean, the variant needs no prefix.
    own = olapps("check", "--no-tools", "--hardware", "olares-one", cwd=shop)
    assert own.code == 0
    there = olapps("check", "--no-tools", "--hardware", "rtx-3090", "--output", "json", cwd=shop)
    messages = [item["message"] for item in there.json["findings"]]
    assert one["message"].removeprefix("on rtx-3090: ") in messages


def test_what_the_spec_has_itself_is_told_once_and_not_of_each_variant(shop: Path) -> None:
    spec = shop / "apps/demo.yaml"
    spec.write_text(spec.read_text().replace("  parallel: 1", "  parallel: 1\n  ubatch: 4096"))
    found = olapps("check", "demo", "--no-tools", "--output", "json", cwd=shop).json["findings"]
    rules = [item["rule"] for item in found]
    assert rules.count("ubatch-above-batch") == 1
    assert len(rules) == len(set(rules))


def test_a_variant_that_gives_no_chart_is_a_finding(shop: Path) -> None:
    spec = shop / "apps/demo.yaml"
    spec.write_text(spec.read_text() + "      engine.chat_template_file: gone.jinja\n")
    found = olapps("check", "demo", "--no-tools", "--output", "json", cwd=shop).json["findings"]
    (error,) = [item for item in found if item["severity"] == "error"]
    assert error["rule"] == "spec-invalid"
    assert error["message"].startswith("on rtx-3090: ")
    assert "gone.jinja" in error["message"]


def test_an_unknown_profile_is_named_with_the_nearest_one(shop: Path) -> None:
    wrong = olapps("render", "demo", "--hardware", "rtx-3900", "--out", "out", cwd=shop)
    assert wrong.code == 2
    assert "unknown hardware profile 'rtx-3900'" in wrong.err
    assert "rtx-3090" in wrong.err


def test_a_variant_for_a_profile_that_does_not_exist_is_an_error_with_its_line(shop: Path) -> None:
    text = MINIMAL + VARIANT.replace("rtx-3090", "rtx-3099")
    (shop / "apps/demo.yaml").write_text(text)
    found = olapps("render", "demo", cwd=shop)
    assert found.code == 1
    line = text.split("\n").index("  rtx-3099:") + 1
    assert f"apps/demo.yaml:{line}: variants.rtx-3099: is no hardware profile" in found.err


def test_an_app_that_cannot_be_installed_renders_and_is_shown_as_such(shop: Path) -> None:
    assert olapps("render", "second", cwd=shop).code == 0
    assert f"second is not installable: {REASON}" in olapps("list", cwd=shop).err
    listed = olapps("list", "--output", "json", cwd=shop).json["specs"]
    assert {item["name"]: item["not_installable"] for item in listed} == {
        "demo": None,
        "second": REASON,
    }
    assert f"not installable: {REASON}" in olapps("show", "second", cwd=shop).out
    assert olapps("show", "second", "--output", "json", cwd=shop).json["not_installable"] == REASON
    assert olapps("check", "second", "--no-tools", cwd=shop).code == 0


def test_an_app_that_cannot_be_installed_is_neither_packed_nor_offered(shop: Path) -> None:
    url = f"dir:{shop / 'market'}"
    for command in (("pack", "second"), ("publish", "second", "--market", url)):
        refused = olapps(*command, cwd=shop)
        assert refused.code == 1
        assert f"{SECOND}: not installable: {REASON}" in refused.err
    assert not (shop / "dist").exists()
    for *command, word in (("pack", "left out"), ("publish", "--market", url, "only listed")):
        done = olapps(*command, cwd=shop)
        assert done.code == 0, done.err
        assert f"{SECOND}: not installable: {REASON}; {word}" in done.err
    assert {path.name.split("-")[0] for path in (shop / "dist").glob("*.tgz")} == {DEMO}
    status = olapps("market", "status", "--market", url, "--output", "json", cwd=shop)
    assert (list(status.json["apps"]), status.json["listed"]) == ([DEMO], [SECOND])
