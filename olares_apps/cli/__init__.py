"""The command line: one file per command; parse, call, print, nothing else."""

from olares_apps.cli.app import main

__all__ = ["main"]
