"""The credentials that Docker keeps for registries: in its config file or behind a helper program.

Helpers: ``docker-credential-NAME get`` reads the registry's address from stdin and writes a JSON
document with ``Username`` and ``Secret`` (docker/docker-credential-helpers).
"""

import base64
import binascii
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from olares_apps.lock.image_name import ImageName

__all__ = ["Credentials", "docker_config", "run_helper", "stored_credentials"]

Pair: TypeAlias = tuple[str, str]
Helper: TypeAlias = Callable[[str, str], Pair | None]

_HELPER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_PATIENCE_SECONDS: Final = 30
# A helper that holds an identity token gives this as the user; it is no password.
_TOKEN_USER: Final = "<token>"  # noqa: S105  the name of a kind, not a secret


def docker_config(environ: Mapping[str, str], home: Path) -> Path:
    """Return Docker's config file: in ``$DOCKER_CONFIG``, else in ``~/.docker``."""
    folder = environ.get("DOCKER_CONFIG")
    return (Path(folder) if folder else home / ".docker") / "config.json"


class Credentials:
    """Looks up user and password for an image's registry, each registry once."""

    def __init__(self, config: Path) -> None:
        self._find = lru_cache(maxsize=None)(
            lambda keys: _lookup(_document(config), keys, run_helper)
        )

    def __call__(self, name: ImageName) -> Pair | None:
        """Return what is stored for the registry of an image, None without anything."""
        return self._find(name.keys)


def stored_credentials(config: Path, name: ImageName, helper: Helper | None = None) -> Pair | None:
    """Return user and password that Docker has for a registry, if any.

    As in Docker, a helper of ``credHelpers`` comes before the one of ``credsStore``, and both
    before what the file holds itself. ``helper`` asks one, by its name and the registry's; by
    default the program is run. A file that cannot be read counts as empty.
    """
    return _lookup(_document(config), name.keys, helper or run_helper)


def run_helper(name: str, server: str) -> Pair | None:
    """Ask the program ``docker-credential-NAME`` for a registry's credentials.

    None when it has none, is not there, or does not answer within 30 seconds: most images are
    public, and a registry that wants more says so.
    """
    if not _HELPER.fullmatch(name):
        return None
    try:
        done = subprocess.run(
            [f"docker-credential-{name}", "get"],
            input=server.encode(),
            capture_output=True,
            timeout=_PATIENCE_SECONDS,
            check=True,
        )
        answer = json.loads(done.stdout)
        pair = answer["Username"], answer["Secret"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None
    if not all(isinstance(item, str) and item for item in pair) or pair[0] == _TOKEN_USER:
        return None
    return pair


def _document(config: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _lookup(document: Mapping[str, Any], keys: tuple[str, ...], helper: Helper) -> Pair | None:
    programs = document.get("credHelpers")
    helpers = programs if isinstance(programs, dict) else {}
    asked = [(helpers[key], key) for key in keys if key in helpers]
    if not asked and document.get("credsStore"):
        asked = [(document["credsStore"], keys[0])]
    for program, server in asked:
        if isinstance(program, str) and (pair := helper(program, server)):
            return pair
    return _in_file(document, keys)


def _in_file(document: Mapping[str, Any], keys: tuple[str, ...]) -> Pair | None:
    auths = document.get("auths")
    if not isinstance(auths, dict):
        return None
    entry = next((auths[key] for key in keys if key in auths), None)
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("username"), str) and isinstance(entry.get("password"), str):
        return entry["username"], entry["password"]
    try:
        decoded = base64.b64decode(entry["auth"], validate=True).decode()
    except (ValueError, KeyError, TypeError, binascii.Error):
        return None
    user, colon, password = decoded.partition(":")
    return (user, password) if colon else None
