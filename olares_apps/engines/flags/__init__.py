"""Flag tables: what each build of an engine accepts, and argument lists judged against it.

``find_table`` gives the table of a build, ``check_launch`` everything that is wrong with an
argument list, ``parse_argv`` its options, ``behaviours`` how a build of llama.cpp behaves.
See ``docs/flag-tables.md``.
"""

from olares_apps.engines.flags.behaviour import BuildBehaviour, behaviours
from olares_apps.engines.flags.check import check_argv, check_parsed
from olares_apps.engines.flags.conflicts import (
    FLAG_RULES,
    check_conflicts,
    check_launch,
    check_quantization,
)
from olares_apps.engines.flags.model import Flag, FlagTable, ValueForm
from olares_apps.engines.flags.parse import ParsedArgs, Setting, parse_argv
from olares_apps.engines.flags.problems import FlagProblem, ProblemKind
from olares_apps.engines.flags.rules import FlagRule
from olares_apps.engines.flags.tables import (
    BuildName,
    TableMatch,
    build_of_image,
    builds_with,
    find_table,
    known_builds,
    load_build,
)

__all__ = [
    "FLAG_RULES",
    "BuildBehaviour",
    "BuildName",
    "Flag",
    "FlagProblem",
    "FlagRule",
    "FlagTable",
    "ParsedArgs",
    "ProblemKind",
    "Setting",
    "TableMatch",
    "ValueForm",
    "behaviours",
    "build_of_image",
    "builds_with",
    "check_argv",
    "check_conflicts",
    "check_launch",
    "check_parsed",
    "check_quantization",
    "find_table",
    "known_builds",
    "load_build",
    "parse_argv",
]
