"""Specs that cannot be used are findings like all others, and hide no other spec."""

from pathlib import Path

import pytest
from support.locks import file_of, lock_of
from support.workspaces import DEMO, SECOND, SECOND_SPEC, build_workspace, good, olapps

from olares_apps.lock.file import dump_lock

# How a spec is broken -> (what is changed in it, files beside it), (file, its line), message
FAULTS = {
    "a wrong value": (
        [("ctx: 32768", "ctx: many")],
        {},
        ("apps/demo.yaml", "ctx: many"),
        "engine.ctx",
    ),
    "an unknown field": (
        [("ctx: 32768", "ctx: 32768\n  ctxx: 1")],
        {},
        ("apps/demo.yaml", "ctxx: 1"),
        "ctxx",
    ),
    "no YAML": ([("engine:\n", "engine: [\n")], {}, ("apps/demo.yaml", ""), "YAML"),
    "a file that is not there": (
        [("ctx: 32768", "ctx: 32768\n  chat_template_file: nowhere.jinja")],
        {},
        ("apps/demo.yaml", "chat_template_file: nowhere.jinja"),
        "nowhere.jinja",
    ),
    "a file with a zero byte": (
        [("ctx: 32768", "ctx: 32768\n  chat_template_file: own.jinja")],
        {"own.jinja": "a\0b"},
        ("apps/demo.yaml", "chat_template_file: own.jinja"),
        "zero byte at character 2",
    ),
    "a method of another build": (
        [("ctx: 32768", "ctx: 32768\n  speculative: {method: dflash, n_max: 3}")],
        {},
        ("apps/demo.yaml", "speculative:"),
        "engine.speculative.method",
    ),
    "an unknown recipe": (
        [("ctx: 32768", "ctx: 32768\n  recipe: own")],
        {},
        ("apps/demo.yaml", "recipe: own"),
        "image recipe",
    ),
    "a broken recipe": (
        [("ctx: 32768", "ctx: 32768\n  recipe: own")],
        {"images/own.yaml": "image: 7\n"},
        ("images/own.yaml", "image: 7"),
        "image",
    ),
    "a broken lock": (
        [],
        {"apps/demo.lock.yaml": "schema: 7\n"},
        ("apps/demo.lock.yaml", "schema: 7"),
        "this version reads 1",
    ),
    "a lock that denies it": (
        [],
        {"apps/demo.lock.yaml": dump_lock(lock_of(file_of(size=10**9)))},
        ("apps/demo.yaml", "size_gb: 17.2"),
        "is stated as 17.2 GB",
    ),
    "unknown hardware": (
        [("engine:\n", "hardware: olares-two\nengine:\n")],
        {},
        ("apps/demo.yaml", "hardware: olares-two"),
        "hardware",
    ),
    "a split model by its second part": (
        [("Demo-35B-UD-Q3_K_XL.gguf", "Demo-35B-Q3_K_XL-00002-of-00003.gguf")],
        {},
        ("apps/demo.yaml", "00002-of-00003"),
        "is part 2 of 3",
    ),
    "a template that fails": (
        [],
        {"templates/chart/templates/service.yaml": "[[ nothing.there ]]"},
        ("apps/demo.yaml", ""),
        "nothing",
    ),
}


def workspace(root: Path, fault: str) -> Path:
    changes, files, _, _ = FAULTS[fault]
    return build_workspace(root, *changes, files={**files, "apps/second.yaml": SECOND_SPEC})


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_a_finding_with_its_place(tmp_path: Path, fault: str) -> None:
    root = workspace(tmp_path, fault)
    outcome = olapps("check", "demo", "--no-tools", "--output", "json", cwd=root)
    file, text = FAULTS[fault][2]
    assert outcome.code == 1
    found = [item for item in outcome.json["findings"] if item["severity"] == "error"]
    assert {(item["rule"], item["app"]) for item in found} == {("spec-invalid", DEMO)}
    assert file in {item["file"] for item in found}
    assert any(FAULTS[fault][3] in item["message"] for item in found)
    if text:
        lines = (root / file).read_text().splitlines()
        assert any(text in lines[item["line"] - 1] for item in found)


