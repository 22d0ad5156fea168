"""Arguments of the inference server, judged by the flag table of the build that reads them.

The tables and the rules between options belong to ``olares_apps.engines.flags``; each kind of
problem and each of those rules is one rule here.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.images import parse_image, tag_fault
from olares_apps.checks.launch import Server
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.engines.flags import FLAG_RULES, FlagProblem, ProblemKind, TableMatch, builds_with
from olares_apps.findings import Severity

__all__ = ["rules"]

rules = RuleBook(Group.ENGINE, "flag tables of the engines' builds")

_FLAG: Final = re.compile(r"(?<![\w-])(?P<flag>--[a-z][a-z0-9-]*)(?: (?P<value>[\w.]+))?")
_KINDS: Final = {
    ProblemKind.UNKNOWN: "The build stops at an option that it does not know.",
    ProblemKind.REMOVED: "The build refuses an option that earlier builds had.",
    ProblemKind.DEPRECATED: "The build still takes the option; a later one will not.",
    ProblemKind.MISSING_VALUE: "An option without its value takes the next one for it.",
    ProblemKind.BAD_VALUE: "The build refuses the value or reads it as something else.",
    ProblemKind.UNEXPECTED_VALUE: "A word after a switch is taken for another argument.",
    ProblemKind.REPEATED: "Only the last of several values counts.",
    ProblemKind.NOT_JSON: "An option that wants JSON stops the server at any other text.",
    ProblemKind.JSON_UNKNOWN_KEY: "An unknown key of a JSON option is refused or ignored.",
}


_OF_VALUES: Final = (ProblemKind.BAD_VALUE, ProblemKind.NOT_JSON)


def _reporter(name: str) -> Callable[[ChartContext], Iterator[Found]]:
    """Return the function that reports the problems with one rule id."""

    def report(context: ChartContext) -> Iterator[Found]:
        for server in context.servers:
            for problem in server.problems:
                if problem.rule == name:
                    yield _found(context, server, problem)

    return report


def _found(context: ChartContext, server: Server, problem: FlagProblem) -> Found:
    match = server.table
    nearest = "" if match is None or match.exact else _why_nearest(match, server)
    severity = Severity.INFO if nearest else problem.severity
    pieces = [piece for piece in (problem.flag,) if piece]
    name = problem.flag.partition("=")[0]
    value = problem.value if problem.kind in _OF_VALUES else None
    return context.in_object(
        server.workload.item,
        f"{problem.message}{nearest}",
        *pieces,
        hint=_hint(context, server, problem),
        below=_below(context, server, problem.flag),
        field=context.field_of_flag(server, problem.flag, name, value=value),
        severity=severity,
    )


def _why_nearest(match: TableMatch, server: Server) -> str:
    """Return which table was used, and why what it says is no more than information."""
    if match.build == match.nearest:
        why = f"the image is not known to be exactly {match.build}"
    elif match.build is not None:
        why = f"build {match.build} has no table"
    else:
        is_moving = _is_told_of(server.container.image)
        why = "the image moves with its tag" if is_moving else "the image names no build"
    return f" (by the table of {match.nearest}, as information: {why})"


_HINTS: Final = {
    ProblemKind.MISSING_VALUE: "write a value behind it",
    ProblemKind.UNEXPECTED_VALUE: "remove the word",
    ProblemKind.REPEATED: "keep one of them",
    ProblemKind.CONFLICT: "change one of the settings that the message names",
}
_OTHERS: Final = 3


def _hint(context: ChartContext, server: Server, problem: FlagProblem) -> str:
    """Return what to do: in the words of the spec where there is one."""
    if problem.suggestion:
        return f"write {_in_fields(context, problem.suggestion)}"
    if problem.allowed:
        return f"allowed: {', '.join(problem.allowed[:16])}"
    if problem.kind is ProblemKind.UNKNOWN:
        known = builds_with(server.engine, [problem.flag.partition("=")[0]])
        builds = f", or use a build that has it ({', '.join(known[-_OTHERS:])})" if known else ""
        return f"remove it{builds}"
    return _HINTS.get(problem.kind, "correct the value")


def _in_fields(context: ChartContext, suggestion: str) -> str:
    """Return a suggestion with the fields of the spec in place of the flags that they set."""
    if context.spec is None:
        return suggestion
    owned = context.spec.spec.engine.reserved_arguments()

    def field(found: re.Match[str]) -> str:
        name = owned.get(found["flag"], "")
        if not name.startswith("engine.") or " " in name:
            return found[0]
        return f"{name}: {found['value']}" if found["value"] else name

    choices = [_FLAG.sub(field, choice) for choice in suggestion.split(" or ")]
    return " or ".join(dict.fromkeys(choices))


def _below(context: ChartContext, server: Server, flag: str) -> tuple[str, ...]:
    """Return the texts that lead to an argument, or to the list that lacks it."""
    text = context.text(server.workload.item.file)
    inside = (f"name: {server.container.name}",)
    if flag and flag in text:
        return (*inside, flag)
    return (*inside, "args:" if server.container.data.get("args") else "command:")


# Off by choice: switching thinking off through template arguments still works in every build
# that has the newer option, measured configurations use it, and "set twice" is a rule of its own.
_UNUSED: Final = frozenset(("thinking-through-template-kwargs",))

for _kind, _reason in _KINDS.items():
    _name = "flag-" + _kind.value.replace("_", "-")
    rules.add(_kind.severity, _name, _reason)(_reporter(_name))
for _rule in FLAG_RULES.values():
    if _rule.id in _UNUSED:
        continue
    _text = _rule.reason[:1].upper() + _rule.reason[1:] + "."
    rules.add(_rule.severity, _rule.id, _text, _rule.source)(_reporter(_rule.id))


_MAKE_ONE: Final = "make a table with scripts/extract_flags.py, see docs/flag-tables.md"
_STATE_IT: Final = "state the build in engine.build"
_NAME_IT: Final = "use an image whose tag names the build"


def _is_told_of(image: str) -> bool:
    """Say whether the reference itself is an error: image-public-fixed says it, once."""
    name = parse_image(image)
    fault = ("", True) if name is None else tag_fault(name)
    return fault is not None and fault[1]


@rules.warning(
    "flag-table-missing",
    "Without a table of its build an argument list can only be guessed at.",
)
def _missing(context: ChartContext) -> Iterator[Found]:
    for server in context.servers:
        match = server.table
        if match is None or match.exact or server.command is None:
            continue
        if _is_told_of(server.container.image):
            continue
        hint = _MAKE_ONE
        if match.build == match.nearest:
            what = f"the image is not known to be exactly {server.engine} {match.build}"
        elif match.build is None:
            what = f"the image does not say which build of {server.engine} it is"
            hint = f"{_STATE_IT if context.spec else _NAME_IT}, or {_MAKE_ONE}"
        else:
            what = f"no flag table for {server.engine} build {match.build}"
        yield context.in_object(
            server.workload.item,
            f"{what} (image {server.container.image}); judged by {match.nearest} as information",
            server.container.image,
            hint=hint,
            field=context.field_of_image(server.container),
        )
