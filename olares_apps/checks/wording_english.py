"""How people write contexts, ports, speeds and drafts in English."""

import re
from typing import Final

from olares_apps.checks.wording_fields import FLAGS, Wording

__all__ = ["ASKERS", "COUNT", "ENGLISH"]

COUNT: Final = (
    r"((?i:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen|single))"
)
ASKERS: Final = (
    r"(?:requests?|users?|clients?|conversations?|chats?|streams?|people|persons?|sessions?"
    r"|questions?|prompts?|calls?|callers?)"
)
_VERBS: Final = r"(?:take|use|occup(?:y|ie)|need|require|weigh|measure|come to|amount to|total)s?"
_FILL: Final = (
    r"(?:[\s(*_`~≈]|\b(?:is|are|of|up|to|about|around|roughly|only|just|some|at|approximately"
    r"|another|a|the|in|all)\b)*"
)
_ROOM: Final = r"(?:\s?of (?:GPU |video |graphics |system )?(?:VRAM|memory|RAM|space))?"


ENGLISH: Final = Wording(
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
        FLAGS,
    ),
    context_after=re.compile(
        r"[\s(*_`'\"-]*(?:of )?(?:full[- ]|native[- ]|long[- ]|tokens?[- ](?:of )?)?"
        r"(?:context|ctx|window)",
        FLAGS,
    ),
    request_before=re.compile(
        rf"\b(?:each|every|per|one|single) (?:{ASKERS}|slots?)\b(?:[\s:(*_`]|\b(?:can|may|then"
        r"|gets?|has|have|sees?|uses?|holds?|receives?|takes?|is|of|with|up|to|a|the|its|own|full|all"
        r"|given|granted)\b)*$",
        FLAGS,
    ),
    request_after=re.compile(
        r"[\s)*_`]*(?:tokens?\s)?(?:of context\s)?(?:for|per|to|in|/)\s?"
        rf"(?:(?:each|every|one|a|any)\s)?(?:single\s)?(?:{ASKERS}|slots?)\b",
        FLAGS,
    ),
    output=re.compile(
        r"\b(?:answers?|outputs?|generat\w+|writes?|repl(?:y|ies)|max_tokens|completions?|thinking"
        r"|reasoning)\b",
        FLAGS,
    ),
    native=re.compile(r"\b(?:native(?:ly)?|trained?|yarn|exten[ds]\w*|model supports)\b", FLAGS),
    shared=re.compile(
        r"\b(?:in total|shar(?:ed?|ing)|altogether|in all|together|divid\w+|split\w*|between"
        r"|among)\b",
        FLAGS,
    ),
    at_before=re.compile(
        r"\bat\s(?:(?:up to|about|around|the full|full|all|all of its)\s)?$",
        FLAGS,
    ),
    at_after=re.compile(
        r"(?=\s*(?:$|[.,;:)!?|]|(?:tokens?|with|on|and|for|in|it|the|all|of)\b))", FLAGS
    ),
    at_other=re.compile(
        r"\b(?:audio|sound|voice|music|sampl\w+|k?hz|resolutions?|videos?|pixels?|images?|vocab\w*"
        r"|u?batch\w*|prompts?|prefill\w*|outputs?|answers?|repl(?:y|ies)|writes?|generat\w+"
        r"|budget|capp?ed|limit\w*|thinking|reasoning|downloads?|stars?|likes|price\w*|steps?"
        r"|chunks?|rope|yarn|train\w*|native\w*|bitrate|kb?ps)\b",
        FLAGS,
    ),
    served=re.compile(
        r"\b(?:runs?|running|served|serving|set|started|configured|launched|deployed)"
        r"\s(?:(?:here|now|fully|only|always|on \w+)\s)?at\b",
        FLAGS,
    ),
    effect=re.compile(
        r"\b(?:halv\w+|half|doubl\w+|drops?|falls?|fades?|slows?|slower|degrad\w+|decreas\w+"
        r"|declin\w+|grows?|rises?|increas\w+|suffers?|worsens?|stays?|remains?|still|begins?"
        r"|starts? to|changes?)\b",
        FLAGS,
    ),
    port=re.compile(
        r"\bports?(?: numbers?)?(?: is| of)?[\s:=*_`]{0,4}(\d{2,5})\b"
        r"|(?:localhost|0\.0\.0\.0|127\.0\.0\.1):(\d{2,5})",
        FLAGS,
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
        rf"|the next)\s)?{COUNT}\s(?:(?:more|further|draft|next)\s)?tokens?\b"
        rf"|\b{COUNT}[\s-](?:draft(?:ed)?|speculative|proposed|speculated)[\s-]tokens?\b"
        rf"|\b{COUNT}\stokens?\s(?:are\s)?(?:drafted|proposed|speculated|ahead)\b"
        r"|\b(?:[Dd]raft(?:ing)?|[Ss]peculat(?:ion|ive))[\s-](?:length|depth|size|window)\s?"
        r"(?:is set to|is|of|:|=|at|set to)?\s?"
        rf"{COUNT}\b(?!\.\d|\s?%)",
        re.ASCII,
    ),
    average=re.compile(r"\b(?:averages?|mean|typically|accept\w*|usually)\b", FLAGS),
    parallel=re.compile(
        rf"\b{COUNT}\s(?:(?:concurrent|parallel|simultaneous)\s{ASKERS}\b"
        rf"|{ASKERS}\s(?:\w+\s){{0,4}}?(?:at once|at (?:a|the same|one) time|in parallel"
        r"|concurrently|simultaneously|side by side|together)\b"
        r"|(?:parallel |server |request )?slots?\b)"
        r"|(?<![\w-])(?:parallel(?:ism)?|concurrency|(?:(?:parallel|concurrent|simultaneous)\s)?"
        r"(?:slots|users|requests)(?=\s?[:=]))\s?(?:is|of|:|=|set to)?\s?"
        rf"{COUNT}\b(?!\s?(?:%|x\b)|\.\d)"
        r"|\b(?:serves?|handles?|answers?|process(?:es)?)\s(?:(?:up to|at most|exactly|only)\s)?"
        rf"{COUNT}\s{ASKERS}\b(?!\s(?:per|a|an|in a|every)\b|/)",
        FLAGS,
    ),
    # Requests beyond those that are served wait in any case.
    queue=re.compile(
        r"(?<!further ones )(?<!further requests )(?<!more )(?<!others )(?<!rest )"
        r"\b(?:waits?|queued?|queues|in turn|one after)\b(?! further)",
        FLAGS,
    ),
    percent=re.compile(
        r"(?<![\w.,–-])(\d{1,3}(?:\.\d{1,2})?)\s?(?:%|percent\b|per cent\b)(?!\s?(?:to|-|–)\s?\d)",
        FLAGS,
    ),
    acceptance=re.compile(r"\baccept(?:s|ed|ance|ing)?\b", FLAGS),
    speculation=re.compile(
        r"mtp|draft|dflash|spec|eagle|n[-_]?max|propos|tokens? ahead", re.IGNORECASE
    ),
    cache=re.compile(r"\bKV\b|cache", FLAGS),
    cache_before=re.compile(
        r"(?:\bKV\b|cache)(?:(?!\b(?:weights?|model|files?|GGUF)\b|权重|模型|文件)[^;；])*$", FLAGS
    ),
    cache_after=re.compile(
        r"[\s*_`)]*(?:quanti[sz]ed\s|compressed\s|for the\s|as the\s)?(?:KV|K/V|[KV]\b|cache)",
        FLAGS,
    ),
    build=re.compile(r"\bbuild\s(?:number\s|no\.?\s)?#?(\d{4,5})(?!\w|\.\d)", FLAGS),
    tag=re.compile(
        r"\bimage(?:'s)? tag\s?(?:is\s|of\s|:|=)?[\s`'\"*]*([A-Za-z0-9][\w.-]*\d[\w-]*)", FLAGS
    ),
    # A rate per second is no size.
    size=re.compile(
        r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)[\s-]?(GB|GiB)\b"
        r"(?!\s?(?:/\s?s|/\s?秒|ps\b|per second))",
        re.ASCII,
    ),
    gpu=re.compile(r"\b(?:GPU|VRAM|video memory|graphics memory)\b", FLAGS),
    host=re.compile(r"\b(?:RAM|(?:system|host|main) memory|SSD|disks?|storage)\b", FLAGS),
    demand=re.compile(
        r"\b(?:needs?|requires?|minimum|at least|recommend\w*|enough|suffic\w+|fine|plenty)\b",
        FLAGS,
    ),
    card_before=re.compile(
        r"\b(?:cards?|GPUs?|RTX[\s-]?(?:PRO\s)?\d{4}\w*(?:\s(?:Ti|Super|Laptop|Mobile|D))*)\W{1,3}"
        r"(?:(?:with|of|has|have|having|only|at|least|just)\s)*$",
        FLAGS,
    ),
    card_after=re.compile(
        r"[\s-](?:of (?:GPU |video |graphics )?(?:memory|VRAM)\s)?(?:(?:VRAM|NVIDIA|GeForce|RTX"
        r"|laptop|graphics|video|consumer|memory|GPU)\s)*(?:cards?|GPUs?(?!\s?(?:memory|RAM))|laptops?"
        r"|RTX\s?\d{4})\b",
        FLAGS,
    ),
    suits=re.compile(
        r"\b(?:runs?|fits?|works?|enough|suffic\w+|needs?|requires?|minimum|at least|starts?|loads?"
        r"|suits?|suitable|recommend\w*|for)\b",
        FLAGS,
    ),
    weights_before=re.compile(
        r"\b(?:weights|model files?|GGUF(?: file)?)\b(?:\s(?:alone|themselves|files?|together"
        rf"|of the model))?[\s:=(]*(?:{_VERBS}\b)?{_FILL}$",
        FLAGS,
    ),
    weights_after=re.compile(
        rf"{_ROOM}[\s)]*(?:(?:of|for|are|as)\s(?:the\s|its\s)?)?(?:model\s)?"
        r"(?:weights|model files?|GGUF)\b",
        FLAGS,
    ),
    kv_before=re.compile(
        rf"\b(?:KV[\s-]?cache|KV)\b(?:\salone|\sitself)?[\s:=(]*(?:{_VERBS}\b)?{_FILL}$", FLAGS
    ),
    kv_after=re.compile(rf"{_ROOM}[\s)]*(?:(?:of|for|are|as)\s(?:the\s|its\s)?)?KV\b", FLAGS),
    thing_before=re.compile(
        r"\b(?:page ?file|paging file|swap(?: file| space| partition)?|zram|SSD|HDD|NVMe|USB stick)"
        rf"(?:\s(?:of|with|has|is|at))*{_FILL}$",
        FLAGS,
    ),
    thing_after=re.compile(
        r"[\s-]?(?:of )?(?:(?:page|paging|swap) ?(?:file|space|partition)|swap\b|zram|zswap|SSD"
        r"|HDD|NVMe|hard (?:disk|drive)|(?:USB )?(?:drive|stick)|partition|ISO\b"
        r"|(?:Docker |container )images?\b)",
        FLAGS,
    ),
    measured=re.compile(
        r"t/s|tok/s|tokens?/s|\b(?:tokens per second|tps|measure[ds]?|measurements?|benchmark\w*"
        r"|bench|per run|speed|decod\w+|prefill\w*|filled|tested)\b",
        FLAGS,
    ),
    api=re.compile(
        r"\b(?:API|server|endpoint|OpenAI|client|base[ _-]?url|serves?|served|listens?)\b|/v1\b",
        FLAGS,
    ),
    relay=re.compile(
        r"\b(?:redirect\w*|forward\w*|prox(?:y|ies|ied)|map(?:s|ped)?|tunnel\w*|ingress|firewall)\b",
        FLAGS,
    ),
    part_before=re.compile(
        r"^[\W_]*(?:draft(?:er)?(?: model)?|projector|mmproj)\s*:"
        r"|\b(?:drafter|draft (?:model|head)|(?:MTP|draft|output) head|head|projector|mmproj"
        r"|embeddings?)\b\W{1,3}(?:\w+\W{1,3}){0,3}$",
        FLAGS,
    ),
    part_after=re.compile(
        r"\W{0,3}(?:quantis\w+ |quantiz\w+ )?(?:MTP |DFlash |draft )?"
        r"(?:drafter|draft|head|projector|mmproj|embeddings?)\b",
        FLAGS,
    ),
)
