"""One YAML file of a chart as rules see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from olares_apps.errors import Problem
from olares_apps.helm import YamlError
from olares_apps.helm.yamlio import read_yaml

__all__ = ["Document", "Unreadable", "read_document"]


class Unreadable(Exception):
    """A rule asked for what cannot be read: it has nothing to say, another rule says why."""


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML file of a chart: its text and its data, or why it has none."""

    file: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    problem: Problem | None = None
    exists: bool = True

    @property
    def is_readable(self) -> bool:
        """Say whether the file is there and holds a mapping."""
        return self.exists and self.problem is None


def read_document(path: str, text: str, *, may_be_empty: bool = True) -> Document:
    """Return a YAML file's data, or the problem that it has none for."""
    try:
        data = read_yaml(text, file=path)
    except YamlError as error:
        return Document(path, text, problem=error.problem)
    if data is None:
        problem = None if may_be_empty else Problem("is empty")
        return Document(path, text, problem=problem)
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else "a single value"
        return Document(path, text, problem=Problem(f"holds {kind} where a mapping must be"))
    return Document(path, text, data)
