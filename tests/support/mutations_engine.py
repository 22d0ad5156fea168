"""Changes of server arguments that one rule objects to."""

from typing import Final

from support.check_charts import DEPLOYMENT, flagship, vllm_chart
from support.mutation import IMAGE, STOCK, Mutation, arguments, swap, vllm_arguments

__all__ = ["MUTATIONS"]

MUTATIONS: Final[dict[str, Mutation]] = {
    # Engine
    "flag-unknown": Mutation(flagship, arguments("--fused-gdn", "1")),
    "flag-removed": Mutation(flagship, arguments("--draft-max", "3")),
    "flag-deprecated": Mutation(
        vllm_chart, vllm_arguments("--compilation-config", '{"cudagraph_mode": 1}')
    ),
    "flag-missing-value": Mutation(flagship, swap(DEPLOYMENT, '            - "on"\n', "")),
    "flag-bad-value": Mutation(flagship, swap(DEPLOYMENT, '"draft-mtp"', '"mtp"')),
    "flag-unexpected-value": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            '            - "--jinja"\n',
            '            - "--jinja"\n            - "true"\n',
        ),
    ),
    "flag-repeated": Mutation(flagship, arguments("--threads", "8")),
    "flag-not-json": Mutation(
        flagship,
        arguments("--chat-template-kwargs", "reasoning_effort=medium"),
        also=frozenset({"flag-repeated"}),
        why="the flagship gives that flag already",
    ),
    "flag-json-unknown-key": Mutation(
        vllm_chart, vllm_arguments("--compilation-config", '{"no_such_key": 1}')
    ),
    "flag-table-missing": Mutation(
        flagship,
        swap(DEPLOYMENT, IMAGE, "docker.io/aamsellem/llama-cpp-mtp:master-0000001"),
        also=frozenset({"text-image"}),
        why="the page names the image",
    ),
    "model-not-named": Mutation(
        vllm_chart,
        swap(DEPLOYMENT, "            - --model\n            - example-org/Demo-4bit\n", ""),
    ),
    "modality-unknown": Mutation(
        vllm_chart, vllm_arguments("--limit-mm-per-prompt", '{"smell": 1}')
    ),
    "language-model-only-with-limits": Mutation(
        vllm_chart,
        vllm_arguments("--language-model-only", "--limit-mm-per-prompt", '{"image": 1}'),
    ),
    "eager-with-cudagraph": Mutation(
        vllm_chart,
        vllm_arguments(
            "--enforce-eager", "--compilation-config", '{"cudagraph_mode": "PIECEWISE"}'
        ),
    ),
    "cudagraph-sizes": Mutation(
        vllm_chart,
        vllm_arguments(
            "--compilation-config",
            '{"cudagraph_capture_sizes": [1, 2, 4], "max_cudagraph_capture_size": 2}',
        ),
    ),
    "tool-parser-without-auto-tool-choice": Mutation(
        vllm_chart, vllm_arguments("--tool-call-parser", "hermes")
    ),
    "auto-tool-choice-without-parser": Mutation(
        vllm_chart, vllm_arguments("--enable-auto-tool-choice")
    ),
    "batched-tokens-below-context": Mutation(
        vllm_chart,
        vllm_arguments("--no-enable-chunked-prefill", "--max-num-batched-tokens", "1024"),
    ),
    "speculative-config-incomplete": Mutation(
        vllm_chart, vllm_arguments("--speculative-config", '{"method": "ngram"}')
    ),
    "speculative-config-twice": Mutation(
        vllm_chart,
        vllm_arguments(
            "--speculative-config",
            '{"method": "mtp", "num_speculative_tokens": 3}',
            "--spec-tokens",
            "3",
        ),
    ),
    "quantised-v-cache-needs-flash-attention": Mutation(
        flagship, swap(DEPLOYMENT, '            - "on"\n', '            - "off"\n')
    ),
    "cache-type-without-cuda-kernel": Mutation(flagship, swap(DEPLOYMENT, '"q4_0"', '"iq4_nl"')),
    "parallel-unset": Mutation(
        flagship, swap(DEPLOYMENT, '            - "--parallel"\n            - "1"\n', "")
    ),
    "parallel-splits-context": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            '            - "--parallel"\n            - "1"\n',
            '            - "--parallel"\n            - "4"\n',
        ),
        also=frozenset({"text-context"}),
        why="the page promises the whole context",
    ),
    "drafter-missing": Mutation(flagship, swap(DEPLOYMENT, '"draft-mtp"', '"draft-simple"')),
    "draft-model-without-spec-type": Mutation(
        lambda: flagship({"engine.image": f"{STOCK}-b9601"}),
        lambda chart: arguments("--model-draft", "/opt/d.gguf")(
            chart.replaced(
                DEPLOYMENT,
                '            - "--spec-type"\n            - "draft-mtp"\n'
                '            - "--spec-draft-n-max"\n            - "$(SPEC_DRAFT_N_MAX)"\n',
                "",
            )
        ),
    ),
    "draft-depth-without-speculation": Mutation(
        flagship, swap(DEPLOYMENT, '            - "--spec-type"\n            - "draft-mtp"\n', "")
    ),
    "speculation-kinds-exclude": Mutation(
        lambda: flagship({"engine.image": f"{STOCK}-b9601"}),
        lambda chart: arguments("--model-draft", "/opt/d.gguf")(
            chart.replaced(DEPLOYMENT, '"draft-mtp"', '"draft-mtp,draft-simple"')
        ),
    ),
    "speculation-not-in-build": Mutation(
        lambda: flagship({"engine.image": f"{STOCK}-b9261"}),
        arguments("--model-draft", "/opt/d.gguf"),
    ),
    "mmproj-with-mtp": Mutation(
        lambda: flagship({"engine.image": f"{STOCK}-b9601"}),
        arguments("--mmproj", "/opt/mmproj.gguf", "--model-draft", "/opt/d.gguf"),
    ),
    "ubatch-above-batch": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            '            - "--ubatch-size"\n            - "512"\n',
            '            - "--ubatch-size"\n            - "2048"\n',
        ),
    ),
    "number-refused": Mutation(
        flagship,
        arguments("--ctx-size", "-5"),
        also=frozenset({"flag-repeated"}),
        why="the flagship states a context already",
    ),
    "model-empty": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            '"--model"\n            - "/models/unsloth--Qwen3.6-35B-A3B-MTP-GGUF/main/'
            'Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf"',
            '"--model"\n            - ""',
        ),
    ),
    "draft-depth-reversed": Mutation(flagship, arguments("--spec-draft-n-min", "9")),
    "control-tokens-shown": Mutation(flagship, arguments("--special")),
    "thinking-set-twice": Mutation(flagship, arguments("--reasoning", "off")),
    "loading-set-twice": Mutation(
        lambda: flagship({"engine.image": f"{STOCK}-b10405"}),
        arguments("--load-mode", "mlock", "--no-mmap"),
        also=frozenset({"flag-deprecated"}),
        why="the other form of the setting is the deprecated one",
    ),
}
