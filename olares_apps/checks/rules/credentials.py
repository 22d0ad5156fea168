"""Secrets that stand in a chart, which everybody can read."""

import re
from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.shape import as_maps, as_text

__all__ = ["rules"]

rules = RuleBook(Group.OBJECTS)

# What the name of a variable, and what its value alone, says of a secret.
_SECRET_NAME: Final = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)$",
    re.IGNORECASE,
)
_SECRET_VALUE: Final = re.compile(
    r"(?:hf_|sk-|gh[opsu]_|github_pat_|glpat-|xox[abp]-|AKIA)[\w-]{16,}", re.ASCII
)
# Values of such variables that are none: words, paths, numbers, texts with spaces.
_SHAPE_OF_SECRET: Final = re.compile(r"(?=.*[A-Za-z])[\w.+=~-][\w.+=~/-]{5,}", re.ASCII)
_NO_SECRETS: Final = frozenset(
    "changeme default disabled dummy-key enabled example no-key no-key-required none-needed "
    "not-needed not-required notneeded placeholder required unused".split()
)
_SECRET_FLAGS: Final = ("--api-key", "--hf-token")


@rules.warning(
    "secret-in-chart",
    "A chart is public: everybody who can reach the market reads what stands in it.",
    "public charts with tokens in env",
)
def _secrets(context: ChartContext) -> Iterator[Found]:
    """Values that come from a setting or from the platform are not in the chart's text."""
    for workload in context.workloads:
        text = context.text(workload.item.file)
        for container in workload.all_containers:
            for _, item in as_maps(container.data.get("env")):
                name, value = as_text(item.get("name")), as_text(item.get("value"))
                if not _is_secret(name, value) or value not in text:
                    continue
                yield context.in_object(
                    workload.item,
                    f"{name} of container {container.name} holds what looks like a secret, "
                    f"{value[:3]}...",
                    hint=f"remove it and let the owner set it: settings: {{{name}: ...}}"
                    if context.spec
                    else "remove it and declare the variable in envs of the manifest",
                    below=(f"name: {container.name}", f"name: {name}"),
                    field=context.field_of_variable(name),
                )
    for server in context.servers:
        for flag in _SECRET_FLAGS:
            value = (server.parsed.value(flag) if server.parsed else None) or ""
            in_text = value in context.text(server.workload.item.file)
            if in_text and _is_secret("API_KEY", value):
                yield context.in_object(
                    server.workload.item,
                    f"{flag} holds what looks like a secret, {value[:3]}...",
                    hint="remove it: the entrance decides who gets in",
                    below=(f"name: {server.container.name}", flag),
                    field=context.field_of_flag(server, flag),
                )


def _is_secret(name: str, value: str) -> bool:
    if _SECRET_VALUE.fullmatch(value):
        return True
    is_word = value.casefold() in _NO_SECRETS
    return bool(_SECRET_NAME.search(name) and _SHAPE_OF_SECRET.fullmatch(value)) and not is_word
