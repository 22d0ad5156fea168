"""Rules between fields: each part of a spec may be right alone and still not fit the others."""

import re
from collections.abc import Callable, Iterator
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from olares_apps.spec.conflict import Conflict
from olares_apps.spec.quantity import parse_cpu, parse_quantity
from olares_apps.spec.structure_rules import STRUCTURE_RULES

if TYPE_CHECKING:
    from olares_apps.spec.models import AppSpec

__all__ = ["Conflict", "conflicts"]

# Published means are rounded, to one decimal at the coarsest.
_TPS_TOLERANCE: Final = 0.05
# Some sources average the runs' shares, others divide the sums.
_ACCEPTANCE_TOLERANCE: Final = 0.5
_FIELD: Final = re.compile(r"[a-z_]+(?:\.[a-z_]+)*")
_FLAG: Final = re.compile(r"--?[A-Za-z][\w.-]*", re.ASCII)


def conflicts(spec: "AppSpec[Any]", *, partial: bool = False) -> list[Conflict]:
    """Return every conflict of a spec.

    With ``partial``, fields may be missing from ``spec``; rules that need them are skipped.
    """
    found: list[Conflict] = []
    for rule in _RULES:
        try:
            found += rule(spec)
        except AttributeError:
            if not partial:
                raise
    return found


def _limits(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    """A container whose request is above its limit is refused by the API server."""
    wanted = spec.resources
    for name, read in (("memory", parse_quantity), ("cpu", parse_cpu)):
        request, limit = getattr(wanted, name), getattr(wanted, f"{name}_limit")
        if read(request) > read(limit):
            yield Conflict(
                ("resources", name),
                f"the request {request} is above the limit {limit}",
                f"lower it, or raise resources.{name}_limit",
            )


def _context(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    ctx, native = spec.engine.context_tokens, spec.model.native_ctx
    if ctx is not None and ctx > native:
        yield Conflict(
            ("engine", spec.engine.context_field),
            f"{ctx} tokens are beyond the model's native context of {native}",
            f"write {native} or less, or correct model.native_ctx",
        )


def _arguments(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    """Every flag is said once: by a typed field or in ``extra_args``, never in both."""
    if not spec.engine.extra_args:
        return
    reserved = spec.engine.reserved_arguments()
    for index, argument in enumerate(spec.engine.extra_args):
        match = _FLAG.match(argument)
        if not match:
            continue
        path, flag = ("engine", "extra_args", index), match[0]
        # Servers take _ for - in long names, and some set one key of an option behind a dot.
        name = flag.partition(".")[0].replace("_", "-") if flag.startswith("--") else flag
        owner = reserved.get(name)
        if owner:
            field = f"set {owner} and " if _FIELD.fullmatch(owner) else ""
            yield Conflict(path, f"{flag} repeats what {owner} sets", f"{field}remove {flag} here")
        elif argument[match.end() :][:1].isspace():
            yield Conflict(
                path,
                f"{argument[:40]!r} is one argument with a space in it",
                "write the flag and its value as two list items",
            )


def _locales(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    if "en-US" in spec.locales:
        yield Conflict(
            ("locales", "en-US"), "the English text stands in the field text", "move it there"
        )


def _releases(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    seen: set[str] = set()
    before: str | None = None
    for index, release in enumerate(spec.releases):
        version, path = release.version, ("releases", index, "version")
        if version in seen:
            yield Conflict(path, f"version {version} is listed twice", "join the two entries")
        elif before and _numbers(version) > _numbers(before):
            yield Conflict(path, f"version {version} stands below {before}", "newest first")
        seen.add(version)
        before = version


def _bench_ids(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    seen: list[str] = []
    for index, record in enumerate(spec.bench):
        if record.id in seen:
            yield Conflict(("bench", index, "id"), f"id {record.id} is used twice")
        seen.append(record.id)


def _bench_runs(spec: "AppSpec[Any]") -> Iterator[Conflict]:
    """A record's sums follow from its single runs."""
    for index, record in enumerate(spec.bench):
        path, details = ("bench", index), record.details
        if record.tps_range and record.tps_range[0] > record.tps_range[1]:
            yield Conflict((*path, "tps_range"), "the slowest run comes first")
        for number, run in enumerate(details):
            if run.drafted is not None and (run.accepted or 0) > run.drafted:
                where = (*path, "details", number, "accepted")
                yield Conflict(where, f"{run.accepted} is more than the {run.drafted} drafted")
        if not details:
            continue
        if record.runs not in (None, len(details)):
            yield Conflict((*path, "runs"), f"{record.runs}, but details list {len(details)} runs")
        mean = fmean(run.tps for run in details)
        if abs(mean - record.tps) > _TPS_TOLERANCE:
            yield Conflict((*path, "tps"), f"{record.tps}, but the mean of details is {mean:.2f}")
        drafted = sum(run.drafted or 0 for run in details)
        if drafted and record.acceptance is not None:
            share = 100 * sum(run.accepted or 0 for run in details) / drafted
            if abs(share - record.acceptance) > _ACCEPTANCE_TOLERANCE:
                message = f"{record.acceptance}, but details give {share:.1f} per cent"
                yield Conflict((*path, "acceptance"), message)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


_RULES: Final[tuple[Callable[["AppSpec[Any]"], Iterator[Conflict]], ...]] = (
    _context,
    _limits,
    _arguments,
    _locales,
    _releases,
    _bench_ids,
    _bench_runs,
    *STRUCTURE_RULES,
)
