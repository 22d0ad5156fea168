"""Charts to check and to break: the flagship of both generations, hand-written ones, edits."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, Final

import yaml
from support.charts import NEW, OLD, make_tree
from support.sample_specs import make_spec

from olares_apps.checks import ChartContext, ImageFacts, run_rules
from olares_apps.engines.registry import spec_model
from olares_apps.findings import Finding
from olares_apps.hardware import HardwareProfile, load_profile
from olares_apps.spec.loader import LoadedSpec, load_spec

__all__ = [
    "APP",
    "BENCH_RECORD",
    "DEPLOYMENT",
    "MANIFEST",
    "PROFILE",
    "Chart",
    "find",
    "flagship",
    "flagship_spec",
    "legacy_flagship",
    "plain_chart",
    "plain_legacy_chart",
    "rules_of",
    "vllm_chart",
]

APP: Final = "llamacppqwen36a3bone"
MANIFEST: Final = "OlaresManifest.yaml"
DEPLOYMENT: Final = "templates/deployment.yaml"
PROFILE: Final[HardwareProfile] = load_profile("olares-one")
# What a recipe says of the flagship's image.
IMAGES: Final = {"docker.io/aamsellem/llama-cpp-mtp:master-ad27757": ImageFacts(cuda="13.1")}


class Chart(dict[str, bytes]):
    """The files of a chart, with edits that return a changed copy."""

    def replaced(self, path: str, old: str, new: str) -> "Chart":
        """Replace the first occurrence of ``old``, which must be there."""
        text = self[path].decode()
        assert old in text, f"{path} does not hold {old!r}"
        return self.with_file(path, text.replace(old, new, 1))

    def with_file(self, path: str, content: str | bytes) -> "Chart":
        """Add or replace a file."""
        data = content if isinstance(content, bytes) else content.encode()
        return Chart(self | {path: data})

    def without(self, path: str) -> "Chart":
        """Remove a file."""
        assert path in self
        return Chart({name: data for name, data in self.items() if name != path})

    def without_lines(self, path: str, *pieces: str) -> "Chart":
        """Remove every line that holds one of the pieces."""
        lines = self[path].decode().splitlines(keepends=True)
        kept = [line for line in lines if not any(piece in line for piece in pieces)]
        assert len(kept) < len(lines), f"{path} holds none of {pieces}"
        return self.with_file(path, "".join(kept))

    def context(self, **more: Any) -> ChartContext:
        """Return the context of the chart in a folder named after it, on an Olares One."""
        chart = self.get("Chart.yaml", b"").decode("utf-8", "replace")
        name = next(
            (line[6:].strip(" \"'") for line in chart.splitlines() if line[:5] == "name:"), ""
        )
        known = {"folder": name, "profile": PROFILE, "images": IMAGES}
        return ChartContext(self, **(known | more))

    def check(self, **more: Any) -> list[Finding]:
        """Return all findings."""
        return run_rules(self.context(**more))


def rules_of(findings: Iterable[Finding]) -> set[str]:
    """Return the ids of the rules that found something."""
    return {finding.rule for finding in findings}


def find(findings: Iterable[Finding], rule: str) -> Finding:
    """Return the one finding of a rule."""
    found = [finding for finding in findings if finding.rule == rule]
    assert len(found) == 1, f"{rule}: {[item.message for item in found]}"
    return found[0]


def flagship(changes: Mapping[str, Any] | None = None) -> Chart:
    """Return the flagship's chart for Olares 1.12.6 and later."""
    return Chart(make_tree(NEW, changes).files)


def legacy_flagship(changes: Mapping[str, Any] | None = None) -> Chart:
    """Return the flagship's chart for Olares 1.12.3 to 1.12.5."""
    return Chart(make_tree(OLD, changes).files)


def flagship_spec(changes: Mapping[str, Any] | None = None) -> LoadedSpec:
    """Return the flagship's spec as if it were loaded from its file."""
    data = make_spec(changes).model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)
    return load_spec(text, path=PurePath("apps/qwen36-35b-a3b-mtp.yaml"), model=spec_model())


BENCH_RECORD: Final[dict[str, Any]] = {
    "id": "first",
    "ctx": 262144,
    "tps": 252.6,
    "runs": 3,
    "protocol": {"prompt": "x", "tokens": 500, "streams": 1},
    "hardware": "olares-one",
    "image": "docker.io/aamsellem/llama-cpp-mtp:master-ad27757",
    "model_file": "Qwen3.6-35B-A3B-UD-Q3_K_XL.gguf",
    "source": "x",
}
"""A measurement of the flagship."""

_CHART_YAML: Final = """\
apiVersion: v2
name: exampleapp
version: '1.4.2'
appVersion: '1.4.2'
type: application
description: One plain sentence.
"""
_SERVICE: Final = """\
apiVersion: v1
kind: Service
metadata:
  name: exampleapp-svc
  namespace: {{ .Release.Namespace }}
spec:
  selector: {app: exampleapp}
  ports: [{name: http, port: 8080, targetPort: 8080}]
"""
_WORKLOAD: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: exampleapp
  namespace: {{ .Release.Namespace }}
  annotations: {applications.app.bytetrade.io/gpu-inject: "INJECT"}
