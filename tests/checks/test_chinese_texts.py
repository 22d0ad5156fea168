"""Numbers in Chinese texts are compared with the spec as those in English texts are."""

import pytest
from support.check_charts import BENCH_RECORD, MANIFEST, flagship, flagship_spec
from support.foreign_charts import legacy_market_chart
from support.mutation import add

from olares_apps.findings import Finding

BENCH = BENCH_RECORD


def text_findings(text: str) -> list[Finding]:
    """Return what the text rules say of a Chinese text of the flagship."""
    page = {"summary": "好。", "about": f"好。\n\n{text}\n", "limits": []}
    changes = {"locales": {"zh-CN": page}, "bench": [BENCH]}
    findings = flagship(changes).check(spec=flagship_spec(changes))
    return [f for f in findings if f.rule.startswith("text-")]


WRONG = {
    "支持 64K 上下文。": ("text-context", "context 64K, config 262144"),
    "支持64K上下文": ("text-context", "context 64K, config 262144"),
    "上下文：32,768 个词元": ("text-context", "context 32,768"),
    "上下文长度为 32768": ("text-context", "context 32768"),
    "上下文窗口可达 128K": ("text-context", "context 128K"),
    "最大支持 131072 个词元的上下文": ("text-context", "context 131072"),
    "完整的 3 万上下文": ("text-context", "context 3 万"),
    "占用 12.5 GB 显存": ("text-size", "12.5 GB, config 21.9"),
    "占用12.5GB显存": ("text-size", "12.5 GB, config 21.9"),
    "需要 24 GB 内存，40 GB 显存": ("text-size", "40 GB, config 21.9"),
    "显存需求：12G": ("text-size", "12 G, config 21.9"),
    "每秒 300 个词元": ("text-speed", "300 t/s, bench records first 252.6"),
    "每秒约 300 tokens": ("text-speed", "300 t/s"),
    "速度 300 tokens/秒": ("text-speed", "300 t/s"),
    "速度 300 词元每秒": ("text-speed", "300 t/s"),
    "速度 300 t/s": ("text-speed", "300 t/s"),
    "API 端口 8080": ("text-port", "port 8080, config 8000"),
    "API 端口：8080": ("text-port", "port 8080, config 8000"),
    "API端口号为8080": ("text-port", "port 8080, config 8000"),
    "监听 8080 端口": ("text-port", "port 8080, config 8000"),
    "UD-Q4_K_XL 量化": ("text-quant", "quant UD-Q4_K_XL, config UD-Q3_K_XL"),
    "使用Q4_K_M量化": ("text-quant", "quant Q4_K_M"),
    "KV 缓存 q8_0": ("text-quant", "KV cache q8_0, config q4_0"),
    "KV缓存q8_0": ("text-quant", "KV cache q8_0, config q4_0"),
    "草稿长度 5": ("text-draft", "n-max 5, config 3"),
    "推测解码，每步最多 5 个词元": ("text-draft", "n-max 5, config 3"),
    "基于构建b8740": ("text-build", "build b8740"),
    "镜像docker.io/aamsellem/llama-cpp-mtp:v2": ("text-image", "image tag v2"),
    "使用--parallel 4": ("text-flag", "--parallel 4, config 1"),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_number_that_contradicts_the_spec_is_found_with_its_line(text: str) -> None:
    rule, message = WRONG[text]
    found = [f for f in text_findings(text) if f.rule == rule]
    assert len(found) == 1, found
    assert found[0].message.startswith("locales.zh-CN.about: ")
    assert message in found[0].message
    assert found[0].file == "apps/qwen36-35b-a3b-mtp.yaml"
    assert found[0].line is not None


RIGHT = [
    "支持 262K 上下文，256K 上下文，262,144 个词元的上下文，26 万上下文，26.2 万上下文。",
    "每秒 252.6 个词元，252 tokens/秒。",
    "端口 8000，监听 8000 端口。",
    "权重 17.2 GB，显存 24G，合计 21.9 GB。",
    "内存 24 GB，最多 40 GB。",
    "需要 40 GB 内存，21.9 GB 显存。",
    "Needs 40 GB of RAM and 21.9 GB of GPU memory; 40 GB of RAM, 17.2 GB of VRAM.",
    "UD-Q3_K_XL 量化，KV 缓存 q4_0。",
    "推测解码，每步最多 3 个词元，草稿长度 3。",
    # What compares, tells history or speaks of something else claims nothing.
    "从 32K 提升到 64K 上下文。",
    "之前是 64K 上下文。",
    "原来的 Q4_K_M 量化不再使用。",
    "由 b8667 升级到 b8740。",
    "相比 9 GB 的版本更小。",
    "如果显存不足，把上下文改为 65536。",
    "例如端口 8080。",
    "原生 131072 上下文。",
    "超过 100 tokens/秒。",
    "草稿接受率 86%，开启后草稿接受率不到 50%。",
    "2026 年 5 月发布，35B 参数，激活 3B。",
    "每次 2000 个词元，10 次测试。",
    "一次处理 1 个请求，5 秒内返回。",
    "支持 201 种语言。",
]


@pytest.mark.parametrize("text", RIGHT)
def test_a_right_number_or_one_that_claims_nothing_is_left_alone(text: str) -> None:
    assert text_findings(text) == []


def test_a_translation_of_a_foreign_chart_is_compared_with_its_configuration() -> None:
    """Without a spec it is a warning, as it is for English texts."""
    text = (
        "metadata: {title: Demo, description: 支持 32K 上下文。}\n"
        "spec:\n  fullDescription: |\n    第一行。\n    端口 8090。\n  upgradeDescription: 新版。\n"
    )
    path = f"i18n/zh-CN/{MANIFEST}"
    findings = add(path, text)(legacy_market_chart()).check()
    said = {(f.rule, f.line, f.severity.value) for f in findings if f.file == path}
    assert {("text-context", 1, "warning"), ("text-port", 5, "warning")} <= said
