"""What a rule means, for ``--explain`` and for the page of all rules."""

import inspect
from itertools import groupby
from typing import Final

from olares_apps.checks.rule import Group, Rule
from olares_apps.checks.table import RULES, get_rule

__all__ = ["explain", "rules_page"]

_TITLES: Final = {
    Group.SPEC: "Spec",
    Group.DATA: "Chart and manifest",
    Group.OBJECTS: "Templates and objects",
    Group.RUNTIME: "Start and run",
    Group.ENGINE: "Engine arguments",
    Group.TEXT: "Texts",
    Group.ARCHIVE: "Archive",
    Group.FLEET: "Fleet",
    Group.TOOL: "Other programs",
}
_HEAD: Final = """\
# Rules

Every rule that `olapps check` applies and `olapps publish` insists on. This page is generated from
the rule table: edit the rules, then run `make schema`.

An id keeps its meaning once it is released. Only findings of severity error make a check fail and
stop a publish. `blocks` marks what a device or its linter refuses: such an app never appears or
never installs. A rule may report single cases as milder or graver than stated here.

A workspace may lower a rule, never raise it, and must say why; the reason is printed with each
finding. It may do so for some apps only, and turn a rule off altogether:

```toml
[checks.severity]
gpu-memory-headroom = { level = "info", reason = "measured on the device: it installs" }
text-port = { level = "off", apps = ["demo"], reason = "its page explains another program" }
```

`olapps check --explain RULE` prints one rule.
"""


def explain(name: str) -> str:
    """Return what a rule means, as text; raises UnknownName for a rule that does not exist."""
    rule = get_rule(name)
    lines = [
        f"{rule.id} ({rule.severity}, {rule.group})",
        "",
        rule.reason,
        *(["", notes] if (notes := _notes(rule)) else []),
        "",
        f"applies to: {rule.applies}",
        f"effect:     {_effect(rule)}",
        f"source:     {rule.source}",
    ]
    return "\n".join(lines) + "\n"


def rules_page() -> str:
    """Return the Markdown page of all rules, grouped by what they look at."""
    parts = [_HEAD]
    order = list(_TITLES)
    rules = sorted(RULES.values(), key=lambda rule: (order.index(rule.group), rule.id))
    for group, items in groupby(rules, key=lambda rule: rule.group):
        parts.append(f"\n## {_TITLES[group]}\n")
        parts.append("| rule | severity | applies to | reason | source |")
        parts.append("|---|---|---|---|---|")
        parts += [_row(rule) for rule in items]
    return "\n".join(parts) + "\n"


def _row(rule: Rule) -> str:
    severity = f"{rule.severity}, blocks" if rule.blocks_install else str(rule.severity)
    notes = _notes(rule)
    reason = f"{rule.reason} {notes}" if notes else rule.reason
    cells = (f"`{rule.id}`", severity, str(rule.applies), reason, rule.source)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _effect(rule: Rule) -> str:
    if rule.blocks_install:
        return "a device refuses the chart, or the app never appears"
    return "nothing refuses it before it is published"


def _notes(rule: Rule) -> str:
    """Return the documentation of the rule's function as one paragraph."""
    return " ".join((inspect.getdoc(rule.check) or "").split())