spec:
  replicas: REPLICAS
  strategy: {type: Recreate}
  selector: {matchLabels: {app: exampleapp}}
  template:
    metadata: {labels: {app: exampleapp}}
    spec:
      containers:
        - name: server
          image: "docker.io/example/server:1.4.2"
          ports: [{containerPort: 8080}]
          resources: {requests: {cpu: "1", memory: 2Gi}, limits: {cpu: "4", memory: 8Gi}}
          startupProbe:
            {httpGet: {path: /health, port: 8080}, periodSeconds: 10, failureThreshold: 360}
          volumeMounts: [{name: data, mountPath: /data}]
      volumes:
        - name: data
          hostPath: {path: "{{ .Values.userspace.appData }}/data", type: DirectoryOrCreate}
"""
_VALUES: Final = """\
admin: ""
bfl: {username: ""}
user: {zone: ""}
domain: {exampleapp: ""}
userspace: {appData: ""}
GPU: {Type: "", Cuda: ""}
olaresEnv: {}
"""
_MANIFEST: Final = """\
olaresManifest.version: 'MANIFEST'
olaresManifest.type: app
apiVersion: 'API'
metadata:
  name: exampleapp
  appid: exampleapp
  title: Example App
  description: One plain sentence.
  icon: https://market.example.org/icons/exampleapp.png
  version: '1.4.2'
  categories: [AI]
permission: {appData: true}
spec:
  versionName: '1.4.2'
  fullDescription: Longer text.
  upgradeDescription: What changed.
  developer: Example
  submitter: olapps
  website: https://example.org
  sourceCode: https://github.com/example/example
  locale: [en-US]
  supportArch: [amd64]
RESOURCES
options:
  apiTimeout: 0
  dependencies: [{name: olares, type: system, version: 'WINDOW'}]
entrances:
  - name: exampleapp
    host: exampleapp-svc
    port: 8080
    title: Example App
    authLevel: private
    openMethod: window
"""
_FLAT: Final = """\
  requiredCpu: '1'
  limitedCpu: '4'
  requiredMemory: 2Gi
  limitedMemory: 8Gi
  requiredDisk: 1Gi
  limitedDisk: 50Gi
  requiredGpu: 8Gi
  limitedGpu: 16Gi"""
_ACCELERATOR: Final = """\
  accelerator:
    - mode: nvidia
      requiredCpu: '1'
      limitedCpu: '4'
      requiredMemory: 2Gi
      limitedMemory: 8Gi
      requiredDisk: 1Gi
      limitedDisk: 50Gi
      requiredGPUMemory: 8Gi
      limitedGPUMemory: 16Gi"""


def _fill(text: str, **words: str) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def plain_legacy_chart() -> Chart:
    """Return a hand-written chart of manifest 0.10.0, apiVersion v1, for both generations."""
    window = ">=1.12.3-0"
    files = {
        "Chart.yaml": _CHART_YAML,
        "values.yaml": _VALUES,
        MANIFEST: _fill(_MANIFEST, MANIFEST="0.10.0", API="v1", RESOURCES=_FLAT, WINDOW=window),
        DEPLOYMENT: _fill(_WORKLOAD, INJECT="true", REPLICAS="1"),
        "templates/service.yaml": _SERVICE,
    }
    return Chart({path: text.encode() for path, text in files.items()})


def plain_chart() -> Chart:
    """Return a hand-written chart of manifest 0.12.0, apiVersion v3."""
    manifest = _fill(
        _MANIFEST, MANIFEST="0.12.0", API="v3", RESOURCES=_ACCELERATOR, WINDOW=">=1.12.6-0"
    )
    replicas = "{{ .Values.workloads.exampleapp.replicaCount }}"
    files = {
        "Chart.yaml": _CHART_YAML,
        "values.yaml": _VALUES + "workloads: {exampleapp: {replicaCount: 1}}\n",
        MANIFEST: manifest + "workloadReplicas: {exampleapp: 1}\n",
        DEPLOYMENT: _fill(_WORKLOAD, INJECT="server", REPLICAS=replicas),
        "templates/service.yaml": _SERVICE,
    }
    return Chart({path: text.encode() for path, text in files.items()})


_VLLM_CONTAINER: Final = """\
        - name: server
          image: "docker.io/vllm/vllm-openai:v0.22.1-x86_64-cu129-ubuntu2404"
          args:
            - --model
            - example-org/Demo-4bit
            - --served-model-name
            - demo
            - --port
            - "8080"
            - --max-model-len
            - "32768"
            - --gpu-memory-utilization
            - "0.90"
          env:
            - {name: HF_HOME, value: /data/huggingface}
          ports: [{containerPort: 8080}]
          resources: {requests: {cpu: "1", memory: 2Gi}, limits: {cpu: "4", memory: 8Gi}}
          startupProbe:
            {httpGet: {path: /health, port: 8080}, periodSeconds: 10, failureThreshold: 900}
          volumeMounts: [{name: data, mountPath: /data}, {name: shm, mountPath: /dev/shm}]
      volumes:
        - name: shm
          emptyDir: {medium: Memory, sizeLimit: 1Gi}
"""


def vllm_chart() -> Chart:
    """Return a hand-written chart with a vLLM server that fetches its model itself."""
    chart = plain_chart()
    text = chart[DEPLOYMENT].decode()
    head, rest = text.split("        - name: server\n")
    tail = rest.split("      volumes:\n")[1]
    return chart.with_file(DEPLOYMENT, head + _VLLM_CONTAINER + tail)
