"""Specs that cannot be used at all."""

from collections.abc import Iterator

from olares_apps.checks.refused import Refused
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.errors import SpecError

__all__ = ["rules"]

rules = RuleBook(Group.SPEC, "docs/specs.md")


@rules.error("spec-invalid", "A spec that cannot be loaded or rendered gives no chart.")
def _invalid(refused: Refused) -> Iterator[Found]:
    """Its lock and its image recipe count too. No other rule can be asked about such a spec."""
    error, hint = refused.error, refused.error.hint or ""
    if not isinstance(error, SpecError):
        yield Found(error.message, refused.file, hint=hint, app=refused.app)
        return
    for problem in error.problems:
        message = f"{problem.field}: {problem.message}" if problem.field else problem.message
        place = problem.file.as_posix() if problem.file else refused.file
        yield Found(message, place, problem.line, problem.hint or hint, app=refused.app)
