"""What the model says about releases whose fate is known; docs/fit-backtest.md explains each."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.fit_facts import MIB, facts_27b, facts_35b

from olares_apps.fit.behaviours import behaviour_of
from olares_apps.fit.gguf_facts import GgufFacts
from olares_apps.fit.memory_model import estimate
from olares_apps.fit.memory_request import MemoryRequest
from olares_apps.fit.request_findings import LEGACY_POOL_WARNING
from olares_apps.fit.verdict import FitState, judge
from olares_apps.hardware import load_profile

GB = 10**9
DOCUMENT = Path(__file__).parents[2] / "docs" / "fit-backtest.md"


@dataclass(frozen=True)
class Release:
    """A published configuration, the verdict on it (free MiB) and what happened."""

    name: str
    facts: GgufFacts
    ctx: int
    n_max: int | None
    free_mib: int
    state: FitState
    happened: str
    agrees: bool
    kv: str = "q4_0"
    ubatch: int = 512
    build: int = 9254
    no_vmm: bool = True


RELEASES = [
    Release(
        "27B 1.0.0", facts_27b(round(16.49 * GB)), 32000, 4, 5276, FitState.FITS,
        "ran; 5.6 GB free noted", True, kv="f16", ubatch=64,
    ),
    Release(
        "27B 1.0.1", facts_27b(round(16.81 * GB)), 262144, 5, -1525, FitState.DOES_NOT_FIT,
        "out of memory in the MTP context", True,
    ),
    Release(
        "27B 1.0.2", facts_27b(round(16.81 * GB)), 32000, 5, 5250, FitState.FITS, "ran", True
    ),
    Release(
        "27B 1.0.3", facts_27b(round(16.81 * GB)), 128000, 5, 2707, FitState.FITS, "ran", True
    ),
    Release(
        "27B 1.0.5", facts_27b(round(14.92 * GB)), 262144, 5, 277, FitState.TIGHT,
        "started, out of memory on long prompts", True,
    ),
    Release(
        "27B 1.0.6", facts_27b(round(14.92 * GB)), 131072, 4, 4577, FitState.FITS, "ran", True
    ),
    Release(
        "27B 1.0.7", facts_27b(round(12.3 * GB)), 262144, 5, 2776, FitState.FITS, "ran", True
    ),
    Release(
        "27B 1.0.8", facts_27b(round(14.8 * GB)), 262144, 5, 392, FitState.TIGHT,
        "ran in benches of short prompts", False,
    ),
    Release(
        "27B 1.0.9", facts_27b(round(14.8 * GB)), 262144, 3, 691, FitState.TIGHT,
        "ran in benches of short prompts", False,
    ),
    Release(
        "35B 1.0.0 (22.0 GB)", facts_35b(22 * GB, "none"), 65536, None, 1024, FitState.FITS,
        "out of memory", False, ubatch=1024, build=8740, no_vmm=False,
    ),
    Release(
        "35B 1.0.0 (22.4 GB)", facts_35b(round(22.4 * GB), "none"), 65536, None, 643,
        FitState.TIGHT, "out of memory", True, ubatch=1024, build=8740, no_vmm=False,
    ),
    Release(
        "35B 1.0.1", facts_35b(round(17.2 * GB)), 32768, 3, 5445, FitState.FITS, "ran", True
    ),
    Release(
        "35B 1.0.2", facts_35b(round(17.2 * GB)), 262144, 3, 2536, FitState.FITS, "ran", True
    ),
]  # fmt: skip


def verdict_on(release: Release):
    request = MemoryRequest(
        ctx=release.ctx,
        kv_k=release.kv,
        kv_v=release.kv,
        parallel=1,
        ubatch=release.ubatch,
        spec_type="mtp" if release.n_max else None,
        n_max=release.n_max,
        no_vmm=release.no_vmm,
    )
    found = estimate(release.facts, request, behaviour_of(release.build))
    return judge(found, load_profile("olares-one"))


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_verdict_on_a_release_whose_fate_is_known(release):
    verdict = verdict_on(release)
    assert round(verdict.free / MIB) == release.free_mib
    assert verdict.state is release.state


def test_failures_that_pass_without_a_word_are_known():
    """Releases that failed are refused, tight or warned of their memory pool, but for one."""
    silent = [
        release.name
        for release in RELEASES
        if "out of memory" in release.happened
        and (verdict := verdict_on(release)).state is FitState.FITS
        and not verdict.warnings
    ]
    assert silent == ["35B 1.0.0 (22.0 GB)"]


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_the_pool_warning_is_for_quantised_kv_on_images_without_vmm(release):
    expected = release.no_vmm and release.kv != "f16"
    assert (LEGACY_POOL_WARNING in verdict_on(release).warnings) is expected


def test_the_document_states_the_same_verdicts():
    rows = re.findall(r"^\| ((?:27B|35B)[^|]*?) \|.*\|$", DOCUMENT.read_text(), re.MULTILINE)
    assert rows == [release.name for release in RELEASES]
    for release in RELEASES:
        (line,) = re.findall(rf"^\| {re.escape(release.name)} \|.*$", DOCUMENT.read_text(), re.M)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[-4:] == [
            str(release.free_mib),
            release.state.value,
            release.happened,
            "yes" if release.agrees else "no",
        ]
