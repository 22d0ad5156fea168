"""The leaderboard: what is ranked together, what is said beside it, and in which forms."""

import json
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.specs import spec_text
from support.workspaces import build_workspace, good, olapps

from olares_apps.bench.leaderboard import ahead

RECORD = """\
  - id: {id}
    ctx: {ctx}
    tps: {tps}
    runs: {runs}
    protocol:
      prompt: {prompt}
      tokens: {tokens}
      sampler: {{temp: {temp}}}
    image: registry.example/demo/server:b9601
    model_file: demo.gguf
    source: a test
    tables: [{tables}]
"""


def record(**changes: object) -> str:
    values = {
        "id": "one",
        "ctx": 4096,
        "tps": 100.0,
        "runs": 3,
        "prompt": "a game",
        "tokens": 800,
        "temp": 0.6,
        "tables": "",
    }
    return RECORD.format(**{**values, **changes})


def workspace(folder: Path, **apps: str) -> Path:
    """Make a workspace with one spec per app name; values are its bench records."""
    root = build_workspace(folder)
    for file in (root / "apps").glob("*.yaml"):
        file.unlink()
    for name, records in apps.items():
        text = spec_text(
            ("app: demoqwenone", f"app: {name}"),
            ("title: Demo Qwen One", f"title: Title of {name}"),
            ("alias: demo-qwen", f"alias: {name}"),
        )
        assert "\nbench:" not in text
        (root / f"apps/{name}.yaml").write_text(f"{text}\nbench:\n{records}" if records else text)
    return root


def test_equal_protocols_are_ranked_fastest_first_with_the_lead(tmp_path: Path) -> None:
    root = workspace(tmp_path, slow=record(tps=74.28), fast=record(tps=249.30))
    (board,) = good("leaderboard", "--output", "json", cwd=root).json["boards"]
    assert board["comparable"] is True
    places = [(e["place"], e["app"], e["tps"], e["leader_ahead_percent"]) for e in board["entries"]]
    assert places == [(1, "fast", "249.3", None), (2, "slow", "74.28", 236)]


@pytest.mark.parametrize(
    "change",
    [{"prompt": "a poem"}, {"tokens": 2000}, {"temp": 1.0}],
    ids=lambda change: next(iter(change)),
)
def test_another_protocol_is_another_ranking(tmp_path: Path, change: dict[str, object]) -> None:
    root = workspace(tmp_path, first=record(), second=record(tps=200.0, **change))
    boards = good("leaderboard", "--output", "json", cwd=root).json["boards"]
    assert [[entry["app"] for entry in board["entries"]] for board in boards] == [
        ["second"],
        ["first"],
    ]


def test_context_and_runs_may_differ_and_are_said(tmp_path: Path) -> None:
    root = workspace(tmp_path, first=record(tps=120.0), second=record(ctx=65536, runs=10))
    (board,) = good("leaderboard", "--output", "json", cwd=root).json["boards"]
    assert board["entries"][0]["differs"] == []
    assert board["entries"][1]["differs"] == ["configured context: 65536", "runs: 10"]


def test_a_published_table_ranks_unlike_runs_and_says_so(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        base=record(tps=35.0, tables="duel"),
        mtp=record(tps=78.1, tokens=2000, tables="duel"),
        other=record(tps=300.0),
    )
    outcome = good("leaderboard", "--table", "duel", "--against", "base", cwd=root)
    lines = outcome.out.splitlines()
    assert "differ in their conditions" in lines[1]
    assert "+123 %" in lines[3]
    assert "tokens: 800" in lines[4]
    assert "other" not in outcome.out
    board = good("leaderboard", "--table", "duel", "--output", "json", cwd=root).json["boards"][0]
    assert (board["comparable"], board["title"]) == (False, "duel")


def test_unknown_tables_and_apps_are_told_with_the_known_ones(tmp_path: Path) -> None:
    root = workspace(tmp_path, base=record(tables="duel"), silent="")
    table = olapps("leaderboard", "--table", "duell", cwd=root)
    assert (table.code, "did you mean duel?" in table.err) == (2, True)
    app = olapps("leaderboard", "--against", "silent", cwd=root)
    assert (app.code, "unknown app with a bench record 'silent'" in app.err) == (2, True)


def test_specs_without_records_give_an_empty_board(tmp_path: Path) -> None:
    root = workspace(tmp_path, silent="")
    outcome = good("leaderboard", cwd=root)
    assert (outcome.out, outcome.err) == ("", "no bench record in these specs\n")
    assert good("leaderboard", "--output", "json", cwd=root).json["boards"] == []


