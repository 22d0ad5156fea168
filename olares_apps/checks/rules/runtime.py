"""Whether the app starts and stays: probes, memory, disk, shared memory, names of Services."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.launch import Server, scripts
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import dig, size
from olares_apps.checks.shell import shell_defaults
from olares_apps.checks.weights import least_weights, model_bytes
from olares_apps.checks.workloads import Container, Workload, of_kind
from olares_apps.engines.base import load_seconds
from olares_apps.findings import Severity

__all__ = ["RATE_MBIT", "rules"]

rules = RuleBook(Group.RUNTIME)

RATE_MBIT: Final = 20
"""Assumed rate of a download over a slow home connection, in Mbit/s."""
_RATE: Final = RATE_MBIT * 10**6 // 8
_GB: Final = 10**9
_GIB: Final = 2**30
_DISK_MARGIN: Final = 1.1
# Shortest budget for a server whose model size is unknown: a 17 GB file from a slow disk.
_LOAD_UNKNOWN: Final = 600
_DOWNLOADS: Final = re.compile(
    r"(?:^|[\s;&|(])(?:eval\s+)?(?:curl|wget|aria2c|huggingface-cli|hf)\s[^#\n]*"
    r"(?:http|HF_|download|\$)",
    re.MULTILINE,
)
_FETCHES_ITSELF: Final = re.compile(r"(?:^|\s)(?:-hf|--hf-repo|-hfr|--model-url|-mu)(?:\s|$)")


def _seconds(probe: Any) -> int:
    """Return how long a probe lets a container start, in seconds."""

    def number(key: str, default: int) -> int:
        value = dig(probe, key)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    return number("initialDelaySeconds", 0) + number("periodSeconds", 10) * number(
        "failureThreshold", 3
    )


def _downloads(server: Server) -> bool:
    """Say whether the server's own container fetches the model."""
    if _DOWNLOADS.search(server.script):
        return True
    if server.engine == "vllm":
        return not any(name.startswith("/") for name in server.model_names)
    return bool(_FETCHES_ITSELF.search(" ".join(server.argv)))


