"""Real Helm, Kubernetes schemas and the device's own linter, where the machine has them."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.platform import install_values
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.schemas import available, schema_faults
from olares_apps.checks.tools import ToolRun
from olares_apps.errors import ArchiveError
from olares_apps.findings import Severity
from olares_apps.render.archive import pack
from olares_apps.render.chart import ChartTree

__all__ = ["rules"]

rules = RuleBook(Group.TOOL)

_MOST_LINES: Final = 20
_LINT_LINE: Final = re.compile(r"\[(?P<level>ERROR|WARNING)\]\s+(?P<text>.*)")
_PLACE: Final = re.compile(r"(?P<file>(?:templates/|[\w.-]+\.yaml)[^\s:]*)(?::(?P<line>\d+))?")
_OF_TEXTS: Final = re.compile(
    r"\.env\.\d+\.value$|\.(?:args|command)\.\d+$|^(?:data|stringData)\.[^.]+$"
)
_LEVELS: Final = {"ERROR": Severity.ERROR, "WARNING": Severity.WARNING}


def _absent(name: str, instead: str) -> Found:
    return Found(f"{name} is not on this machine: {instead}", severity=Severity.INFO)


def _write(context: ChartContext, folder: Path) -> Path:
    """Write the chart below ``folder`` under its app's name; unsafe paths are left out."""
    root = folder / (re.sub(r"[^\w.-]", "", context.release).strip(".") or "chart")
    for path, data in context.files.items():
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\0" in path:
            continue
        target = root.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except OSError:
            continue  # a file in a folder's place: the archive rules tell it
    return root


@rules.error(
    "tool-helm",
    "Helm itself is what installs the chart.",
    "helm lint and helm template",
    blocks=True,
)
def _helm(context: ChartContext) -> Iterator[Found]:
    """Runs ``helm lint`` and ``helm template`` with the values of an install."""
    tools = context.tools
    if tools is None:
        return
    binary = tools.find("helm")
    if binary is None:
        yield _absent("helm", "the built-in renderer judged the templates")
        return
    with tempfile.TemporaryDirectory(prefix="olapps-") as name:
        folder = Path(name)
        chart = _write(context, folder)
        values = folder / "values.json"
        values.write_text(
            json.dumps(
                install_values(context.manifest, admin=False, mode=context.modes[0], replicas=None)
            )
        )
        common = [str(chart), "--values", str(values), "--namespace", f"{context.release}-user"]
        lint = tools.run([binary, "lint", *common], folder)
        yield from _lint_lines(lint)
        rendered = tools.run([binary, "template", "release", *common], folder)
        if rendered.status:
            yield _placed(f"helm template: {_first_line(rendered.output)}")


def _lint_lines(run: ToolRun) -> Iterator[Found]:
    found = [match for line in run.output.splitlines() if (match := _LINT_LINE.search(line))]
    for match in found[:_MOST_LINES]:
        yield _placed(f"helm lint: {match['text'].strip()}", _LEVELS[match["level"]])
    if run.status and not any(match["level"] == "ERROR" for match in found):
        yield Found(f"helm lint ended with {run.status}: {_first_line(run.output)}")


def _placed(message: str, severity: Severity | None = None) -> Found:
    place = _PLACE.search(message)
    line = int(place["line"]) if place and place["line"] else None
    return Found(message[:500], place["file"] if place else "", line, severity=severity)


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return (lines[0] if lines else "without a word")[:400]


@rules.error(
    "tool-kubernetes",
    "The API server refuses objects that its schemas do not allow.",
    "schemas of the Kubernetes API",
    blocks=True,
)
def _schemas(context: ChartContext) -> Iterator[Found]:
    """Validates every rendered object strictly, when the package kubernetes-validate is there.

    Values that are no text are left to env-value-type, which says what to write.
    """
    if context.tools is None:
        return
    if not available():
        yield _absent("the package kubernetes-validate", "objects were not held against schemas")
        return
    for item in context.objects:
        for where, message in schema_faults(item.data):
            if _OF_TEXTS.search(where) and "is not of type" in message:
                continue
            yield context.in_object(
                item,
                f"{item.kind} {item.name}: {where}: {message[:300]}",
                hint="correct the field; kubectl explain names its type",
            )


@rules.error(
    "tool-olares",
    "The device's own linter has the last word at install.",
    "olares-cli chart lint",
    blocks=True,
)
def _olares(context: ChartContext) -> Iterator[Found]:
    """Runs ``olares-cli chart lint`` on the packed archive."""
    tools = context.tools
    if tools is None:
        return
    binary = tools.find("olares-cli")
    if binary is None:
        yield _absent("olares-cli", "the rules of this program stand in for chart lint")
        return
    try:
        archive = pack(ChartTree(context.release, context.version or "0.0.0", "", context.files))
    except (ArchiveError, ValueError, OverflowError) as error:
        yield Found(f"the chart cannot be packed: {error}")
        return
    with tempfile.TemporaryDirectory(prefix="olapps-") as name:
        path = Path(name) / re.sub(r"[^\w.-]", "", archive.name)
        path.write_bytes(archive.data)
        run = tools.run([binary, "chart", "lint", str(path)], Path(name))
    if not run.status:
        return
    lines = [line.strip() for line in run.output.splitlines() if line.strip()]
    for line in lines[:_MOST_LINES] or ["without a word"]:
        yield _placed(f"olares-cli: {line}")
