"""Public reports of charts that devices refuse, or that die on them."""

from collections.abc import Callable

import pytest
from support.cases import Case, matching
from support.check_charts import (
    APP,
    DEPLOYMENT,
    MANIFEST,
    Chart,
    flagship,
    flagship_spec,
    legacy_flagship,
    plain_legacy_chart,
)
from support.mutation import (
    IMAGE,
    add,
    arguments,
    bash,
    drop,
    everywhere,
    init_container,
    png,
    swap,
    swaps,
)

from olares_apps.checks import ImageFacts, Published
from olares_apps.findings import Severity

CONFIG = "templates/config.yaml"
SHARED = '"/olares/share/ai/model"'
OWN_FOLDER = '"{{ .Values.userspace.appData }}/models"'
DIRECTORY = "type: DirectoryOrCreate"
SIDECAR = """\
        - name: downloader
          image: "docker.io/example/downloader:1.0.0"
          resources:
            requests: {cpu: "1", memory: 1Gi}
            limits: {cpu: "1", memory: 4Gi}
"""


def named(name: str) -> Callable[[Chart], Chart]:
    return everywhere(APP, name)


def sidecar(chart: Chart) -> Chart:
    text = chart[DEPLOYMENT].decode()
    return chart.with_file(
        DEPLOYMENT, text.replace("      volumes:\n", SIDECAR + "      volumes:\n")
    )


