"""How people write contexts, ports, speeds and drafts, one table of patterns per language.

Texts mix languages, so every text is read with all tables. ``\\w`` and ``\\b`` mean ASCII: Chinese
writes no space between a number and the next word.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from re import Match, Pattern
from typing import Final

__all__ = ["CUT", "WORDINGS", "Wording", "is_exempt", "matches", "mentions", "number_of"]


@dataclass(frozen=True, slots=True)
class Wording:
    """The patterns of one language.

    ``exempt`` matches what compares or tells history. ``context_before`` and ``context_after``
    stand beside a number of tokens that is a context length, the first one at its end.
    ``native`` is about the model's own limit. Of ``port``, ``speed`` and ``draft`` the one
    group that matched is the number. ``speculation`` and ``cache`` say what a clause is about.
    ``size`` has a number and a unit; ``gpu`` says that the GPU's memory is meant.
    """

    exempt: Pattern[str]
    context_before: Pattern[str]
    context_after: Pattern[str]
    native: Pattern[str]
    port: Pattern[str]
    speed: Pattern[str]
    draft: Pattern[str]
    speculation: Pattern[str]
    cache: Pattern[str]
    size: Pattern[str]
    gpu: Pattern[str]


CUT: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n|(?<=\S) - |(?<=\S) — ")
"""Where one clause ends and the next begins."""
_FLAGS: Final = re.IGNORECASE | re.ASCII

_ENGLISH: Final = Wording(
    exempt=re.compile(
        r"→|->|=>|~~|[<>]\s?\d"
        r"|\b(?:instead|than|versus|vs|compared?|unlike|was|were|previous(?:ly)?|former(?:ly)?"
        r"|before|earlier|old(?:er)?|roll(?:ed)?[- ]?back|revert(?:ed)?|baseline|reference"
        r"|up from|down from|does not fit|doesn't fit|not fit|too large|larger|smaller|other"
        r"|another|alternatives?|would|could|reduce|lower|if you|if oom|e\.g|examples?|desktop"
        r"|needs? more|no longer|from \S+ to)\b",
        re.IGNORECASE,
    ),
    context_before=re.compile(
        r"(?:(?<![\w-])(?:context|ctx|window|full)|@)(?:[- ]?(?:window|size|length))?"
        r"[\s:=(*_`'\"~@]*(?:(?:of|up to|is|at|to|with|=)\s*)?[\s*_`~]*$",
        _FLAGS,
    ),
    context_after=re.compile(
        r"[\s(*_`'\"]*(?:full[- ]|native[- ]|long[- ]|tokens?[- ](?:of )?)?(?:context|ctx|window)",
        _FLAGS,
    ),
    native=re.compile(r"\b(?:native(?:ly)?|trained?|yarn|exten[ds]\w*|model supports)\b", _FLAGS),
    port=re.compile(r"\bport[\s:=*_`]{0,4}(\d{2,5})\b|(?:localhost|0\.0\.0\.0):(\d{2,5})", _FLAGS),
    speed=re.compile(
        r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)[\s*_]{0,3}"
        r"(?:t/s|tok/s|tokens?/s(?:ec)?|tokens per second|tps)\b",
        re.ASCII,
    ),
    draft=re.compile(
        r"(?:n[-_ ]?max|num_speculative_tokens|\bn)[\s*_`]{0,3}[:=][\s*_`]{0,3}(\d{1,2})\b"
        r"|n[-_ ]max\s+(\d{1,2})\b",
        re.ASCII,
    ),
    speculation=re.compile(r"mtp|draft|dflash|spec|eagle|n-max", re.IGNORECASE),
    cache=re.compile(r"\bKV\b|cache", _FLAGS),
    size=re.compile(r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)\s?(GB|GiB)\b", re.ASCII),
    gpu=re.compile(r"\b(?:GPU|VRAM|video memory|graphics memory)\b", _FLAGS),
)
_PIECE: Final = r"(?:个\s?)?(?:tokens?|词元|令牌)"
_CHINESE: Final = Wording(
    exempt=re.compile(
        r"之前|以前|此前|先前|原来|原先|原为|旧版|旧的|曾|相比|对比|比起|而不是|而非|不再|放不下"
        r"|装不下|无法容纳|不足以|回退|回滚|基线|如果|若(?!干)|假如|例如|比如|譬如|其他|另一|另外"
        r"|降低|减小|减少|降到|降至|缩小|调低|大于|小于|超过|高于|低于|桌面"
        r"|[从由]\s*[^，。；]{1,24}?(?:提升|增加|提高|扩大|升级|改|降|变|更新)?[到至为成]\s*"
    ),
    context_before=re.compile(
        r"上下文(?:长度|窗口|大小|容量|上限)?[\s:：=（(*_`]*"
        r"(?:(?:最大|最长|最多|默认)?(?:为|是|达到|达|可达|支持|约|高达|有|共|设为|配置为)?)?"
        r"[\s:：*_`约]*$"
    ),
    context_after=re.compile(
        rf"[\s*_`）)\"”]*(?:{_PIECE})?\s*的?\s*(?:完整|全|满|超长|最大|长|配置的?)?\s*上下文"
    ),
    native=re.compile(r"原生|训练|模型支持|模型本身|扩展到|扩展至"),
    port=re.compile(
        r"端口(?:号)?(?:为|是)?[\s:：=*_`]{0,4}(?:为|是)?\s?(\d{2,5})(?![\d.])"
        r"|(?<![\d.:])(\d{2,5})\s?(?:号\s?)?端口",
        re.ASCII,
    ),
    speed=re.compile(
        r"每秒(?:钟)?(?:约|大约|可达|可|达|生成|输出|高达|平均|能|\s|\*)*"
        rf"(\d{{1,4}}(?:\.\d{{1,2}})?)[\s*]*{_PIECE}"
        rf"|(?<![\w.,-])(\d{{1,4}}(?:\.\d{{1,2}})?)[\s*]*(?:{_PIECE}|t)\s*(?:/\s*秒|每秒)"
        r"|(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)[\s*]*词元/s\b",
        _FLAGS,
    ),
    draft=re.compile(
        rf"每步(?:最多|至多)?\s*(?:起草|预测|推测|提出|生成)?\s*(\d{{1,2}})\s*{_PIECE}"
        rf"|(?:草稿|起草|推测)(?:长度|深度|数量|步数)?(?:为|是|最多|：|:|=|\s)*(\d{{1,2}})(?![\d.%])"
        rf"(?:\s*{_PIECE}|(?=[，。；、）)\s]|$))",
        re.ASCII,
    ),
    speculation=re.compile(r"草稿|起草|推测|投机|多词元预测|每步"),
    cache=re.compile(r"缓存"),
    size=re.compile(
        r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)\s?(G)(?=\s?的?(?:显存|内存|GPU))"
        r"|(?:显存|内存)(?:占用|需求|需要|约|为|共|：|:|\s)*(\d{1,4}(?:\.\d{1,2})?)\s?(G)(?!\w)",
        re.ASCII,
    ),
    gpu=re.compile(r"显存"),
)
WORDINGS: Final[Mapping[str, Wording]] = {"en-US": _ENGLISH, "zh-CN": _CHINESE}
"""The tables by the locale whose language they are in."""


def is_exempt(text: str) -> bool:
    """Say whether a clause compares or tells history, so that its numbers claim nothing."""
    return any(wording.exempt.search(text) for wording in WORDINGS.values())


def mentions(field: str, text: str) -> bool:
    """Say whether a pattern of any language is found in a text."""
    return any(getattr(wording, field).search(text) for wording in WORDINGS.values())


def matches(field: str, text: str) -> Iterator[Match[str]]:
    """Yield what a pattern of each language finds in a text."""
    for wording in WORDINGS.values():
        pattern: Pattern[str] = getattr(wording, field)
        yield from pattern.finditer(text)


def number_of(found: Match[str]) -> str:
    """Return the number in a match: the first group that took part."""
    return next((group for group in found.groups() if group), "")
