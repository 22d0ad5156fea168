"""The rule table: every rule once, sorted by id."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from olares_apps.checks.rule import Rule
from olares_apps.checks.rules import (
    archive,
    arguments,
    cluster,
    containers,
    credentials,
    declarations,
    engine,
    entrances,
    environment,
    figures,
    fleet,
    gpu,
    gpu_memory,
    gpu_share,
    gpu_weights,
    host_memory,
    labels,
    layout,
    locked,
    manifest,
    metadata,
    options,
    owner_settings,
    pictures,
    pods,
    recipes,
    refusals,
    replicas,
    residue,
    resources,
    runtime,
    start,
    template_subset,
    templates,
    text_context,
    texts,
    tools,
    translations,
    versions,
)
from olares_apps.errors import UnknownName

__all__ = ["RULES", "get_rule"]

_BOOKS: Final = (
    refusals,
    layout,
    versions,
    manifest,
    metadata,
    entrances,
    options,
    declarations,
    resources,
    replicas,
    containers,
    templates,
    template_subset,
    environment,
    credentials,
    arguments,
    pods,
    cluster,
    labels,
    gpu,
    gpu_memory,
    gpu_share,
    gpu_weights,
    runtime,
    start,
    host_memory,
    locked,
    owner_settings,
    recipes,
    engine,
    text_context,
    texts,
    figures,
    residue,
    translations,
    pictures,
    archive,
    fleet,
    tools,
)


def _collect() -> Mapping[str, Rule]:
    found: dict[str, Rule] = {}
    for book in _BOOKS:
        for rule in book.rules.rules:
            if rule.id in found:
                raise ValueError(f"two rules are called {rule.id}")
            found[rule.id] = rule
    return MappingProxyType(dict(sorted(found.items())))


RULES: Final = _collect()
"""Every rule by its id, in the order of the ids."""


def get_rule(name: str) -> Rule:
    """Return the rule called ``name``; raises UnknownName with the nearest id."""
    if name not in RULES:
        raise UnknownName("rule", name, list(RULES))
    return RULES[name]
