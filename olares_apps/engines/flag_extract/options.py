"""Options as vLLM derives them from the fields of its configuration classes."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from olares_apps.engines.flag_extract.python_source import Hints, SourceIndex
from olares_apps.engines.flags.model import JsonKey, JsonShape, ValueForm

__all__ = ["Option", "ShapeBuilder", "option_of"]

# EngineArgs fields read with suffixes (human_readable_int of vllm/engine/arg_utils.py).
_SIZES = frozenset(
    "max_model_len max_num_batched_tokens max_num_scheduled_tokens kv_cache_memory_bytes "
    "safetensors_prefetch_block_size max_num_queued_tokens".split()
)
# Settings of other options that a JSON key may repeat: their classes are not spelled out.
_OPAQUE = frozenset(("ModelConfig", "ParallelConfig", "LoadConfig"))
# Literals joined with str in the source, but looked up in a closed registry all the same.
_CLOSED = frozenset(("quantization", "kv_cache_dtype", "cache_dtype"))
# Enums that a validator of the same class looks up by upper-case name (vllm/config/attention.py).
_BY_NAME = frozenset(("AttentionBackendEnum",))


@dataclass(frozen=True, slots=True)
class Option:
    """What follows an option, before it has names."""

    form: ValueForm = ValueForm.STRING
    values: tuple[str, ...] = ()
    many: bool = False
    optional_value: bool = False
    negatable: bool = False
    repeatable: bool = False
    deprecated: str | None = None
    shape: str | None = None


def option_of(field: str, annotation: ast.expr, index: SourceIndex) -> Option:
    """Return the option that vLLM makes of a field (``_compute_kwargs`` of arg_utils)."""
    hints = index.hints(annotation)
    names = hints.names
    config = next((name for name in sorted(names) if _is_config(name, index)), None)
    if config:
        return Option(ValueForm.JSON, shape="object" if "dict" in names else config)
    if names == {"bool", "str", "None"}:
        return Option(ValueForm.STRING, optional_value=True)
    if "bool" in names:
        return Option(ValueForm.NONE, negatable=True)
    if hints.literals:
        return _of_literals(field, hints)
    if collection := names & {"tuple", "list", "set"}:
        return _of_collection(hints, next(iter(collection)), index)
    if "int" in names:
        auto = ("auto",) if field == "max_model_len" else ()
        return Option(ValueForm.SIZE, auto) if field in _SIZES else Option(ValueForm.INT)
    if "float" in names:
        return Option(ValueForm.FLOAT)
    if "dict" in names and names <= {"dict", "None"}:
        return Option(ValueForm.JSON, shape=_mapping_shape(field))
    form = ValueForm.NAME if names & _BY_NAME and "str" not in names else ValueForm.STRING
    return Option(form, _enum_names(names, index))


def _mapping_shape(field: str) -> str | None:
    # A plain dictionary: any keys, except that of a setting whose class is known.
    return "SpeculativeConfig" if field == "speculative_config" else "object"


def _is_config(name: str, index: SourceIndex) -> bool:
    info = index.find_class(name) if name[:1].isupper() and name != "Literal" else None
    return info is not None and info.is_dataclass


def _of_literals(field: str, hints: Hints) -> Option:
    words = tuple(str(value) for value in hints.literals)
    if all(isinstance(value, int) for value in hints.literals):
        return Option(ValueForm.ENUM, words)
    if {"list", "set", "tuple"} & hints.names:
        return Option(ValueForm.LIST, words, many=True)
    is_open = "str" in hints.names and field not in _CLOSED
    return Option(ValueForm.STRING if is_open else ValueForm.ENUM, words)


def _of_collection(hints: Hints, kind: str, index: SourceIndex) -> Option:
    item = index.hints(hints.items[0]) if hints.items else Hints()
    words = tuple(str(value) for value in item.literals)
    return Option(ValueForm.LIST, words, many=True)


def _enum_names(names: frozenset[str], index: SourceIndex) -> tuple[str, ...]:
    for name in sorted(names):
        if name[:1].isupper() and (members := index.enum_members(name)):
            return tuple(members)
    return ()


class ShapeBuilder:
    """Collects the JSON shapes that options name, and those that their keys name."""

    def __init__(self, index: SourceIndex) -> None:
        self.index = index
        self.shapes: dict[str, JsonShape] = {}

    def add(self, name: str) -> None:
        """Add the shape of a configuration class and of the classes of its fields."""
        if name in self.shapes or name == "object":
            return
        fields = self.index.fields(name)
        self.shapes[name] = JsonShape(name, {})
        keys = {field: self._key(annotation) for field, annotation in fields.items()}
        info = self.index.find_class(name)
        takes_text = info is not None and any(
            isinstance(item, ast.FunctionDef) and item.name == "from_cli" for item in info.node.body
        )
        self.shapes[name] = JsonShape(name, keys, takes_text=takes_text)

    def _key(self, annotation: ast.expr) -> JsonKey:
        hints = self.index.hints(annotation)
        names = hints.names - {"None"}
        if hints.literals and "str" not in names:
            return JsonKey("enum", tuple(str(value) for value in hints.literals))
        for name in sorted(names):
            if members := self.index.enum_members(name):
                return JsonKey("enum", tuple(members), numbers=_numbers(members))
            if name in _OPAQUE:
                return JsonKey("any")
            if _is_config(name, self.index):
                self.add(name)
                return JsonKey("object", shape=name)
        return JsonKey(_plain_form(names))


def _numbers(members: Mapping[str, ast.expr]) -> dict[str, str]:
    return {
        str(value.value): name
        for name, value in members.items()
        if isinstance(value, ast.Constant) and isinstance(value.value, int)
    }


def _plain_form(names: frozenset[str]) -> str:
    forms = {"bool": "bool", "int": "int", "float": "float", "str": "string"}
    containers = {"dict": "object", "list": "list", "tuple": "list", "set": "list"}
    found = {(forms | containers).get(name, "any") for name in names}
    return found.pop() if len(found) == 1 else "any"
