"""A minimal change of a clean chart, and the edits that such changes are made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

from support.check_charts import (
    APP,
    DEPLOYMENT,
    Chart,
)

from olares_apps.checks.listing import Entry, EntryKind, Listing

__all__ = [
    "CONFIG",
    "ICON",
    "IMAGE",
    "REPLICAS",
    "SERVE",
    "SERVICE",
    "STOCK",
    "Mutation",
    "add",
    "arguments",
    "bash",
    "drop",
    "everywhere",
    "init_container",
    "listing",
    "png",
    "role",
    "swap",
    "swaps",
    "vllm_arguments",
]

IMAGE: Final = "docker.io/aamsellem/llama-cpp-mtp:master-ad27757"
STOCK: Final = "ghcr.io/ggml-org/llama.cpp:server-cuda12"
ICON: Final = f"https://market.example.org/i/{APP}.png"
CONFIG: Final = "templates/config.yaml"
SERVICE: Final = "templates/service.yaml"
REPLICAS: Final = f"{{{{ .Values.workloads.{APP}.replicaCount }}}}"


@dataclass(frozen=True)
class Mutation:
    """A change that breaks one rule.

    ``base`` makes the clean chart, ``edit`` the change; ``context`` is handed to the context.
    ``also`` are rules that the same change necessarily breaks, for the reason ``why``.
    """

    base: Callable[[], Chart]
    edit: Callable[[Chart], Chart] = lambda chart: chart
    context: Mapping[str, Any] = field(default_factory=dict)
    also: frozenset[str] = frozenset()
    why: str = ""


def swap(path: str, old: str, new: str) -> Callable[[Chart], Chart]:
    return lambda chart: chart.replaced(path, old, new)


def swaps(*edits: tuple[str, str, str]) -> Callable[[Chart], Chart]:
    def edit(chart: Chart) -> Chart:
        for path, old, new in edits:
            chart = chart.replaced(path, old, new)
        return chart

    return edit


def everywhere(old: str, new: str) -> Callable[[Chart], Chart]:
    """Replace a text in every file."""
    return lambda chart: Chart(
        {path: data.replace(old.encode(), new.encode()) for path, data in chart.items()}
    )


def add(path: str, content: str | bytes) -> Callable[[Chart], Chart]:
    return lambda chart: chart.with_file(path, content)


def drop(path: str, *pieces: str) -> Callable[[Chart], Chart]:
    return lambda chart: chart.without_lines(path, *pieces)


def arguments(*words: str) -> Callable[[Chart], Chart]:
    """Append arguments to the flagship's server."""
    lines = "".join(f"            - {_quoted(word)}\n" for word in words)
    return swap(DEPLOYMENT, "          envFrom:\n", f"{lines}          envFrom:\n")


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def vllm_arguments(*words: str) -> Callable[[Chart], Chart]:
    lines = "".join(f"            - {_quoted(word)}\n" for word in words)
    return swap(DEPLOYMENT, "          env:\n", f"{lines}          env:\n")


def listing(*entries: Entry, **more: Any) -> dict[str, Any]:
    """Return a context whose chart came from a good archive with further entries."""
    facts: dict[str, Any] = {
        "name": f"{APP}-1.0.3.tgz",
        "is_archive": True,
        "size": 20000,
        "sha256": "ab" * 32,
        "roots": (APP,),
        "entries": (Entry(f"{APP}/Chart.yaml", EntryKind.FILE), *entries),
    }
    return {"listing": Listing(**(facts | more))}


def png(width: int, height: int) -> bytes:
    """Return the first bytes of a PNG image."""
    stream = BytesIO(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    stream.seek(0, 2)
    stream.write(width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x06\0\0\0")
    return stream.getvalue()


def bash(script: str) -> Callable[[Chart], Chart]:
    """Start the flagship's server by a shell script around the same arguments."""
    body = "".join(f"              {line}\n" for line in script.splitlines())

    def edit(chart: Chart) -> Chart:
        text = chart[DEPLOYMENT].decode()
        start = text.index('          command:\n            - "/app/llama-server"')
        end = text.index("          envFrom:\n", start)
        new = f'          command: ["/bin/bash", "-c"]\n          args:\n            - |\n{body}'
        return chart.with_file(DEPLOYMENT, text[:start] + new + text[end:])

    return edit


SERVE: Final = (
    "exec /app/llama-server --model /opt/a.gguf --alias $MODEL_ALIAS --host 0.0.0.0 --port 8000 "
    "--ctx-size ${CTX_SIZE} --cache-type-k q4_0 --cache-type-v q4_0 --batch-size 512 "
    "--ubatch-size 512 --parallel 1 --flash-attn on --jinja --n-gpu-layers 99 "
    "--spec-type draft-mtp --spec-draft-n-max 3"
)
ROLE: Final = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: KIND
metadata:
  name: NAME
"""


def role(kind: str, name: str, verbs: str, resource: str, group: str) -> str:
    head = ROLE.replace("KIND", kind).replace("NAME", name)
    if kind == "Role":
        head += "  namespace: {{ .Release.Namespace }}\n"
    return (
        head
        + f'rules:\n  - apiGroups: ["{group}"]\n    resources: [{resource}]\n    verbs: {verbs}\n'
    )


def init_container(body: str) -> Callable[[Chart], Chart]:
    """Add an init container in front of the flagship's own."""
    return swap(DEPLOYMENT, "      initContainers:\n", f"      initContainers:\n{body}")
