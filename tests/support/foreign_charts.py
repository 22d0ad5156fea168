"""Charts as other people write them: the catalogue's way, and a market's hand-edited way."""

from typing import Final

from support.check_charts import DEPLOYMENT, MANIFEST, Chart

__all__ = ["catalogue_chart", "legacy_market_chart"]

_HELPERS: Final = """\
{{- define "demo.mib" -}}
{{- $size := trim . -}}
{{- if hasSuffix "Gi" $size -}}
{{- mul (int (trimSuffix "Gi" $size)) 1024 -}}
{{- else -}}
{{- int $size -}}
{{- end -}}
{{- end -}}
"""
_ENGINE: Final = """\
{{- $env := .Values.olaresEnv | default dict -}}
{{- $mode := .Values.gpu | default "" -}}
{{- if not $mode -}}
{{- $mode = .Values.GPU.Type | default "nvidia" -}}
{{- end -}}
{{- $unified := eq $mode "nvidia-gb10" -}}
{{- $mib := include "demo.mib" ($env.GPU_MEMORY | default "4096") -}}
{{- $request := $env.MEMORY_REQUEST | default "21Gi" -}}
{{- if $unified -}}
{{- $request = printf "%sMi" $mib -}}
{{- end -}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: '{{ .Release.Name }}'
  namespace: '{{ .Release.Namespace }}'
  annotations:
    applications.app.bytetrade.io/gpu-inject: "engine"
spec:
  replicas: {{ .Values.workloads.democatalogue.replicaCount }}
  strategy: {type: Recreate}
  selector: {matchLabels: {app: engine}}
  template:
    metadata: {labels: {app: engine}}
    spec:
      volumes:
        - name: cache
          hostPath: {path: "{{ .Values.userspace.appCommon }}/hub", type: DirectoryOrCreate}
        - name: wrappers
          configMap: {name: demo-wrappers, defaultMode: 0555}
      containers:
        - name: engine
          image: docker.io/beclab/ggml-org-llama.cpp:server-cuda12-b9261
          command: ["/bin/sh", "/wrappers/run.sh"]
          env:
            - {name: MODEL_NAME, value: "{{ $env.MODEL_NAME | default "" }}"}
            - {name: ENGINE_ARGS, value: "{{ $env.ENGINE_ARGS | default "" }}"}
            - {name: ENGINE_PORT, value: "8081"}
          ports: [{name: engine, containerPort: 8081}]
          volumeMounts:
            - {name: cache, mountPath: /cache, readOnly: true}
            - {name: wrappers, mountPath: /wrappers, readOnly: true}
          resources:
            requests:
              cpu: "1"
              memory: "{{ $request }}"
{{- if not $unified }}
              nvidia.com/gpumem: {{ $mib }}
{{- end }}
            limits:
              cpu: "6"
              memory: "{{ $request }}"
{{- if not $unified }}
              nvidia.com/gpumem: {{ $mib }}
{{- end }}
---
apiVersion: v1
kind: Service
metadata: {name: engine, namespace: '{{ .Release.Namespace }}'}
spec:
  selector: {app: engine}
  ports: [{name: engine, port: 8081, targetPort: 8081}]
"""
_CONSOLE: Final = """\
{{- $env := .Values.olaresEnv | default dict -}}
{{- $domains := split "," .Values.domain.client -}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: console, namespace: '{{ .Release.Namespace }}'}
spec:
  replicas: {{ .Values.workloads.console.replicaCount }}
  strategy: {type: Recreate}
  selector: {matchLabels: {app: console}}
  template:
    metadata: {labels: {app: console}}
    spec:
      volumes:
        - name: cache
          hostPath: {path: "{{ .Values.userspace.appCommon }}/hub", type: DirectoryOrCreate}
      initContainers:
        - name: rights
          image: docker.io/beclab/aboveos-busybox:1.37.0
          command: ["sh", "-c", "chown -R 1000:1000 /cache || true"]
          securityContext: {runAsUser: 0}
          volumeMounts: [{name: cache, mountPath: /cache}]
      containers:
        - name: console
          image: docker.io/beclab/console:v1.3.1
          env:
            - {name: APP_URL, value: "https://{{ index $domains "_0" }}"}
{{- if $env.HF_TOKEN }}
            - name: HF_TOKEN
              valueFrom: {secretKeyRef: {name: '{{ .Release.Name }}-secrets', key: HF_TOKEN}}
{{- end }}
          ports: [{name: http, containerPort: 8090}]
          volumeMounts: [{name: cache, mountPath: /cache}]
          resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {cpu: "1", memory: 2Gi}}
---
apiVersion: v1
kind: Service
metadata: {name: console-svc, namespace: '{{ .Release.Namespace }}'}
spec:
  selector: {app: console}
  ports: [{name: http, port: 8090, targetPort: 8090}]
---
apiVersion: v1
kind: Service
metadata: {name: shared-api, namespace: '{{ .Release.Namespace }}'}
spec:
  selector: {app: console}
  ports: [{name: http, port: 80, targetPort: 8090}]
"""
_SECRET: Final = """\
{{- $env := .Values.olaresEnv | default dict -}}
{{- if $env.HF_TOKEN }}
apiVersion: v1
kind: Secret
metadata: {name: '{{ .Release.Name }}-secrets', namespace: '{{ .Release.Namespace }}'}
stringData:
  HF_TOKEN: {{ $env.HF_TOKEN | quote }}
{{- end }}
"""
_WRAPPERS: Final = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: demo-wrappers, namespace: '{{ .Release.Namespace }}'}
data:
  run.sh: |
    #!/bin/sh
    echo "starting ${MODEL_NAME:-<none>} with ${ENGINE_ARGS:-<none>}"
    exec llama-server -hf "$MODEL_NAME" --host 0.0.0.0 --port "$ENGINE_PORT" $ENGINE_ARGS
