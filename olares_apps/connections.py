"""HTTP clients as the environment sets them up: proxies and certificates."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from olares_apps.errors import UsageError

if TYPE_CHECKING:
    import httpx

__all__ = ["open_client"]

_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def open_client(**settings: Any) -> "httpx.Client":
    """Return a client with httpx's own ``settings``; it opens no connection yet.

    Raises UsageError, naming the variable and never its value, which may hold a password, when
    the environment names a proxy that cannot be used or certificates that cannot be read.
    """
    import httpx

    try:
        return httpx.Client(**settings)
    except OSError:
        raise UsageError(
            f"the certificates that {_set_one(_CERTIFICATES)} names cannot be read",
            hint="name a file of certificates in PEM form, or unset the variable",
        ) from None
    except (ImportError, ValueError, httpx.InvalidURL):
        raise UsageError(
            f"the proxy that {_bad_proxy(os.environ)} names cannot be used",
            hint="write http://HOST:PORT or https://HOST:PORT, or unset the variable",
        ) from None


def _set_one(names: tuple[str, ...]) -> str:
    return next((name for name in names if os.environ.get(name)), " or ".join(names))


def _bad_proxy(environ: Mapping[str, str]) -> str:
    """Return the variable whose proxy has a form that httpx cannot use, or all that are set."""
    found = [
        name
        for upper in _PROXIES
        for name in (upper, upper.lower())
        if (value := environ.get(name)) and not _is_usable(value)
    ]
    return found[0] if found else " or ".join(_PROXIES)


def _is_usable(value: str) -> bool:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
