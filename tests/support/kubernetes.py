"""What a cluster does with rendered objects: strict schemas, and the kubelet's expansions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import kubernetes_validate
import yaml

Object = dict[str, Any]
VERSION = "v1.33.0"
SCHEMAS = (
    Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / f"{VERSION}-local-strict"
)


def load_objects(text: str) -> list[Object]:
    """Return the YAML documents of rendered text that hold something."""
    return [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item is not None]


@cache
def _validator(api_version: str, kind: str) -> Any:
    group, _, version = api_version.rpartition("/")
    parts = [kind.lower(), *([group.partition(".")[0]] if group else []), version]
    name = "-".join(parts) + ".json"
    schema = json.loads((SCHEMAS / name).read_text())
    schema.setdefault("$id", f"file:///schemas/{name}")

    def retrieve(uri: str) -> Any:
        return json.loads((SCHEMAS / uri.rsplit("/", 1)[-1].partition("#")[0]).read_text())

    return jsonschema_rs.validator_for(schema, retriever=retrieve)


def schema_errors(item: Object) -> list[str]:
    """Return what the strict Kubernetes schema of the object's kind has against it."""
    errors = _validator(item["apiVersion"], item["kind"]).iter_errors(item)
    return [f"{item['kind']} {'/'.join(map(str, e.instance_path))}: {e.message}" for e in errors]


def by_kind(objects: Iterable[Object], kind: str) -> list[Object]:
    """Return the objects of one kind."""
    return [item for item in objects if item["kind"] == kind]


def only(objects: Iterable[Object], kind: str) -> Object:
    """Return the one object of a kind."""
    (found,) = by_kind(objects, kind)
    return found


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand ``$(NAME)`` as the kubelet does: ``$$`` is one ``$``, an unknown name stays."""
    result, position = [], 0
    while position < len(text):
        character = text[position]
        following = text[position + 1 : position + 2]
        end = text.find(")", position) if following == "(" else -1
        if character != "$" or not following:
            result.append(character)
            position += 1
        elif following == "$":
            result.append("$")
            position += 2
        elif end > 0:
            name = text[position + 2 : end]
            result.append(variables.get(name, f"$({name})"))
            position = end + 1
        else:
            result.append(character + following)
            position += 2
    return "".join(result)


def container_environment(container: Object, objects: Sequence[Object]) -> dict[str, str]:
    """Return a container's variables: ConfigMaps first, then its own, each expanded in turn."""
    config_maps = {item["metadata"]["name"]: item["data"] for item in by_kind(objects, "ConfigMap")}
    variables: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        variables |= config_maps[source["configMapRef"]["name"]]
    for item in container.get("env", ()):
        variables[item["name"]] = expand(item["value"], variables)
    return variables


def container_argv(container: Object, objects: Sequence[Object]) -> list[str]:
    """Return the process's command line: command and args after expansion."""
    variables = container_environment(container, objects)
    words = [*container.get("command", ()), *container.get("args", ())]
    return [expand(word, variables) for word in words]