# The workspace's templates are those of all its specs.
@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - {"a template that fails"}))
def test_other_specs_are_checked_and_published_beside_it(tmp_path: Path, fault: str) -> None:
    root = workspace(tmp_path, fault)
    assert "2 charts checked: 1 warning" in good("check", "second", "--no-tools", cwd=root).out
    everything = olapps("check", "--no-tools", cwd=root)
    assert everything.code == 1
    assert "spec-invalid" in everything.out
    assert "2 charts checked: " in everything.out
    assert olapps("publish", cwd=root).code != 0
    assert not (root / ".market").exists()
    assert SECOND in good("publish", "second", cwd=root).out


@pytest.mark.parametrize("fault", FAULTS)
def test_github_gets_an_annotation_of_a_file_that_is_there(tmp_path: Path, fault: str) -> None:
    root = workspace(tmp_path, fault)
    outcome = olapps("check", "--no-tools", "--output", "github", cwd=root)
    lines = [line for line in outcome.out.splitlines() if "title=spec-invalid" in line]
    assert lines
    for line in lines:
        assert line.startswith("::error file=")
        assert (root / line.removeprefix("::error file=").partition(",")[0]).is_file()


def test_every_fault_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    second = SECOND_SPEC.replace("parallel: 1", "parallel: none")
    changes = [("ctx: 32768", "ctx: many"), ('version: "1.0.0"', 'version: "1"')]
    root = build_workspace(tmp_path, *changes, files={"apps/second.yaml": second})
    outcome = olapps("check", "--no-tools", "--output", "json", cwd=root)
    places = {(item["file"], item["message"].split(":")[0]) for item in outcome.json["findings"]}
    assert places == {
        ("apps/demo.yaml", "engine.ctx"),
        ("apps/demo.yaml", "version"),
        ("apps/second.yaml", "engine.parallel"),
    }
    assert outcome.json["summary"] == {
        "charts": 0,
        "error": 3,
        "warning": 0,
        "info": 0,
        "ok": False,
    }


def test_charts_of_a_broken_spec_do_not_count_as_strays(tmp_path: Path) -> None:
    root = build_workspace(tmp_path)
    good("render", cwd=root)
    path = root / "apps/demo.yaml"
    path.write_text(path.read_text().replace("ctx: 32768", "ctx: many"))
    outcome = olapps("check", "--no-tools", "--output", "json", cwd=root)
    assert {item["rule"] for item in outcome.json["findings"]} == {"spec-invalid"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('api-timeot = {level = "info", reason = "x"}', "did you mean api-timeout?"),
        ('no-such = {level = "off", reason = "x"}', "unknown rule 'no-such'"),
        ('api-timeout = {level = "error", reason = "x"}', "above the rule's warning"),
        ('text-port = {level = "error", reason = "x"}', "changes nothing"),
        ('api-timeout = {level = "off", reason = "x", apps = ["dem"]}', "did you mean demo?"),
    ],
)
def test_a_severity_that_must_not_be_is_wrong_usage_with_its_line(
    tmp_path: Path, line: str, message: str
) -> None:
    root = build_workspace(tmp_path)
    config = root / "olapps.toml"
    config.write_text(f"{config.read_text()}[checks.severity]\n{line}\n")
    outcome = olapps("check", "--no-tools", cwd=root)
    assert outcome.code == 2
    assert olapps("publish", cwd=root).code == 2
    number = len(config.read_text().splitlines())
    assert f"olapps.toml:{number}: " in outcome.err
    assert message in outcome.err


@pytest.mark.parametrize(
    "change",
    [
        ("registry.example.org/llama-server:b9600", "user:pw3x@host.example.org/x/y:1"),
        ("https://example.org/model", "ftp://user:pw3x@example.org/model"),
        ("example-org/Demo-35B-GGUF", "https://user:pw3x@hub.example.org/a/b"),
    ],
)
@pytest.mark.parametrize("output", ["text", "json", "github"])
def test_a_password_in_a_value_is_not_repeated(
    tmp_path: Path, change: tuple[str, str], output: str
) -> None:
    root = build_workspace(tmp_path, change)
    outcome = olapps("check", "--no-tools", "--output", output, cwd=root)
    assert outcome.code == 1
    assert "spec-invalid" in outcome.out
    assert "pw3x" not in outcome.out + outcome.err
    assert "pw3x" not in olapps("lock", cwd=root).err
