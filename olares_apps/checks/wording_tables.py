"""The tables of wording by language, and the numbers in letters that rules read."""

import re
from collections.abc import Mapping
from typing import Final

from olares_apps.checks.wording_chinese import ASKING, CHINESE
from olares_apps.checks.wording_english import ASKERS, COUNT, ENGLISH
from olares_apps.checks.wording_fields import COUNTS, FLAGS, Wording

__all__ = ["COUNTED", "COUNTS", "WORDINGS", "Wording"]

WORDINGS: Final[Mapping[str, Wording]] = {"en-US": ENGLISH, "zh-CN": CHINESE}
"""The tables by the locale whose language they are in."""
COUNTED: Final = re.compile(
    rf"(?:^|\s){COUNT}\s(?:\w+\s)?(?:{ASKERS}|slots?|tokens?)\b"
    rf"|[一二两三四五六七八九十]\s?(?:个|路|条|位|名)?\s?(?:并发|并行|草稿)?(?:词元|槽|{ASKING})"
    rf"|[一二两三四五六七八九十]\s?路|\b(?:depth|length|concurrency)\s?(?:of|is|:)\s{COUNT}\b",
    FLAGS,
)
"""A number in letters that a rule reads."""
