"""Extracting flag tables: from ``--help`` output, C++ source and Python source, read only."""

from olares_apps.engines.flag_extract.arg_cpp import flags_from_arg_cpp
from olares_apps.engines.flag_extract.help_text import flags_from_help
from olares_apps.engines.flag_extract.listing import names_from_listing
from olares_apps.engines.flag_extract.merge import refine
from olares_apps.engines.flag_extract.vllm_source import flags_from_vllm

__all__ = [
    "flags_from_arg_cpp",
    "flags_from_help",
    "flags_from_vllm",
    "names_from_listing",
    "refine",
]
