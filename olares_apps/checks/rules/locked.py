"""What the lock knows from outside: files, images, the GGUF header, and whether it all fits.

The judgements belong to ``olares_apps.lock.findings``; each of its rules is one rule here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.findings import Finding
from olares_apps.spec.loader import LoadedSpec
from olares_apps.spec.positions import FieldPath

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME, "the lock beside the spec")

_REASONS: Final = {
    "model-fits": "A model that does not fit into GPU memory loads, answers /health and dies.",
    "mtp-head": "Drafting with an MTP head needs a file that has one.",
    "model-file": "A file that is gone, gated or different from what the spec says never loads.",
    "image-exists": "An image that the registry does not have, or not for this device, never runs.",
    "lock-stale": "A lock that is behind its spec says nothing about what will be downloaded.",
}


_DECIDES: Final[Mapping[str, FieldPath]] = {
    "mtp-head": ("engine", "speculative"),
    "model-file": ("model", "files"),
    "image-exists": ("engine", "image"),
    "lock-stale": ("model", "files"),
}
_DOTTED: Final = re.compile(r"\b(?:engine|model|resources)\.[a-z_]+(?:\.[a-z_]+)*")


def _reporter(name: str) -> Callable[[ChartContext], Iterator[Found]]:
    """Return the function that reports the findings of one rule of the lock."""

    def report(context: ChartContext) -> Iterator[Found]:
        for item in context.lock_findings:
            if item.rule != name:
                continue
            if context.spec is None or item.file:
                yield Found(item.message, item.file, item.line, item.hint, item.severity)
            else:
                field = _field(context.spec, item)
                yield context.in_spec(item.message, field, hint=item.hint, severity=item.severity)

    return report


def _field(loaded: LoadedSpec, finding: Finding) -> FieldPath:
    """Return the field of the spec that a finding is about.

    That is the one that its words name, then the model file, repository or image of a step that
    they name, then the one that decides such findings.
    """
    words = f"{finding.message} {finding.hint}"
    for found in _DOTTED.findall(words):
        path = tuple(found.split("."))
        if loaded.positions.key(path):
            return path
    model = loaded.spec.model
    named: dict[FieldPath, str] = {
        ("model", "files", index): item.file for index, item in enumerate(model.files)
    }
    named |= {("model", "repos", index): item.repo for index, item in enumerate(model.repos)}
    named |= {
        ("init", index, "image"): step.image
        for index, step in enumerate(loaded.spec.init)
        if step.image != loaded.spec.engine.image
    }
    for place, name in named.items():
        if name in words:
            return place
    if finding.rule == "model-fits":
        return ("engine", loaded.spec.engine.context_field)
    return _DECIDES[finding.rule]


for _name, _reason in _REASONS.items():
    rules.error(_name, _reason)(_reporter(_name))
