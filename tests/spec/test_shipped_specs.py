"""The two shipped specs hold the published figures, and their texts name only those."""

from pathlib import Path
from typing import Any

import pytest

from olares_apps.engines.registry import get_engine, spec_model
from olares_apps.spec.facts import facts
from olares_apps.spec.loader import LoadedSpec, free_texts
from olares_apps.spec.placeholders import expand
from olares_apps.spec.workspace import Workspace, load_workspace

ROOT = Path(__file__).parents[2]
FLAGSHIP, DENSE = "qwen36-35b-a3b-mtp", "qwen36-27b-mtp"
# Run, tokens per second, drafted, accepted: the author's table of ten runs.
RUNS = [
    (253.73, 1634, 1454),
    (248.63, 1672, 1441),
    (251.65, 1653, 1448),
    (251.75, 1653, 1448),
    (250.43, 1657, 1446),
    (245.62, 1692, 1434),
    (248.14, 1672, 1440),
    (249.72, 1661, 1445),
    (249.78, 1663, 1444),
    (243.58, 1707, 1430),
]


def known_facts(spec: Any) -> dict[str, object]:
    return facts(spec, get_engine(spec.engine.type).facts(spec))


@pytest.fixture(scope="module")
def shipped() -> Workspace:
    return load_workspace(ROOT, model=spec_model(), facts=known_facts)


def texts(loaded: LoadedSpec) -> dict[str, str]:
    known = known_facts(loaded.spec)
    return {field: expand(text, known, field) for field, text in free_texts(loaded.spec)}


def test_this_repository_is_a_sound_workspace(shipped: Workspace) -> None:
    assert shipped.problems == ()
    assert set(shipped.specs) >= {FLAGSHIP, DENSE}


def test_the_flagship_is_what_the_article_describes(shipped: Workspace) -> None:
    spec = shipped.specs[FLAGSHIP].spec
    engine = spec.engine
    assert (spec.app, spec.version, spec.alias) == (
        "llamacppqwen36a3bone",
        "1.0.2",
        "qwen3.6-35b-a3b-mtp",
    )
    assert spec.target.repo == "unsloth/Qwen3.6-35B-A3B-MTP-GGUF"
    assert spec.target.file == "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf"
    assert (spec.target.size_gb, spec.target.size, spec.target.sha256) == (17.2, None, None)
    assert engine.image == "docker.io/aamsellem/llama-cpp-mtp:master-ad27757"
    assert (engine.ctx, spec.model.native_ctx, engine.parallel) == (262144, 262144, 1)
    assert (engine.kv.k, engine.kv.v, engine.batch, engine.ubatch) == ("q4_0", "q4_0", 512, 512)
    assert (engine.flash_attn, engine.gpu_layers, engine.threads) == ("on", 99, 16)
    assert (engine.speculative.method, engine.speculative.n_max) == ("mtp", 3)
    assert engine.chat_template_args == {"enable_thinking": False}
    assert engine.extra_args == []
    assert [(part.part, part.gb) for part in spec.resources.gpu_memory_parts] == [
        ("weights", 17.2),
        ("kv cache", 3.2),
        ("draft buffer", 1.0),
        ("compute", 0.5),
    ]


def test_the_flagship_lists_every_run_and_the_context_sweep(shipped: Workspace) -> None:
    bench = shipped.specs[FLAGSHIP].spec.bench
    assert [(run.tps, run.drafted, run.accepted) for run in bench[0].details] == RUNS
    assert (bench[0].tps, bench[0].acceptance, bench[0].version) == (249.30, 86.6, "1.0.1")
    assert [(record.ctx, record.tps, record.runs) for record in bench] == [
        (32768, 249.30, 10),
        (65536, 252.64, 5),
        (131072, 250.39, 5),
        (262144, 245.71, 5),
    ]
    assert {(r.protocol.tokens, r.protocol.sampler["top_k"]) for r in bench} == {(2000, 20)}


def test_the_dense_model_is_what_its_chart_runs(shipped: Workspace) -> None:
    spec = shipped.specs[DENSE].spec
    assert (spec.app, spec.version, spec.alias) == (
        "llamacppqwen36mtpone",
        "1.0.9",
        "qwen3.6-27b-mtp",
    )
    assert (spec.target.repo, spec.target.file, spec.target.size_gb) == (
        "unsloth/Qwen3.6-27B-MTP-GGUF",
        "Qwen3.6-27B-UD-Q3_K_XL.gguf",
        14.8,
    )
    assert (spec.engine.ctx, spec.engine.speculative.n_max) == (262144, 3)
    current, first = spec.bench
    assert (current.tps, current.acceptance, current.runs) == (74.28, 86.7, None)
    assert (first.ctx, first.tps, [run.tps for run in first.details]) == (
        32000,
        78.1,
        [74.91, 80.60, 78.78],
    )


@pytest.mark.parametrize("name", [FLAGSHIP, DENSE])
def test_licences_of_model_and_engine_stand_apart(shipped: Workspace, name: str) -> None:
    licenses = shipped.specs[name].spec.licenses
    assert (licenses.model.text, licenses.engine.text) == ("Apache-2.0", "MIT")
    assert "huggingface.co/Qwen/" in licenses.model.url
    assert "llama.cpp" in licenses.engine.url


@pytest.mark.parametrize("name", [FLAGSHIP, DENSE])
def test_texts_state_numbers_only_through_placeholders(shipped: Workspace, name: str) -> None:
    for field, text in free_texts(shipped.specs[name].spec):
        pieces = text.split("{{")
        outside = pieces[0] + "".join(piece.partition("}}")[2] for piece in pieces[1:])
        assert not any(character.isdigit() for character in outside), field


def test_texts_come_out_with_the_figures(shipped: Workspace) -> None:
    flagship, dense = texts(shipped.specs[FLAGSHIP]), texts(shipped.specs[DENSE])
    assert "245.71 tokens per second" in flagship["text.summary"]
    assert "262K context, as UD-Q3_K_XL" in flagship["text.summary"]
    assert "21.9 GB in all" in flagship["text.about"]
    assert "每秒 245.71 个词元" in flagship["locales.zh-CN.summary"]
    assert "from 32K to 262K tokens" in flagship["releases.0.notes"]
    assert "74.28 tokens per second" in dense["text.summary"]
    assert "86.7 %" in dense["releases.0.notes"]


@pytest.mark.parametrize("name", [FLAGSHIP, DENSE])
def test_every_version_up_to_the_current_one_has_notes(shipped: Workspace, name: str) -> None:
    spec = shipped.specs[name].spec
    last = int(spec.version.split(".")[2])
    assert [r.version for r in spec.releases] == [f"1.0.{n}" for n in range(last, -1, -1)]
