"""Changes of GPU, probes, texts, pictures and archive that one rule objects to."""

from typing import Final

from support.check_charts import (
    APP,
    BENCH_RECORD,
    DEPLOYMENT,
    MANIFEST,
    flagship,
    flagship_spec,
    vllm_chart,
)
from support.mutation import (
    CONFIG,
    ICON,
    IMAGE,
    SERVE,
    SERVICE,
    Mutation,
    arguments,
    bash,
    drop,
    listing,
    png,
    swap,
    swaps,
    vllm_arguments,
)
from support.recipes import recipe

from olares_apps.checks import ImageFacts
from olares_apps.checks.listing import Entry, EntryKind, Fault, FaultKind, GzipFacts

__all__ = ["MUTATIONS"]

STORED: Final = "Qwen3.6-35B-A3B-UD-Q3_K_XL"

MUTATIONS: Final[dict[str, Mutation]] = {
    # Arguments
    "variable-undefined": Mutation(flagship, swap(DEPLOYMENT, "$(THREADS)", "$(THREAD)")),
    "model-file-not-downloaded": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            f'{STORED}.gguf"\n            - "--alias"',
            f'{STORED}-2.gguf"\n            - "--alias"',
        ),
    ),
    # GPU and runtime
    "gpu-share-exceeds-card": Mutation(vllm_chart, swap(DEPLOYMENT, '"0.90"', '"0.99"')),
    "weights-exceed-budget": Mutation(
        vllm_chart,
        swaps(
            (DEPLOYMENT, "Demo-4bit", "Demo-13B-AWQ"),
            (DEPLOYMENT, '"0.90"', '"0.20"'),
            (MANIFEST, "requiredDisk: 1Gi", "requiredDisk: 8Gi"),
        ),
    ),
    "gpu-memory-limit": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            "          envFrom:\n",
            "          env:\n            - {name: CUDA_DEVICE_MEMORY_LIMIT_0, value: 30000m}\n"
            "          envFrom:\n",
        ),
    ),
    "listens-on-loopback": Mutation(flagship, swap(DEPLOYMENT, "0.0.0.0", "127.0.0.1")),
    "start-installs": Mutation(flagship, bash("pip install vllm\n" + SERVE)),
    "gpu-count": Mutation(vllm_chart, vllm_arguments("--tensor-parallel-size", "2")),
    "gpu-annotation": Mutation(
        flagship, drop(DEPLOYMENT, "applications.app.bytetrade.io/gpu-inject")
    ),
    "gpu-container-scope": Mutation(
        flagship, swap(DEPLOYMENT, 'gpu-inject: "server"', 'gpu-inject: "true"')
    ),
    "gpu-manual-limits": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            '              memory: "40Gi"',
            '              memory: "40Gi"\n              nvidia.com/gpu: "1"',
        ),
    ),
    "gpu-memory-headroom": Mutation(
        flagship, swap(MANIFEST, 'requiredGPUMemory: "21Gi"', 'requiredGPUMemory: "23Gi"')
    ),
    "gpu-memory-exceeds-card": Mutation(
        flagship,
        swaps(
            (MANIFEST, 'requiredGPUMemory: "21Gi"', 'requiredGPUMemory: "32Gi"'),
            (MANIFEST, 'limitedGPUMemory: "23Gi"', 'limitedGPUMemory: "32Gi"'),
        ),
    ),
    "cuda-ceiling": Mutation(flagship, context={"images": {IMAGE: ImageFacts(cuda="13.9")}}),
    "setting-value": Mutation(
        flagship,
        context={
            "spec": flagship_spec(
                {
                    "settings": {
                        "FA": {
                            "description": "d",
                            "field": "engine.flash_attn",
                            "choices": ["on", "off"],
                        }
                    }
                }
            )
        },
    ),
    "setting-unbounded": Mutation(
        flagship,
        context={
            "spec": flagship_spec(
                {"settings": {"SLOTS": {"description": "d", "field": "engine.parallel"}}}
            )
        },
    ),
    "image-recipe": Mutation(
        flagship,
        context={
            "spec": flagship_spec({"engine.recipe": "other"}),
            "recipe": recipe(("registry.example/demo/llama:b9260-0a2345f", f"{IMAGE}-0a2345f")),
        },
    ),
    "image-cuda-unknown": Mutation(flagship, context={"spec": flagship_spec(), "images": {}}),
    "compute-capability": Mutation(
        flagship, context={"images": {IMAGE: ImageFacts(archs=("sm_80", "sm_90"))}}
    ),
    "image-tools": Mutation(
        flagship, context={"images": {IMAGE: ImageFacts(server="/usr/bin/llama-server")}}
    ),
    "startup-probe-budget": Mutation(
        flagship, swap(DEPLOYMENT, "failureThreshold: 65", "failureThreshold: 3")
    ),
    "memory-limit-below-model": Mutation(flagship, arguments("--cache-ram", "65536")),
    "cache-not-on-volume": Mutation(
        vllm_chart, swap(DEPLOYMENT, "value: /data/huggingface", "value: /tmp/huggingface")
    ),
    "shared-memory-volume": Mutation(
        vllm_chart, swap(DEPLOYMENT, ", {name: shm, mountPath: /dev/shm}", "")
    ),
    "service-link-collision": Mutation(
        vllm_chart,
        lambda chart: chart.replaced(SERVICE, "name: exampleapp-svc", "name: vllm").replaced(
            MANIFEST, "host: exampleapp-svc", "host: vllm"
        ),
    ),
    "shell-default-drift": Mutation(
        flagship, bash(SERVE.replace("${CTX_SIZE}", "${CTX_SIZE:-96000}"))
    ),
    "model-url-blob": Mutation(
        flagship,
        swap(CONFIG, "\ndata:\n", '\ndata:\n  X: "https://huggingface.co/a/b/blob/main/x.gguf"\n'),
    ),
    "download-script": Mutation(
        flagship,
        bash(f'curl -fL "https://x.example/$MODEL_FILE" -o /opt/a.gguf\n{SERVE}'),
        also=frozenset({"startup-probe-budget"}),
        why="a download beside the server counts against its probe",
    ),
    # Texts
    "text-context": Mutation(flagship, swap(MANIFEST, "with 262K context", "with 64K context")),
    "text-quant": Mutation(
        flagship, swap(MANIFEST, "\n    - GPU memory", " of a UD-Q4_K_XL file\n    - GPU memory")
    ),
    "text-port": Mutation(
        flagship, swap(MANIFEST, "compatible, port 8000", "compatible, port 8080")
    ),
    "text-draft": Mutation(flagship, swap(MANIFEST, "up to 3 tokens per step", "n-max 5")),
    "text-parallel": Mutation(
        flagship, swap(MANIFEST, "35B MoE-A3B + MTP", "35B MoE-A3B + MTP, 4 requests at once")
    ),
    "text-build": Mutation(
        flagship, swap(MANIFEST, "35B MoE-A3B + MTP", "35B MoE-A3B + MTP on llama.cpp b8740")
    ),
    "text-image": Mutation(
        flagship, swap(MANIFEST, IMAGE, "docker.io/aamsellem/llama-cpp-mtp:0.1.0")
    ),
    "text-flag": Mutation(
        flagship, swap(MANIFEST, "up to 3 tokens per step", "`--batch-size 2048`")
    ),
    "text-speed": Mutation(
        flagship, context={"spec": flagship_spec({"text.summary": "Runs at 300 t/s."})}
    ),
    "text-acceptance": Mutation(
        flagship,
        context={
            "spec": flagship_spec(
                {
                    "text.summary": "It accepts 95 % of the drafts.",
                    "bench": [BENCH_RECORD | {"acceptance": 86.5}],
                }
            )
        },
    ),
    "text-size": Mutation(
        flagship, context={"spec": flagship_spec({"text.summary": "Takes 8 GB."})}
    ),
    "template-residue": Mutation(flagship, swap(MANIFEST, '"First release."', '"R&amp;D"')),
    "i18n-keys": Mutation(
        flagship, drop("i18n/en-US/OlaresManifest.yaml", "  upgradeDescription:")
    ),
    "i18n-title": Mutation(flagship, swap("i18n/en-US/OlaresManifest.yaml", "MTP One", "MTP Two")),
    "link-form": Mutation(
        flagship, swap(MANIFEST, '"First release."', '"See [the page](www.example.org)."')
    ),
    "locale-out-of-step": Mutation(
        flagship,
        context={
            "spec": flagship_spec(
                {"text.limits": ["Text only."], "locales": {"zh-CN": {"summary": "好。"}}}
            )
        },
    ),
    "release-notes-missing": Mutation(flagship, drop(MANIFEST, "  upgradeDescription:")),
    # Pictures
    "promo-image-size": Mutation(
        flagship,
        swap(MANIFEST, "\nspec:\n", "\nspec:\n  promoteImage: [https://example.org/shot.png]\n"),
        context={"pictures": {"https://example.org/shot.png": png(1440, 898)}},
    ),
    "icon-short-commit": Mutation(
        flagship,
        swap(MANIFEST, f'icon: "{ICON}"', 'icon: "https://cdn.example.org/a/b@0a1b2c3/i.png"'),
    ),
    "icon-image": Mutation(flagship, context={"pictures": {ICON: png(512, 512)}}),
    # Sizes known from a spec
    "gpu-need-understated": Mutation(
        flagship,
        swap(MANIFEST, 'requiredGPUMemory: "21Gi"', 'requiredGPUMemory: "1Gi"'),
        context={"spec": flagship_spec()},
    ),
    "disk-below-files": Mutation(
        flagship,
        swap(MANIFEST, 'requiredDisk: "18Gi"', 'requiredDisk: "15Gi"'),
        context={"spec": flagship_spec()},
    ),
    # Archive
    "archive-single-root": Mutation(flagship, context=listing(Entry("loose.txt", EntryKind.FILE))),
    "archive-single-gzip": Mutation(
        flagship, context=listing(faults=(Fault(FaultKind.PACKING, "is bare", loses=False),))
    ),
    "archive-size": Mutation(flagship, context=listing(size=2**20 + 1)),
    "archive-content": Mutation(
        flagship,
        context=listing(faults=(Fault(FaultKind.CONTENT, "holds Chart.yaml twice", loses=False),)),
    ),
    "archive-links": Mutation(
        flagship,
        context=listing(Entry(f"{APP}/templates/a.yaml", EntryKind.LINK, target="/home/x")),
    ),
    "archive-paths": Mutation(
        flagship, context=listing(Entry(f"{APP}/../../x", EntryKind.FILE, leaves=True))
    ),
    "archive-special-files": Mutation(
        flagship, context=listing(Entry(f"{APP}/pipe", EntryKind.OTHER))
    ),
    "archive-modes": Mutation(
        flagship, context=listing(Entry(f"{APP}/values.yaml", EntryKind.FILE, 0o666))
    ),
    "archive-deterministic": Mutation(
        flagship, context=listing(gzip=GzipFacts("x.tar", 1700000000))
    ),
}
