"""The JSON Schema that editors use, and the pages written from the models."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from support.specs import MINIMAL, PATH, spec_text

from olares_apps.engines.registry import get_engine, spec_model
from olares_apps.spec.facts import facts
from olares_apps.spec.loader import load_spec
from olares_apps.spec.reference import REFERENCE_FILE, reference_page
from olares_apps.spec.schema import SCHEMA_FILE, json_schema, schema_text
from olares_apps.spec.yaml_source import read_mapping

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "olares_apps/apps").glob("*.yaml"))
# Keywords of later drafts, which a draft-07 reader ignores or misreads.
LATER = {
    "$defs", "prefixItems", "unevaluatedProperties", "dependentSchemas", "dependentRequired",
    "minContains", "maxContains", "$anchor", "$dynamicRef", "discriminator",
}  # fmt: skip


@pytest.fixture(scope="module")
def validator() -> Any:
    return jsonschema_rs.Draft7Validator(json_schema(spec_model()))


def keywords(node: object) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(keywords, node))
    if isinstance(node, dict):
        inner = (
            keywords(value) for key, value in node.items() if key not in ("default", "examples")
        )
        return set(node).union(*inner)
    return set()


def test_the_schema_file_is_fresh() -> None:
    assert (ROOT / SCHEMA_FILE).read_text(encoding="utf-8") == schema_text(spec_model()), (
        "run make schema"
    )


def test_the_reference_page_is_fresh() -> None:
    path = next(path for path in SPECS if path.stem == "qwen36-35b-a3b-mtp")
    spec = load_spec(path.read_bytes(), path=path, model=spec_model()).spec
    known = facts(spec, get_engine(spec.engine.type).facts(spec))
    page = reference_page(spec_model(), known, example_name=path.stem)
    assert (ROOT / REFERENCE_FILE).read_text(encoding="utf-8") == page, "run make schema"


def test_the_schema_is_draft_07() -> None:
    schema = json_schema(spec_model())
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert not keywords(schema) & LATER
    jsonschema_rs.meta.validate(schema)


def test_every_field_has_a_description() -> None:
    schema = json_schema(spec_model())
    parts = {"spec": schema, **schema["definitions"]}
    missing = [
        f"{name}.{field}"
        for name, part in parts.items()
        for field, content in part.get("properties", {}).items()
        if not content.get("description")
    ]
    assert missing == []


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_shipped_specs_are_valid_and_name_the_schema(path: Path, validator: Any) -> None:
    text = path.read_text(encoding="utf-8")
    validator.validate(read_mapping(text, path))
    mark = "# yaml-language-server: $schema="
    first = text.split("\n")[0]
    assert first.startswith(mark)
    assert (path.parent / first.removeprefix(mark)).resolve() == ROOT / SCHEMA_FILE


@pytest.mark.parametrize(
    "change",
    [
        ("developer:", "develper: x\ndeveloper:"),
        ("  ctx: 32768", "  ctx: 32768\n  zzz: 1"),
        ("      quant:", "      qunt: x\n      quant:"),
        ('"1.0.0"', "1.10"),
        ('"1.0.0"', '"v1.0.0"'),
        ("demoqwenone", "demo-qwen"),
        ("  parallel: 1\n", ""),
        ("  ctx: 32768", "  ctx: 0"),
        ("  parallel: 1", "  parallel: 1\n  flash_attn: false"),
        ("type: llamacpp", "type: other"),
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(
    change: tuple[str, str], validator: Any
) -> None:
    data = read_mapping(spec_text(change), PATH)
    assert not validator.is_valid(data)


def test_the_schema_accepts_the_minimal_spec(validator: Any) -> None:
    validator.validate(read_mapping(MINIMAL, PATH))


def test_schema_text_is_stable() -> None:
    assert json.loads(schema_text(spec_model())) == json_schema(spec_model())
    assert schema_text(spec_model()) == schema_text(spec_model())
