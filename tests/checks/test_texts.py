"""What sentences claim: the number that is wrong is found, the one about something else is not."""

from collections.abc import Mapping

import pytest
from support.check_charts import BENCH_RECORD, flagship, flagship_spec

from olares_apps.checks import RULES, run_rules
from olares_apps.findings import Finding

# The flagship runs 262144 tokens, UD-Q3_K_XL, port 8000, n-max 3, one slot, a q4_0 cache and
# weights of 17.2 GB; one bench record is of 32768.
BENCH = BENCH_RECORD | {"ctx": 32768}
OF_TEXTS = [name for name in RULES if name.startswith("text-")]


def said(
    text: str, locale: str = "en-US", more: Mapping[str, object] | None = None
) -> list[Finding]:
    """Return what the text rules say of a sentence on the flagship's page."""
    changes: dict[str, object] = {"bench": [BENCH], **(more or {})}
    if locale == "en-US":
        changes["text.about"] = f"Fine.\n\n{text}\n"
    else:
        page = {"summary": "好。", "about": f"好。\n\n{text}\n", "limits": []}
        changes["locales"] = {locale: page}
    context = flagship(changes).context(spec=flagship_spec(changes))
    return run_rules(context, select=OF_TEXTS)


WRONG = {
    "It offers a 32K context.": ("text-context", "error", "context 32K, config 262144"),
    "A window of 32,768 tokens of context.": ("text-context", "error", "context 32,768"),
    "At 64K context it gave 252.6 t/s.": ("text-context", "error", "context 64K"),
    "The OpenAI API listens on port 8080.": ("text-port", "error", "port 8080, config 8000"),
    "Use http://localhost:8080/v1 as base URL.": ("text-port", "error", "port 8080"),
    "Open port 8080 afterwards.": ("text-port", "warning", "port 8080"),
    "Served as UD-Q4_K_XL with a draft head.": ("text-quant", "error", "quant UD-Q4_K_XL"),
    "The model is Q8_0.": ("text-quant", "error", "quant Q8_0"),
    "Weights: Q4_K_M, the draft head is Q8_0.": ("text-quant", "error", "quant Q4_K_M"),
    "Built from master-abc1234.": ("text-build", "error", "build master-abc1234"),
    "Needs 8 GB of RAM.": ("text-size", "error", "8 GB"),
    "Needs 12.5 GB of VRAM.": ("text-size", "error", "12.5 GB"),
    # Drafts
    "Drafts up to 5 tokens per step.": ("text-draft", "error", "n-max 5, config 3"),
    "Drafts five tokens per step.": ("text-draft", "error", "n-max 5, config 3"),
    "The draft n-max is 5.": ("text-draft", "error", "n-max 5, config 3"),
    "MTP proposes 2 tokens per step.": ("text-draft", "error", "n-max 2, config 3"),
    "The server drafts at most four tokens ahead.": ("text-draft", "error", "n-max 4"),
    "Speculation depth: 5 tokens.": ("text-draft", "error", "n-max 5"),
    "Up to 5 tokens are drafted per step.": ("text-draft", "error", "n-max 5"),
    "Drafting depth of five.": ("text-draft", "error", "n-max 5"),
    "A draft depth of 7 works best.": ("text-draft", "error", "n-max 7"),
    # Parts of the memory
    "The weights take 22 GB.": ("text-size", "error", "22 GB, config 17.2"),
    "The weights take up about 22 GB of VRAM.": ("text-size", "error", "22 GB"),
    "Model weights: 20.5 GB.": ("text-size", "error", "20.5 GB, config 17.2"),
    "It loads 22 GB of weights.": ("text-size", "error", "22 GB, config 17.2"),
    "The KV cache takes 17.2 GB.": ("text-size", "error", "17.2 GB, config 3.2"),
    # Cards
    "It runs fine on a 12 GB card.": ("text-size", "error", "a card of 12 GB, the app needs 21.9"),
    "A GPU with 16 GB is enough.": ("text-size", "error", "a card of 16 GB"),
    # The KV cache
    "KV cache in f16.": ("text-quant", "error", "KV cache f16, config q4_0"),
    "KV cache in Q8_0.": ("text-quant", "error", "KV cache q8_0, config q4_0"),
    "A 16-bit cache, FP16 KV.": ("text-quant", "error", "KV cache f16"),
    "The keys and values of the cache are bf16.": ("text-quant", "error", "KV cache bf16"),
    # Contexts
    "The window holds 64k tokens.": ("text-context", "error", "context 64k, config 262144"),
    "The context window can hold up to 128K tokens.": ("text-context", "error", "context 128K"),
    "A 131,072-token context window.": ("text-context", "error", "context 131,072"),
    "It runs here with 128K of context.": ("text-context", "error", "context 128K"),
    "Each request gets 64K tokens.": ("text-context", "error", "context 64K"),
    "Since version 1.0.1 the context is 64K tokens.": ("text-context", "error", "context 64K"),
    "Version 1.0.2 runs a 64K context.": ("text-context", "error", "context 64K"),
    "It runs at 64K.": ("text-context", "warning", "context 64K, config 262144"),
    "Started at 128K, without swapping.": ("text-context", "warning", "context 128K"),
    "Long chats at 524K, without swapping.": ("text-context", "warning", "context 524K"),
    "At 64K context three chats fit.": ("text-context", "error", "context 64K"),
    "This version with vision has a 32K context.": ("text-context", "error", "context 32K"),
    "The text-only app has a 32K context.": ("text-context", "error", "context 32K"),
    # Images and builds
    "Image tag server-cuda-b11434.": ("text-build", "error", "build b11434"),
    "| Image | docker.io/aamsellem/llama-cpp-mtp:v2 |": ("text-image", "error", "image tag v2"),
    "Image tag server-cuda-v2.": ("text-image", "error", "image tag server-cuda-v2"),
    "Based on llama.cpp build 11434.": ("text-build", "error", "build b11434"),
    # Requests at a time
    "Four requests at once.": ("text-parallel", "error", "parallel 4, config 1"),
    "Serves 4 parallel requests.": ("text-parallel", "error", "parallel 4, config 1"),
    "Up to four users can chat at the same time.": ("text-parallel", "error", "parallel 4"),
    "Four requests at once, further ones wait.": ("text-parallel", "error", "parallel 4"),
    "Parallel slots: 4.": ("text-parallel", "error", "parallel 4, config 1"),
    "Concurrency: 4.": ("text-parallel", "error", "parallel 4"),
    # The app is meant although something else is denied, compared or named
    "Quantised as UD-Q4_K_XL, not as Q3_K_XL.": ("text-quant", "error", "quant UD-Q4_K_XL"),
    "The port is 8080 and no key is needed.": ("text-port", "warning", "port 8080"),
    "No login: the API listens on port 8080.": ("text-port", "error", "port 8080"),
    "The API listens on port 443.": ("text-port", "error", "port 443"),
    "It reaches 300 t/s and does not slow down.": ("text-speed", "error", "300 t/s"),
    "The 27B sibling is dense, this one reaches 300 t/s.": ("text-speed", "error", "300 t/s"),
    "This 35B model reaches 300 tokens per second.": ("text-speed", "error", "300 t/s"),
    "This model is a mixture. It reaches 300 t/s.": ("text-speed", "error", "300 t/s"),
    "It does not think. It reaches 300 t/s.": ("text-speed", "error", "300 t/s"),
}
WRONG_CHINESE = {
    "可在 128K 下运行。": ("text-context", "warning", "context 128K, config 262144"),
    "端口：８０８０，用于 API。": ("text-port", "error", "port 8080"),
    "上下文为 ３２Ｋ。": ("text-context", "error", "context 32K"),
    "推测解码，n-max 为 5。": ("text-draft", "error", "n-max 5, config 3"),
    "推测解码 n_max：5": ("text-draft", "error", "n-max 5, config 3"),
    "使用镜像 master-abc1234。": ("text-build", "error", "build master-abc1234"),
    "显存 12.5 GB。": ("text-size", "error", "12.5 GB"),
    "模型为 Q8_0 量化。": ("text-quant", "error", "quant Q8_0"),
    "需要 8 GB 内存。": ("text-size", "error", "8 GB"),
    "速度良好，上下文 64K。": ("text-context", "error", "context 64K"),
    "每步最多草拟 5 个词元。": ("text-draft", "error", "n-max 5, config 3"),
    "每步最多草拟五个词元。": ("text-draft", "error", "n-max 5, config 3"),
    "推测解码每次提出 5 个词元。": ("text-draft", "error", "n-max 5"),
    "草稿深度为 8。": ("text-draft", "error", "n-max 8"),
    "权重占用 22 GB。": ("text-size", "error", "22 GB, config 17.2"),
    "KV 缓存需要 6 GB。": ("text-size", "error", "6 GB, config 3.2"),
    "适合 16 GB 显卡。": ("text-size", "error", "a card of 16 GB"),
    "12 GB 显存的显卡即可运行。": ("text-size", "error", "a card of 12 GB"),
    "KV 缓存采用 f16。": ("text-quant", "error", "KV cache f16, config q4_0"),
    "键值缓存使用 q8_0 类型。": ("text-quant", "error", "KV cache q8_0"),
    "窗口可容纳 64K 词元。": ("text-context", "error", "context 64K"),
    "每位用户独享 32K 上下文。": ("text-context", "error", "context 32K"),
    "使用 8 GB 显卡即可。": ("text-size", "error", "a card of 8 GB"),
    "推荐 12 GB 显卡。": ("text-size", "error", "a card of 12 GB"),
    "推测深度设为 6。": ("text-draft", "error", "n-max 6"),
    "无需等待，同时支持 4 位用户。": ("text-parallel", "error", "parallel 4"),
    "镜像标签 server-cuda-b11434。": ("text-build", "error", "build b11434"),
    "构建号 11434。": ("text-build", "error", "build b11434"),
    "同时处理 4 个请求。": ("text-parallel", "error", "parallel 4, config 1"),
    "最大并发 4。": ("text-parallel", "error", "parallel 4, config 1"),
    "可供 3 人同时使用。": ("text-parallel", "error", "parallel 3, config 1"),
    "支持四路并发。": ("text-parallel", "error", "parallel 4, config 1"),
    "最多支持 3 个并发请求。": ("text-parallel", "error", "parallel 3"),
    "模型采用 UD-Q4_K_XL 量化，不是 Q3_K_XL。": ("text-quant", "error", "quant UD-Q4_K_XL"),
    "不需要密钥，API 端口为 8080。": ("text-port", "error", "port 8080"),
    "速度每秒 300 个词元，不会变慢。": ("text-speed", "error", "300 t/s"),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_claim_is_found(text: str) -> None:
    (found,) = said(text)
    rule, severity, message = WRONG[text]
    assert (found.rule, found.severity.value) == (rule, severity)
    assert message in found.message


@pytest.mark.parametrize("text", WRONG_CHINESE)
def test_a_wrong_claim_in_chinese_is_found_with_its_line(text: str) -> None:
    (found,) = said(text, "zh-CN")
    rule, severity, message = WRONG_CHINESE[text]
    assert (found.rule, found.severity.value) == (rule, severity)
    assert message in found.message
    assert found.line is not None


RIGHT = [
    "| 32,768 | 252.64 | - | - | `docker.io/aamsellem/llama-cpp-mtp:v2` |",
    "At 32K context it gave 252.6 tokens per second.",
    "Measured with a context of 32,768 tokens.",
    "It offers a 262K context; the model natively supports 131072 tokens of context.",
    "Connect Open WebUI on port 3000 to it.",
    "Ollama's own port 11434 stays free.",
    "Put nginx with port 443 in front.",
    "The draft head is Q8_0.",
    "The drafter (Q8_0) lies beside it.",
    "A Q8_0 drafter proposes tokens.",
    "Draft model: dflash-draft.gguf, Q8_0, small.",
    "The projector is F16, its embeddings Q6_K.",
    "32 GB RAM minimum.",
    "At least 64 GB of system memory is recommended.",
    "Requires 100 GB of free disk space.",
    "Built from master-ad27757.",
    "Answers on port 8000.",
    "With n-max 3 the head drafts three tokens.",
    "Released in 2026 with 35B parameters, 3B active.",
    "The PCIe link moves 32 GB/s and the memory 896 GB/s.",
    "Prefill runs at 2000 tokens per second.",
    "Version 1.0.0 had a 32K context.",
    # What agrees, in the words of what is found above
    "Drafts up to 3 tokens per step; one head drafts three tokens.",
    "The weights take 17.2 GB, 3.2 GB of KV cache come on top.",
    "The weights and the cache together take 21.9 GB.",
    "With the weights loaded, 21.9 GB of VRAM are in use.",
    "KV cache in q4_0, a quarter of f16.",
    "The window holds 262k tokens; each request gets 262,144 tokens.",
    "Image tag master-ad27757.",
    "One request at a time; further ones wait.",
    "Runs on a 24 GB card, and on a 32 GB card.",
    # What changes as the context fills
    "At 128K of context the speed halves.",
    "It still answers quickly, but slows down at 128K of context.",
    "At 262K it runs well.",
    "It performs best at 32K.",
    "Needle tests pass at 128K.",
    "For long documents at 128K, use fewer slots.",
    "It would run at 196K with a q8_0 cache; prompts at 128K take a minute.",
    "Sampled at 96K, the audio is clean.",
    "Images at 128K resolution are cut.",
    # An app with another trait, and sizes of no part of the app
    "The app with vision keeps a 128K context.",
    "The vision version runs 64K of context.",
    "The audio edition has a 32K context.",
    "The 16 GB page file holds the rest.",
    "A swap file of 32 GB helps on small machines.",
    "The 5 GB container image is pulled first.",
    "A 512 GB SSD is in the machine.",
    # A denial
    "With a 16 GB card it does not start.",
    "With a 16 GB card it does not start, a 24 GB card is enough.",
    "Cards of 16 GB are not supported.",
    "A 16 GB GPU is too small.",
    "16 GB of VRAM is not enough.",
    "Not quantised as Q4_K_XL.",
    "This isn't the UD-Q4_K_XL file.",
    "It is no Q4_K_M file.",
    "The server does not listen on port 8080.",
    "Two requests at once are not possible.",
    "Two requests at once wait for each other.",
    "Nothing listens on port 8080.",
    "Q3_K_XL only; Q4_K_XL exceeds the card.",
    "With 8 GB of RAM it swaps.",
    "Beyond 64K tokens of context it slows down.",
    "Switching the cache to f16 needs 12 GB.",
    "The weights are not 22 GB but 17.2 GB.",
    # Another model, another release, another setting, another device
    "The dense 27B sibling reaches 60 tokens per second.",
    "A 27B dense model gives 60 tokens per second.",
    "Gemma 4 12B reaches 110 tokens per second on the same machine.",
    "This 35B-A3B model gives 252.6 t/s, the 27B one 60 t/s.",
    "The 27B sibling is dense. It reaches 60 tokens per second.",
    "On an RTX 3060 it gave 20 t/s.",
    "For a 16 GB card take the 9B app.",
    "Olares needs 8 GB of RAM for itself.",
    "Version 1.0.0 offers a 64K context.",
    "Without MTP it gives 120 t/s.",
    "With drafting off it reaches 120 t/s.",
    "An RTX 3060 has 12 GB.",
    "The web page redirects port 443 to the app.",
    "A reverse proxy maps port 8443 to it.",
    "HTTPS on port 443 leads to the page.",
    # A comparison, a supposition, a mean, an answer
    "It is twice as fast as the 120 t/s of version 1.0.0.",
    "Three times as fast as the 84 t/s of plain decoding.",
    "If four requests arrive at once, three wait.",
    "Drafts 3 tokens per step; on average it drafts 2 tokens.",
    "Answers of up to 8K tokens per request.",
    "A prompt of 32K tokens takes 12 seconds.",
    "The head accepts 95 % of the drafts.",
]
RIGHT_CHINESE = [
    "在 128K 分辨率下图像被裁剪。",
    "视觉版的上下文为 64K。",
    "需要 32 GB 交换空间。",
    "草稿头为 Q8_0。",
    "草稿模型：dflash.gguf，Q8_0。",
    "Q8_0 草稿模型负责提出词元。",
    "草稿 1 GB 的显存已计入 21.9 GB 显存。",
    "在 32K 上下文下实测每秒 252.6 个词元。",
    "把 Open WebUI 的端口 3000 打开。",
    "至少需要 64 GB 内存。",
    "端口：８０００",
    "镜像 master-ad27757。",
    "推测解码，n-max 为 3。",
    "内存带宽为 896 GB/s。",
    "预填充速度为每秒 2000 个词元。",
    "上一版本的上下文为 32K。",
    "未使用 8080 端口。",
    "每步最多草拟 3 个词元。",
    "权重占用 17.2 GB，KV 缓存 3.2 GB。",
    "KV 缓存采用 q4_0。",
    "窗口可容纳 262K 词元。",
    "镜像标签 master-ad27757。",
    "同时处理一个请求。",
    "适合 24 GB 显卡。",
    "在 16 GB 显卡上无法启动。",
    "12 GB 显卡跑不起来。",
    "16 GB 显存不够。",
    "并非 Q4_K_XL 量化。",
    "请勿使用 Q4_K_XL 文件。",
    "不要打开 8080 端口。",
    "不能同时处理 4 个请求。",
    "两个请求同时到达时会排队。",
    "27B 稠密模型每秒 60 个词元。",
    "同系列的模型每秒 60 个词元。",
    "关闭 MTP 后每秒 120 个词元。",
    "网页把 443 端口转发到应用。",
    "速度是 1.0.0 版 120 t/s 的两倍。",
    "比 1.0.0 版本的 120 t/s 快一倍。",
    "27B 版本是稠密模型。它每秒 60 个词元。",
    "权重不是 22 GB，而是 17.2 GB。",
    "每个请求最多输出 8192 个词元。",
    "当上下文达到 128K 时速度下降。",
    "同时支持 262K 上下文和 24 GB 显卡，同时占用 21.9 GB 显存。",
    "16 GB 显卡请选用 9B 版本。",
    "平均每步接受 2 个词元。",
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_right_or_about_something_else_is_left_alone(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize("text", RIGHT_CHINESE)
def test_what_is_right_or_about_something_else_in_chinese_is_left_alone(text: str) -> None:
    assert said(text, "zh-CN") == []


def test_the_line_is_that_of_the_sentence_that_is_wrong() -> None:
    text = "Built on b8740 -> b9261.\n\nThe API answers on port 8000.\n\nRuns b8740 now."
    (found,) = said(text)
    spec = flagship_spec({"bench": [BENCH], "text.about": f"Fine.\n\n{text}\n"})
    assert spec.text.splitlines()[(found.line or 0) - 1].strip() == "Runs b8740 now."


MEASURED = {"bench": [BENCH | {"acceptance": 86.5}]}


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("The head accepts 95 % of the drafts.", "en-US"),
        ("An acceptance rate of 95 % with MTP.", "en-US"),
        ("草稿接受率 95%。", "zh-CN"),
    ],
)
def test_a_share_of_accepted_drafts_is_compared_with_the_records(text: str, locale: str) -> None:
    (found,) = said(text, locale, MEASURED)
    assert found.rule == "text-acceptance"
    assert "95 % of drafts accepted, bench records 86.5" in found.message


@pytest.mark.parametrize(
    ("text", "locale"),
    [("It accepts 86.5 % of the drafts.", "en-US"), ("86% 的草稿被接受。", "zh-CN")],
)
def test_a_share_that_a_record_holds_is_left_alone(text: str, locale: str) -> None:
    assert said(text, locale, MEASURED) == []


FOUR_SLOTS = {"engine.parallel": 4}


@pytest.mark.parametrize(
    ("text", "locale", "number"),
    [
        ("262K for each request.", "en-US", "262K"),
        ("Each request gets 262K tokens.", "en-US", "262K"),
        ("{{ ctx_k }} for each request.", "en-US", "{{ ctx_k }}"),
        ("A 262K context.", "en-US", "262K"),
        ("每个请求 262K。", "zh-CN", "262K"),
    ],
)
def test_no_single_request_has_the_context_of_all_slots(
    text: str, locale: str, number: str
) -> None:
    (found,) = said(text, locale, FOUR_SLOTS)
    assert found.rule == "text-context"
    assert f"context per slot = 65536 (--parallel 4), the text says {number}" in found.message


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("262K tokens of context shared by four slots.", "en-US"),
        ("Each request gets 65,536 tokens.", "en-US"),
        ("Four requests at once, 64K for each request.", "en-US"),
        ("每个请求 64K，同时处理 4 个请求。", "zh-CN"),
    ],
)
def test_what_slots_share_and_what_one_of_them_has_is_left_alone(text: str, locale: str) -> None:
    assert said(text, locale, FOUR_SLOTS) == []


