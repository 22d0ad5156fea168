"""Public reports of servers that refuse their arguments, and of pages that describe others."""

import pytest
from support.cases import Case, matching
from support.check_charts import DEPLOYMENT, MANIFEST, flagship, flagship_spec, vllm_chart
from support.mutation import IMAGE, STOCK, arguments, drop, everywhere, swap, vllm_arguments

from olares_apps.checks import ImageFacts
from olares_apps.findings import Severity

SPEC_FILE = "apps/qwen36-35b-a3b-mtp.yaml"
FORK = "docker.io/aamsellem/buun-llama-cpp:316e88e"
PARALLEL = '            - "--parallel"\n            - "1"\n'


def image(reference: str) -> Case:
    return Case(
        lambda: flagship(),
        everywhere(IMAGE, reference),
        "image-public-fixed",
        ("floating",) if "/" in reference else (),
    )


def wrong_text(text: str, rule: str, *facts: str) -> Case:
    return Case(
        flagship,
        rule=rule,
        facts=facts,
        file=SPEC_FILE,
        context={"spec": flagship_spec({"text.about": f"One.\n\n{text}\n"})},
    )


CASES = {
    "C071 a speculation type that was renamed": Case(
        flagship,
        swap(DEPLOYMENT, '"draft-mtp"', '"mtp"'),
        "flag-bad-value",
        ("--spec-type", "'mtp'", "b9261", "draft-simple", "did you mean draft-mtp?"),
        file=DEPLOYMENT,
    ),
    "C072 a removed argument": Case(
        flagship,
        arguments("--draft-max", "3"),
        "flag-removed",
        ("--draft-max was removed", "--spec-draft-n-max"),
    ),
    "C074 a drafter that nobody asks": Case(
        lambda: flagship({"engine.image": f"{STOCK}-b9601"}),
        lambda chart: arguments("--model-draft", "/opt/d.gguf")(
            chart.replaced(
                DEPLOYMENT, '            - "--spec-type"\n            - "draft-mtp"\n', ""
            )
        ),
        "draft-model-without-spec-type",
        (),
        Severity.WARNING,
    ),
    "C074 a flag that never existed": Case(
        flagship, arguments("--draft-model", "x"), "flag-unknown", ("--spec-draft-model (-md)",)
    ),
    "C079 a projector with MTP before its build": Case(
        lambda: flagship({"engine.image": f"{STOCK}-b9601"}),
        arguments("--mmproj", "/opt/p.gguf", "--model-draft", "/opt/d.gguf"),
        "mmproj-with-mtp",
        ("b9601",),
    ),
    "C081 a quantised V cache without flash attention": Case(
        flagship,
        swap(DEPLOYMENT, '            - "on"\n', '            - "off"\n'),
        "quantised-v-cache-needs-flash-attention",
        ("q4_0", "off"),
    ),
    "C083 a cache type of a fork on a stock image": Case(
        flagship,
        swap(
            DEPLOYMENT,
            '            - "--cache-type-v"\n            - "q4_0"',
            '            - "--cache-type-v"\n            - "turbo4"',
        ),
        "flag-bad-value",
        ("turbo4", "f32", "q5_1"),
    ),
    "C083 the same cache type on the fork": Case(
        lambda: flagship({"engine.image": FORK}),
        swap(
            DEPLOYMENT,
            '            - "--cache-type-v"\n            - "q4_0"',
            '            - "--cache-type-v"\n            - "turbo4"',
        ),
    ),
    "C083 a flag of another fork": Case(
        flagship, arguments("--fused-gdn", "1"), "flag-unknown", ("--fused-gdn is not a flag of",)
    ),
    "C084 a bare flash attention switch": Case(
        flagship,
        swap(DEPLOYMENT, '            - "on"\n', ""),
        "flag-missing-value",
        ("--flash-attn needs a value",),
    ),
    "C086 slots that divide the promised context": Case(
        lambda: flagship({"engine.parallel": 4}),
        rule="text-context",
        facts=("context per slot = 65536", "262K"),
        context={"spec": flagship_spec({"engine.parallel": 4, "text.summary": "262K context."})},
        file=SPEC_FILE,
    ),
    "C086 slots that nobody set": Case(
        flagship, swap(DEPLOYMENT, PARALLEL, ""), "parallel-unset", (), Severity.WARNING
    ),
    "C088 text for JSON": Case(
        flagship,
        arguments("--chat-template-kwargs", "reasoning_effort=medium"),
        "flag-not-json",
        ("reasoning_effort=medium",),
    ),
    "C089 thinking set in two ways": Case(
        flagship, arguments("--reasoning", "off"), "thinking-set-twice", (), Severity.WARNING
    ),
    "C108 no build in the tag": image("ghcr.io/ggml-org/llama.cpp:server-cuda"),
    "C108 latest": image("docker.io/example/llama:latest"),
    "C108 nightly": image("docker.io/example/llama:nightly"),
    "C108 a nightly for one CUDA": image("docker.io/vllm/vllm-openai:cu129-nightly-x86_64"),
    "C108 a build": Case(flagship, everywhere(IMAGE, "registry.example.org/llama-server:b9261")),
    "C108 a digest": Case(
        flagship, everywhere(IMAGE, f"docker.io/example/llama-server:server-cuda@sha256:{'a' * 64}")
    ),
    "C108 the advice for a build tag": Case(
        flagship,
        everywhere(IMAGE, "ghcr.io/ggml-org/llama.cpp:server-cuda"),
        "image-public-fixed",
        ("'server-cuda'", "pin server-cuda-bNNNN or", "@sha256"),
    ),
    "C112 another quantisation": wrong_text(
        "UD-Q4_K_XL file.", "text-quant", "quant UD-Q4_K_XL, config UD-Q3_K_XL"
    ),
    "C112 another port": wrong_text("API on port 8080.", "text-port", "port 8080, config 8000"),
    "C112 another draft length": wrong_text("MTP with n-max 5.", "text-draft", "n-max 5, config 3"),
    "C112 another memory": wrong_text("Takes 12.5 GB.", "text-size", "12.5 GB", "21.9"),
    "C112 another build": wrong_text("On b8740.", "text-build", "build b8740", IMAGE),
    "C112 another context": wrong_text(
        "64K context.", "text-context", "context 64K, config 262144"
    ),
    "C112 another speed": wrong_text("250.1 t/s.", "text-speed", "250.1 t/s", "none"),
    "C112 old values in the notes of an old version": Case(
        flagship,
        context={
            "spec": flagship_spec(
                {
                    "releases": [
                        {"version": "1.0.2", "notes": "New."},
                        {"version": "1.0.1", "notes": "UD-Q4_K_XL, port 8080, 64K context, 9 GB."},
                    ]
                }
            )
        },
    ),
    "C112 right values in every spelling": Case(
        flagship,
        context={
            "spec": flagship_spec(
                {
                    "text.about": "262K context (262,144 tokens, 256K), UD-Q3_K_XL, 17.2 GB, "
                    "21.9 GB in all of 24 GB, 23.42 GiB usable, port 8000, n-max 3, b9261, q4_0 KV."
                }
            )
        },
    ),
    "C115 a full context without the flag": Case(
        flagship,
        drop(DEPLOYMENT, '"--ctx-size"', "$(CTX_SIZE)"),
        "text-context",
        ("ctx not set", "auto-fit", "4096", "262K"),
        Severity.WARNING,
        MANIFEST,
    ),
    "C118 a number for a cudagraph mode": Case(
        vllm_chart,
        vllm_arguments("--compilation-config", '{"cudagraph_mode": 1}'),
        "flag-deprecated",
        ("cudagraph_mode", "PIECEWISE"),
        Severity.WARNING,
    ),
    "C124 a parser newer than the image": Case(
        lambda: vllm_chart().replaced(DEPLOYMENT, "v0.22.1-x86_64-cu129-ubuntu2404", "v0.11.0"),
        vllm_arguments("--tool-call-parser", "gemma4", "--enable-auto-tool-choice"),
        "flag-bad-value",
        ("gemma4", "hermes"),
    ),
    "C124 a parser without the switch": Case(
        vllm_chart,
        vllm_arguments("--tool-call-parser", "hermes"),
        "tool-parser-without-auto-tool-choice",
    ),
    "C126 an option on its way out": Case(
        lambda: vllm_chart().replaced(DEPLOYMENT, "v0.22.1-x86_64-cu129-ubuntu2404", "v0.9.2"),
        vllm_arguments("--enable-reasoning", "--reasoning-parser", "deepseek_r1"),
        "flag-deprecated",
        ("--enable-reasoning",),
        Severity.WARNING,
    ),
    "C126 an option that is gone": Case(
        lambda: vllm_chart().replaced(DEPLOYMENT, "v0.22.1-x86_64-cu129-ubuntu2404", "v0.10.0"),
        vllm_arguments("--enable-reasoning", "--reasoning-parser", "deepseek_r1"),
        "flag-removed",
        ("--enable-reasoning",),
    ),
    "C128 a Service called vllm": Case(
        vllm_chart,
        lambda chart: chart.replaced(
            "templates/service.yaml", "name: exampleapp-svc", "name: vllm"
        ).replaced(MANIFEST, "host: exampleapp-svc", "host: vllm"),
        "service-link-collision",
        ("service name 'vllm' collides with VLLM_PORT", "enableServiceLinks: false"),
    ),
    "C128 a Service called like an argument": Case(
        flagship,
        lambda chart: chart.without_lines(DEPLOYMENT, "enableServiceLinks").with_file(
            "templates/extra.yaml",
            chart["templates/service.yaml"]
            .decode()
            .replace('  name: "llamacppqwen36a3bone"', "  name: llama-arg-ctx", 1),
        ),
        "service-link-collision",
        ("'llama-arg-ctx'", "LLAMA_ARG_CTX_PORT"),
    ),
    "C129 no shared memory": Case(
        vllm_chart,
        swap(DEPLOYMENT, ", {name: shm, mountPath: /dev/shm}", ""),
        "shared-memory-volume",
        ("without /dev/shm volume", "medium: Memory"),
        Severity.WARNING,
    ),
    "C129 no shared memory for two GPUs": Case(
        vllm_chart,
        lambda chart: vllm_arguments("--tensor-parallel-size", "2")(
            chart.replaced(DEPLOYMENT, ", {name: shm, mountPath: /dev/shm}", "")
        ),
        "shared-memory-volume",
    ),
    "C130 a nightly of vLLM": Case(
        vllm_chart,
        swap(DEPLOYMENT, "v0.22.1-x86_64-cu129-ubuntu2404", "cu129-nightly-x86_64"),
        "image-public-fixed",
        ("cu129-nightly-x86_64", "v0.22.1-x86_64-cu129-ubuntu2404"),
    ),
    "C132 an image that wants a newer driver": Case(
        vllm_chart,
        rule="cuda-ceiling",
        facts=("13.9", "olares-one"),
        context={
            "images": {
                "docker.io/vllm/vllm-openai:v0.22.1-x86_64-cu129-ubuntu2404": ImageFacts(
                    cuda="13.9"
                )
            }
        },
    ),
    "C132 the driver that the environment asks for": Case(
        lambda: vllm_chart().replaced(DEPLOYMENT, "v0.22.1-x86_64-cu129-ubuntu2404", "v0.22.1"),
        swap(
            DEPLOYMENT,
            "            - {name: HF_HOME",
            "            - {name: NVIDIA_REQUIRE_CUDA, value: 'cuda>=13.9'}\n            - "
            "{name: HF_HOME",
        ),
        "cuda-ceiling",
        ("13.9",),
    ),
    "C133 text for a JSON limit": Case(
        vllm_chart,
        vllm_arguments("--limit-mm-per-prompt", "image:0"),
        "flag-not-json",
        ("--limit-mm-per-prompt",),
    ),
    "C102 a hub cache on the container's disk": Case(
        vllm_chart,
        drop(DEPLOYMENT, "          env:", "HF_HOME"),
        "cache-not-on-volume",
        ("HF_HOME", "not on a mounted volume"),
        Severity.WARNING,
    ),
    "a build without a table": Case(
        flagship,
        everywhere(IMAGE, "docker.io/aamsellem/llama-cpp-mtp:master-0000001"),
        "flag-table-missing",
        ("scripts/extract_flags.py", "as information"),
        Severity.WARNING,
    ),
    "an image without a tag that names its build": Case(
        flagship,
        everywhere(IMAGE, f"docker.io/aamsellem/llama-cpp-mtp@sha256:{'5' * 64}"),
        "flag-table-missing",
        ("does not say which build", "an image whose tag names the build"),
        Severity.WARNING,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_public_case_of_an_engine(name: str) -> None:
    case = CASES[name]
    found = matching(case)
    if case.rule:
        assert found, [f"{f.rule} {f.severity}: {f.message} | {f.hint}" for f in case.findings()]
    else:
        assert not found, [f"{f.rule}: {f.message}" for f in found]


@pytest.mark.parametrize("tag", [":latest", "", ":server:cuda", ":main"])
def test_an_image_that_is_no_fixed_one_is_told_once(tag: str) -> None:
    image = f"docker.io/aamsellem/llama-cpp-mtp{tag}"
    found = {f.rule for f in Case(flagship, everywhere(IMAGE, image), "").findings()}
    assert "image-public-fixed" in found
    assert "flag-table-missing" not in found


def test_a_server_that_is_told_no_port_listens_on_its_own() -> None:
    chart = flagship().replaced(DEPLOYMENT, '            - "--port"\n            - "8000"\n', "")
    found = [item for item in chart.check() if item.rule == "port-agreement"]
    assert any("listens on 8080, containerPort is 8000" in item.message for item in found)


def test_a_share_above_the_whole_card_is_told_whatever_its_form() -> None:
    for share in ("95", "1.5", "0.99"):
        chart = swap(DEPLOYMENT, '"0.90"', f'"{share}"')(vllm_chart())
        assert "gpu-share-exceeds-card" in {item.rule for item in chart.check()}


def test_a_contradiction_names_the_line_of_the_spec() -> None:
    case = wrong_text("UD-Q4_K_XL file.", "text-quant")
    loaded = case.context["spec"]
    (found,) = matching(case)
    assert found.line is not None
    assert "UD-Q4_K_XL" in loaded.text.splitlines()[found.line - 1]


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("docker.io/aamsellem/llama-cpp-mtp:master-0000001", "the image names no build"),
        (f"docker.io/aamsellem/llama-cpp-mtp@sha256:{'5' * 64}", "the image names no build"),
        ("docker.io/aamsellem/llama-cpp-mtp:latest", "the image moves with its tag"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda", "the image moves with its tag"),
        ("docker.io/aamsellem/llama-cpp-mtp", "the image moves with its tag"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b11500", "build b11500 has no table"),
    ],
)
def test_without_a_table_problems_are_information_and_say_why(image: str, why: str) -> None:
    chart = everywhere(IMAGE, image)(flagship())
    findings = arguments("--fused-gdn", "1")(chart).check()
    (found,) = [f for f in findings if f.rule == "flag-unknown"]
    assert found.severity is Severity.INFO
    assert f"(by the table of b11434, as information: {why})" in found.message
