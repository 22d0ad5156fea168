"""All rules between options, and the checks that callers use."""

from collections.abc import Mapping, Sequence

from olares_apps.engines.flags.check import check_parsed
from olares_apps.engines.flags.llamacpp_rules import LLAMACPP_RULES
from olares_apps.engines.flags.llamacpp_values import LLAMACPP_VALUES
from olares_apps.engines.flags.model import FlagTable
from olares_apps.engines.flags.parse import ParsedArgs, parse_argv
from olares_apps.engines.flags.problems import FlagProblem
from olares_apps.engines.flags.rules import FlagRule, Launch, run_rules
from olares_apps.engines.flags.vllm_rules import VLLM_RULES, quantization_problem

__all__ = ["FLAG_RULES", "check_conflicts", "check_launch", "check_quantization"]

FLAG_RULES: Mapping[str, FlagRule] = {
    rule.id: rule for rule in (*LLAMACPP_RULES, *LLAMACPP_VALUES, *VLLM_RULES)
}


def check_conflicts(
    parsed: ParsedArgs, table: FlagTable, *, build: str | None = None
) -> list[FlagProblem]:
    """Return what the rules between options find.

    ``build`` is the build or tag that the image names, when it is not the table's own:
    messages name it and build-dependent behaviour follows it.
    """
    return run_rules(FLAG_RULES.values(), parsed, table, build)


def check_launch(
    argv: Sequence[str], table: FlagTable, *, build: str | None = None
) -> list[FlagProblem]:
    """Return everything wrong with an argument list: single options, then rules between them."""
    parsed = parse_argv(argv, table)
    return [*check_parsed(parsed), *check_conflicts(parsed, table, build=build)]


def check_quantization(parsed: ParsedArgs, quant_method: str | None) -> FlagProblem | None:
    """Return the contradiction between ``--quantization`` and a model's config, or None."""
    table = parsed.table
    return quantization_problem(Launch(parsed, table, table.build, None), quant_method)
