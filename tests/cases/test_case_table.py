"""The table of public cases: complete, and every test that it names is there."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| (C\d{3}) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
CASES = {
    number: (what, where)
    for number, what, where in ROW.findall((TESTS / "cases/README.md").read_text(encoding="utf-8"))
}
# Modules that name the number of each of their cases.
NUMBERED = ("checks/test_cases_",)


def test_all_cases_are_listed_once() -> None:
    text = (TESTS / "cases/README.md").read_text(encoding="utf-8")
    assert len(CASES) == 119
    assert len(ROW.findall(text)) == 119


def test_every_case_has_a_test_or_says_what_it_waits_for() -> None:
    for number, (_, where) in CASES.items():
        assert re.fullmatch(r"`[^`]+`(, `[^`]+`)*|later: .+", where), number


def test_every_module_that_is_named_exists() -> None:
    for number, (_, where) in CASES.items():
        for name in re.findall(r"`([^`]+)`", where):
            path = TESTS / name
            assert path.is_file(), f"{number}: {name}"
            if name.startswith(NUMBERED):
                assert number in path.read_text(encoding="utf-8"), f"{number}: {name}"


def test_every_numbered_test_is_in_the_table() -> None:
    for path in TESTS.glob("checks/test_*.py"):
        for number in set(re.findall(r"\bC\d{3}\b", path.read_text(encoding="utf-8"))):
            assert f"`checks/{path.name}`" in CASES[number][1], f"{number}: {path.name}"
