"""Every market command against a market behind https: the Worker, and a server that only reads."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.serving import serving
from support.worker import Token, Worker, running
from support.workspaces import DEMO, Outcome, build_workspace, edit, good, olapps

from olares_apps.market.http_store import TOKEN_VARIABLE

OLD, NEW = "olares-1.12.3", "olares-1.12.6"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = build_workspace(tmp_path / "ws")
    good("worker", "init", cwd=root)
    return root


@pytest.fixture
def token(root: Path) -> Token:
    """A token as a curator makes one: text from stdout, entry from the file for the secret."""
    scopes = ("--scope", "publish,rollback,collect")
    text = good("worker", "token", "create", "laptop", *scopes, cwd=root).out.strip()
    (entry,) = json.loads((root / "worker/tokens.json").read_text())
    return Token(entry, text)


@pytest.fixture
def market(
    bundle: Path, root: Path, token: Token, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Worker]:
    """A Worker with two publishes; commands in the workspace talk to it."""
    monkeypatch.setenv(TOKEN_VARIABLE, token.text)
    with running(bundle, tmp_path / "state", tokens=(token,)) as worker:
        monkeypatch.setenv("OLAPPS_MARKET", worker.url)
        good("publish", cwd=root)
        edit(root / "apps/demo.yaml", ("ctx: 32768", "ctx: 16384"))
        good("publish", "--bump", "patch", cwd=root)
        yield worker


def _json(root: Path, *command: str) -> Any:
    return good("market", *command, "--output", "json", cwd=root).json


def test_every_command_works_against_a_worker(root: Path, market: Worker, tmp_path: Path) -> None:
    assert _json(root, "status")["apps"] == {DEMO: {OLD: "1.0.2", NEW: "1.0.3"}}
    assert len(_json(root, "history")["revisions"]) == 2
    assert _json(root, "verify")["problems"] == []
    synced = olapps("market", "sync", market.url, "--output", "json", cwd=root).json
    assert [(app["name"], app["version"], app["appears"]) for app in synced["apps"]] == [
        (DEMO, "1.0.3", True)
    ]
    dry = _json(root, "gc", "--dry-run")
    assert (dry["market"], dry["dry_run"], dry["removed"]) == (market.url, True, 0)
    assert dry["looked"] > 30
    assert _json(root, "gc", "--keep", "10", "--yes")["removed"] == 0
    copy = f"dir:{tmp_path}/copy"
    done = _json(root, "mirror", market.url, copy)
    assert (done["revisions"], done["objects"] > 30) == (2, True)
    assert _json(root, "rollback", "--yes")["changes"][0]["after"] == {OLD: "1.0.0", NEW: "1.0.1"}
    assert _json(root, "remove", DEMO, "--yes")["changes"][0]["after"] == {}
    assert _json(root, "status")["removed"] == [DEMO]
    assert _json(root, "verify")["problems"] == []
    # The copy follows, and never the other way round.
    refused = olapps("market", "mirror", copy, market.url, cwd=root)
    assert (refused.code, "nothing was changed" in refused.err) == (1, True)
    assert _json(root, "mirror", market.url, copy)["revisions"] == 2
    assert _json(root, "status", "--market", copy)["removed"] == [DEMO]


def test_a_market_goes_from_a_worker_to_a_folder_and_back(
    bundle: Path, root: Path, token: Token, market: Worker, tmp_path: Path
) -> None:
    _json(root, "rollback", "--yes")
    copy = f"dir:{tmp_path}/copy"
    _json(root, "mirror", market.url, copy)
    with running(bundle, tmp_path / "other", tokens=(token,)) as other:
        back = _json(root, "mirror", copy, other.url)
        assert (back["revisions"], back["target"]) == (3, other.url)
        assert _json(root, "verify", "--market", other.url)["problems"] == []
        histories = [_json(root, "history", "--market", at) for at in (market.url, copy, other.url)]
        assert histories[0] == histories[1] == histories[2]
        path = f"/api/v1/applications/{DEMO}/chart?version=1.0.2"
        archives = [httpx.get(worker.url + path) for worker in (market, other)]
        assert archives[0].content == archives[1].content
        assert archives[0].status_code == 200


def test_what_a_worker_does_not_keep_is_refused(root: Path, market: Worker) -> None:
    few = olapps("market", "gc", "--keep", "3", "--yes", cwd=root)
    assert (few.code, "keep is no number from 10 to 20" in few.err) == (1, True)
    old = olapps("market", "gc", "--older-than", "48h", "--yes", cwd=root)
    assert (old.code, "goes by an age of 24h" in old.err) == (2, True)


def test_a_token_without_the_scope_is_told_so(
    root: Path, market: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE)
    for command in (("gc", "--yes"), ("remove", DEMO, "--yes")):
        refused = olapps("market", *command, cwd=root)
        assert (refused.code, TOKEN_VARIABLE in refused.err) == (1, True)


WRITING = (
    ("gc", "--yes"),
    ("rollback", "--yes"),
    ("remove", DEMO, "--yes"),
    ("status",),
    ("history",),
    ("verify",),
)


def test_a_server_that_only_reads_is_synced_with_and_refuses_the_rest(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "olapps_any")
    good("publish", cwd=root)
    with serving(f"dir:{root}/.market") as url:
        synced = olapps("market", "sync", url, "--output", "json", cwd=root).json
        assert [app["name"] for app in synced["apps"]] == [DEMO]
        refusals = [_refusal(root, url, *command) for command in WRITING]
        refusals.append(olapps("market", "mirror", url, f"dir:{tmp_path}/x", cwd=root))
        refusals.append(olapps("market", "mirror", f"dir:{root}/.market", url, cwd=root))
    for refused in refusals:
        assert (refused.code, "not found: /api/publish/v1/" in refused.err) == (1, True)
    hint = "is this the address of an olapps market? Its Worker must be deployed first"
    assert [hint in refused.err for refused in refusals if "revisions," not in refused.out] == [
        True
    ] * (len(refusals) - 1)
    assert not (tmp_path / "x").exists()


def _refusal(root: Path, url: str, *command: str) -> Outcome:
    return olapps("market", *command, "--market", url, cwd=root)
