"""Types in Python source, read without importing: classes, literals, annotations."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

__all__ = ["ClassInfo", "Hints", "SourceIndex"]

_BUILTINS = frozenset("bool int float str dict list tuple set Any object type bytes".split())
_WRAPPERS = frozenset(("Optional", "SkipValidation", "Annotated", "InitVar"))
_COLLECTIONS = {"List": "list", "Dict": "dict", "Tuple": "tuple", "Set": "set", "Sequence": "list"}
_DEFINITION = re.compile(r"^(?:class (\w+)|(\w+)(?:: [^\n=]+)? = )", re.MULTILINE)
_NOT_FIELDS = frozenset(("ClassVar",))


@dataclass(frozen=True, slots=True)
class Hints:
    """What an annotation allows: names of types, the values of literals, item annotations."""

    names: frozenset[str] = frozenset()
    literals: tuple[str | int, ...] = ()
    items: tuple[ast.expr, ...] = ()

    def __or__(self, other: "Hints") -> "Hints":
        return Hints(
            self.names | other.names,
            tuple(dict.fromkeys(self.literals + other.literals)),
            self.items or other.items,
        )


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """A class: names of its bases, annotated fields in order, and plain members of an enum."""

    name: str
    bases: tuple[str, ...]
    fields: Mapping[str, ast.expr]
    members: Mapping[str, ast.expr]
    is_dataclass: bool
    node: ast.ClassDef


class SourceIndex:
    """The classes and literal aliases of a source tree.

    ``paths`` are the Python files and ``read`` returns the text of one; ``preferred`` are
    prefixes of paths where a name is looked for first. Files are read when they are needed.
    """

    def __init__(
        self, paths: Sequence[str], read: Callable[[str], str], preferred: Sequence[str]
    ) -> None:
        rank = {
            path: next((i for i, p in enumerate(preferred) if path.startswith(p)), 99)
            for path in paths
        }
        self.paths = sorted(paths, key=lambda path: (rank[path], path))
        self.text = cache(read)
        self.tree = cache(self._tree)
        self._defined: dict[str, list[str]] | None = None
        self.find_class = cache(self._find_class)
        self.find_alias = cache(self._find_alias)

    def _tree(self, path: str) -> ast.Module:
        return ast.parse(self.text(path))

    def _holders(self, name: str) -> Iterator[ast.Module]:
        """Yield the modules that define a name at their top level, preferred ones first."""
        if self._defined is None:
            self._defined = {}
            for path in self.paths:
                for found in _DEFINITION.finditer(self.text(path)):
                    self._defined.setdefault(found[1] or found[2], []).append(path)
        return (self.tree(path) for path in dict.fromkeys(self._defined.get(name, ())))

    def _find_class(self, name: str) -> ClassInfo | None:
        for tree in self._holders(name):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and node.name == name:
                    return _class_info(node)
        return None

    def _find_alias(self, name: str) -> ast.expr | None:
        for tree in self._holders(name):
            for node in tree.body:
                target = _target(node)
                if target == name and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                    return node.value
        return None

    def fields(self, name: str) -> dict[str, ast.expr]:
        """Return the annotated fields of a class, those of its bases first."""
        info = self.find_class(name)
        if info is None:
            return {}
        inherited: dict[str, ast.expr] = {}
        for base in info.bases:
            inherited |= self.fields(base)
        return inherited | dict(info.fields)

    def enum_members(self, name: str) -> dict[str, ast.expr] | None:
        """Return the members of an enum class, or None when the name is no enum."""
        info = self.find_class(name)
        if info is None or not any("Enum" in base for base in info.bases):
            return None
        return dict(info.members)

    def hints(self, annotation: ast.expr) -> Hints:
        """Return what an annotation allows, aliases of literals and unions resolved."""
        if isinstance(annotation, ast.Constant):
            return self._constant(annotation.value)
        if isinstance(annotation, ast.BinOp):
            return self.hints(annotation.left) | self.hints(annotation.right)
        if isinstance(annotation, ast.Subscript):
            return self._subscript(annotation)
        name = annotation.id if isinstance(annotation, ast.Name) else _last(annotation)
        return self._named(name)

    def _constant(self, value: object) -> Hints:
        if value is None:
            return Hints(frozenset(("None",)))
        if isinstance(value, str):
            return self.hints(ast.parse(value, mode="eval").body)
        return Hints()

    def _named(self, name: str) -> Hints:
        name = _COLLECTIONS.get(name, name)
        if name in _BUILTINS or name == "None":
            return Hints(frozenset((name,)))
        info = self.find_class(name)
        if info is None and (alias := self.find_alias(name)) is not None:
            return self.hints(alias)
        if info is not None and {"dict", "Dict"} & set(info.bases):
            name = "dict"
        return Hints(frozenset((name,)))

    def _subscript(self, node: ast.Subscript) -> Hints:
        head = _last(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Literal":
            return self._literals(inner)
        if head == "Optional":
            return self.hints(inner[0]) | Hints(frozenset(("None",)))
        if head in _WRAPPERS:
            return self.hints(inner[0])
        if head == "Union":
            found = Hints()
            for item in inner:
                found |= self.hints(item)
            return found
        return Hints(frozenset((_COLLECTIONS.get(head, head),)), items=tuple(inner))

    def _literals(self, items: Sequence[ast.expr]) -> Hints:
        found = Hints()
        for item in items:
            if isinstance(item, ast.Constant):
                if isinstance(item.value, str | int):
                    found |= Hints(frozenset(("Literal",)), (item.value,))
            else:
                found |= self.hints(item)
        return found


def _class_info(node: ast.ClassDef) -> ClassInfo:
    fields: dict[str, ast.expr] = {}
    members: dict[str, ast.expr] = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            computed = item.value is not None and "init=False" in ast.unparse(item.value)
            if _last(item.annotation) not in _NOT_FIELDS and not computed:
                fields[item.target.id] = item.annotation
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            members[item.targets[0].id] = item.value
    marks = [
        _last(mark.func if isinstance(mark, ast.Call) else mark) for mark in node.decorator_list
    ]
    return ClassInfo(
        name=node.name,
        bases=tuple(_last(base) for base in node.bases),
        fields={name: kind for name, kind in fields.items() if not name.startswith("_")},
        members=members,
        is_dataclass=any(mark in ("dataclass", "config") for mark in marks),
        node=node,
    )


def _target(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def _last(node: ast.expr) -> str:
    """Return the last name of an expression such as ``a.b.C[...]``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return ""
