"""A group of commands that are imported only when one of them is called."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from olares_apps.errors import UnknownName

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group over a table: command name to module below `olares_apps.cli` and one-line help.

    Every module defines its command as ``command``.
    """

    def __init__(self, *, table: Mapping[str, tuple[str, str]], **attrs: Any) -> None:
        super().__init__(**attrs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of a day's work."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or None for an unknown name."""
        if cmd_name not in self.table:
            return None
        module = importlib.import_module(f"olares_apps.cli.{self.table[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for an unknown one."""
        if args and args[0] not in self.table and not ctx.resilient_parsing:
            raise UnknownName("command", args[0], list(self.table))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])
