"""Errors stay in the words of the file when several engines are registered."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from support.specs import PATH, spec_text

from olares_apps.engines.llamacpp import LlamaCppSettings
from olares_apps.errors import Problem, SpecError
from olares_apps.spec.loader import load_spec
from olares_apps.spec.models import AppSpec, EngineSettings
from olares_apps.spec.schema import json_schema


class OtherSettings(EngineSettings):
    """Settings of another server."""

    type: Literal["other"]
    """Name of the engine."""
    max_len: Annotated[int, Field(ge=1)]
    """Context in tokens."""

    context_field = "max_len"

    @property
    def context_tokens(self) -> int:
        return self.max_len


Settings = Annotated[LlamaCppSettings | OtherSettings, Field(discriminator="type")]
MODEL: type[AppSpec[Any]] = AppSpec[Settings]  # type: ignore[type-arg,valid-type]
OTHER = ("  type: llamacpp\n", "  type: other\n")
LENGTH = ("  ctx: 32768\n  parallel: 1\n", "  max_len: 4096\n")


def faults(*changes: tuple[str, str]) -> list[tuple[int | None, str | None, str, str | None]]:
    with pytest.raises(SpecError) as caught:
        load_spec(spec_text(*changes), path=PATH, model=MODEL)
    problems: tuple[Problem, ...] = caught.value.problems
    return [(p.line, p.field, p.message, p.hint) for p in problems]


def test_each_engine_has_its_own_fields() -> None:
    loaded = load_spec(spec_text(OTHER, LENGTH), path=PATH, model=MODEL)
    assert loaded.spec.engine.context_tokens == 4096


def test_fields_are_named_without_the_kind_of_the_engine() -> None:
    ((line, field, message, _),) = faults(("ctx: 32768", "ctx: many"))
    assert (line, field) == (23, "engine.ctx")
    assert "'many'" in message


def test_missing_and_unknown_fields_belong_to_the_engine_that_is_named() -> None:
    ((_, field, _, hint),) = faults(OTHER, (LENGTH[0], "  max_lenn: 1\n"))
    assert (field, hint) == ("engine.max_lenn", "did you mean max_len?")


def test_an_unknown_engine_gets_the_nearest_one() -> None:
    ((line, field, message, hint),) = faults(("type: llamacpp", "type: llamacp"))
    assert (line, field, hint) == (21, "engine.type", "did you mean llamacpp?")
    assert message == "'llamacp' is not allowed; allowed: llamacpp, other"


def test_a_missing_engine_type_lists_the_engines() -> None:
    ((line, field, message, hint),) = faults(("  type: llamacpp\n", ""))
    assert (line, field, message) == (20, "engine.type", "required field is missing")
    assert hint == "allowed: llamacpp, other"


def test_the_native_context_binds_every_engine() -> None:
    ((line, field, message, _),) = faults(OTHER, (LENGTH[0], "  max_len: 300000\n"))
    assert (line, field) == (23, "engine.max_len")
    assert "native context of 262144" in message


def test_the_schema_has_one_variant_for_each_engine() -> None:
    engine = json_schema(MODEL)["properties"]["engine"]
    assert {item["$ref"] for item in engine["oneOf"]} == {
        "#/definitions/LlamaCppSettings",
        "#/definitions/OtherSettings",
    }
    assert "discriminator" not in engine
