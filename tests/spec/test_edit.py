"""Edits change what they are asked to change and not one byte more."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.specs import MINIMAL, load, spec_text

from olares_apps.errors import SpecError
from olares_apps.spec.edit import add_release, set_version

OTHER_QUOTES = ['version: "1.0.0"', "version: '1.0.0'", "version: 1.0.0", 'version:   "1.0.0"  # c']


@pytest.mark.parametrize("written", OTHER_QUOTES)
def test_set_version_keeps_quotes_and_comments(written: str) -> None:
    text = spec_text(('version: "1.0.0"', written))
    edited = set_version(text, "1.0.1")
    quoted = "'1.0.1'" if "'" in written else '"1.0.1"'
    wanted = written.replace('"1.0.0"', quoted).replace("'1.0.0'", quoted).replace("1.0.0", quoted)
    assert edited == spec_text(('version: "1.0.0"', wanted))
    assert load(edited).spec.version == "1.0.1"


@pytest.mark.parametrize(
    "written", ["version: &v '1.0.0'", "version: |-\n  1.0.0", "version: !!str 1.0.0", "versio: x"]
)
def test_a_version_that_cannot_be_replaced_safely_is_refused(written: str) -> None:
    with pytest.raises(SpecError) as caught:
        set_version(spec_text(('version: "1.0.0"', written)), "1.0.1")
    assert caught.value.problems[0].hint == "edit the file by hand"


def test_add_release_makes_the_list() -> None:
    edited = add_release(MINIMAL, "1.0.0", "First.")
    assert edited == MINIMAL + 'releases:\n  - version: "1.0.0"\n    notes: "First."\n'


def test_add_release_puts_the_newest_first_in_the_layout_of_the_file() -> None:
    base = (
        MINIMAL + "releases:\n# newest first\n- version: '1.0.0' # old\n  notes: >-\n    a\n    b\n"
    )
    edited = add_release(base, "1.0.1", "one\n\n  two\n")
    assert edited == base.replace(
        "- version: '1.0.0'",
        "- version: \"1.0.1\"\n  notes: |\n    one\n\n      two\n- version: '1.0.0'",
    )
    assert [r.notes for r in load(edited).spec.releases] == ["one\n\n  two\n", "a b"]


@pytest.mark.parametrize(
    "empty",
    [
        "releases: []",
        "releases: []  # none yet",
        "releases:",
        "releases:  # none",
        "releases: null",
    ],
)
def test_add_release_fills_an_empty_list(empty: str) -> None:
    text = f"{empty}\n{MINIMAL}"
    edited = add_release(text, "1.0.0", "First.")
    head, *rest = edited.splitlines(keepends=True)
    assert head.startswith("releases:")
    assert ("#" in head) == ("#" in empty)
    assert "".join(rest) == '  - version: "1.0.0"\n    notes: "First."\n' + MINIMAL


def test_add_release_works_on_a_list_in_one_line() -> None:
    text = MINIMAL + "releases: [{version: '1.0.0', notes: x}]\n"
    edited = add_release(text, "1.0.1", 'a "quoted" note')
    assert [r.version for r in load(edited).spec.releases] == ["1.0.1", "1.0.0"]
    assert edited.startswith(MINIMAL)


def test_add_release_twice_is_the_same_as_once() -> None:
    once = add_release(MINIMAL, "1.0.0", "First.")
    assert add_release(once, "1.0.0", "First.") == once
    with pytest.raises(SpecError, match="other notes"):
        add_release(once, "1.0.0", "Second.")


def test_a_file_without_a_last_line_end_gets_one() -> None:
    edited = add_release(MINIMAL.rstrip("\n"), "1.0.0", "First.")
    assert edited == add_release(MINIMAL, "1.0.0", "First.")


@pytest.mark.parametrize(
    "text",
    [
        'app: x\nversion: "1.0.0"\nz: |\n  text without a line end',
        'app: x\nversion: "1.0.0"\n...\n',
        '{app: x, version: "1.0.0"}\n',
        "releases: &r\n  - {version: '0.9.0', notes: x}\n",
    ],
)
def test_add_release_refuses_what_it_would_harm(text: str) -> None:
    with pytest.raises(SpecError):
        add_release(text, "1.0.0", "First.")


def test_edits_refuse_values_that_no_spec_may_hold() -> None:
    with pytest.raises(SpecError, match="drop the leading v"):
        set_version(MINIMAL, "v1.0.1")
    with pytest.raises(SpecError, match=r"control character U\+0008"):
        add_release(MINIMAL, "1.0.0", "a\b")


COMMENTS = st.lists(
    st.sampled_from(["# note", "", "#", "  # indented", "# é 🔥 {{ x }}: [", "#\t"])
)
TEXTS = st.sampled_from(
    [
        "  summary: plain   text # comment",
        "  summary: >-\n    folded\n    text\n\n      more indented",
        "  summary: |+\n    literal # no comment\n\n",
        '  summary: "double \\"quoted\\" \\\n    continued"',
        "  summary: 'single ''quoted'' text,\n\n    continued'",
        "  summary: a plain scalar that goes on\n    and on over two lines",
        "  summary: " + "long " * 60,
    ]
)
RELEASES = st.sampled_from(
    [
        "",
        "releases:\n  - version: '0.9.0'\n    notes: >\n      folded\n      notes\n",
        'releases: # here\n# and here\n- notes: x   # odd order\n  version: "0.9.0"\n\n',
        "releases:\n\n\n    -   version: 0.9.0\n        notes: |\n            deep\n",
    ]
)
NOTES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r"), max_size=80
)


@st.composite
def layouts(draw: st.DrawFn) -> str:
    """Return a valid spec in an odd but legal layout."""
    text = spec_text(
        ("  summary: A demo on your own device.", draw(TEXTS)),
        ('version: "1.0.0"', draw(st.sampled_from(OTHER_QUOTES))),
    )
    parts = text.split("\ndeveloper:")
    middle = "".join(f"\n{line}" for line in draw(COMMENTS))
    text = f"{parts[0]}{middle}\ndeveloper:{parts[1]}{draw(RELEASES)}"
    text = "".join(f"{line}\n" for line in draw(COMMENTS)) + text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(layouts(), NOTES)
def test_edits_touch_nothing_else_in_any_layout(text: str, notes: str) -> None:
    before = load(text).spec
    edited = set_version(text, "1.0.1")
    old, new = text.split("\n"), edited.split("\n")
    assert len(old) == len(new)
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert len(changed) == 1
    assert changed[0][0].startswith("version:")
    assert load(edited).spec == before.model_copy(update={"version": "1.0.1"})

    released = add_release(edited, "1.0.1", notes)
    start = next(
        (i for i, (a, b) in enumerate(zip(edited, released, strict=False)) if a != b), len(edited)
    )
    added = len(released) - len(edited)
    # One run of characters went in; without it the text is the one before.
    assert any(
        released[:at] + released[at + added :] == edited
        for at in range(max(0, start - added), start + 1)
    )
    after = load(released).spec
    assert after.releases[0].notes == notes
    assert after.releases[1:] == before.releases
    assert after.model_copy(update={"releases": before.releases}) == load(edited).spec
    if "\r\n" in text:
        assert "\n" not in released.replace("\r\n", "")
