"""Which Worker a workspace deploys to, and whether a wrangler configuration agrees with it.

Two accidents are met here: a copied folder that is deployed over somebody else's Worker, and a
deploy that takes away the variables that were set elsewhere.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from olares_apps.errors import UsageError

__all__ = ["ACCOUNT_VARIABLE", "Target", "disagreements", "parse_config", "render_config"]

ACCOUNT_VARIABLE: Final = "CLOUDFLARE_ACCOUNT_ID"
_SHIPPED_NAME: Final = '"olapps-market"'
_NAME, _BUCKET, _BINDING = '"name": ', '"bucket_name": ', "MARKET"
_SECRETS: Final = ("TOKENS", "OIDC")
_SECRET: Final = re.compile(r"(?:TOKEN|SECRET|PASSWORD|CREDENTIALS?|(?:^|_)KEY)$", re.I)
# A string is kept whole; what else matches is a comment.
_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A Worker, its R2 bucket, and the account that both belong to (empty: not said yet)."""

    name: str
    bucket: str
    account: str = ""


def render_config(shipped: str, target: Target) -> str:
    """Return the shipped wrangler configuration with the names of a target."""
    account = f'"account_id": {json.dumps(target.account)},\n  ' if target.account else ""
    return shipped.replace(
        _NAME + _SHIPPED_NAME, account + _NAME + json.dumps(target.name)
    ).replace(_BUCKET + _SHIPPED_NAME, _BUCKET + json.dumps(target.bucket))


def parse_config(text: str, what: str) -> Mapping[str, Any]:
    """Return a wrangler configuration, JSON with comments; raises UsageError with ``what``."""

    def kept(found: re.Match[str]) -> str:
        return found[1] or ""

    try:
        value = json.loads(_LAST_COMMA.sub(kept, _COMMENT.sub(kept, text)))
    except ValueError as error:
        raise UsageError(f"{what}: {error}", hint="correct it, or run olapps worker init") from None
    if not isinstance(value, dict):
        raise UsageError(f"{what} is no JSON object", hint="run olapps worker init")
    return value


def disagreements(
    config: Mapping[str, Any], target: Target, environ: Mapping[str, str]
) -> list[str]:
    """Return why a configuration must not be deployed for a target; empty when it may."""
    buckets = {
        item.get("binding"): item.get("bucket_name")
        for item in config.get("r2_buckets") or ()
        if isinstance(item, dict)
    }
    pairs = [
        ("the Worker's name", config.get("name"), target.name),
        ("the bucket", buckets.get(_BINDING), target.bucket),
    ]
    # Where neither says it, the deploy does.
    accounts = {
        "account_id": config.get("account_id"),
        ACCOUNT_VARIABLE: environ.get(ACCOUNT_VARIABLE),
    }
    pairs += [(what, has, target.account) for what, has in accounts.items() if has]
    found = [
        f"{what} is '{has}', olapps.toml says '{wanted}'"
        for what, has, wanted in pairs
        if has != wanted
    ]
    if config.get("keep_vars") is not True:
        found.append("keep_vars is not true: a deploy would take away variables set elsewhere")
    if config.get("env"):
        found.append("it has environments (env), which have Workers of their own")
    variables = config.get("vars") or {}
    found += [
        f"{name} is a secret and stands in vars, where everybody with the account reads it"
        for name in variables
        if name in _SECRETS or _SECRET.search(name)
    ]
    return found
