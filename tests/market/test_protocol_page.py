"""The page that proves the protocol names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| [^|]+ \| (`[^|]+`) \|$", re.MULTILINE)
NAME = re.compile(r"`([a-z]+/test_\w+\.py)(?:::(test_\w+))?`")


def test_every_lemma_names_tests_that_exist() -> None:
    page = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    part = page.partition("\n## Shown by\n")[2].partition("\n## ")[0]
    rows = ROW.findall(part)
    assert len(rows) > 10
    # Every line of the table but its head and the rule below it.
    assert len(rows) == len(re.findall(r"^\|", part, re.MULTILINE)) - 2
    for row in rows:
        named = [NAME.fullmatch(name) for name in row.split("; ")]
        for found in named:
            assert found is not None, row
            text = (ROOT / "tests" / found[1]).read_text(encoding="utf-8")
            assert found[2] is None or f"def {found[2]}(" in text, found[0]
