"""Publishers at once: processes with a workspace of specs each, against one market.

The suite runs a small crowd; with OLAPPS_PROVE=full, as `make prove` sets it, it is the full one.
"""

import fcntl
import json
import os
import resource
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from support.market import start_process
from support.specs import CONFIG, build_file_tree, spec_text
from support.workspaces import edit, good, olapps

from olares_apps.market import objects
from olares_apps.market.entries import archive_name
from olares_apps.market.history import history, status
from olares_apps.market.store import Store
from olares_apps.market.verify import verify

__all__ = ["FULL", "Crowd", "at_once", "chain_of", "stride"]

FULL: Final = os.environ.get("OLAPPS_PROVE") == "full"
ROUNDS: Final = 2


def stride(usual: int) -> int:
    """Return the distance between the steps that a test stops at: 1 in a full proof."""
    return 1 if FULL else usual


def at_once(folder: Path, count: int, work: Callable[[int], None]) -> list[int]:
    """Run ``work`` in ``count`` processes that begin together; return how each ended."""
    gate = folder / "gate"
    with gate.open("wb") as closed:
        fcntl.flock(closed, fcntl.LOCK_EX)

        def wait_and_work(number: int) -> None:
            with gate.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
            work(number)

        children = [start_process(lambda n=n: wait_and_work(n)) for n in range(count)]  # type: ignore[misc]
        fcntl.flock(closed, fcntl.LOCK_UN)
    return [os.waitpid(child, 0)[1] for child in children]


def chain_of(store: Store, *, collected: bool = False) -> list[str]:
    """Return the names of the revisions, newest first, and check that they are one chain.

    It goes back to the first revision, unless a collector took its beginning.
    """
    entries = list(history(store))
    for entry, older in pairwise(entries):
        assert entry.revision.parent == older.identity
        assert entry.revision.created > older.revision.created
    assert collected or not entries or entries[-1].revision.parent is None
    names = [entry.identity for entry in entries]
    assert len(set(names)) == len(names)
    return names


@dataclass
class Crowd:
    """Publishers with ``apps`` specs each; they publish all of them, then a new version of one."""

    folder: Path
    publishers: int = 32 if FULL else 5
    apps: int = 20 if FULL else 2
    figures: dict[str, float] = field(default_factory=dict)

    def publish(self, market: str, token: str | None = None) -> list[Mapping[str, Any]]:
        """Let all of them publish; return what every command reported."""
        for number in range(self.publishers):
            self._workspace(number)
        # What every process would import and parse is at hand before they fork.
        good("publish", "p0x0", "--dry-run", "--market", market, cwd=self.folder / "p0")

        def work(number: int) -> None:
            if token is not None:
                os.environ["OLAPPS_MARKET_TOKEN"] = token
            try:
                self._work(number, market)
            except BaseException:
                (self.folder / f"failed-{number}").write_text(traceback.format_exc())
                raise

        began, used = time.monotonic(), _cpu()
        assert at_once(self.folder, self.publishers, work) == [0] * self.publishers, [
            path.read_text() for path in self.folder.glob("failed-*")
        ]
        self.figures |= {"seconds": time.monotonic() - began, "CPU s": _cpu() - used}
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("said-*.json"))]

    def check(self, store: Store, said: Sequence[Mapping[str, Any]]) -> None:
        """Check that the market holds what was reported: all of it, and once."""
        assert len(said) == self.publishers * ROUNDS
        chain = chain_of(store)
        assert sorted(chain) == sorted(report["revision"] for report in said)
        reported = {
            archive_name(app["app"], version): digest
            for report in said
            for app in report["market"]["apps"]
            for version, digest in app["digests"].items()
        }
        # Two generations of every app, and of one app of each publisher once more.
        assert len(reported) == 2 * self.publishers * (self.apps + 1)
        revision = status(store).state.revision
        assert revision is not None
        kept = {
            file: listed.archive.sha256
            for name, entry in revision.apps.items()
            for file, listed in objects.read_ledger(store, entry.ledger, name).charts.items()
        }
        assert kept == reported
        live = status(store).live
        assert len(live) == self.publishers * self.apps
        for app, versions in live.items():
            assert set(versions.values()) == (
                {"1.0.2", "1.0.3"} if app.endswith("x0") else {"1.0.0", "1.0.1"}
            )
        changes = [
            (change.app, tuple(sorted(change.after.items())))
            for entry in history(store)
            for change in entry.revision.changes
        ]
        assert len(set(changes)) == len(changes) == self.publishers * (self.apps + 1)
        assert verify(store).problems == []
        attempts = sum(report["market"]["attempts"] for report in said)
        self.figures |= {"apps": len(live), "revisions": len(chain), "attempts": attempts}
        figures = ", ".join(f"{name} {value:.0f}" for name, value in self.figures.items())
        print(f"{self.publishers} publishers at {store.url.split(':')[0]}: {figures}")  # noqa: T201

    def _workspace(self, number: int) -> None:
        files: dict[str, str | bytes] = {
            "olapps.toml": spec_text(('"somebody"', f'"p{number}"'), base=CONFIG)
        }
        for index in range(self.apps):
            name = f"p{number}x{index}"
            files[f"apps/{name}.yaml"] = spec_text(
                ("app: demoqwenone", f"app: {name}"),
                ("title: Demo Qwen One", f"title: Demo {number} {index}"),
                ("alias: demo-qwen", f"alias: demo-{number}-{index}"),
            )
        build_file_tree(self.folder / f"p{number}", files)

    def _work(self, number: int, market: str) -> None:
        workspace = self.folder / f"p{number}"
        first = f"p{number}x0"
        for turn, more in enumerate(([], [first, "--bump", "patch"])):
            if more:
                edit(workspace / f"apps/{first}.yaml", ("ctx: 32768", "ctx: 65536"))
            outcome = olapps(
                "publish", *more, "--market", market, "--output", "json", cwd=workspace
            )
            assert outcome.code == 0, outcome.err
            (self.folder / f"said-{number}-{turn}.json").write_text(outcome.out)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
