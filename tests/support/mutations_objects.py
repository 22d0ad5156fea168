"""Changes of templates and objects that one rule objects to."""

from typing import Final

from support.check_charts import (
    APP,
    DEPLOYMENT,
    MANIFEST,
    flagship,
    legacy_flagship,
    plain_chart,
    vllm_chart,
)
from support.mutation import (
    CONFIG,
    IMAGE,
    SERVICE,
    Mutation,
    add,
    drop,
    init_container,
    role,
    swap,
    swaps,
)

from olares_apps.checks import Published

__all__ = ["MUTATIONS"]

MUTATIONS: Final[dict[str, Mutation]] = {
    "secret-in-chart": Mutation(
        vllm_chart,
        swap(
            DEPLOYMENT,
            "          env:\n",
            "          env:\n            - {name: HF_TOKEN, value: hf_secret}\n",
        ),
    ),
    # Templates
    "chart-renders": Mutation(
        flagship, swap(DEPLOYMENT, "  replicas:", '  {{- fail "no" }}\n  replicas:')
    ),
    "values-parent-default": Mutation(flagship, drop("values.yaml", "userspace:", "  appData:")),
    "template-function-subset": Mutation(
        flagship, swap(DEPLOYMENT, "| quote }}", "| upper | nospace | b64enc | quote }}")
    ),
    "template-context-subset": Mutation(
        flagship, swap(CONFIG, "\ndata:\n", "\ndata:\n  X: {{ .Chart.AppVersion | quote }}\n")
    ),
    "literal-braces": Mutation(
        flagship, swap("values.yaml", 'admin: ""', 'admin: ""  # {{ "x" }}')
    ),
    "yaml-documents": Mutation(flagship, swap(SERVICE, "spec:\n", "spec:\n  type: ClusterIP\n")),
    "image-literal": Mutation(
        flagship,
        swaps(
            (DEPLOYMENT, f'image: "{IMAGE}"', "image: {{ .Values.image | quote }}"),
            ("values.yaml", 'admin: ""', f'admin: ""\nimage: "{IMAGE}"'),
        ),
    ),
    "values-new-key-guard": Mutation(
        flagship,
        swaps(
            (CONFIG, "\ndata:\n", "\ndata:\n  X: {{ .Values.cache.size | quote }}\n"),
            ("values.yaml", 'admin: ""', 'admin: ""\ncache: {size: 1}'),
        ),
        context={"published": Published({"1.0.2": ""}, values={"olaresEnv": {}})},
        also=frozenset({"image-literal"}),
        why="a key of the author's own never changes either",
    ),
    "random-secret": Mutation(
        flagship, swap(CONFIG, "\ndata:\n", "\ndata:\n  X: {{ randAlphaNum 8 | quote }}\n")
    ),
    "hyphen-index": Mutation(
        flagship, swap(CONFIG, "\ndata:\n", "\ndata:\n  X: {{ .Values.olaresEnv.a-b | quote }}\n")
    ),
    "helm-hook-middleware": Mutation(
        flagship,
        swaps(
            (
                CONFIG,
                "  labels:",
                '  annotations: {"helm.sh/hook": pre-install, note: "{{ .Values.postgres }}"}\n'
                "  labels:",
            ),
            ("values.yaml", 'admin: ""', 'admin: ""\npostgres: {}'),
        ),
    ),
    "olares-user-text": Mutation(
        flagship, swap("values.yaml", 'admin: ""', 'admin: ""  # see OLARES_USER_X')
    ),
    "object-kind": Mutation(
        flagship, add("templates/more.yaml", "apiVersion: v1\nkind: Secert\nmetadata: {name: x}\n")
    ),
    "object-metadata": Mutation(
        flagship,
        add(
            "templates/more.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {a: 1}}\n",
        ),
    ),
    # Environment and permissions
    "env-declared": Mutation(
        flagship, swap(CONFIG, "\ndata:\n", '\ndata:\n  X: "{{ .Values.olaresEnv.OTHER }}"\n')
    ),
    "env-unused": Mutation(
        flagship, swap(MANIFEST, "envs:\n", "envs:\n  - {envName: OTHER, type: string}\n")
    ),
    "env-empty-address": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            "            - name: MODEL_DIR",
            '            - name: HUB_ENDPOINT\n              value: ""\n'
            "            - name: MODEL_DIR",
        ),
    ),
    "env-value-type": Mutation(flagship, swap(CONFIG, 'THREADS: "16"', "THREADS: 16")),
    "number-exponent": Mutation(
        flagship, swap(CONFIG, 'THREADS: "16"', 'THREADS: "16"\n  ROPE: "1.048576e+06"')
    ),
    "permission-app-data": Mutation(flagship, drop(MANIFEST, "permission:", "  appData: true")),
    "permission-app-common": Mutation(
        flagship, swap(DEPLOYMENT, ".userspace.appData", ".userspace.appCommon")
    ),
    "permission-external-data": Mutation(
        flagship,
        swaps(
            (DEPLOYMENT, ".Values.userspace.appData", ".Values.sharedlib"),
            ("values.yaml", 'admin: ""', 'admin: ""\nsharedlib: ""'),
        ),
    ),
    "permission-cache-user-data": Mutation(
        flagship, swap(DEPLOYMENT, ".userspace.appData", ".userspace.appCache")
    ),
    # Pods and cluster
    "main-workload-name": Mutation(
        legacy_flagship, swap(DEPLOYMENT, f'  name: "{APP}"', "  name: server")
    ),
    "hostpath-strategy": Mutation(
        flagship, swap(DEPLOYMENT, "type: Recreate", "type: RollingUpdate")
    ),
    "hostpath-type": Mutation(
        flagship, swap(DEPLOYMENT, "type: DirectoryOrCreate", "type: Directory")
    ),
    "hostpath-empty": Mutation(
        flagship, swap(DEPLOYMENT, '"{{ .Values.userspace.appData }}/models"', '"models"')
    ),
    "shared-folder-permissions": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            "      initContainers:",
            "      securityContext: {runAsUser: 10001}\n      initContainers:",
        ),
    ),
    "security-context-root": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            "        - name: download\n",
            "        - name: download\n          securityContext: {runAsUser: 0}\n",
        ),
    ),
    "sub-path-expr": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            "              mountPath: /scripts\n",
            "              mountPath: /scripts\n              subPathExpr: a\n",
        ),
    ),
    "chown-hostpath": Mutation(
        flagship,
        init_container(
            '        - name: owner\n          image: "docker.io/beclab/aboveos-busybox:1.37.0"\n'
            '          command: ["sh", "-c", "chown -R 1000:1000 /models"]\n'
            "          volumeMounts: [{name: models, mountPath: /models}]\n"
        ),
    ),
    "host-network": Mutation(
        flagship,
        swap(
            DEPLOYMENT,
            "      enableServiceLinks: false",
            "      hostNetwork: true\n      enableServiceLinks: false",
        ),
    ),
    "namespace-release": Mutation(
        flagship, swap(SERVICE, "namespace: {{ .Release.Namespace }}", "namespace: default")
    ),
    "selector-labels": Mutation(
        plain_chart, swap(DEPLOYMENT, "matchLabels: {app: exampleapp}", "matchLabels: {app: other}")
    ),
    "reference-missing": Mutation(
        flagship, swap(DEPLOYMENT, f'name: "{APP}-scripts"', 'name: "other-scripts"')
    ),
    "cluster-scoped-name": Mutation(
        flagship,
        lambda chart: add("templates/role.yaml", role("ClusterRole", "demo", "[get]", "pods", ""))(
            chart.replaced(
                MANIFEST, "  apiTimeout: 0", "  apiTimeout: 0\n  allowMultipleInstall: true"
            )
        ),
    ),
    "rbac-forbidden": Mutation(
        flagship, add("templates/role.yaml", role("Role", "demo", "[get, patch]", "nodes", ""))
    ),
    "network-policy": Mutation(
        flagship,
        add(
            "templates/policy.yaml",
            "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x, "
            "namespace: '{{ .Release.Namespace }}'}\nspec: {podSelector: {}}\n",
        ),
    ),
    "service-type": Mutation(flagship, swap(SERVICE, "type: ClusterIP", "type: NodePort")),
    "service-selector": Mutation(
        plain_chart, swap(SERVICE, "selector: {app: exampleapp}", "selector: {app: other}")
    ),
    "port-agreement": Mutation(flagship, swap(SERVICE, "targetPort: 8000", "targetPort: 8080")),
    "image-public-fixed": Mutation(
        flagship, swap(DEPLOYMENT, "docker.io/alpine/curl:8.12.1", "docker.io/alpine/curl:latest")
    ),
    "image-digest": Mutation(
        flagship, swap(DEPLOYMENT, "docker.io/alpine/curl:8.12.1", "docker.io/alpine:3.20")
    ),
}
