"""init, list, show, schema, render, pack and doctor, as a user runs them."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from support.specs import MINIMAL, build_file_tree
from support.workspaces import (
    DEMO,
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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build_workspace(tmp_path / "ws", files={"apps/second.yaml": SECOND_SPEC})


class TestInit:
    def test_a_new_workspace_renders_publishes_and_syncs_at_once(self, tmp_path):
        good("init", "mine", cwd=tmp_path)
        root = tmp_path / "mine"
        good("render", cwd=root)
        good("publish", cwd=root)
        for release in ("1.12.5", "1.12.7"):
            report = good("market", "sync", "--olares", release, "--output", "json", cwd=root).json
            assert [app["installs"] for app in report["apps"]] == [True]

    def test_json_lists_what_was_made(self, tmp_path):
        made = good("init", "mine", "--output", "json", cwd=tmp_path).json
        assert made["schema"] == 1
        found = {
            p.relative_to(tmp_path / "mine").as_posix()
            for p in (tmp_path / "mine").rglob("*")
            if p.is_file()
        }
        assert set(made["files"]) == found

    def test_several_shipped_specs_can_be_chosen(self, tmp_path):
        good("init", "--spec", "qwen36-35b-a3b-mtp", "--spec", "qwen36-27b-mtp", cwd=tmp_path)
        listed = good("list", "--output", "json", cwd=tmp_path).json
        assert [spec["name"] for spec in listed["specs"]] == [
            "qwen36-27b-mtp",
            "qwen36-35b-a3b-mtp",
        ]

    def test_an_unknown_shipped_spec_is_answered_with_the_nearest_and_nothing_is_made(
        self, tmp_path
    ):
        with untouched(tmp_path):
            outcome = olapps("init", "mine", "--spec", "qwen36-27b-mtpp", cwd=tmp_path)
        assert outcome.code == 2
        assert "did you mean qwen36-27b-mtp?" in outcome.err

    def test_a_workspace_is_not_made_twice(self, tmp_path):
        good("init", "mine", cwd=tmp_path)
        with untouched(tmp_path):
            outcome = olapps("init", "mine", cwd=tmp_path)
        assert outcome.code == 2
        assert "workspace already" in outcome.err

    @pytest.mark.parametrize(
        "name", ["Ünï 模型", "'quoted\"", "a---", "..x..", "x" * 200, "{braces}"]
    )
    def test_any_folder_name_gives_a_workspace_that_loads(self, tmp_path, name):
        good("init", name, cwd=tmp_path)
        good("list", cwd=tmp_path / name)
        good("publish", "--dry-run", cwd=tmp_path / name)

    @pytest.mark.parametrize("way", ["apps", "schema", "apps/qwen36-35b-a3b-mtp.yaml"])
    def test_a_file_in_the_way_is_named_and_nothing_is_made(self, tmp_path, way):
        build_file_tree(tmp_path, {way: "mine"})
        with untouched(tmp_path):
            outcome = olapps("init", cwd=tmp_path)
        assert outcome.code == 2
        assert way in outcome.err

    def test_a_gitignore_that_is_there_is_kept(self, tmp_path):
        build_file_tree(tmp_path, {".gitignore": "secret\n"})
        good("init", cwd=tmp_path)
        assert (tmp_path / ".gitignore").read_text() == "secret\n"


class TestList:
    def test_text_has_one_line_per_spec(self, root):
        lines = good("list", cwd=root).out.splitlines()
        assert [line.split()[0] for line in lines] == ["NAME", "demo", "second"]

    def test_json_keys_are_stable(self, root):
        listed = good("list", "--output", "json", cwd=root).json
        assert listed["schema"] == 1
        assert listed["broken"] == {}
        assert listed["specs"][0] == {
            "name": "demo",
            "app": DEMO,
            "version": "1.0.0",
            "title": "Demo Qwen One",
            "engine": "llamacpp",
            "ctx": 32768,
            "file": "apps/demo.yaml",
            "not_installable": None,
        }

    def test_a_broken_spec_does_not_hide_the_others(self, root):
        build_file_tree(root, {"apps/broken.yaml": MINIMAL.replace("ctx: 32768", "ctx: -1")})
        outcome = olapps("list", cwd=root)
        assert outcome.code == 1
        assert "second" in outcome.out
        assert "apps/broken.yaml:" in outcome.err
        listed = olapps("list", "--output", "json", cwd=root).json
        assert list(listed["broken"]) == ["broken"]

    def test_a_workspace_can_be_named(self, root, tmp_path):
        assert "demo" in good("list", "--workspace", root, cwd=tmp_path).out
        assert "demo" in good("list", cwd=root / "apps").out

    def test_the_environment_names_workspace_and_output(self, root, tmp_path, monkeypatch):
        monkeypatch.setenv("OLAPPS_WORKSPACE", str(root))
        monkeypatch.setenv("OLAPPS_OUTPUT", "json")
        assert good("list", cwd=tmp_path).json["schema"] == 1
        assert "NAME" in good("list", "--output", "text", cwd=tmp_path).out
        assert good("market", "status", cwd=tmp_path).json["revision"] is None


class TestShow:
    def test_spec_name_and_app_name_mean_the_same(self, root):
        assert good("show", "demo", cwd=root).out == good("show", DEMO, cwd=root).out

    def test_json_holds_versions_command_files_and_facts(self, root):
        shown = good("show", "demo", "--output", "json", cwd=root).json
        assert shown["versions"] == {OLD: "1.0.0", NEW: "1.0.1"}
        assert shown["command"][shown["command"].index("--ctx-size") + 1] == "32768"
        assert shown["files"] == [
            {
                "repo": "example-org/Demo-35B-GGUF",
                "revision": "main",
                "path": "/models/example-org--Demo-35B-GGUF/main/Demo-35B-UD-Q3_K_XL.gguf",
                "size": None,
                "sha256": None,
            }
        ]
        assert shown["facts"]["ctx"] == 32768

    def test_a_name_is_needed(self, root):
        assert olapps("show", cwd=root).code == 2


class TestSchema:
    def test_it_is_the_draft_07_schema_of_a_spec(self, tmp_path):
        schema = json.loads(good("schema", cwd=tmp_path).out)
        assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
        assert "app" in schema["properties"]


class TestRender:
    def test_charts_of_both_generations_land_in_the_workspace(self, root):
        good("render", cwd=root)
        for generation, version in ((OLD, "1.0.0"), (NEW, "1.0.1")):
            chart = root / "charts" / generation / DEMO / "Chart.yaml"
            assert f'version: "{version}"' in chart.read_text()

    def test_a_second_render_writes_nothing(self, root):
        good("render", cwd=root)
        with untouched(root):
            assert "unchanged" in good("render", cwd=root).out

    def test_json_lists_charts_and_changes(self, root):
        result = good("render", "demo", "--output", "json", cwd=root).json
        assert result["written"] is True
        assert [(c["app"], c["generation"], c["version"]) for c in result["charts"]] == [
            (DEMO, OLD, "1.0.0"),
            (DEMO, NEW, "1.0.1"),
        ]
        assert {"file": "Chart.yaml", "kind": "added"} in result["charts"][0]["changes"]

    def test_one_generation_and_another_folder(self, root, tmp_path):
        with untouched(root):
            good("render", "demo", "--generation", NEW, "--out", tmp_path / "out", cwd=root)
        assert [p.name for p in (tmp_path / "out").iterdir()] == [NEW]

    def test_an_unknown_generation_is_answered_with_the_nearest(self, root):
        outcome = olapps("render", "--generation", "olares-1.12.7", cwd=root)
        assert outcome.code == 2
        assert "did you mean olares-1.12." in outcome.err

    def test_check_tells_stale_charts_by_its_status_and_writes_nothing(self, root):
        with untouched(root):
            assert olapps("render", "--check", cwd=root).code == 1
        good("render", cwd=root)
        assert good("render", "--check", cwd=root).code == 0
        edit(root / "apps/demo.yaml", ("ctx: 32768", "ctx: 16384"))
        stale = olapps("render", "--check", cwd=root)
        assert stale.code == 1
        assert "stale" in stale.out

    def test_diff_shows_the_lines_and_writes_nothing(self, root):
        good("render", cwd=root)
        edit(root / "apps/demo.yaml", ("ctx: 32768", "ctx: 16384"))
        with untouched(root):
            diff = good("render", "--diff", cwd=root).out
        assert "-  CTX_SIZE: " in diff
        assert "+  CTX_SIZE: " in diff

    def test_set_shows_the_effect_of_a_value_without_an_edit(self, root, tmp_path):
        with untouched(root):
            good("render", "demo", "--set", "engine.ctx=16384", "--out", tmp_path / "o", cwd=root)
        text = (tmp_path / "o" / NEW / DEMO / "templates" / "config.yaml").read_text()
        assert 'CTX_SIZE: "16384"' in text

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ("engine.ctx", "FIELD=VALUE"),
            ("=1", "FIELD=VALUE"),
            ("engine.ctx=-1", "engine.ctx"),
            ("engine.ctx=[", "--set engine.ctx"),
            ("engine.ctx=a: b: c", "engine.ctx"),
            ("engine.ctxx=1", "ctx"),
            ("title.x.y=1", "title"),
            ("model.files.7.quant=Q4", "7"),
            ("model.files.x=Q4", "x"),
            ("model.files.0=1\nversion: 2", "model.files"),
            ("..=1", "FIELD"),
            ("alias=a\nversion: 2", "one YAML value"),
        ],
    )
    def test_a_wrong_set_names_the_field(self, root, tmp_path, change, said):
        with untouched(root):
            outcome = olapps("render", "demo", "--set", change, "--out", tmp_path / "o", cwd=root)
        assert outcome.code in (1, 2)
        assert said in outcome.err
        assert not (tmp_path / "o").exists()

    def test_set_needs_a_place_outside_the_workspace(self, root):
        with untouched(root):
            outcome = olapps("render", "--set", "engine.ctx=1024", cwd=root)
        assert outcome.code == 2
        assert "--out" in outcome.err

    def test_names_and_all_exclude_each_other(self, root):
        for command in ("render", "pack"):
            assert olapps(command, "demo", "--all", cwd=root).code == 2

    def test_one_broken_spec_among_the_selected_stops_the_render(self, root):
        build_file_tree(root, {"apps/broken.yaml": "app: x\n"})
        with untouched(root):
            outcome = olapps("render", cwd=root)
        assert outcome.code == 1
        assert "apps/broken.yaml" in outcome.err
        good("render", "demo", cwd=root)

    @pytest.mark.parametrize("way", ["charts", f"charts/{NEW}", f"charts/{NEW}/{DEMO}"])
    def test_a_file_in_the_way_is_named_and_nothing_is_written(self, root, way):
        build_file_tree(root, {way: "mine"})
        with untouched(root):
            outcome = olapps("render", cwd=root)
        assert outcome.code == 1
        assert way in outcome.err

    def test_a_folder_in_the_way_of_a_file_is_named(self, root):
        good("render", cwd=root)
        file = root / "charts" / NEW / SECOND / "values.yaml"
        file.unlink()
        file.mkdir()
        edit(root / "apps/demo.yaml", ("ctx: 32768", "ctx: 16384"))
        with untouched(root):
            outcome = olapps("render", cwd=root)
        assert outcome.code == 1
        assert "values.yaml" in outcome.err

    def test_a_folder_that_holds_no_chart_is_left_alone(self, root):
        build_file_tree(root, {f"charts/{NEW}/{DEMO}/thesis.txt": "mine"})
        with untouched(root):
            outcome = olapps("render", cwd=root)
        assert outcome.code == 1
        assert "holds no chart" in outcome.err

    def test_files_that_the_chart_no_longer_has_go(self, root):
        good("render", cwd=root)
        extra = build_file_tree(root / "charts" / NEW / DEMO, {"templates/old/x.yaml": "a: 1\n"})
        result = good("render", "demo", "--output", "json", cwd=root).json
        assert result["charts"][1]["changes"] == [
            {"file": "templates/old/x.yaml", "kind": "removed"}
        ]
        assert not (extra / "templates" / "old").exists()

    def test_a_template_of_the_workspace_replaces_the_built_in_one(self, root):
        build_file_tree(root, {"templates/service.yaml.j2": "[[ nonsense ]]\n"})
        templates = {p.name for p in (root / "templates").iterdir()}
        outcome = olapps("render", "--diff", cwd=root)
        assert templates
        assert outcome.code in (0, 1)


class TestPack:
    def test_archives_unpack_to_the_app(self, root, tmp_path):
        result = good("pack", "demo", "--out", tmp_path / "d", "--output", "json", cwd=root).json
        assert [Path(a["file"]).name for a in result["archives"]] == [
            f"{DEMO}-1.0.0.tgz",
            f"{DEMO}-1.0.1.tgz",
        ]
        for archive in result["archives"]:
            with tarfile.open(archive["file"]) as tar:
                assert {name.split("/")[0] for name in tar.getnames()} == {DEMO}
            assert archive["bytes"] == Path(archive["file"]).stat().st_size

    def test_the_same_bytes_every_time(self, root):
        first = good("pack", cwd=root).out
        before = {p.name: p.read_bytes() for p in (root / "dist").iterdir()}
        shutil.rmtree(root / "dist")
        assert good("pack", cwd=root).out == first
        assert {p.name: p.read_bytes() for p in (root / "dist").iterdir()} == before

    def test_a_file_in_the_way_of_the_output_is_named(self, root):
        build_file_tree(root, {"dist": "mine"})
        with untouched(root):
            outcome = olapps("pack", cwd=root)
        assert outcome.code == 2
        assert "dist" in outcome.err


class TestDoctor:
    def test_it_says_what_is_there(self, root):
        found = {i["name"]: i for i in good("doctor", "--output", "json", cwd=root).json["items"]}
        assert found["specs"]["value"] == "2"
        assert found["market"]["state"] == "ok"

    def test_a_broken_spec_and_a_missing_workspace_are_errors(self, root, tmp_path):
        build_file_tree(root, {"apps/broken.yaml": "app: x\n"})
        outcome = olapps("doctor", cwd=root)
        assert outcome.code == 1
        assert "broken" in outcome.out
        empty = olapps("doctor", cwd=tmp_path)
        assert empty.code == 1
        assert "olapps.toml" in empty.out


def test_looking_changes_nothing(root):
    before = snapshot(root)
    for command in (["list"], ["show", "demo"], ["schema"], ["doctor"], ["market", "status"]):
        good(*command, cwd=root)
    good("market", "history", cwd=root)
    good("publish", "--dry-run", cwd=root)
    assert snapshot(root) == before
