"""The JSON Schema of specs for editors: draft-07, which every YAML language server reads.

The models are the source; docstrings become descriptions. Pydantic writes draft 2020-12, so
the few keywords that differ are rewritten here.
"""

import json
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from olares_apps.spec.models import AppSpec

__all__ = ["SCHEMA_FILE", "json_schema", "schema_text"]

SCHEMA_FILE: Final = "schema/app.schema.json"
"""Where the schema of this repository lies; each shipped spec names it in its first line."""
_DRAFT: Final = "http://json-schema.org/draft-07/schema#"


class _Schema(GenerateJsonSchema):
    """Titles repeat the key in other letters, so only the description of a field is kept."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the draft-07 schema of a spec model."""
    schema = model.model_json_schema(schema_generator=_Schema)
    definitions = schema.pop("$defs", {})
    title = "olapps spec" if issubclass(model, AppSpec) else model.__name__
    return {
        "$schema": _DRAFT,
        **_downgrade(schema),
        "title": title,
        "definitions": {name: _downgrade(definitions[name]) for name in sorted(definitions)},
    }


def schema_text(model: type[BaseModel]) -> str:
    """Return the schema as the text of its file."""
    return json.dumps(json_schema(model), indent=2, ensure_ascii=False) + "\n"


def _downgrade(node: Any) -> Any:
    """Rewrite a 2020-12 schema as draft-07."""
    if isinstance(node, list):
        return [_downgrade(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _downgrade(value) for key, value in node.items() if key != "discriminator"}
    if "description" in plain and isinstance(plain["description"], str):
        plain["description"] = _one_line(plain["description"])
    reference = plain.pop("$ref", None)
    if reference is None:
        return plain
    here = {"$ref": reference.replace("#/$defs/", "#/definitions/")}
    # A draft-07 reader ignores everything beside a reference.
    return {"allOf": [here], **plain} if plain else here


def _one_line(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
