"""Reading YAML: which words are numbers, where things stand, and what is refused."""

from itertools import pairwise
from pathlib import PurePath

import pytest

from olares_apps.errors import Problem, SpecError
from olares_apps.spec.positions import Positions
from olares_apps.spec.yaml_source import MAX_BYTES, decode, read_mapping, unify_line_ends

FILE = PurePath("apps/x.yaml")


def problems(text: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        read_mapping(decode(text, FILE) if isinstance(text, bytes) else text, FILE)
    assert all(problem.file == FILE for problem in caught.value.problems)
    return caught.value.problems


def only(text: str | bytes) -> Problem:
    (problem,) = problems(text)
    return problem


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("off", "off"),
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("y", "y"),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("+5", 5),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        ("1.10", 1.1),
        (".inf", float("inf")),
        ("-.INF", float("-inf")),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("0b1", "0b1"),
        ("1.0.2", "1.0.2"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("!!str 1.10", "1.10"),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(written: str, value: object) -> None:
    data = read_mapping(f"a: {written}\n", FILE)
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


def test_merge_keys_fill_in_what_is_not_written() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc:\n  <<: [*a, {x: 5, z: 6}]\n"
    data = read_mapping(text, FILE)
    assert data["b"] == {"x": 1, "y": 3}
    assert data["c"] == {"x": 1, "y": 2, "z": 6}
    assert Positions(text, FILE).value(["b", "x"]).line == 1  # type: ignore[union-attr]


def test_every_repeated_key_names_both_lines() -> None:
    found = problems("a: 1\na: 2\nb:\n  c: 1\n  c: 2\n  c: 3\n")
    assert [(p.line, p.message) for p in found] == [
        (2, "duplicate key 'a' (lines 1 and 2)"),
        (5, "duplicate key 'c' (lines 4 and 5)"),
        (6, "duplicate key 'c' (lines 4 and 6)"),
    ]


@pytest.mark.parametrize(
    "text", ["a:\n\tb: 1\n", "a: x\n\tb: y\n", "a:\n  - x\n\t- y\n", "a:\n  b: 1\n \tc: 2\n"]
)
def test_tabs_as_indentation_are_named(text: str) -> None:
    problem = only(text)
    assert "indented with a tab" in problem.message
    assert problem.line == text.split("\t")[0].count("\n") + 1
    assert problem.hint == "indent with spaces"


def test_tabs_inside_text_and_between_tokens_are_fine() -> None:
    assert read_mapping("a:\t1\nb: |\n  x\ty\n  \tz\n", FILE) == {"a": 1, "b": "x\ty\n\tz\n"}


@pytest.mark.parametrize(
    ("text", "line", "column", "code"),
    [
        ("a: 1\nb: x\x00y\n", 2, 5, "U+0000"),
        ("a: \x07\n", 1, 4, "U+0007"),
        ("é: \x7f\n", 1, 4, "U+007F"),
        ("a: x\u2028y\n", 1, 5, "U+2028"),
        ("a: x\x85y\n", 1, 5, "U+0085"),
    ],
)
def test_characters_that_no_file_may_hold_are_named(
    text: str, line: int, column: int, code: str
) -> None:
    problem = only(text)
    assert code in problem.message
    assert (problem.line, problem.column) == (line, column)


@pytest.mark.parametrize(
    ("data", "word", "line"),
    [
        (b"\xef\xbb\xbfa: 1\n", "byte order mark", 1),
        (b"\xff\xfea\x00", "UTF-16", 1),
        (b"\xfe\xff\x00a", "UTF-16", 1),
        (b"a: 1\nb: caf\xe9\n", "0xe9", 2),
        (b"a: " + b"x" * MAX_BYTES, "1048576 bytes", None),
    ],
)
def test_files_that_are_no_plain_utf8_are_refused(data: bytes, word: str, line: int | None) -> None:
    problem = only(data)
    assert word in problem.message
    assert problem.line == line


def test_a_byte_order_mark_in_text_is_refused_too() -> None:
    assert "byte order mark" in only("\ufeffa: 1\n").message


def test_the_byte_that_is_not_utf8_is_found_behind_other_letters() -> None:
    problem = only("é: é".encode() + b"\xff")
    assert (problem.line, problem.column) == (1, 5)


@pytest.mark.parametrize(
    ("text", "word", "line"),
    [
        ("", "is empty", 1),
        ("# only a comment\n", "is empty", 1),
        ("- a\n", "a list", 1),
        ("\njust text\n", "a single value", 2),
        ("a: 1\n---\nb: 2\n", "single document", 2),
        ("a: 'x\nb: 2\nc: 3\n", "quoted scalar", 1),
        ("a: b: c\n", "mapping values", 1),
        ("app: x\n  title: y\n", "mapping values", 2),
        ("a: [1, 2\nb: 3\n", "flow sequence", 2),
        ("a: *nothing\n", "undefined alias", 1),
        ("a: @x\n", "cannot start", 1),
        ('a: "\\q"\n', "escape", 1),
        ("a: !!python/object:os.system {}\n", "!!python/object:os.system", 1),
        ("a: !secret x\n", "!secret", 1),
        ("1: x\n", "key 1 must be text", 1),
        ("true: x\n", "key true must be text", 1),
        ("? [a]\n: b\n", "a key must be text", 1),
        ("a: {<<: 5}\n", "<< takes an alias", 1),
        ("a: " + "9" * 5000 + "\n", "number of 5000 characters", 1),
        ("[" * 5000, "nesting depth", 1),
        ("a: " + "{a: " * 40 + "1" + "}" * 40, "deeper than 32 levels", 1),
        ("a: &a [*a]\n", "alias holds itself", 1),
        ("a: &a\n  <<: *a\n", "alias holds itself", 1),
    ],
)
def test_what_is_no_spec_file_is_refused_with_its_line(text: str, word: str, line: int) -> None:
    problem = only(text)
    assert word in problem.message
    assert problem.line == line


def test_alias_bombs_are_refused() -> None:
    names = "abcdefghij"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} [{', '.join(['*' + before] * 9)}]")
    assert "once its aliases are followed" in only("\n".join(lines)).message


def test_crlf_and_cr_read_like_lf() -> None:
    text = "a: |\n  one\n  two\nb: [1,\n  2]\n"
    wanted = read_mapping(text, FILE)
    for end in ("\r\n", "\r"):
        assert read_mapping(unify_line_ends(text.replace("\n", end)), FILE) == wanted


def test_places_count_characters_not_bytes() -> None:
    text = "é🔥: 1\nb: '🔥🔥' # c\nd: |\n  one\n  two {{ x }}\ne: [1, {f: 🔥}]\n"
    places = Positions(text, FILE)
    spots = {
        "b": places.value(["b"]),
        "key": places.key(["b"]),
        "f": places.value(["e", 1, "f"]),
        "inside": places.inside(["d"], "{{ x }}"),
        "missing": places.nearest(["e", 1, "g", "h"]),
        "nothing": places.nearest(["zzz"]),
    }
    found = {name: (s.line, s.column, s.written) for name, s in spots.items() if s}
    assert found == {
        "b": (2, 4, "'🔥🔥'"),
        "key": (2, 1, "b"),
        "f": (6, 12, "🔥"),
        "inside": (5, 7, "{{ x }}"),
        "missing": (6, 8, "{f: 🔥}"),
        "nothing": (1, 1, ""),
    }
    assert places.value(["e", 5]) is None
    assert places.value(["b", "c"]) is None
