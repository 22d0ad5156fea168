"""`olapps leaderboard`: measured speeds, ranked where they compare."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olares_apps.cli import output as out
from olares_apps.cli.options import names_argument, output_option, root_option

if TYPE_CHECKING:
    from olares_apps.bench.leaderboard import Board

__all__ = ["command"]


@click.command()
@names_argument
@click.option("--table", metavar="NAME", help="A published comparison that bench records name.")
@click.option(
    "--against", metavar="NAME", help="Say every row's ratio to this spec's fastest row there."
)
@output_option("svg")
@root_option
def command(
    names: Sequence[str], table: str | None, against: str | None, output: str, root: Path | None
) -> None:
    """Rank the bench records of all specs, or of the specs named.

    Speeds are ranked together only when prompt, tokens, sampler, warm-up, filled context,
    requests at a time and hardware agree. A published comparison (--table) may rank unlike runs.
    Every row says what differs from the first, context, image, file and stated settings included;
    a figure that its source does not give is a question mark or "not recorded".
    """
    from olares_apps.bench.board_svg import svg
    from olares_apps.bench.leaderboard import boards, table_board
    from olares_apps.cli.workbench import open_workbench

    workspace = open_workbench(root).workspace
    specs = [loaded.spec for loaded in workspace.select(names)]
    held = workspace.select([against])[0].spec.app if against else None
    found = [table_board(specs, table, held)] if table else boards(specs, held)
    if output == "json":
        out.print_json({"boards": [board.to_json() for board in found]})
    elif output == "svg":
        click.echo(svg(found), nl=False)
    elif not found:
        out.note("no bench record in these specs")
    else:
        for index, board in enumerate(found):
            if index:
                click.echo()
            _show(board, held)


def _show(board: "Board", held: str | None) -> None:
    click.echo(out.clean(board.title))
    if not board.comparable:
        click.echo("These runs differ in their conditions: the order is that of the publication.")
    with_ratio = any(entry.row.app == held for entry in board.entries)
    headers = ["place", "app", "tok/s", "first ahead", *([f"to {held}"] if with_ratio else [])]
    headers += ["accepted", "context", "runs", "file", "differs from the first in"]
    rows = [
        [
            str(entry.place),
            entry.row.title,
            entry.row.tps,
            _percent(entry.lead),
            *([_percent(entry.ratio)] if with_ratio else []),
            f"{entry.row.acceptance} %" if entry.row.acceptance else "-",
            str(entry.row.ctx or "?"),
            str(entry.row.runs or "?"),
            entry.row.model_file or "?",
            ", ".join(entry.differs) or "-",
        ]
        for entry in board.entries
    ]
    out.table(headers, rows)


def _percent(value: int | None) -> str:
    return "-" if value is None else f"{value:+d} %"
