"""What owners of a device may set: every choice and both ends of a range are judged like the spec.

One setting at a time, by the rules that look at arguments and at what follows from them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.launch import Server
from olares_apps.checks.rule import Found, Group, Rule, RuleBook
from olares_apps.checks.rules import engine, gpu_share, gpu_weights, locked, runtime
from olares_apps.engines.files import stored_files
from olares_apps.engines.registry import get_engine
from olares_apps.findings import Severity
from olares_apps.render.traits import SERVER
from olares_apps.spec.fields import steps_of, value_at, with_value
from olares_apps.spec.models import AppSpec

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME, "docs/specs.md")

_JUDGES: Final[Sequence[Rule]] = (
    *engine.rules.rules,
    *gpu_share.rules.rules,
    *gpu_weights.rules.rules,
    *(rule for rule in locked.rules.rules if rule.id in ("model-fits", "mtp-head")),
    *(rule for rule in runtime.rules.rules if rule.id == "memory-limit-below-model"),
)
# Figures differ from value to value where the fault is the same.
_FIGURE: Final = re.compile(r"\d[\d.,]*")

_Key = tuple[str, Severity, str]


@rules.error(
    "setting-value",
    "A value that the owner may choose must give a server that starts, as the spec's own does.",
)
def _values(context: ChartContext) -> Iterator[Found]:
    """What the spec itself has is told there. As grave as the finding of the rule that it names."""
    if context.spec is None or not any(item.field for item in context.spec.spec.settings.values()):
        return
    spec = context.spec.spec
    known = {key for key, _ in _judged(context)}
    for name, setting in spec.settings.items():
        if setting.field is None:
            continue
        for place, value in setting.extremes():
            if value == value_at(spec, setting.field):
                continue
            changed = with_value(spec, steps_of(setting.field), value)
            other = context.variation(changed, _servers(context, spec, changed))
            for key, found in _judged(other):
                if key not in known:
                    yield context.in_spec(
                        f"with {value} for {setting.field}: {found.message} ({key[0]})",
                        ("settings", name, *place),
                        hint=found.hint or "leave this value out",
                        severity=key[1],
                    )


def _judged(context: ChartContext) -> Iterator[tuple[_Key, Found]]:
    """Yield what is wrong with a server, and what makes it the same fault elsewhere."""
    for rule in _JUDGES:
        for found in rule.check(context):
            severity = found.severity or rule.severity
            if severity is not Severity.INFO:
                yield (rule.id, severity, _FIGURE.sub("#", found.message)), found


def _servers(context: ChartContext, spec: AppSpec[Any], changed: AppSpec[Any]) -> Sequence[Server]:
    """Return the servers of the chart, the spec's own with the arguments of the changed spec."""
    of = get_engine(spec.engine.type)
    first, second = (of.launch(item, stored_files(item.model.files)) for item in (spec, changed))
    servers = []
    for server in context.servers:
        is_own = (server.workload.name, server.container.name) == (spec.app, SERVER)
        if is_own and server.command is not None and len(server.argv) == len(first.argv):
            pairs = zip(server.argv, first.argv, second.argv, strict=True)
            argv = tuple(word if one == two else two for word, one, two in pairs)
            variables = {**server.variables, **second.env}
            command = replace(server.command, argv=argv)
            server = replace(server, command=command, variables=variables)
        servers.append(server)
    return servers


@rules.warning(
    "setting-unbounded",
    "A number without both ends is one that the device takes however large or small it is.",
)
def _unbounded(context: ChartContext) -> Iterator[Found]:
    """An error for the context: a wrong one ends the server at its start."""
    spec = context.spec.spec if context.spec else None
    for name, setting in spec.settings.items() if spec else ():
        if setting.field is None or setting.choices or None not in (setting.min, setting.max):
            continue
        value = value_at(spec, setting.field) if spec else None
        if not isinstance(value, int):
            continue
        missing = " and ".join(end for end in ("min", "max") if getattr(setting, end) is None)
        is_context = spec and setting.field == f"engine.{spec.engine.context_field}"
        yield context.in_spec(
            f"{setting.field} may be any number: the setting has no {missing}",
            ("settings", name),
            hint=f"write {missing}, or choices",
            severity=Severity.ERROR if is_context else None,
        )
