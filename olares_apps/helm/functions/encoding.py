"""Functions that turn values into text and back: YAML, JSON, base64, digests, URLs, paths."""

import base64
import binascii
import hashlib
import posixpath
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from olares_apps.helm.calls import CallFailed, Function, fn
from olares_apps.helm.errors import YamlError
from olares_apps.helm.goformat import format_value
from olares_apps.helm.govalues import type_name
from olares_apps.helm.yamlio import Numbers, from_json, load_yaml, to_json, to_yaml

__all__ = ["ENCODING", "go_base", "go_dir", "quiet_json", "quiet_yaml"]


def quiet_yaml(value: Any) -> str:
    """Return the value as YAML, an empty text when that is not possible."""
    try:
        return to_yaml(value)
    except ValueError:
        return ""


def quiet_json(value: Any, **options: Any) -> str:
    """Return the value as JSON, an empty text when that is not possible."""
    try:
        return to_json(value, **options)
    except ValueError:
        return ""


def _pretty_json(value: Any) -> str:
    return quiet_json(value, indent=2)


def _raw_json(value: Any) -> str:
    return quiet_json(value, escape_html=False)


def _read_yaml(text: str) -> Any:
    return load_yaml(text, file="text", numbers=Numbers.FLOAT64)


def _from_yaml(text: str) -> dict[str, Any]:
    return _as_map(text, _read_yaml)


def _from_json(text: str) -> dict[str, Any]:
    return _as_map(text, from_json)


def _as_map(text: str, read: Callable[[str], Any]) -> dict[str, Any]:
    """Return the map that the text holds; a fault is a map with the key ``Error``."""
    try:
        value = read(text)
    except (ValueError, YamlError) as error:
        return {"Error": str(error)}
    if value is None or isinstance(value, dict):
        return value or {}
    kind = {list: "array", float: "number"}.get(type(value)) or type_name(value)
    reason = f"cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    return {"Error": f"json: {reason}"}


def _as_list(text: str, read: Callable[[str], Any]) -> list[Any]:
    """Return the list that the text holds; a fault is a list of one message."""
    try:
        value = read(text)
    except (ValueError, YamlError) as error:
        return [str(error)]
    if value is None or isinstance(value, list):
        return value or []
    return ["json: cannot unmarshal object into Go value of type []interface {}"]


def _decoded(name: str, decode: Callable[[str], bytes]) -> Callable[[str], str]:
    """Return a decoder whose faults are the text that it gives, as Sprig's are."""

    def run(text: str) -> str:
        try:
            return decode(text.replace("\n", "").replace("\r", "")).decode(errors="replace")
        except (binascii.Error, ValueError) as error:
            return f"illegal {name} data: {error}"

    return run


def _digest(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(name, text.encode(errors="replace")).hexdigest()


def go_base(path: str) -> str:
    """Return the last element of a path, ``.`` for an empty one."""
    if not path:
        return "."
    return posixpath.basename(path.rstrip("/")) or "/"


def go_dir(path: str) -> str:
    """Return all but the last element of a path, cleaned."""
    return posixpath.normpath(
        path.rpartition("/")[0] + ("/" if path.startswith("/") else "") or "."
    )


def _extension(path: str) -> str:
    dot = path.rpartition("/")[2].rfind(".")
    return path.rpartition("/")[2][dot:] if dot >= 0 else ""


def _url_parse(text: str) -> dict[str, Any]:
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError as error:
        raise CallFailed(f"unable to parse url: {error}") from None
    userinfo, at, address = parts.netloc.rpartition("@")
    return {
        "fragment": parts.fragment,
        "host": address,
        "hostname": host,
        "opaque": ""
        if parts.netloc or parts.path.startswith("/")
        else parts.path * bool(parts.scheme),
        "path": parts.path,
        "query": parts.query,
        "scheme": parts.scheme,
        "userinfo": userinfo if at else "",
    }


def _url_join(parts: dict[str, Any]) -> str:
    def text(key: str) -> str:
        return format_value(parts.get(key, ""))

    host = f"{text('userinfo')}@{text('host')}" if parts.get("userinfo") else text("host")
    return urlunsplit((text("scheme"), host, text("path"), text("query"), text("fragment")))


ENCODING: Final[Mapping[str, Function]] = {
    "adler32sum": fn("string", lambda text: str(zlib.adler32(text.encode()))),
    "b32dec": fn("string", _decoded("base32", base64.b32decode)),
    "b32enc": fn("string", lambda text: base64.b32encode(text.encode()).decode()),
    "b64dec": fn("string", _decoded("base64", lambda text: base64.b64decode(text, validate=True))),
    "b64enc": fn("string", lambda text: base64.b64encode(text.encode()).decode()),
    "base": fn("string", go_base),
    "clean": fn("string", lambda path: posixpath.normpath(path or ".")),
    "dir": fn("string", go_dir),
    "ext": fn("string", _extension),
    "fromJson": fn("string", _from_json),
    "fromJsonArray": fn("string", lambda text: _as_list(text, from_json)),
    "fromYaml": fn("string", _from_yaml),
    "fromYamlArray": fn("string", lambda text: _as_list(text, _read_yaml)),
    "isAbs": fn("string", lambda path: path.startswith("/")),
    "mustFromJson": fn("string", from_json),
    "mustToJson": fn("any", to_json),
    "mustToPrettyJson": fn("any", lambda value: to_json(value, indent=2)),
    "mustToRawJson": fn("any", lambda value: to_json(value, escape_html=False)),
    "osBase": fn("string", go_base),
    "osClean": fn("string", lambda path: posixpath.normpath(path or ".")),
    "osDir": fn("string", go_dir),
    "osExt": fn("string", _extension),
    "osIsAbs": fn("string", lambda path: path.startswith("/")),
    "sha1sum": fn("string", _digest("sha1")),
    "sha256sum": fn("string", _digest("sha256")),
    "sha512sum": fn("string", _digest("sha512")),
    "toJson": fn("any", quiet_json),
    "toPrettyJson": fn("any", _pretty_json),
    "toRawJson": fn("any", _raw_json),
    "toYaml": fn("any", quiet_yaml),
    "toYamlPretty": fn("any", quiet_yaml),
    "urlJoin": fn("map", _url_join),
    "urlParse": fn("string", _url_parse),
}
