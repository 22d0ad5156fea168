"""Checks: nothing leaves that a device, a GPU or a reader would trip over.

``run_rules`` applies the rule table to one chart, ``run_fleet`` to all of them together,
``run_refused`` to a spec that gives no chart;
``read_source`` reads a chart that was made elsewhere.
"""

from olares_apps.checks.context import ChartContext
from olares_apps.checks.explain import explain, rules_page
from olares_apps.checks.fleet import Fleet, Member
from olares_apps.checks.images import ImageFacts
from olares_apps.checks.listing import Listing, Published
from olares_apps.checks.refused import Refused
from olares_apps.checks.report import as_annotations, as_json, as_text_report, summary_line
from olares_apps.checks.rule import Applies, Found, Group, Rule
from olares_apps.checks.run import Lowered, lower, merge, run_fleet, run_refused, run_rules
from olares_apps.checks.source import Source, read_archive, read_folder, read_source
from olares_apps.checks.table import RULES, get_rule
from olares_apps.checks.tools import SystemTools, ToolRun, Tools

__all__ = [
    "RULES",
    "Applies",
    "ChartContext",
    "Fleet",
    "Found",
    "Group",
    "ImageFacts",
    "Listing",
    "Lowered",
    "Member",
    "Published",
    "Refused",
    "Rule",
    "Source",
    "SystemTools",
    "ToolRun",
    "Tools",
    "as_annotations",
    "as_json",
    "as_text_report",
    "explain",
    "get_rule",
    "lower",
    "merge",
    "read_archive",
    "read_folder",
    "read_source",
    "rules_page",
    "run_fleet",
    "run_refused",
    "run_rules",
    "summary_line",
]
