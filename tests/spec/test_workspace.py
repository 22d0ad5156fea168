"""The workspace: where it is, what it holds, and how broken parts are told."""

import os
from pathlib import Path

import pytest
from support.specs import CONFIG, MINIMAL, build_file_tree, spec_text

from olares_apps.cli.workbench import all_facts
from olares_apps.engines.registry import spec_model
from olares_apps.errors import SpecError, UnknownName, WorkspaceError
from olares_apps.generations import GENERATIONS
from olares_apps.spec.types import app_id
from olares_apps.spec.workspace import Workspace, find_root, load_config, load_workspace


def spec(name: str, *changes: tuple[str, str]) -> str:
    """Return a spec whose app, alias and title are its own."""
    own = [("demoqwenone", f"app{name}"), ("demo-qwen", name), ("Demo Qwen One", f"Demo {name}")]
    return spec_text(*changes, base=spec_text(*own))


def workspace(root: Path, files: dict[str, str | bytes], config: str = CONFIG) -> Workspace:
    build_file_tree(root, {"olapps.toml": config, **files})
    return load_workspace(root, model=spec_model())


def test_the_root_is_found_from_any_folder_below(tmp_path: Path) -> None:
    build_file_tree(tmp_path, {"olapps.toml": CONFIG, "a/b/": ""})
    assert find_root(tmp_path / "a/b") == tmp_path.resolve()
    assert find_root(tmp_path) == tmp_path.resolve()


def test_without_a_workspace_the_error_names_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"no olapps\.toml in") as caught:
        find_root(tmp_path)
    assert "olapps init" in (caught.value.hint or "")
    with pytest.raises(WorkspaceError, match="cannot be read: No such file"):
        load_config(tmp_path)


def test_specs_come_in_alphabetical_order_under_both_names(tmp_path: Path) -> None:
    loaded = workspace(tmp_path, {"apps/b.yaml": spec("b"), "apps/a-1.yaml": spec("a")})
    assert list(loaded.specs) == ["a-1", "b"]
    assert [item.name for item in loaded.select()] == ["a-1", "b"]
    assert [item.name for item in loaded.select(["appb", "a-1", "b"])] == ["b", "a-1"]
    assert loaded.specs["b"].path.as_posix() == "apps/b.yaml"
    assert loaded.problems == ()


def test_an_unknown_spec_gets_the_nearest_name(tmp_path: Path) -> None:
    loaded = workspace(tmp_path, {"apps/qwen-a.yaml": spec("a")})
    with pytest.raises(UnknownName) as caught:
        loaded.select(["qwen-b"])
    assert (caught.value.message, caught.value.hint) == (
        "unknown spec 'qwen-b'",
        "did you mean qwen-a?",
    )
    with pytest.raises(UnknownName, match="unknown spec") as caught:
        loaded.select(["apa"])
    assert caught.value.suggestion == "appa"


def test_a_broken_spec_hides_no_other(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "apps/good.yaml": spec("good"),
        "apps/bad.yaml": spec("bad", ("ctx: 32768", "ctx: many")),
        "apps/worse.yaml": b"app: appworse\n\xff",
    }
    loaded = workspace(tmp_path, files)
    assert list(loaded.specs) == ["good"]
    assert list(loaded.broken) == ["bad", "worse"]
    assert [(p.file.as_posix() if p.file else "", p.line) for p in loaded.problems] == [
        ("apps/bad.yaml", 23),
        ("apps/worse.yaml", 2),
    ]
    assert [item.name for item in loaded.select(["good"])] == ["good"]
    usable, broken = loaded.sort_out()
    assert ([item.name for item in usable], list(broken)) == (["good"], ["bad", "worse"])
    with pytest.raises(SpecError) as caught:
        loaded.select()
    assert caught.value.problems == loaded.problems


def test_faults_of_texts_and_of_variants_are_told_together(tmp_path: Path) -> None:
    variants = "variants:\n  rtx-4090: {set: {engine.ctx: many}}\nengine:\n"
    broken = spec(
        "bad", ("engine:\n", variants), ("A demo", "A demo of {{ nothing }} and {{ nobody }}")
    )
    workspace(tmp_path, {"apps/bad.yaml": broken})
    loaded = load_workspace(tmp_path, model=spec_model(), facts=all_facts)
    told = [problem.message for problem in loaded.problems]
    assert [text for text in told if "{{ nothing }}" in text]
    assert [text for text in told if "{{ nobody }}" in text]
    assert [text for text in told if text.startswith("on rtx-4090: ")]
    assert len(told) == 3


