"""The publish workflow over real workspaces: interrupted anywhere, raced, edited meanwhile."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.market import Clock, die_at, in_process
from support.specs import CONFIG, build_file_tree
from support.workspaces import (
    DEMO,
    OLAPPS,
    SECOND,
    SECOND_SPEC,
    build_workspace,
    edit,
    good,
    olapps,
    snapshot,
    untouched,
)

from olares_apps.cli.kitchen import WorkspaceKitchen
from olares_apps.cli.workbench import open_workbench
from olares_apps.errors import Conflict, SpecError, VersionRefused
from olares_apps.market.commit import Hands
from olares_apps.market.store import open_store
from olares_apps.market.workflow import publish_specs
from olares_apps.market.workflow_report import Request, WorkflowReport
from olares_apps.render.versions import Level

OLD, NEW = "olares-1.12.3", "olares-1.12.6"
SMALLER = ("ctx: 32768", "ctx: 16384")


def publish(
    root: Path,
    on_step: Callable[[str], None] = lambda name: None,
    *,
    market: Path | None = None,
    names: tuple[str, ...] = (),
    note: str | None = None,
    level: Level | None = "patch",
) -> WorkflowReport:
    """Publish a workspace as the command does, with a place to stop it."""
    bench = open_workbench(root)
    return publish_specs(
        open_store(f"dir:{market or root / '.market'}"),
        bench.workspace.select(names),
        WorkspaceKitchen(bench, lambda loaded, charts: None),
        Request(level=level, note=note, publisher=bench.publisher.name),
        hands=Hands(clock=Clock(), on_step=on_step),
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """A workspace whose market is behind two changed specs."""
    root = tmp_path_factory.mktemp("workflow") / "ws"
    build_workspace(root, files={"apps/second.yaml": SECOND_SPEC})
    good("render", cwd=root)
    good("publish", cwd=root)
    edit(root / "apps/demo.yaml", SMALLER)
    edit(root / "apps/second.yaml", SMALLER)
    return root


@pytest.fixture
def root(published, tmp_path) -> Path:
    return shutil.copytree(published, tmp_path / "ws")


def steps_of(root: Path) -> list[str]:
    names: list[str] = []
    publish(root, names.append, note="Less {{ ctx }} context.")
    return names


@pytest.fixture(scope="module")
def steps(published, tmp_path_factory) -> list[str]:
    return steps_of(shutil.copytree(published, tmp_path_factory.mktemp("steps") / "ws"))


def assert_all_agree(root: Path, version: str = "1.0.2", newer: str = "1.0.3") -> None:
    """Spec, charts on disk and market say the same, and the market is whole."""
    for name in ("demo", "second"):
        assert f'\nversion: "{version}"\n' in (root / f"apps/{name}.yaml").read_text()
    status = good("market", "status", "--output", "json", cwd=root).json
    assert status["apps"] == {app: {OLD: version, NEW: newer} for app in (DEMO, SECOND)}
    assert olapps("render", "--check", cwd=root).code == 0
    assert olapps("market", "verify", cwd=root).code == 0
    with untouched(root):
        assert "nothing changed" in good("publish", cwd=root).out


def test_the_steps_are_market_then_charts_then_spec(steps):
    tail = steps[steps.index("head.json") :]
    assert tail == [
        "head.json", "verify", "charts demo", "spec demo", "charts second", "spec second",
    ]  # fmt: skip


@pytest.mark.parametrize("place", ["first", "blob", "answer", "revision", "head.json"])
def test_killed_before_the_head_moved_nothing_has_changed_and_the_rerun_does_it(root, steps, place):
    names = {
        "first": steps[0],
        "blob": next(s for s in reversed(steps) if s.startswith("blobs")),
        "answer": next(s for s in steps if s.startswith("responses")),
        "revision": next(s for s in steps if s.startswith("revisions")),
    }
    index = steps.index(names.get(place, place))
    before = snapshot(root / "apps"), snapshot(root / "charts")
    status = good("market", "status", cwd=root).out
    died = in_process(lambda: publish(root, die_at(index), note="Less {{ ctx }} context.") and None)
    assert died == -signal.SIGKILL
    assert (snapshot(root / "apps"), snapshot(root / "charts")) == before
    assert good("market", "status", cwd=root).out == status
    report = publish(root, note="Less {{ ctx }} context.")
    assert [app.action for app in report.apps] == ["update", "update"]
    assert_all_agree(root)


@pytest.mark.parametrize(
    ("step", "actions"),
    [
        ("verify", ["finished", "finished"]),
        ("charts demo", ["finished", "finished"]),
        ("spec demo", ["finished", "finished"]),
        ("charts second", ["unchanged", "finished"]),
        ("spec second", ["unchanged", "finished"]),
    ],
)
@pytest.mark.parametrize("note", ["Less {{ ctx }} context.", None])
def test_killed_after_the_head_moved_the_rerun_finishes(root, steps, step, actions, note):
    index = steps.index(step)
    died = in_process(lambda: publish(root, die_at(index), note=note) and None)
    assert died == -signal.SIGKILL
    live = good("market", "status", "--output", "json", cwd=root).json
    report = publish(root)
    assert [app.action for app in report.apps] == actions
    assert report.market is None
    assert good("market", "status", "--output", "json", cwd=root).json == live
    assert (note or "Changed: ") in (root / "apps/demo.yaml").read_text()
    assert_all_agree(root)


def test_a_rerun_without_bump_finishes_too(root, steps):
    in_process(lambda: publish(root, die_at(steps.index("verify"))) and None)
    result = good("publish", "--output", "json", cwd=root).json
    assert [app["action"] for app in result["apps"]] == ["finished", "finished"]
    assert result["apps"][0]["after"] == {OLD: "1.0.2", NEW: "1.0.3"}
    assert "apps/demo.yaml" in result["apps"][0]["files"]
    assert_all_agree(root)


def test_a_dry_run_after_the_kill_says_so_and_writes_nothing(root, steps):
    in_process(lambda: publish(root, die_at(steps.index("verify"))) and None)
    with untouched(root):
        result = good("publish", "--dry-run", "--output", "json", cwd=root).json
    assert [app["action"] for app in result["apps"]] == ["finished", "finished"]


def test_a_fresh_clone_without_the_edit_learns_it_from_the_market(root, tmp_path):
    clone = shutil.copytree(root, tmp_path / "clone")
    publish(root, note="From the first machine.")
    report = publish(clone, market=root / ".market")
    assert [app.action for app in report.apps] == ["finished", "finished"]
    for name in ("demo", "second"):
        file = f"apps/{name}.yaml"
        assert (clone / file).read_bytes() == (root / file).read_bytes()


def test_a_clone_that_differs_is_not_mistaken_for_an_unfinished_one(root, tmp_path):
    clone = shutil.copytree(root, tmp_path / "clone")
    edit(clone / "apps/demo.yaml", ("ctx: 16384", "ctx: 8192"))
    publish(root)
    with pytest.raises(VersionRefused, match=r"1\.0\.0 is lower than 1\.0\.2, which is on offer"):
        publish(clone, market=root / ".market", names=("demo",))
    report = publish(clone, market=root / ".market", names=("second",))
    assert [app.action for app in report.apps] == ["finished"]


def test_a_change_from_elsewhere_is_not_taken_off_the_market_by_a_bump(root, tmp_path):
    clone = shutil.copytree(root, tmp_path / "clone")
    edit(root / "apps/demo.yaml", ("ctx: 16384", "ctx: 8192"))
    publish(root, names=("demo",))
    edit(clone / "apps/demo.yaml", ("ctx: 16384", "ctx: 4096"))
    for level in ("patch", "minor", None):
        with pytest.raises(VersionRefused) as caught:
            publish(clone, market=root / ".market", names=("demo",), level=level)
        assert "lacks a change" in caught.value.message
        assert 'write version: "1.0.2"' in str(caught.value.hint)
    edit(clone / "apps/demo.yaml", ('\nversion: "1.0.0"', '\nversion: "1.0.2"'))
    report = publish(clone, market=root / ".market", names=("demo",))
    assert dict(report.apps[0].after) == {OLD: "1.0.4", NEW: "1.0.5"}


def test_the_second_publisher_of_an_app_is_told_what_it_lost_to(root, tmp_path):
    clone = shutil.copytree(root, tmp_path / "clone")
    build_file_tree(clone, {"olapps.toml": CONFIG.replace('"somebody"', '"other"')})
    edit(clone / "apps/demo.yaml", ("ctx: 16384", "ctx: 8192"))
    once = iter([None])

    def first_publish_the_other(name: str) -> None:
        if next(once, "done") is None:
            publish(clone, market=root / ".market", names=("demo",))

    before = (root / "apps/demo.yaml").read_bytes()
    with pytest.raises(Conflict) as caught:
        publish(root, first_publish_the_other, names=("demo",))
    assert "lost to other" in str(caught.value)
    assert (root / "apps/demo.yaml").read_bytes() == before
    with pytest.raises(VersionRefused, match="lacks a change"):
        publish(root, names=("demo",))


def test_publishers_of_different_apps_both_win(root, tmp_path):
    clone = shutil.copytree(root, tmp_path / "clone")
    once = iter([None])

    def other(name: str) -> None:
        if next(once, "done") is None:
            publish(clone, market=root / ".market", names=("second",))

    report = publish(root, other, names=("demo",))
    assert report.market is not None
    assert report.market.attempts == 2
    status = good("market", "status", "--output", "json", cwd=root).json
    assert status["apps"] == {app: {OLD: "1.0.2", NEW: "1.0.3"} for app in (DEMO, SECOND)}


def test_a_publish_that_planned_on_an_old_head_is_told_too(root, tmp_path):
    clone = shutil.copytree(root, tmp_path / "clone")
    edit(clone / "apps/demo.yaml", ("ctx: 16384", "ctx: 8192"))
    bench = open_workbench(root)

    class Late(WorkspaceKitchen):
        def check(self, loaded, charts):
            publish(clone, market=root / ".market", names=("demo",))

    with untouched(root / "apps"), pytest.raises(Conflict, match=r"(?s)1\.0\.2.*lost to somebody"):
        publish_specs(
            open_store(f"dir:{root / '.market'}"),
            bench.workspace.select(["demo"]),
            Late(bench, lambda loaded, charts: None),
            Request(level="patch"),
        )


def test_two_processes_of_the_same_app_never_mix(root, tmp_path):
    clone = shutil.copytree(root, tmp_path / "clone")
    edit(clone / "apps/demo.yaml", ("ctx: 16384", "ctx: 8192"))
    market = f"dir:{root / '.market'}"
    running = [
        subprocess.Popen(
            [OLAPPS, "publish", "demo", "--bump", "patch", "--market", market],
            cwd=place,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        for place in (root, clone)
    ]
    errors = [process.communicate(timeout=60)[1] for process in running]
    codes = [process.returncode for process in running]
    status = good("market", "status", "--output", "json", cwd=root).json["apps"][DEMO]
    assert 0 in codes
    if codes == [0, 0]:
        assert status == {OLD: "1.0.4", NEW: "1.0.5"}
    else:
        assert status == {OLD: "1.0.2", NEW: "1.0.3"}
        assert "lost to" in errors[codes.index(1)]
    assert good("market", "verify", cwd=root).code == 0


class TestEditedMeanwhile:
    def edit_at(self, root: Path, step: str, change: tuple[str, str]) -> Callable[[str], None]:
        def on_step(name: str) -> None:
            if name == step:
                edit(root / "apps/demo.yaml", change)

        return on_step

    def test_an_edit_during_the_publish_is_kept_beside_the_new_version(self, root):
        change = ("ctx: 16384", "ctx: 8192")
        publish(root, self.edit_at(root, "head.json", change))
        text = (root / "apps/demo.yaml").read_text()
        assert "ctx: 8192" in text
        assert 'version: "1.0.2"' in text
        assert 'version: "1.0.2"' in (root / "apps/second.yaml").read_text()
        report = publish(root)
        assert [app.action for app in report.apps] == ["update", "unchanged"]
        assert dict(report.apps[0].after) == {OLD: "1.0.4", NEW: "1.0.5"}
        assert "ctx: 8192" in (root / "apps/demo.yaml").read_text()

    def test_an_edit_of_a_comment_is_kept_too(self, root):
        change = ("  ctx: 16384", "  # why\n  ctx: 16384")
        publish(root, self.edit_at(root, "spec demo", change))
        report = publish(root)
        assert [app.action for app in report.apps] == ["unchanged", "unchanged"]
        assert "# why" in (root / "apps/demo.yaml").read_text()
        assert_all_agree(root)

    def test_an_edit_that_breaks_the_spec_is_kept_and_named(self, root):
        change = ("ctx: 16384", "ctx: many")
        with pytest.raises(SpecError) as caught:
            publish(root, self.edit_at(root, "head.json", change))
        (problem,) = caught.value.problems
        assert str(problem.file) == "apps/demo.yaml"
        assert "1.0.2" in problem.message
        assert "ctx: many" in (root / "apps/demo.yaml").read_text()
        assert 'version: "1.0.2"' in (root / "apps/second.yaml").read_text()

    def test_a_spec_that_is_gone_is_named_and_the_others_are_written(self, root):
        def on_step(name: str) -> None:
            if name == "verify":
                (root / "apps/demo.yaml").unlink()

        with pytest.raises(SpecError, match=r"apps/demo\.yaml"):
            publish(root, on_step)

    def test_what_is_published_is_what_is_on_disk(self, root):
        bench = open_workbench(root)
        specs = bench.workspace.select(["demo"])
        edit(root / "apps/demo.yaml", ("ctx: 16384", "ctx: 4096"))
        publish_specs(
            open_store(f"dir:{root / '.market'}"),
            specs,
            WorkspaceKitchen(bench, lambda loaded, charts: None),
            Request(level="patch"),
        )
        assert "ctx: 4096" in (root / "apps/demo.yaml").read_text()
        assert good("render", "demo", "--check", cwd=root).code == 0
        assert '"4096"' in (root / "charts" / NEW / DEMO / "templates/config.yaml").read_text()


@pytest.mark.parametrize("step", ["head.json", "verify", "spec demo"])
def test_an_interrupt_leaves_all_consistent_and_gives_130(root, steps, step, monkeypatch):
    from olares_apps.market import commit

    def interrupt(name: str) -> None:
        if name == step:
            os.kill(os.getpid(), signal.SIGINT)

    original = commit.Hands
    monkeypatch.setattr(commit, "Hands", lambda **_: original(on_step=interrupt))
    outcome = olapps("publish", "--bump", "patch", cwd=root)
    assert outcome.code == 130
    assert "interrupted" in outcome.err
    monkeypatch.undo()
    good("publish", "--bump", "patch", cwd=root)
    assert_all_agree(root)


@pytest.mark.parametrize("step", ["verify", "charts demo"])
def test_a_first_publish_killed_after_the_head_moved_gets_its_charts_from_the_rerun(tmp_path, step):
    build_workspace(tmp_path / "probe")
    names: list[str] = []
    publish(tmp_path / "probe", names.append)
    root = tmp_path / "ws"
    build_workspace(root)
    died = in_process(lambda: publish(root, die_at(names.index(step))) and None)
    assert died == -signal.SIGKILL
    assert not (root / "charts").exists()
    assert [app.action for app in publish(root).apps] == ["finished"]
    assert good("render", "--check", cwd=root).code == 0
    with untouched(root):
        assert [app.action for app in publish(root).apps] == ["unchanged"]


def test_a_chart_that_was_half_rewritten_is_finished_by_the_rerun(root):
    publish(root)
    chart = root / "charts" / NEW / DEMO / "Chart.yaml"
    whole = chart.read_bytes()
    chart.write_bytes(whole.replace(b"1.0.3", b"1.0.1"))
    (chart.parent / "templates/service.yaml").write_bytes(b"# cut")
    assert [app.action for app in publish(root).apps] == ["finished", "unchanged"]
    assert chart.read_bytes() == whole
    assert good("render", "--check", cwd=root).code == 0
