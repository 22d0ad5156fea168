"""The typed values of a spec: each type is one rule of the Olares contract.

The limits are those that a device, its linter or its database enforces; the source of
each stands beside it. Messages name the value, the limit and what to write instead.
"""

import re
from hashlib import md5
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue, StrictInt, StrictStr

from olares_apps.spec.quantity import parse_cpu, parse_quantity

__all__ = [
    "Alias",
    "AppName",
    "ArgumentText",
    "Cpu",
    "EntranceTitle",
    "EnvName",
    "FilePath",
    "Folder",
    "Identifier",
    "Image",
    "JsonObject",
    "Line",
    "Locale",
    "ModelPath",
    "Port",
    "Quantity",
    "RelativeFolder",
    "RepoId",
    "Revision",
    "Sentence",
    "Sha256",
    "Text",
    "Title",
    "Url",
    "Version",
    "app_id",
    "check_line",
    "check_text",
    "check_version",
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
TEXT_BYTES = 65536
LINE_CHARACTERS = 200
# Beyond that readers of JSON disagree about a number; NaN and infinities are no JSON.
_LARGEST_JSON = 2**64
# The whole tag for what people write instead; a device looks texts up by the whole tag.
_FULL_LOCALES = {
    "de": "de-DE",
    "en": "en-US",
    "es": "es-ES",
    "fr": "fr-FR",
    "it": "it-IT",
    "ja": "ja-JP",
    "ko": "ko-KR",
    "pt": "pt-BR",
    "ru": "ru-RU",
    "zh": "zh-CN",
}


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
        raise ValueError("may hold only a-z and 0-9, 1 to 30 of them, beginning with a letter")
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
    if len(value) > 30:
        raise ValueError(f"has {len(value)} characters, limit 30")
    if not re.fullmatch(r"[A-Za-z0-9 -]+", value):
        raise ValueError("may hold only letters, digits, spaces and hyphens, at least one")
    return value


_VERSION = re.compile(r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}", re.ASCII)


def check_version(value: str) -> str:
    """Return a valid version; raises ValueError whose message completes "<value> ..."."""
    if _VERSION.fullmatch(value) and len(value) <= VERSION_CHARACTERS:
        return value
    if re.match(r"[vV]\d", value, re.ASCII):
        raise ValueError(f"must not begin with {value[0]}: drop the leading {value[0]}")
    if "+" in value:
        raise ValueError("holds build metadata (+), which is not allowed: MAJOR.MINOR.PATCH only")
    if "-" in value:
        raise ValueError("is a pre-release (-), which is not allowed: MAJOR.MINOR.PATCH only")
    if len(value) > VERSION_CHARACTERS:
        raise ValueError(f"has {len(value)} characters, limit {VERSION_CHARACTERS}")
    if re.fullmatch(r"\d+\.\d+\.\d+", value, re.ASCII):
        raise ValueError("has a leading zero, which Helm and the device refuse")
    raise ValueError("must be MAJOR.MINOR.PATCH, three whole numbers, for example 1.0.2")


def _quantity(value: str) -> str:
    parse_quantity(value)
    return value


def _cpu(value: str) -> str:
    parse_cpu(value)
    return value


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        absolute = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        absolute = False
    if not absolute:
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


# What stands before a file's path in addresses of the hub: the kind of page and the revision.
_HUB_PAGE = re.compile(r"(?:blob|resolve|raw|tree)/(?:main|master|refs|[0-9a-f]{7,40})/")


def _model_path(value: str) -> str:
    parts = value.split("/")
    if value.startswith(("http:", "https:")):
        raise ValueError("is a URL: write the file's path inside the repository")
    if _HUB_PAGE.match(value):
        raise ValueError(
            f"begins like the address of a page ({parts[0]}/{parts[1]}/): write the file's path "
            "inside the repository, and a commit or branch in revision"
        )
    if not value.isprintable() or "\\" in value or any(part in ("", ".", "..") for part in parts):
        raise ValueError("must be a relative path with forward slashes, without '..'")
    return value


def check_text(value: str) -> str:
    """Return valid free text; raises ValueError whose message completes "<value> ..."."""
    found = _CONTROL.search(value)
    if found:
        line = value.count("\n", 0, found.start()) + 1
        raise ValueError(f"holds the control character U+{ord(found[0]):04X} in its line {line}")
    size = len(value) if value.isascii() else len(value.encode())
    if size > TEXT_BYTES:
        raise ValueError(f"is {size} bytes long, limit {TEXT_BYTES}")
    return value


# Tab, line feed and carriage return are text; other controls and lone surrogates are not.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")


def check_line(value: str) -> str:
    """Return a valid line of text; raises ValueError whose message completes "<value> ..."."""
    if not value.strip():
        raise ValueError("must not be empty")
    if not value.isprintable():
        raise ValueError("must be one line of printable characters")
    if len(value) > LINE_CHARACTERS:
        raise ValueError(f"has {len(value)} characters, limit {LINE_CHARACTERS}")
    return value


def _plain_json(value: dict[str, Any]) -> dict[str, Any]:
    left: list[object] = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict | list):
            left += item.values() if isinstance(item, dict) else item
        elif isinstance(item, int | float) and not abs(item) <= _LARGEST_JSON:
            raise ValueError("holds a number that no option takes")
    return value


