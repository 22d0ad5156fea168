"""Rendered text to Kubernetes objects, with the file and line of each."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from olares_apps.errors import Problem
from olares_apps.helm.errors import ManifestError, YamlError
from olares_apps.helm.yamlio import load_yaml

__all__ = ["RenderedObject", "parse_manifests", "read_manifests"]

# Helm splits the text with this pattern before any YAML is read (releaseutil.SplitManifests).
_SEPARATOR = re.compile(r"(?:^|\s*\n)---\s*")


@dataclass(frozen=True, slots=True)
class RenderedObject:
    """One Kubernetes object of the rendered chart.

    ``index`` counts the documents of ``file`` from 0; ``line`` is the line of the rendered
    text, from 1, on which the document begins.
    """

    file: str
    index: int
    line: int
    data: dict[str, Any]

    @property
    def kind(self) -> str:
        """Return the object's kind, such as ``Deployment``."""
        return str(self.data["kind"])

    @property
    def api_version(self) -> str:
        """Return the object's apiVersion, such as ``apps/v1``."""
        return str(self.data["apiVersion"])

    @property
    def name(self) -> str:
        """Return ``metadata.name``, empty when there is none."""
        metadata = self.data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return name if isinstance(name, str) else ""


def read_manifests(rendered: Mapping[str, str]) -> tuple[list[RenderedObject], list[Problem]]:
    """Return the objects of the rendered files and the problems of the others.

    Only files below a ``templates/`` folder are read, and NOTES.txt is not. A document that is
    not YAML, has a key twice, is no mapping, or lacks ``kind`` or ``apiVersion`` is a problem.
    """
    objects: list[RenderedObject] = []
    problems: list[Problem] = []
    for file, text in rendered.items():
        parts = PurePosixPath(file).parts
        if "templates" not in parts[:-1] or file.endswith("NOTES.txt"):
            continue
        for index, (line, document) in enumerate(_documents(text)):
            try:
                data = load_yaml(document, file=file, first_line=line)
            except YamlError as error:
                problems.append(error.problem)
                continue
            if data is None:
                continue
            fault = _fault(data)
            if fault:
                problems.append(Problem(fault, file=PurePosixPath(file), line=line))
            else:
                objects.append(RenderedObject(file, index, line, data))
    return objects, problems


def parse_manifests(rendered: Mapping[str, str]) -> list[RenderedObject]:
    """Return the objects of the rendered files.

    Raises :class:`ManifestError` with every problem that :func:`read_manifests` finds.
    """
    objects, problems = read_manifests(rendered)
    if problems:
        raise ManifestError(problems)
    return objects


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of every document that is not blank.

    Helm cuts white space off both ends and puts one line break after it, which matters to a
    block scalar at the end.
    """
    start = 0
    for separator in [*_SEPARATOR.finditer(text), None]:
        end = len(text) if separator is None else separator.start()
        document = text[start:end]
        if document.strip():
            begin = start + len(document) - len(document.lstrip())
            yield text.count("\n", 0, begin) + 1, document.strip() + "\n"
        start = end if separator is None else separator.end()


def _fault(data: Any) -> str | None:
    if not isinstance(data, dict):
        return "a document that is not a mapping, so not a Kubernetes object"
    for key in ("kind", "apiVersion"):
        if not isinstance(data.get(key), str) or not data[key]:
            return f"a document without {key}, so not a Kubernetes object"
    return None
