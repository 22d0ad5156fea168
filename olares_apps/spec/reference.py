"""The reference page ``docs/specs.md``: written from the models and their docstrings."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

from olares_apps.spec.config import WorkspaceConfig
from olares_apps.spec.schema import json_schema

__all__ = ["REFERENCE_FILE", "reference_page"]

REFERENCE_FILE: Final = "docs/specs.md"

_HEAD: Final = """\
# Specs

*Written by `make schema` from the models in `olares_apps/spec/` and `olares_apps/engines/`; edit
the docstrings there.*

A spec is one YAML file that describes one app completely. Its name without `.yaml` is the spec
name (`a-z`, `0-9`, hyphens); every command takes it, or the app name.

## The file

- UTF-8 without a byte order mark, at most 1 MiB, one document, a mapping at the top.
- YAML 1.2: only `true` and `false` are booleans, so `off`, `on`, `yes` and `no` are text. Numbers
  stay numbers: quote versions (`"1.10.0"`), CPU amounts (`"4"`) and environment values (`"16"`).
- Anchors, aliases and merge keys work, tags do not. A key may stand only once.
- Indent with spaces. Line ends may be LF or CRLF; charts come out the same.
- Unknown keys are errors. Errors name file, line, field, value and what is allowed.

## Placeholders

Texts (`text`, `locales` and the notes of `releases`) name facts of the spec instead of repeating
numbers: `{{ ctx_k }}` or `{{ bench.ctx_32k.tps }}`. A name that does not exist is an error, and so
is an opening `{{ ctx` without its end. Braces before anything that is no name (`{{ .Values.x }}`)
stay as they are; write `\\{{` for literal braces before a name. The archive's version is no fact:
the archives of one spec have different ones.

Context lengths with `_k` follow how people write them: whole thousands in thousands (32000 is
32K), multiples of 1024 below 262144 in 1024s (131072 is 128K), and from there on thousands again
(262144 is 262K). Hyphens of bench ids become `_`.

Facts, with their values in {example}:

| placeholder | value |
|---|---|
{facts}

## Settings of the owner

What stands in `settings` appears in the app's settings on the device. With `field` it changes a
value of the server's arguments; left empty, the spec's value counts. Without `field` the server
gets the variable while it has a value.

```yaml
settings:
  CTX_SIZE: {field: engine.ctx, description: Context in tokens, min: 4096, max: 131072}
  DRAFT_TOKENS: {field: engine.speculative.n_max, description: Draft length, choices: [1, 2, 3]}
  LOG_LEVEL: {description: How much the server logs, choices: [info, debug]}
  HF_TOKEN: {description: The model is gated, required: true}
```

Both ends of a range and every choice are checked like the value of the spec itself.

## Other hardware

A spec is written for the profile in `hardware`. What is different elsewhere stands in `variants`:

```yaml
variants:
  rtx-3090:
    set:
      engine.ctx: 65536
      model.files.0.file: Demo-UD-IQ2_M.gguf
      model.files.0.quant: UD-IQ2_M
      model.files.0.size_gb: 11.5
```

`olapps render NAME --hardware rtx-3090 --out DIR` renders it; `check` and `pack` take the option
too. A variant is checked with the spec. Another file takes no size, quant, digest or revision over
from the one it replaces, and stated GPU memory does not outlive a change of engine or model. On a
profile without a variant only the budget differs. What is published is always the spec on its own
profile.

## Fields
"""

_CONFIG_HEAD: Final = """\
## olapps.toml

The configuration of a workspace. Settings of the environment (`OLAPPS_*`) and of the command line
win over it.
"""


def reference_page(
    model: type[BaseModel], example: Mapping[str, object], *, example_name: str
) -> str:
    """Return the page: what a file must be, every fact, every field of spec and olapps.toml.

    ``example`` holds the facts of one spec, which is called ``example_name`` on the page.
    """
    facts = "\n".join(f"| `{{{{ {name} }}}}` | {value} |" for name, value in _flat(_short(example)))
    head = _HEAD.replace("{example}", f"`{example_name}`").replace("{facts}", facts)
    spec = "\n".join(_sections(json_schema(model), "Spec"))
    config = "\n".join(_sections(json_schema(WorkspaceConfig), "olapps.toml, top level"))
    return f"{head}\n{spec}\n{_CONFIG_HEAD}\n{config}"


def _short(facts: Mapping[str, object]) -> dict[str, object]:
    """Return the facts with one bench record: all of them have the same names."""
    bench = facts.get("bench")
    first = dict(list(bench.items())[:1]) if isinstance(bench, Mapping) else {}
    return {**facts, "bench": first}


def _flat(facts: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif value not in (None, ""):
            yield prefix + name, str(value)


def _sections(schema: Mapping[str, Any], title: str) -> Iterator[str]:
    yield from _section(title, schema)
    for name, part in schema["definitions"].items():
        if "properties" in part:
            yield from _section(name, part)


def _section(title: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    if schema.get("description"):
        yield schema["description"]
        yield ""
    yield "| field | type | default | meaning |"
    yield "|---|---|---|---|"
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        default = "required" if name in required else _default(field)
        meaning = field.get("description", "").replace("|", "\\|")
        yield f"| `{name}` | {_type(field)} | {default} | {meaning} |"
    yield ""


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    if value is None or value == "" or isinstance(value, dict | list):
        return f"`{', '.join(map(str, value))}`" if isinstance(value, list) and value else ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(field: Mapping[str, Any]) -> str:
    """Return what a field holds in a few words, with a link where it is a group of fields."""
    variants = field.get("anyOf", field.get("oneOf", field.get("allOf", ())))
    if variants:
        kinds = [_type(variant) for variant in variants if variant.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return "any value" if name == "JsonValue" else f"[{name}](#{name.lower()})"
    if "enum" in field or "const" in field:
        return ", ".join(f"`{item}`" for item in field.get("enum", [field.get("const")]))
    kind = field.get("type")
    if kind == "array":
        return f"list of {_type(field['items'])}"
    if kind == "object":
        inner = field.get("additionalProperties")
        return f"mapping to {_type(inner)}" if isinstance(inner, dict) else "mapping"
    return _scalar(field, kind)


def _scalar(field: Mapping[str, Any], kind: object) -> str:
    words = {"string": "text", "integer": "whole number", "number": "number"}
    if kind == "boolean":
        return "`true`, `false`"
    low = field.get("minimum", field.get("exclusiveMinimum"))
    high = field.get("maximum")
    above = "above " if "exclusiveMinimum" in field else ""
    word = words.get(str(kind), "any value")
    if low is not None and high is not None:
        return f"{word}, {above}{low} to {high}"
    if low is not None:
        return f"{word}, {above or 'from '}{low}"
    return word
