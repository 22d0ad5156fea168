"""How people write contexts, ports, speeds and drafts, one table of patterns per language.

Texts mix languages, so every text is read with all tables. ``\\w`` and ``\\b`` mean ASCII: Chinese
writes no space between a number and the next word.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from re import Match, Pattern
from typing import Final

__all__ = [
    "CUT",
    "WORDINGS",
    "Wording",
    "is_exempt",
    "matches",
    "mentions",
    "names_program",
    "narrow",
    "number_of",
]


@dataclass(frozen=True, slots=True)
class Wording:
    """The patterns of one language.

    ``exempt`` matches what compares or tells history. ``context_before`` and ``context_after``
    stand beside a number of tokens that is a context length, the first one at its end.
    ``native`` is about the model's own limit. Of ``port``, ``speed`` and ``draft`` the one
    group that matched is the number. ``speculation`` and ``cache`` say what a clause is about,
    ``measured`` that it tells a measurement, ``api`` that a port is the server's. A quantisation
    is that of a drafter or projector when ``part_before`` ends before it or ``part_after`` begins
    behind it. ``size`` has a number and a unit; ``gpu`` and ``host`` say whose memory is meant,
    ``demand`` that it is asked for.
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
    host: Pattern[str]
    demand: Pattern[str]
    measured: Pattern[str]
    api: Pattern[str]
    part_before: Pattern[str]
    part_after: Pattern[str]


CUT: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n|(?<=\S) - |(?<=\S) — ")
"""Where one clause ends and the next begins."""
_FLAGS: Final = re.IGNORECASE | re.ASCII

_ENGLISH: Final = Wording(
    exempt=re.compile(
        r"→|->|=>|~~|[<>]\s?\d"
        r"|\b(?:instead|than|versus|vs|compared?|unlike|was|were|had|previous(?:ly)?|former(?:ly)?"
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
    # A rate per second is no size.
    size=re.compile(
        r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)\s?(GB|GiB)\b(?!\s?(?:/\s?s|/\s?秒|ps\b|per second))",
        re.ASCII,
    ),
    gpu=re.compile(r"\b(?:GPU|VRAM|video memory|graphics memory)\b", _FLAGS),
    host=re.compile(r"\b(?:RAM|(?:system|host|main) memory|SSD|disks?|storage)\b", _FLAGS),
    demand=re.compile(r"\b(?:needs?|requires?|minimum|at least|recommended)\b", _FLAGS),
    measured=re.compile(
        r"t/s|tok/s|tokens?/s|\b(?:tokens per second|tps|measure[ds]?|measurements?|benchmark\w*"
        r"|bench|speed|decod\w+|prefill\w*|filled|tested)\b",
        _FLAGS,
    ),
    api=re.compile(
        r"\b(?:API|server|endpoint|OpenAI|client|base[ _-]?url|serves?|served|listens?)\b|/v1\b",
        _FLAGS,
    ),
    part_before=re.compile(
        r"^[\W_]*(?:draft(?:er)?(?: model)?|projector|mmproj)\s*:"
        r"|\b(?:drafter|draft (?:model|head)|(?:MTP|draft|output) head|head|projector|mmproj"
        r"|embeddings?)\b\W{1,3}(?:\w+\W{1,3}){0,3}$",
        _FLAGS,
    ),
    part_after=re.compile(
        r"\W{0,3}(?:quantis\w+ |quantiz\w+ )?(?:MTP |DFlash |draft )?"
        r"(?:drafter|draft|head|projector|mmproj|embeddings?)\b",
        _FLAGS,
    ),
)
_PIECE: Final = r"(?:个\s?)?(?:tokens?|词元|令牌)"
_CHINESE: Final = Wording(
    exempt=re.compile(
        r"上一版|上一个版本|未使用|未采用|之前|以前|此前|先前|原来|原先|原为|旧版|旧的|曾|相比|对比|比起|而不是|而非|不再|放不下"
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
        rf"(?:\s*{_PIECE}|(?=\s*(?:[，。；、）)]|$)))"
        r"|n[-_ ]?max\s*(?:设)?(?:为|是|：)\s*(\d{1,2})(?![\d.])",
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
    host=re.compile(r"内存|硬盘|磁盘|存储"),
    demand=re.compile(r"需要|至少|最低|要求|推荐|建议"),
    measured=re.compile(r"每秒|实测|测得|测试|速度|基准|跑分|词元/s"),
    api=re.compile(r"接口|服务|端点|监听|客户端"),
    part_before=re.compile(
        r"^[\W_]*(?:草稿模型|起草模型|多模态投影|投影)\s*[：:]"
        r"|(?:草稿(?:模型|头)?|起草(?:模型|头)|MTP\s?头|投影|嵌入)\s*"
        r"(?:的)?(?:量化)?(?:为|是|采用|使用|：|:)?\s*$"
    ),
    part_after=re.compile(r"\s*(?:量化)?\s*(?:的)?\s*(?:草稿|起草|MTP\s?头|投影|嵌入)"),
)
WORDINGS: Final[Mapping[str, Wording]] = {"en-US": _ENGLISH, "zh-CN": _CHINESE}
"""The tables by the locale whose language they are in."""


# Programs that people run beside the app; a port or a size next to their name is theirs.
_PROGRAMS: Final = re.compile(
    r"\b(?:Open[- ]?WebUI|Ollama|LM Studio|SillyTavern|ComfyUI|Grafana|Prometheus|Redis|Postgres\w*"
    r"|MySQL|nginx|Jupyter\w*|Home Assistant|n8n|Dify|Lobe ?Chat|AnythingLLM|LibreChat|Qdrant|SSH"
    r"|Langfuse|LiteLLM|Docker|Portainer|Traefik|Caddy)\b",
    _FLAGS,
)


def names_program(text: str, *, but: str) -> bool:
    """Say whether a text names another program; ``but`` are words of the app itself."""
    return any(found[0].lower() not in but.lower() for found in _PROGRAMS.finditer(text))


_NARROW: Final = {
    wide: wide - 0xFEE0
    for wide in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B), 0xFF0E)
}


def narrow(text: str) -> str:
    """Return a text with full-width digits, letters and points as ASCII, of the same length."""
    return text if text.isascii() else text.translate(_NARROW)


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