def test_a_broken_spec_answers_to_its_app_name_too(tmp_path: Path) -> None:
    broken = spec("bad", ("ctx: 32768", "ctx: many"))
    loaded = workspace(tmp_path, {"apps/x.yaml": broken, "apps/y.yaml": spec("y")})
    with pytest.raises(SpecError, match=r"engine\.ctx"):
        loaded.select(["appbad"])
    assert list(loaded.sort_out(["appbad"])[1]) == ["x"]
    assert (loaded.app_of("x"), loaded.app_of("y")) == ("appbad", "appy")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("appb", "appa"), "app name 'appa' is also that of apps/a.yaml:1"),
        (("Demo b", "DEMO A"), "title 'DEMO A' is also that of apps/a.yaml:3"),
        (("alias: b", "alias: a"), "alias 'a' is also that of apps/a.yaml:4"),
        (
            ("title: Demo b", 'title: "Demo. a"'),
            "entrance title 'Demo a' is also that of apps/a.yaml:3",
        ),
    ],
)
def test_what_a_fleet_must_not_share_names_both_files(
    tmp_path: Path, change: tuple[str, str], word: str
) -> None:
    loaded = workspace(
        tmp_path,
        {"apps/a.yaml": spec("a"), "apps/b.yaml": spec("b", change), "apps/c.yaml": spec("c")},
    )
    (problem,) = loaded.problems
    assert problem.message == word
    assert problem.file is not None
    assert problem.file.as_posix() == "apps/b.yaml"
    assert list(loaded.specs) == ["c"]
    for name in ("a", "b"):
        with pytest.raises(SpecError, match="is also that of"):
            loaded.select([name])


def test_entrance_titles_may_be_told_apart_by_hand(tmp_path: Path) -> None:
    other = spec("b", ("title: Demo b", 'title: "Demo. a"')) + "entrance: {title: Demo b}\n"
    loaded = workspace(tmp_path, {"apps/a.yaml": spec("a"), "apps/b.yaml": other})
    assert loaded.problems == ()


def test_names_with_one_id_are_refused(tmp_path: Path) -> None:
    assert app_id("demo2944") == app_id("demo74945") == "e4f3182e"
    loaded = workspace(
        tmp_path,
        {
            "apps/a.yaml": spec("a", ("appa", "demo2944")),
            "apps/b.yaml": spec("b", ("appb", "demo74945")),
        },
    )
    (problem,) = loaded.problems
    assert "id 'e4f3182e' is also that of apps/a.yaml:1" in problem.message
    assert "md5" in (problem.hint or "")


@pytest.mark.parametrize(
    ("name", "word", "hint"),
    [
        ("b.yml", "ends in .yaml", "rename it to b.yaml"),
        ("My_App.yaml", "'My_App' is no spec name", "rename it to my-app.yaml"),
        ("-x.yaml", "is no spec name", "rename it to x.yaml"),
        ("d.yaml/", "is no file", None),
    ],
)
def test_files_that_are_named_wrong_are_told(
    tmp_path: Path, name: str, word: str, hint: str | None
) -> None:
    loaded = workspace(tmp_path, {"apps/a.yaml": spec("a"), f"apps/{name}": MINIMAL})
    (problem,) = loaded.problems
    assert word in problem.message
    assert problem.hint == hint
    assert list(loaded.specs) == ["a"]


def test_hidden_files_locks_and_other_files_are_no_specs(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "apps/a.yaml": spec("a"),
        "apps/._a.yaml": b"\x00\x05\x16\x07",
        "apps/.DS_Store": b"",
        "apps/notes.txt": "x",
        "apps/a.lock.yaml": "schema: 1",
        "apps/old/b.yaml": "x",
    }
    assert workspace(tmp_path, files).problems == ()


def test_a_link_to_nowhere_is_told(tmp_path: Path) -> None:
    build_file_tree(tmp_path, {"apps/a.yaml": spec("a")})
    (tmp_path / "apps/b.yaml").symlink_to(tmp_path / "gone")
    (problem,) = workspace(tmp_path, {}).problems
    assert "is no file" in problem.message


def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    build_file_tree(tmp_path, {"apps/a.yaml": spec("a")})
    os.mkfifo(tmp_path / "apps/b.yaml")
    (problem,) = workspace(tmp_path, {}).problems
    assert "is no file" in problem.message


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({}, "the folder apps with the specs cannot be read: No such file"),
        ({"apps": ""}, "apps is no folder"),
        ({"apps/": ""}, "the folder apps holds no spec"),
        ({"apps/readme.md": "x"}, "the folder apps holds no spec"),
    ],
)
def test_a_workspace_without_specs_says_so(
    tmp_path: Path, files: dict[str, str | bytes], word: str
) -> None:
    with pytest.raises(WorkspaceError, match=word) as caught:
        workspace(tmp_path, files)
    assert caught.value.hint
    assert caught.value.exit_code == 2