def test_the_picture_is_well_formed_and_its_bars_are_in_proportion(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        fast=record(tps=200.0, prompt="'<b>\"&'"),
        slow=record(tps=50.0, prompt="'<b>\"&'"),
    )
    text = good("leaderboard", "--output", "svg", cwd=root).out
    tree = ElementTree.fromstring(text)
    bars = [e for e in tree.iter() if e.tag.endswith("rect") and e.get("height") == "14"]
    first, second = (float(bar.get("width", "")) for bar in bars)
    assert first == pytest.approx(4 * second, abs=0.2)
    assert '<b>"&: 800 tokens' in "".join(tree.itertext())
    assert text == good("leaderboard", "--output", "svg", cwd=root).out


@given(st.decimals("0.01", "9999", places=2), st.decimals("0.01", "9999", places=2))
def test_the_lead_is_the_ratio_in_per_cent(fast: Decimal, slow: Decimal) -> None:
    assert abs(Decimal(ahead(str(fast), str(slow))) - (fast / slow - 1) * 100) <= Decimal("0.5")


def test_the_json_form_has_a_schema_number(tmp_path: Path) -> None:
    root = workspace(tmp_path, base=record())
    data = json.loads(good("leaderboard", "--output", "json", cwd=root).out)
    assert data["schema"] == 1
    assert data["boards"][0]["entries"][0]["conditions"]["tokens"] == 800


def test_whatever_a_record_states_of_its_run_is_compared(tmp_path: Path) -> None:
    other = record(id="two", tps=90.0).replace("server:b9601", "server:b9700")
    other = other.replace("demo.gguf", "other.gguf")
    root = workspace(
        tmp_path,
        first=record(tps=120.0) + "    settings: {drafted-tokens: 8, kv: q4_0}\n",
        second=other + "    settings: {drafted-tokens: 13.0}\n",
    )
    (board,) = good("leaderboard", "--output", "json", cwd=root).json["boards"]
    assert board["entries"][0]["settings"] == {"drafted-tokens": "8", "kv": "q4_0"}
    assert board["entries"][1]["differs"] == [
        "image: registry.example/demo/server:b9700",
        "file: other.gguf",
        "drafted tokens: 13",
        "kv: not recorded",
    ]
    text = good("leaderboard", cwd=root).out
    assert "drafted tokens: 13" in text
    assert "drafted tokens: 13" in good("leaderboard", "--output", "svg", cwd=root).out


def test_the_same_setting_written_otherwise_is_no_difference(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        first=record(tps=120.0) + "    settings: {drafted-tokens: 8, swap: true}\n",
        second=record() + '    settings: {swap: "true", drafted-tokens: "8"}\n',
    )
    (board,) = good("leaderboard", "--output", "json", cwd=root).json["boards"]
    assert [entry["differs"] for entry in board["entries"]] == [[], []]


def test_samplers_that_differ_in_a_small_digit_are_another_ranking(tmp_path: Path) -> None:
    root = workspace(tmp_path, first=record(temp=0.001), second=record(temp=0.002))
    assert len(good("leaderboard", "--output", "json", cwd=root).json["boards"]) == 2


def test_what_is_not_known_is_not_none(tmp_path: Path) -> None:
    stated = record(tps=90.0).replace("      sampler", "      warmup: none\n      sampler")
    root = workspace(tmp_path, unknown=record(), cold=stated)
    boards = good("leaderboard", "--output", "json", cwd=root).json["boards"]
    assert [b["entries"][0]["conditions"]["warmup"] for b in boards] == [None, "none"]
    assert ["warm-up not recorded" in b["title"] for b in boards] == [True, False]
    assert "warm-up none," in boards[1]["title"]


def test_a_record_may_leave_open_what_its_source_does_not_say(tmp_path: Path) -> None:
    bare = record(tps=90.0, ctx="null").replace("registry.example/demo/server:b9601", "null")
    root = workspace(tmp_path, known=record(), bare=bare.replace("demo.gguf", "null"))
    (board,) = good("leaderboard", "--output", "json", cwd=root).json["boards"]
    assert board["entries"][1]["differs"] == [
        "configured context: not recorded",
        "image: not recorded",
        "file: not recorded",
    ]
    row = good("leaderboard", cwd=root).out.splitlines()[3].split("  ")
    assert [cell.strip() for cell in row if cell.strip()][5:8] == ["?", "3", "?"]
    ElementTree.fromstring(good("leaderboard", "--output", "svg", cwd=root).out)


@pytest.mark.parametrize("command", [("list",), ("leaderboard",), ("render", "good"), ("check",)])
def test_an_impossible_speed_is_a_finding_of_every_command(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    root = workspace(tmp_path, good=record(), bad=record(tps="1.0e+27"))
    outcome = olapps(*command, cwd=root)
    text = outcome.out + outcome.err
    assert "Traceback" not in text
    if "good" not in command:
        assert outcome.code == 1
        assert "1.0e+27 is out of range" in text