CASES = {
    "C001 notes of an older manifest are executed": Case(
        legacy_flagship,
        swap(
            MANIFEST, '"First release."', "|\n    HF_ENDPOINT came from {{ .Values.olaresEnv.HF }}"
        ),
        "manifest-template-values",
        ("upgradeDescription line ", "template action that Olares will execute", "0.10.0"),
        file=MANIFEST,
    ),
    "C003 an env that nobody declared": Case(
        flagship,
        swap(
            CONFIG,
            "\ndata:\n",
            "\ndata:\n  HF: {{ .Values.olaresEnv.HUGGINGFACE_SERVICE | quote }}\n",
        ),
        "env-declared",
        ("olaresEnv.HUGGINGFACE_SERVICE", "envs: does not declare it"),
        file=CONFIG,
    ),
    "C003 an endpoint that is set to nothing": Case(
        flagship,
        swap(
            DEPLOYMENT,
            "            {{- if (.Values.olaresEnv).HF_ENDPOINT }}\n",
            "            {{- if true }}\n",
        ),
        "env-empty-address",
        ("HF_ENDPOINT", "is empty when the user sets nothing"),
        file=DEPLOYMENT,
    ),
    "C005 a folder that a fresh device lacks": Case(
        flagship,
        swaps((DEPLOYMENT, OWN_FOLDER, SHARED), (DEPLOYMENT, DIRECTORY, "type: Directory")),
        "hostpath-type",
        ("volume models", "type Directory requires an existing folder", "use DirectoryOrCreate"),
        file=DEPLOYMENT,
    ),
    "C006 another user than 1000 and a shared folder": Case(
        flagship,
        swap(DEPLOYMENT, OWN_FOLDER, SHARED),
        "shared-folder-permissions",
        ("uid 10001", "/olares/share/ai/model", "init container"),
        Severity.WARNING,
        context={"images": {IMAGE: ImageFacts(user=10001)}},
    ),
    "C006 a root step from ghcr.io": Case(
        legacy_flagship,
        init_container(
            "        - name: rights\n          image: ghcr.io/example/alpine:3.20.1\n"
            "          command: [sh, -c, chmod -R 777 /models]\n"
            "          securityContext: {runAsUser: 0}\n"
        ),
        "security-context-root",
        ("runAsUser: 0 is refused for registry ghcr.io",),
        file=DEPLOYMENT,
    ),
    "C007 1Gi declared for a model of 22 GB": Case(
        lambda: flagship({"resources.gpu_memory": "1Gi"}),
        rule="gpu-need-understated",
        facts=("1Gi", "20.4GiB", "weights 17.2 GB", "kv cache 3.2 GB", "draft 1 GB"),
        file="apps/qwen36-35b-a3b-mtp.yaml",
        context={"spec": flagship_spec({"resources.gpu_memory": "1Gi"})},
    ),
    "C010 a title of 36 characters": Case(
        flagship,
        swap(
            MANIFEST,
            '  title: "Qwen36 35B-A3B MTP One"',
            "  title: Demo Coder Next 40B Long Context One",
        ),
        "metadata-title-length",
        ("metadata.title is 36 characters, limit 30",),
        file=MANIFEST,
    ),
    "C010 an entrance title of 36 characters": Case(
        flagship,
        swap(
            MANIFEST,
            '    title: "Qwen36 35B-A3B MTP One"',
            "    title: Demo Coder Next 40B Long Context One",
        ),
        "entrance-title",
        ("entrances[0].title is 36 characters, limit 30",),
        file=MANIFEST,
    ),
    "C010 a title of 30 characters with an accent": Case(
        flagship,
        swap(MANIFEST, '  title: "Qwen36 35B-A3B MTP One"', f"  title: D\u00e9mo {'x' * 25}"),
        "metadata-title-length",
        ("31 bytes", "30 characters", "limit 30"),
    ),
    "C012 v2 without an upper bound": Case(
        legacy_flagship,
        swaps(
            (MANIFEST, '"0.10.0"', '"0.11.0"'), (MANIFEST, '">=1.12.3-0,<1.12.6"', "'>=1.12.1-0'")
        ),
        "olares-dependency-window",
        ("apiVersion v2 requires olares >=1.12.3-0,<1.12.6", "'>=1.12.1-0'"),
        file=MANIFEST,
    ),
    "C012 no olares dependency": Case(
        flagship,
        lambda chart: drop(MANIFEST, '- name: "olares"', 'type: "system"', '">=1.12.6-0"')(chart),
        "olares-dependency",
        ("options.dependencies must contain olares (type system)", ">=1.12.6-0"),
        file=MANIFEST,
    ),
    "C014 a sidecar beside the engine": Case(
        flagship,
        sidecar,
        "resource-sum",
        ("sum(limits.memory)=44Gi > limitedMemory=40Gi", "[server 40Gi, downloader 4Gi]"),
        file=MANIFEST,
    ),
    "C014 requests beyond the requirement": Case(
        flagship, sidecar, "resource-sum", ("sum(requests.cpu)=5 > requiredCpu=4",)
    ),
    "C015 flat resources beside an accelerator": Case(
        flagship,
        swap(MANIFEST, "  accelerator:", "  requiredMemory: 22Gi\n  accelerator:"),
        "resource-shape-exclusive",
        ("spec.requiredMemory must be empty when spec.accelerator[] is set",),
        file=MANIFEST,
    ),
    "C017 two versions in one chart": Case(
        flagship,
        swap("Chart.yaml", 'version: "1.0.3"', 'version: "1.0.2"'),
        "version-consistency",
        ("Chart.yaml version 1.0.2", "metadata.version 1.0.3"),
        file=MANIFEST,
    ),
    "C018 a screenshot two pixels short": Case(
        flagship,
        swap(MANIFEST, "\nspec:\n", "\nspec:\n  promoteImage: [https://example.org/shot.png]\n"),
        "promo-image-size",
        ("promoteImage[0] is 1440x898, expected 1440x900",),
        context={"pictures": {"https://example.org/shot.png": png(1440, 898)}},
    ),
    "C018 a screenshot of the right size": Case(
        flagship,
        swap(MANIFEST, "\nspec:\n", "\nspec:\n  promoteImage: [https://example.org/shot.png]\n"),
        context={"pictures": {"https://example.org/shot.png": png(1440, 900)}},
    ),
    "C022 a text that promises 8 GB": Case(
        flagship,
        rule="text-size",
        facts=("8 GB", "21.9"),
        context={"spec": flagship_spec({"text.summary": "Needs 8 GB GPU."})},
        file="apps/qwen36-35b-a3b-mtp.yaml",
    ),
    "C022 8 GB of GPU beside a host limit of 8 GiB": Case(
        lambda: flagship({"resources.memory": "8Gi", "resources.memory_limit": "8Gi"}),
        rule="text-size",
        facts=("8 GB", "21.9"),
        context={
            "spec": flagship_spec(
                {
                    "resources.memory": "8Gi",
                    "resources.memory_limit": "8Gi",
                    "text.summary": "Needs 8 GB GPU.",
                }
            )
        },
        file="apps/qwen36-35b-a3b-mtp.yaml",
    ),
    "C022 less host memory than the model has": Case(
        lambda: flagship({"resources.memory": "8Gi", "resources.memory_limit": "8Gi"}),
        rule="memory-limit-below-model",
        facts=("limits.memory 8Gi", "17.2 GB", "page cache"),
        severity=Severity.WARNING,
        context={
            "spec": flagship_spec({"resources.memory": "8Gi", "resources.memory_limit": "8Gi"})
        },
    ),
    "C023 a hyphen in the name": Case(
        legacy_flagship,
        named("demo-qwen"),
        "folder-name",
        ("'demo-qwen'", "only a-z and 0-9", "30"),
    ),
    "C023 capitals": Case(legacy_flagship, named("Demo"), "folder-name", ("'Demo'",)),
    "C023 an underscore": Case(legacy_flagship, named("demo_q"), "folder-name", ("'demo_q'",)),
    "C023 a reserved word": Case(
        flagship, named("gpu"), "reserved-folder-name", ("'gpu' is reserved",)
    ),
    "C023 31 characters": Case(flagship, named("a" * 31), "folder-name", ("1 to 30", "has 31")),
    "C023 30 characters": Case(flagship, named("a" * 30)),
    "C024 the entrance points elsewhere": Case(
        flagship,
        swap(MANIFEST, "port: 8000", "port: 8080"),
        "entrance-host-service",
        (f"entrances[0].port 8080 is not exposed by service {APP} (ports: 8000)",),
        file=MANIFEST,
    ),
    "C024 the host is no Service": Case(
        flagship,
        swap(MANIFEST, f'host: "{APP}"', "host: elsewhere"),
        "entrance-host-service",
        ("host elsewhere is no Service", APP),
    ),
    "C027 a locale without its country": Case(
        flagship,
        swap(MANIFEST, '- "en-US"', "- en"),
        "spec-locale",
        ("locale 'en' is not a full", "did you mean en-US?"),
        file=MANIFEST,
    ),
    "C027 a listed locale without texts": Case(
        lambda: flagship().without("i18n/zh-CN/OlaresManifest.yaml"),
        rule="spec-locale",
        facts=("locale zh-CN listed but i18n/zh-CN/OlaresManifest.yaml missing",),
        severity=Severity.WARNING,
    ),
    "C169 a translation without its folder's file": Case(
        lambda: flagship().with_file("i18n/de-DE/notes.md", "x"),
        rule="spec-locale",
        facts=("i18n/de-DE has no OlaresManifest.yaml",),
        severity=Severity.WARNING,
    ),
    "C028 an architecture by its other name": Case(
        flagship,
        swap(MANIFEST, '- "amd64"', "- x86_64"),
        "support-arch",
        ("supportArch 'x86_64' invalid, use amd64".replace("invalid", "is invalid"),),
    ),
    "C028 capitals in an architecture": Case(
        legacy_flagship,
        swap(MANIFEST, '- "amd64"', "- AMD64"),
        "support-arch",
        ("'AMD64'", "amd64"),
    ),
    "C028 nvidia on arm64 alone": Case(
        flagship,
        swap(MANIFEST, '- "amd64"', "- arm64"),
        "accelerator-arch",
        ("accelerator mode nvidia requires amd64 in supportArch",),
    ),
    "C066 a new key that old values lack": Case(
        flagship,
        swaps(
            (CONFIG, "\ndata:\n", "\ndata:\n  X: {{ .Values.cache.size | quote }}\n"),
            ("values.yaml", 'admin: ""', 'admin: ""\ncache: {size: 1}'),
        ),
        "values-new-key-guard",
        ("nil pointer", "after an upgrade"),
        context={"published": Published({"1.0.2": ""}, values={"olaresEnv": {}})},
    ),
    "C102 a disk smaller than the files": Case(
        flagship,
        swap(MANIFEST, 'requiredDisk: "18Gi"', 'requiredDisk: "15Gi"'),
        "disk-below-files",
        ("requiredDisk 15Gi", "17.2", "GiB"),
        context={"spec": flagship_spec()},
    ),
    "C103 a probe that ends before the download": Case(
        flagship,
        bash(
            'curl -fL "https://hub.example/$MODEL_FILE" -o /models/a.part\n'
            "sha256sum /models/a.part\n"
            "exec /app/llama-server --model /opt/a.gguf --port 8000 --parallel 1"
        ),
        "startup-probe-budget",
        ("startup budget 650s", "17.2GB at 20 Mbit/s = 6880s", "load"),
        context={"spec": flagship_spec()},
    ),
    "C103 an init container downloads": Case(flagship, context={"spec": flagship_spec()}),
    "C105 a tool that the image lacks": Case(
        flagship,
        bash("curl -fL x -o y\nexec /app/llama-server --port 8000 --parallel 1"),
        "image-tools",
        (f"image {IMAGE} has no curl", "init container"),
        context={"images": {IMAGE: ImageFacts(tools=("sh",))}},
    ),
    "C105 a server that moved": Case(
        flagship,
        swap(DEPLOYMENT, '"/app/llama-server"', '"/llama-server"'),
        "image-tools",
        ("server path /llama-server, image provides /app/llama-server",),
        context={"images": {IMAGE: ImageFacts(server="/app/llama-server")}},
    ),
    "C106 an image for a newer driver": Case(
        lambda: flagship({"engine.image": "ghcr.io/example/llama.cpp:server-cuda13.9-b9261"}),
        rule="cuda-ceiling",
        facts=("image CUDA 13.9 > driver capability", "'olares-one'"),
    ),
    "C107 an image without kernels for the card": Case(
        flagship,
        rule="compute-capability",
        facts=("[sm_80, sm_86, sm_90]", "do not include sm_120"),
        context={"images": {IMAGE: ImageFacts(archs=("sm_80", "sm_86", "sm_90"))}},
    ),
    "C107 PTX is only slow": Case(
        flagship,
        rule="compute-capability",
        facts=("PTX", "slow"),
        severity=Severity.WARNING,
        context={"images": {IMAGE: ImageFacts(archs=("sm_80",), ptx_archs=("sm_90",))}},
    ),
    "C110 less GPU memory by hand than the model needs": Case(
        flagship,
        swap(
            DEPLOYMENT,
            '              memory: "40Gi"',
            '              memory: "40Gi"\n              nvidia.com/gpumem: 1024',
        ),
        "gpu-need-understated",
        ("gpumem 1024MiB < need 20885MiB",),
        context={"spec": flagship_spec()},
    ),
    "C110 more GPU memory by hand than any card has": Case(
        flagship,
        swap(
            DEPLOYMENT,
            '              memory: "40Gi"',
            '              memory: "40Gi"\n              nvidia.com/gpumem: 32768',
        ),
        "gpu-memory-exceeds-card",
        ("gpumem 32768 > card 24463: unschedulable",),
    ),
    "C183 an app without entrances": Case(
        plain_legacy_chart,
        lambda chart: chart.with_file(
            MANIFEST, chart[MANIFEST].decode().split("entrances:\n")[0] + "entrances: []\n"
        ),
        "entrance-count",
        ("entrances must have 1-10 items, found 0",),
    ),
    "C176 a hyphenated workload by dots": Case(
        flagship,
        swap(
            DEPLOYMENT,
            f".Values.workloads.{APP}.replicaCount",
            ".Values.workloads.my-app.replicaCount",
        ),
        "hyphen-index",
        ("holds a hyphen", '(index .Values.workloads "my-app"'),
        file=DEPLOYMENT,
    ),
    "C098 a page about the model instead of the model": Case(
        flagship,
        add(
            "templates/x.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"
            "  u: https://huggingface.co/a/b/blob/main/x.gguf\n",
        ),
        "model-url-blob",
        ("url contains /blob/", "use /resolve/"),
    ),
    "C037 a chat template that Helm would execute": Case(
        flagship,
        add("chat.json", '{"t": "{{ messages[0] }}"}'),
        "literal-braces",
        ("{{",),
        file="chat.json",
    ),
    "metrics are no fault": Case(flagship, arguments("--metrics")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_public_case_of_installing(name: str) -> None:
    case = CASES[name]
    found = matching(case)
    if case.rule:
        assert found, [f"{f.rule} {f.severity}: {f.message} | {f.hint}" for f in case.findings()]
    else:
        assert not found
