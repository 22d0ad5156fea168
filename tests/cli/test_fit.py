"""`olapps fit`, as a user runs it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from support.fit_facts import facts_35b
from support.gguf_files import TINY_MOE, data_bytes, gguf_header, metadata_of, tensors_of
from support.locks import file_of, lock_of
from support.workspaces import build_workspace, good, olapps

from olares_apps.lock.file import write_lock

MIB, GIB = 2**20, 2**30
Q3, Q4 = 17_200_000_000, 22_000_000_000
FULL = ("ctx: 32768", "ctx: 262144\n  kv: {k: q4_0, v: q4_0}")
MTP = ("  parallel: 1\n", "  parallel: 1\n  batch: 512\n  speculative: {method: mtp, n_max: 3}\n")


def workspace(folder: Path, size: int = Q3, *changes: tuple[str, str]) -> Path:
    stated = ("17.2", str(size / 10**9))
    root = build_workspace(folder / "ws", stated, *(changes or (FULL, MTP)))
    others = {"Demo-35B-UD-Q2_K_XL.gguf": 13 * 10**9, "Demo-35B-BF16.gguf": 70 * 10**9}
    lock = lock_of(file_of(size=size, gguf=facts_35b(size).to_dict(), others=others))
    write_lock(root / "apps/demo.yaml", lock)
    return root


def test_the_smaller_quantisation_fits_with_the_full_context(tmp_path):
    report = good("fit", "demo", "--output", "json", cwd=workspace(tmp_path)).json
    assert report["schema"] == 1
    assert report["verdict"]["state"] == "fits"
    sizes = {part["name"]: part["bytes"] for part in report["parts"]}
    # 10 attention layers, 2 heads of 256: 5760 bytes per token with q4_0.
    assert sizes["kv"] == 262144 * 5760
    assert round(sizes["recurrent-state"] / MIB, 2) == 251.25
    assert report["total_gpu"] == sum(p["bytes"] for p in report["parts"] if p["where"] == "gpu")
    assert report["manifest_gpu_memory"] == -(-report["verdict"]["need"] // GIB) * GIB
    assert report["mtp"] == {"state": "usable", "reasons": []}
    assert report["largest_context"]["fits"] == 262144


def test_the_larger_one_does_not_and_the_exit_code_says_so(tmp_path):
    outcome = olapps("fit", "demo", "--output", "json", cwd=workspace(tmp_path, Q4))
    report = outcome.json
    assert outcome.code == 1
    assert report["verdict"]["state"] == "does-not-fit"
    assert {row["name"]: row["state"] for row in report["files"]} == {
        "Demo-35B-BF16.gguf": "does-not-fit",
        "Demo-35B-UD-Q2_K_XL.gguf": "fits",
    }


def test_an_incomplete_set_is_no_file_that_fits(tmp_path):
    root = workspace(tmp_path)
    parts = {f"Q2/D-0000{number}-of-00003.gguf": 4 * 10**9 for number in (1, 3)}
    lock = lock_of(file_of(size=Q3, gguf=facts_35b(Q3).to_dict(), others=parts))
    write_lock(root / "apps/demo.yaml", lock)
    assert good("fit", "demo", "--output", "json", cwd=root).json["files"] == [
        {
            "name": "Q2/D-00001-of-00003.gguf",
            "size": 8 * 10**9,
            "missing": ["00002-of-00003"],
            "state": "incomplete",
            "need": None,
            "free": None,
            "largest_context": None,
        }
    ]
    (line,) = [row for row in good("fit", "demo", cwd=root).out.splitlines() if "Q2/D" in row]
    assert line.split()[1:] == "8.0 incomplete the repository lacks 00002-of-00003".split()


def test_a_file_with_which_the_server_does_not_start_is_a_problem(tmp_path):
    """The header promises MTP blocks, the file has no tensors for them."""
    root = workspace(tmp_path)
    lock = lock_of(file_of(size=Q3, gguf=facts_35b(Q3, "key").to_dict()))
    write_lock(root / "apps/demo.yaml", lock)
    outcome = olapps("fit", "demo", "--output", "json", cwd=root)
    assert outcome.code == 1
    assert outcome.json["verdict"]["problems"]
    assert "does not start: " in olapps("fit", "demo", cwd=root).out


def test_the_text_shows_parts_sweep_types_levers_and_files(tmp_path):
    text = good("fit", "demo", cwd=workspace(tmp_path)).out
    for word in ("weights", "###", "total on the GPU", "CONTEXT", "KV TYPE", "ubatch", "Q2_K_XL"):
        assert word in text
    assert "fits: needs" in text
    assert "\x1b" not in text


def test_the_sweep_takes_the_contexts_that_are_asked_for(tmp_path):
    root = workspace(tmp_path)
    report = good("fit", "demo", "--ctx", "65536,32768", "--output", "json", cwd=root).json
    assert [row["ctx"] for row in report["contexts"]] == [32768, 65536]


def test_the_sweep_can_be_set_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("OLAPPS_FIT_CTX", "8192")
    report = good("fit", "demo", "--output", "json", cwd=workspace(tmp_path)).json
    assert [row["ctx"] for row in report["contexts"]] == [8192]


@pytest.mark.parametrize("text", ["", "a", "32768,", "0", "-1", "1e9", "99999999999"])
def test_a_list_that_is_none_is_wrong_usage(tmp_path, text):
    outcome = olapps("fit", "demo", "--ctx", text, cwd=workspace(tmp_path))
    assert outcome.code == 2
    assert "--ctx" in outcome.err


def test_another_device_gives_another_verdict(tmp_path):
    root = workspace(tmp_path)
    small = olapps("fit", "demo", "--hardware", "rtx-5060-ti-16gb", "--output", "json", cwd=root)
    assert (small.code, small.json["hardware"]) == (1, "rtx-5060-ti-16gb")
    assert good("fit", "demo", "--hardware", "rtx-5090", cwd=root).code == 0
    assert olapps("fit", "demo", "--hardware", "rtx-9090", cwd=root).code == 2


def test_thresholds_are_settings(tmp_path):
    root = workspace(tmp_path)
    strict = olapps("fit", "demo", "--error-below", "9000", "--warn-below", "9000", cwd=root)
    assert strict.code == 1
    assert olapps("fit", "demo", "--error-below", "9", "--warn-below", "1", cwd=root).code == 2


def test_without_a_lock_it_says_what_to_do(tmp_path):
    outcome = olapps("fit", "demo", cwd=build_workspace(tmp_path / "ws"))
    assert outcome.code == 1
    assert "run olapps lock demo, or give a local file with --gguf FILE" in outcome.err


def test_a_local_file_needs_no_lock(tmp_path):
    root = build_workspace(tmp_path / "ws")
    tensors = tensors_of(TINY_MOE)
    file = root / "tiny.gguf"
    file.write_bytes(gguf_header(metadata_of(TINY_MOE), tensors) + bytes(data_bytes(tensors)))
    report = good("fit", "demo", "--gguf", "tiny.gguf", "--output", "json", cwd=root).json
    assert report["title"] == "tiny.gguf"
    assert report["files"] == []
    file.write_bytes(b"<!DOCTYPE html>")
    outcome = olapps("fit", "demo", "--gguf", "tiny.gguf", cwd=root)
    assert outcome.code == 1
    assert "a web page instead of a GGUF file" in outcome.err


def test_the_picture_is_a_document_with_one_bar_per_part(tmp_path):
    root = workspace(tmp_path)
    report = good("fit", "demo", "--svg", "out.svg", "--output", "json", cwd=root).json
    tree = ElementTree.fromstring((root / "out.svg").read_text())
    bars = [node for node in tree.iter() if node.tag.endswith("rect")]
    on_gpu = [part for part in report["parts"] if part["where"] == "gpu"]
    assert len(bars) == len(on_gpu) + 2  # the background and the total
    first = (root / "out.svg").read_bytes()
    good("fit", "demo", "--svg", "out.svg", cwd=root)
    assert (root / "out.svg").read_bytes() == first


def test_a_cache_type_nobody_knows_is_told_with_the_nearest(tmp_path):
    root = workspace(tmp_path, Q3, ("ctx: 32768", "ctx: 32768\n  kv: {k: q4_9, v: q4_0}"))
    outcome = olapps("fit", "demo", cwd=root)
    assert outcome.code == 2
    assert "unknown KV cache type 'q4_9'" in outcome.err


def test_a_render_uses_the_lock_beside_the_spec(tmp_path):
    root = workspace(tmp_path)
    good("render", cwd=root)
    charts = (root / "charts").rglob("OlaresManifest.yaml")
    assert all("|main|" not in path.read_text() for path in charts)
    need = good("fit", "demo", "--output", "json", cwd=root).json["manifest_gpu_memory"] // GIB
    manifest = next((root / "charts/olares-1.12.3").rglob("OlaresManifest.yaml")).read_text()
    assert f"requiredGpu: {need}Gi" in manifest.replace('"', "")


@pytest.mark.parametrize("command", [["render"], ["fit", "demo"]])
def test_a_spec_that_contradicts_its_lock_is_refused_with_its_line(tmp_path, command):
    root = workspace(tmp_path)
    spec = root / "apps/demo.yaml"
    spec.write_text(spec.read_text().replace("size_gb: 17.2", "size_gb: 12.0"))
    outcome = olapps(*command, cwd=root)
    assert outcome.code == 1
    assert "demo.yaml:" in outcome.err
    assert "stated as 12.0 GB" in outcome.err


def test_thresholds_come_from_the_workspace_and_a_flag_wins(tmp_path):
    root = workspace(tmp_path)
    config = root / "olapps.toml"
    config.write_text(config.read_text() + "\n[fit]\nerror_below_mib = 64\nwarn_below_mib = 9000\n")
    report = good("fit", "demo", "--output", "json", cwd=root).json
    assert report["verdict"]["state"] == "tight"
    assert report["thresholds"] == {"error_below": 64 * MIB, "warn_below": 9000 * MIB}
    report = good("fit", "demo", "--warn-below", "64", "--output", "json", cwd=root).json
    assert report["verdict"]["state"] == "fits"
    found = olapps("check", "--output", "json", cwd=root).json["findings"]
    (tight,) = [
        item for item in found if item["rule"] == "model-fits" and "tight" in item["message"]
    ]
    assert "below 8.79GiB" in tight["message"]


def test_thresholds_that_shrink_are_refused_with_their_line(tmp_path):
    root = workspace(tmp_path)
    config = root / "olapps.toml"
    config.write_text(config.read_text() + "\n[fit]\nerror_below_mib = 2000\n")
    outcome = olapps("fit", "demo", cwd=root)
    assert outcome.code != 0
    assert "error_below_mib 2000 is above warn_below_mib 1024" in outcome.err


MEASURED = (
    "engine:\n  type",
    "resources:\n  gpu_measured:\n"
    "    - {mib: 21000, source: nvidia-smi, build: b9600, files: [Demo-35B-UD-Q3_K_XL.gguf],\n"
    "       ctx: 262144, kv: q4_0, parallel: 1, draft_n: 3}\n"
    "engine:\n  type",
)


def test_a_measured_figure_is_shown_beside_the_estimate_and_wins(tmp_path):
    root = workspace(tmp_path, Q3, FULL, MTP, MEASURED)
    report = good("fit", "demo", "--output", "json", cwd=root).json
    verdict = report["verdict"]
    assert verdict["need"] == verdict["measured"]["bytes"] == 21000 * MIB
    assert verdict["estimated"] == report["total_gpu"] != verdict["need"]
    assert report["manifest_gpu_memory"] == 21 * GIB
    text = good("fit", "demo", cwd=root).out
    assert "measured 21000 MiB (nvidia-smi, on olares-one with b9600); estimated" in text
    good("render", cwd=root)
    manifest = next((root / "charts/olares-1.12.3").rglob("OlaresManifest.yaml")).read_text()
    assert "requiredGpu: 21Gi" in manifest.replace('"', "")


def test_a_measured_figure_that_cannot_be_is_named_and_not_used(tmp_path):
    small = (MEASURED[0], MEASURED[1].replace("mib: 21000", "mib: 100"))
    plain = workspace(tmp_path / "plain", Q3, FULL, MTP)
    root = workspace(tmp_path / "small", Q3, FULL, MTP, small)
    report = good("fit", "demo", "--output", "json", cwd=root).json
    expected = good("fit", "demo", "--output", "json", cwd=plain).json
    assert report["verdict"]["need"] == expected["verdict"]["need"]
    assert report["manifest_gpu_memory"] == expected["manifest_gpu_memory"]
    assert "less than weights and caches" in report["verdict"]["measured_unused"][0]
    assert "not used: the measured 0.1 GiB" in good("fit", "demo", cwd=root).out
    for folder in (plain, root):
        good("render", cwd=folder)
    charts = [sorted((at / "charts").rglob("OlaresManifest.yaml")) for at in (plain, root)]
    for one, other in zip(*charts, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_stated_need_below_the_computed_one_is_found(tmp_path):
    root = workspace(tmp_path, Q3, FULL, MTP)
    need = good("fit", "demo", "--output", "json", cwd=root).json["verdict"]["need"]
    spec = root / "apps/demo.yaml"
    text = spec.read_text()
    whole, short = divmod(need, GIB)
    assert short
    nearly = "error" if short > GIB // 2 else "warning"
    for stated, severity in ((whole - 1, "error"), (whole, nearly), (whole + 1, None)):
        stating = f"resources:\n  gpu_memory: {stated}Gi\nengine:\n  type"
        spec.write_text(text.replace("engine:\n  type", stating))
        findings = olapps("check", "--no-tools", "--output", "json", cwd=root).json["findings"]
        found = [item["severity"] for item in findings if item["rule"] == "gpu-need-understated"]
        assert found == ([severity] if severity else [])


def test_a_measured_figure_of_another_context_is_named_and_not_used(tmp_path):
    half = ("ctx: 32768", "ctx: 131072\n  kv: {k: q4_0, v: q4_0}")
    root = workspace(tmp_path, Q3, half, MTP, MEASURED)
    report = good("fit", "demo", "--output", "json", cwd=root).json
    assert report["verdict"]["measured"] is None
    assert "ctx 262144, the spec has 131072" in report["verdict"]["measured_unused"][0]
    assert "not used: the measured 21000 MiB" in good("fit", "demo", cwd=root).out


def test_show_and_check_see_the_spec_with_its_lock(tmp_path):
    root = workspace(tmp_path)
    spec = root / "apps/demo.yaml"
    spec.write_text(spec.read_text().replace("      size_gb: 17.2\n", ""))
    shown = good("show", "demo", "--output", "json", cwd=root).json
    (file,) = shown["files"]
    assert (file["revision"], file["size"], file["sha256"]) == ("c" * 40, Q3, "a" * 64)
    assert f"/{'c' * 40}/" in file["path"]
    assert file["path"] in " ".join(shown["command"])
    assert shown["facts"]["size_gb"] == "17.2"
    assert "17.20 GB" in good("show", "demo", cwd=root).out
    # The size that the page states is compared with the one in the lock.
    spec.write_text(spec.read_text().replace("A demo on", "A demo of 29.3 GB on"))
    messages = [
        item["message"] for item in olapps("check", "--output", "json", cwd=root).json["findings"]
    ]
    assert any("29.3" in message and "17.2" in message for message in messages), messages


def test_a_need_above_the_card_is_told_once_and_the_manifest_stays_within_it(tmp_path):
    root = workspace(tmp_path, Q4)
    found = olapps("check", "--output", "json", cwd=root).json["findings"]
    errors = {item["rule"] for item in found if item["severity"] == "error"}
    assert errors == {"model-fits"}


@pytest.mark.parametrize(
    ("stated", "rule", "word"),
    [
        ("1Gi", "gpu-need-understated", "1Gi is below the need 19.82GiB (estimated from"),
        ("32Gi", "gpu-memory-exceeds-card", "32Gi > card 24463 MiB"),
    ],
)
def test_c110_stated_gpu_memory_is_compared_with_the_estimate(tmp_path, stated, rule, word):
    memory = ("engine:\n  type", f"resources:\n  gpu_memory: {stated}\nengine:\n  type")
    root = workspace(tmp_path, Q3, FULL, MTP, memory)
    outcome = olapps("check", "--output", "json", cwd=root)
    assert outcome.code == 1
    messages = [item["message"] for item in outcome.json["findings"] if item["rule"] == rule]
    assert any(word in message for message in messages), outcome.json["findings"]