"""
_CATALOGUE_MANIFEST: Final = """\
olaresManifest.version: '0.12.0'
olaresManifest.type: app
apiVersion: 'v3'
metadata:
  name: democatalogue
  appid: democatalogue
  title: Demo Model (llama.cpp)
  description: "Served with llama.cpp."
  icon: https://cdn.example.org/demo.png
  version: '1.0.10'
  categories: [AI]
sharedEntrances:
  - {name: democatalogue, host: shared-api, port: 0, title: Demo, invisible: true}
entrances:
  - {name: client, port: 8090, host: console-svc, title: Demo Model, openMethod: window}
workloadReplicas:
  democatalogue: 1
  console: 1
spec:
  onlyAdmin: true
  versionName: 'owner/repo-GGUF:UD-Q4_K_XL'
  upgradeDescription: |
    v1.0.10: bump llama.cpp.

    v1.0.9: `HF_TOKEN` in a Secret; port 9000, 32K context, b8000.
  fullDescription: |
    - Model: `owner/repo-GGUF:UD-Q4_K_XL`
    - Engine args: `-c 131072 -ngl all`
    - If it does not fit, reduce `-c` to 65536 context.
  developer: Somebody
  submitter: Olares
  locale: [en-US]
  accelerator:
    - mode: nvidia
      requiredCpu: "1300m"
      limitedCpu: "15360m"
      requiredMemory: "22Gi"
      limitedMemory: "32Gi"
      requiredDisk: 50Mi
      limitedDisk: 500Gi
      requiredGPUMemory: "20Gi"
      limitedGPUMemory: "23Gi"
    - mode: nvidia-gb10
      requiredCpu: "1300m"
      limitedCpu: "15360m"
      requiredMemory: "32Gi"
      limitedMemory: "48Gi"
      requiredDisk: 50Mi
      limitedDisk: 500Gi
  supportArch: [amd64, arm64]
permission: {appData: true, appCommon: true}
options:
  apiTimeout: 0
  LLMGatewaySupported: true
  shared: true
  templateOnly: false
  dependencies: [{name: olares, version: '>=1.12.6-0', type: system}]
envs:
  - {envName: MODEL_NAME, required: true, type: string, default: "owner/repo-GGUF:UD-Q4_K_XL"}
  - {envName: ENGINE_ARGS, required: true, default: "-c 131072 -ngl all -fa on -np 1"}
  - {envName: HF_TOKEN, valueFrom: {envName: OLARES_SYSTEM_HUGGINGFACE_TOKEN} }
  - {envName: MEMORY_REQUEST, required: true, default: "21Gi", type: string}
  - {envName: GPU_MEMORY, required: true, default: "20Gi", type: string}
"""


def catalogue_chart() -> Chart:
    """Return a chart in the manner of the official catalogue's model apps."""
    files = {
        "Chart.yaml": "apiVersion: v2\nname: democatalogue\nversion: 1.0.10\nappVersion: b9000\n",
        "values.yaml": (
            "workloads:\n  console:\n    replicaCount: 1\n  democatalogue:\n    replicaCount: 1\n"
        ),
        "owners": "owners:\n- somebody\n",
        MANIFEST: _CATALOGUE_MANIFEST,
        "templates/_helpers.tpl": _HELPERS,
        "templates/engine.yaml": _ENGINE,
        "templates/console.yaml": _CONSOLE,
        "templates/secret.yaml": _SECRET,
        "templates/wrappers.yaml": _WRAPPERS,
    }
    return Chart({path: text.encode() for path, text in files.items()})


