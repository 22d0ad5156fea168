"""Measured GPU memory: when a figure counts, and what it then decides."""

import pytest
from support.charts import PUBLISHER
from support.fit_facts import facts_35b
from support.locks import file_of, image_of, lock_of
from support.specs import MINIMAL, load, spec_text

from olares_apps.findings import Severity
from olares_apps.generations import GENERATIONS
from olares_apps.hardware import load_profile
from olares_apps.lock.findings import lock_findings
from olares_apps.lock.measured_memory import matching_figure, mismatches
from olares_apps.render import render_chart
from olares_apps.render.templates import load_templates

ONE = load_profile("olares-one")
SIZE = 17_200_000_000
RECORD = (
    "resources:\n  gpu_measured:\n"
    "    - {mib: 18650, source: a run of 250K tokens on 1 December, build: b9600,\n"
    "       files: [Demo-35B-UD-Q3_K_XL.gguf], ctx: 32768, kv: f16, parallel: 1}\n"
)


def text(record: str = RECORD, *changes: tuple[str, str]) -> str:
    return spec_text(("engine:\n  type", f"{record}engine:\n  type"), *changes)


def found(spec: str, *, locked: bool = True):
    facts = facts_35b(SIZE, "none").to_dict()
    lock = lock_of(file_of(size=SIZE, gguf=facts), images=[image_of()])
    findings = lock_findings(load(spec).spec, lock if locked else None, None, ONE)
    return [item for item in findings if item.rule == "model-fits"]


def test_a_figure_of_this_configuration_counts_with_its_provenance():
    figure = matching_figure(load(text()).spec, ONE)
    assert figure is not None
    assert figure.gpu_bytes == 18650 * 2**20
    assert figure.provenance == "a run of 250K tokens on 1 December, on olares-one with b9600"


@pytest.mark.parametrize(
    "name", ["b9600", "registry.example.org/llama-server:b9600", "ghcr.io/x/y:server-b9600"]
)
def test_a_build_may_be_named_by_its_image(name):
    assert matching_figure(load(text(RECORD.replace("b9600", name))).spec, ONE)


@pytest.mark.parametrize("kind", ["f16", "f16/f16"])
def test_both_ways_to_write_a_cache_type_are_right(kind):
    assert matching_figure(load(text(RECORD.replace("f16", kind))).spec, ONE)


ONE_SLOT = "  parallel: 1\n"


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("ctx: 32768\n  parallel", "ctx: 65536\n  parallel", "ctx 32768, the spec has 65536"),
        (ONE_SLOT, "  parallel: 2\n", "parallel 1, the spec has 2"),
        (ONE_SLOT, f"{ONE_SLOT}  ubatch: 256\n", "ubatch 512, the spec has 256"),
        (ONE_SLOT, f"{ONE_SLOT}  kv: {{k: q8_0, v: q4_0}}\n", "kv f16, the spec has q8_0/q4_0"),
        (
            ONE_SLOT,
            f"{ONE_SLOT}  speculative: {{method: mtp, n_max: 3}}\n",
            "draft_n 0, the spec has 3",
        ),
        ("server:b9600", "server:b9601", "build b9600, the spec has b9601"),
        ("file: Demo-35B-UD-Q3_K_XL", "file: Other", "Q3_K_XL.gguf, the spec has Other.gguf"),
        ("mib: 18650", "mib: 18650, hardware: rtx-4090", "hardware rtx-4090, here olares-one"),
    ],
    ids=["ctx", "parallel", "ubatch", "kv", "draft", "build", "files", "hardware"],
)
def test_a_figure_of_another_configuration_does_not_count_and_says_why(old, new, word):
    spec = load(spec_text((old, new), base=text())).spec
    assert matching_figure(spec, ONE) is None
    (reason,) = mismatches(spec, ONE)
    assert "the measured 18650 MiB" in reason
    assert word in reason


def test_the_manifest_asks_for_the_measured_memory_with_and_without_a_lock():
    for mib, asked in ((18650, "19Gi"), (23900, "23900Mi")):
        spec = load(text(RECORD.replace("18650", str(mib)))).spec
        chart = render_chart(
            spec,
            GENERATIONS[0],
            version="1.0.0",
            publisher=PUBLISHER,
            templates=load_templates(None),
        )
        assert asked in {str(value) for value in chart.manifest["spec"].values()}


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize(
    ("mib", "severity"),
    [(23900, Severity.ERROR), (23500, Severity.WARNING), (18650, None)],
)
def test_checks_judge_the_measured_figure(locked, mib, severity):
    findings = found(text(RECORD.replace("18650", str(mib))), locked=locked)
    assert [item.severity for item in findings] == ([severity] if severity else [])
    assert all("measured: a run of 250K" in item.message for item in findings)


def test_a_figure_below_weights_and_caches_is_an_error_and_decides_nothing():
    (finding,) = found(text(RECORD.replace("18650", "9000")))
    assert finding.severity is Severity.ERROR
    assert "less than weights and caches alone take, 16." in finding.message


def test_figures_that_do_not_count_are_mentioned_unless_one_does():
    other = ("ctx: 32768\n  parallel", "ctx: 65536\n  parallel")
    (finding,) = found(text(RECORD, other))
    assert finding.severity is Severity.INFO
    assert "of another configuration: ctx 32768, the spec has 65536" in finding.message
    second = RECORD.partition("gpu_measured:\n")[2].replace("32768", "65536")
    assert found(text(RECORD + second, other)) == []


def test_a_spec_without_figures_has_none():
    assert matching_figure(load(MINIMAL).spec, ONE) is None
    assert mismatches(load(MINIMAL).spec, ONE) == ()
