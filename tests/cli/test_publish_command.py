"""publish and the market commands, as a curator runs them."""

import re
import subprocess
from pathlib import Path

import pytest
from support.specs import build_file_tree, spec_text
from support.workspaces import (
    DEMO,
    OLAPPS,
    PNG,
    SECOND,
    SECOND_SPEC,
    build_workspace,
    edit,
    good,
    olapps,
    snapshot,
    untouched,
)

OLD, NEW = "olares-1.12.3", "olares-1.12.6"
SMALLER = ("ctx: 32768", "ctx: 16384")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = build_workspace(tmp_path / "ws", files={"apps/second.yaml": SECOND_SPEC})
    good("publish", cwd=root)
    return root


def live(root: Path) -> dict[str, dict[str, str]]:
    return good("market", "status", "--output", "json", cwd=root).json["apps"]


def spec_version(root: Path, name: str = "demo") -> str:
    shown = good("list", "--output", "json", cwd=root).json["specs"]
    return next(spec["version"] for spec in shown if spec["name"] == name)


class TestPublish:
    def test_every_archive_has_its_own_number(self, root):
        assert live(root) == {
            DEMO: {OLD: "1.0.0", NEW: "1.0.1"},
            SECOND: {OLD: "1.0.0", NEW: "1.0.1"},
        }

    @pytest.mark.parametrize(
        ("level", "versions"),
        [
            ("patch", ("1.0.2", "1.0.3")),
            ("minor", ("1.1.0", "1.1.1")),
            ("major", ("2.0.0", "2.0.1")),
        ],
    )
    def test_only_what_changed_is_bumped(self, root, level, versions):
        edit(root / "apps/demo.yaml", SMALLER)
        second = (root / "apps/second.yaml").read_bytes()
        result = good("publish", "--bump", level, "--output", "json", cwd=root).json
        assert [(app["app"], app["action"]) for app in result["apps"]] == [
            (DEMO, "update"),
            (SECOND, "unchanged"),
        ]
        assert tuple(result["apps"][0]["after"].values()) == versions
        assert live(root)[DEMO] == {OLD: versions[0], NEW: versions[1]}
        assert live(root)[SECOND] == {OLD: "1.0.0", NEW: "1.0.1"}
        assert spec_version(root) == versions[0]
        assert (root / "apps/second.yaml").read_bytes() == second
        assert good("render", "demo", "--check", cwd=root).code == 0

    def test_json_tells_versions_files_and_digests(self, root):
        edit(root / "apps/demo.yaml", SMALLER)
        result = good("publish", "demo", "--bump", "patch", "--output", "json", cwd=root).json
        assert set(result) == {
            "schema", "store", "dry_run", "changed", "revision", "market", "apps", "failed",
        }  # fmt: skip
        (app,) = result["apps"]
        assert app["before"] == {OLD: "1.0.0", NEW: "1.0.1"}
        assert app["after"] == {OLD: "1.0.2", NEW: "1.0.3"}
        assert "apps/demo.yaml" in app["files"]
        assert all((root / file).is_file() for file in app["files"])
        packed = good("pack", "demo", "--output", "json", cwd=root).json["archives"]
        assert app["digests"] == {
            Path(a["file"]).stem.rsplit("-", 1)[1]: a["sha256"] for a in packed
        }

    def test_nothing_changed_writes_nothing(self, root):
        with untouched(root):
            outcome = good("publish", "--bump", "patch", cwd=root)
        assert "nothing changed" in outcome.out
        result = good("publish", "--output", "json", cwd=root).json
        assert (result["changed"], result["market"]) == (False, None)

    def test_a_dry_run_says_the_same_and_writes_nothing_anywhere(self, root):
        edit(root / "apps/demo.yaml", SMALLER)
        command = ("publish", "--bump", "patch", "--output", "json")
        with untouched(root):
            planned = good(*command, "--dry-run", cwd=root).json
        done = good(*command, cwd=root).json
        assert [app["after"] for app in planned["apps"]] == [app["after"] for app in done["apps"]]
        assert [a["digests"] for a in planned["apps"]] == [a["digests"] for a in done["apps"]]

    def test_a_dry_run_into_a_market_that_does_not_exist_makes_none(self, root, tmp_path):
        with untouched(tmp_path):
            good("publish", "--dry-run", "--market", f"dir:{tmp_path}/new", cwd=root)

    def test_a_dry_run_is_refused_where_the_publish_would_be(self, root):
        edit(root / "apps/demo.yaml", SMALLER)
        with untouched(root):
            dry = olapps("publish", "--dry-run", cwd=root)
            real = olapps("publish", cwd=root)
        assert (dry.code, dry.err) == (real.code, real.err)
        assert dry.code == 1

    def test_comments_and_layout_of_a_spec_survive_byte_for_byte(self, tmp_path):
        text = (
            "# Head comment.\n\n"
            + spec_text(
                ('version: "1.0.0"', "version:   '1.0.0'   # raised by the tool"),
                ("  ctx: 32768", "\n  # why this context\n  ctx:    32768"),
            )
            + "\n# Tail comment.\n"
        )
        root = build_workspace(tmp_path, files={"apps/demo.yaml": text})
        good("publish", "--note", "First.", cwd=root)
        edit(root / "apps/demo.yaml", ("ctx:    32768", "ctx:    16384"))
        good("publish", "--bump", "patch", "--note", "Less.", cwd=root)
        after = (root / "apps/demo.yaml").read_text()
        expected = text.replace("'1.0.0'", "'1.0.2'").replace("ctx:    32768", "ctx:    16384")
        assert after == expected + (
            'releases:\n  - version: "1.0.2"\n    notes: "Less."\n'
            '  - version: "1.0.0"\n    notes: "First."\n'
        )

    def test_a_spec_that_is_a_link_stays_one(self, root, tmp_path):
        spec, real = root / "apps/demo.yaml", tmp_path / "shared.yaml"
        spec.rename(real)
        spec.symlink_to(real)
        real.chmod(0o640)
        edit(real, SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        assert spec.is_symlink()
        assert 'version: "1.0.2"' in real.read_text()
        assert real.stat().st_mode & 0o777 == 0o640

    def test_options_can_come_from_the_environment(self, root, monkeypatch):
        edit(root / "apps/demo.yaml", SMALLER)
        monkeypatch.setenv("OLAPPS_PUBLISH_BUMP", "minor")
        monkeypatch.setenv("OLAPPS_MARKET_SYNC_OLARES", "1.12.5")
        good("publish", cwd=root)
        assert live(root)[DEMO] == {OLD: "1.1.0", NEW: "1.1.1"}
        assert "Olares 1.12.5" in good("market", "sync", cwd=root).out

    def test_a_release_entry_that_is_there_already_keeps_its_notes(self, root):
        edit(
            root / "apps/demo.yaml",
            SMALLER,
            ("releases:\n", 'releases:\n  - {version: "1.0.2", notes: Written before.}\n'),
        )
        good("publish", "--bump", "patch", cwd=root)
        text = (root / "apps/demo.yaml").read_text()
        assert text.count("1.0.2") == 2
        assert "Written before." in text
        chart = root / "charts" / NEW / DEMO / "OlaresManifest.yaml"
        assert "Written before." in chart.read_text()

    def test_a_note_that_contradicts_the_entry_is_refused(self, root):
        edit(
            root / "apps/demo.yaml",
            SMALLER,
            ("releases:\n", 'releases:\n  - {version: "1.0.2", notes: Written before.}\n'),
        )
        with untouched(root):
            outcome = olapps("publish", "--bump", "patch", "--note", "Other.", cwd=root)
        assert outcome.code == 1
        assert "apps/demo.yaml:" in outcome.err
        assert "other notes for version 1.0.2" in outcome.err
        assert "--note" in outcome.err

    def test_a_version_raised_by_hand_is_taken_as_it_is(self, root):
        edit(
            root / "apps/demo.yaml",
            SMALLER,
            (f'{DEMO}\nversion: "1.0.0"', f"{DEMO}\nversion: '3.1.4'"),
        )
        good("publish", cwd=root)
        assert live(root)[DEMO] == {OLD: "3.1.4", NEW: "3.1.5"}

    def test_a_version_raised_by_hand_is_published_without_another_change(self, root):
        edit(root / "apps/demo.yaml", (f'{DEMO}\nversion: "1.0.0"', f"{DEMO}\nversion: '1.0.2'"))
        good("publish", "--bump", "patch", cwd=root)
        assert live(root)[DEMO] == {OLD: "1.0.2", NEW: "1.0.3"}
        with untouched(root):
            good("publish", "--bump", "patch", cwd=root)

    def test_only_the_named_app_is_published(self, root):
        edit(root / "apps/demo.yaml", SMALLER)
        edit(root / "apps/second.yaml", SMALLER)
        good("publish", SECOND, "--bump", "patch", cwd=root)
        assert live(root)[DEMO][NEW] == "1.0.1"
        assert live(root)[SECOND][NEW] == "1.0.3"

    def test_one_refused_app_stops_all(self, root):
        edit(root / "apps/demo.yaml", SMALLER)
        edit(
            root / "apps/second.yaml",
            SMALLER,
            (f'{SECOND}\nversion: "1.0.0"', f'{SECOND}\nversion: "2.0.0"'),
        )
        with untouched(root):
            outcome = olapps("publish", cwd=root)
        assert outcome.code == 1
        assert DEMO in outcome.err

    def test_a_changed_icon_alone_is_published_under_the_same_versions(self, root):
        build_file_tree(root, {f"icons/{DEMO}.png": PNG})
        result = good("publish", "--output", "json", cwd=root).json
        assert result["apps"][0]["action"] == "icon"
        assert live(root)[DEMO] == {OLD: "1.0.0", NEW: "1.0.1"}
        with untouched(root):
            good("publish", cwd=root)

    def test_corrected_notes_are_a_change_of_the_page(self, root):
        edit(root / "apps/demo.yaml", ("First release.", "The first release."))
        assert olapps("publish", cwd=root).code == 1
        good("publish", "--bump", "patch", cwd=root)
        assert live(root)[DEMO][NEW] == "1.0.3"

    @pytest.mark.parametrize(
        ("data", "word"), [(b"<svg/>", "PNG"), (PNG + b"x" * 600_000, "524288"), (b"", "PNG")]
    )
    def test_an_icon_that_is_none_is_refused(self, root, data, word):
        build_file_tree(root, {f"icons/{DEMO}.png": data})
        with untouched(root):
            outcome = olapps("publish", cwd=root)
        assert outcome.code == 1
        assert word in outcome.err
        assert f"{DEMO}.png" in outcome.err

    @pytest.mark.parametrize("way", [f"charts/{OLD}/{DEMO}/thesis.txt", "charts"])
    def test_charts_that_could_not_be_written_stop_the_publish_before_the_market_moves(
        self, tmp_path, way
    ):
        root = build_workspace(tmp_path, files={way: "mine"})
        with untouched(root):
            outcome = olapps("publish", cwd=root)
        assert outcome.code == 1
        assert "charts" in outcome.err

    @pytest.mark.parametrize("icons", ["http://127.0.0.1:8765/icons", "http://localhost/icons"])
    def test_charts_whose_icons_no_device_can_reach_do_not_leave(self, root, icons):
        config = (root / "olapps.toml").read_text()
        (root / "olapps.toml").write_text(
            re.sub(r'icons = "http[^"]*"', f'icons = "{icons}"', config)
        )
        with untouched(root):
            refused = olapps("publish", "--market", "https://market.example", cwd=root)
        assert refused.code == 2
        assert f"[publisher] icons are at {icons}, which no device can reach" in refused.err
        assert 'write icons = "https://market.example/icons" into olapps.toml' in refused.err
        good("publish", "--bump", "patch", cwd=root)

    def test_a_renamed_source_is_published_without_a_changed_app(self, root):
        before = good("market", "status", "--output", "json", cwd=root).json["revision"]
        config = (root / "olapps.toml").read_text()
        (root / "olapps.toml").write_text(
            config + '\n[market.source]\nid = "mine"\nlabel = "Market of mine"\n'
        )
        outcome = good("publish", cwd=root)
        assert "nothing changed" not in outcome.out
        assert good("market", "status", "--output", "json", cwd=root).json["revision"] != before
        with untouched(root):
            good("publish", cwd=root)

    def test_one_generation_alone_can_be_a_workspace(self, tmp_path):
        root = build_workspace(tmp_path)
        config = (root / "olapps.toml").read_text()
        (root / "olapps.toml").write_text(f'generations = ["{NEW}"]\n{config}')
        good("publish", cwd=root)
        assert list(live(root)[DEMO]) == [NEW]
        with untouched(root):
            good("publish", cwd=root)
        edit(root / "apps/demo.yaml", SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        with untouched(root):
            good("publish", cwd=root)
        good("market", "sync", "--olares", "1.12.7", cwd=root)


class TestMarket:
    def test_status_of_an_empty_market(self, tmp_path):
        root = build_workspace(tmp_path)
        assert "empty" in good("market", "status", cwd=root).out
        for command in (["rollback"], ["remove", DEMO]):
            outcome = olapps("market", *command, "--yes", cwd=root)
            assert outcome.code == 1
            assert "holds nothing" in outcome.err

    def test_history_is_newest_first_and_can_be_cut(self, root):
        edit(root / "apps/demo.yaml", SMALLER)
        good("publish", "--bump", "patch", "--note", "Less context.", cwd=root)
        listed = good("market", "history", "--output", "json", cwd=root).json["revisions"]
        assert [entry["note"] for entry in listed] == ["Less context.", ""]
        assert listed[0]["parent"] == listed[1]["revision"]
        cut = good("market", "history", "--limit", "1", "--output", "json", cwd=root).json
        assert cut["revisions"] == listed[:1]
        assert "Less" not in good("market", "history", cwd=root).out.splitlines()[0]

    def test_rollback_offers_the_old_content_and_the_next_publish_goes_above(self, root):
        edit(root / "apps/demo.yaml", SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        said = good("market", "rollback", "--yes", cwd=root).out
        assert live(root)[DEMO] == {OLD: "1.0.0", NEW: "1.0.1"}
        # What --republish would bring now is the content before this one.
        assert "publish --bump patch" in said
        assert "--republish" not in said
        spec = (root / "apps/demo.yaml").read_bytes()
        refused = olapps("publish", cwd=root)
        assert refused.code == 1
        assert "next allowed 1.0.4" in refused.err
        assert (root / "apps/demo.yaml").read_bytes() == spec
        good("publish", "--bump", "patch", cwd=root)
        assert live(root)[DEMO] == {OLD: "1.0.4", NEW: "1.0.5"}
        assert spec_version(root) == "1.0.4"

    def test_a_spec_is_never_lowered_to_what_a_rollback_offers(self, root):
        spec = root / "apps/demo.yaml"
        first = spec.read_text()
        edit(spec, SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        good("market", "rollback", "--yes", cwd=root)
        spec.write_text(first.replace('version: "1.0.0"', 'version: "1.0.2"', 1))
        with untouched(root / "apps"):
            good("publish", "--bump", "patch", cwd=root)
        assert spec_version(root) == "1.0.2"

    def test_republish_reaches_devices_and_the_spec_follows(self, root):
        spec = root / "apps/demo.yaml"
        first = spec.read_text()
        edit(spec, SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        told = good("market", "rollback", "--republish", "--yes", cwd=root).out
        revision = good("market", "status", "--output", "json", cwd=root).json["revision"]
        assert f"live revision {revision}" in told
        assert "next: " in told
        assert live(root)[DEMO] == {OLD: "1.0.4", NEW: "1.0.5"}
        newest = good("market", "history", "--output", "json", cwd=root).json["revisions"][0]
        assert newest["action"] == "republish"
        shown = good("market", "history", cwd=root).out.splitlines()[1]
        assert f"republish of {newest['restores'][:12]}" in shown
        again = good("market", "rollback", "--republish", "--to", revision, "--yes", cwd=root).out
        assert "offers that content already" in again
        for release in ("1.12.5", "1.12.7"):
            good("market", "sync", "--olares", release, cwd=root)
        spec.write_text(first)
        result = good("publish", "--output", "json", cwd=root).json
        assert result["apps"][0]["action"] == "finished"
        assert spec_version(root) == "1.0.4"
        with untouched(root):
            good("publish", cwd=root)
        edit(spec, SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        assert live(root)[DEMO] == {OLD: "1.0.6", NEW: "1.0.7"}

    def test_republish_can_be_limited_to_an_app(self, root):
        for name in ("demo", "second"):
            edit(root / f"apps/{name}.yaml", SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        done = good(
            "market", "rollback", "--republish", "--app", DEMO, "--yes", "--output", "json",
            cwd=root,
        ).json  # fmt: skip
        assert [step["app"] for step in done["apps"]] == [DEMO]
        assert live(root) == {
            DEMO: {OLD: "1.0.4", NEW: "1.0.5"},
            SECOND: {OLD: "1.0.2", NEW: "1.0.3"},
        }

    def test_rollback_json_and_target(self, root):
        first = good("market", "status", "--output", "json", cwd=root).json["revision"]
        edit(root / "apps/demo.yaml", SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        moved = good(
            "market", "rollback", "--to", first[:10], "--yes", "--note", "Bad.",
            "--output", "json", cwd=root,
        ).json  # fmt: skip
        assert moved["restores"] == first
        unknown = olapps("market", "rollback", "--to", "ffffffffff", "--yes", cwd=root)
        assert unknown.code == 2
        assert "ffffffffff" in unknown.err

    def test_a_removed_app_comes_back_above_its_tombstone(self, root):
        out = good("market", "remove", DEMO, "--yes", cwd=root).out
        assert DEMO in out
        assert list(live(root)) == [SECOND]
        assert "off the market already" in good("market", "remove", DEMO, "--yes", cwd=root).out
        refused = olapps("publish", cwd=root)
        assert refused.code == 1
        assert "next allowed 1.0.2" in refused.err
        good("publish", "--bump", "patch", cwd=root)
        assert live(root)[DEMO] == {OLD: "1.0.2", NEW: "1.0.3"}
        good("market", "verify", cwd=root)

    def test_removing_an_unknown_app_is_answered_with_the_nearest(self, root):
        with untouched(root):
            outcome = olapps("market", "remove", "demoqwenones", "--yes", cwd=root)
        assert outcome.code == 2
        assert f"did you mean {DEMO}?" in outcome.err

    def test_a_market_by_address_needs_no_workspace(self, root, tmp_path):
        address = f"dir:{root}/.market"
        assert "2 revisions" not in good("market", "verify", "--market", address, cwd=tmp_path).out
        good("market", "sync", address, cwd=tmp_path)
        good("market", "remove", SECOND, "--yes", "--market", address, cwd=tmp_path)

    def test_the_environment_names_a_market_and_a_flag_overrides_it(
        self, root, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("OLAPPS_MARKET", f"dir:{tmp_path}/other")
        assert "empty" in good("market", "status", cwd=root).out
        here = good("market", "status", "--market", "dir:.market", cwd=root)
        assert DEMO in here.out

    def test_sync_says_whether_an_update_is_offered(self, root):
        for installed, update, downgrade in (
            ("1.0.0", "1.0.0", None),
            ("1.0.1", None, None),
            ("9.9.9", None, "9.9.9"),
        ):
            report = good(
                "market", "sync", "--installed", f"{DEMO}={installed}", "--output", "json",
                cwd=root,
            ).json  # fmt: skip
            assert report["schema"] == 1
            assert report["ok"] is True
            assert report["apps"][0]["update_from"] == update
            assert report["apps"][0]["downgrade_from"] == downgrade
            assert report["apps"][1]["update_from"] is None
        text = good("market", "sync", "--installed", f"{DEMO}=1.0.0", "--requests", cwd=root).out
        assert "from 1.0.0" in text
        assert "GET /api/v1/appstore/hash?version=1.12.6" in text

    def test_sync_after_a_rollback_says_that_devices_keep_the_newer_version(self, root):
        edit(root / "apps/demo.yaml", SMALLER)
        good("publish", "--bump", "patch", cwd=root)
        newer = live(root)[DEMO][NEW]
        assert "next: devices" in good("market", "rollback", "--yes", cwd=root).out
        outcome = good("market", "sync", "--installed", f"{DEMO}={newer}", cwd=root)
        assert f"no, {newer} is newer" in outcome.out
        assert "a downgrade is not offered" in outcome.err
        refused = olapps("market", "sync", "--installed", f"{DEMO}=new", cwd=root)
        assert refused.code == 2

    def test_a_release_before_all_generations_sees_no_app(self, root):
        outcome = good("market", "sync", "--olares", "1.11.0", cwd=root)
        assert "no app for this release" in outcome.out


def test_two_publishers_of_different_apps_both_win(root, tmp_path):
    market = f"dir:{root}/.market"
    other = build_workspace(tmp_path / "two", files={"apps/second.yaml": SECOND_SPEC})
    edit(root / "apps/demo.yaml", SMALLER)
    edit(other / "apps/second.yaml", SMALLER)
    running = [
        subprocess.Popen(
            [OLAPPS, "publish", name, "--bump", "patch", "--market", market],
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name, place in (("demo", root), ("second", other))
    ]
    assert [process.communicate(timeout=60)[1] for process in running] == [b"", b""]
    assert [process.returncode for process in running] == [0, 0]
    assert live(root) == {
        DEMO: {OLD: "1.0.2", NEW: "1.0.3"},
        SECOND: {OLD: "1.0.2", NEW: "1.0.3"},
    }
    assert snapshot(root)["apps/second.yaml"][1] == (root / "apps/second.yaml").read_bytes()
