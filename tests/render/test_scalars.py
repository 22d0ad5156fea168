"""Text written into chart files reads back exactly as it was, whatever it holds."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from olares_apps.errors import RenderError
from olares_apps.render.scalars import dump, scalar

# What chart texts meet: YAML's, Helm's and Markdown's own signs beside any character.
SIGNS = ["{{", "}}", "{{-", "-}}", "{%", "---", "...", "#", ": ", "- ", "|", ">", "'", '"', "\\"]
SIGNS += ["\n", "\n\n", "\t", "\r\n", "  ", "$(HOME)", "%", "@", "`", "*", "&", "!", "?", "~", ","]
SIGNS += ["null", "true", "off", "1.10", "2026-05-21", "0x1F", "1e6", "é", "🔥", "\u2028", "\x85"]
PRINTABLE = st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00")
TEXTS = st.lists(st.sampled_from(SIGNS) | st.text(PRINTABLE, max_size=6), max_size=12).map("".join)


def read(text: str) -> object:
    return yaml.load(text, Loader=yaml.CSafeLoader)


@given(TEXTS, st.integers(min_value=0, max_value=12))
@settings(max_examples=400)
def test_any_text_reads_back_as_it_was(text: str, column: int) -> None:
    margin = " " * column
    written = f"{margin}key: {scalar(text, column + 2)}\n{margin}next: 1\n"
    assert read(written) == {"key": text, "next": 1}
    assert "{{" not in written
    assert "}}" not in written


@given(TEXTS)
@settings(max_examples=200)
def test_a_block_literal_keeps_its_text_where_trailing_line_breaks_are_trimmed(text: str) -> None:
    # Helm cuts white space off the end of a document; only one last line break may go.
    assert read(f"key: {scalar(text)}".rstrip() + "\n") == {"key": text}


KEYS = st.sampled_from(["name", "on", "No", "null", "y", "1", "a.b", "a b", "", "{{x}}", "-", "é:"])
VALUES = st.recursive(
    TEXTS | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
@settings(max_examples=300)
def test_any_nested_data_reads_back_as_it_was(data: dict[str, object]) -> None:
    written = dump(data)
    assert (read(written) or {}) == data
    assert "{{" not in written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("off", '"off"'),
        ("1.10", '"1.10"'),
        ("", '""'),
        ('say "hi" \\ bye', '"say \\"hi\\" \\\\ bye"'),
        ("{{ .Values.x }}", '"{\\u007b .Values.x }\\u007d"'),
        ("{{{{", '"{\\u007b\\u007b\\u007b"'),
        ("one\ntwo", "|-\n    one\n    two"),
        ("one\n\n| a |\n---\n# h\n", "|\n    one\n\n    | a |\n    ---\n    # h"),
        ("a\tb\nc", '"a\\tb\\nc"'),
        ("a  \nb", '"a  \\nb"'),
        (" a\nb", '" a\\nb"'),
        ("a\n\n", '"a\\n\\n"'),
        ("Démo 🔥 → 3×", '"Démo 🔥 → 3×"'),
        ("\u2028\x85\ufeff\x07", '"\\u2028\\u0085\\ufeff\\u0007"'),
    ],
)
def test_prose_is_a_block_literal_and_everything_else_is_quoted(text: str, written: str) -> None:
    assert scalar(text, 4) == written


@pytest.mark.parametrize("text", ["a\0b", "a\ud83d", "line\n\0"])
def test_characters_that_no_file_can_carry_are_refused(text: str) -> None:
    with pytest.raises(RenderError, match=r"U\+(0000|D83D)"):
        scalar(text)


@pytest.mark.parametrize("value", [None, 1.5, {"deep": [None]}])
def test_a_value_without_a_form_in_charts_is_refused(value: object) -> None:
    with pytest.raises(RenderError, match="leave the key out"):
        dump({"key": value})  # type: ignore[dict-item]


def test_nested_data_is_laid_out_for_people() -> None:
    data = {"a": {"b": ["x", {"c": 1, "d": True}], "e": {}, "f": []}, "on": "1\n2"}
    assert dump(data) == (
        'a:\n  b:\n    - "x"\n    - c: 1\n      d: true\n  e: {}\n  f: []\n"on": |-\n  1\n  2\n'
    )
