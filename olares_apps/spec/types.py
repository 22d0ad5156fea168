"""The typed values of a spec: each type is one rule of the Olares contract.

The limits are those that a device, its linter or its database enforces; the source of
each stands beside it. Messages name the value, the limit and what to write instead.
"""

import re
from hashlib import md5
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StrictInt, StrictStr

from olares_apps.spec.quantity import parse_cpu, parse_quantity

__all__ = [
    "AppName",
    "ArgumentText",
    "Cpu",
    "EntranceTitle",
    "EnvName",
    "Image",
    "Locale",
    "ModelPath",
    "Port",
    "Quantity",
    "RepoId",
    "Revision",
    "Sha256",
    "Text",
    "Title",
    "Url",
    "Version",
    "app_id",
]

# Folder names the official route reserves, and system apps whose id must not be taken.
RESERVED_NAMES = frozenset(
    "user system space default os kubesphere kube kubekey kubernetes gpu tapr bfl bytetrade "
    "project pod".split()
)
SYSTEM_APPS = frozenset(
    "market auth citus desktop did docs files fsnotify headscale infisical intentprovider ksserver "
    "message mongo monitoring notifications profile redis recommend seafile search search-admin "
    "settings systemserver tapr vault video zinc accounts control-hub dashboard nitro "
    "olares-app".split()
)
TITLE_BYTES = 30
VERSION_CHARACTERS = 16


def _schema(**keys: Any) -> Any:
    """Add keys to the JSON Schema without a second check: the validator's message is better."""
    return Field(json_schema_extra=keys)


def app_id(name: str) -> str:
    """Return the id a device gives an app: the first eight hex digits of md5 of its name."""
    return md5(name.encode(), usedforsecurity=False).hexdigest()[:8]


def _app_name(value: str) -> str:
    if len(value) > 30:
        raise ValueError(f"has {len(value)} characters, limit 30")
    if not re.fullmatch(r"[a-z][a-z0-9]*", value):
        raise ValueError("only a-z and 0-9, 1 to 30 characters, beginning with a letter")
    if value in RESERVED_NAMES or value in SYSTEM_APPS:
        raise ValueError("is reserved by Olares; choose another name")
    return value


def _title(value: str) -> str:
    size = len(value.encode())
    if not value.strip() or value != value.strip():
        raise ValueError("must not be empty or begin or end with a space")
    if size > TITLE_BYTES:
        characters = len(value)
        note = "" if characters == size else f" ({characters} characters; an accent takes two)"
        raise ValueError(f"is {size} bytes{note}, limit {TITLE_BYTES}")
    if not value.isprintable():
        raise ValueError("must be one line of printable characters")
    return value


def _entrance_title(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9 -]{1,30}", value):
        raise ValueError("1 to 30 of letters, digits, space and hyphen")
    return value


def _version(value: str) -> str:
    if value[:1] in "vV":
        raise ValueError(f"drop the leading {value[0]}: write {value[1:]}")
    if "+" in value:
        raise ValueError("build metadata (+) is not allowed; write MAJOR.MINOR.PATCH")
    if "-" in value:
        raise ValueError("pre-releases (-) are not allowed; write MAJOR.MINOR.PATCH")
    if len(value) > VERSION_CHARACTERS:
        raise ValueError(f"has {len(value)} characters, limit {VERSION_CHARACTERS}")
    if not re.fullmatch(r"\d+\.\d+\.\d+", value, re.ASCII):
        raise ValueError("must be MAJOR.MINOR.PATCH, three whole numbers, for example 1.0.2")
    if any(len(part) > 1 and part.startswith("0") for part in value.split(".")):
        raise ValueError("leading zeros are not allowed (Helm and the device refuse them)")
    return value


def _quantity(value: str) -> str:
    parse_quantity(value)
    return value


def _cpu(value: str) -> str:
    parse_cpu(value)
    return value


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an absolute http or https URL")
    if not value.isprintable() or " " in value:
        raise ValueError("must not hold spaces or control characters")
    return value


# registry[:port]/path[:tag][@digest], after the distribution reference grammar.
_IMAGE = re.compile(
    r"(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d+)?)"
    r"(?P<path>(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)+)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)


def _image(value: str) -> str:
    found = _IMAGE.fullmatch(value)
    if not found:
        raise ValueError("is not an image reference such as docker.io/owner/name:tag")
    host = found["host"]
    if "." not in host and ":" not in host and host != "localhost":
        raise ValueError(f"names no registry: write docker.io/{value}")
    if not found["tag"] and not found["digest"]:
        raise ValueError("has neither a tag nor a digest")
    return value


def _repo(value: str) -> str:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", value, re.ASCII):
        raise ValueError("must be OWNER/NAME as on the model hub")
    return value


def _model_path(value: str) -> str:
    parts = value.split("/")
    if value.startswith(("http:", "https:")):
        raise ValueError("is a URL: write the file's path inside the repository")
    if not value.isprintable() or "\\" in value or any(part in ("", ".", "..") for part in parts):
        raise ValueError("must be a relative path with forward slashes, without '..'")
    return value


def _text(value: str) -> str:
    for number, line in enumerate(value.split("\n"), start=1):
        bad = next(
            (c for c in line if (ord(c) < 32 and c != "\t") or 0xD800 <= ord(c) < 0xE000), None
        )
        if bad is not None:
            raise ValueError(f"line {number} holds the control character U+{ord(bad):04X}")
    if len(value.encode()) > 65536:
        raise ValueError(f"is {len(value.encode())} bytes, limit 65536")
    return value


AppName = Annotated[StrictStr, AfterValidator(_app_name), _schema(pattern=r"^[a-z][a-z0-9]{0,29}$")]
Title = Annotated[StrictStr, AfterValidator(_title), _schema(minLength=1, maxLength=30)]
EntranceTitle = Annotated[
    StrictStr, AfterValidator(_entrance_title), _schema(pattern=r"^[A-Za-z0-9 -]{1,30}$")
]
Version = Annotated[
    StrictStr, AfterValidator(_version), _schema(pattern=r"^\d+\.\d+\.\d+$", examples=["1.0.2"])
]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]
Quantity = Annotated[StrictStr, AfterValidator(_quantity), Field(examples=["24Gi"])]
Cpu = Annotated[StrictStr, AfterValidator(_cpu), Field(examples=["4", "500m"])]
Url = Annotated[StrictStr, AfterValidator(_url), _schema(pattern="^https?://")]
Image = Annotated[StrictStr, AfterValidator(_image)]
RepoId = Annotated[StrictStr, AfterValidator(_repo)]
Revision = Annotated[StrictStr, Field(pattern=r"^[\w][\w./-]{0,99}$")]
Sha256 = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")]
ModelPath = Annotated[StrictStr, AfterValidator(_model_path)]
EnvName = Annotated[StrictStr, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Locale = Annotated[StrictStr, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?-[A-Z]{2}$")]
Text = Annotated[StrictStr, AfterValidator(_text)]
ArgumentText = Annotated[StrictStr, AfterValidator(_text)]