@rules.error(
    "startup-probe-budget",
    "A server that is killed while it downloads or loads never comes up.",
    "experience of operators; kserve/kserve#5063",
)
def _startup(context: ChartContext) -> Iterator[Found]:
    """With the model's size from a spec an error; with one from its name, or none, a warning."""
    total = model_bytes(context)
    for server in context.servers:
        container = server.container.data
        probe = container.get("startupProbe")
        liveness = container.get("livenessProbe")
        if probe is None and liveness is None:
            continue
        budget = _seconds(probe if probe is not None else liveness)
        weights = least_weights(server.model_names) if total is None else None
        amount = total or (weights.least if weights else 0)
        download = -(-amount // _RATE) if _downloads(server) else 0
        load = load_seconds([amount]) if amount else _LOAD_UNKNOWN
        if weights and not download:
            load = max(load, _LOAD_UNKNOWN)
        if budget >= download + load:
            continue
        what = "startup" if probe is not None else "liveness (no startupProbe)"
        told = f"{amount / _GB:.1f}GB{' at least' if weights else ''}"
        if download:
            need = f"{told} at {RATE_MBIT} Mbit/s = {download}s + {load}s to load"
        elif total:
            need = f"{load}s to load {told}"
        else:
            need = f"{load}s to load a model"
        container_name = server.container.name
        period = dig(probe, "periodSeconds")
        period = period if isinstance(period, int) and period > 0 else 10
        yield context.in_object(
            server.workload.item,
            f"{what} budget {budget}s < {need} (container {container_name})",
            hint=f"write failureThreshold: {-(-(download + load) // period)} with periodSeconds: "
            f"{period}, or download in an init container",
            below=(
                f"name: {container_name}",
                "startupProbe" if probe is not None else "livenessProbe",
            ),
            severity=None if total else Severity.WARNING,
        )


@rules.error(
    "disk-below-files",
    "A model that does not fit on the declared disk ends the download, or evicts the pod.",
    "GoogleCloudPlatform/kubernetes-engine-samples#1581",
)
def _disk(context: ChartContext) -> Iterator[Found]:
    """Without a spec the need is that of the weights at least, and a warning."""
    if context.spec is not None:
        files = context.spec.spec.model.files
        sizes = [file.size or round((file.size_gb or 0) * _GB) for file in files]
        need = round(sum(sizes) * _DISK_MARGIN)
        listed = "+".join(f"{amount / _GB:.1f}" for amount in sizes if amount)
        what = f"files {listed} GB = {need / _GIB:.1f}GiB with 10% for the rest"
    else:
        weights = least_weights(name for s in context.servers for name in s.model_names)
        need = weights.least if weights else 0
        what = f"the weights of {weights.name}, {need / _GIB:.1f}GiB at least" if weights else ""
    blocks = [("spec",), *(("spec", "accelerator", i) for i in range(len(context.modes)))]
    for path in blocks:
        declared = size(dig(context.manifest, *path, "requiredDisk"))
        if declared is not None and declared < need:
            yield context.in_manifest(
                f"requiredDisk {dig(context.manifest, *path, 'requiredDisk')} < {what}",
                *path,
                "requiredDisk",
                hint=f"write {-(-need // _GIB)}Gi",
                severity=None if context.spec else Severity.WARNING,
            )


@rules.warning(
    "cache-not-on-volume",
    "A hub client without a cache folder on a volume fills the container's own disk.",
    "foundation-model-stack/fms-hf-tuning#217",
)
def _cache(context: ChartContext) -> Iterator[Found]:
    for server in context.servers:
        if server.engine != "vllm" or not _downloads(server):
            continue
        stated = next(
            (
                server.variables[name]
                for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")
                if server.variables.get(name)
            ),
            None,
        )
        folder = server.value("--download-dir") or stated or "/root/.cache/huggingface"
        if server.workload.volume_at(server.container, folder) is None:
            yield context.in_object(
                server.workload.item,
                f"HF_HOME of container {server.container.name} is not on a mounted volume "
                f"({folder})",
                "HF_HOME" if stated else "image:",
                hint="mount a volume and set HF_HOME to a folder on it",
            )


@rules.error(
    "shared-memory-volume",
    "vLLM's processes talk through /dev/shm, which is 64 MB without a volume.",
    "vllm-project/vllm#37982, #49568",
)
def _shared_memory(context: ChartContext) -> Iterator[Found]:
    """On one GPU the processes often get by with 64 MB: a warning."""
    for server in context.servers:
        if server.engine != "vllm":
            continue
        volume = server.workload.volume_at(server.container, "/dev/shm")  # noqa: S108
        several = (server.number("--tensor-parallel-size") or 1) > 1
        if volume is None or dig(volume, "emptyDir", "medium") != "Memory":
            yield context.in_object(
                server.workload.item,
                f"vLLM container {server.container.name} without /dev/shm volume",
                f"name: {server.container.name}",
                hint="mount an emptyDir with medium: Memory at /dev/shm",
                severity=None if several else Severity.WARNING,
            )


@rules.error(
    "service-link-collision",
    "Kubernetes sets <SERVICE>_PORT for every Service; servers read it as their own setting.",
    "vllm-project/vllm#34199, #18209",
)
def _links(context: ChartContext) -> Iterator[Found]:
    if not context.servers:
        return
    for item in of_kind(context.objects, "Service"):
        prefix = item.name.replace("-", "_").upper()
        for server in context.servers:
            if server.workload.pod.get("enableServiceLinks") is False:
                continue
            if prefix == "VLLM" and server.engine == "vllm":
                variable = "VLLM_PORT"
            elif prefix.startswith("LLAMA_ARG") and server.engine == "llamacpp":
                variable = f"{prefix}_PORT"
            else:
                continue
            if variable in server.variables:
                continue  # the container's own value wins
            yield context.in_object(
                item,
                f"service name '{item.name}' collides with {variable}",
                f"name: {item.name}",
                hint="set enableServiceLinks: false on the pod, or rename the Service",
            )


@rules.warning(
    "shell-default-drift",
    "A default that differs from the configured value takes over silently one day.",
    "public charts with three different contexts",
)
def _defaults(context: ChartContext) -> Iterator[Found]:
    for server in context.servers:
        seen = set()
        for name, default in shell_defaults(server.script):
            stated = server.variables.get(name)
            plain = default.strip("\"'")
            if not stated or "$" in plain or plain == stated or name in seen:
                continue
            seen.add(name)
            yield context.in_object(
                server.workload.item,
                f"{name}: config {stated}, script default {plain}",
                f"{name}:-",
                hint="drop the default: one source for each value",
            )


@rules.error(
    "model-url-blob",
    "A /blob/ address is a web page about the file, not the file.",
    "ggml-org/llama.cpp#3358",
)
def _blob(context: ChartContext) -> Iterator[Found]:
    pattern = re.compile(r"https?://[^\s\"']*?/blob/[^\s\"']*\.(?:gguf|safetensors|bin)")
    for path, template in context.templates.items():
        if "/blob/" not in template.text:
            continue
        for number, line in enumerate(template.text.splitlines(), start=1):
            found = pattern.search(line)
            if found:
                yield Found(
                    f"url contains /blob/: {found[0][:120]}", path, number, "use /resolve/ instead"
                )


@lru_cache(maxsize=32)
def _fetches(script: str) -> bool:
    """Say whether a script downloads a model; most charts carry the same script."""
    pattern = r"\b(?:curl|wget)\b[^\n]*(?:\\\n[^\n]*){0,4}(?:gguf|MODEL|resolve)"
    return bool(re.search(pattern, script))


@rules.warning(
    "download-script",
    "A cut transfer that counts as complete breaks the app until somebody deletes the file.",
    "ggml-org/llama.cpp#12207; public charts",
)
def _script(context: ChartContext) -> Iterator[Found]:
    for workload, container, script in scripts(context.objects):
        if _fetches(script):
            yield from _download_faults(context, workload, container, script)


@lru_cache(maxsize=32)
def _is_verified(script: str) -> bool:
    """Say whether a script compares what it downloaded, or keeps it apart until it is whole."""
    return bool(re.search(r"sha256|\.part\b|\.tmp\b|\.incomplete|stat\s|wc -c|du -b", script))


def _download_faults(
    context: ChartContext, workload: Workload, container: Container, script: str
) -> Iterator[Found]:
    faults: Mapping[str, tuple[bool, str, str]] = {
        "writes the model to its final name and never verifies it": (
            not _is_verified(script),
            "curl",
            "download to .part, compare size and sha256, then rename",
        ),
        "builds its command with eval, which a special character of a token breaks": (
            bool(re.search(r"\beval\s+(?:curl|wget)", script)),
            "eval ",
            "pass the token by a header file or the environment",
        ),
    }
    for message, (is_wrong, piece, hint) in faults.items():
        if is_wrong:
            yield context.in_object(
                workload.item, f"container {container.name} {message}", piece, hint=hint
            )