def _sentence(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return check_text(value)


def _locale(value: str) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Z][a-z]{3})?-[A-Z]{2}", value):
        full = _FULL_LOCALES.get(re.split("[-_]", value.lower())[0])
        advice = f"did you mean {full}?" if full else "write it as en-US or zh-CN"
        raise ValueError(f"is not a full locale tag; {advice}")
    return value


def _shaped(pattern: str, rule: str) -> Any:
    """Accept text of one shape; ``rule`` completes the sentence that begins with the value."""
    shape = re.compile(pattern, re.ASCII)

    def check(value: str) -> str:
        if not shape.fullmatch(value):
            raise ValueError(rule)
        return value

    return AfterValidator(check)


AppName = Annotated[StrictStr, AfterValidator(_app_name), _schema(pattern=r"^[a-z][a-z0-9]{0,29}$")]
Title = Annotated[StrictStr, AfterValidator(_title), _schema(minLength=1, maxLength=30)]
EntranceTitle = Annotated[
    StrictStr, AfterValidator(_entrance_title), _schema(pattern=r"^[A-Za-z0-9 -]{1,30}$")
]
Version = Annotated[
    StrictStr,
    AfterValidator(check_version),
    _schema(pattern=r"^\d+\.\d+\.\d+$", maxLength=VERSION_CHARACTERS, examples=["1.0.2"]),
]
Alias = Annotated[
    StrictStr,
    _shaped(
        r"[A-Za-z0-9][\w./:-]{0,99}",
        "may hold only letters, digits and . _ - / : after a first letter or digit, 100 in all",
    ),
    _schema(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./:-]{0,99}$"),
]
Identifier = Annotated[
    StrictStr,
    _shaped(r"[a-z0-9][a-z0-9-]{0,62}", "may hold only a-z, 0-9 and hyphens"),
    _schema(pattern="^[a-z0-9][a-z0-9-]{0,62}$"),
]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]
Quantity = Annotated[StrictStr, AfterValidator(_quantity), _schema(examples=["24Gi"])]
Cpu = Annotated[StrictStr, AfterValidator(_cpu), _schema(examples=["4", "500m"])]
Url = Annotated[StrictStr, AfterValidator(_url), _schema(pattern="^https?://")]
Image = Annotated[StrictStr, AfterValidator(_image), _schema(examples=["docker.io/owner/name:tag"])]
RepoId = Annotated[
    StrictStr,
    _shaped(r"\w[\w.-]*/\w[\w.-]*", "must be OWNER/NAME as on the model hub"),
    _schema(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*$"),
]
Revision = Annotated[
    StrictStr,
    _shaped(r"(?!.*\.\.)\w[\w./-]{0,99}", "must be a commit or the name of a branch or tag"),
    _schema(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]{0,99}$"),
]
Sha256 = Annotated[
    StrictStr,
    _shaped("[0-9a-f]{64}", "must be 64 digits of 0-9 and a-f in lower case"),
    _schema(pattern="^[0-9a-f]{64}$"),
]
ModelPath = Annotated[StrictStr, AfterValidator(_model_path)]
EnvName = Annotated[
    StrictStr,
    _shaped(r"[A-Za-z_]\w*", "may hold only letters, digits and _, not beginning with a digit"),
]
Locale = Annotated[StrictStr, AfterValidator(_locale)]
Folder = Annotated[
    StrictStr,
    _shaped(
        r"(?:/[A-Za-z0-9_][\w.-]*)+",
        "must be an absolute folder such as /cache, of letters, digits, '.', '_' and '-'",
    ),
]
RelativeFolder = Annotated[
    StrictStr,
    _shaped(
        r"[A-Za-z0-9_][\w.-]*(?:/[A-Za-z0-9_][\w.-]*)*",
        "must be a folder such as studio/output, of letters, digits, '.', '_' and '-'",
    ),
]
FilePath = Annotated[
    StrictStr,
    _shaped(
        r"(?:/[A-Za-z0-9_.](?:[\w.-]*[\w-])?)+",
        "must be an absolute path of a file such as /app/config.yml",
    ),
]
Line = Annotated[
    StrictStr, AfterValidator(check_line), _schema(minLength=1, maxLength=LINE_CHARACTERS)
]
Text = Annotated[StrictStr, AfterValidator(check_text)]
Sentence = Annotated[StrictStr, AfterValidator(_sentence), _schema(minLength=1)]
ArgumentText = Annotated[StrictStr, AfterValidator(check_text)]
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_plain_json)]
