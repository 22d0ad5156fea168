"""Flags of ``vllm serve`` from its Python source: a wheel or a source archive, never imported."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from olares_apps.engines.flag_extract.options import Option, ShapeBuilder, option_of
from olares_apps.engines.flag_extract.python_source import SourceIndex
from olares_apps.engines.flags.model import Flag, JsonShape, ValueForm

__all__ = ["flags_from_vllm"]

_PREFERRED = ("vllm/config", "vllm/engine/arg_utils", "vllm/entrypoints", "vllm/model_executor")
_ENGINE_ARGS = "vllm/engine/arg_utils.py"
_FRONTENDS = ("vllm/entrypoints/common/cli_args.py", "vllm/entrypoints/openai/cli_args.py")
_SERVE = "vllm/entrypoints/cli/serve.py"
_TYPES: Mapping[str, Option] = {
    "int": Option(ValueForm.INT),
    "float": Option(ValueForm.FLOAT),
    "json.loads": Option(ValueForm.JSON),
    "bool": Option(ValueForm.STRING),
}
# Values that every MTP method name but "mtp" is turned into, with a warning.
_MTP_TYPES = ("MTPModelTypes", "MTP_MODEL_TYPES")


def flags_from_vllm(
    paths: Sequence[str], read: Callable[[str], str]
) -> tuple[list[Flag], dict[str, JsonShape]]:
    """Return the flags and the JSON shapes of ``vllm serve``.

    ``paths`` are the Python files (``vllm/...``) and ``read`` returns the text of one. The
    allowed values come from literals and enums; parsers of tool calls and reasoning from the
    registries. Flags that a hardware plug-in adds are not found.
    """
    index = SourceIndex([path for path in paths if path.endswith(".py")], read, _PREFERRED)
    walker = _Walker(index)
    frontend = next(path for path in _FRONTENDS if path in index.paths)
    walker.walk_functions(index.tree(_ENGINE_ARGS), ("add_cli_args",))
    walker.walk_functions(index.tree(frontend), ("make_arg_parser",))
    if _SERVE in index.paths:
        walker.walk_functions(index.tree(_SERVE), ("subparser_init",))
    walker.add_class_options(index.tree(frontend))
    return _finish(walker, index)


class _Walker:
    """Follows the statements that add options, keeping what the local names stand for."""

    def __init__(self, index: SourceIndex) -> None:
        self.index = index
        self.groups: dict[str, dict[str, Option]] = {}
        self.aliases: dict[str, Option] = {}
        self.found: dict[tuple[str, ...], Option] = {}

    def walk_functions(self, tree: ast.Module, names: Sequence[str]) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in names:
                self._statements(node.body)

    def _statements(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Assign):
                self._assign(node)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                self._call(node.value)
            elif isinstance(node, ast.For):
                self._loop(node)
            elif isinstance(node, ast.If | ast.With | ast.Try):
                self._statements(node.body)

    def _assign(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            if isinstance(value, ast.Call) and ast.unparse(value.func) == "get_kwargs":
                self.groups[target.id] = self.class_options(ast.unparse(value.args[0]))
            elif (option := self._reference(value)) is not None:
                self.aliases[target.id] = option
            elif isinstance(value, ast.Call):
                self._call(value)
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            self._change(target.value, str(target.slice.value), value)

    def _change(self, owner: ast.expr, key: str, value: ast.expr) -> None:
        """Apply ``kwargs["field"]["type"] = ...``."""
        option = self._reference(owner)
        if option is None:
            return
        option = self._with_keyword(option, key, value)
        if isinstance(owner, ast.Name):
            self.aliases[owner.id] = option
        elif isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Constant):
            self.groups[ast.unparse(owner.value)][str(owner.slice.value)] = option

    def _reference(self, node: ast.expr) -> Option | None:
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self.groups.get(ast.unparse(node.value), {}).get(str(node.slice.value))
        return None

    def _call(self, call: ast.Call, names: Sequence[str] = ()) -> None:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
            return
        own = [a.value for a in call.args if isinstance(a, ast.Constant)]
        written = tuple(str(name) for name in own if str(name).startswith("-")) or tuple(names)
        if not written:
            return
        option = Option()
        for keyword in call.keywords:
            option = self._with_keyword(option, keyword.arg, keyword.value)
        self.found.setdefault(written, option)

    def _loop(self, node: ast.For) -> None:
        """Unroll a loop over a list of (name, type) pairs that are written out."""
        if not isinstance(node.iter, ast.List) or not isinstance(node.target, ast.Tuple):
            return
        for item in node.iter.elts:
            if not isinstance(item, ast.Tuple):
                continue
            name = item.elts[0]
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                    call = statement.value
                    keywords = [k for k in call.keywords if k.arg != "type"]
                    keywords.append(ast.keyword("type", item.elts[1]))
                    copy = ast.Call(call.func, [], keywords)
                    if isinstance(name, ast.Constant):
                        self._call(copy, names=(str(name.value),))

    def _with_keyword(self, option: Option, key: str | None, value: ast.expr) -> Option:
        if key is None:
            return self._unpacked(option, value)
        text = ast.unparse(value)
        if key == "action":
            return _with_action(option, text)
        if key == "type":
            return _with_type(option, text)
        if key == "choices":
            words = self._choices(value)
            return replace(option, form=ValueForm.ENUM, values=words) if words else option
        if key == "nargs":
            return replace(
                option,
                optional_value=text == "'?'",
                many=text in ("'+'", "'*'"),
                form=ValueForm.LIST if text in ("'+'", "'*'") else option.form,
            )
        if (key == "deprecated" and text == "True") or (key == "help" and "[DEPRECATED]" in text):
            return replace(option, deprecated=option.deprecated or "")
        return option

    def _unpacked(self, option: Option, value: ast.expr) -> Option:
        if isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values, strict=True):
                name = str(key.value) if isinstance(key, ast.Constant) else None
                option = self._with_keyword(option, name, item)
            return option
        base = self._reference(value)
        if base is None:
            return option
        # choices given beside the unpacked field win over the field's own.
        return replace(base, form=ValueForm.ENUM, values=option.values) if option.values else base

    def _choices(self, value: ast.expr) -> tuple[str, ...]:
        if isinstance(value, ast.List):
            return tuple(str(i.value) for i in value.elts if isinstance(i, ast.Constant))
        if isinstance(value, ast.ListComp):
            members = self.index.enum_members(ast.unparse(value.generators[0].iter)) or {}
            return tuple(str(v.value) for v in members.values() if isinstance(v, ast.Constant))
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "get_args":
            return tuple(str(item) for item in self.index.hints(value.args[0]).literals)
        if isinstance(value, ast.BinOp):
            return self._choices(value.left)
        return ()

    def class_options(self, name: str) -> dict[str, Option]:
        """Return the options of a configuration class by field."""
        return {
            field: option_of(field, annotation, self.index)
            for field, annotation in self.index.fields(name).items()
        }

    def add_class_options(self, tree: ast.Module) -> None:
        """Add the options that the frontend classes make of all their fields."""
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        names = [node.name for node in classes if node.name.endswith("FrontendArgs")]
        if not names:
            return
        self.groups["frontend_kwargs"] = self.class_options(names[-1])
        for node in classes:
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    self._customise(item.body)
        for field, option in self.groups["frontend_kwargs"].items():
            self.found.setdefault((f"--{field.replace('_', '-')}",), option)

    def _customise(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                self._assign(node)
            elif isinstance(node, ast.Delete):
                for target in node.targets:
                    if isinstance(target, ast.Subscript):
                        self._change(target.value, "nargs", ast.Constant(None))
            elif isinstance(node, ast.If):
                self._customise(node.body)


def _with_action(option: Option, text: str) -> Option:
    if text == "'append'":
        return replace(option, form=ValueForm.STRING, many=False, repeatable=True)
    if "Boolean" in text:
        return replace(option, form=ValueForm.NONE, negatable=True)
    if text in ("'store_true'", "'store_false'"):
        return replace(option, form=ValueForm.NONE)
    return option


def _with_type(option: Option, text: str) -> Option:
    inner = re.sub(r"^(optional_type|parse_type)\((.*)\)$", r"\2", text)
    if inner == "json.loads" and option.shape:
        return replace(option, form=ValueForm.JSON, many=False)
    if inner in _TYPES and option.form in (ValueForm.STRING, ValueForm.LIST):
        known = _TYPES[inner]
        return replace(option, form=known.form, shape=known.shape, many=False)
    return option


def _finish(walker: _Walker, index: SourceIndex) -> tuple[list[Flag], dict[str, JsonShape]]:
    pairs = any(
        "EnableDisableAction" in index.text(path)
        for path in index.paths
        if path.startswith("vllm/utils/argparse")
    )
    shapes = ShapeBuilder(index)
    flags = []
    for names, option in walker.found.items():
        flag = _flag(names, option, pairs)
        flag = _with_registry(flag, index)
        if flag.name == "--speculative-config":
            flag = replace(flag, shape="SpeculativeConfig")
        if flag.shape:
            shapes.add(flag.shape)
        flags.append(flag)
    return flags, _speculative(shapes.shapes, index)


def _flag(names: tuple[str, ...], option: Option, pairs: bool) -> Flag:
    negated: list[str] = []
    if option.negatable:
        for name in names:
            if name.startswith("--"):
                negated.append("--no-" + name[2:])
                negated += _paired(name) if pairs else []
    return Flag(
        names=tuple(sorted(names, key=lambda name: not name.startswith("--"))),
        negated=tuple(negated),
        form=option.form,
        values=option.values,
        deprecated=option.deprecated,
        repeatable=option.repeatable,
        many=option.many,
        optional_value=option.optional_value,
        shape=option.shape,
    )


def _paired(name: str) -> list[str]:
    for one, other in (("--enable-", "--disable-"), ("--disable-", "--enable-")):
        if name.startswith(one):
            return [other + name.removeprefix(one)]
    return []


_REGISTRIES: Mapping[str, tuple[str, str, str]] = {
    "--tool-call-parser": ("tool_parsers/", "_TOOL_PARSERS_TO_REGISTER", "--tool-parser-plugin"),
    "--reasoning-parser": (
        "reasoning/",
        "_REASONING_PARSERS_TO_REGISTER",
        "--reasoning-parser-plugin",
    ),
}


def _with_registry(flag: Flag, index: SourceIndex) -> Flag:
    registry = _REGISTRIES.get(flag.name)
    if registry is None:
        return flag
    folder, table, plugin = registry
    paths = [p for p in index.paths if re.search(rf"vllm/(entrypoints/openai/)?{folder}", p)]
    names: list[str] = []
    for path in paths:
        names += _registered(index.tree(path), table)
    words = tuple(sorted(set(names)))
    return replace(flag, form=ValueForm.ENUM, values=words, opened_by=plugin)


def _registered(tree: ast.Module, table: str) -> list[str]:
    """Return the names of a registry: keys of its dictionary, or of registering decorators."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == table:
            if isinstance(node.value, ast.Dict):
                found += [str(k.value) for k in node.value.keys if isinstance(k, ast.Constant)]
        elif isinstance(node, ast.ClassDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith(
                    ".register_module"
                ):
                    found += _constants(mark)
    return found


def _constants(call: ast.Call) -> list[str]:
    nodes = [*call.args, *(k.value for k in call.keywords if k.arg == "name")]
    flat = [
        item
        for node in nodes
        for item in (node.elts if isinstance(node, ast.List | ast.Tuple) else [node])
    ]
    return [str(n.value) for n in flat if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _speculative(shapes: Mapping[str, JsonShape], index: SourceIndex) -> dict[str, JsonShape]:
    """Mark the method names that vLLM turns into ``mtp``, and dashes where they are folded."""
    found = dict(shapes)
    shape = found.get("SpeculativeConfig")
    method = shape.keys.get("method") if shape else None
    if shape is None or method is None:
        return found
    old = [name for name in _mtp_names(index) if name != "mtp"]
    if old:
        keys = dict(shape.keys)
        values = tuple(word for word in method.values if word not in old)
        keys["method"] = replace(method, values=values, deprecated=dict.fromkeys(old, "mtp"))
        shape = replace(shape, keys=keys)
    folds = 'k.replace("-", "_")' in index.text(_ENGINE_ARGS)
    found["SpeculativeConfig"] = replace(shape, folds_dashes=folds)
    return found


def _mtp_names(index: SourceIndex) -> list[str]:
    for name in _MTP_TYPES:
        alias = index.find_alias(name)
        if isinstance(alias, ast.Tuple):
            return [str(item.value) for item in alias.elts if isinstance(item, ast.Constant)]
        if alias is not None:
            return [str(item) for item in index.hints(alias).literals]
    return []