_MARKET_MANIFEST: Final = """\
olaresManifest.version: '0.10.0'
olaresManifest.type: app
apiVersion: 'v2'
metadata:
  name: demomarketone
  icon: https://market.example.org/icons/demomarketone.png
  description: "Demo at FULL 96K context"
  appid: demomarketone
  title: Demo Market One
  version: 1.0.9
  categories: [LLM Chat]
entrances:
  - {name: demomarketone, port: 8000, host: demomarketone, title: Demo Market, openMethod: window}
spec:
  versionName: 1.0.9
  upgradeDescription: |
    v1.0.9: new defaults.

    v1.0.8: port 8080, 32K context, Q4_K_M, b8667.
  fullDescription: |
    UD-Q4_K_XL quantization on llama.cpp b8740, n-max 5.
    OpenAI-compatible API on port 8080.
    Native 262K context.
  developer: Somebody
  website: https://market.example.org
  submitter: somebody
  locale: [en-US]
  requiredCpu: '4'
  limitedCpu: '16'
  requiredMemory: 24Gi
  limitedMemory: 40Gi
  requiredDisk: 30Gi
  limitedDisk: 50Gi
  requiredGpu: 1Gi
  limitedGpu: 24Gi
  supportArch: [amd64]
permission: {appData: true}
options:
  apiTimeout: 0
  dependencies: [{name: olares, version: '>=1.12.3-0,<1.12.6', type: system}]
envs:
  - {envName: OLARES_USER_HUGGINGFACE_TOKEN, type: string, required: false}
"""
_MARKET_DEPLOYMENT: Final = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: demo-env, namespace: "{{ .Release.Namespace }}"}
data:
  TARGET_MODEL: "example-org/Demo-MTP-GGUF"
  TARGET_FILE: "Demo-35B-A3B-UD-Q3_K_XL.gguf"
  MODEL_ALIAS: "demo"
  CTX_SIZE: "262144"
  SPEC_DRAFT_N_MAX: "3"
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: demomarketone
  namespace: "{{ .Release.Namespace }}"
  annotations: {applications.app.bytetrade.io/gpu-inject: "true"}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec:
      containers:
        - name: server
          image: "docker.io/example/llama-cpp-mtp:master-ad27757"
          command: ["/bin/bash", "-c"]
          args:
            - |
              set -e
              SHARED_DIR=${SHARED_DIR:-/shared}
              if [ ! -f "$SHARED_DIR/$TARGET_FILE" ]; then
                curl -fL "https://huggingface.co/${TARGET_MODEL}/resolve/main/${TARGET_FILE}" \\
                  -o "$SHARED_DIR/$TARGET_FILE"
              fi
              exec /app/llama-server \\
                --model "$SHARED_DIR/$TARGET_FILE" --alias "$MODEL_ALIAS" \\
                --host 0.0.0.0 --port 8000 --ctx-size "${CTX_SIZE:-96000}" \\
                --cache-type-k q4_0 --cache-type-v q4_0 --parallel 1 --flash-attn on --jinja \\
                --spec-type draft-mtp --spec-draft-n-max "${SPEC_DRAFT_N_MAX:-3}"
          envFrom: [{configMapRef: {name: demo-env}}]
          env:
            - name: HF_TOKEN
              value: "{{ .Values.olaresEnv.OLARES_USER_HUGGINGFACE_TOKEN }}"
          ports: [{containerPort: 8000}]
          startupProbe:
            {httpGet: {path: /health, port: 8000}, periodSeconds: 30, failureThreshold: 720}
          resources: {requests: {cpu: 4000m, memory: 24Gi}, limits: {cpu: "16", memory: 40Gi}}
          volumeMounts: [{name: shared, mountPath: /shared}]
      volumes:
        - name: shared
          hostPath: {path: /olares/share/ai/model, type: DirectoryOrCreate}
---
apiVersion: v1
kind: Service
metadata: {name: demomarketone, namespace: "{{ .Release.Namespace }}"}
spec:
  selector: {app: demo}
  ports: [{name: http, port: 8000, targetPort: 8000}]
"""
_MARKET_VALUES: Final = """\
admin: ""
bfl: {username: ""}
userspace: {appData: ""}
olaresEnv: {OLARES_USER_HUGGINGFACE_TOKEN: ""}
"""


def legacy_market_chart() -> Chart:
    """Return a hand-edited chart of a public market, with the drift that such charts have."""
    files = {
        "Chart.yaml": "apiVersion: v2\nname: demomarketone\nversion: 1.0.9\nappVersion: 1.0.9\n",
        "values.yaml": _MARKET_VALUES,
        MANIFEST: _MARKET_MANIFEST,
        DEPLOYMENT: _MARKET_DEPLOYMENT,
    }
    return Chart({path: text.encode() for path, text in files.items()})
