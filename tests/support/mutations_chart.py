"""Changes of layout, versions and manifest that one rule objects to."""

from typing import Final

from support.check_charts import (
    APP,
    DEPLOYMENT,
    MANIFEST,
    flagship,
    legacy_flagship,
    plain_chart,
    plain_legacy_chart,
)
from support.mutation import (
    ICON,
    REPLICAS,
    STOCK,
    Mutation,
    add,
    drop,
    everywhere,
    listing,
    swap,
    swaps,
)

from olares_apps.checks import Published

__all__ = ["MUTATIONS"]

MUTATIONS: Final[dict[str, Mutation]] = {
    # Layout, names, versions
    "layout-required-files": Mutation(
        flagship,
        lambda chart: chart.without("values.yaml"),
    ),
    "folder-name": Mutation(
        flagship,
        everywhere(APP, "llamacpp-a3b"),
        also=frozenset({"hyphen-index"}),
        why="the hyphen ends the dot path of the replica count",
    ),
    "chart-type": Mutation(flagship, swap("Chart.yaml", "application", "app")),
    "app-name-leading-letter": Mutation(
        legacy_flagship,
        everywhere(APP, "3demo"),
        also=frozenset({"entrance-host-format"}),
        why="the entrance's host is the app's name",
    ),
    "name-consistency": Mutation(
        flagship, swap("Chart.yaml", f'name: "{APP}"', 'name: "otherone"')
    ),
    "reserved-folder-name": Mutation(flagship, everywhere(APP, "project")),
    "reserved-appid": Mutation(
        flagship,
        swap(MANIFEST, f'appid: "{APP}"', 'appid: "vault"'),
        also=frozenset({"appid-equals-name"}),
        why="an appid that is taken is another one",
    ),
    "appid-equals-name": Mutation(flagship, drop(MANIFEST, "  appid:")),
    "stray-file": Mutation(flagship, add(".DS_Store", b"\0\0")),
    "file-size": Mutation(flagship, add("LICENSE", "x\n" * (5 * 2**19 + 1))),
    "apple-double": Mutation(flagship, add("._Chart.yaml", b"\0\x05\x16\x07")),
    "nested-archive": Mutation(flagship, add(f"{APP}-1.0.0.tgz", b"\x1f\x8b")),
    "unused-file": Mutation(flagship, add("chat_template.jinja", "x")),
    "file-encoding": Mutation(flagship, add("README.md", b"caf\xe9\n")),
    "line-endings": Mutation(flagship, add("README.md", b"one\r\ntwo\r\n")),
    "version-consistency": Mutation(
        flagship, swap("Chart.yaml", 'version: "1.0.3"', 'version: "1.0.4"')
    ),
    "version-semver": Mutation(flagship, everywhere('"1.0.3"', '"1.0.03"')),
    "version-length": Mutation(flagship, everywhere('"1.0.3"', '"1.0.30000000000000"')),
    "version-plain-release": Mutation(flagship, everywhere('"1.0.3"', '"1.0.3-rc1"')),
    "version-monotonic": Mutation(flagship, context={"published": Published({"1.4.5": ""})}),
    "version-immutable": Mutation(
        flagship, context={**listing(), "published": Published({"1.0.3": "cd" * 32})}
    ),
    "app-version-image": Mutation(
        lambda: flagship({"engine.image": f"{STOCK}-b9261"}),
        swap("Chart.yaml", 'appVersion: "1.0.3"', "appVersion: b9879"),
    ),
    # Manifest
    "quoted-scalars": Mutation(flagship, swap(MANIFEST, 'requiredCpu: "4"', "requiredCpu: 4")),
    "manifest-version": Mutation(legacy_flagship, swap(MANIFEST, '"0.10.0"', '"0.7.1"')),
    "api-version-known": Mutation(
        plain_legacy_chart, swap(MANIFEST, "apiVersion: 'v1'", "apiVersion: 'v9'")
    ),
    "api-version-v2-refused": Mutation(
        flagship,
        swap(MANIFEST, 'apiVersion: "v3"', 'apiVersion: "v2"'),
        also=frozenset({"sub-charts-v2", "accelerator-on-v2"}),
        why="manifest 0.12.0 with v2 lacks sub-charts and has an accelerator",
    ),
    "sub-charts-v2": Mutation(
        legacy_flagship,
        swap(MANIFEST, "spec:\n", "spec:\n  subCharts: [{name: other, shared: false}]\n"),
    ),
    "manifest-parse": Mutation(
        flagship, swap(MANIFEST, '  categories:\n    - "AI"\n', "  categories: AI\n")
    ),
    "manifest-literal": Mutation(
        flagship, swap(MANIFEST, 'developer: "olapps"', "developer: a {{ b }}")
    ),
    "manifest-template-values": Mutation(
        legacy_flagship, swap(MANIFEST, '"First release."', "'see {{ .Values.olaresEnv }}'")
    ),
    "metadata-required": Mutation(flagship, drop(MANIFEST, '  description: "Qwen3.6 35B-A3B with')),
    "metadata-name-length": Mutation(
        flagship,
        everywhere(APP, "a" * 31),
        also=frozenset({"folder-name"}),
        why="the folder is named like the app",
    ),
    "metadata-title-length": Mutation(
        flagship,
        swaps(
            (
                MANIFEST,
                '  title: "Qwen36 35B-A3B MTP One"',
                '  title: "Qwen36 35B-A3B MTP One And More"',
            ),
            (
                "i18n/en-US/OlaresManifest.yaml",
                'title: "Qwen36 35B-A3B MTP One"',
                'title: "Qwen36 35B-A3B MTP One And More"',
            ),
        ),
    ),
    "metadata-icon-url": Mutation(flagship, swap(MANIFEST, f'icon: "{ICON}"', 'icon: "icon.png"')),
    "metadata-unknown-key": Mutation(
        flagship, swap(MANIFEST, "  categories:", "  bento: {}\n  categories:")
    ),
    "metadata-taxonomy-slug": Mutation(
        flagship, swap(MANIFEST, "  categories:", "  tags: [LLM Chat]\n  categories:")
    ),
    "manifest-unknown-key": Mutation(
        flagship, swap(MANIFEST, "\nspec:\n", "\nspec:\n  envs: []\n")
    ),
    "spec-locale": Mutation(flagship, swap(MANIFEST, '- "en-US"', '- "en"')),
    "entrance-count": Mutation(
        plain_chart,
        lambda chart: chart.with_file(
            MANIFEST,
            chart[MANIFEST].decode().split("entrances:\n")[0]
            + "entrances: []\nworkloadReplicas: {exampleapp: 1}\n",
        ),
    ),
    "entrance-name": Mutation(flagship, swap(MANIFEST, f'- name: "{APP}"', '- name: "a_b"')),
    "entrance-host-format": Mutation(flagship, swap(MANIFEST, f'host: "{APP}"', 'host: "x"')),
    "entrance-port": Mutation(flagship, swap(MANIFEST, "port: 8000", "port: 0")),
    "entrance-title": Mutation(
        flagship, swap(MANIFEST, '    title: "Qwen36 35B-A3B MTP One"', '    title: "Qwen3.6 35B"')
    ),
    "entrance-icon-url": Mutation(
        flagship, swap(MANIFEST, "    port: 8000", "    port: 8000\n    icon: icon.png")
    ),
    "entrance-enum": Mutation(
        flagship, swap(MANIFEST, 'openMethod: "window"', 'openMethod: "windows"')
    ),
    "entrance-host-service": Mutation(flagship, swap(MANIFEST, "port: 8000", "port: 8080")),
    "entrance-order": Mutation(
        flagship, context={"published": Published({"1.0.2": ""}, entrances=("first",))}
    ),
    "policy-fields": Mutation(
        flagship, swap(MANIFEST, "  apiTimeout: 0", "  apiTimeout: 0\n  policies: [{uriRegex: /x}]")
    ),
    "upload-dest-mounted": Mutation(
        flagship, swap(MANIFEST, "  apiTimeout: 0", "  apiTimeout: 0\n  upload: {dest: /nowhere}")
    ),
    # Options
    "olares-dependency": Mutation(flagship, swap(MANIFEST, '">=1.12.6-0"', '"newest"')),
    "olares-dependency-window": Mutation(flagship, swap(MANIFEST, '">=1.12.6-0"', '">=1.12.6"')),
    "dependency-fields": Mutation(
        flagship,
        swap(
            MANIFEST,
            "  dependencies:\n",
            "  dependencies:\n    - {name: x, version: '>=1', type: magic}\n",
        ),
    ),
    "provider-empty": Mutation(
        flagship, swap(MANIFEST, "\nspec:\n", "\nprovider: [{name: x}]\nspec:\n")
    ),
    "external-data-generation": Mutation(
        legacy_flagship, swap(MANIFEST, "  appData: true", "  appData: true\n  externalData: true")
    ),
    "shared-requirements": Mutation(
        flagship, swap(MANIFEST, "  apiTimeout: 0", "  apiTimeout: 0\n  shared: true")
    ),
    "template-only-multiple": Mutation(
        flagship, swap(MANIFEST, "  apiTimeout: 0", "  apiTimeout: 0\n  templateOnly: true")
    ),
    "overlay-gateway": Mutation(
        flagship,
        swap(
            MANIFEST,
            "\nspec:\n",
            f"\noverlayGateway: {{enable: true, entrances: [{{title: A, port: 0, workload: "
            f"{APP}}}]}}\nspec:\n",
        ),
    ),
    "workload-options-single": Mutation(
        flagship,
        swap(
            MANIFEST,
            "\nspec:\n",
            f"\nworkloadOptions:\n  {APP}: {{replicas: 2, allow: [{{type: usb}}]}}\nspec:\n",
        ),
    ),
    "middleware-fields": Mutation(
        flagship, swap(MANIFEST, "\nspec:\n", "\nmiddleware:\n  redis: {}\nspec:\n")
    ),
    "middleware-redis-password": Mutation(
        flagship,
        swap(
            MANIFEST, "\nspec:\n", "\nmiddleware:\n  redis: {namespace: a, password: auto}\nspec:\n"
        ),
    ),
    "api-timeout": Mutation(flagship, swap(MANIFEST, "apiTimeout: 0", "apiTimeout: 15")),
    "run-as-internal": Mutation(
        flagship, swap(MANIFEST, "\nspec:\n", "\nspec:\n  runAsInternal: true\n")
    ),
    "env-fields": Mutation(flagship, swap(MANIFEST, 'type: "password"', 'type: "secret"')),
    "env-reserved-prefix": Mutation(
        flagship,
        swap(MANIFEST, "envs:\n", "envs:\n  - {envName: OLARES_USER_X, type: string}\n"),
        also=frozenset({"env-unused"}),
        why="a template that used it would break olares-user-text",
    ),
    # Resources
    "resource-quantity": Mutation(
        flagship, swap(MANIFEST, 'limitedDisk: "36Gi"', 'limitedDisk: "36 Gi"')
    ),
    "resource-flat-required": Mutation(legacy_flagship, drop(MANIFEST, "  requiredDisk:")),
    "resource-shape-exclusive": Mutation(
        flagship, swap(MANIFEST, "  accelerator:", '  requiredMemory: "22Gi"\n  accelerator:')
    ),
    "resource-shape-missing": Mutation(
        plain_chart,
        lambda chart: chart.without_lines(DEPLOYMENT, "gpu-inject").without_lines(
            MANIFEST, "accelerator:", "mode:", "Cpu:", "Memory:", "Disk:"
        ),
    ),
    "resource-limit-order": Mutation(
        flagship, swap(MANIFEST, 'limitedDisk: "36Gi"', 'limitedDisk: "1Gi"')
    ),
    "resource-auto-value": Mutation(
        flagship, swap(MANIFEST, 'limitedDisk: "36Gi"', 'limitedDisk: "-1"')
    ),
    "accelerator-mode": Mutation(flagship, swap(MANIFEST, 'mode: "nvidia"', 'mode: "nvidea"')),
    "accelerator-complete": Mutation(flagship, drop(MANIFEST, "limitedDisk:")),
    "accelerator-gpu-memory": Mutation(flagship, drop(MANIFEST, "limitedGPUMemory:")),
    "accelerator-arch": Mutation(flagship, swap(MANIFEST, '- "amd64"', '- "arm64"')),
    "accelerator-on-v2": Mutation(
        flagship,
        swap(MANIFEST, 'apiVersion: "v3"', 'apiVersion: "v2"'),
        also=frozenset({"sub-charts-v2", "api-version-v2-refused"}),
        why="v2 is refused by that generation",
    ),
    "supported-gpu-empty": Mutation(
        flagship, swap(MANIFEST, "\nspec:\n", "\nspec:\n  supportedGpu: [nvidia]\n")
    ),
    "support-arch": Mutation(legacy_flagship, swap(MANIFEST, '- "amd64"', '- "x86_64"')),
    "container-resources": Mutation(flagship, drop(DEPLOYMENT, '              memory: "40Gi"')),
    "container-request-order": Mutation(
        flagship, swap(DEPLOYMENT, 'memory: "40Gi"', 'memory: "20Gi"')
    ),
    "resource-sum": Mutation(flagship, swap(DEPLOYMENT, 'memory: "40Gi"', 'memory: "44Gi"')),
    "workload-replicas-declared": Mutation(
        flagship, drop(MANIFEST, "workloadReplicas:", f"  {APP}: 1")
    ),
    "workload-replicas-match": Mutation(
        flagship, swap(MANIFEST, f"  {APP}: 1", f"  {APP}: 1\n  other: 1")
    ),
    "workload-replicas-template": Mutation(flagship, swap(DEPLOYMENT, REPLICAS, "1")),
    "replica-count-integer": Mutation(
        flagship, swap("values.yaml", "replicaCount: 1", 'replicaCount: "1"')
    ),
}
