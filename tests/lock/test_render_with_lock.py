"""What a lock changes in a chart: exact download rows, commit, disk and GPU memory."""

from typing import Any

import pytest
from support.charts import PUBLISHER
from support.fit_facts import facts_35b
from support.locks import COMMIT, SHA, file_of, lock_of
from support.specs import MINIMAL, load, spec_text

from olares_apps.generations import GENERATIONS
from olares_apps.hardware import load_profile
from olares_apps.lock.errors import Contradiction
from olares_apps.lock.model import Lock
from olares_apps.lock.need import fit_case, gpu_need, known_need
from olares_apps.render import render_chart
from olares_apps.render.chart import ChartTree
from olares_apps.render.templates import load_templates

SIZE = 17_200_000_000
ONE = load_profile("olares-one")
MTP = ("  parallel: 1\n", "  parallel: 2\n  speculative: {method: mtp, n_max: 3}\n")


def chart(text: str, lock: Lock | None) -> ChartTree:
    return render_chart(
        load(text).spec,
        GENERATIONS[0],
        version="1.0.0",
        publisher=PUBLISHER,
        templates=load_templates(None),
        lock=lock,
    )


def locked(**more: Any) -> Lock:
    return lock_of(file_of(size=SIZE, gguf=facts_35b(SIZE).to_dict(), **more))


def written(tree: ChartTree) -> str:
    return b"\n".join(tree.files.values()).decode()


def test_the_download_is_pinned_to_commit_size_and_digest():
    before, after = written(chart(MINIMAL, None)), written(chart(MINIMAL, locked()))
    row = f"example-org/Demo-35B-GGUF|{COMMIT}|Demo-35B-UD-Q3_K_XL.gguf"
    assert "|main|" in before
    assert row in after
    assert f"|{SIZE}|{SHA}" in after
    assert f"/models/example-org--Demo-35B-GGUF/{COMMIT}/" in after


def test_gpu_memory_is_the_computed_need_rounded_up():
    spec = chart(MINIMAL, locked()).manifest["spec"]
    need = gpu_need(load(MINIMAL).spec, locked(), ONE)
    assert need is not None
    assert spec["requiredGPUMemory" if "requiredGPUMemory" in spec else "requiredGpu"] == (
        f"{need // 2**30}Gi"
    )
    assert need % 2**30 == 0


def test_a_need_near_the_cards_limit_is_asked_for_in_mib():
    text = spec_text(("ctx: 32768", "ctx: 262144\n  kv: {k: f16, v: f16}"), MTP, ("17.2", "17.6"))
    size = 17_600_000_000
    lock = lock_of(file_of(size=size, gguf=facts_35b(size).to_dict()))
    need = known_need(load(text).spec, lock, ONE)
    assert need is not None
    assert 23 * 1024 < need / 2**20 < ONE.gpu_memory_usable_mib
    spec = chart(text, lock).manifest["spec"]
    assert f"{-(-need // 2**20)}Mi" in {str(value) for value in spec.values()}


def test_a_stated_need_wins():
    text = spec_text(("engine:\n", "resources:\n  gpu_memory: 20Gi\nengine:\n"))
    assert "20Gi" in {str(value) for value in chart(text, locked()).manifest["spec"].values()}


def test_disk_follows_the_exact_size():
    tree = chart(spec_text(("      size_gb: 17.2\n", "")), locked())
    assert tree.manifest["spec"]["requiredDisk"] == f"{-(-round(SIZE * 1.1) // 2**30)}Gi"


def test_a_contradiction_gives_no_chart():
    with pytest.raises(Contradiction):
        chart(spec_text(("17.2", "16.0")), locked())


def test_every_part_of_a_split_model_is_downloaded_with_its_digest():
    names = [f"Demo-{number:05}-of-00003.gguf" for number in (1, 2, 3)]
    parts = [(name, 10**9 + index, str(index) * 64) for index, name in enumerate(names)]
    text = spec_text(("Demo-35B-UD-Q3_K_XL.gguf", names[0]), ("17.2", "3.0"))
    tree = written(chart(text, lock_of(file_of(file=names[0], parts=parts))))
    for name, size, digest in parts:
        assert f"/{name}|{size}|{digest}" in tree


@pytest.mark.parametrize(
    ("image", "number"),
    [
        ("registry.example.org/llama-server:b9600", 9600),
        ("docker.io/aamsellem/llama-cpp-mtp:master-ad27757", 9254),
        ("registry.example.org/llama-server:custom", None),
    ],
)
def test_the_build_decides_how_memory_is_counted(image, number):
    text = spec_text(("registry.example.org/llama-server:b9600", image))
    case = fit_case(load(text).spec, locked())
    assert case is not None
    assert case.behaviour.number == number
    assert case.request.no_vmm == ("aamsellem" in image)


def test_nothing_is_computed_without_a_header():
    assert fit_case(load(MINIMAL).spec, None) is None
    assert gpu_need(load(MINIMAL).spec, lock_of(file_of()), ONE) is None


def test_settings_and_further_files_become_the_request():
    text = spec_text(
        (
            "      size_gb: 17.2\n",
            "      size_gb: 17.2\n"
            "    - {role: mmproj, repo: a/b, file: mmproj.gguf}\n"
            "    - {role: drafter, repo: a/b, file: draft.gguf}\n",
        ),
        (
            "  parallel: 1\n",
            "  parallel: 2\n  ubatch: 256\n  batch: 256\n  kv: {k: q8_0, v: q4_0}\n  cache_ram: 0\n"
            "  speculative: {method: draft, n_max: 4, kv: {k: q8_0, v: q8_0}}\n",
        ),
    )
    lock = lock_of(
        file_of(size=SIZE, gguf=facts_35b(SIZE).to_dict()),
        file_of(role="mmproj", repo="a/b", file="mmproj.gguf", size=10**9),
        file_of(role="drafter", repo="a/b", file="draft.gguf", gguf=facts_35b(SIZE).to_dict()),
    )
    case = fit_case(load(text).spec, lock)
    assert case is not None
    request = case.request
    assert (request.parallel, request.physical_batch, request.cache_ram_mib) == (2, 256, 0)
    assert (request.kv_k, request.kv_v, request.draft_kv_k) == ("q8_0", "q4_0", "q8_0")
    assert (request.n_max, request.mmproj_bytes) == (4, 10**9)
    assert case.drafter is not None
    assert case.estimate().part("drafter-weights") > 0
