"""What a model allows at a place, in words: keys, choices, ranges, descriptions.

Used only when something is wrong, so it asks the models instead of keeping tables.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from olares_apps.spec.models import EngineSettings

__all__ = ["Place", "partial", "place_at"]


class Place:
    """A place of a file: what may stand there, and the field when it is one of a model.

    ``element`` is what a list or a mapping holds there, with its limits.
    """

    def __init__(
        self, annotation: Any, field: FieldInfo | None = None, element: Any = None
    ) -> None:
        self.annotation, self.field, self.element = annotation, field, element

    @property
    def description(self) -> str:
        """Return what the field means, on one line; empty when nothing is known."""
        text = (self.field.description or "") if self.field else ""
        return " ".join(text.replace("``", "`").split())

    @cached_property
    def keys(self) -> list[str]:
        """Return the keys that a mapping at this place may have."""
        return [key for model in _models(self.annotation) for key in _fields(model)]

    @cached_property
    def _schema(self) -> Mapping[str, Any]:
        if not self.field and self.element is None:
            return {}
        adapter = _adapter(self.field) if self.field else TypeAdapter(self.element)
        schema = adapter.json_schema()
        variants: list[Mapping[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or [schema]
        return next(item for item in variants if item.get("type") != "null")

    @property
    def choices(self) -> list[str]:
        """Return the allowed words of an enumeration, else nothing."""
        schema = self._schema.get("items", self._schema)
        return [
            str(item) for item in schema.get("enum", [schema["const"]] if "const" in schema else [])
        ]

    @property
    def kinds(self) -> list[str]:
        """Return the words for ``type`` when several kinds of mapping may stand here."""
        fields = (model.model_fields.get("type") for model in _models(self.annotation))
        return [kind for field in fields if field for kind in get_args(field.annotation)]

    @property
    def bounds(self) -> str:
        """Return the range of a number: ``1 to 65535``, ``more than 0``; empty without one."""
        schema = self._schema
        low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
        high = schema.get("maximum")
        if low is not None and high is not None:
            return f"{low} to {high}"
        parts = (
            f"at least {low}" if low is not None else "",
            f"more than {above}" if above is not None else "",
            f"at most {high}" if high is not None else "",
        )
        return " and ".join(part for part in parts if part)

    def flag_owner(self, name: str) -> str | None:
        """Return the field of this engine that sets the flag ``--name``, None for others."""
        for model in _models(self.annotation):
            if issubclass(model, EngineSettings):
                owner = model.reserved_arguments().get("--" + name.replace("_", "-"))
                if owner and owner.startswith("engine."):
                    return owner.removeprefix("engine.")
        return None

    def refusal(self, text: str) -> str:
        """Return why the field would not take ``text``; empty when it would."""
        if not self.field:
            return ""
        try:
            _adapter(self.field).validate_python(text, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return str(first.get("ctx", {}).get("error", first["msg"]))
        return ""


def place_at(model: type[BaseModel], path: tuple[str | int, ...], data: object) -> Place:
    """Return the place that ``path`` leads to; ``data`` decides between kinds of engines."""
    current: Any = model
    field: FieldInfo | None = None
    for step in path:
        chosen = _choose(current, data)
        is_model = isinstance(chosen, type) and issubclass(chosen, BaseModel)
        field = _fields(chosen).get(str(step)) if is_model else None
        current = field.annotation if field else None if is_model else _element(chosen)
        data = _child(data, step)
    return Place(_choose(current, data) or current, field, None if field else current)


ModelT = TypeVar("ModelT", bound=BaseModel)


def partial(model: type[ModelT], data: Mapping[str, object]) -> ModelT:
    """Return a model of what is valid in ``data``; invalid and missing required fields lack."""
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name not in data:
            continue
        value = data[name]
        inner = _choose(field.annotation, value)
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, BaseModel):
            values[name] = partial(inner, value)
            continue
        try:
            values[name] = _adapter(field).validate_python(value, strict=True)
        except ValidationError:
            continue
    return model.model_construct(**values)


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _adapter(field: FieldInfo) -> TypeAdapter[Any]:
    annotation: Any = field.annotation
    return TypeAdapter(Annotated[annotation, *field.metadata] if field.metadata else annotation)


def _child(data: object, step: str | int) -> object:
    if isinstance(data, Mapping):
        return data.get(step)
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return data[step]
    return None


def _plain(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    annotation = _plain(annotation)
    if get_origin(annotation) in (Union, UnionType):
        for item in get_args(annotation):
            yield from _models(item)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation


def _choose(annotation: Any, data: object) -> Any:
    """Return the variant of a union that the data is meant for."""
    annotation = _plain(annotation)
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    variants = [_plain(item) for item in get_args(annotation) if item is not type(None)]
    kind = data.get("type") if isinstance(data, Mapping) else None
    for variant in variants:
        field = getattr(variant, "model_fields", {}).get("type")
        if field and get_origin(field.annotation) is Literal and kind in get_args(field.annotation):
            return variant
    return variants[0] if len(variants) == 1 else None


def _element(annotation: Any) -> Any:
    """Return what a list or a mapping holds."""
    arguments = get_args(_plain(annotation))
    return arguments[-1] if arguments else None
