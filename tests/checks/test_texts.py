"""What sentences claim: the number that is wrong is found, the one about something else is not."""

import pytest
from support.check_charts import BENCH_RECORD, flagship, flagship_spec

from olares_apps.findings import Finding

# The flagship runs 262144 tokens, UD-Q3_K_XL, port 8000, n-max 3; one bench record is of 32768.
BENCH = BENCH_RECORD | {"ctx": 32768}


def said(text: str, locale: str = "en-US") -> list[Finding]:
    """Return what the text rules say of a sentence on the flagship's page."""
    changes: dict[str, object] = {"bench": [BENCH]}
    if locale == "en-US":
        changes["text.about"] = f"Fine.\n\n{text}\n"
    else:
        page = {"summary": "好。", "about": f"好。\n\n{text}\n", "limits": []}
        changes["locales"] = {locale: page}
    findings = flagship(changes).check(spec=flagship_spec(changes))
    return [item for item in findings if item.rule.startswith("text-")]


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
}
WRONG_CHINESE = {
    "端口：８０８０，用于 API。": ("text-port", "error", "port 8080"),
    "上下文为 ３２Ｋ。": ("text-context", "error", "context 32K"),
    "推测解码，n-max 为 5。": ("text-draft", "error", "n-max 5, config 3"),
    "推测解码 n_max：5": ("text-draft", "error", "n-max 5, config 3"),
    "使用镜像 master-abc1234。": ("text-build", "error", "build master-abc1234"),
    "显存 12.5 GB。": ("text-size", "error", "12.5 GB"),
    "模型为 Q8_0 量化。": ("text-quant", "error", "quant Q8_0"),
    "需要 8 GB 内存。": ("text-size", "error", "8 GB"),
    "速度良好，上下文 64K。": ("text-context", "error", "context 64K"),
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
]
RIGHT_CHINESE = [
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