@pytest.mark.parametrize(
    "text", ["A {{ ctx_k }} context.", "It offers {{ ctx }} tokens of context."]
)
def test_the_configured_context_named_for_nobody_is_a_warning_where_slots_divide_it(
    text: str,
) -> None:
    """Nobody who reads the page has all slots to himself."""
    (found,) = said(text, "en-US", FOUR_SLOTS | {"text.summary": "Fine."})
    assert (found.rule, found.severity.value) == ("text-context", "warning")
    assert "context per slot = 65536 (--parallel 4), the text says {{ ctx" in found.message


@pytest.mark.parametrize(
    "text",
    [
        "A {{ ctx_k }} context, shared by four slots.",
        "A {{ ctx_k }} context.\n\nFour requests at once share it.",
        "A {{ ctx_k }} context.\n\n64K for each request.",
        "All at 262K.\n\nFour slots split it.",
    ],
)
def test_a_page_that_tells_how_slots_divide_the_context_is_left_alone(text: str) -> None:
    assert said(text, "en-US", FOUR_SLOTS | {"text.summary": "Fine."}) == []


def test_a_wrong_value_in_several_texts_is_told_once_with_all_places() -> None:
    changes = {
        "bench": [BENCH],
        "text.about": "A 64K context.\n\nReally, a 64K context.\n",
        "text.limits": ["No more; a 64K context."],
        "locales": {"zh-CN": {"summary": "好。", "about": "64K 上下文。", "limits": []}},
    }
    context = flagship(changes).context(spec=flagship_spec(changes))
    (found,) = run_rules(context, select=OF_TEXTS)
    assert found.message.startswith("text.about: context 64K, config 262144 (also in line ")
    assert found.message.endswith(", text.limits.0, locales.zh-CN.about)")
