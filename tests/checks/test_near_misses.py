"""What stays just inside a limit, or only looks like a fault, is no finding."""

from collections.abc import Callable

import pytest
from support.check_charts import (
    APP,
    DEPLOYMENT,
    MANIFEST,
    Chart,
    flagship,
    legacy_flagship,
    plain_chart,
    plain_legacy_chart,
    rules_of,
    vllm_chart,
)
from support.mutation import add, arguments, drop, everywhere, init_container, role, swap

Edit = Callable[[Chart], Chart]
Make = Callable[[], Chart]

NEAR: dict[str, tuple[Make, Edit]] = {
    "a name of 30 characters": (flagship, everywhere(APP, "a" * 30)),
    "a title of 30 characters": (
        flagship,
        everywhere("Qwen36 35B-A3B MTP One", "Qwen36 35B-A3B MTP One And Mor"),
    ),
    "an entrance name of 63 characters": (
        flagship,
        swap(MANIFEST, f'- name: "{APP}"', f'- name: "{"a" * 63}"'),
    ),
    "a host of two characters": (
        plain_chart,
        lambda chart: chart.replaced(MANIFEST, "host: exampleapp-svc", "host: ab").replaced(
            "templates/service.yaml", "name: exampleapp-svc", "name: ab"
        ),
    ),
    "a version of 16 characters": (flagship, everywhere('"1.0.3"', '"1.0.300000000000"')),
    "quantities in every notation": (
        plain_legacy_chart,
        lambda chart: (
            chart.replaced(MANIFEST, "limitedDisk: 50Gi", "limitedDisk: '5e10'")
            .replaced(MANIFEST, "requiredDisk: 1Gi", "requiredDisk: 500M")
            .replaced(MANIFEST, "requiredCpu: '1'", "requiredCpu: 1000m")
        ),
    ),
    "equal sums": (flagship, swap(MANIFEST, 'limitedDisk: "36Gi"', 'limitedDisk: "18Gi"')),
    "a window written in another order": (
        legacy_flagship,
        swap(MANIFEST, ">=1.12.3-0,<1.12.6", "<1.12.6, >=1.12.3-0"),
    ),
    "a further application as dependency": (
        flagship,
        swap(
            MANIFEST,
            "  dependencies:\n",
            "  dependencies:\n    - {name: x, version: '>=1', type: application}\n",
        ),
    ),
    "an appVersion that is free text": (
        flagship,
        swap(
            "Chart.yaml", 'appVersion: "1.0.3"', "appVersion: 'gemma4:12b-it-ud-q8_K_XL (Unsloth)'"
        ),
    ),
    "a versionName that is free text": (
        flagship,
        swap(MANIFEST, 'versionName: "1.0.3"', "versionName: 'owner/repo:quant'"),
    ),
    "braces in a quoted text of a newer manifest": (
        flagship,
        swap(MANIFEST, '"First release."', "'uses {{ .Values.x }}'"),
    ),
    "braces in a block text of a newer manifest": (
        flagship,
        swap(
            MANIFEST,
            'upgradeDescription: "First release."',
            "upgradeDescription: |\n    {{ if }} a\n    b }}",
        ),
    ),
    "the three values of an older manifest": (
        plain_legacy_chart,
        swap(MANIFEST, "developer: Example", 'developer: "{{ .Values.bfl.username }}"')
        and swap(
            MANIFEST,
            "  locale: [en-US]\n",
            "  locale: [en-US]\n{{- if .Values.isAdmin }}\n  onlyAdmin: true\n{{- end }}\n",
        ),
    ),
    "supportArch for both": (flagship, swap(MANIFEST, '- "amd64"', '- "amd64"\n    - "arm64"')),
    "root in an image of beclab": (
        flagship,
        init_container(
            "        - {name: own, command: [id],\n"
            '           image: "docker.io/beclab/aboveos-busybox:1.37.0",\n'
            "           securityContext: {runAsUser: 0}}\n"
        ),
    ),
    "root in an image of docker.io before 1.12.6": (
        legacy_flagship,
        init_container(
            '        - {name: own, image: "docker.io/alpine:3.20.3", command: [id],\n'
            "           securityContext: {runAsUser: 0}}\n"
        ),
    ),
    "uid 1000": (
        flagship,
        swap(
            DEPLOYMENT,
            "      initContainers:",
            "      securityContext: {runAsUser: 1000}\n      initContainers:",
        ),
    ),
    "a folder of the device that always exists": (
        flagship,
        swap(
            DEPLOYMENT,
            "      volumes:\n",
            "      volumes:\n        - {name: tz, hostPath: {path: /etc/localtime, type: File}}\n",
        ),
    ),
    "a role that only reads": (
        flagship,
        add("templates/role.yaml", role("Role", "demo", "[get, list]", "nodes", "")),
    ),
    "a cluster role with the namespace in its name": (
        plain_legacy_chart,
        add(
            "templates/role.yaml",
            role("ClusterRole", '"demo-{{ .Release.Namespace }}"', "[get]", "pods", ""),
        ),
    ),
    "an object in the system's own namespace of the user": (
        flagship,
        add(
            "templates/other.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: "
            "user-system-alice}\ndata: {}\n",
        ),
    ),
    "files that .helmignore leaves out": (
        flagship,
        lambda chart: (
            chart.with_file(".helmignore", "# tools\ndocker/\n*.bak\n")
            .with_file("docker/Dockerfile", "FROM x")
            .with_file("values.yaml.bak", "x")
        ),
    ),
    "a README and a licence": (
        flagship,
        lambda chart: chart.with_file("README.md", "x").with_file("LICENSE", "x"),
    ),
    "a declared sub-chart": (
        flagship,
        lambda chart: chart.with_file(
            "Chart.yaml",
            chart["Chart.yaml"].decode()
            + "dependencies: [{name: sub, version: 1.0.0, condition: sub.on}]\n",
        ).with_file("templates/NOTES.txt", "thanks"),
    ),
    "a test file that hydration leaves alone": (flagship, add("README.md", "use {{ .Values.x }}")),
    "an env read with a fallback and declared": (
        flagship,
        swap(
            "templates/config.yaml",
            "\ndata:\n",
            '\ndata:\n  X: {{ (.Values.olaresEnv).HF_TOKEN | default "a" | quote }}\n',
        ),
    ),
    "octal modes": (
        flagship,
        swap(
            DEPLOYMENT,
            "          configMap:\n",
            "          configMap:\n            defaultMode: 0555\n",
        ),
    ),
    "a hyphen behind a trimmed action": (
        flagship,
        swap("templates/config.yaml", "\ndata:\n", '\ndata:\n  X: "{{ .Values.admin -}}-x"\n'),
    ),
    "a long CPU notation": (flagship, swap(DEPLOYMENT, 'cpu: "16"', 'cpu: "16000m"')),
    "a named target port": (
        flagship,
        swap("templates/service.yaml", "targetPort: 8000", "targetPort: http"),
    ),
    "a Service of another part": (
        flagship,
        add(
            "templates/other.yaml",
            "apiVersion: v1\nkind: Service\n"
            "metadata: {name: extra, namespace: '{{ .Release.Namespace }}'}\n"
            f"spec: {{selector: {{io.kompose.service: {APP}}},\n"
            "       ports: [{port: 80, targetPort: 8000}]}\n",
        ),
    ),
    "a digest beside a moving tag": (
        flagship,
        swap(
            DEPLOYMENT,
            "docker.io/alpine/curl:8.12.1",
            f"docker.io/alpine/curl:latest@sha256:{'a' * 64}",
        ),
    ),
    "native context beside the configured one": (
        lambda: flagship({"engine.ctx": 131072}),
        swap(MANIFEST, "\n    - GPU memory", ", natively 262K context\n    - GPU memory"),
    ),
    "old values in a comparison": (
        flagship,
        swap(
            MANIFEST,
            '"First release."',
            '"Context 32K -> 262K, b8667 -> master; was port 8080 with Q4_K_XL."',
        ),
    ),
    "numbers that are no context": (
        flagship,
        swap(MANIFEST, '"First release."', '"Handles 4K video, 10K users and 100K downloads."'),
    ),
    "another file's quantisation in a comparison": (
        flagship,
        swap(MANIFEST, '"First release."', '"Better than Q4_K_M; UD-Q4_K_XL does not fit."'),
    ),
    "a relative link to a heading": (
        flagship,
        swap(MANIFEST, '"First release."', '"See [below](#limits) or https://example.org."'),
    ),
    "a server without a port flag on its default port": (
        vllm_chart,
        lambda chart: drop(DEPLOYMENT, "            - --port\n", "--port", '            - "8000"')(
            everywhere("8080", "8000")(chart)
        ),
    ),
    "no tools but a container port": (flagship, arguments("--metrics")),
}


@pytest.mark.parametrize("name", NEAR)
def test_what_is_allowed_is_no_finding(name: str) -> None:
    make, edit = NEAR[name]
    findings = edit(make()).check()
    assert rules_of(findings) == set(), [f"{f.rule}: {f.message}" for f in findings]
