"""What the lock knows from outside: files, images, the GGUF header, and whether it all fits.

The judgements belong to ``olares_apps.lock.findings``; each of its rules is one rule here.
"""

from collections.abc import Callable, Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.rule import Found, Group, RuleBook

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME, "the lock beside the spec")

_REASONS: Final = {
    "model-fits": "A model that does not fit into GPU memory loads, answers /health and dies.",
    "mtp-head": "Drafting with an MTP head needs a file that has one.",
    "model-file": "A file that is gone, gated or different from what the spec says never loads.",
    "image-exists": "An image that the registry does not have, or not for this device, never runs.",
    "lock-stale": "A lock that is behind its spec says nothing about what will be downloaded.",
}


def _reporter(name: str) -> Callable[[ChartContext], Iterator[Found]]:
    """Return the function that reports the findings of one rule of the lock."""

    def report(context: ChartContext) -> Iterator[Found]:
        file = str(context.spec.path) if context.spec else ""
        for item in context.lock_findings:
            if item.rule == name:
                yield Found(item.message, item.file or file, item.line, item.hint, item.severity)

    return report


for _name, _reason in _REASONS.items():
    rules.error(_name, _reason)(_reporter(_name))
