"""What a number is about when it is not about the app: another model, an old release, a denial.

A clause states something of the app on whose page it stands. Where its words say otherwise the
number claims nothing, whatever kind of number it is, so all rules of texts ask here, and only
about numbers that contradict the configuration. One table per language says which words those
are and how far each of them reaches; the reach is that of the two languages in general:

- a denial holds for its stretch, which commas and conjunctions end ("16 GB is not enough"),
- another subject holds from its stretch on, until the app is spoken of again,
- a supposition holds up to the comma,
- a comparison holds for the number beside it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from re import Pattern
from typing import Final

__all__ = ["Own", "is_aside", "is_denied", "stretch"]

_FLAGS: Final = re.IGNORECASE | re.ASCII
_STRETCH: Final = re.compile(
    r"[;；，：、()（）]|,(?!\d{3})|:(?![\w/])|\b(?:but|and|while|whereas|because|so)\b"
    r"|但|而(?!且)|并且",
    _FLAGS,
)
_SHORT: Final = 24
"""Characters that a word as ``no`` reaches."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one language.

    ``denial`` reaches over its stretch, ``lack`` over the next few words, ``other`` from the
    start of its stretch to the next of ``ours``, ``supposed`` is the supposition itself.
    ``release`` has the number of a release as its group. A number is compared with when
    ``compared_before`` ends before it or ``compared_after`` begins behind it.
    """

    denial: Pattern[str]
    lack: Pattern[str]
    other: Pattern[str]
    ours: Pattern[str]
    supposed: Pattern[str]
    release: Pattern[str]
    compared_before: Pattern[str]
    compared_after: Pattern[str]


_CONFIGURED: Final = r"(?:MTP|DFlash|draft\w*|speculat\w*|flash|offload\w*|quanti\w*)"
_ENGLISH: Final = _Words(
    denial=re.compile(
        r"\bnot\b(?! (?:only|just|merely))|\bcannot\b|n['’]t\b"
        r"|\b(?:never|neither|nor|fails?|refuses?|nothing|nobody|none|impossible|unsupported)\b"
        r"|\b(?:too (?:small|little|many|much)|exceeds?|overflows?|runs? out|out of memory|OOM"
        r"|crash(?:es)?|swaps?|only half|overridden)\b",
        _FLAGS,
    ),
    lack=re.compile(r"\bno\b(?! (?:matter|less|fewer))", _FLAGS),
    other=re.compile(
        r"\b(?:siblings?|sister|cousins?|counterparts?|competitors?|rivals?)\b"
        r"|\b(?:Olares|drivers?|browser|(?:system|host|desktop) itself)(?: itself)?"
        r" (?:needs?|takes?|uses?|keeps?|reserves?)\b"
        rf"|\bwithout (?:any |the |its )?(?:{_CONFIGURED}|it\b|them\b)"
        rf"|\bwith {_CONFIGURED}(?: \w+)? (?:off|disabled)\b",
        _FLAGS,
    ),
    ours=re.compile(
        r"\bthis (?:one|app|model|build|version|server|chart|page)\b|\b(?:here|ours)\b", _FLAGS
    ),
    supposed=re.compile(
        r"\b(?:if|unless|whether|in case|suppos\w+|provided|switching"
        r"|setting (?:it|the|this)|changing|raising|increasing|doubling)\b(?:[^,;]|,\d{3})*",
        _FLAGS,
    ),
    release=re.compile(
        r"(?<!since )(?<!from )(?<!as of )\b(?:versions?|releases?)\s+v?(\d+\.\d+\.\d+)(?![.\d])"
        r"(?! of the (?:server|engine))",
        _FLAGS,
    ),
    compared_before=re.compile(
        r"(?:\b(?:twice|double|triple|half|times|beats?|beating|outruns?|against|relative to"
        r"|first|beyond|past|after|as (?!much|many|long)\w+ as)|\d\s?[x×]|%\s(?:of|above|over))"
        r"(?:\s(?:the|a|an|its|those|that of|of))*\W{0,3}$",
        _FLAGS,
    ),
    compared_after=re.compile(r"\W{0,3}(?:baseline|of (?:the )?(?:original|first))\b", _FLAGS),
)
_CHINESE: Final = _Words(
    denial=re.compile(
        r"不(?![仅只止但同断错少])|未(?!来)|没有?|无法|并非|非(?!常)|勿|禁止|失败|太小|过小|太多|过多|崩溃|溢出|爆显存|显存不足|内存不足"
    ),
    lack=re.compile(r"(?<!毫)无(?![法需须论线限])"),
    other=re.compile(
        r"兄弟|姊妹|姐妹|同系列|同门|竞品|竞争对手"
        r"|(?:Olares|驱动|浏览器|系统本身|系统自身)(?:本身|自身)?(?:需要|占用|保留|使用)"
        r"|(?:关闭|禁用|停用|不用|不启用|没有|不带|无)\s*(?:了)?\s*"
        r"(?:MTP|DFlash|推测|投机|草稿|起草|多词元预测)"
    ),
    ours=re.compile(r"本应用|本模型|本版|本页|本服务|这个(?:应用|模型|版本)|这里"),
    supposed=re.compile(r"(?:要是|倘若|万一|是否|除非)[^，；]*"),
    release=re.compile(
        r"(?<![自从])(?:版本|版)\s*v?(\d+\.\d+\.\d+)(?![.\d])(?!\s*(?:起|开始|以来))"
        r"|(?<![自从.\d])v?(\d+\.\d+\.\d+)\s*版(?!本?(?:起|开始|以来))"
    ),
    compared_before=re.compile(r"(?<![对相占])比(?![例特率])[^，；]{0,16}$|(?:快于|慢于|优于)\s*$"),
    compared_after=re.compile(
        r"\s*(?:个?词元)?(?:时|后|以上|以后|之后)|[^，；\d]{0,8}的\s*(?:\d+(?:\.\d+)?|[一二两三四五六七八九十几数])?\s*(?:倍|半|成)"
        r"|[^，；\d]{0,8}的一半"
    ),
)
_LANGUAGES: Final = (_ENGLISH, _CHINESE)
# Programs have releases of their own.
_PROGRAM: Final = re.compile(
    r"(?:CUDA|Olares|vLLM|llama\.cpp|drivers?|Python|server|engine|Docker|WebUI|驱动|引擎)\W{0,2}$",
    _FLAGS,
)
_SIZE_LABEL: Final = re.compile(
    r"(?<![\w.])(?:A|E|\d+x)?(\d{1,4}(?:\.\d{1,2})?)\s?B(?![\w/])", re.ASCII
)
_OWN_LABEL: Final = re.compile(r"(?<![\d.])(\d{1,4}(?:\.\d{1,2})?)B(?![a-z0-9])", _FLAGS)
_SAME_SIZE: Final = 0.05
"""Share by which a number of parameters is rounded."""
_PART: Final = re.compile(r"\W{0,2}(?:draft|small|helper|草稿|起草|小模型)", _FLAGS)
_FAMILY: Final = re.compile(
    r"(?<![\w-])(?:(?:Gemma|Mistral|Mixtral|DeepSeek|Granite|GPT-OSS|Nemotron|Kimi|MiniMax|Devstral)"
    r"(?!\s(?:template|parser|format|syntax))|(?:Llama|Phi|GLM|Qwen|ERNIE)[- ]?\d(?:\.\d)?)",
    _FLAGS,
)


# An app of the same kind that does more or less: "the app with vision", "the text-only version".
_KIND: Final = r"(?:apps?|versions?|variants?|editions?|siblings?|charts?|one)"
# Word of a trait -> what the names of an app that has it say.
_TRAITS: Final = {
    r"vision|images?|pictures?|视觉|图像|图片": ("vision", "mmproj", "-vl"),
    r"audio|speech|voice|音频|语音": ("audio", "speech", "voice", "tts", "asr", "voxtral", "omni"),
}
_TEXT_ONLY: Final = r"text[- ]only|纯文本"


def _traited(trait: str) -> Pattern[str]:
    return re.compile(
        rf"(?<!this )\b{_KIND} (?:with|that has|for) (?:{trait})(?![\w-])"
        rf"|\b(?:the|an?|another) (?:{trait}) {_KIND}\b|(?:{trait})(?:版|应用)(?!块)",
        _FLAGS,
    )


_TRAITED: Final = tuple((_traited(trait), names) for trait, names in _TRAITS.items())
_WITHOUT_TRAITS: Final = _traited(_TEXT_ONLY)


@dataclass(frozen=True)
class Own:
    """What an app calls itself: names of app, model and files, and its versions."""

    words: str
    versions: frozenset[str]
    sizes: frozenset[float] = field(init=False)
    """Billions of parameters in the names."""
    has_family: bool = field(init=False)

    def __post_init__(self) -> None:
        found = frozenset(map(float, _OWN_LABEL.findall(self.words)))
        object.__setattr__(self, "sizes", found)
        object.__setattr__(self, "has_family", bool(_FAMILY.search(self.words)))

    def is_size(self, said: float) -> bool:
        """Say whether a number of billions is that of this model, or rounds to it."""
        return any(abs(said - own) <= own * _SAME_SIZE for own in self.sizes)


def is_aside(text: str, start: int, end: int, own: Own) -> bool:
    """Say whether the number at ``start`` to ``end`` of a clause is not about the app."""
    if any(first <= start < last for first, last in _spans(text, own)):
        return True
    before = text[max(0, start - 40) : start]
    return any(
        words.compared_before.search(before) or words.compared_after.match(text, end)
        for words in _LANGUAGES
    )


def is_denied(text: str) -> bool:
    """Say whether a clause denies anything."""
    return any(words.denial.search(text) or words.lack.search(text) for words in _LANGUAGES)


def stretch(text: str, at: int) -> tuple[int, int]:
    """Return where the part of a clause begins and ends in which something stands."""
    cuts = _cuts(text)
    last = bisect_right(cuts, at, key=lambda cut: cut[1])
    start = cuts[last - 1][1] if last else 0
    return start, next((first for first, _ in cuts[last:] if first > at), len(text))


@lru_cache(maxsize=16)
def _cuts(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(cut.span() for cut in _STRETCH.finditer(text))


@lru_cache(maxsize=256)
def _spans(text: str, own: Own) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for words in _LANGUAGES:
        found += [stretch(text, hit.start()) for hit in words.denial.finditer(text)]
        for hit in words.lack.finditer(text):
            found.append((hit.start(), min(hit.end() + _SHORT, stretch(text, hit.start())[1])))
        found += [hit.span() for hit in words.supposed.finditer(text)]
    others = sorted(_others(text, own))
    ours = sorted(_ours(text, own))
    for at in others:
        end = next((back for back in ours if back > at), len(text))
        found.append((stretch(text, at)[0], end))
    return tuple(found)


def _others(text: str, own: Own) -> Iterator[int]:
    """Yield where a text speaks of another model, another release or another setting."""
    for words in _LANGUAGES:
        yield from (hit.start() for hit in words.other.finditer(text))
        for hit in words.release.finditer(text):
            version = next(filter(None, hit.groups()))
            if version not in own.versions and not _PROGRAM.search(text[: hit.start()]):
                yield hit.start()
    yield from (hit.start() for hit in _of_another_kind(text, own.words.lower()))
    if own.sizes:
        for hit in _SIZE_LABEL.finditer(text):
            if not own.is_size(float(hit[1])) and not _PART.match(text, hit.end()):
                yield hit.start()
    if own.has_family:
        known = own.words.replace(" ", "").lower()
        for hit in _FAMILY.finditer(text):
            if hit[0].replace(" ", "").lower() not in known:
                yield hit.start()


def _of_another_kind(text: str, names: str) -> Iterator[re.Match[str]]:
    """Yield where a text speaks of an app that can something which this one cannot, or less."""
    has = [any(name in names for name in said) for _, said in _TRAITED]
    for (pattern, _), is_own in zip(_TRAITED, has, strict=True):
        if not is_own:
            yield from pattern.finditer(text)
    if any(has):
        yield from _WITHOUT_TRAITS.finditer(text)


def _ours(text: str, own: Own) -> Iterator[int]:
    """Yield where a text speaks of the app itself."""
    for words in _LANGUAGES:
        yield from (hit.start() for hit in words.ours.finditer(text))
    for hit in _SIZE_LABEL.finditer(text):
        if own.is_size(float(hit[1])):
            yield hit.start()
