"""How people write contexts, ports, speeds and drafts, one table of patterns per language.

``\\w`` and ``\\b`` mean ASCII: Chinese writes no space between a number and the next word.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from re import Pattern
from typing import Final

__all__ = ["COUNTED", "COUNTS", "WORDINGS", "Wording"]


@dataclass(frozen=True, slots=True)
class Wording:
    """The patterns of one language.

    ``exempt`` matches what compares or tells history. What ends in ``_before`` ends before the
    number that it is about, what ends in ``_after`` begins behind it.

    ``context_*`` is about a context length, ``request_*`` about that of one request, ``output``
    about that of an answer, ``native`` about the model's own limit; ``shared`` says that several
    requests have it. Of ``port``, ``speed``, ``draft``, ``parallel`` and ``percent`` the one
    group that matched is the number. ``average`` says that a draft is no longest one,
    ``acceptance`` that a percentage is that of drafts, ``queue`` that requests wait,
    ``speculation`` and ``cache`` what a clause is about, ``measured`` that it tells a
    measurement, ``api`` that a port is the server's, ``relay`` that a port leads to another.
    ``part_*`` is about a drafter or projector, ``cache_*`` about the KV cache. ``build`` has
    the number of a build, ``tag`` an image's tag. ``size`` has a number and a unit; ``gpu`` and
    ``host`` say whose memory is meant, ``demand`` that it is asked for, ``card_*`` that it is
    what a card has and ``suits`` that such a card is enough. ``weights_*`` and ``kv_*`` say
    which part of the memory a size is that of.
    """

    exempt: Pattern[str]
    context_before: Pattern[str]
    context_after: Pattern[str]
    request_before: Pattern[str]
    request_after: Pattern[str]
    output: Pattern[str]
    native: Pattern[str]
    shared: Pattern[str]
    port: Pattern[str]
    speed: Pattern[str]
    draft: Pattern[str]
    average: Pattern[str]
    parallel: Pattern[str]
    queue: Pattern[str]
    percent: Pattern[str]
    acceptance: Pattern[str]
    speculation: Pattern[str]
    cache: Pattern[str]
    cache_before: Pattern[str]
    cache_after: Pattern[str]
    build: Pattern[str]
    tag: Pattern[str]
    size: Pattern[str]
    gpu: Pattern[str]
    host: Pattern[str]
    demand: Pattern[str]
    card_before: Pattern[str]
    card_after: Pattern[str]
    suits: Pattern[str]
    weights_before: Pattern[str]
    weights_after: Pattern[str]
    kv_before: Pattern[str]
    kv_after: Pattern[str]
    measured: Pattern[str]
    api: Pattern[str]
    relay: Pattern[str]
    part_before: Pattern[str]
    part_after: Pattern[str]


_FLAGS: Final = re.IGNORECASE | re.ASCII
COUNTS: Final = {
    **dict(
        zip("one two three four five six seven eight nine ten".split(), range(1, 11), strict=True)
    ),
    **dict(zip("一二三四五六七八九十", range(1, 11), strict=True)),
    **{"single": 1, "两": 2, "twelve": 12, "sixteen": 16},
}
"""Numbers in letters."""
_COUNT: Final = (
    r"((?i:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen|single))"
)
_ASKERS: Final = (
    r"(?:requests?|users?|clients?|conversations?|chats?|streams?|people|persons?|sessions?"
    r"|questions?|prompts?|calls?|callers?)"
)
_VERBS: Final = r"(?:take|use|occup(?:y|ie)|need|require|weigh|measure|come to|amount to|total)s?"
_FILL: Final = (
    r"(?:[\s(*_`~≈]|\b(?:is|are|of|up|to|about|around|roughly|only|just|some|at|approximately"
    r"|another|a|the|in|all)\b)*"
)
_ROOM: Final = r"(?:\s?of (?:GPU |video |graphics |system )?(?:VRAM|memory|RAM|space))?"

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
        r"(?:(?<![\w-])(?:context|ctx|window|full|remembers)|@)(?:[- ]?(?:window|size|length))?"
        r"[\s:=(*_`'\"~@]*(?:(?:can|may|will|that|which)\s)*"
        r"(?:(?:of|is|at|to|with|=|holds?|has|have|offers?|spans?|covers?|reaches|reach|allows?"
        r"|takes?|supports?|fits?|keeps?|stores?|set to|goes|extends?|runs)\s*)?"
        r"(?:(?:up to|to|at|at most|about|around|exactly|all of|only|a maximum of)\s*)?[\s*_`~]*$",
        _FLAGS,
    ),
    context_after=re.compile(
        r"[\s(*_`'\"-]*(?:of )?(?:full[- ]|native[- ]|long[- ]|tokens?[- ](?:of )?)?"
        r"(?:context|ctx|window)",
        _FLAGS,
    ),
    request_before=re.compile(
        rf"\b(?:each|every|per|one|single) (?:{_ASKERS}|slots?)\b(?:[\s:(*_`]|\b(?:can|may|then"
        r"|gets?|has|have|sees?|uses?|holds?|receives?|takes?|is|of|with|up|to|a|the|its|own|full|all"
        r"|given|granted)\b)*$",
        _FLAGS,
    ),
    request_after=re.compile(
        r"[\s)*_`]*(?:tokens?\s)?(?:of context\s)?(?:for|per|to|in|/)\s?"
        rf"(?:(?:each|every|one|a|any)\s)?(?:single\s)?(?:{_ASKERS}|slots?)\b",
        _FLAGS,
    ),
    output=re.compile(
        r"\b(?:answers?|outputs?|generat\w+|writes?|repl(?:y|ies)|max_tokens|completions?|thinking"
        r"|reasoning)\b",
        _FLAGS,
    ),
    native=re.compile(r"\b(?:native(?:ly)?|trained?|yarn|exten[ds]\w*|model supports)\b", _FLAGS),
    shared=re.compile(
        r"\b(?:in total|shar(?:ed?|ing)|altogether|in all|together|divid\w+|split\w*|between"
        r"|among)\b",
        _FLAGS,
    ),
    port=re.compile(
        r"\bports?(?: numbers?)?(?: is| of)?[\s:=*_`]{0,4}(\d{2,5})\b"
        r"|(?:localhost|0\.0\.0\.0|127\.0\.0\.1):(\d{2,5})",
        _FLAGS,
    ),
    speed=re.compile(
        r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)[\s*_]{0,3}"
        r"(?:t/s|tok/s|tokens?/s(?:ec)?|tokens per second|tps)\b",
        re.ASCII,
    ),
    draft=re.compile(
        r"(?:n[-_ ]?max|num_speculative_tokens|\bn)[\s*_`]{0,3}[:=][\s*_`]{0,3}(\d{1,2})\b"
        r"|n[-_ ]?max\s+(?:(?:is|of|at|set to|to)\s+)?(\d{1,2})\b"
        r"|\b(?:[Dd]raft(?:s|ing)?|[Pp]ropos(?:es?|ing)|[Ss]peculat(?:es?|ing)|[Pp]redict(?:s|ing)?"
        r"|[Gg]uess(?:es|ing)?)\s(?:(?:up to|at most|a maximum of|as many as|exactly|only|always"
        rf"|the next)\s)?{_COUNT}\s(?:(?:more|further|draft|next)\s)?tokens?\b"
        rf"|\b{_COUNT}[\s-](?:draft(?:ed)?|speculative|proposed|speculated)[\s-]tokens?\b"
        rf"|\b{_COUNT}\stokens?\s(?:are\s)?(?:drafted|proposed|speculated|ahead)\b"
        r"|\b(?:[Dd]raft(?:ing)?|[Ss]peculat(?:ion|ive))[\s-](?:length|depth|size|window)\s?"
        r"(?:is set to|is|of|:|=|at|set to)?\s?"
        rf"{_COUNT}\b(?!\.\d|\s?%)",
        re.ASCII,
    ),
    average=re.compile(r"\b(?:averages?|mean|typically|accept\w*|usually)\b", _FLAGS),
    parallel=re.compile(
        rf"\b{_COUNT}\s(?:(?:concurrent|parallel|simultaneous)\s{_ASKERS}\b"
        rf"|{_ASKERS}\s(?:\w+\s){{0,4}}?(?:at once|at (?:a|the same|one) time|in parallel"
        r"|concurrently|simultaneously|side by side|together)\b"
        r"|(?:parallel |server |request )?slots?\b)"
        r"|(?<![\w-])(?:parallel(?:ism)?|concurrency|(?:(?:parallel|concurrent|simultaneous)\s)?"
        r"(?:slots|users|requests)(?=\s?[:=]))\s?(?:is|of|:|=|set to)?\s?"
        rf"{_COUNT}\b(?!\s?(?:%|x\b)|\.\d)"
        r"|\b(?:serves?|handles?|answers?|process(?:es)?)\s(?:(?:up to|at most|exactly|only)\s)?"
        rf"{_COUNT}\s{_ASKERS}\b(?!\s(?:per|a|an|in a|every)\b|/)",
        _FLAGS,
    ),
    # Requests beyond those that are served wait in any case.
    queue=re.compile(
        r"(?<!further ones )(?<!further requests )(?<!more )(?<!others )(?<!rest )"
        r"\b(?:waits?|queued?|queues|in turn|one after)\b(?! further)",
        _FLAGS,
    ),
    percent=re.compile(
        r"(?<![\w.,–-])(\d{1,3}(?:\.\d{1,2})?)\s?(?:%|percent\b|per cent\b)(?!\s?(?:to|-|–)\s?\d)",
        _FLAGS,
    ),
    acceptance=re.compile(r"\baccept(?:s|ed|ance|ing)?\b", _FLAGS),
    speculation=re.compile(
        r"mtp|draft|dflash|spec|eagle|n[-_]?max|propos|tokens? ahead", re.IGNORECASE
    ),
    cache=re.compile(r"\bKV\b|cache", _FLAGS),
    cache_before=re.compile(
        r"(?:\bKV\b|cache)(?:(?!\b(?:weights?|model|files?|GGUF)\b|权重|模型|文件)[^;；])*$", _FLAGS
    ),
    cache_after=re.compile(
        r"[\s*_`)]*(?:quanti[sz]ed\s|compressed\s|for the\s|as the\s)?(?:KV|K/V|[KV]\b|cache)",
        _FLAGS,
    ),
    build=re.compile(r"\bbuild\s(?:number\s|no\.?\s)?#?(\d{4,5})(?!\w|\.\d)", _FLAGS),
    tag=re.compile(
        r"\bimage(?:'s)? tag\s?(?:is\s|of\s|:|=)?[\s`'\"*]*([A-Za-z0-9][\w.-]*\d[\w-]*)", _FLAGS
    ),
    # A rate per second is no size.
    size=re.compile(
        r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)[\s-]?(GB|GiB)\b"
        r"(?!\s?(?:/\s?s|/\s?秒|ps\b|per second))",
        re.ASCII,
    ),
    gpu=re.compile(r"\b(?:GPU|VRAM|video memory|graphics memory)\b", _FLAGS),
    host=re.compile(r"\b(?:RAM|(?:system|host|main) memory|SSD|disks?|storage)\b", _FLAGS),
    demand=re.compile(
        r"\b(?:needs?|requires?|minimum|at least|recommend\w*|enough|suffic\w+|fine|plenty)\b",
        _FLAGS,
    ),
    card_before=re.compile(
        r"\b(?:cards?|GPUs?|RTX[\s-]?(?:PRO\s)?\d{4}\w*(?:\s(?:Ti|Super|Laptop|Mobile|D))*)\W{1,3}"
        r"(?:(?:with|of|has|have|having|only|at|least|just)\s)*$",
        _FLAGS,
    ),
    card_after=re.compile(
        r"[\s-](?:of (?:GPU |video |graphics )?(?:memory|VRAM)\s)?(?:(?:VRAM|NVIDIA|GeForce|RTX"
        r"|laptop|graphics|video|consumer|memory|GPU)\s)*(?:cards?|GPUs?(?!\s?(?:memory|RAM))|laptops?"
        r"|RTX\s?\d{4})\b",
        _FLAGS,
    ),
    suits=re.compile(
        r"\b(?:runs?|fits?|works?|enough|suffic\w+|needs?|requires?|minimum|at least|starts?|loads?"
        r"|suits?|suitable|recommend\w*|for)\b",
        _FLAGS,
    ),
    weights_before=re.compile(
        r"\b(?:weights|model files?|GGUF(?: file)?)\b(?:\s(?:alone|themselves|files?|together"
        rf"|of the model))?[\s:=(]*(?:{_VERBS}\b)?{_FILL}$",
        _FLAGS,
    ),
    weights_after=re.compile(
        rf"{_ROOM}[\s)]*(?:(?:of|for|are|as)\s(?:the\s|its\s)?)?(?:model\s)?"
        r"(?:weights|model files?|GGUF)\b",
        _FLAGS,
    ),
    kv_before=re.compile(
        rf"\b(?:KV[\s-]?cache|KV)\b(?:\salone|\sitself)?[\s:=(]*(?:{_VERBS}\b)?{_FILL}$", _FLAGS
    ),
    kv_after=re.compile(rf"{_ROOM}[\s)]*(?:(?:of|for|are|as)\s(?:the\s|its\s)?)?KV\b", _FLAGS),
    measured=re.compile(
        r"t/s|tok/s|tokens?/s|\b(?:tokens per second|tps|measure[ds]?|measurements?|benchmark\w*"
        r"|bench|per run|speed|decod\w+|prefill\w*|filled|tested)\b",
        _FLAGS,
    ),
    api=re.compile(
        r"\b(?:API|server|endpoint|OpenAI|client|base[ _-]?url|serves?|served|listens?)\b|/v1\b",
        _FLAGS,
    ),
    relay=re.compile(
        r"\b(?:redirect\w*|forward\w*|prox(?:y|ies|ied)|map(?:s|ped)?|tunnel\w*|ingress|firewall)\b",
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
_NUMBER: Final = r"(\d{1,3}|[一二两三四五六七八九十])"
_ASKING: Final = r"(?:请求|用户|会话|对话|连接|客户端|人|槽位?|任务)"
_TAKES: Final = (
    r"(?:本身|单独|文件|大小|占用|占据|占|需要|需|要|为|是|约|大约|共|仅|只|达|有|：|:|=|（|\(|\s)*"
)
_CHINESE: Final = Wording(
    exempt=re.compile(
        r"上一版|上一个版本|未使用|未采用|之前|以前|此前|先前|原来|原先|原为|旧版|旧的|曾|相比|对比|比起|而不是|而非|不再|放不下"
        r"|装不下|无法容纳|不足以|回退|回滚|基线|如果|若(?!干)|假如|例如|比如|譬如|其他|另一|另外"
        r"|降低|减小|减少|降到|降至|缩小|调低|大于|小于|超过|高于|低于|桌面"
        r"|[从由]\s*[^，。；]{1,24}?(?:提升|增加|提高|扩大|升级|改|降|变|更新)?[到至为成]\s*"
    ),
    context_before=re.compile(
        r"(?:上下文(?:长度|窗口|大小|容量|上限)?|窗口(?:大小|长度)?)[\s:：=（(*_`]*"
        r"(?:(?:最大|最长|最多|默认|能够?|可以?|均|都)*(?:为|是|达到|达|支持|约|高达|有|共|设为|配置为"
        r"|容纳|装下|提供|保留|覆盖|放下|记住)?)?"
        r"[\s:：*_`约达]*$"
    ),
    context_after=re.compile(
        rf"[\s*_`）)\"”]*(?:{_PIECE})?\s*的?\s*(?:完整|全|满|超长|最大|长|配置的?)?\s*上下文"
    ),
    request_before=re.compile(
        rf"每(?:一)?(?:个|路|条|次|位|名)?\s?{_ASKING}(?:可以?|能够?|都|均|各|独享|独占|分到|获得|得到"
        r"|拥有|享有|使用|有|最多|支持|为|是|用|：|:|的|上下文|\s)*$"
    ),
    request_after=re.compile(
        rf"\s*(?:{_PIECE})?\s*(?:/|每|给每|用于每|供每)(?:一)?(?:个|路|条|次|位)?\s?{_ASKING}"
    ),
    output=re.compile(r"输出|回答|回复|生成|思考"),
    native=re.compile(r"原生|训练|模型支持|模型本身|扩展到|扩展至"),
    shared=re.compile(r"共享|总计|合计|总共|一共|平分|均分|分给|平均分"),
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
        r"(?:每步|每次|一次|起草|草拟|预测|推测|提出|猜测)(?:最多|至多|可|能|会|起草|草拟|预测|推测|提出"
        rf"|猜测|生成|约|\s)*{_NUMBER}\s*(?:个\s?)?(?:草稿\s?)?{_PIECE}"
        r"|(?:草稿|起草|草拟|推测)(?:长度|深度|数量|步数|步长)?(?:设为|设置为|为|是|最多|：|:|=|\s)*"
        rf"{_NUMBER}(?![\d.%])(?:\s*{_PIECE}|(?=\s*(?:[，。；、）)]|$)))"
        rf"|{_NUMBER}\s*个草稿词元"
        r"|n[-_ ]?max\s*(?:设|设置)?(?:为|是|：|等于|=)\s*(\d{1,2})(?![\d.])",
        re.ASCII,
    ),
    average=re.compile(r"平均|通常|接受"),
    parallel=re.compile(
        r"(?:同时|并行|并发)(?:请求)?(?:数量?|度|路数)?(?:地|最多|最高|可以?|能够?|支持|处理|服务|响应"
        r"|接受|运行|执行|回答|应答|约|至多|仅|只|为|是|：|:|=|\s)*"
        rf"{_NUMBER}(?:\s*(?:个|路|条|位|名)?\s*(?:并发|并行)?的?\s?{_ASKING}"
        r"|(?=\s*(?:[，。；、）)]|$)))"
        rf"|{_NUMBER}\s*(?:个|路|条|位|名)?\s*(?:(?:并发|并行|同时)(?:的|处理|进行)?\s?{_ASKING}"
        rf"|{_ASKING}(?:可以?|能够?|会)?(?:同时|并行|并发)|(?:并行|并发)?槽位?|(?<=路)(?:并发|并行))"
        rf"|一次(?:只|仅|最多|能|可以?)*(?:处理|服务)\s*{_NUMBER}\s*个?\s?{_ASKING}",
        re.ASCII,
    ),
    queue=re.compile(
        r"(?<!无需)(?<!不用)(?<!不必)(?<!其余)(?<!其余请求)(?<!更多请求)(?<!后续请求)(?:排队|等待|依次|逐个)"
    ),
    percent=re.compile(r"百分之\s*(\d{1,3}(?:\.\d{1,2})?)"),
    acceptance=re.compile(r"接受|采纳|采用率|命中率"),
    speculation=re.compile(r"草稿|起草|草拟|推测|投机|多词元预测|每步|提出|猜测"),
    cache=re.compile(r"缓存"),
    cache_before=re.compile(
        r"缓存(?:(?!\b(?:weights?|model|files?|GGUF)\b|权重|模型|文件)[^;；])*$"
    ),
    cache_after=re.compile(r"[\s*_`）)]*(?:量化|格式|类型)?\s*的?\s*(?:KV|[KV]\b)?\s*缓存"),
    build=re.compile(r"构建(?:号|版本)?(?:为|是|：|:|\s)*(\d{4,5})(?![\d.])"),
    tag=re.compile(r"镜像(?:的)?标签(?:为|是|：|:|=|\s|`)*([A-Za-z0-9][\w.-]*\d[\w-]*)", re.ASCII),
    size=re.compile(
        r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)\s?(G)(?=\s?的?(?:显存|内存|GPU))"
        r"|(?:显存|内存)(?:占用|需求|需要|约|为|共|：|:|\s)*(\d{1,4}(?:\.\d{1,2})?)\s?(G)(?!\w)",
        re.ASCII,
    ),
    gpu=re.compile(r"显存"),
    host=re.compile(r"内存|硬盘|磁盘|存储"),
    demand=re.compile(r"需要|至少|最低|要求|推荐|建议|足够|够用|即可"),
    card_before=re.compile(
        r"(?:显卡|卡|GPU|RTX\s?\d{4}\w*(?:\s(?:Ti|Super))?)(?:的)?(?:显存)?"
        r"(?:只有|仅有|有|为|是|（|\(|\s)*$",
        re.ASCII,
    ),
    card_after=re.compile(
        r"\s?(?:的)?(?:显存)?(?:的)?\s?(?:NVIDIA\s?|笔记本\s?)?(?:显卡|卡|GPU|笔记本)"
    ),
    suits=re.compile(
        r"运行|可用|足够|够用|装得下|放得下|需要|至少|最低|启动|跑|适合|适用|支持|推荐|建议|即可|就够"
    ),
    weights_before=re.compile(rf"(?:权重|模型文件|GGUF)的?{_TAKES}$"),
    weights_after=re.compile(r"\s?(?:大小)?(?:用于|是)?的?\s?(?:模型)?(?:权重|模型文件|GGUF)"),
    kv_before=re.compile(rf"(?:KV\s?缓存|键值缓存)的?{_TAKES}$"),
    kv_after=re.compile(r"\s?(?:用于|是)?的?\s?(?:KV\s?缓存|键值缓存)"),
    measured=re.compile(r"每秒|首行|实测|测得|测试|速度|基准|跑分|词元/s"),
    api=re.compile(r"接口|服务|端点|监听|客户端"),
    relay=re.compile(r"重定向|转发|跳转|映射|代理|防火墙"),
    part_before=re.compile(
        r"^[\W_]*(?:草稿模型|起草模型|多模态投影|投影)\s*[：:]"
        r"|(?:草稿(?:模型|头)?|起草(?:模型|头)|MTP\s?头|投影|嵌入)\s*"
        r"(?:的)?(?:量化)?(?:为|是|采用|使用|：|:)?\s*$"
    ),
    part_after=re.compile(r"\s*(?:量化)?\s*(?:的)?\s*(?:草稿|起草|MTP\s?头|投影|嵌入)"),
)
WORDINGS: Final[Mapping[str, Wording]] = {"en-US": _ENGLISH, "zh-CN": _CHINESE}
"""The tables by the locale whose language they are in."""
COUNTED: Final = re.compile(
    rf"(?:^|\s){_COUNT}\s(?:\w+\s)?(?:{_ASKERS}|slots?|tokens?)\b"
    rf"|[一二两三四五六七八九十]\s?(?:个|路|条|位|名)?\s?(?:并发|并行|草稿)?(?:词元|槽|{_ASKING})"
    rf"|[一二两三四五六七八九十]\s?路|\b(?:depth|length|concurrency)\s?(?:of|is|:)\s{_COUNT}\b",
    _FLAGS,
)
"""A number in letters that a rule reads."""
