"""Links in what people read: each leads somewhere, and there is something to click."""

import pytest
from support.check_charts import MANIFEST, find, flagship, rules_of

NOTES = '"First release."'


def _with(text: str):
    return flagship().replaced(MANIFEST, NOTES, f"'{text}'")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("See [the page]().", "'[the page]()' has no address"),
        ("See [the page](  ).", "has no address"),
        ("See [the page](<>).", "has no address"),
        ("See [the page](< >).", "has no address"),
        ("A picture ![of it]().", "has no address"),
        ("See [](https://example.org/a).", "'[](https://example.org/a)' has no text to click"),
        ("See [ ](https://example.org/a).", "has no text to click"),
        ("[![shot](https://example.org/s.png)]()", "the link around a picture has no address"),
        ("See [the page](https://example.org/a", "is not closed"),
        ("See [the page](docs/page.md).", "'docs/page.md' is no absolute address"),
    ],
)
def test_a_link_that_leads_nowhere_is_told_at_its_line(text: str, said: str) -> None:
    chart = _with(text)
    found = find(chart.check(), "link-form")
    assert said in found.message
    assert text in chart[MANIFEST].decode().splitlines()[(found.line or 0) - 1]


@pytest.mark.parametrize(
    "text",
    [
        "See [the page](https://example.org/a).",
        "A picture without words ![](https://example.org/s.png).",
        "[![](https://example.org/s.png)](https://example.org/a)",
        "[`--jinja`](https://example.org/a) is on.",
        "Call `handlers[](event)` or `f[]()`.",
        "``a ` [](b)`` is code.",
        "See [below](#below) or write to [us](mailto:a@example.org).",
        "An array [] (empty) is fine.",
    ],
)
def test_a_link_that_works_and_code_that_looks_like_one_are_left_alone(text: str) -> None:
    assert "link-form" not in rules_of(_with(text).check())
