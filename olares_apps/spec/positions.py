"""Places: where in a spec file a field stands, found only when somebody asks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from yaml.nodes import MappingNode, Node, SequenceNode

from olares_apps.spec.yaml_source import compose, is_merge

__all__ = ["FieldPath", "Positions", "Spot", "dotted"]

FieldPath = Sequence[str | int]
"""Keys and indexes from the top of a file to a value."""


def dotted(path: FieldPath) -> str:
    """Return a path with dots, as messages show it: ``bench.0.tps``."""
    return ".".join(map(str, path))


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a value stands: line and column count from 1, ``written`` is its source text."""

    line: int
    column: int
    written: str


class Positions:
    """The places of a YAML file's values, found when they are first asked for."""

    form = "YAML"

    def __init__(self, text: str, path: PurePath) -> None:
        self._text, self._path = text, path

    @cached_property
    def _root(self) -> MappingNode:
        return compose(self._text, self._path)

    def value(self, path: FieldPath) -> Spot | None:
        """Return where the value at ``path`` stands, or None when the file does not hold it."""
        found = self._find(path)
        return self._spot(found[1]) if found else None

    def key(self, path: FieldPath) -> Spot | None:
        """Return where the key or list item at ``path`` begins, or None when it does not exist."""
        found = self._find(path)
        return self._spot(found[0] or found[1]) if found else None

    def nearest(self, path: FieldPath) -> Spot:
        """Return the key of the deepest existing part of ``path``; the file's start for none."""
        for end in range(len(path), 0, -1):
            spot = self.key(path[:end])
            if spot:
                return spot
        return Spot(1, 1, "")

    def inside(self, path: FieldPath, piece: str) -> Spot | None:
        """Return where ``piece`` first stands in the source of the value at ``path``."""
        found = self._find(path)
        if not found:
            return None
        start, end = found[1].start_mark.index, found[1].end_mark.index
        offset = self._text.find(piece, start, end)
        if offset < 0:
            return self._spot(found[1])
        line_start = self._text.rfind("\n", 0, offset) + 1
        line = self._text.count("\n", 0, offset) + 1
        return Spot(line, offset - line_start + 1, piece)

    def _find(self, path: FieldPath) -> tuple[Node | None, Node] | None:
        key: Node | None = None
        node: Node = self._root
        for step in path:
            if isinstance(node, MappingNode):
                pairs = [(k, v) for k, v in _pairs(node) if k.value == step]
                if not pairs:
                    return None
                key, node = pairs[-1]
            elif isinstance(node, SequenceNode) and isinstance(step, int):
                if not 0 <= step < len(node.value):
                    return None
                key, node = None, node.value[step]
            else:
                return None
        return key, node

    def _spot(self, node: Node) -> Spot:
        start, end = node.start_mark, node.end_mark
        return Spot(start.line + 1, start.column + 1, self._text[start.index : end.index].rstrip())


def _pairs(node: MappingNode) -> Iterator[tuple[Node, Node]]:
    """Yield the pairs of a mapping, those of merge keys first, so that the last one counts."""
    own = []
    for key, value in node.value:
        if is_merge(key):
            sources = value.value if isinstance(value, SequenceNode) else [value]
            for source in reversed(sources):
                if isinstance(source, MappingNode):
                    yield from _pairs(source)
        else:
            own.append((key, value))
    yield from own