def test_a_config_may_place_folders_and_name_markets(tmp_path: Path) -> None:
    config = (
        'generations = ["olares-1.12.6"]\n'
        + CONFIG.replace("/icons", "/icons/")
        + '[workspace]\nspecs = "specs/llm"\n'
        + '[market]\ndefault = "home"\n[market.stores]\nhome = "dir:x"\nnet = "https://example.org"\n'
        + '[checks.severity]\n"C001" = {level = "warning", reason = "known"}\n'
    )
    loaded = workspace(tmp_path, {"specs/llm/a.yaml": spec("a")}, config)
    assert loaded.folder("specs") == tmp_path / "specs/llm"
    assert loaded.folder("charts") == tmp_path / "charts"
    assert loaded.config.generations == ["olares-1.12.6"]
    assert loaded.config.market.address() == "dir:x"
    assert loaded.config.market.address("net") == "https://example.org"
    assert loaded.config.market.address("dir:y") == "dir:y"
    with pytest.raises(UnknownName, match="unknown market 'nett'"):
        loaded.config.market.address("nett")
    assert loaded.config.publisher.values()["icons"] == "https://market.example.org/icons"
    assert loaded.config.checks.severity["C001"].level == "warning"


def test_all_generations_are_the_default(tmp_path: Path) -> None:
    build_file_tree(tmp_path, {"olapps.toml": CONFIG})
    assert load_config(tmp_path).generations == [item.name for item in GENERATIONS]


@pytest.mark.parametrize(
    ("config", "facts"),
    [
        ("", ["olapps.toml:1: schema: required field is missing", "publisher"]),
        ("schema = ", ["olapps.toml", "not TOML"]),
        (CONFIG + "x = [1,\n", ["olapps.toml", "not TOML"]),
        (CONFIG.replace("icons =", "icon ="), ["olapps.toml:6: publisher.icon", "mean icons?"]),
        (CONFIG.replace("schema = 1", "schema = 2"), ["olapps.toml:1: schema", "allowed: 1"]),
        (CONFIG.replace('"somebody"', "5"), ["olapps.toml:4: publisher.name", "TOML read 5"]),
        (CONFIG + "[workspace]\nspecs = '../x'\n", ["olapps.toml:8", "inside the workspace"]),
        (CONFIG + "[workspace]\nspecs = '/x'\n", ["olapps.toml:8", "inside the workspace"]),
        (CONFIG + "[market.stores]\nx = 'ftp://y'\n", ["olapps.toml:8", "dir:FOLDER"]),
        (
            CONFIG + "[checks.severity]\nR1 = {level = 'eror', reason = 'x'}\n",
            ["olapps.toml:8: checks.severity.R1.level", "did you mean error?"],
        ),
        (
            "generations = ['olares-1.12.5']\n" + CONFIG,
            ["olapps.toml:1: generations.0", "did you mean olares-1.12.6?"],
        ),
        ("generations = []\n" + CONFIG, ["olapps.toml:1: generations"]),
    ],
)
def test_a_wrong_config_names_its_line(tmp_path: Path, config: str, facts: list[str]) -> None:
    build_file_tree(tmp_path, {"olapps.toml": config})
    with pytest.raises(WorkspaceError) as caught:
        load_config(tmp_path)
    assert all(fact in caught.value.message for fact in facts), caught.value.message


def test_a_config_that_is_not_utf8_names_its_line(tmp_path: Path) -> None:
    build_file_tree(tmp_path, {"olapps.toml": b"schema = 1\n# \xff\n"})
    with pytest.raises(WorkspaceError, match=r"olapps\.toml:2"):
        load_config(tmp_path)


def test_two_apps_that_share_a_folder_never_share_a_name_for_other_content(tmp_path: Path) -> None:
    def shop(second_file: str, stored: str) -> list[str]:
        shared = MINIMAL.replace("  files:\n", "  folder: shared\n  files:\n")
        second = (
            shared.replace("demoqwenone", "demosecond")
            .replace("Demo Qwen One", "Demo Second")
            .replace("alias: demo-qwen", "alias: demo-second")
            .replace("Demo-35B-UD-Q3_K_XL.gguf", f"{second_file}\n      stored_as: {stored}")
        )
        root = tmp_path / second_file
        build_file_tree(root, {"olapps.toml": CONFIG, "apps/a.yaml": shared, "apps/b.yaml": second})
        broken = load_workspace(root, model=spec_model()).broken
        return [str(problem) for error in broken.values() for problem in error.problems]

    assert shop("Demo-35B-UD-Q3_K_XL.gguf", "Demo-35B-UD-Q3_K_XL.gguf") == []
    found = shop("other.gguf", "Demo-35B-UD-Q3_K_XL.gguf")
    assert len(found) == 2
    assert found[0] == found[1]
    assert "apps/b.yaml:17: model.files.0.stored_as: other.gguf would lie in the shared" in found[0]
    assert "under the name of Demo-35B-UD-Q3_K_XL.gguf, apps/a.yaml:" in found[0]
